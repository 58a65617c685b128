"""DT-008's inputs for a draft that did not pass: the permitted question, helpful pages, unreachable sources."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from contracts.decisions.evidence import could_not_ask
from contracts.decisions.exits import LastAction
from contracts.enums import DraftKind, RequestType, RequiredAction, Source
from contracts.evidence import EvidenceItem, PageSentence, QueryTrace
from contracts.lookups import Lookup
from contracts.profile import Profile
from contracts.reasons import Reason, name_reasons
from guards.evidence_check import unchecked_sources
from guards.pages import pages_that_may_help
from guards.question_check import fit_question, said_in_turn
from language.lexicon import STATUS

_NO_FIGURES: Final = frozenset(
    {"abstained", "status_request_requires_db", "status_request_must_not_use_doc_as_primary"}
)


@dataclass(frozen=True, slots=True)
class Failure:
    """A turn with a last draft that did not pass.

    Attributes:
        message: The user's words.
        queries: The search queries.
        draft: The draft, if it is the one that was judged; else empty.
        reasons, actions: Of the Guardian.
    """

    message: str
    request_type: RequestType
    queries: Sequence[str]
    draft: str
    kind: DraftKind
    reasons: Sequence[Reason]
    actions: Sequence[RequiredAction]
    evidence: Sequence[EvidenceItem] = ()
    traces: Sequence[QueryTrace] = ()


@dataclass(frozen=True, slots=True)
class ExitFacts:
    """The facts about an end without an answer.

    Attributes:
        question: The drafted question, if it may be asked.
        lookups: Those to choose from, if the user asked for a figure that none of them answers.
        pages: The pages that may be shown, by numbers of `evidence`.
        unasked: The needed sources that did not answer.
        missing: The names of the Guardian's reasons.
        figures: Whether the user asked for a figure or a list of current states.
    """

    last_action: LastAction = LastAction.NONE
    question: str = ""
    lookups: tuple[Lookup, ...] = ()
    evidence: Sequence[EvidenceItem] = ()
    pages: Sequence[PageSentence] = ()
    unasked: frozenset[Source] = frozenset()
    missing: tuple[str, ...] = ()
    figures: bool = False

    @property
    def question_lacks(self) -> bool:
        """Whether the question lacks something that Guardian can ask for."""
        return bool(self.question or self.lookups)


def exit_facts(failure: Failure, profile: Profile, role: str) -> ExitFacts:
    """Return the facts about the end of a failed turn; nothing is searched if nothing may be asked or shown."""
    last = LastAction.of(failure.actions)
    if last is not LastAction.ASK:
        return ExitFacts(last, unasked=unchecked_sources(failure.reasons))
    names, figures = name_reasons(failure.reasons), failure.request_type in STATUS
    asks = failure.draft and failure.kind is DraftKind.CLARIFICATION
    return ExitFacts(
        last,
        question=fit_question(failure.draft, said_in_turn(failure.message, failure.evidence)) if asks else "",
        lookups=_choices(names, failure.traces, profile) if figures else (),
        evidence=failure.evidence,
        pages=pages_that_may_help((failure.message, *failure.queries), failure.evidence, profile, role, failure.traces),
        unasked=could_not_ask(failure.traces),
        missing=names,
        figures=figures,
    )


def _choices(names: Iterable[str], traces: Iterable[QueryTrace], profile: Profile) -> tuple[Lookup, ...]:
    looked_up = any(trace.source is Source.DB for trace in traces)
    return profile.lookups_of(Source.DB) if looked_up and not _NO_FIGURES.isdisjoint(names) else ()
