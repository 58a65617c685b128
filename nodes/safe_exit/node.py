"""The node `safe_exit`: how a turn ends that may not be answered, and what is written of it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final, cast

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from contracts.context import Context
from contracts.decisions import EXITS, record
from contracts.decisions.engine import Decision
from contracts.decisions.exits import Exit, ExitKind, StoppedBy, TicketRule
from contracts.enums import (
    DeliveryStatus,
    DraftKind,
    Flow,
    Language,
    ModerationDecision,
    ModerationState,
    Outcome,
    PolicyStatus,
    RequestType,
    RequiredAction,
    SGRAction,
)
from contracts.errors import NotJudged
from contracts.evidence import EvidenceItem, QueryTrace
from contracts.ports import HandOffSink
from contracts.profile import Profile
from contracts.reasons import read_reason
from contracts.report import number_of
from contracts.result import StructuredAgentResult
from contracts.state import Json, fresh_turn, marks_of_choice, newest_text, unanswered_id
from contracts.views import FinalView
from guards.exits import ExitFacts, Failure, exit_facts
from guards.judged_hash import judged_hash
from guards.message_check import MAX_MESSAGE_CHARS, message_language
from nodes.safe_exit.offer import Documents, ExitOffer, find_near_pages, make_offer
from nodes.safe_exit.ticket import TurnEnd, calls_people, make_ticket, redact_turn, submit_ticket, tell_delivery
from rendering.exits import (
    choices_text,
    minimal_question,
    pages_text,
    plain_exit,
    shown_pages,
    unclear_text,
    what_is_missing,
)
from rendering.hand_off import hand_off_record, hand_off_text, with_delivery
from rendering.synthetic import contact_of
from rendering.texts import say

NAME: Final = "safe_exit"
NODES: Final = frozenset(
    [
        "moderation",
        "sgr_plan",
        "inject_synthetic",
        "retrieve",
        "draft",
        "guardian_verify",
        "retry_bump",
        "finalize",
        NAME,
    ]
)
"""The nodes that there are: nothing else is said to have failed."""

_LOG = logging.getLogger(__package__)

_OUTCOMES: Final = {
    ExitKind.REFUSE: Outcome.REFUSED,
    ExitKind.DECLINE: Outcome.DECLINED,
    ExitKind.ASK: Outcome.CLARIFICATION,
    ExitKind.SHOW_PAGES: Outcome.PAGES_SHOWN,
    ExitKind.HAND_OFF: Outcome.HANDED_OFF,
    ExitKind.OWN_UP: Outcome.ERROR,
}
_STOPPED_BY_PLAN: Final = {
    SGRAction.CLARIFY: StoppedBy.UNCLEAR,
    SGRAction.BLOCK: StoppedBy.DECLINED,
    SGRAction.GUARDIAN_BLOCK: StoppedBy.REFUSED,
}
"""A plan that is to be searched for stops nowhere: without a report, such a state cannot be read."""


async def safe_exit(
    state: FinalView,
    runtime: Runtime[Context],
    *,
    profile: Profile,
    sink: HandOffSink | None = None,
    documents: Documents | None = None,
) -> Json:
    """Refuse, ask, show pages, hand over or own up to an error; a question asked back counts for the thread.

    A question asked back offers the nearest headings of the user's documents and a person, and names the words that none
    of these documents has; so do pages and hand-offs that say what is missing.

    A ticket goes to the sink before the user reads that it does. Where this node is run again for the same turn,
    the sink gets the same ticket again, and knows it by its ids. A state that cannot be read, as after an edit in
    Studio, ends as an error, too.
    """
    context = runtime.context or Context()
    state = cast("FinalView", {**fresh_turn(), **state})
    thread_id = (runtime.execution_info.thread_id if runtime.execution_info else None) or ""
    try:
        ended, turn_id, marks = await _end_turn(state, context, profile, documents, thread_id)
    except Exception as error:  # noqa: BLE001  # whatever stands in the state, the user is owed an end of the turn
        _LOG.exception("The state of a turn could not be read.")
        state = _without_the_turn(state, error)
        ended, turn_id, marks = await _end_turn(state, context, profile, documents, thread_id)
    delivery, degraded = None, ()
    if sink is not None and turn_id and calls_people(ended, context):
        delivery, degraded = await submit_ticket(sink, lambda: make_ticket(ended, context.role, thread_id, turn_id))
    result = tell_delivery(ended, delivery, degraded)
    asked = result.outcome is Outcome.CLARIFICATION
    # A turn without a question of its own must not replace the answer to an earlier one.
    message = AIMessage(result.answer_text, id=f"{turn_id}-answer" if turn_id else None, additional_kwargs=marks)
    return {
        "final_answer": result.answer_text,
        "messages": [message],
        "result": result.model_dump(mode="json"),
        "decisions": [line.model_dump(mode="json") for line in result.decisions],
        "clarify_count": state.get("clarify_count", 0) + 1 if asked else 0,
    }


async def _end_turn(
    state: FinalView, context: Context, profile: Profile, documents: Documents | None, thread_id: str
) -> tuple[TurnEnd, str, Json]:
    """Return all that is read of the state: the end, the turn's id and the marks of its message."""
    turn_id = str(state["question"].get("id") or unanswered_id(state["messages"]))
    number = number_of(thread_id, turn_id) if turn_id else ""
    ended = await _end(state, context, profile, documents, number)
    marks = {
        "turn_id": turn_id,
        "outcome": str(ended.result.outcome),
        "moderated": _is_blocked(state),
        "denied": _is_denied(state),
        **marks_of_choice(state["question"]),
    }
    if ended.result.choices:
        # The next message may be one of them, in whatever language a number is.
        marks["choices"] = [choice.model_dump(mode="json") for choice in ended.result.choices]
        marks["language"] = str(ended.result.language)
    return ended, turn_id, marks


