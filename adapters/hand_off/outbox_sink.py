"""The sink that keeps a hand-off in the outbox, then delivers it, and retries later if it could not."""

from __future__ import annotations

import asyncio
import logging
from types import TracebackType
from typing import Final, Self

from adapters.hand_off.delivery import Delivery, DeliveryChannel
from adapters.hand_off.outbox import Outbox, OutboxEntry
from adapters.models.retries import deadline_in
from adapters.storage.claims import Claims, current_claim, hold_claim
from contracts.enums import DeliveryStatus, FaultKind
from contracts.errors import GuardianError, ServerFault
from contracts.report import Receipt, Ticket

_LOG = logging.getLogger(__name__)

_REFUSED: Final = (FaultKind.BAD_REQUEST, FaultKind.TOO_LONG, FaultKind.NOT_ALLOWED, FaultKind.NOT_FOUND)
"""What a receiver would say to the same request again."""
_NOBODY_THERE: Final = (FaultKind.UNREACHABLE, FaultKind.DEADLINE)
"""Faults with which the next ticket would most likely meet, too."""
_CLOSING_S: Final = 2.0

DELIVERED: Final = Receipt(delivery=DeliveryStatus.DELIVERED)


class OutboxSink:
    """A sink that sends hand-offs to one channel through an outbox.

    While a ticket is being sent, a claim keeps all other processes and tasks from sending it. The next holder sees
    whether it was delivered. Once opened (`async with`), the sink sends earlier tickets in the
    background.

    Args:
        outbox: Keeps the tickets.
        channel: Delivers them.
        claims: Of all processes that share the outbox.
        timeout_s: For delivering one ticket, in seconds.
    """

    def __init__(self, outbox: Outbox, channel: DeliveryChannel, claims: Claims, *, timeout_s: float = 10.0) -> None:
        self.channel = channel
        self._outbox = outbox
        self._claims = claims
        self._timeout_s = timeout_s
        self._sending: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._send_kept_soon()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give what is being sent a moment to end; what is not delivered by then stays kept."""
        task, self._sending = self._sending, None
        if task is not None:
            await asyncio.wait([task], timeout=_CLOSING_S)
            task.cancel()
            await asyncio.wait([task])
        await self.close()

    async def close(self) -> None:
        """Close what a sink that was not opened has used."""
        await self._claims.close()

    async def submit(self, ticket: Ticket) -> Receipt:
        """Keep a ticket, then try to deliver it; if the turn's ticket was delivered before, it is not sent again.

        Raises:
            HandOffFailed: The ticket could not even be kept.
        """
        entry = await self._outbox.keep(ticket)
        if entry.delivered_at is not None:
            return DELIVERED
        try:
            await self._deliver(entry, deadline_in(self._timeout_s))
        except GuardianError as error:
            # It is kept, even where the file cannot be read any more, or the lock not be taken.
            return Receipt(delivery=DeliveryStatus.KEPT, why=str(error))
        self._send_kept_soon()
        return DELIVERED

    async def send_kept(self, *, all_of_them: bool = False) -> None:
        """Send the kept tickets, one after another, until the receiver is unreachable.

        Args:
            all_of_them: Also those that were refused so often that they are skipped otherwise.

        Raises:
            HandOffFailed: The outbox cannot be read or written.
        """
        for entry in await self._outbox.waiting(all_of_them=all_of_them):
            try:
                await self._deliver(entry, deadline_in(self._timeout_s), wait=False)
            except ServerFault as fault:
                if fault.kind in _NOBODY_THERE:
                    return

    def _send_kept_soon(self) -> None:
        if self._sending is None or self._sending.done():
            self._sending = asyncio.get_running_loop().create_task(self._send_kept_quietly())

    async def _send_kept_quietly(self) -> None:
        # Begun by a turn, it may outlast it: what it writes is not the turn's.
        current_claim.set(None)
        try:
            await self.send_kept()
        except Exception as error:  # noqa: BLE001  # nobody waits for this, and nothing is lost: all is kept
            _LOG.warning("Kept hand-offs were not sent: %s", error)

    async def _deliver(self, entry: OutboxEntry, deadline: float, *, wait: bool = True) -> None:
        """Send one ticket, unless that has been done, or another is doing it and is not waited for.

        Raises:
            ServerFault: It was not delivered in time; that is noted.
        """
        async with hold_claim(self._claims, f"hand-off {entry.key}", deadline if wait else 0.0) as claim:
            if claim is None:
                if wait:
                    raise ServerFault("Another process is sending it.", kind=FaultKind.DEADLINE)
                return
            # Not under the claim of the turn: what was delivered is noted, whoever has its conversation by then.
            writing = current_claim.set(claim)
            try:
                now = await self._outbox.find(entry.thread_id, entry.turn_id)
                # Deleted with its conversation, or delivered by whoever had the claim before.
                if now is not None and now.delivered_at is None:
                    await self._send(now, deadline)
            finally:
                current_claim.reset(writing)
            await self._claims.forget(claim)

    async def _send(self, entry: OutboxEntry, deadline: float) -> None:
        try:
            await self.channel.send(_delivery_of(entry), deadline)
        except ServerFault as fault:
            await self._outbox.failed(entry, str(fault), refused=fault.kind in _REFUSED)
            raise
        try:
            await self._outbox.delivered(entry, self.channel.name)
        except GuardianError as error:
            # It has arrived all the same. It will be sent again, with the same key.
            _LOG.warning("A hand-off was delivered, but that could not be noted: %s", error)


def _delivery_of(entry: OutboxEntry) -> Delivery:
    try:
        return entry.delivery()
    except ValueError as error:
        raise ServerFault(
            "What is kept of it cannot be read: another version of the program wrote it, or the file is damaged.",
            "Read the conversation with `guardian threads show`.",
            kind=FaultKind.BAD_REQUEST,
        ) from error
