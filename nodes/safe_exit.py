"""`safe_exit`: every turn that may not be answered ends here by DT-008, and says why and how to go on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.runtime import Runtime

from contracts.choices import NO_CHOICE, Choice, ChoiceKind
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
    Source,
    Tickets,
)
from contracts.errors import HandOffFailed, NotJudged, SourceUnavailable
from contracts.evidence import EvidenceItem, QueryTrace
from contracts.plan import SGRPlanResult
from contracts.ports import EvidenceSource, HandOffSink, SearchRequest, WordProbe
from contracts.profile import Profile
from contracts.report import HandOff, Ticket
from contracts.result import StructuredAgentResult
from contracts.state import Json, find_offer, fresh_turn, marks_of_choice, said_before, unanswered_id
from contracts.views import FinalView
from guards.choices import (
    OF_DOCUMENTS,
    named_lookups,
    nearest_headings,
    takes_a_number,
    telling_words,
    unclear_words,
    words_to_look_for,
)
from guards.exits import ExitFacts, Failure, exit_facts
from guards.judged_hash import judged_hash
from guards.message_check import MAX_MESSAGE_CHARS, message_language
from guards.outgoing import TurnWords, redact_words
from guards.redaction import redact
from rendering.exits import (
    choices_text,
    minimal_question,
    pages_text,
    plain_exit,
    shown_pages,
    unclear_text,
    what_is_missing,
)
from rendering.hand_off import hand_off_record, hand_off_text, hand_off_ticket, with_delivery
from rendering.synthetic import clarification_question
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
_LOG = logging.getLogger(__name__)

MOST_EARLIER: Final = 5
"""Earlier messages of the user that go with a ticket."""
LONGEST_EARLIER: Final = 1000
"""Characters of one of them."""

HEADINGS_FROM: Final = 12
"""Passages of each kind of document whose headings are looked at for choices."""

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


@dataclass(frozen=True, slots=True)
class _TurnEnd:
    """A turn that has ended: what the user reads, and what is recorded.

    Attributes:
        told: What the user reads instead of `result.answer_text` where a sink took the ticket.
        fit: The turn without what must not leave the house.
    """

    exit: Exit
    result: StructuredAgentResult
    told: Mapping[DeliveryStatus | None, str]
    fit: FinalView


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents, for what is said beside a question asked back.

    Attributes:
        sources: By their kinds.
        probe: Tells which words they do not have.
    """

    sources: Mapping[Source, EvidenceSource]
    probe: WordProbe


@dataclass(frozen=True, slots=True)
class _Beside:
    """What is said beside an end: what is unclear, what to choose from, and what it took to find out."""

    unclear: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    degraded: tuple[str, ...] = ()
    calls: tuple[Json, ...] = ()


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
    try:
        ended, turn_id, marks = await _end_turn(state, context, profile, documents)
    except Exception as error:  # noqa: BLE001  # whatever stands in the state, the user is owed an end of the turn
        _LOG.exception("The state of a turn could not be read.")
        state = _without_the_turn(state, error)
        ended, turn_id, marks = await _end_turn(state, context, profile, documents)
    delivery, degraded = None, ()
    if sink is not None and turn_id and _calls_people(ended, context):
        thread_id = (runtime.execution_info.thread_id if runtime.execution_info else None) or ""
        delivery, degraded = await _submit(sink, lambda: _ticket(ended, context.role, thread_id, turn_id))
    result = _with_delivery(ended, delivery, degraded)
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
    state: FinalView, context: Context, profile: Profile, documents: Documents | None
) -> tuple[_TurnEnd, str, Json]:
    """Return all that is read of the state: the end, the turn's id and the marks of its message."""
    ended = await _end(state, context, profile, documents)
    turn_id = str(state["question"].get("id") or unanswered_id(state["messages"]))
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


async def _end(state: FinalView, context: Context, profile: Profile, documents: Documents | None) -> _TurnEnd:
    language = _language(state, profile)
    facts = _facts(state, context, profile)
    decision = _decide(state, context, facts)
    end = decision.outcome
    beside = await _beside(state, end, facts, context, profile, documents)
    outcome = _OUTCOMES[end.kind]
    fit = _redact_turn(state)
    handed = None
    if state["guardian"] or end.ticket is not TicketRule.NO:
        earlier = tuple(str(message.text) for message in fit["messages"])
        handed = hand_off_record(fit, outcome, language, earlier, person=end.ticket is TicketRule.YES)
    queries = fit["sgr_plan"].get("subqueries", [])
    told = _write_texts(state, end, facts, beside, handed, queries, language, profile)
    broken = end.kind is ExitKind.OWN_UP and not state["error"].get("key")
    result = StructuredAgentResult.of_turn(
        {
            **state,
            "decisions": [*state["decisions"], record(NAME, decision).model_dump(mode="json")],
            "degraded": [*state["degraded"], *beside.degraded],
            "model_calls": [*state["model_calls"], *beside.calls],
        },
        language=language,
        outcome=outcome,
        answer=told[None],
        block_reason=f"error_in_{_broken_node(state['error'])}" if broken else end.block_reason or None,
        hand_off=handed,
        pages=shown_pages(facts.pages, facts.evidence, language, profile) if outcome is Outcome.PAGES_SHOWN else (),
        choices=beside.choices,
    )
    return _TurnEnd(end, result, told, fit)


