"""Counts of events in a span of time, each for one sender or for many; and of requests, here or over all servers.

LocalRates     in the memory of this process
FileRates      in a file, for all workers of one server
SharedRates    in PostgreSQL, for all servers over one database
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from contracts.errors import ConfigError, ThreadError

if TYPE_CHECKING:
    from adapters.storage.database import Database

Clock = Callable[[], float]
"""Seconds, monotonic."""

MINUTE_S: Final = 60.0
HOUR_S: Final = 3600.0
_SENDERS: Final = 10_000


class RateWindow:
    """A count of events in the last minute, or another span.

    Args:
        clock: Seconds, monotonic.
        span_s: The span, in seconds.
    """

    def __init__(self, clock: Clock, span_s: float = MINUTE_S) -> None:
        self._clock = clock
        self._span_s = span_s
        self._times: deque[float] = deque()

    def wait_s(self, most: int) -> int:
        """Return the whole seconds until the count is below `most` again; 0 means now."""
        now = self._clock()
        while self._times and self._times[0] <= now - self._span_s:
            self._times.popleft()
        if len(self._times) < most:
            return 0
        # Where the limit was lowered, more than one has to pass.
        return max(1, math.ceil(self._times[len(self._times) - most] + self._span_s - now))

    def add(self) -> None:
        """Count one event now."""
        self._times.append(self._clock())


class RateWindows:
    """The windows of many senders; only the most recent senders are kept, so that no number of them fills the memory.

    Args:
        clock: Seconds, monotonic.
        span_s: The span of each window, in seconds.
    """

    def __init__(self, clock: Clock = time.monotonic, span_s: float = MINUTE_S) -> None:
        self._clock = clock
        self._span_s = span_s
        self._of: OrderedDict[str, RateWindow] = OrderedDict()

    def of(self, sender: str) -> RateWindow:
        """Return the window of a sender."""
        window = self._of.pop(sender, None) or RateWindow(self._clock, self._span_s)
        self._of[sender] = window
        if len(self._of) > _SENDERS:
            self._of.popitem(last=False)
        return window


class Quota(NamedTuple):
    """What one sender may do: its kind and name, and the most requests in the span."""

    kind: str
    name: str
    most: int


class Rates(Protocol):
    """The requests of the last minute, or of another span, by sender."""

    async def take(self, quotas: Sequence[Quota], span_s: float = MINUTE_S) -> tuple[int, int] | None:
        """Count one request of all these senders, unless one of them has made its number: then nothing is counted.

        Args:
            quotas: The senders. Those of one kind always have the same span.
            span_s: The span, in seconds.

        Returns:
            Which of them it is, from 0, and the whole seconds until there is room; `None` if the request was counted.

        Raises:
            GuardianError: The counts cannot be read.
        """
        ...


class LocalRates:
    """Counts in this process; see `Rates`.

    Args:
        clock: Seconds, monotonic.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._of: dict[str, RateWindows] = {}

    async def take(self, quotas: Sequence[Quota], span_s: float = MINUTE_S) -> tuple[int, int] | None:
        # Nothing is awaited: of two requests that come at once, one is counted first.
        windows = [self._of.setdefault(kind, RateWindows(self._clock, span_s)).of(name) for kind, name, _ in quotas]
        for place, (window, quota) in enumerate(zip(windows, quotas, strict=True)):
            if wait := window.wait_s(quota.most):
                return place, wait
        for window in windows:
            window.add()
        return None


class FileRates:
    """Counts in a file that all workers of a server open, and that goes with the server; see `Rates`.

    Args:
        database: The file.
        clock: Seconds, monotonic, and alike in all processes of the machine.
    """

    def __init__(self, database: Database, clock: Clock = time.monotonic) -> None:
        self._database = database
        self._clock = clock
        self._emptied = clock()

    async def make(self) -> None:
        """Make the table if it is not there."""
        await self._database.make(_TABLE)

    async def take(self, quotas: Sequence[Quota], span_s: float = MINUTE_S) -> tuple[int, int] | None:
        now = self._clock()
        senders = [f"{quota.kind} {quota.name}" for quota in quotas]
        asked = {"senders": json.dumps(senders), "now": now, "span": span_s}
        mosts = json.dumps([quota.most for quota in quotas])
        try:
            if now - self._emptied > MINUTE_S:
                self._emptied = now
                await self._database.rows("DELETE FROM requests WHERE over <= :now", now=now)
            if not quotas or await self._database.rows(_COUNT, mosts=mosts, **asked):
                return None
            rows = await self._database.rows(_LIST, **asked)
        except ThreadError as error:
            raise ConfigError(
                f"Requests cannot be counted in {self._database.place}.",
                "See that the disk of the folder for temporary files (TMPDIR) is not full, and start the server again.",
            ) from error
        for place, (sender, quota) in enumerate(zip(senders, quotas, strict=True)):
            made = [at for other, at in rows if other == sender]
            if len(made) >= quota.most:
                return place, max(1, math.ceil(made[-quota.most] + span_s - now))
        # Another worker has just emptied the table of requests whose span was about to end.
        return 0, 1


_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS requests (sender TEXT NOT NULL, at REAL NOT NULL, over REAL NOT NULL)",
    "CREATE INDEX IF NOT EXISTS requests_sender ON requests (sender, at)",
)
_COUNT: Final = """
    INSERT INTO requests SELECT value, :now, :now + :span FROM json_each(:senders)
    WHERE NOT EXISTS (
        SELECT 1 FROM json_each(:senders) AS s JOIN json_each(:mosts) AS m ON m.key = s.key
        WHERE m.value <= (SELECT count(*) FROM requests AS r WHERE r.sender = s.value AND r.at > :now - :span)
    )
    RETURNING sender
"""
_LIST: Final = """
    SELECT sender, at FROM requests
    WHERE sender IN (SELECT value FROM json_each(:senders)) AND at > :now - :span ORDER BY at
"""


class SharedRates:
    """Counts in the schema `guardian` of a PostgreSQL database, in which names of senders are hashes; see `Rates`.

    Args:
        database: Any schema's; the tables of `adapters/storage/access.sql` are there.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def take(self, quotas: Sequence[Quota], span_s: float = MINUTE_S) -> tuple[int, int] | None:
        rows = await self._database.rows(
            "SELECT place, wait FROM guardian.take(:senders, CAST(:mosts AS integer[]), make_interval(secs => :span))",
            senders=[_hash_sender(quota) for quota in quotas],
            mosts=[quota.most for quota in quotas],
            span=span_s,
        )
        return (int(rows[0][0]) - 1, max(1, math.ceil(rows[0][1]))) if rows else None


def _hash_sender(quota: Quota) -> str:
    return hashlib.sha256(f"{quota.kind} {quota.name}".encode()).hexdigest()[:32]
