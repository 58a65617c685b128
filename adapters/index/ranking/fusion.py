"""Fusion of the rankings by words and by meaning for one query. Pure arithmetic.

It is a convex combination of both scores, each normalised to 0 to 1: S. Bruch, S. Gai, A. Ingber: An Analysis of Fusion
Functions for Hybrid Retrieval, ACM TOIS 42 (1), 2023. Rankings of different queries are interleaved
(docs/evaluation.md).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def fuse(
    scores: Mapping[T, float], similarities: Mapping[T, float], share: float, floor: float
) -> list[tuple[T, float]]:
    """Return everything that has a score or a similarity, best first, with the fused score.

    Args:
        scores: By words, 0 or above.
        similarities: By meaning, -1 to 1; an item without one has no known meaning.
        share: The weight of the words, 0 to 1; the meaning has the rest.
        floor: The similarity that counts as nothing: the query's usual similarity to passages.

    Returns:
        Fused scores, 0 to 1. Equal ones keep the order of the scores, then the order of the similarities.
    """
    most = max(scores.values(), default=0.0)
    width = max(similarities.values(), default=floor) - floor
    found = {item: share * (score / most) if most > 0 else 0.0 for item, score in scores.items()}
    for item, similarity in similarities.items():
        by_meaning = (similarity - floor) / width if similarity > floor else 0.0
        found[item] = found.get(item, 0.0) + (1 - share) * by_meaning
    # Sorting is stable, and a dictionary keeps the order in which things were met.
    return sorted(found.items(), key=lambda entry: -entry[1])