async def _end(
    state: FinalView, context: Context, profile: Profile, documents: Documents | None, number: str
) -> TurnEnd:
    language = _language(state, profile)
    facts, near = _facts(state, context, profile), ExitOffer()
    if facts.wants_nearest and _policy(state) is PolicyStatus.OK and _is_judged(state):
        facts, near = await find_near_pages(state, facts, language, context, profile, documents)
    decision = _decide(state, context, facts)
    end = decision.outcome
    beside = await make_offer(state, end, facts, language, context, profile, documents)
    outcome = _OUTCOMES[end.kind]
    fit = redact_turn(state)
    handed = None
    if state["guardian"] or end.ticket is not TicketRule.NO:
        earlier = tuple(str(message.text) for message in fit["messages"])
        handed = hand_off_record(fit, outcome, language, earlier, person=end.ticket is TicketRule.YES, number=number)
    queries = fit["sgr_plan"].get("subqueries", [])
    told = _write_texts(state, end, facts, beside, number, queries, language, profile)
    broken = end.kind is ExitKind.OWN_UP and not state["error"].get("key")
    result = StructuredAgentResult.of_turn(
        {
            **state,
            # What was judged, and what a person gets of it, stays as it was: only the result has near pages, too.
            "evidence": [*state["evidence"], *(item.model_dump(mode="json") for item in facts.evidence[facts.found :])],
            "decisions": [*state["decisions"], record(NAME, decision).model_dump(mode="json")],
            "degraded": [*state["degraded"], *near.degraded, *beside.degraded],
            "model_calls": [*state["model_calls"], *near.calls, *beside.calls],
        },
        language=language,
        outcome=outcome,
        answer=told[None],
        block_reason=f"error_in_{_broken_node(state['error'])}" if broken else end.block_reason or None,
        hand_off=handed,
        pages=shown_pages(facts.pages, facts.evidence, language, profile) if outcome is Outcome.PAGES_SHOWN else (),
        choices=beside.choices,
    )
    return TurnEnd(end, result, told, fit)


def _facts(state: FinalView, context: Context, profile: Profile) -> ExitFacts:
    guardian = state["guardian"]
    if _stopped_by(state) is not StoppedBy.VERDICT:
        return ExitFacts()
    draft, kind = state["draft_answer"], state["draft_kind"]
    judged = _is_judged(state)
    failure = Failure(
        message=state["question"]["text"],
        request_type=RequestType(state["request_type"]),
        queries=state["sgr_plan"]["subqueries"],
        draft=draft if judged else "",
        kind=DraftKind(kind or DraftKind.ABSTENTION),
        reasons=tuple(map(read_reason, guardian["reasons"])),
        actions=[RequiredAction(action) for action in guardian["required_actions"]],
        # Pages are quoted from it: what nobody judged is not shown either.
        evidence=[EvidenceItem.model_validate(item) for item in state["evidence"] if judged],
        traces=[QueryTrace.model_validate(trace) for trace in state["query_traces"]],
    )
    return exit_facts(failure, profile, context.role)


def _is_judged(state: FinalView) -> bool:
    """Whether the report says of which draft and evidence it is; one of an older version does not, so nothing of the turn is shown.

    Raises:
        NotJudged: It is one of another draft, another evidence or another turn, or was edited itself.
    """
    guardian = state["guardian"]
    known = guardian.get("judged_hash", "")
    if known and known != judged_hash(state, guardian):
        raise NotJudged("What stands in the state is not what was judged, so nothing of it is shown.", "Ask again.")
    return bool(known)


def _decide(state: FinalView, context: Context, facts: ExitFacts) -> Decision[Exit]:
    return EXITS.decide(
        stopped_by=_stopped_by(state),
        last_action=facts.last_action,
        policy=_policy(state),
        sources_down=bool(facts.unasked),
        question_lacks=facts.question_lacks,
        clarifications_left=state.get("clarify_count", 0) < context.max_clarifications
        and not _asked_already(state, facts.question),
        pages=facts.pages_found,
    )


