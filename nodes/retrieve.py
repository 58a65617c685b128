"""`retrieve`: search the sources that may serve the request; on a retry, search differently."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Final, cast

from langgraph.runtime import Runtime

from contracts.context import Context
from contracts.enums import Language, RequestType, RequiredAction, Source
from contracts.evidence import EvidenceItem, QueryTrace
from contracts.lookups import LookupCall
from contracts.ports import EvidenceSource
from contracts.profile import Profile
from contracts.source_call import call_source
from contracts.state import Json
from contracts.views import RetrieveView
from guards.evidence_selection import raise_by_reading, select_evidence
from guards.redaction import redacted_reply
from guards.search_plan import PastSearch, SoFar, found_nothing_new, past_search, plan_search, shortfalls, widens

Sources = Mapping[Source, EvidenceSource]

_MOST_QUERIES: Final = 10
"""A plan has no more (`SGRPlanResult.subqueries`), and a drafter's wishes are fewer."""


async def retrieve(state: RetrieveView, runtime: Runtime[Context], *, sources: Sources, profile: Profile) -> Json:
    """Run the sub-queries over the allowed sources in parallel, and keep the evidence that a draft may see.

    If the drafter requested a search, its queries run and the earlier evidence is kept. CASUAL turns and retries that
    only concern the form search nothing. If a source fails, wholly, in part or by timeout, the traces and `degraded`
    record it, and the other sources continue.
    """
    context = runtime.context or Context()
    so_far = _so_far(state)
    search = plan_search(so_far, context, profile, sources)
    if search is None:
        return {}
    replies = await asyncio.gather(
        *(call_source(sources[kind], kind, request, context.source_seconds) for kind, request in search.asked)
    )
    # Before anything is cut: half of a secret is no longer shaped like one.
    replies = [redacted_reply(reply, profile, context.role) for reply in replies]
    replies = raise_by_reading(replies, context.evidence_threshold)
    select = partial(
        select_evidence,
        [reply.items for reply in replies],
        so_far.kept,
        limit=search.limit,
        budget=context.context_budget,
        dropped=search.dropped,
    )
    selection = select(threshold=context.evidence_threshold)
    if not selection.evidence:
        # Nothing to answer from; what is near enough may be shown.
        selection = select(threshold=search.threshold)
    # What an earlier search brought may be given up now, or stand behind something better.
    earlier = [trace.settled(selection.earlier) for trace in so_far.traces]
    traces = [
        reply.trace.settled(fates).model_copy(update={"attempt": so_far.attempt})
        for reply, fates in zip(replies, selection.fates, strict=True)
    ]
    calls = [call for reply in replies for call in reply.calls]
    nothing_new = found_nothing_new(so_far, search, selection.evidence)
    return {
        # The draft stays then, and its citations are numbers of the evidence that it was written from.
        "evidence": state["evidence"] if nothing_new else [item.model_dump(mode="json") for item in selection.evidence],
        "query_traces": [trace.model_dump(mode="json") for trace in (*earlier, *traces)],
        "model_calls": [*state["model_calls"], *(call.model_dump(mode="json") for call in calls)],
        "degraded": list(dict.fromkeys([*state["degraded"], *shortfalls(search, traces)])),
        "widened": so_far.widened or widens(so_far),
        "nothing_new": nothing_new,
        "past_searches": [
            past.model_dump(mode="json") for past in (*so_far.past, past_search(search, selection.evidence))
        ],
        "searches_wanted": [],
    }


def _so_far(state: RetrieveView) -> SoFar:
    plan = state["sgr_plan"]
    return SoFar(
        question=state["question"]["text"],
        language=Language(state["question"]["language"]),
        request_type=RequestType(state["request_type"]),
        queries=_texts(plan["subqueries"]),
        lookups=tuple(LookupCall.model_validate(call) for call in plan.get("lookups", [])),
        actions=tuple(RequiredAction(action) for action in state["guardian"].get("required_actions", [])),
        attempt=state["retry_count"],
        wanted=_texts(state["searches_wanted"]),
        evidence=tuple(EvidenceItem.model_validate(item) for item in state["evidence"]),
        traces=tuple(QueryTrace.model_validate(trace) for trace in state["query_traces"]),
        past=tuple(PastSearch.model_validate(past) for past in state["past_searches"]),
        widened=state["widened"],
    )


def _texts(queries: object) -> tuple[str, ...]:
    """Return queries as they may stand in a state.

    Raises:
        ValueError: They are none, or more than anybody asks: the letters of an edited text would be queries of their own.
    """
    texts = tuple(cast("list[object]", queries)) if isinstance(queries, list) else ()
    if not isinstance(queries, list) or len(texts) > _MOST_QUERIES:
        raise ValueError("what the state has for queries is no list of them")
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("a query in the state is no text")
    return cast("tuple[str, ...]", texts)
