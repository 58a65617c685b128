"""`moderation`: start a clean turn, judge the user's message, decide by DT-001."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.runtime import Runtime

from contracts.calls import ModelCall
from contracts.choices import NO_CHOICE, Choice, ChoiceKind
from contracts.context import Context
from contracts.decisions import MODERATION, record
from contracts.enums import GuardMode, ModerationDecision, ModerationState, OnUnavailable, SafetyLevel
from contracts.errors import InputError, ModerationUnavailable
from contracts.ports import Moderator, SpeculativePlanner
from contracts.profile import Profile
from contracts.report import ModerationResult
from contracts.state import Json, asked_about, find_offer, fresh_turn, plan_request, unanswered_id
from contracts.views import ModerationView
from guards.choices import choice_in
from guards.message_check import message_fault, message_language
from language.clean import clean

NAME = "moderation"
_ASSUMED = ModerationResult(safety_level=SafetyLevel.SAFE, state=ModerationState.SAFE)
"""What planning ahead takes for granted; where moderation says anything else, it is planned again."""


async def moderation(
    state: ModerationView,
    runtime: Runtime[Context],
    *,
    moderator: Moderator,
    fallback: Moderator | None = None,
    ahead: SpeculativePlanner | None = None,
    profile: Profile,
) -> Json:
    """Judge the user's newest message; if planning runs ahead, discard its plan on Block.

    Raises:
        InputError: There is no message, or it is invalid.
    """
    context = runtime.context or Context()
    message = newest_question(state["messages"])
    text = str(message.text)
    if fault := message_fault(text):
        raise fault
    question = _question(message.id or "", clean(text), state, context, profile)
    chosen = question.get("chose", {}).get("kind", ChoiceKind.LOOKUP) != ChoiceKind.LOOKUP
    if ahead is not None and context.guard_mode is not GuardMode.OFF and not chosen:
        sources = profile.sources_for(context.role)
        ahead.begin(plan_request(question, state["messages"], state.get("clarify_count", 0), _ASSUMED, sources))
    try:
        result, degraded, calls = await _judge(clean(text), context, moderator, fallback)
    except BaseException:
        if ahead is not None:
            ahead.drop(question["id"])  # nobody will ask for that plan
        raise
    decision = MODERATION.decide(
        state=result.state,
        mode=GuardMode.REPORT if context.guard_mode is GuardMode.OFF else context.guard_mode,
        block_threshold=context.block_threshold,
        on_unavailable=context.on_unavailable,
    )
    if ahead is not None and decision.outcome is ModerationDecision.BLOCK:
        calls = (*calls, *ahead.drop(question["id"]))
    return {
        **fresh_turn(),
        "question": question,
        "moderation": {**result.model_dump(mode="json"), "decision": str(decision.outcome)},
        "decisions": [record(NAME, decision).model_dump(mode="json")],
        "degraded": degraded,
        "model_calls": [call.model_dump(mode="json") for call in calls],
    }


def _question(turn_id: str, text: str, state: ModerationView, context: Context, profile: Profile) -> Json:
    """Return the question of a turn. Of a reply that chose something, it is what was chosen, and `written` the reply.

    Where a person was chosen, or a number that no choice has, the question is the one that was asked back about.
    """
    choices, language = find_offer(state["messages"])
    chose = choice_in(text, choices)
    if chose is None:
        return {"id": turn_id, "text": text, "language": str(message_language(text, profile, context.language))}
    asked = chose.asks if isinstance(chose, Choice) else ""
    spoken = language if language in profile.languages else ""
    return {
        "id": turn_id,
        "text": asked or asked_about(state["messages"], turn_id, state.get("clarify_count", 0)) or text,
        "language": str(context.language or spoken or message_language(text, profile, context.language)),
        "written": text,
        "chose": chose.model_dump(mode="json") if isinstance(chose, Choice) else {"kind": NO_CHOICE},
    }


def newest_question(messages: Sequence[AnyMessage]) -> HumanMessage:
    """Return the user's newest message, which may not be the last message.

    Raises:
        InputError: The user has written nothing, or nothing since the last answer.
    """
    newest = next((message for message in reversed(messages) if isinstance(message, HumanMessage)), None)
    if newest is not None and (newest.id is None or unanswered_id(messages)):
        return newest
    raise InputError(
        "There is no message of a user to answer.",
        "Send one as `messages: [{role: user, content: ...}]`.",
        key="empty" if newest is None else "nothing_new",
    )


async def _judge(
    text: str, context: Context, moderator: Moderator, fallback: Moderator | None
) -> tuple[ModerationResult, list[str], tuple[ModelCall, ...]]:
    if context.guard_mode is GuardMode.OFF:
        return ModerationResult(safety_level=SafetyLevel.NOT_AVAILABLE, state=ModerationState.OFF), [], ()
    try:
        result = await moderator.moderate(text)
    except ModerationUnavailable as error:
        degraded = [f"moderation: {error}"]
        if context.on_unavailable is OnUnavailable.FALLBACK and fallback is not None:
            found = await fallback.moderate(text)
            if found.state in (ModerationState.UNSAFE, ModerationState.CONTROVERSIAL):
                return found, degraded, error.calls
        # The rules finding nothing does not make the message safe: nobody who can tell has looked at it.
        unknown = ModerationResult(safety_level=SafetyLevel.NOT_AVAILABLE, state=ModerationState.UNAVAILABLE)
        return unknown, degraded, error.calls
    return result, [], result.calls