async def _beside(
    state: FinalView,
    end: Exit,
    facts: ExitFacts,
    context: Context,
    profile: Profile,
    documents: Documents | None,
) -> _Beside:
    """Return what is said beside a question asked back, or beside what is missing; nothing beside any other end."""
    asks = end.kind is ExitKind.ASK
    if not (asks or facts.missing):
        return _Beside()
    if state["question"].get("chose", {}).get("kind") == NO_CHOICE:
        return _Beside(choices=tuple(find_offer(state["messages"]).choices) if asks else ())
    role, language = context.role, _language(state, profile)
    unclear, degraded = await _unclear(state["question"]["text"], documents, context, profile)
    if not asks:
        return _Beside(unclear, degraded=degraded)
    if facts.lookups and not facts.question:
        choices, calls = named_lookups(facts.lookups, language), ()
    elif takes_a_number(facts.question or _question_of_the_plan(state, language, profile)):
        return _Beside(unclear, degraded=degraded)
    else:
        items: Sequence[EvidenceItem] = facts.evidence
        calls = ()
        asked = " ".join((state["question"]["text"], *state["sgr_plan"]["subqueries"]))
        if not items and telling_words(asked):
            items, calls, failed = await _near(
                state["sgr_plan"]["subqueries"][0], language, documents, context, profile
            )
            degraded = (*degraded, *failed)
        choices = nearest_headings(asked, items, profile, role)
    person = Choice(kind=ChoiceKind.PERSON, label=say(language, "choice_person"))
    return _Beside(unclear, (*choices, person), degraded, calls)


def _question_of_the_plan(state: FinalView, language: Language, profile: Profile) -> str:
    return clarification_question(SGRPlanResult.model_validate(state["sgr_plan"]), language, profile)


