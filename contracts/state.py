"""`ChatState`: the channels of the graph. They hold plain data only, so that every checkpoint stays readable.

Nodes use Pydantic models at their borders: a node writes with `model_dump(mode="json")`, and the next node parses what
it reads.
"""

# Annotations are types here, no strings: where LangGraph checks what is stored, it evaluates those for each graph.

from collections.abc import Sequence
from typing import Annotated, Any, Final, NamedTuple, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph.message import Messages, add_messages
from typing_extensions import TypedDict

from contracts.choices import NO_CHOICE, Choice, ChoiceKind, choices_of
from contracts.decisions.planning import TOOL_BINDING
from contracts.enums import Language, Outcome, Source, TurnState
from contracts.ports import Exchange, PlanRequest
from contracts.report import ModerationResult
from contracts.shapes import Shape

MESSAGE_WINDOW: Final = 20
"""Messages kept in the state. The whole conversation is in the transcript, not in every checkpoint."""

Json = dict[str, Any]


def add_to_window(left: list[AnyMessage], right: list[AnyMessage] | Messages) -> list[AnyMessage]:
    """Reducer of `messages`: LangGraph's `add_messages` (by id, so a repeat replaces), cut to the last 20."""
    # One message, or its bare text, comes from callers of the dev server. add_messages makes a list of either.
    merged = cast("list[AnyMessage]", add_messages([*left], [*right] if isinstance(right, list) else right))
    return merged[-MESSAGE_WINDOW:]


class ChatState(TypedDict, total=False):
    """The state of a turn. `messages` and `clarify_count` belong to the thread, all other keys to one turn."""

    messages: Annotated[list[AnyMessage], add_to_window]
    clarify_count: int

    question: Annotated[Json, Shape("contracts.shapes", "QuestionFields")]
    moderation: Annotated[Json, Shape("contracts.report", "ModerationResult", more=("decision",))]
    sgr_plan: Annotated[Json, Shape("contracts.plan", "SGRPlanResult")]
    tool_trace: Annotated[Json, Shape("contracts.shapes", "ToolFields")]
    action: str
    flow: str
    request_type: str
    track: str
    architect_spec: Annotated[Json, Shape("contracts.spec", "ArchitectSpec")]
    request_policy: Annotated[Json, Shape("contracts.shapes", "PolicyFields")]
    decisions: list[Annotated[Json, Shape("contracts.report", "DecisionRecord")]]
    degraded: list[str]
    synthetic: Annotated[Json, Shape("contracts.shapes", "SyntheticFields")]
    evidence: list[Annotated[Json, Shape("contracts.evidence", "EvidenceItem")]]
    query_traces: list[Annotated[Json, Shape("contracts.evidence", "QueryTrace")]]
    past_searches: list[Annotated[Json, Shape("contracts.shapes", "SearchFields")]]
    widened: bool
    nothing_new: bool
    searches_wanted: list[str]
    searches_made: int
    drafted_from: str
    quoting: bool
    quoted: bool
    kept: Annotated[Json, Shape("contracts.shapes", "KeptFields")]
    draft_answer: str
    draft_kind: str
    guardian: Annotated[Json, Shape("contracts.report", "GuardianReport", more=("judged_hash",))]
    retry_count: int
    model_calls: list[Annotated[Json, Shape("contracts.calls", "ModelCall")]]
    final_answer: str
    result: Annotated[Json, Shape("contracts.result", "StructuredAgentResult")]
    error: Annotated[Json, Shape("contracts.shapes", "ErrorFields")]


THREAD_KEYS: Final = frozenset({"messages", "clarify_count"})
"""Keys that outlive a turn."""


def fresh_turn() -> Json:
    """Return the initial value of every per-turn key."""
    return {
        "question": {},
        "moderation": {},
        "sgr_plan": {},
        "tool_trace": {},
        "action": "",
        "flow": "",
        "request_type": "",
        "track": "",
        "architect_spec": {},
        "request_policy": {},
        "decisions": [],
        "degraded": [],
        "synthetic": {},
        "evidence": [],
        "query_traces": [],
        "past_searches": [],
        "widened": False,
        "nothing_new": False,
        "searches_wanted": [],
        "searches_made": 0,
        "drafted_from": "",
        "quoting": False,
        "quoted": False,
        "kept": {},
        "draft_answer": "",
        "draft_kind": "",
        "guardian": {},
        "retry_count": 0,
        "model_calls": [],
        "final_answer": "",
        "result": {},
        "error": {},
    }


