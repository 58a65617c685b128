"""`draft`: get a draft, written from the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Final

from langgraph.runtime import Runtime

from contracts.context import MODEL_SEARCHES_PER_TURN, Context
from contracts.decisions import OUTPUT, TOOL_BINDING, record
from contracts.decisions.output import ChannelView
from contracts.enums import (
    Channel,
    Language,
    PartStatus,
    PlanTrace,
    RequestType,
    RequiredAction,
    SearchBy,
    SGRAction,
    Track,
    TurnState,
)
from contracts.evidence import EvidenceItem, QueryTrace
from contracts.ports import Draft, Drafter, DraftRequest
from contracts.profile import Profile
from contracts.report import PartFinding
from contracts.spec import ArchitectSpec
from contracts.state import Json, said_before
from contracts.views import DraftView
from guards.evidence_selection import scores_by_query
from language.message import likest
from language.words import rephrase
from rendering.synthetic import Synthetic, as_data, join_fields

NAME = "draft"
WITHOUT_THE_MODEL: Final = "draft: drafted without the model"
"""What is said of a turn whose last draft was quoted, because none of the model's passed."""


async def draft(
    state: DraftView,
    runtime: Runtime[Context],
    *,
    drafter: Drafter,
    quoter: Drafter | None = None,
    profile: Profile,
) -> Json:
    """Ask the drafter once; on a retry, with the reasons and the actions. No draft is shown before PASS.

    If the request would be the same as before, the drafter is not asked and the draft stays. If DT-005 requires a
    quotation, `quoter` replaces the drafter, with the same evidence.

    If `search_by` is `model`, the drafter may request a search instead of writing, at most twice a turn.
    """
    context = runtime.context or Context()
    if state["quoting"] and quoter is not None:
        return await _draft_by_quoting(state, quoter, profile)
    if state["nothing_new"]:
        return {}
    searches_left = MODEL_SEARCHES_PER_TURN - state["searches_made"] if context.search_by is SearchBy.MODEL else 0
    shown = OUTPUT.decide(
        channel=Channel.MODEL_CONTEXT, action=SGRAction.NORMAL, plan_trace=_trace_to_show(state, context)
    )
    again = state["retry_count"] > 0 or state["searches_made"] > 0
    binding = TOOL_BINDING.decide(turn_state=TurnState.MID_TURN if again else TurnState.PLAN_ACCEPTED)
    guardian = state["guardian"]
    actions = tuple(RequiredAction(action) for action in guardian.get("required_actions", []))
    request = replace(
        _request(state, profile),
        **_of_the_plan(state, shown.outcome, context.plan_trace),
        tool=binding.outcome,
        actions=actions,
        reasons=tuple(guardian.get("reasons", [])),
        previous=state["draft_answer"],
        searches_left=searches_left,
        may_quote=context.quoting_draft,
        draft_by=context.draft_by,
    )
    drafted_from = _fingerprint(request)
    if drafted_from == state["drafted_from"]:
        return {"nothing_new": True}
    reply = await drafter.draft(request)
    # Decided for each draft; what was decided alike for the one before stands there already.
    made = [record(NAME, each).model_dump(mode="json") for each in (binding, shown)]
    accounts = {
        "drafted_from": drafted_from,
        "decisions": [*state["decisions"], *(line for line in made if line not in state["decisions"])],
        # A drafter that always quotes does without no model.
        **_accounts(state, reply, without_model=reply.quoted and bool(reply.degraded)),
    }
    if reply.searches and searches_left > 0:
        return {**accounts, "searches_wanted": list(reply.searches), "searches_made": state["searches_made"] + 1}
    return {**accounts, "draft_answer": reply.text, "draft_kind": str(reply.kind), "quoted": reply.quoted}


async def _draft_by_quoting(state: DraftView, quoter: Drafter, profile: Profile) -> Json:
    reply = replace(await quoter.draft(_request(state, profile)), quoted=True)
    accounts = _accounts(state, reply, without_model=True)
    return {**accounts, "draft_answer": reply.text, "draft_kind": str(reply.kind), "quoted": True}


def _accounts(state: DraftView, reply: Draft, *, without_model: bool) -> Json:
    # The mark is this draft's: an earlier one that was quoted may be replaced by the model's own.
    before = [part for part in state["degraded"] if part != WITHOUT_THE_MODEL]
    mark = [WITHOUT_THE_MODEL] if without_model else []
    return {
        "degraded": list(dict.fromkeys([*before, *mark, *reply.degraded])),
        "model_calls": [*state["model_calls"], *(call.model_dump(mode="json") for call in reply.calls)],
    }


def _request(state: DraftView, profile: Profile) -> DraftRequest:
    """Return what any drafter needs, the first time as the last."""
    question, plan = state["question"], state["sgr_plan"]
    traces = [QueryTrace.model_validate(trace) for trace in state["query_traces"]]
    queries = list(plan["subqueries"])
    asked = _sure_queries(queries, state["guardian"])
    read = scores_by_query(traces, queries, rephrase(queries, profile.synonyms))
    return DraftRequest(
        question=question["text"],
        language=Language(question["language"]),
        request_type=RequestType(state["request_type"]),
        intent=plan["user_intent"],
        subqueries=tuple(rephrase(asked, profile.synonyms)),
        read=tuple(read[queries.index(query)] for query in asked) if read else (),
        odds=any(trace.odds for trace in traces),
        evidence=tuple(EvidenceItem.model_validate(item) for item in state["evidence"]),
        spec=ArchitectSpec.model_validate(state["architect_spec"]),
        history=said_before(state["messages"], question["id"], with_denied=False),
        restricted=Track(state["track"]) is Track.FAST and not state["evidence"],
    )


def _sure_queries(queries: Sequence[str], guardian: Json) -> list[str]:
    """Return the queries without those whose part of the question the last draft did not surely answer, where another was."""
    parts = [PartFinding.model_validate(part) for part in guardian.get("parts", [])]
    sure = [part.status is PartStatus.ANSWERED for part in parts]
    if not any(sure) or all(sure):
        return list(queries)
    texts = [part.text for part in parts]
    return [query for query in queries if sure[likest(query, texts)]] or list(queries)


def _trace_to_show(state: DraftView, context: Context) -> PlanTrace:
    """Return the run's setting; without a tool call, as after a plan of rules, there is none to show."""
    without_call = context.plan_trace is PlanTrace.TOOL_RESULT and not state["tool_trace"]
    return PlanTrace.SYNTHETIC if without_call else context.plan_trace


def _of_the_plan(state: DraftView, shown: ChannelView, trace: PlanTrace) -> Json:
    """Return what DT-004 lets a drafting model see of the plan, in the form that the run wants."""
    language = Language(state["question"]["language"])
    analysis = state["synthetic"].get("analysis", "") if shown.analysis else ""
    response = state["synthetic"].get("response", "") if shown.response else ""
    apart = response if trace is PlanTrace.TWO_MESSAGES else ""
    words = join_fields(Synthetic(analysis, "" if apart else response), language)
    data = as_data(state["sgr_plan"]) if shown.structured_data else ""
    return {
        "intent": state["sgr_plan"]["user_intent"] if shown.user_intent else "",
        "synthetic": "\n\n".join(filter(None, (words, data))),
        "synthetic_response": join_fields(Synthetic("", apart), language),
        "in_question": trace is PlanTrace.IN_QUESTION,
        "tool_trace": state["tool_trace"] if shown.tool_trace else {},
    }


def _fingerprint(request: DraftRequest) -> str:
    """Return a short text that two requests share only where they say the same."""
    return sha256(repr(request).encode()).hexdigest()[:16]
