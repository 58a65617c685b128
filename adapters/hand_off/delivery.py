"""A hand-off that is ready to be sent, and the port of the channels that send it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Protocol

from contracts.report import Ticket


@dataclass(frozen=True, slots=True)
class Delivery:
    """A ticket with the data that are the same at every try to send it.

    Attributes:
        key: Identifies the ticket for a receiver: the same at every try, another for every turn.
        kept_at: When it was made, ISO 8601 in UTC.
    """

    key: str
    kept_at: str
    ticket: Ticket

    @property
    def document(self) -> bytes:
        """The ticket as JSON in UTF-8, with `id` (the key) and `kept_at` before its own fields."""
        fields = {"id": self.key, "kept_at": self.kept_at, **self.ticket.model_dump(mode="json")}
        return json.dumps(fields, ensure_ascii=False, indent=2).encode("utf-8", "replace")


class DeliveryChannel(Protocol):
    """The port of channels that deliver hand-offs."""

    @property
    def name(self) -> str:
        """The destination, for people; it contains no secret."""
        ...

    async def send(self, delivery: Delivery, deadline: float) -> None:
        """Send a delivery; a duplicate does no harm if the receiver checks the key.

        Args:
            delivery: What is sent.
            deadline: A moment on the running loop's clock, for all tries together.

        Raises:
            ServerFault: The receiver did not accept it, or it is unknown whether it did.
        """
        ...


def key_of(scope: str, ticket: Ticket) -> str:
    """Return the key by which a receiver distinguishes tickets: 32 hexadecimal digits, from turn and question.

    The question is part of the key because a turn's id may be used again after its conversation was deleted.

    Args:
        scope: The deployment of the conversations: ids are unique only within one deployment.
        ticket: The ticket.
    """
    named = json.dumps([scope, ticket.thread_id, ticket.turn_id, ticket.question])
    return hashlib.sha256(named.encode()).hexdigest()[:32]
