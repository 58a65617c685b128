"""A process that hands off one ticket and waits at a point of its own, to be killed there.

`python -m tests.support.hand_off.sender POINT FOLDER TO`: at `kept`, the ticket is in the outbox and nothing was sent; at
`sent`, it was sent and that is not noted yet; `whole` goes through, `all` sends what is kept. It prints the point when it is there.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from adapters.hand_off.delivery import Delivery, DeliveryChannel
from adapters.hand_off.folder import HandOffFolder
from adapters.hand_off.outbox import Outbox, OutboxFile
from adapters.hand_off.outbox_sink import OutboxSink
from adapters.hand_off.webhook import Webhook
from adapters.storage.claims import FileClaims
from tests.support.fork_server import Program
from tests.support.hand_off.receiver import ticket

ROOT = Path(__file__).resolve().parents[3]


class Waiting:
    """A channel that stops before it sends, or after."""

    def __init__(self, channel: DeliveryChannel, point: str) -> None:
        self._channel = channel
        self._point = point
        self.name = channel.name

    async def send(self, delivery: Delivery, deadline: float) -> None:
        if self._point == "kept":
            await _stay(self._point)
        await self._channel.send(delivery, deadline)
        if self._point == "sent":
            await _stay(self._point)


async def _stay(point: str) -> None:
    print(point, flush=True)  # noqa: T201  # it is a program
    await asyncio.sleep(60)


def channel_to(to: str) -> DeliveryChannel:
    return Webhook(to) if "://" in to else HandOffFolder(Path(to))


def desk_at(folder: Path, to: str, timeout_s: float = 10.0) -> OutboxSink:
    return OutboxSink(
        Outbox(OutboxFile(folder / "hand_offs.db"), "tests"),
        channel_to(to),
        FileClaims(folder / "locks"),
        timeout_s=timeout_s,
    )


async def _main(point: str, folder: Path, to: str) -> None:
    if point == "all":
        await desk_at(folder, to).send_kept()
        return
    sink = desk_at(folder, to)
    sink.channel = Waiting(sink.channel, point)
    await sink.submit(ticket())


def start(point: str, folder: Path, to: str) -> Program[bytes]:
    command = ["tests.support.hand_off.sender", point, str(folder), to]
    return Program[bytes](command, cwd=ROOT, stdout=subprocess.PIPE)


def kill_at(point: str, folder: Path, to: str) -> None:
    """Run the process up to a point and kill -9 it there."""
    with start(point, folder, to) as process:
        assert process.stdout is not None
        assert process.stdout.readline().decode().strip() == point
        process.kill()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
