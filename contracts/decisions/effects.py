"""What each required action changes: a retry must not run with the same inputs as before."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from contracts.enums import RequiredAction, Source

_A = RequiredAction


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of one action.

    Attributes:
        more: `retrieve` requests twice as many passages per query, in every language.
        refine: `retrieve` widens each query with feedback terms; `draft` reads the questions in those words, too.
        other_documents: `retrieve` excludes documents that any earlier attempt of the turn had, and their copies.
        add_sources: `retrieve` also searches these kinds, if they are connected and not forbidden.
        only_sources: `retrieve` keeps and searches only these kinds for the rest of the turn, if they are connected.
        drop_sources: `retrieve` discards evidence of these kinds and does not search them for the rest of the turn.
        redraft: `draft` gets the reasons and this action; without another effect, nothing is searched.
        ends: The turn ends in `safe_exit`, which decides how.
    """

    more: bool = False
    refine: bool = False
    other_documents: bool = False
    add_sources: tuple[Source, ...] = ()
    only_sources: tuple[Source, ...] = ()
    drop_sources: tuple[Source, ...] = ()
    redraft: bool = False
    ends: bool = False

    @property
    def searches(self) -> bool:
        """Whether this effect makes `retrieve` search."""
        return (
            self.more
            or self.refine
            or self.other_documents
            or bool(self.add_sources or self.only_sources or self.drop_sources)
        )


EFFECTS: Final[dict[RequiredAction, Effect]] = {
    _A.ADD_EVIDENCE: Effect(more=True, refine=True),
    _A.RETRIEVE_MORE: Effect(more=True),
    _A.DIVERSIFY_SOURCES: Effect(other_documents=True, more=True, refine=True),
    _A.REMOVE_DOC_EVIDENCE: Effect(drop_sources=(Source.DOC,)),
    _A.USE_DB_ONLY: Effect(only_sources=(Source.DB,)),
    _A.RETRIEVE_DB: Effect(add_sources=(Source.DB,)),
    _A.RETRIEVE_DOC: Effect(add_sources=(Source.DOC,)),
    _A.RETRIEVE_POLICY: Effect(add_sources=(Source.POLICY,)),
    _A.RETRIEVE_NEO4J: Effect(add_sources=(Source.NEO4J,)),
    _A.REFINE_QUERY: Effect(refine=True),
    _A.ADD_REQUIRED_SECTIONS: Effect(redraft=True),
    _A.REMOVE_FORBIDDEN_CONTENT: Effect(redraft=True),
    _A.USE_DOMAIN_TERMS: Effect(redraft=True),
    _A.ADD_EVIDENCE_REFERENCES: Effect(redraft=True),
    _A.REGENERATE_DRAFT: Effect(redraft=True),
    _A.ASK_MINIMAL_QUESTION: Effect(ends=True),
    _A.SAFE_REFUSAL: Effect(ends=True),
    _A.REDACT_SENSITIVE: Effect(ends=True),
    _A.ESCALATE_TO_HUMAN: Effect(ends=True),
}
"""One entry for every action of the enum; a test holds it, and that each changes something."""


def combine(actions: Iterable[RequiredAction]) -> Effect:
    """Return the combined effect of several actions."""
    effects = [EFFECTS[action] for action in actions]
    return Effect(
        more=any(e.more for e in effects),
        refine=any(e.refine for e in effects),
        other_documents=any(e.other_documents for e in effects),
        add_sources=_join(e.add_sources for e in effects),
        only_sources=_join(e.only_sources for e in effects),
        drop_sources=_join(e.drop_sources for e in effects),
        redraft=any(e.redraft for e in effects),
        ends=any(e.ends for e in effects),
    )


def _join(groups: Iterable[tuple[Source, ...]]) -> tuple[Source, ...]:
    return tuple(dict.fromkeys(source for group in groups for source in group))
