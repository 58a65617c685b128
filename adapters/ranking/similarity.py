"""Exact search among vectors, and how sure a similarity is.

Every vector is compared: there is no index to be built, and nothing is missed. That is for a knowledge base of one
machine: 10,000 passages take 0.05 to 0.5 s a query, by length of the vectors and version of Python.
"""

from __future__ import annotations

import heapq
import json
import math
import statistics
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from operator import mul
from typing import Final

from contracts.values import Language

MOST: Final = 20_000
"""Passages up to which vectors are searched; above, a query would hold up the whole process for seconds."""
LET_THROUGH: Final = 0.1
"""The share of foreign questions that reach one half: what the confidence by words lets through (8 to 11 %)."""

_LEAST_SPREAD: Final = 1e-3


def _sum_of_products(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(map(mul, one, other))


# From Python 3.12 on, twice as fast.
dot: Callable[[Sequence[float], Sequence[float]], float] = getattr(math, "sumprod", _sum_of_products)
"""The scalar product of two vectors of one length."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a similarity (cosine) is worth, as measured with foreign questions on one knowledge base and one model.

    Attributes:
        midpoint: The similarity that a tenth of the foreign questions reach with their nearest passage.
        spread: Standard deviation of what they reach, above 0.
    """

    midpoint: float
    spread: float

    def confidence(self, similarity: float) -> float:
        """Return how far a passage of this similarity is on topic, 0 to 1; one half at the midpoint."""
        return 1 / (1 + math.exp(min(700.0, (self.midpoint - similarity) / self.spread)))

    @classmethod
    def of(cls, best: Sequence[float]) -> Calibration | None:
        """Return the calibration by what foreign questions reach; `None` where there are fewer than two of them."""
        if len(best) < 2:
            return None
        ordered = sorted(best)
        place = (len(ordered) - 1) * (1 - LET_THROUGH)
        low, part = int(place), place - int(place)
        midpoint = ordered[low] + part * (ordered[min(low + 1, len(ordered) - 1)] - ordered[low])
        return cls(midpoint, max(statistics.stdev(ordered), _LEAST_SPREAD))


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of a knowledge base's passages.

    Attributes:
        by_chunk: By the number of the passage.
        missing: Passages in the model's languages that have none yet.
        calibration: `None` where it was not measured.
    """

    by_chunk: Mapping[int, array[float]]
    missing: int = 0
    calibration: Calibration | None = None

    @property
    def length(self) -> int:
        """How many numbers a vector has; 0 where there is none."""
        return len(next(iter(self.by_chunk.values()), ()))

    def nearest(self, query: array[float], allowed: Collection[int], limit: int) -> list[tuple[int, float]]:
        """Return the passages nearest to a query and their similarities, -1 to 1, best first.

        Args:
            query: Of the same length as the passages' vectors.
            allowed: Numbers of passages that may be returned.
            limit: How many at most.
        """
        found = ((dot(vector, query), chunk) for chunk, vector in self.by_chunk.items() if chunk in allowed)
        best = heapq.nlargest(limit, found, key=lambda entry: (entry[0], -entry[1]))
        return [(chunk, similarity) for similarity, chunk in best]


def text_of(title: str, headings: str, body: str) -> str:
    """Return what of a passage is made a vector."""
    return "\n".join(filter(None, (title, headings, body)))


def hash_of(text: str) -> str:
    """Return what tells one text from another; its vector is kept under it."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()


@cache
def foreign_questions() -> tuple[tuple[Language, str], ...]:
    """Return questions that no product's documentation answers."""
    lines = files("adapters.ranking").joinpath("foreign.txt").read_text("utf-8").splitlines()
    pairs = (line.split(" ", 1) for line in lines if line and not line.startswith("#"))
    return tuple((Language(language), text) for language, text in pairs)


def best_of(queries: Iterable[array[float]], vectors: Sequence[array[float]]) -> list[float]:
    """Return what each query reaches with its nearest vector."""
    return [max(dot(vector, query) for vector in vectors) for query in queries] if vectors else []


def calibration_key(model: str) -> str:
    """Return under which name the calibration of a model is kept."""
    return f"similarity of {model}"


def calibration_of(text: str) -> Calibration | None:
    """Return a calibration as it was kept; `None` where there is none."""
    figures: list[float] = json.loads(text) if text else []
    return Calibration(*figures) if figures else None


def vector_of(blob: bytes) -> array[float]:
    """Return a vector as it was kept."""
    vector = array("f")
    vector.frombytes(blob)
    return vector
