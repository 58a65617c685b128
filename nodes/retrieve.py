"""`retrieve`: ask the sources that may serve the request; on a retry, ask differently."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace

from langgraph.runtime import Runtime

from contracts.context import Context
from contracts.decisions import EVIDENCE
from contracts.decisions.effects import Effect, combined
from contracts.decisions.evidence import sources_to_ask
from contracts.errors import SourceUnavailable
from contracts.evidence import EvidenceItem, QueryTrace
from contracts.lookups import LookupCall
from contracts.ports import EvidenceSource, SearchReply, SearchRequest
from contracts.profile import Profile
from contracts.state import Json
from contracts.values import Language, RequestType, RequiredAction, Source
from contracts.views import RetrieveView
from guards.evidence_selection import select_evidence
from language.words import rephrased

Sources = Mapping[Source, EvidenceSource]


async def retrieve(state: RetrieveView, runtime: Runtime[Context], *, sources: Sources, profile: Profile) -> Json:
    """Run the sub-queries over the allowed sources in parallel, and keep what a draft may see.

    Where the drafter asked for a search of its own, its queries are run, and what was there is kept. CASUAL turns
    and retries that only concern the form search nothing. A source that cannot be asked, wholly or in part, is
    recorded in the traces and in `degraded`; the others go on.
    """
    context = runtime.context or Context()
    request_type = RequestType(state["request_type"])
    effect = combined(RequiredAction(a) for a in state["guardian"].get("required_actions", []))
    retrying = state["retry_count"] > 0
    wanted = state["searches_wanted"]
    if request_type is RequestType.CASUAL or (retrying and not effect.searches and not wanted):
        return {}
    usable = profile.sources_for(context.role).intersection(sources)
    search = _plan_search(state, context, effect, profile, retrying=retrying)
    if wanted:
        search = replace(search, queries=tuple(wanted), limit=search.limit + len(wanted) * context.top_k)
    dropped = _dropped(effect, usable)
    kinds = _kinds(request_type, usable, effect, dropped)
    calls = [] if wanted else [LookupCall.model_validate(call) for call in state["sgr_plan"].get("lookups", [])]
    search = replace(search, request=replace(search.request, lookups=tuple(calls)))
    named = {lookup.name: lookup.source for lookup in profile.lookups}
    looked_up = {named[call.name] for call in calls if call.name in named}
    outcomes = await asyncio.gather(
        *(
            _ask(sources[kind], query, search, state["retry_count"])
            for query in search.queries
            for kind in kinds
            # The plan's lookups are for the message, not for one of its queries: once is enough.
            if query == search.queries[0] or kind not in looked_up
        )
    )
    had = [EvidenceItem.model_validate(item) for item in state["evidence"]] if retrying or wanted else []
    evidence = select_evidence(
        [*(reply.items for reply in outcomes), had],
        threshold=context.evidence_threshold,
        limit=search.limit,
        budget=context.context_budget,
        dropped=dropped,
    )
    failed = [f"{r.trace.source}: {r.trace.error}" for r in outcomes if r.trace.error]
    failed += [said for r in outcomes for said in r.trace.degraded.splitlines()]
    failed += [f"lookups: there is no lookup {call.name!r}" for call in calls if call.name not in named]
    return {
        "evidence": [item.model_dump(mode="json") for item in evidence],
        "query_traces": [*state["query_traces"], *(r.trace.model_dump(mode="json") for r in outcomes)],
        "degraded": list(dict.fromkeys([*state["degraded"], *failed])),
        "widened": state["widened"] or (retrying and (effect.more or effect.refine)),
        "nothing_new": retrying and not wanted and not _redrafts(state, effect, profile) and _same(evidence, had),
        "searches_wanted": [],
    }


def _redrafts(state: RetrieveView, effect: Effect, profile: Profile) -> bool:
    """Whether the drafter is told something new, whatever was found: what to mend, or the documents' words."""
    queries = state["sgr_plan"]["subqueries"]
    in_their_words = effect.refine and list(rephrased(queries, profile.synonyms)) != list(queries)
    return effect.redraft or (in_their_words and not state["widened"])


def _same(evidence: list[EvidenceItem], before: list[EvidenceItem]) -> bool:
    return [(item.ref, item.snippet) for item in evidence] == [(item.ref, item.snippet) for item in before]


@dataclass(frozen=True, slots=True)
class _Search:
    """What is asked of every source, and how many items are kept of all together."""

    queries: tuple[str, ...]
    request: SearchRequest
    limit: int


def _plan_search(state: RetrieveView, context: Context, effect: Effect, profile: Profile, *, retrying: bool) -> _Search:
    factor = 2 ** state["retry_count"] if retrying and effect.more else 1
    queries: list[str] = list(state["sgr_plan"]["subqueries"])
    if retrying and effect.refine:
        queries = [*rephrased(queries, profile.synonyms), *queries]
    had = frozenset(EvidenceItem.model_validate(item).document_key for item in state["evidence"])
    request = SearchRequest(
        query="",
        question=state["question"]["text"],
        top_k=context.top_k * factor,
        language=None if factor > 1 else Language(state["question"]["language"]),
        version=context.version,
        expand=retrying and effect.refine,
        exclude=had if retrying and effect.other_documents else frozenset(),
        threshold=context.evidence_threshold,
    )
    return _Search(tuple(dict.fromkeys(queries)), request, max(context.top_k * factor, len(queries)))


def _kinds(
    request_type: RequestType, usable: frozenset[Source], effect: Effect, dropped: frozenset[Source]
) -> list[Source]:
    rule = EVIDENCE.decide(request_type=request_type).outcome
    added = [source for source in effect.add_sources if source in usable and source not in rule.forbidden]
    return [kind for kind in dict.fromkeys((*sources_to_ask(rule, usable), *added)) if kind not in dropped]


def _dropped(effect: Effect, usable: frozenset[Source]) -> frozenset[Source]:
    """Return the sources that a retry gives up; "only" those that are not connected would be nothing at all."""
    only = usable.intersection(effect.only_sources)
    given_up = usable - only if only else frozenset[Source]()
    return given_up.union(effect.drop_sources)


async def _ask(source: EvidenceSource, query: str, search: _Search, attempt: int) -> SearchReply:
    try:
        reply = await source.search(replace(search.request, query=query))
    except SourceUnavailable as error:
        return SearchReply((), QueryTrace(query=query, source=source.kind, attempt=attempt, error=str(error)))
    return SearchReply(reply.items, reply.trace.model_copy(update={"attempt": attempt}))
