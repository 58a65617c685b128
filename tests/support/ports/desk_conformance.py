"""What every `HandOffDesk` holds, whoever implements it."""

from __future__ import annotations

import pytest

from contracts.enums import Delivery
from contracts.errors import HandOffFailed
from contracts.ports import HandOffDesk
from contracts.report import Ticket
from tests.support.hand_off.receiver import ticket

ODD_IDS = ("a/b", "../../etc/passwd", "a" * 200, "диалог № 1", "\ud800", " ", "x\ny", 'q"uote')


class DeskConformance:
    """Rules for a desk; a subclass brings it, and what arrived at its other end."""

    def desk(self) -> HandOffDesk:
        """Return a desk that delivers."""
        raise NotImplementedError

    def away(self) -> HandOffDesk:
        """Return a desk whose receiver is away."""
        raise NotImplementedError

    def broken(self) -> HandOffDesk:
        """Return a desk that cannot even keep a ticket."""
        raise NotImplementedError

    def arrived(self) -> list[Ticket]:
        """Return the tickets that the desk of `desk` delivered."""
        raise NotImplementedError

    async def test_a_ticket_arrives_as_it_was_submitted(self) -> None:
        """Delivered means that the receiver has all of it."""
        said = await self.desk().submit(ticket())
        assert (said.delivery, said.why) == (Delivery.DELIVERED, "")
        assert self.arrived() == [ticket()]

    async def test_the_ticket_of_a_turn_is_delivered_once(self) -> None:
        """A turn that is run again submits again, and nothing is sent."""
        desk = self.desk()
        said = [(await desk.submit(ticket())).delivery for _ in range(3)]
        assert said == [Delivery.DELIVERED] * 3
        assert self.arrived() == [ticket()]

    async def test_every_turn_has_a_ticket_of_its_own(self) -> None:
        """The same message id in another conversation is another turn."""
        desk = self.desk()
        made = [ticket("a", "1"), ticket("a", "2"), ticket("b", "1")]
        for each in made:
            await desk.submit(each)
        assert sorted(self.arrived(), key=repr) == sorted(made, key=repr)

    async def test_no_id_is_too_odd(self) -> None:
        """Ids are the caller's: whatever they hold, the ticket arrives."""
        desk = self.desk()
        for odd in ODD_IDS:
            assert (await desk.submit(ticket(odd, odd))).delivery is Delivery.DELIVERED, odd
        assert len(self.arrived()) == len(ODD_IDS)

    async def test_what_was_not_taken_is_kept_and_says_why(self) -> None:
        """A receiver that is away costs no ticket."""
        said = await self.away().submit(ticket())
        assert said.delivery is Delivery.KEPT
        assert said.why

    async def test_what_cannot_be_kept_is_an_error(self) -> None:
        """Nobody is told that a ticket will be passed on if it will not."""
        with pytest.raises(HandOffFailed):
            await self.broken().submit(ticket())
