"""The ticket of a turn that has ended: whether there is one, what is fit to go into it, and what became of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, cast

from langchain_core.messages import HumanMessage

from contracts.context import Context
from contracts.decisions.exits import Exit, TicketRule
from contracts.enums import DeliveryStatus, Tickets
from contracts.errors import HandOffFailed
from contracts.ports import HandOffSink
from contracts.report import HandOff, Ticket
from contracts.result import StructuredAgentResult
from contracts.state import newest_text, said_before, unanswered_id
from contracts.views import FinalView
from guards.outgoing import TurnWords, redact_words
from rendering.hand_off import hand_off_ticket

_LOG = logging.getLogger(__package__)

MOST_EARLIER: Final = 5
"""Earlier messages of the user that go with a ticket."""
LONGEST_EARLIER: Final = 1000
"""Characters of one of them."""


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """A turn that has ended: what the user reads, and what is recorded.

    Attributes:
        told: What the user reads instead of `result.answer_text` where a sink took the ticket.
        fit: The turn without what must not leave the house.
    """

    exit: Exit
    result: StructuredAgentResult
    told: Mapping[DeliveryStatus | None, str]
    fit: FinalView


def calls_people(ended: TurnEnd, context: Context) -> bool:
    """Whether people get a ticket of this end."""
    rule = ended.exit.ticket
    return rule is TicketRule.YES or (rule is TicketRule.WIDE and context.tickets is Tickets.WIDE)


def make_ticket(ended: TurnEnd, role: str, thread_id: str, turn_id: str) -> Ticket:
    """Return the ticket of a turn, of what is fit to leave the house."""
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


async def submit_ticket(
    sink: HandOffSink, ticket: Callable[[], Ticket]
) -> tuple[DeliveryStatus | None, tuple[str, ...]]:
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


def tell_delivery(ended: TurnEnd, delivery: DeliveryStatus | None, degraded: tuple[str, ...]) -> StructuredAgentResult:
    """Return the result of a turn with what became of its ticket, in the words that the user reads then."""
    result = ended.result
    known = result.diagnostics
    diagnostics = known.model_copy(update={"degraded": [*known.degraded, *degraded]})
    changed = {"answer_text": ended.told[delivery], "hand_off_delivery": delivery, "diagnostics": diagnostics}
    return result.model_copy(update=changed)


def redact_turn(state: FinalView) -> FinalView:
    """Return a turn of which a record can be made: of its messages there are only those that the user wrote before."""
    plan, turn_id = state["sgr_plan"], state["question"].get("id") or unanswered_id(state["messages"])
    said = said_before(state["messages"], turn_id, with_unanswered=True) if turn_id else ()
    before = [_clip(exchange.text) for exchange in said if exchange.role == "user" and exchange.text]
    fit = redact_words(
        TurnWords(
            question=state["question"].get("text") or newest_text(state["messages"]),
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
