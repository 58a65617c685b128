"""`sgr_plan`: one planning exchange, then DT-002 decides the action and DT-007 the track."""

from __future__ import annotations

from langgraph.runtime import Runtime

from contracts.context import Context
from contracts.decisions import TOOL_BINDING, TRACK, record, routing_table
from contracts.plan import SGRPlanResult
from contracts.ports import Planner, PlanRequest
from contracts.profile import Profile
from contracts.report import ModerationResult
from contracts.state import Json, plan_request
from contracts.values import Flow, Language, PolicyStatus, TurnState
from contracts.views import PlanView
from guards.plan_check import check_plan, settle_plan, users_words
from guards.policy_check import PolicyFinding

NAME = "sgr_plan"


async def sgr_plan(state: PlanView, runtime: Runtime[Context], *, planner: Planner, profile: Profile) -> Json:
    """Plan the message once; the planner's action is a proposal, and a disagreement is recorded."""
    context = runtime.context or Context()
    question = state["question"]
    moderation = ModerationResult.model_validate({k: v for k, v in state["moderation"].items() if k != "decision"})
    binding = TOOL_BINDING.decide(turn_state=TurnState.PLANNING)
    sources = profile.sources_for(context.role)
    request = plan_request(question, state["messages"], state.get("clarify_count", 0), moderation, sources)
    reply = await planner.plan(request)
    plan = settle_plan(
        reply.plan, request.message, Language(question["language"]), profile, context.role, users_words(request)
    )
    left = state.get("clarify_count", 0) < context.max_clarifications and not _asked_already(plan, request)
    route = routing_table(context.spam_threshold, context.confidence_threshold).decide(
        level=moderation.safety_level,
        proposal=plan.action,
        spam_score=plan.spam_score,
        wants_human=plan.wants_human,
        intent_confidence=plan.intent_confidence,
        clarifications_left=left,
    )
    track = TRACK.decide(request_type=plan.request_type, knowledge_track=context.knowledge_track)
    proposed = str(plan.action) if plan.action is not route.outcome.action else None
    made = [record(NAME, binding), record(NAME, route, proposed), record(NAME, track)]
    return {
        "sgr_plan": plan.model_dump(mode="json"),
        "tool_trace": reply.trace,
        "action": str(route.outcome.action),
        "flow": str(route.outcome.flow),
        "request_type": str(plan.request_type),
        "track": str(track.outcome),
        "architect_spec": profile.spec_for(plan.request_type).model_dump(mode="json"),
        "request_policy": _policy(plan, request, route.outcome.flow, profile, context.role),
        "decisions": [*state["decisions"], *(line.model_dump(mode="json") for line in made)],
        "degraded": [*state["degraded"], *reply.degraded],
        "model_calls": [*state["model_calls"], *(call.model_dump(mode="json") for call in reply.calls)],
    }


def _asked_already(plan: SGRPlanResult, request: PlanRequest) -> bool:
    """Whether the plan would ask what was asked right before: the same words bring the same reply."""
    said = [exchange.text for exchange in request.history if exchange.role == "assistant"]
    return bool(plan.clarification_question and said and plan.clarification_question in said[-1])


def _policy(plan: SGRPlanResult, request: PlanRequest, flow: Flow, profile: Profile, role: str) -> Json:
    """Return what policy says of a request that is searched or asked back about; nothing of any other."""
    try:
        finding = check_plan(plan, request, flow, profile, role)
    except Exception as error:  # noqa: BLE001  # whatever broke, the request has not been checked
        return {**PolicyFinding(status=PolicyStatus.UNCHECKED).model_dump(mode="json"), "error": type(error).__name__}
    if flow is not Flow.GO_ON and finding.status is PolicyStatus.OK:
        return {}
    return finding.model_dump(mode="json")
