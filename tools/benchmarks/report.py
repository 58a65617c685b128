"""A measurement and its baseline of the same run: only the ratio is worth comparing between machines."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measured thing.

    Attributes:
        what: The thing.
        ours, baseline: In `unit`.
        against: What the baseline is.
        aim: The greatest ratio that is aimed for, or the least where `more_is_better`; `None` for no aim.
    """

    what: str
    ours: float
    baseline: float
    unit: str
    against: str
    aim: float | None = None
    more_is_better: bool = False

    @property
    def ratio(self) -> float:
        """Ours over the baseline's."""
        return self.ours / self.baseline if self.baseline else float("inf")

    @property
    def met(self) -> str:
        """Whether the aim was met: yes, no, or a dash where there is none."""
        if self.aim is None:
            return "–"
        return "yes" if (self.ratio >= self.aim if self.more_is_better else self.ratio <= self.aim) else "no"

    def cells(self) -> list[str]:
        """Return the line's cells as the table prints them."""
        sign = "≥" if self.more_is_better else "≤"
        aim = "–" if self.aim is None else f"{sign} {self.aim:g}"
        return [
            self.what,
            f"{self.ours:,.1f} {self.unit}",
            f"{self.baseline:,.1f} {self.unit}",
            self.against,
            f"{self.ratio:.2f}",
            aim,
            self.met,
        ]


HEAD = ["what", "ours", "baseline", "the baseline is", "ratio", "aim", "met"]


def table(lines: Sequence[Measurement]) -> str:
    """Write the lines as a Markdown table."""
    rows = [HEAD, ["---"] * len(HEAD), *(line.cells() for line in lines)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which a share of all values lies, for a share of 0.5 or 0.95 and the like."""
    return statistics.quantiles(values, n=100, method="inclusive")[round(share * 100) - 1]
