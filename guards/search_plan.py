"""The searches of a turn and their results: the pure part of `retrieve`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

from pydantic import BaseModel, ConfigDict

from contracts.context import Context
from contracts.decisions import EVIDENCE
from contracts.decisions.effects import Effect, combine
from contracts.decisions.evidence import sources_to_ask
from contracts.enums import Language, RequestType, RequiredAction, Source
from contracts.evidence import EvidenceItem, Fate, PassageTrace, QueryTrace
from contracts.lookups import LookupCall
from contracts.ports import SearchRequest
from contracts.profile import Profile
from guards.evidence_selection import same_words
from guards.policy_check import mask_text
from language.envelope import own_words
from language.message import questions_and_context
from language.words import rephrase

MOST_ROWS = 20
"""Rows of a lookup that a turn takes, where `top_k` asks for fewer: a list of five out of six helps nobody."""
_LONGEST_QUERY: Final = 400
"""Characters of a query with what was told before it; what is longer is a story, and its last sentence one of many."""
_LESS_SURE: Final = 0.8
"""Share of the usual confidence from which the wider search keeps what may be shown, if nothing reaches the usual one. Of 216
questions in people's own words over six small folders, 48 were handed over without it; with it 36 are, 9 of the others with
their right page. With 0.6 another 5 get it, and 6 get none but wrong ones."""


class PastSearch(BaseModel):
    """The record of one past search of a turn; only the current evidence is kept in full.

    Attributes:
        documents: The documents that the draft could see.
        texts: The texts that it could see, each as a short fingerprint; copies share one.
        given_up: The kinds of sources that the turn no longer uses.
    """

    model_config = ConfigDict(frozen=True)

    documents: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    given_up: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class SoFar:
    """The state of a turn before a search.

    Attributes:
        question: The user's own words.
        queries: The plan's sub-queries.
        lookups: The plan's lookups.
        actions: The actions that the Guardian requires; empty on the first search.
        attempt: 0 for the first search of a turn, then the number of the retry.
        wanted: The queries of a drafter that requested a search.
        evidence: The evidence found before.
        traces: The traces of the earlier queries.
        past: The record of each earlier search, oldest first.
        widened: Whether the turn had its wider search.
    """

    question: str
    language: Language
    request_type: RequestType
    queries: tuple[str, ...]
    lookups: tuple[LookupCall, ...] = ()
    actions: tuple[RequiredAction, ...] = ()
    attempt: int = 0
    wanted: tuple[str, ...] = ()
    evidence: tuple[EvidenceItem, ...] = ()
    traces: tuple[QueryTrace, ...] = ()
    past: tuple[PastSearch, ...] = ()
    widened: bool = False

    @property
    def retrying(self) -> bool:
        return self.attempt > 0

    @property
    def effect(self) -> Effect:
        """The combined effect of the Guardian's actions."""
        return combine(self.actions)

    @property
    def kept(self) -> tuple[EvidenceItem, ...]:
        """The earlier evidence that takes part in the selection, in addition to new evidence."""
        return self.evidence if self.retrying or self.wanted else ()


@dataclass(frozen=True, slots=True)
class Search:
    """The requests of one search, and how to treat the replies.

    Attributes:
        asked: Pairs of a kind of source and a request, to be sent in parallel.
        limit: The number of items to keep from all replies together.
        threshold: The confidence below which an item is not even shown; lower than usual if nothing sure was found before.
        dropped: The kinds of dropped evidence, by this retry or an earlier one; they stay dropped for the turn.
        unknown: Names of lookups that the profile does not have.
    """

    asked: tuple[tuple[Source, SearchRequest], ...]
    limit: int
    threshold: float
    dropped: frozenset[Source] = frozenset()
    unknown: tuple[str, ...] = ()


def plan_search(so_far: SoFar, context: Context, profile: Profile, connected: Iterable[Source]) -> Search | None:
    """Return the requests to the sources; `None` if nothing is to be searched.

    Nothing is searched if DT-006 names no source, as for CASUAL turns, and on retries that only concern the form. If
    the drafter requested a search, only its queries run.
    """
    effect = so_far.effect
    if not EVIDENCE.decide(request_type=so_far.request_type).outcome.allowed():
        return None
    if so_far.retrying and not effect.searches and not so_far.wanted:
        return None
    usable = profile.sources_for(context.role).intersection(connected)
    dropped = _find_dropped(effect, usable).union(*(past.given_up for past in so_far.past))
    kinds = _kinds(so_far.request_type, usable, effect, dropped)
    told = _with_what_was_told(so_far, profile)
    told += [query for query in rephrase(told, profile.synonyms) if len(query) <= _LONGEST_QUERY]
    queries, limit = _queries(so_far, context, profile, told)
    lookups = () if so_far.wanted else so_far.lookups
    unsure = all(item.confidence < context.evidence_threshold for item in so_far.evidence)
    threshold = context.evidence_threshold * (_LESS_SURE if widens(so_far) and unsure else 1.0)
    request = replace(_request(so_far, context), lookups=lookups, threshold=threshold)
    named = {lookup.name: lookup.source for lookup in profile.lookups}
    looked_up = {named[call.name] for call in lookups if call.name in named}
    return Search(
        asked=tuple(
            (kind, replace(request, query=query, top_k=_top_k(kind, so_far, context), told=query in told))
            for number, query in enumerate(queries)
            for kind in kinds
            # The plan's lookups are for the message, not for one of its queries: once is enough.
            if number == 0 or kind not in looked_up
        ),
        limit=limit,
        threshold=threshold,
        dropped=dropped,
        unknown=tuple(call.name for call in lookups if call.name not in named),
    )


