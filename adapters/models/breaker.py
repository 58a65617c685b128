"""The circuit breaker of a model: one that keeps missing its deadline is left alone for a while.

The pattern is M. Nygard's (Release It!, chapter 5): closed, open, half-open. Without it, each turn waits out the whole
deadline of a server that is too slow, and ends as it would have ended at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from contracts.enums import FaultKind
from contracts.errors import ServerFault

MISSES: Final = 3
"""Deadlines missed in a row that open the circuit; two may be chance on a busy machine."""
FIRST_REST_S: Final = 60.0
LONGEST_REST_S: Final = 600.0


class CircuitBreaker:
    """Refuses requests for a while after `MISSES` deadlines in a row; then lets one through to see.

    Each rest is twice as long as the one before, from 1 to 10 minutes, until a request is answered in time.

    Args:
        clock: Seconds, monotonic.
        misses: Deadlines missed in a row after which the model is left alone; 0 for one that is always asked.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, misses: int = MISSES) -> None:
        self._clock = clock
        self._most = misses
        self._misses = 0
        self._rest_s = 0.0
        self._until = 0.0
        self._era: int = 0
        """Changes with each rest and each trial: how a request of another one ended says nothing of this one."""

    @property
    def rests_s(self) -> float:
        """Seconds until the model is asked again; 0 if it is asked now."""
        return max(0.0, self._until - self._clock())

    def check(self) -> int:
        """Return the mark by which what follows is settled; raise if the model is left alone.

        Raises:
            ServerFault: Of kind `resting`.
        """
        if (left := self.rests_s) > 0:
            raise ServerFault(
                f"it missed {self._misses} deadlines in a row and is asked again in {left:.0f} s",
                kind=FaultKind.RESTING,
            )
        return self._era

    def begin(self, trial_s: float) -> int:
        """Let a request through; return the mark by which it is settled or let go.

        Args:
            trial_s: Seconds that a request after a rest may take; others are refused meanwhile.

        Raises:
            ServerFault: Of kind `resting`, if the model is left alone.
        """
        self.check()
        if self._rest_s:
            self._until = self._clock() + trial_s
            self._era += 1
        return self._era

    def let_go(self, begun: int) -> None:
        """Take in that nobody waits for a request any more: after a rest, the next one tries."""
        if begun == self._era and self._rest_s:
            self._until = self._clock()

    def settle(self, fault: FaultKind | None, begun: int | None = None) -> None:
        """Take in how a request ended: with a fault, or with a reply."""
        if fault is FaultKind.RESTING or begun not in (None, self._era):
            return
        if fault is not FaultKind.DEADLINE:
            # An answer, a refusal or a broken connection: whatever it was, nobody waited out the deadline for it.
            self._misses, self._rest_s, self._until = 0, 0.0, 0.0
            return
        self._misses += 1
        if 0 < self._most <= self._misses:
            self._rest_s = min(max(FIRST_REST_S, 2 * self._rest_s), LONGEST_REST_S)
            self._until = self._clock() + self._rest_s
            self._era += 1
