"""`sgr_plan`: run one planning exchange; then DT-002 decides the action and DT-007 the track."""

from __future__ import annotations

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from contracts.choices import NO_CHOICE, Choice, ChoiceKind
from contracts.context import Context
from contracts.decisions import TOOL_BINDING, TRACK, record, routing_table
from contracts.enums import Flow, Language, PolicyStatus, TurnState
from contracts.plan import SGRPlanResult
from contracts.ports import Planner, PlanReply, PlanRequest
from contracts.profile import Profile
from contracts.report import ModerationResult
from contracts.state import Json, plan_request
from contracts.views import PlanView
from guards.choices import plan_of_choice
from guards.plan_check import check_plan, settle_plan, users_words
from guards.policy_check import PolicyFinding
from rendering.texts import say

NAME = "sgr_plan"


async def sgr_plan(state: PlanView, runtime: Runtime[Context], *, planner: Planner, profile: Profile) -> Json:
    """Plan the message once; the planner's action is a proposal, and a different decision is recorded.

    A reply that chose a section or a person is planned without the planner.
    """
    context = runtime.context or Context()
    question = state["question"]
    moderation = ModerationResult.model_validate({k: v for k, v in state["moderation"].items() if k != "decision"})
    binding = TOOL_BINDING.decide(turn_state=TurnState.PLANNING)
    sources = profile.sources_for(context.role)
    request = plan_request(question, state["messages"], state.get("clarify_count", 0), moderation, sources)
    some_left = state.get("clarify_count", 0) < context.max_clarifications
    if question.get("chose", {}).get("kind", ChoiceKind.LOOKUP) != ChoiceKind.LOOKUP:
        reply = PlanReply(_plan_of_choice(state, some_left=some_left))
        plan = reply.plan
    else:
        reply = await planner.plan(request)
        plan = settle_plan(
            reply.plan, request.message, Language(question["language"]), profile, context.role, users_words(request)
        )
    left = some_left and not _asked_already(plan, request)
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


def _plan_of_choice(state: PlanView, *, some_left: bool) -> SGRPlanResult:
    """Return the plan of what was chosen; of a number that no choice has, it asks which is meant, once."""
    question = state["question"]
    language, asked, kind = Language(question["language"]), question["text"], question["chose"]["kind"]
    which = say(language, "no_such_choice")
    told = next((str(m.text) for m in reversed(state["messages"]) if isinstance(m, AIMessage)), "")
    again = which if some_left and which not in told else ""
    flat = " ".join(asked.split())
    wanted = "chose_heading" if kind == ChoiceKind.HEADING else "chose_person"
    return plan_of_choice(
        kind,
        Choice.model_validate(question["chose"]).source if kind != NO_CHOICE else None,
        asked,
        intent=flat if kind == NO_CHOICE and again else say(language, wanted, asked=flat),
        because=say(language, "chose_because"),
        question=again,
        language=language,
    )


def _asked_already(plan: SGRPlanResult, request: PlanRequest) -> bool:
    """Whether the plan would ask what was asked before in a row: the same words bring the same reply."""
    said = [exchange.text for exchange in request.history if exchange.role == "assistant"]
    asked = plan.clarification_question
    return bool(asked and any(asked in text for text in said[-max(1, request.clarifications) :]))


def _policy(plan: SGRPlanResult, request: PlanRequest, flow: Flow, profile: Profile, role: str) -> Json:
    """Return what policy says of a request that is searched or asked back about; nothing of any other."""
    try:
        finding = check_plan(plan, request, flow, profile, role)
    except Exception as error:  # noqa: BLE001  # whatever broke, the request has not been checked
        return {**PolicyFinding(status=PolicyStatus.UNCHECKED).model_dump(mode="json"), "error": type(error).__name__}
    if flow is not Flow.GO_ON and finding.status is PolicyStatus.OK:
        return {}
    return finding.model_dump(mode="json")
