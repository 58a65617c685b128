"""`safe_exit`: every turn that may not be answered ends here, and says why and how to go on."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, cast

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.runtime import Runtime

from contracts.context import Context
from contracts.decisions.evidence import could_not_ask
from contracts.errors import HandOffFailed
from contracts.evidence import QueryTrace
from contracts.plan import SGRPlanResult
from contracts.ports import HandOffDesk
from contracts.profile import Profile
from contracts.reasons import reason_names
from contracts.report import HandOff, Ticket
from contracts.result import StructuredAgentResult
from contracts.state import Json, said_before, unanswered_id
from contracts.values import (
    Delivery,
    DraftKind,
    Flow,
    Language,
    ModerationDecision,
    ModerationState,
    Outcome,
    PolicyStatus,
    RequiredAction,
    SGRAction,
    Source,
)
from contracts.views import FinalView
from guards.evidence_check import unchecked_sources
from guards.leaving import fit_to_leave, values_in
from guards.message_check import MAX_MESSAGE_CHARS
from language.words import detect
from rendering.answers import Sought, error_text, hand_off_text, minimal_question, refusal, user_view, with_delivery
from rendering.hand_off import hand_off_record, ticket_text
from rendering.texts import say

_LOG = logging.getLogger(__name__)

MOST_EARLIER: Final = 5
"""Earlier messages of the user that go with a ticket."""
LONGEST_EARLIER: Final = 1000
"""Characters of one of them."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a turn ends without an answer: what the user reads, and what is recorded.

    Attributes:
        told: What the user reads instead of `text` where a desk took the hand-off.
    """

    outcome: Outcome
    text: str
    block_reason: str | None = None
    hand_off: HandOff | None = None
    told: Mapping[Delivery, str] = field(default_factory=dict[Delivery, str])


async def safe_exit(
    state: FinalView, runtime: Runtime[Context], *, profile: Profile, desk: HandOffDesk | None = None
) -> Json:
    """Refuse, ask, hand over or own up to an error; a question asked back counts for the thread.

    A hand-off goes to the desk before the user reads that it does. Where this node is run again for the same turn,
    the desk gets the same ticket again, and knows it by its ids.
    """
    context = runtime.context or Context()
    language = _language(state, profile)
    end = _exit(state, context, language, profile)
    turn_id = state["question"].get("id") or unanswered_id(state["messages"])
    passed_on = _NOWHERE
    if desk is not None and end.hand_off is not None and turn_id:
        thread_id = (runtime.execution_info.thread_id if runtime.execution_info else None) or ""
        ticket = _ticket(state, end, end.hand_off, language, role=context.role, thread_id=thread_id, turn_id=turn_id)
        passed_on = await _submitted(desk, ticket)
    text = end.told.get(passed_on.delivery, end.text) if passed_on.delivery else end.text
    result = StructuredAgentResult.of_turn(
        {**state, "degraded": [*state["degraded"], *passed_on.degraded]},
        language=language,
        outcome=end.outcome,
        answer=text,
        block_reason=end.block_reason,
        hand_off=end.hand_off,
    ).model_copy(update={"hand_off_delivery": passed_on.delivery})
    marks = {
        "turn_id": turn_id,
        "outcome": str(end.outcome),
        "moderated": _moderated(state),
        "denied": _denied(state),
    }
    asked = end.outcome is Outcome.CLARIFICATION
    return {
        "final_answer": text,
        # A turn without a question of its own must not replace the answer to an earlier one.
        "messages": [AIMessage(text, id=f"{turn_id}-answer" if turn_id else None, additional_kwargs=marks)],
        "result": result.model_dump(mode="json"),
        "clarify_count": state.get("clarify_count", 0) + 1 if asked else 0,
    }


@dataclass(frozen=True, slots=True)
class _PassedOn:
    """What became of a hand-off; no delivery where no desk has it."""

    delivery: Delivery | None = None
    degraded: tuple[str, ...] = ()


_NOWHERE = _PassedOn()


async def _submitted(desk: HandOffDesk, ticket: Ticket) -> _PassedOn:
    try:
        said = await desk.submit(ticket)
    except HandOffFailed as error:
        return _PassedOn(degraded=(f"hand_off: {error}",))
    except Exception as error:  # noqa: BLE001  # the user is owed an end of the turn, whatever the desk's fault
        # A library's own message may quote what must not be shown.
        _LOG.exception("A hand-off could not be submitted.")
        return _PassedOn(degraded=(f"hand_off: it could not be submitted ({type(error).__name__})",))
    return _PassedOn(said.delivery, (f"hand_off: {said.why}",) if said.delivery is Delivery.KEPT else ())


def _ticket(
    state: FinalView, end: Exit, record: HandOff, language: Language, *, role: str, thread_id: str, turn_id: str
) -> Ticket:
    state = _fit_to_leave(state)
    ticket = Ticket(
        thread_id=thread_id,
        turn_id=turn_id,
        language=language,
        role=role,
        question=state["question"].get("text", ""),
        answer=end.told.get(Delivery.DELIVERED, end.text),
        record=record,
        text="",
        verdict=state["guardian"].get("verdict", ""),
        reasons=tuple(reason_names(state["guardian"].get("reasons", []))),
        earlier=_earlier(state),
    )
    return ticket.model_copy(update={"text": ticket_text(state, ticket, end.outcome)})


def _exit(state: FinalView, context: Context, language: Language, profile: Profile) -> Exit:
    if state["error"]:
        return _broken(state, language, profile)
    if _moderated(state):
        unavailable = state["moderation"]["state"] == ModerationState.UNAVAILABLE
        key = "moderation_unavailable" if unavailable else "guardian_refusal_unsafe"
        reason = "moderation_unavailable" if unavailable else "moderation_unsafe"
        return Exit(Outcome.REFUSED, refusal(key, language, profile), block_reason=reason)
    if state["guardian"]:
        return _failed(state, context, language, profile)
    return _stopped(state, language, profile)


def _stopped(state: FinalView, language: Language, profile: Profile) -> Exit:
    """End a turn that DT-002 stopped: what the template says, or the hand-off that was asked for."""
    action = SGRAction(state["action"])
    if state["flow"] == Flow.HAND_OFF:
        return _hand_off(state, language, profile, "hand_off_asked")
    plan = SGRPlanResult.model_validate(state["sgr_plan"])
    text = user_view(plan.user_intent, state["synthetic"]["response"], action, language)
    match action:
        case SGRAction.CLARIFY:
            return Exit(Outcome.CLARIFICATION, text)
        case SGRAction.BLOCK:
            return Exit(Outcome.DECLINED, text, block_reason="off_topic_or_spam")
        case SGRAction.GUARDIAN_BLOCK | SGRAction.NORMAL:
            return Exit(Outcome.REFUSED, text, block_reason="guardian_block")


def _failed(state: FinalView, context: Context, language: Language, profile: Profile) -> Exit:
    """End a turn that the Guardian failed, by the first of its actions that ends one."""
    actions = [RequiredAction(action) for action in state["guardian"]["required_actions"]]
    if RequiredAction.REDACT_SENSITIVE in actions:
        record = _record(state, Outcome.REFUSED, language)
        text = refusal("sensitive_refusal", language, profile)
        return _noted(Exit(Outcome.REFUSED, text, "policy_violation", record), language)
    violated = any(reason.startswith("policy_violation") for reason in state["guardian"]["reasons"])
    if RequiredAction.SAFE_REFUSAL in actions:
        key = "policy_refusal" if violated else "contract_refusal"
        record = _record(state, Outcome.REFUSED, language)
        end = Exit(Outcome.REFUSED, refusal(key, language, profile), key.removesuffix("_refusal"), record)
        return _noted(end, language)
    questions_left = state.get("clarify_count", 0) < context.max_clarifications
    if RequiredAction.ASK_MINIMAL_QUESTION in actions and questions_left:
        drafted = state["draft_answer"] if state["draft_kind"] == DraftKind.CLARIFICATION else ""
        record = _record(state, Outcome.CLARIFICATION, language)
        text = minimal_question(drafted, language, profile, _could_not_ask(state), _sought(state))
        return Exit(Outcome.CLARIFICATION, text, hand_off=record)
    if violated:
        return _hand_off(state, language, profile, "hand_off_policy")
    unasked = unchecked_sources(state["guardian"]["reasons"])
    return _hand_off(state, language, profile, "hand_off_unasked" if unasked else "hand_off", unasked)


def _hand_off(state: FinalView, language: Language, profile: Profile, key: str, unasked: Iterable[Source] = ()) -> Exit:
    record = _record(state, Outcome.HANDED_OFF, language)
    away = frozenset(unasked)
    told = {delivery: hand_off_text(record, language, profile, key, away, delivery) for delivery in Delivery}
    return Exit(Outcome.HANDED_OFF, hand_off_text(record, language, profile, key, away), hand_off=record, told=told)


def _record(state: FinalView, outcome: Outcome, language: Language) -> HandOff:
    fit = _fit_to_leave(state)
    return hand_off_record(fit, outcome, language, _earlier(fit))


def _earlier(fit: FinalView) -> tuple[str, ...]:
    """Return what the user wrote before, of a turn that is fit to leave."""
    return tuple(text for message in fit["messages"][-MOST_EARLIER:] if (text := str(message.text)))


def _said_before(state: FinalView) -> list[str]:
    """Return the user's own messages before the one that this turn is about; none of a turn that was stopped."""
    turn_id = state["question"].get("id") or unanswered_id(state["messages"])
    said = said_before(state["messages"], turn_id, with_unanswered=True) if turn_id else ()
    return [_bounded(exchange.text) for exchange in said if exchange.role == "user"][-MOST_EARLIER:]


