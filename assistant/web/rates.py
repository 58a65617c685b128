"""Counts of events in a span of time, each for one sender or for many."""

from __future__ import annotations

import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final

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
