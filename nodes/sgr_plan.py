"""`sgr_plan`: one planning exchange, then DT-002 decides the action and DT-007 the track."""

from __future__ import annotations

from langgraph.runtime import Runtime

from contracts.context import Context
from contracts.decisions import TOOL_BINDING, TRACK, record, routing_table
from contracts.plan import SGRPlanResult
from contracts.ports import Planner
from contracts.profile import Profile
from contracts.report import ModerationResult
from contracts.state import Json, plan_request
from contracts.values import Language, PolicyStatus, SGRAction, TurnState
from contracts.views import PlanView
from guards.plan_check import settle_plan
from guards.policy_check import PolicyFinding, check_request

NAME = "sgr_plan"


async def sgr_plan(state: PlanView, runtime: Runtime[Context], *, planner: Planner, profile: Profile) -> Json:
    """Plan the message once; the planner's action is a proposal, and a disagreement is recorded."""
    context = runtime.context or Context()
    question = state["question"]
    moderation = ModerationResult.model_validate({k: v for k, v in state["moderation"].items() if k != "decision"})
    binding = TOOL_BINDING.decide(turn_state=TurnState.PLANNING)
    sources = profile.sources_for(context.role)
    reply = await planner.plan(
        plan_request(question, state["messages"], state.get("clarify_count", 0), moderation, sources)
    )
    plan = settle_plan(reply.plan, question["text"], Language(question["language"]), profile, context.role)
    route = routing_table(context.spam_threshold, context.confidence_threshold).decide(
        level=moderation.safety_level,
        proposal=plan.action,
        spam_score=plan.spam_score,
        wants_human=plan.wants_human,
        intent_confidence=plan.intent_confidence,
        clarifications_left=state.get("clarify_count", 0) < context.max_clarifications,
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
        "request_policy": _policy(question["text"], plan, route.outcome.action, context, profile),
        "decisions": [*state["decisions"], *(line.model_dump(mode="json") for line in made)],
        "degraded": [*state["degraded"], *reply.degraded],
        "model_calls": [*state["model_calls"], *(call.model_dump(mode="json") for call in reply.calls)],
    }


def _policy(message: str, plan: SGRPlanResult, action: SGRAction, context: Context, profile: Profile) -> Json:
    if action is not SGRAction.NORMAL or plan.wants_human:
        return {}
    try:
        return check_request(message, plan.request_type, profile, context.role).model_dump(mode="json")
    except Exception as error:  # noqa: BLE001  # whatever broke, the request has not been checked
        return {**PolicyFinding(status=PolicyStatus.UNCHECKED).model_dump(mode="json"), "error": type(error).__name__}