def said_before(
    messages: Sequence[AnyMessage], question_id: str, *, with_denied: bool = True, with_unanswered: bool = False
) -> tuple[Exchange, ...]:
    """Return what was said before a question: the user's words and what the user saw.

    Turns that moderation stopped are left out, because they must not be sent anywhere again. Requests that policy
    denied are left out unless `with_denied`: a plan may read them to notice a repeated request, but an answer must not.
    Questions without an answer, because their turn was stopped or replaced, are left out unless `with_unanswered`: a
    model that reads them with the newest question would answer both. A reply that chose something gives the choice, not
    its number. A reply with the number of no choice is left out.
    """
    marks = (NO_CHOICE_MARK, "moderated") if with_denied else (NO_CHOICE_MARK, "moderated", "denied")
    stopped = {
        m.additional_kwargs.get("turn_id") for m in messages if any(m.additional_kwargs.get(mark) for mark in marks)
    }
    meant = {m.additional_kwargs.get("turn_id"): m.additional_kwargs.get("meant") for m in messages}
    if not with_unanswered:
        stopped |= _find_unanswered(messages)
    said: list[Exchange] = []
    for message in messages:
        if isinstance(message, HumanMessage):
            if message.id == question_id:
                break
            if message.id not in stopped:
                said.append(Exchange("user", str(meant.get(message.id) or message.text)))
        elif isinstance(message, AIMessage) and message.additional_kwargs.get("turn_id") not in stopped:
            outcome = str(message.additional_kwargs.get("outcome") or "")
            said.append(Exchange("assistant", str(message.text), outcome))
    return tuple(said)


NO_CHOICE_MARK: Final = "no_choice"
"""Marks the answer to a reply that was a number of none of the choices."""


class Offer(NamedTuple):
    """The choices offered to the user, in the language of the turn that offered them."""

    choices: list[Choice]
    language: str = ""


def find_offer(messages: Sequence[AnyMessage]) -> Offer:
    """Return the choices of the last answer before the user's newest message; none if it asked nothing.

    Conversations from versions without choices have none.
    """
    newest = max((n for n, message in enumerate(messages) if isinstance(message, HumanMessage)), default=0)
    last = next((m for m in reversed(messages[:newest]) if isinstance(m, AIMessage)), None)
    if last is None or last.additional_kwargs.get("outcome") != Outcome.CLARIFICATION:
        return Offer([])
    return Offer(choices_of(last.additional_kwargs.get("choices")), str(last.additional_kwargs.get("language") or ""))


def newest_text(messages: Sequence[AnyMessage]) -> str:
    """Return the user's newest message, for turns that ended before it was read; empty where there is none."""
    return next((str(message.text) for message in reversed(messages) if isinstance(message, HumanMessage)), "")


def marks_of_choice(question: Json) -> Json:
    """Return the marks for the answer to a reply that chose something, or gave the number of no choice."""
    kind = question.get("chose", {}).get("kind")
    if not kind:
        return {}
    return {NO_CHOICE_MARK: True} if kind == NO_CHOICE else {"meant": question["text"]}


def _asked_in_vain(messages: Sequence[AnyMessage]) -> int:
    """Return how many of the last questions back were asked after a number of no choice; these replies brought nothing."""
    count = 0
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            if message.additional_kwargs.get("outcome") != Outcome.CLARIFICATION:
                break
            count += bool(message.additional_kwargs.get(NO_CHOICE_MARK))
    return count


def asked_about(messages: Sequence[AnyMessage], question_id: str, clarifications: int) -> str:
    """Return the user's messages that led to the last clarification questions, one message a line."""
    said = [one.text for one in said_before(messages, question_id) if one.role == "user"]
    return "\n".join(said[-max(1, clarifications - _asked_in_vain(messages)) :])


def _find_unanswered(messages: Sequence[AnyMessage]) -> set[str]:
    """Return the ids of the user's messages that no answer names, and behind which no answer without a name stands."""
    answered = {m.additional_kwargs.get("turn_id") for m in messages if isinstance(m, AIMessage)}
    waiting: set[str] = set()
    unanswered: set[str] = set()
    for message in messages:
        if isinstance(message, HumanMessage):
            if message.id and message.id not in answered:
                waiting.add(message.id)
        elif isinstance(message, AIMessage):
            # Another assistant's answer, in a graph around ours, is to all that was said before it.
            if message.additional_kwargs.get("turn_id"):
                unanswered |= waiting
            waiting = set()
    return unanswered | waiting


def unanswered_id(messages: Sequence[AnyMessage]) -> str:
    """Return the id of the user's newest message; empty if it is already answered or has no id."""
    answered: set[object] = set()
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            answered.add(message.additional_kwargs.get("turn_id"))
        elif isinstance(message, HumanMessage):
            return message.id if message.id and message.id not in answered else ""
    return ""


def plan_request(
    question: Json,
    messages: Sequence[AnyMessage],
    clarifications: int,
    moderation: ModerationResult,
    sources: frozenset[Source],
) -> PlanRequest:
    """Return the plan request of a question: the same whether planning runs after moderation or in parallel.

    A chosen lookup is a new question, not the answer to an earlier one.
    """
    alone = question.get("chose", {}).get("kind") == ChoiceKind.LOOKUP
    return PlanRequest(
        message=question["text"],
        language=Language(question["language"]),
        history=said_before(messages, question["id"]),
        clarifications=0 if alone else max(0, clarifications - _asked_in_vain(messages)),
        moderation=moderation,
        turn_id=question["id"],
        sources=sources,
        tool=TOOL_BINDING.decide(turn_state=TurnState.PLANNING).outcome,
    )
