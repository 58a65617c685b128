"""How sure a score is, which words stand for a misspelt one, and which words widen a query. Pure arithmetic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from adapters.sources.markdown.index import K1, WEIGHTS, letters

FEEDBACK_DOCUMENTS = 8
FEEDBACK_TERMS = 10
ORIGINAL_WEIGHT = 0.7
"""Of relevance feedback (RM3): it raises recall, not precision, so it is for a retry (facts.md)."""

_CEILING = (K1 + 1) * sum(WEIGHTS.values())


def confidence(score: float, idf_sum: float, midpoint: float) -> float:
    """Return how far a passage is on topic, 0 to 1.

    The score is divided by the most that the query's words could score, which makes queries comparable; at the
    midpoint the confidence is one half (facts.md, "Confidence without a reranker").

    Args:
        score: BM25, summed over the fields.
        idf_sum: Sum of the inverse document frequencies of the query's words.
        midpoint: The normalised score at which confidence is one half, above 0.
    """
    if score <= 0 or idf_sum <= 0:
        return 0.0
    norm = score / (idf_sum * _CEILING)
    return 1 / (1 + (midpoint / norm) ** 2)


def allowed_edits(word: str) -> int:
    """Return how many slips a word may hold: none where it is short or has digits, 2 from eight letters."""
    if len(word) < 4 or not word.isalpha():
        return 0
    return 1 if len(word) < 8 else 2


def nearest(
    word: str, edits: int, vocabulary: Mapping[int, Sequence[tuple[str, int, int]]], limit: int = 3
) -> list[str]:
    """Return the words of a vocabulary that are the fewest edits away, the most frequent first.

    Args:
        word: A word that is not in the vocabulary.
        edits: How many insertions, deletions, substitutions and swaps of neighbours are allowed at most.
        vocabulary: Words by length, each with its mask of letters and its frequency.
        limit: How many words at most.
    """
    mask = letters(word)
    near = [
        (distance, -frequency, candidate)
        for length in range(len(word) - edits, len(word) + edits + 1)
        for candidate, bits, frequency in vocabulary.get(length, ())
        # An edit changes at most two characters' presence.
        if (mask ^ bits).bit_count() <= 2 * edits and (distance := edit_distance(word, candidate, edits)) <= edits
    ]
    near.sort()
    return [candidate for distance, _, candidate in near[:limit] if distance == near[0][0]]


def edit_distance(one: str, other: str, most: int) -> int:
    """Return how many insertions, deletions, substitutions and swaps of neighbours lie between two words.

    The optimal string alignment distance; anything above `most` may come back as `most + 1`.
    """
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, start=1):
        before, last, row = row, before, [i]
        for j, right in enumerate(other, start=1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (left != right))
            if i > 1 and j > 1 and left == other[j - 2] and one[i - 2] == right:
                best = min(best, last[j - 2] + 1)
            row.append(best)
        if min(row) > most and min(before) > most:
            return most + 1
    return row[-1]


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
