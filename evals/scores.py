"""Shares and detections with their uncertainty, and tables of them; pure arithmetic."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeVar

_Z: Final = 1.96
_RESAMPLES: Final = 1000
_SEED: Final = 20_26


@dataclass(frozen=True, slots=True)
class Share:
    """A number of hits of a total, with the 95 % interval of Wilson's score (Wilson 1927)."""

    hits: int
    of: int

    def __str__(self) -> str:
        if not self.of:
            return "–"
        low, high = self.interval()
        return f"{percent(self.value)} ({self.hits}/{self.of}; {percent(low)} to {percent(high)})"

    @property
    def value(self) -> float:
        """The share, 0 to 1; `nan` for a total of 0."""
        return self.hits / self.of if self.of else math.nan

    def interval(self) -> tuple[float, float]:
        """Return the ends of the interval, 0 to 1; for a total of 0 the whole range."""
        if not self.of:
            return 0.0, 1.0
        share, n = self.hits / self.of, self.of
        middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
        half = _Z * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2)) / (1 + _Z**2 / n)
        # Rounded, so that nothing of so many has an end at nothing.
        return max(0.0, round(middle - half, 9)), min(1.0, round(middle + half, 9))


@dataclass(frozen=True)
class Detection:
    """The quality of a detection: counts of hits, misses, false alarms and correct rejections."""

    caught: int
    missed: int
    false_alarms: int
    left_alone: int

    @classmethod
    def of(cls, pairs: Iterable[tuple[bool, bool]]) -> Detection:
        """Count pairs of what should be found and what was found."""
        seen = list(pairs)
        return cls(
            seen.count((True, True)), seen.count((True, False)), seen.count((False, True)), seen.count((False, False))
        )

    @property
    def precision(self) -> Share:
        """The share of found items that should be found."""
        return Share(self.caught, self.caught + self.false_alarms)

    @property
    def recall(self) -> Share:
        """The share of items to find that were found."""
        return Share(self.caught, self.caught + self.missed)

    @property
    def false_alarm_rate(self) -> Share:
        """The share of items to leave alone that were found."""
        return Share(self.false_alarms, self.false_alarms + self.left_alone)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall, 0 to 1; `nan` if nothing was to find and nothing was found."""
        return _f1(self.caught, self.missed, self.false_alarms)

    @cached_property
    def f1_interval(self) -> tuple[float, float]:
        """The ends of F1's 95 % bootstrap interval: percentiles of seeded resamples (Efron 1979)."""
        cells = (self.caught, self.missed, self.false_alarms, self.left_alone)
        if math.isnan(self.f1):
            return 0.0, 1.0
        dice = random.Random(_SEED)  # noqa: S311  # no secret is drawn
        drawn = [dice.choices(range(4), weights=cells, k=sum(cells)) for _ in range(_RESAMPLES)]
        values = sorted(_f1(one.count(0), one.count(1), one.count(2)) for one in drawn)
        kept = [value for value in values if not math.isnan(value)] or [0.0]
        return kept[int(0.025 * len(kept))], kept[min(len(kept) - 1, int(0.975 * len(kept)))]

    def f1_text(self) -> str:
        """Return F1 with its interval, as text."""
        low, high = self.f1_interval
        return "–" if math.isnan(self.f1) else f"{self.f1:.2f} ({low:.2f} to {high:.2f})"


def _f1(caught: int, missed: int, false_alarms: int) -> float:
    seen = 2 * caught + missed + false_alarms
    return 2 * caught / seen if seen else math.nan


def percent(share: float) -> str:
    """Return a share as text; only a full share reads as all, and only an empty one as nothing."""
    shown = f"{share:.0%}"
    if (shown == "100%" and share < 1) or (shown == "0%" and share > 0):
        return f"{math.floor(share * 1000) / 10 if share > 0.5 else math.ceil(share * 1000) / 10:.1f}%"
    return shown


Item = TypeVar("Item")


def parts_of(items: Sequence[Item], held_back: Callable[[Item], bool], *, splits: bool) -> list[tuple[str, list[Item]]]:
    """Return the part used for tuning and the held-back part; one part if nothing was used for tuning."""
    if not splits:
        return [("all", list(items))]
    parts = {
        "tuned on": [item for item in items if not held_back(item)],
        "held back": [item for item in items if held_back(item)],
    }
    return [(name, part) for name, part in parts.items() if part]


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a Markdown table, the first row as its header."""
    head, *body = rows
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *body))
