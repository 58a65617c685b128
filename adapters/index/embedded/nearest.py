"""Passages of an index in memory: the best by words, the nearest by meaning."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from adapters.index.dense import DEPTH, Comparison, other_length
from adapters.index.embedded.index import Filter, Snapshot
from adapters.index.queries import MOST_READ, says
from adapters.index.ranking.similarity import Vectors, calibration_key, calibration_of, file_key, read_vectors
from adapters.index.store_reader import IndexReader
from language.words import stem

if TYPE_CHECKING:
    from adapters.index.ranking.embedder import Embedder, Embedding


LARGE = 50_000
"""Passages; in a smaller index, a limit costs less than looking at more."""
_WORTH = 0.2
"""The least share of an index that may be returned, for which more than that is looked at."""
TRIES = 5
_NOWHERE = ("", 0)
RowT = TypeVar("RowT")


class IndexMoved(Exception):
    """The index was renewed between a search and the reading of its rows."""


def best_by_words(
    snapshot: Snapshot, reader: IndexReader, weights: Sequence[tuple[Sequence[str], float]], where: Filter, limit: int
) -> list[tuple[int, float]]:
    """Return numbers and scores of the best passages within the limits.

    Tantivy skips documents that cannot win only if a search has no limits. So a large index is asked for more than
    needed and without limits, and passages outside the limits are left out. The result is the same, in a third of the
    time.
    """
    share = snapshot.share(where)
    if snapshot.size >= LARGE and not where.excluded and _WORTH <= share < 1:
        count = math.ceil(limit / share * 1.5)
        ranked = snapshot.search(weights, Filter(), count)
        limits = all_rows(reader.limits([number for number, _ in ranked]), len(ranked))
        fit = [(number, score) for number, score in ranked if where.admits(*limits[number])]
        if len(fit) >= limit or len(ranked) < count:
            return fit[:limit]
    return snapshot.search(weights, where, limit)


def order_numbers(reader: IndexReader, scores: Mapping[int, float]) -> list[int]:
    """Return passages by score, best first; equal ones in the order of documents and positions, read only for them."""
    times = Counter(scores.values())
    tied = [number for number, score in scores.items() if times[score] > 1]
    places = all_rows(reader.places(tied), len(tied)) if tied else {}
    return sorted(scores, key=lambda number: (-scores[number], places.get(number, _NOWHERE)))


def all_rows(rows: dict[int, RowT], expected: int) -> dict[int, RowT]:
    """Return rows that were read by their numbers.

    Raises:
        IndexMoved: There are fewer than expected.
    """
    if len(rows) < expected:
        raise IndexMoved
    return rows


MAKING = "They are being made, or `guardian index` makes them."


def says_word(snapshot: Snapshot, reader: IndexReader, word: str) -> bool:
    """Whether one of the passages with a word's stem has the word in exactly this form."""
    found = snapshot.search([((stem(word),), 1.0)], Filter(), MOST_READ)
    return says(reader.passages([number for number, _ in found]).values(), word)


def keep_undominated(found: Iterable[tuple[float, float | None]]) -> Iterator[tuple[float, float | None]]:
    """Yield the Pareto-optimal pairs of score and similarity; the surest passage is one of them."""
    nearest: float | None = None
    alone = False
    for score, near in sorted(found, key=lambda pair: -pair[0]):
        if near is None:
            if not alone:
                yield score, near
            alone = True
        elif nearest is None or near > nearest:
            nearest = near
            yield score, near


def nearest_numbers(snapshot: Snapshot, where: Filter, compared: Comparison | None) -> list[int]:
    """Return the passages that are nearest by meaning, best first."""
    if compared is None:
        return []
    near = compared.vectors.nearest(compared.similarities, snapshot.admitted(where), DEPTH)
    return [number for number, _ in near]


def similarities_of(compared: Comparison | None, numbers: Sequence[int]) -> dict[int, float]:
    return compared.vectors.of(numbers, compared.similarities) if compared else {}


def open_vectors(directory: Path, reader: IndexReader, embedder: Embedder) -> Vectors:
    import numpy as np

    chunks, rows = np.zeros(0, np.int64), np.zeros((0, 0), np.float16)
    # A fill that ends now has removed the file that was named a moment ago.
    for _ in range(TRIES):
        name = reader.meta(file_key(embedder.name))
        try:
            chunks, rows = read_vectors(directory / name) if name else (chunks, rows)
            break
        except (OSError, ValueError):
            continue
    missing = int(np.setdiff1d(np.array(reader.numbers(embedder.languages), np.int64), chunks).size)
    return Vectors(chunks, rows, missing, calibration_of(reader.meta(calibration_key(embedder.name))))


def why_unusable(vectors: Vectors, query: Embedding) -> str:
    if not len(vectors.chunks) and vectors.missing:
        return f"no passage has a vector of this model yet. {MAKING}"
    if vectors.length and vectors.length != len(query):
        return other_length(len(query), vectors.length)
    return ""
