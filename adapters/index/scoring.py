"""The confidence of a score, and the words that widen a query. Pure arithmetic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

WEIGHTS = {"title": 0.6, "heading": 0.6, "body": 1.0}
"""The searched fields. Larger weights for titles hurt questions (docs/evaluation.md)."""
K1 = 1.2
"""Of BM25, as tantivy has it."""

FEEDBACK_DOCUMENTS = 8
FEEDBACK_CANDIDATES = 2 * FEEDBACK_DOCUMENTS
"""Passages of which the best are taken: of equally good ones at the end, an index has any first."""

FEEDBACK_TERMS = 10
ORIGINAL_WEIGHT = 0.7
"""Of relevance feedback (RM3): it raises recall, not precision, so it is for a retry (docs/evaluation.md)."""

_CEILING = (K1 + 1) * sum(WEIGHTS.values())


def confidence(score: float, idf_sum: float, midpoint: float) -> float:
    """Return how far a passage is on topic, 0 to 1.

    The score is divided by the most that the query's words could score, which makes queries comparable; at the
    midpoint the confidence is one half (docs/evaluation.md).

    Args:
        score: BM25, summed over the fields.
        idf_sum: Sum of the inverse document frequencies of the query's words.
        midpoint: The normalised score at which confidence is one half, above 0.
    """
    if score <= 0 or idf_sum <= 0:
        return 0.0
    norm = score / (idf_sum * _CEILING)
    return 1 / (1 + (midpoint / norm) ** 2)


def feedback(query: Sequence[str], passages: Iterable[tuple[Sequence[str], float]]) -> list[tuple[str, float]]:
    """Return the words of a widened query and their weights, by RM3.

    Args:
        query: The query's own words; they keep `ORIGINAL_WEIGHT` of the weight between them.
        passages: The words of the best passages for the query, each with its score.
    """
    found = [(words, score) for words, score in passages if words and score > 0]
    relevance: dict[str, float] = {}
    for words, score in found:
        for word, count in Counter(words).items():
            relevance[word] = relevance.get(word, 0.0) + score * count / len(words)
    best = sorted(relevance.items(), key=lambda item: (-item[1], item[0]))[:FEEDBACK_TERMS]
    total = sum(value for _, value in best) or 1.0
    weights = {word: ORIGINAL_WEIGHT / len(query) for word in query}
    for word, value in best:
        weights[word] = weights.get(word, 0.0) + (1 - ORIGINAL_WEIGHT) * value / total
    # As many in all as the query had words, so that scores stay of one size.
    return [(word, weight * len(query)) for word, weight in weights.items()]
