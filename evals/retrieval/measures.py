"""Measures of rankings and their uncertainty; pure arithmetic."""

from __future__ import annotations

import math
import random
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_RESAMPLES = 1000
_OF_AREAS = 200
_SEED = 20_26


def ndcg(ranking: Sequence[str], grades: Mapping[str, int], depth: int = 10) -> float:
    """Return the normalised discounted cumulative gain, 0 to 1.

    A page at rank r, from 1, adds its grade / log2(r + 1). The sum is divided by that of the best possible order
    (Järvelin and Kekäläinen 2002, with the gains of trec_eval's `ndcg_cut`).

    Args:
        ranking: The pages, best first, each once.
        grades: The grades of relevant pages, above 0.
        depth: The number of ranks that count.
    """
    best = sum(_discount(sorted(grades.values(), reverse=True)[:depth]))
    return sum(_discount([grades.get(page, 0) for page in ranking[:depth]])) / best if best else 0.0


def _discount(gains: Sequence[int]) -> list[float]:
    return [gain / math.log2(place + 2) for place, gain in enumerate(gains)]


def recall(ranking: Sequence[str], grades: Mapping[str, int], depth: int) -> float:
    """Return the share of the relevant pages that are among the first, 0 to 1."""
    return len(set(ranking[:depth]) & set(grades)) / len(grades) if grades else 0.0


def precision(ranking: Sequence[str], grades: Mapping[str, int], depth: int) -> float:
    """Return the share of the first places that hold a relevant page, 0 to 1."""
    return len(set(ranking[:depth]) & set(grades)) / depth


def area(own: Sequence[float], foreign: Sequence[float]) -> float:
    """Return how often a value of the first is greater than one of the second, ties counted half: the area under ROC.

    Hanley and McNeil 1982. `nan` if one of them is empty.
    """
    if not own or not foreign:
        return math.nan
    others = sorted(foreign)
    wins = sum(bisect_left(others, value) + bisect_right(others, value) for value in own)
    return wins / (2 * len(own) * len(foreign))


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95 % bootstrap interval: percentiles of seeded resamples (Efron 1979)."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "–"
        return f"{_three(self.value)} ({_three(self.low)} to {_three(self.high)})"


def mean(values: Sequence[float]) -> Estimate:
    """Return the mean of one value per question; `nan` if there are none."""
    if not values:
        return Estimate(math.nan, math.nan, math.nan)
    dice = random.Random(_SEED)  # noqa: S311  # no secret is drawn
    means = sorted(sum(dice.choices(values, k=len(values))) / len(values) for _ in range(_RESAMPLES))
    return Estimate(sum(values) / len(values), *_ends(means))


def area_figure(own: Sequence[float], foreign: Sequence[float]) -> Estimate:
    """Return the area under ROC with its interval; both sides are resampled."""
    if not own or not foreign:
        return Estimate(math.nan, math.nan, math.nan)
    dice = random.Random(_SEED)  # noqa: S311  # the same
    drawn = sorted(area(dice.choices(own, k=len(own)), dice.choices(foreign, k=len(foreign))) for _ in range(_OF_AREAS))
    return Estimate(area(own, foreign), *_ends(drawn))


def _ends(drawn: Sequence[float]) -> tuple[float, float]:
    return drawn[int(0.025 * len(drawn))], drawn[min(len(drawn) - 1, int(0.975 * len(drawn)))]


def _three(value: float) -> str:
    return f"{value:.3f}".replace("0.", ".", 1) if 0 <= value < 0.9995 else f"{value:.2f}"
