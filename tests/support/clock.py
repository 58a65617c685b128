"""A clock that is wrong, for what LangGraph makes ids of."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from langgraph.checkpoint.base import id as maker

FIVE_MINUTES: Final = 300
HOUR: Final = 3600
YEAR: Final = 365 * 24 * HOUR
MOVES: Final = (FIVE_MINUTES, HOUR, YEAR, -FIVE_MINUTES, -HOUR, -YEAR)
"""By how many seconds clocks are wrong, in both directions."""


@dataclass
class Clock:
    """The wall clock of this process, which is wrong by so many seconds."""

    wrong_by_s: float = 0.0

    def nanoseconds(self) -> int:
        return _TRUE() + int(self.wrong_by_s * 1e9)

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self.wrong_by_s)

    def restart(self, wrong_by_s: float) -> None:
        """Forget what this process knows of the ids that it made, as a new one does, under another clock."""
        self.wrong_by_s = wrong_by_s
        maker._last_v6_timestamp = None


_TRUE: Final = time.time_ns


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that can be moved; the ids that it spoils are this test's."""
    moved = Clock()
    monkeypatch.setattr(time, "time_ns", moved.nanoseconds)
    monkeypatch.setattr(maker, "_last_v6_timestamp", None)
    return moved


class SetClock:
    """A monotonic clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now
