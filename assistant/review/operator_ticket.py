"""The ticket of a turn that an operator hands over: the same text as of the turns that go to a person by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assistant.turns.transcript import Turn
from contracts.enums import Outcome
from contracts.report import Ticket, number_of
from contracts.result import StructuredAgentResult
from guards.outgoing import TurnWords, fit_to_show, redact_words
from rendering.hand_off import BY_OPERATOR, hand_off_record, hand_off_ticket

_MOST_EARLIER = 5
_LONGEST_EARLIER = 1000


def make_ticket(turn: Turn, result: StructuredAgentResult, earlier: Sequence[Turn]) -> Ticket:
    """Return the ticket of a finished turn, of what is fit to leave the house.

    Args:
        turn: The turn.
        result: Its result.
        earlier: The turns before it, in order.
    """
    state = _state(turn, result, earlier)
    before = state["before"]
    number = number_of(turn.thread_id, turn.turn_id)
    record = hand_off_record(state, Outcome.HANDED_OFF, result.language, before, number=number)
    role = str((turn.context or {}).get("role") or "user")
    ticket = Ticket(
        thread_id=turn.thread_id,
        turn_id=turn.turn_id,
        language=result.language,
        role=role,
        question=state["question"]["text"],
        answer=fit_to_show(result.answer_text),
        record=record,
        text="",
        earlier=before,
    )
    guardian = state["guardian"]
    handed = {**state, "guardian": {**guardian, "reasons": [*guardian["reasons"], BY_OPERATOR]}}
    return hand_off_ticket(handed, ticket, result.outcome)


def _state(turn: Turn, result: StructuredAgentResult, earlier: Sequence[Turn]) -> dict[str, Any]:
    """Return the keys of `FinalView` that a record and a ticket are made of, without secrets."""
    plan, report = result.plan, result.guardian
    fit = redact_words(
        TurnWords(
            question=turn.question,
            intent=plan.user_intent if plan else "",
            queries=tuple(plan.subqueries) if plan else (),
            before=tuple(one.question[:_LONGEST_EARLIER] for one in earlier[-_MOST_EARLIER:]),
            searched=tuple(trace.query for trace in result.per_query_results),
        )
    )
    traces = [trace.model_dump(mode="json") for trace in result.per_query_results]
    return {
        "before": fit.before,
        "question": {"text": fit.question},
        "sgr_plan": {"user_intent": fit.intent},
        "flow": result.flow or "",
        "query_traces": [{**trace, "query": query} for trace, query in zip(traces, fit.searched, strict=True)],
        "evidence": [item.model_dump(mode="json") for item in result.evidence],
        "guardian": report.model_dump(mode="json") if report else {"reasons": []},
        "draft_answer": report.draft if report else "",
        "retry_count": result.diagnostics.retries,
        "error": {},
    }
