"""Who may write to a conversation: one holder at a time, over all processes that share its storage."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from adapters.storage.lock import ProcessLock

_FIRST_POLL_S: Final = 0.01
_SLOWEST_POLL_S: Final = 0.2
_LOOKS: Final = 4
_BETWEEN_LOOKS_S: Final = 0.005


@dataclass(frozen=True, slots=True)
class Claim:
    """What a holder has.

    Attributes:
        name: What is claimed: a conversation, or a hand-off.
        epoch: How often it was claimed, this time included; 0 where nothing counts.
        token: Of this claim alone: after a crash or a failover of its server, an epoch may come again.
    """

    name: str
    epoch: int = 0
    token: str = ""


current_claim: ContextVar[Claim | None] = ContextVar("current_claim", default=None)
"""The claim under which a task writes. A server's storage refuses what is written for one that is over."""


class Claims(Protocol):
    """The claims of all processes that share a storage."""

    async def take(self, name: str) -> Claim | None:
        """Claim something, without waiting for its holder; `None` if it has one.

        Raises:
            ThreadError: The storage failed.
        """
        ...

    async def release(self, claim: Claim) -> None:
        """End a claim; a claim that is over stays so."""
        ...

    async def forget(self, claim: Claim) -> None:
        """Keep nothing of what is claimed, which has been deleted; the claim itself lasts until it is released."""
        ...

    async def is_held(self, name: str) -> bool:
        """Return whether something has a holder now, in whichever process.

        Raises:
            ThreadError: The storage failed.
        """
        ...

    async def close(self) -> None:
        """End all claims of this object."""
        ...


@asynccontextmanager
async def hold_claim(claims: Claims, name: str, deadline: float) -> AsyncGenerator[Claim | None]:
    """Claim something for a block, and wait until then for its holder; `None` if it has one still.

    Args:
        claims: Where.
        name: What.
        deadline: On the running loop's clock; one in the past tries once.

    Raises:
        ThreadError: The storage failed.
    """
    clock = asyncio.get_running_loop().time
    pause = _FIRST_POLL_S
    while (claim := await _take(claims, name)) is None:
        if clock() >= deadline:
            yield None
            return
        await asyncio.sleep(min(pause, max(0.0, deadline - clock())))
        pause = min(pause * 2, _SLOWEST_POLL_S)
    try:
        yield claim
    finally:
        await asyncio.shield(asyncio.ensure_future(claims.release(claim)))


async def _take(claims: Claims, name: str) -> Claim | None:
    """Take a claim; one that is taken for nobody, because the task is cancelled meanwhile, is released."""
    taking = asyncio.ensure_future(claims.take(name))
    try:
        return await asyncio.shield(taking)
    except asyncio.CancelledError:
        # Not awaited here: whoever is cancelled once may be cancelled again.
        taking.add_done_callback(lambda _: _release_unwanted(claims, taking))
        raise


_releasing: set[asyncio.Future[None]] = set()


def _release_unwanted(claims: Claims, taking: asyncio.Future[Claim | None]) -> None:
    if not taking.cancelled() and taking.exception() is None and (claim := taking.result()) is not None:
        task = asyncio.ensure_future(claims.release(claim))
        _releasing.add(task)
        task.add_done_callback(_releasing.discard)


class FileClaims:
    """Claims by locks on files, which the kernel frees when their holder ends.

    Args:
        folder: Of the lock files, the same for all processes.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[str, ProcessLock] = {}

    async def take(self, name: str) -> Claim | None:
        lock = ProcessLock(self._path(name))
        # Files are not touched in the event loop: LangGraph's development server forbids it.
        if not await asyncio.to_thread(lock.try_acquire):
            return None
        self._held[name] = lock
        return Claim(name)

    def _path(self, name: str) -> Path:
        return self._folder / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.lock"

    async def release(self, claim: Claim) -> None:
        if (lock := self._held.pop(claim.name, None)) is not None:
            await asyncio.to_thread(lock.release)

    async def forget(self, claim: Claim) -> None:
        """The file of a lock goes with its release."""

    async def is_held(self, name: str) -> bool:
        lock = ProcessLock(self._path(name))
        return await asyncio.shield(asyncio.to_thread(_is_held, lock))

    async def close(self) -> None:
        while self._held:
            _, lock = self._held.popitem()
            await asyncio.to_thread(lock.release)


def _is_held(lock: ProcessLock) -> bool:
    """Return whether somebody else has a lock. To look at it is to take it for a moment: another look is no holder."""
    for _ in range(_LOOKS):
        if not lock.path.exists():
            return False
        if lock.try_acquire():
            lock.release()
            return False
        time.sleep(_BETWEEN_LOOKS_S)
    return True
