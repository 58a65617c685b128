"""Retries: one deadline for all tries, growing pauses with jitter, and the wait that the server asks for."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import count
from typing import Final, TypeVar

from contracts.enums import FaultKind
from contracts.errors import ServerFault

T = TypeVar("T")
_NUMBER: Final = re.compile(r"[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Pauses:
    """The waits before retries: `first_s * 2**n`, at most `longest_s`, times a random factor from one half to one.

    Attributes:
        sleep, dice: Replace the clock and chance in tests.
    """

    first_s: float = 0.4
    longest_s: float = 8.0
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    dice: Callable[[], float] = random.random

    def before(self, retry: int) -> float:
        """Return the seconds to wait before a retry, counted from 0."""
        return min(self.longest_s, self.first_s * 2**retry) * (0.5 + self.dice() / 2)


def deadline_in(seconds: float) -> float:
    """Return a moment on the running loop's clock."""
    return asyncio.get_running_loop().time() + seconds


async def in_time(work: Awaitable[T], deadline: float) -> T:
    """Wait for work until a moment on the running loop's clock.

    Raises:
        ServerFault: Of kind `deadline`, if the work was not done by then.
    """
    try:
        async with asyncio.timeout_at(deadline):
            return await work
    except TimeoutError:
        raise ServerFault("there was no answer in time", kind=FaultKind.DEADLINE) from None


async def with_retries(
    work: Callable[[], Awaitable[T]], *, retries: int, deadline: float, pauses: Pauses | None = None
) -> T:
    """Do the work, and retry it after passing faults, until it is done or no time is left.

    Args:
        work: One try; raises `ServerFault`.
        retries: How often it may be tried again.
        deadline: Of all tries and pauses together, on the running loop's clock.
        pauses: Between the tries.

    Raises:
        ServerFault: Of the last try; of kind `deadline` if there was no time to finish it.
    """
    pauses = pauses or Pauses()
    for tried in count():
        try:
            return await in_time(work(), deadline)
        except ServerFault as fault:
            if not fault.kind.may_pass or tried >= retries:
                raise
            wait = pauses.before(tried) if fault.retry_after_s is None else fault.retry_after_s
            if deadline_in(wait) >= deadline:
                # Waiting would take longer than there is time: better to go on without now than later.
                raise
            await pauses.sleep(wait)
    raise AssertionError("count() does not end")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait; `None` if it does not ask.

    `retry-after-ms` (OpenAI, Azure: milliseconds) takes precedence over `retry-after` (RFC 9110, 10.2.3: seconds or a
    date); some servers write fractions of either.
    """
    ms = headers.get("retry-after-ms", "").strip()
    if _NUMBER.fullmatch(ms):
        return float(ms) / 1000
    value = headers.get("retry-after", "").strip()
    if _NUMBER.fullmatch(value):
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def fault_of_status(status: int) -> FaultKind:
    """Return the meaning of an HTTP status above 399 on any server."""
    match status:
        case 401 | 403:
            return FaultKind.NOT_ALLOWED
        case 404:
            return FaultKind.NOT_FOUND
        case 413:
            return FaultKind.TOO_LONG
        case 429:
            return FaultKind.BUSY
        case 408 | 409 | 425:
            return FaultKind.SERVER_ERROR
        case _:
            return FaultKind.SERVER_ERROR if status >= 500 and status != 501 else FaultKind.BAD_REQUEST
