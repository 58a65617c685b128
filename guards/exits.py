"""DT-008's inputs for a draft that did not pass: the permitted question, helpful pages, unreachable sources."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from contracts.decisions.evidence import could_not_ask
from contracts.decisions.exits import LastAction, PagesFound
from contracts.enums import DraftKind, RequestType, RequiredAction, Source
from contracts.evidence import EvidenceItem, PageSentence, QueryTrace
from contracts.lookups import Lookup
from contracts.profile import Profile
from contracts.reasons import Reason, name_reasons
from guards.evidence_check import unchecked_sources
from guards.evidence_selection import same_words
from guards.pages import MOST_PAGES, pages_that_may_help
from guards.question_check import fit_question, said_in_turn
from language.lexicon import STATUS

_NO_FIGURES: Final = frozenset(
    {"abstained", "status_request_requires_db", "status_request_must_not_use_doc_as_primary"}
)

_DOCUMENTS: Final = (Source.DOC, Source.POLICY)
NEAR_FROM: Final = 0.1
"""The confidence of a passage that may be shown as near. Of 192 questions to four manuals, 21 had no surer one; for 15 a
right page was among the nearest five, each at .12 or more (docs/decisions.md, 108)."""
MOST_NEAR: Final = 3
"""Near pages that are shown if there are no others: of the ten right ones, nine were among the first three."""


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
        evidence: The passages of the turn, and behind them those of near pages.
        found: How many of them are the turn's.
        pages: The pages that may be shown, by numbers of `evidence`.
        searched: The kinds of documents that the turn searched, and that answered.
        unasked: The needed sources that did not answer.
        missing: The names of the Guardian's reasons.
        figures: Whether the user asked for a figure or a list of current states.
    """

    last_action: LastAction = LastAction.NONE
    question: str = ""
    lookups: tuple[Lookup, ...] = ()
    evidence: Sequence[EvidenceItem] = ()
    found: int = 0
    pages: Sequence[PageSentence] = ()
    searched: frozenset[Source] = frozenset()
    unasked: frozenset[Source] = frozenset()
    missing: tuple[str, ...] = ()
    figures: bool = False

    @property
    def question_lacks(self) -> bool:
        """Whether the question lacks something that Guardian can ask for."""
        return bool(self.question or self.lookups)

    @property
    def pages_found(self) -> PagesFound:
        """Which pages there are, as DT-008 is asked."""
        if not self.pages:
            return PagesFound.NONE
        return PagesFound.SURE if any(page.number <= self.found for page in self.pages) else PagesFound.NEAR

    @property
    def wants_nearest(self) -> bool:
        """Whether the nearest pages are to be looked for: none of the sources was down, and there is room for more pages."""
        asks = self.last_action is LastAction.ASK and not (self.question_lacks or self.figures)
        return asks and not self.unasked and len(self.pages) < MOST_PAGES


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
        found=len(failure.evidence),
        pages=pages_that_may_help((failure.message, *failure.queries), failure.evidence, profile, role, failure.traces),
        searched=frozenset(trace.source for trace in failure.traces if trace.source in _DOCUMENTS and not trace.error),
        unasked=could_not_ask(failure.traces),
        missing=names,
        figures=figures,
    )


def add_nearest(
    facts: ExitFacts,
    questions: Iterable[str],
    items: Sequence[EvidenceItem],
    traces: Sequence[QueryTrace],
    profile: Profile,
    role: str,
) -> ExitFacts:
    """Return the facts with the nearest pages behind those that there are; unchanged if none is near enough.

    Args:
        facts: With `wants_nearest`.
        questions: The user's words and the search queries.
        items: The passages found, best first.
        traces: Of the search, with what a reranker said of each passage.
        profile: The profile with the policy that a sentence must pass.
        role: Of the user.
    """
    shown = [facts.evidence[page.number - 1] for page in facts.pages]
    known, of_shown = {item.ref for item in facts.evidence}, {item.document_key for item in shown}
    near = [
        item
        for item in items
        if item.confidence >= NEAR_FROM and item.ref not in known and item.document_key not in of_shown
    ]
    texts = {same_words(item.snippet) for item in shown}
    added: list[tuple[EvidenceItem, str]] = []
    for page in pages_that_may_help(questions, near, profile, role, traces, beside=facts.evidence):
        item = near[page.number - 1]
        # Of copies the first that may be shown is.
        if (text := same_words(item.snippet)) not in texts:
            texts.add(text)
            added.append((item, page.sentence))
    added = added[: MOST_PAGES - len(facts.pages) if facts.pages else MOST_NEAR]
    numbered = [PageSentence(number, said) for number, (_, said) in enumerate(added, len(facts.evidence) + 1)]
    evidence = (*facts.evidence, *(item for item, _ in added))
    return replace(facts, evidence=evidence, pages=(*facts.pages, *numbered))


def _choices(names: Iterable[str], traces: Iterable[QueryTrace], profile: Profile) -> tuple[Lookup, ...]:
    looked_up = any(trace.source is Source.DB for trace in traces)
    return profile.lookups_of(Source.DB) if looked_up and not _NO_FIGURES.isdisjoint(names) else ()