async def _unclear(
    message: str, documents: Documents | None, context: Context, profile: Profile
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words of a message that are named as unknown to the user's documents, and why they could not be told."""
    text = words_to_look_for(message)
    kinds = profile.sources_for(context.role) & OF_DOCUMENTS
    if documents is None or not text or not kinds:
        return (), ()
    try:
        async with asyncio.timeout(context.source_seconds):
            unknown = await documents.probe.unknown(text, kinds)
    except Exception as error:  # noqa: BLE001  # the user is owed an end of the turn, whatever the documents' fault
        return (), (f"choices: it was not asked which words the documents have. {_why(error)}",)
    return unclear_words(text, unknown, profile), ()


async def _near(
    query: str, language: Language, documents: Documents | None, context: Context, profile: Profile
) -> tuple[list[EvidenceItem], tuple[Json, ...], tuple[str, ...]]:
    """Return what is nearest to a query in the user's documents, masked, the requests to models, and what failed."""
    if documents is None:
        return [], (), ()
    kinds = [kind for kind in documents.sources if kind in profile.sources_for(context.role) & OF_DOCUMENTS]
    request = SearchRequest(query, HEADINGS_FROM, language, threshold=context.evidence_threshold)
    items: list[EvidenceItem] = []
    calls: list[Json] = []
    failed: list[str] = []
    try:
        async with asyncio.timeout(context.source_seconds):
            replies = await asyncio.gather(
                *(documents.sources[kind].search(request) for kind in kinds), return_exceptions=True
            )
    except TimeoutError:
        return [], (), ("choices: the documents were not asked for headings in time",)
    for reply in replies:
        if isinstance(reply, BaseException):
            failed.append(f"choices: the documents could not be asked for headings. {_why(reply)}")
            continue
        items += redact(reply.items, profile, context.role)
        calls += (call.model_dump(mode="json") for call in reply.calls)
    return sorted(items, key=lambda item: -item.confidence), tuple(calls), tuple(dict.fromkeys(failed))


def _why(error: BaseException) -> str:
    # A library's own message may quote what must not be shown.
    return str(error) if isinstance(error, SourceUnavailable) else type(error).__name__


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
        reasons=guardian["reasons"],
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
    guardian = state["guardian"]
    # A report that does not say what it found of policy has not checked it.
    policy = guardian.get("checks", {}).get("policy", PolicyStatus.UNCHECKED) if guardian else PolicyStatus.OK
    return EXITS.decide(
        stopped_by=_stopped_by(state),
        last_action=facts.last_action,
        policy=PolicyStatus(policy),
        sources_down=bool(facts.unasked),
        question_lacks=facts.question_lacks,
        clarifications_left=state.get("clarify_count", 0) < context.max_clarifications
        and not _asked_already(state, facts.question),
        pages=bool(facts.pages),
    )


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
    beside: _Beside,
    handed: HandOff | None,
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
        found=len(facts.evidence),
        figures=facts.figures,
        unasked=facts.unasked,
        unclear=beside.unclear,
    )
    match end.kind:
        case ExitKind.HAND_OFF if handed is not None:
            why = missing if facts.missing and end.text == "hand_off" else ""
            return {
                delivery: hand_off_text(handed, language, profile, end.text, facts.unasked, delivery, why)
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
    return {None: text, **{delivery: with_delivery(text, delivery, language) for delivery in DeliveryStatus}}


def _calls_people(ended: _TurnEnd, context: Context) -> bool:
    rule = ended.exit.ticket
    return rule is TicketRule.YES or (rule is TicketRule.WIDE and context.tickets is Tickets.WIDE)


def _ticket(ended: _TurnEnd, role: str, thread_id: str, turn_id: str) -> Ticket:
    fit, result = ended.fit, ended.result
    ticket = Ticket(
        thread_id=thread_id,
        turn_id=turn_id,
        language=result.language,
        role=role,
        question=fit["question"]["text"],
        answer=ended.told[DeliveryStatus.DELIVERED],
        record=cast("HandOff", result.hand_off),
        text="",
        earlier=tuple(str(message.text) for message in fit["messages"]),
    )
    return hand_off_ticket(fit, ticket, result.outcome)


async def _submit(sink: HandOffSink, ticket: Callable[[], Ticket]) -> tuple[DeliveryStatus | None, tuple[str, ...]]:
    """Return what became of a ticket, and what went wrong with it; no delivery where no sink has it."""
    try:
        said = await sink.submit(ticket())
    except HandOffFailed as error:
        return None, (f"hand_off: {error}",)
    except Exception as error:  # noqa: BLE001  # the user is owed an end of the turn, whatever the sink's fault
        # A library's own message may quote what must not be shown.
        _LOG.exception("A hand-off could not be submitted.")
        return None, (f"hand_off: it could not be submitted ({type(error).__name__})",)
    return said.delivery, (f"hand_off: {said.why}",) if said.delivery is DeliveryStatus.KEPT else ()


def _with_delivery(
    ended: _TurnEnd, delivery: DeliveryStatus | None, degraded: tuple[str, ...]
) -> StructuredAgentResult:
    result = ended.result
    known = result.diagnostics
    diagnostics = known.model_copy(update={"degraded": [*known.degraded, *degraded]})
    changed = {"answer_text": ended.told[delivery], "hand_off_delivery": delivery, "diagnostics": diagnostics}
    return result.model_copy(update=changed)


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


def _redact_turn(state: FinalView) -> FinalView:
    """Return a turn of which a record can be made: of its messages there are only those that the user wrote before."""
    plan, turn_id = state["sgr_plan"], state["question"].get("id") or unanswered_id(state["messages"])
    said = said_before(state["messages"], turn_id, with_unanswered=True) if turn_id else ()
    before = [_clip(exchange.text) for exchange in said if exchange.role == "user" and exchange.text]
    fit = redact_words(
        TurnWords(
            question=state["question"].get("text") or _newest(state),
            intent=plan.get("user_intent", ""),
            queries=tuple(plan.get("subqueries", ())),
            before=tuple(before[-MOST_EARLIER:]),
            searched=tuple(trace["query"] for trace in state["query_traces"]),
        )
    )
    changed = {
        "question": {**state["question"], "text": fit.question},
        "sgr_plan": {**plan, "user_intent": fit.intent, "subqueries": list(fit.queries)} if plan else plan,
        "query_traces": [
            {**trace, "query": query} for trace, query in zip(state["query_traces"], fit.searched, strict=True)
        ],
        "messages": [HumanMessage(text) for text in fit.before],
    }
    return cast("FinalView", {**state, **changed})


def _clip(text: str) -> str:
    return text if len(text) <= LONGEST_EARLIER else text[: LONGEST_EARLIER - 1].rstrip() + "…"


def _is_denied(state: FinalView) -> bool:
    """Whether policy denied the request, or could not judge it; a turn that was never asked about has no finding."""
    return bool(state["request_policy"]) and state["request_policy"].get("status") != PolicyStatus.OK


def _is_blocked(state: FinalView) -> bool:
    return state["moderation"].get("decision") == ModerationDecision.BLOCK


def _language(state: FinalView, profile: Profile) -> Language:
    if (known := state["question"].get("language")) in set(Language):
        return Language(known)
    return message_language(_newest(state), profile)


def _newest(state: FinalView) -> str:
    """Return the user's newest message, for turns that ended before it was read."""
    return next((str(m.text) for m in reversed(state["messages"]) if isinstance(m, HumanMessage)), "")
