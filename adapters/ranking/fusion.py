"""Reciprocal rank fusion: one ranking of several rankings of the same query. Pure arithmetic.

G. V. Cormack, C. L. A. Clarke, S. Büttcher: Reciprocal Rank Fusion Outperforms Condorcet and Individual Rank
Learning Methods, SIGIR 2009. For rankings of different queries it is wrong: they take turns (docs/evaluation.md).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Final, TypeVar

T = TypeVar("T", bound=Hashable)

K: Final = 60
"""The paper's constant: how little the first places stand out."""


def fused(rankings: Iterable[Sequence[T]], k: int = K) -> list[tuple[T, float]]:
    """Return everything that is ranked, best first, with the sum of `1 / (k + rank)` over the rankings that have it.

    Args:
        rankings: Each best first, ranks counted from 1; what stands in one twice counts by its better place.
        k: Above -1.

    Returns:
        Scores above 0, at most `1 / (k + 1)` for each ranking. Of equal ones the order of the first ranking stands,
        then that of the second.
    """
    scores: dict[T, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(dict.fromkeys(ranking), 1):
            scores[item] = scores.get(item, 0.0) + 1 / (k + rank)
    # Sorting is stable, and a dictionary keeps the order in which things were met.
    return sorted(scores.items(), key=lambda entry: -entry[1])
