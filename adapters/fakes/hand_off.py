"""A fake sink of hand-offs without a file or a network: it accepts every ticket, or none."""

from __future__ import annotations

from contracts.enums import DeliveryStatus
from contracts.errors import HandOffFailed
from contracts.report import Receipt, Ticket


class FakeSink:
    """A sink that accepts one hand-off for each turn.

    Args:
        says: The receipt of every ticket, or the error to raise.

    Attributes:
        tickets: The accepted tickets, in order.
    """

    def __init__(self, says: Receipt | HandOffFailed | None = None) -> None:
        self._says = says or Receipt(delivery=DeliveryStatus.DELIVERED)
        self.tickets: list[Ticket] = []

    async def submit(self, ticket: Ticket) -> Receipt:
        if isinstance(self._says, HandOffFailed):
            raise self._says
        if (ticket.thread_id, ticket.turn_id) not in {(known.thread_id, known.turn_id) for known in self.tickets}:
            self.tickets.append(ticket)
        return self._says
