"""What every `HandOffSink` holds, whoever implements it."""

from __future__ import annotations

import pytest

from contracts.enums import DeliveryStatus
from contracts.errors import HandOffFailed
from contracts.ports import HandOffSink
from contracts.report import Ticket
from tests.support.hand_off.receiver import ticket

ODD_IDS = ("a/b", "../../etc/passwd", "a" * 200, "диалог № 1", "\ud800", " ", "x\ny", 'q"uote')


class SinkConformance:
    """Rules for a sink; a subclass brings it, and what arrived at its other end."""

    def sink(self) -> HandOffSink:
        """Return a sink that delivers."""
        raise NotImplementedError

    def away(self) -> HandOffSink:
        """Return a sink whose receiver is away."""
        raise NotImplementedError

    def broken(self) -> HandOffSink:
        """Return a sink that cannot even keep a ticket."""
        raise NotImplementedError

    def arrived(self) -> list[Ticket]:
        """Return the tickets that the sink of `sink` delivered."""
        raise NotImplementedError

    async def test_a_ticket_arrives_as_it_was_submitted(self) -> None:
        """Delivered means that the receiver has all of it."""
        said = await self.sink().submit(ticket())
        assert (said.delivery, said.why) == (DeliveryStatus.DELIVERED, "")
        assert self.arrived() == [ticket()]

    async def test_the_ticket_of_a_turn_is_delivered_once(self) -> None:
        """A turn that is run again submits again, and nothing is sent."""
        sink = self.sink()
        said = [(await sink.submit(ticket())).delivery for _ in range(3)]
        assert said == [DeliveryStatus.DELIVERED] * 3
        assert self.arrived() == [ticket()]

    async def test_every_turn_has_a_ticket_of_its_own(self) -> None:
        """The same message id in another conversation is another turn."""
        sink = self.sink()
        made = [ticket("a", "1"), ticket("a", "2"), ticket("b", "1")]
        for each in made:
            await sink.submit(each)
        assert sorted(self.arrived(), key=repr) == sorted(made, key=repr)

    async def test_no_id_is_too_odd(self) -> None:
        """Ids are the caller's: whatever they hold, the ticket arrives."""
        sink = self.sink()
        for odd in ODD_IDS:
            assert (await sink.submit(ticket(odd, odd))).delivery is DeliveryStatus.DELIVERED, odd
        assert len(self.arrived()) == len(ODD_IDS)

    async def test_what_was_not_taken_is_kept_and_says_why(self) -> None:
        """A receiver that is away costs no ticket."""
        said = await self.away().submit(ticket())
        assert said.delivery is DeliveryStatus.KEPT
        assert said.why

    async def test_what_cannot_be_kept_is_an_error(self) -> None:
        """Nobody is told that a ticket will be passed on if it will not."""
        with pytest.raises(HandOffFailed):
            await self.broken().submit(ticket())