def _bounded(text: str) -> str:
    return text if len(text) <= LONGEST_EARLIER else text[: LONGEST_EARLIER - 1].rstrip() + "…"


def _fit_to_leave(state: FinalView) -> FinalView:
    """Return a turn of which a record can be made: the user's words, without the secrets in them, however often said.

    Of its messages there are only those that the user wrote before.
    """
    plan = state["sgr_plan"]
    question = state["question"].get("text") or _newest(state)
    intent, queries = plan.get("user_intent", ""), plan.get("subqueries", [])
    before = _said_before(state)
    words = (question, intent, *queries, *before)
    try:
        known = values_in(words)
        fit = {text: fit_to_leave(text, known) for text in words}
        traces = [{**trace, "query": fit_to_leave(trace["query"], known)} for trace in state["query_traces"]]
    except Exception:  # noqa: BLE001  # what broke may have left everything in them
        fit, traces = dict.fromkeys(words, ""), []
    changed = {
        "question": {**state["question"], "text": fit[question]},
        "sgr_plan": {**plan, "user_intent": fit[intent], "subqueries": [fit[one] for one in queries]} if plan else plan,
        "query_traces": traces,
        "messages": [HumanMessage(fit[text]) for text in before],
    }
    return cast("FinalView", {**state, **changed})