def shortfalls(search: Search, traces: Iterable[QueryTrace]) -> list[str]:
    """Return the sources that failed, wholly or in part, each as `part: why`."""
    asked = list(traces)
    said = [f"{trace.source}: {trace.error}" for trace in asked if trace.error]
    said += [line for trace in asked for line in trace.degraded.splitlines()]
    return [*said, *(f"lookups: there is no lookup {name!r}" for name in search.unknown)]


def widens(so_far: SoFar) -> bool:
    """Whether this is the wider search that an abstention gets once."""
    return so_far.retrying and (so_far.effect.more or so_far.effect.refine)


def past_search(search: Search, evidence: Sequence[EvidenceItem]) -> PastSearch:
    """Return the record of a search that found this evidence."""
    return PastSearch(
        documents=tuple(sorted({item.document_key for item in evidence})),
        texts=tuple(sorted(_texts(evidence))),
        given_up=tuple(sorted(search.dropped)),
    )


def found_nothing_new(so_far: SoFar, search: Search, evidence: Sequence[EvidenceItem]) -> bool:
    """Whether a retry changed nothing: the drafter would get the same evidence and no new instructions.

    Texts count, not their documents: a copy of a text that an earlier attempt had is not new. Fewer texts than before
    are a change only if their kind of source was given up.
    """
    if not so_far.retrying or so_far.wanted or so_far.effect.redraft:
        return False
    texts, had = _texts(evidence), [frozenset(past.texts) for past in so_far.past]
    if texts in had:
        return True
    gave_up = any(item.source in search.dropped for item in so_far.evidence)
    return not gave_up and texts <= frozenset[str]().union(*had)


def _texts(evidence: Iterable[EvidenceItem]) -> frozenset[str]:
    return frozenset(sha256(same_words(item.snippet).encode()).hexdigest()[:16] for item in evidence)


def _factor(so_far: SoFar) -> int:
    return 2**so_far.attempt if so_far.effect.more else 1


def _queries(so_far: SoFar, context: Context, profile: Profile, told: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """Return the queries, and how many items are kept of them all.

    Beside the plan's, each stands in the documents' words, and a single one behind what the user told before it.
    """
    queries = (*so_far.queries, *rephrase(so_far.queries, profile.synonyms), *told)
    queries = tuple(dict.fromkeys(queries))
    limit = max(context.top_k * _factor(so_far), len(queries))
    if so_far.wanted:
        return so_far.wanted, limit + len(so_far.wanted) * context.top_k
    return queries, limit


def _with_what_was_told(so_far: SoFar, profile: Profile) -> list[str]:
    """Return the query of a message with one question behind the sentence before that question, if the query lacks it.

    That sentence often says what the question is about ("I have just one photo of a church, and the tower leans. How can
    I make the walls upright?"). What is found by it may be shown and quoted, and only the question by itself says whether
    it is answered. A sentence in which policy masks anything is not searched for: who ranks may be another server.
    """
    asked = questions_and_context(own_words(so_far.question))
    if so_far.wanted or len(so_far.queries) != 1 or len(asked) != 1:
        return []
    query, told = so_far.queries[0], asked[0].context
    whole = f"{told} {query}"
    if not told or told in query or len(whole) > _LONGEST_QUERY or mask_text(told, profile, role="") != told:
        return []
    return [whole]


def _request(so_far: SoFar, context: Context) -> SearchRequest:
    effect, factor = so_far.effect, _factor(so_far)
    return SearchRequest(
        query="",
        request_type=so_far.request_type,
        question=so_far.question,
        language=None if factor > 1 else so_far.language,
        version=context.version,
        expand=so_far.retrying and effect.refine,
        exclude=_had(so_far) if so_far.retrying and effect.other_documents else frozenset(),
        threshold=context.evidence_threshold,
    )


def _had(so_far: SoFar) -> frozenset[str]:
    """Return the documents that any attempt had, and those of which nothing was found but copies of these."""
    had = frozenset(item.document_key for item in so_far.evidence).union(*(past.documents for past in so_far.past))
    rows: dict[str, dict[str, PassageTrace]] = {}
    for row in (row for trace in so_far.traces for row in trace.passages):
        rows.setdefault(row.document, {})[row.ref] = row
    document_of = {ref: document for document, its in rows.items() for ref in its}
    same: dict[str, set[str]] = {}
    for row in (row for its in rows.values() for row in its.values() if row.fate is Fate.COPY):
        same.setdefault(row.ref, set()).add(document_of.get(row.copy_of, ""))
        same.setdefault(row.copy_of, set()).add(row.document)
    return had.union(document for document, its in rows.items() if all(same.get(ref, set()) & had for ref in its))


def _top_k(kind: Source, so_far: SoFar, context: Context) -> int:
    least = MOST_ROWS if kind in (Source.DB, Source.NEO4J) else 0
    return max(context.top_k, least) * _factor(so_far)


def _kinds(
    request_type: RequestType, usable: frozenset[Source], effect: Effect, dropped: frozenset[Source]
) -> list[Source]:
    rule = EVIDENCE.decide(request_type=request_type).outcome
    added = [source for source in effect.add_sources if source in usable and source not in rule.forbidden]
    return [kind for kind in dict.fromkeys((*sources_to_ask(rule, usable), *added)) if kind not in dropped]


def _find_dropped(effect: Effect, usable: frozenset[Source]) -> frozenset[Source]:
    """Return the sources that a retry gives up; "only" those that are not connected would be nothing at all."""
    only = usable.intersection(effect.only_sources)
    given_up = usable - only if only else frozenset[Source]()
    return given_up.union(effect.drop_sources)