def _policy(state: FinalView) -> PolicyStatus:
    """Return what the policy check found; a report that does not say it has not checked it."""
    guardian = state["guardian"]
    return PolicyStatus(guardian.get("checks", {}).get("policy", PolicyStatus.UNCHECKED) if guardian else "ok")


def _asked_already(state: FinalView, question: str) -> bool:
    """Whether the drafted question is what the user was asked before in a row: the same words bring the same reply."""
    said = [str(message.text) for message in state["messages"] if isinstance(message, AIMessage)]
    in_a_row = max(1, state.get("clarify_count", 0))
    return bool(question) and any(question in text for text in said[-in_a_row:])


def _stopped_by(state: FinalView) -> StoppedBy:
    """Return where the turn stopped; an error comes after all else that it may have written."""
    if error := state["error"]:
        return StoppedBy.MESSAGE if error.get("key") else StoppedBy.ERROR
    if _is_blocked(state):
        down = state["moderation"]["state"] == ModerationState.UNAVAILABLE
        return StoppedBy.UNMODERATED if down else StoppedBy.UNSAFE
    if state["guardian"]:
        return StoppedBy.VERDICT
    return StoppedBy.PERSON if state["flow"] == Flow.HAND_OFF else _STOPPED_BY_PLAN[SGRAction(state["action"])]


def _write_texts(
    state: FinalView,
    end: Exit,
    facts: ExitFacts,
    beside: ExitOffer,
    number: str,
    queries: Sequence[str],
    language: Language,
    profile: Profile,
) -> dict[DeliveryStatus | None, str]:
    """Return what the user reads, by what became of the ticket; `None`: there is none.

    Of the queries, which stand in what others may read as well, only what is fit to leave.
    """
    missing = what_is_missing(
        facts.missing,
        queries,
        language,
        found=facts.found,
        figures=facts.figures,
        unasked=facts.unasked,
        unclear=beside.unclear,
        clauses=end.kind is ExitKind.HAND_OFF,
    )
    match end.kind:
        case ExitKind.HAND_OFF:
            why = missing if facts.missing else ""
            return {
                delivery: hand_off_text(number, language, profile, end.text, facts.unasked, delivery, why)
                for delivery in (None, *DeliveryStatus)
            }
        case ExitKind.SHOW_PAGES:
            text = pages_text(end.text, missing, facts.pages, facts.evidence, language, profile)
        case ExitKind.ASK if end.text:
            text = minimal_question(end.text, facts.question, queries, language)
        case _:
            text = plain_exit(end, state, language, profile, limit=MAX_MESSAGE_CHARS)
    if end.kind is ExitKind.ASK:
        text = "\n\n".join(
            filter(None, (text, unclear_text(beside.unclear, language), choices_text(beside.choices, language)))
        )
    untold = text
    if end.kind is ExitKind.SHOW_PAGES and end.ticket is TicketRule.YES:
        contact = say(language, "pages_contact", contact=contact_of(profile, language))
        quoted = f" {say(language, 'also_number', number=number)}" if number else ""
        untold = f"{text}\n\n{contact}{quoted}"
    return {None: untold, **{delivery: with_delivery(text, delivery, language, number) for delivery in DeliveryStatus}}


def _without_the_turn(state: FinalView, error: Exception) -> FinalView:
    """Return the thread of a turn without what the turn wrote: something of it cannot be read."""
    known: Any = state["error"]
    try:
        node = _broken_node(known)
    except (KeyError, TypeError, ValueError):
        node = NAME
    broken = {"node": node, "kind": type(error).__name__, "message": type(error).__name__, "key": ""}
    return cast("FinalView", {**fresh_turn(), "messages": state["messages"], "clarify_count": 0, "error": broken})


def _broken_node(error: Json) -> str:
    """Return the name of the node that failed, which the user reads.

    Raises:
        KeyError, TypeError: There is none.
        ValueError: It is no name but some other text, as after an edit.
    """
    node: object = error["node"]
    if not (isinstance(node, str) and node in NODES):
        raise ValueError("what failed is no node")
    return node


def _is_denied(state: FinalView) -> bool:
    """Whether policy denied the request, or could not judge it; a turn that was never asked about has no finding."""
    return bool(state["request_policy"]) and state["request_policy"].get("status") != PolicyStatus.OK


def _is_blocked(state: FinalView) -> bool:
    return state["moderation"].get("decision") == ModerationDecision.BLOCK


def _language(state: FinalView, profile: Profile) -> Language:
    if (known := state["question"].get("language")) in set(Language):
        return Language(known)
    return message_language(newest_text(state["messages"]), profile)