def _sought(state: FinalView) -> Sought:
    return Sought(
        queries=_fit_to_leave(state)["sgr_plan"]["subqueries"],
        reasons=state["guardian"]["reasons"],
        found=len(state["evidence"]),
        figures=state["request_type"].startswith("STATUS_"),
        looked_up=any(trace["source"] == Source.DB for trace in state["query_traces"]),
    )


def _noted(end: Exit, language: Language) -> Exit:
    """Have the user learn that people will read of this turn, too."""
    return replace(end, told={delivery: with_delivery(end.text, delivery, language) for delivery in Delivery})


def _could_not_ask(state: FinalView) -> frozenset[Source]:
    return could_not_ask(QueryTrace.model_validate(trace) for trace in state["query_traces"])


def _broken(state: FinalView, language: Language, profile: Profile) -> Exit:
    error = state["error"]
    if error.get("key"):
        text = say(language, f"input_{error['key']}", limit=f"{MAX_MESSAGE_CHARS:,}")
        return Exit(Outcome.ERROR, text, block_reason="input")
    text = error_text(error["node"], "", language, profile)
    record = _record(state, Outcome.ERROR, language)
    return _noted(Exit(Outcome.ERROR, text, f"error_in_{error['node']}", record), language)


def _denied(state: FinalView) -> bool:
    """Whether policy denied the request, or could not judge it; a turn that was never asked about has no finding."""
    return bool(state["request_policy"]) and state["request_policy"].get("status") != PolicyStatus.OK


def _moderated(state: FinalView) -> bool:
    return state["moderation"].get("decision") == ModerationDecision.BLOCK


def _language(state: FinalView, profile: Profile) -> Language:
    if known := state["question"].get("language"):
        return Language(known)
    found = detect(_newest(state), default=profile.languages[0])
    return found if found in profile.languages else profile.languages[0]


def _newest(state: FinalView) -> str:
    """Return the user's newest message, for turns that ended before it was read."""
    return next((str(m.text) for m in reversed(state["messages"]) if isinstance(m, HumanMessage)), "")
