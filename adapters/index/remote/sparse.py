"""BM25 as sparse vectors: the one encoder for every engine except the embedded index.

Passages and queries are vectors over (field, word), and their inner product is the passage's score:

    score    = sum over words w and fields f of  query[f, w] * passage[f, w]
    query    = idf_f(w) = ln(1 + (N - n_f(w) + 0.5) / (n_f(w) + 0.5))
    passage  = weight_f * (k1 + 1) * tf / (tf + k1 * (1 - b + b * length_f / average_f))

`tf` is how often w occurs in the field, `n_f(w)` how many of the N passages have it there. This is BM25 (Robertson &
Zaragoza 2009, "The Probabilistic Relevance Framework: BM25 and Beyond", 3.3 to 3.5) of each field, summed with the
weights of the embedded index. It is not their BM25F (3.6), which adds the fields up before saturation: tantivy does
not do that either. Lengths are rounded as in tantivy, so the score equals tantivy's up to the precision of floats.

An engine keeps words as numbers of 32 bits. `idf` is not in the passage's vector: it changes with every document.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import Final, Self

from adapters.index.scoring import K1, WEIGHTS
from adapters.index.spelling import Vocabulary
from language.words import stems

B: Final = 0.75
"""Of BM25, as tantivy has it."""
FIELDS: Final = tuple(WEIGHTS)
DRIFT: Final = 0.02
"""How far the average lengths may move before every passage is encoded again; it moves scores by half of it at most."""

Vector = dict[int, float]
"""Weights by the number of (field, word)."""
Frequencies = tuple[int, int, int]
"""In how many passages a word occurs, by field."""
Averages = tuple[float, float, float]
"""The mean lengths of the fields, in words."""


@lru_cache(maxsize=200_000)
def dimension(field: str, word: str) -> int:
    """Return the number of a word in a field: 0 to 2^32 - 1, the same on every machine.

    Of 200,000 words and fields about five pairs share a number, which adds one word's weight to another's.
    """
    return int.from_bytes(blake2b(f"{field}\0{word}".encode(), digest_size=4).digest(), "big")


def _lengths() -> tuple[int, ...]:
    """Return the lengths that tantivy knows: exact up to 40, then eight to each power of two (Lucene's SmallFloat)."""
    free = 24
    coarse = [bits if not shift else (bits | 8) << (shift - 1) for shift in range(29) for bits in range(8)]
    return (*range(free), *(free + value for value in coarse))


_LENGTHS: Final = _lengths()


def round_length(length: int) -> int:
    """Return a length as tantivy stores it in one byte: rounded down to the next length that it has."""
    return _LENGTHS[bisect_right(_LENGTHS, length) - 1]


@dataclass(frozen=True, slots=True)
class FieldStems:
    """The stems of one passage, by field, in the order of `FIELDS`."""

    fields: tuple[list[str], ...]

    @classmethod
    def of(cls, title: str, headings: str, body: str) -> Self:
        """Analyse the three texts as the embedded index does."""
        return cls((stems(title), stems(headings), stems(body)))


def passage(words: FieldStems, averages: Averages) -> Vector:
    """Return a passage as a vector."""
    vector: Vector = {}
    for field, found, average in zip(FIELDS, words.fields, averages, strict=True):
        norm = K1 * (1 - B + B * round_length(len(found)) / average) if average else K1
        for word, count in Counter(found).items():
            number = dimension(field, word)
            vector[number] = vector.get(number, 0.0) + WEIGHTS[field] * (K1 + 1) * count / (count + norm)
    return vector


@dataclass(frozen=True)
class Statistics:
    """The statistics of all passages, for encoding queries.

    Attributes:
        size: How many passages there are.
        averages: The mean lengths that the passages are encoded with.
        frequencies: Of each word.
    """

    size: int
    averages: Averages
    frequencies: Mapping[str, Frequencies]

    def frequency(self, word: str) -> int:
        """Return how many passages have a word in the field in which it is most frequent."""
        return max(self.frequencies.get(word, (0,)))

    def idf(self, frequency: int) -> float:
        """Return BM25's inverse document frequency; largest for 0, a word that nothing has."""
        size = max(self.size, frequency)
        return math.log(1 + (size - frequency + 0.5) / (frequency + 0.5))

    def meant(self, word: str) -> list[str]:
        """Return the known words that an unknown one may be a misspelling of."""
        return self._vocabulary.nearest(word)

    def query(self, word: str, weight: float = 1.0) -> Vector:
        """Return one word of a query as a vector; it is empty for a word that no passage has."""
        found = self.frequencies.get(word, ())
        return {
            dimension(field, word): weight * self.idf(frequency)
            for field, frequency in zip(FIELDS, found, strict=False)
            if frequency
        }

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary((word, max(found)) for word, found in self.frequencies.items())


def count_words(passages: Iterable[FieldStems]) -> Statistics:
    """Count the words of all passages, with their exact average lengths."""
    size = 0
    lengths = [0, 0, 0]
    counts: tuple[Counter[str], ...] = (Counter(), Counter(), Counter())
    for words in passages:
        size += 1
        for place, found in enumerate(words.fields):
            lengths[place] += len(found)
            counts[place].update(set(found))
    title, heading, body = counts
    frequencies = {word: (title[word], heading[word], body[word]) for word in sorted({*title, *heading, *body})}
    means = [length / size if size else 0.0 for length in lengths]
    return Statistics(size, (means[0], means[1], means[2]), frequencies)


def have_drifted(kept: Averages, now: Averages) -> bool:
    """Return whether averages have changed too much to compare passages encoded with the old and the new ones."""
    return any(abs(old - new) > DRIFT * max(old, new) for old, new in zip(kept, now, strict=True))


def product(query: Vector, vector: Mapping[int, float]) -> float:
    """Return the inner product of two vectors: the score."""
    return sum(weight * vector.get(number, 0.0) for number, weight in query.items())


def best_of(alternatives: Sequence[Vector], vector: Mapping[int, float]) -> float:
    """Return the score of the alternative for one word that a passage answers best."""
    return max((product(query, vector) for query in alternatives), default=0.0)
