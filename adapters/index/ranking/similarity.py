"""Exact search among vectors, and the confidence of a similarity.

Every vector is compared: no index has to be built, and nothing is missed. The vectors of a knowledge base are one file
of float16 that is mapped into memory, so that processes share it and none reads all of it.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from contracts.enums import Language

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from adapters.index.ranking.embedder import Embedding

LET_THROUGH: Final = 0.1
"""The share of foreign questions that reach one half: what the confidence by words lets through (8 to 11 %)."""
TOGETHER: Final = 0.9
"""The sum of both confidences, 0 to 2, that a tenth of the foreign questions reach: one half of what both say."""
TOGETHER_SPREAD: Final = 0.25
"""How far from there the sum of a sure passage is."""

_KNOWN: Final = 8
"""Queries whose similarities are kept; for a million passages some 32 MB."""
_LEAST_SPREAD: Final = 1e-3
_BLOCK: Final = 16_384
"""Rows that are made float32 together: 32 MB of vectors of 512 numbers."""
_DIGITS: Final = 6
"""Of the mean vector, after the point."""


def _logistic(number: float) -> float:
    return 1 / (1 + math.exp(min(700.0, -number)))


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a similarity (cosine) is worth, as measured with foreign questions on one knowledge base and one model.

    Attributes:
        midpoint: The similarity that a tenth of the foreign questions reach with their nearest passage.
        spread: Standard deviation of these similarities, above 0.
        mean: The mean of the passages' vectors; its product with a query is the query's mean similarity.
    """

    midpoint: float
    spread: float
    mean: tuple[float, ...] = ()

    def confidence(self, similarity: float) -> float:
        """Return how far a passage of this similarity is on topic, 0 to 1; one half at the midpoint."""
        return _logistic((similarity - self.midpoint) / self.spread)

    def together(self, by_words: float, similarity: float) -> float:
        """Return how far a passage is on topic, 0 to 1, from its scores by words and by meaning.

        Args:
            by_words: The confidence by words, 0 to 1.
            similarity: To the query, -1 to 1.
        """
        return _logistic((by_words + self.confidence(similarity) - TOGETHER) / TOGETHER_SPREAD)

    def floor(self, query: Embedding) -> float:
        """Return the mean similarity of a query to the passages; 0 if their mean is not known."""
        import numpy as np

        return float(np.dot(query, np.asarray(self.mean, np.float32))) if len(self.mean) == len(query) else 0.0

    @classmethod
    def of(cls, best: Sequence[float], mean: Sequence[float] = ()) -> Calibration | None:
        """Return the calibration from the similarities of foreign questions; `None` if there are fewer than two."""
        if len(best) < 2:
            return None
        ordered = sorted(best)
        place = (len(ordered) - 1) * (1 - LET_THROUGH)
        low, part = int(place), place - int(place)
        midpoint = ordered[low] + part * (ordered[min(low + 1, len(ordered) - 1)] - ordered[low])
        rounded = tuple(round(float(number), _DIGITS) for number in mean)
        return cls(midpoint, max(statistics.stdev(ordered), _LEAST_SPREAD), rounded)


# -------------------------------------------------------------------------------------------------- vectors in a file


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of a knowledge base's passages.

    Attributes:
        chunks: The numbers of the passages that have a vector, ascending.
        rows: Their vectors in this order, float16 of length 1.
        missing: How many passages in the model's languages have no vector yet.
        calibration: `None` if it was not measured.
    """

    chunks: NDArray[np.int64]
    rows: NDArray[np.float16]
    missing: int = 0
    calibration: Calibration | None = None
    _known: dict[bytes, NDArray[np.float32]] = field(
        default_factory=dict[bytes, "NDArray[np.float32]"], repr=False, compare=False
    )

    @property
    def length(self) -> int:
        """How many numbers a vector has; 0 if there are no vectors."""
        return int(self.rows.shape[1]) if len(self.rows) else 0

    def similarities(self, query: Embedding) -> NDArray[np.float32]:
        """Return the similarity of each passage to a query, -1 to 1, in the order of `chunks`."""
        key = query.tobytes()
        # A turn asks about the same query several times: for its topic, and of each kind of source.
        found = self._known.get(key)
        if found is None:
            found = similarities_of(self.rows, query)
            if len(self._known) >= _KNOWN:
                self._known.clear()
            self._known[key] = found
        return found

    def of(self, chunks: Sequence[int], similarities: NDArray[np.float32]) -> dict[int, float]:
        """Return the similarities of given passages, without those that have no vector."""
        import numpy as np

        wanted = np.asarray(chunks, np.int64)
        places, there = self._places(wanted)
        return {int(wanted[n]): float(similarities[places[n]]) for n in np.flatnonzero(there)}

    def nearest(
        self, similarities: NDArray[np.float32], allowed: NDArray[np.int64], limit: int
    ) -> list[tuple[int, float]]:
        """Return the passages nearest to a query and their similarities, best first, of equal ones the older.

        Args:
            similarities: As `similarities` returned them.
            allowed: Numbers of passages that may be returned, ascending.
            limit: How many at most, from 1.
        """
        import numpy as np

        places, there = self._places(allowed)
        places = places[there]
        found = similarities[places]
        if len(places) > limit:
            # Of those that are as near as the last, all, or chance would choose between them.
            least = np.partition(found, len(found) - limit)[len(found) - limit]
            places, found = places[found >= least], found[found >= least]
        order = np.lexsort((places, -found))[:limit]
        return [(int(self.chunks[places[n]]), float(found[n])) for n in order]

    def _places(self, wanted: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return where passages stand, and which of them do."""
        import numpy as np

        if not len(self.chunks):
            return np.zeros(len(wanted), np.intp), np.zeros(len(wanted), np.bool_)
        places = np.minimum(np.searchsorted(self.chunks, wanted), len(self.chunks) - 1)
        return places, self.chunks[places] == wanted


@cache
def keep_to_one_thread() -> None:
    """Limit matrix products to one thread: for small ones, two threads wait longer than they work."""
    with contextlib.suppress(ImportError):
        from threadpoolctl import threadpool_limits

        # It limits what is loaded.
        import_module("numpy")
        threadpool_limits(1, user_api="blas")


def similarities_of(rows: NDArray[np.float16], query: Embedding) -> NDArray[np.float32]:
    """Return the scalar product of each row with a query of the same length: in float32, block by block."""
    import numpy as np

    keep_to_one_thread()
    found = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        np.dot(block.astype(np.float32), query, out=found[start : start + len(block)])
    return found


def best_of(queries: Sequence[Embedding], rows: NDArray[np.float16]) -> tuple[list[float], list[float]]:
    """Return each query's similarity to its nearest row and to the mean of all rows; empty if there are no rows."""
    import numpy as np

    if not len(rows):
        return [], []
    asked = np.stack(queries).T
    best = np.full(len(queries), -1.0, np.float32)
    total = np.zeros(rows.shape[1], np.float64)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK].astype(np.float32)
        best = np.maximum(best, (block @ asked).max(axis=0))
        total += block.sum(axis=0, dtype=np.float64)
    return best.tolist(), (total / len(rows)).tolist()


def write_vectors(directory: Path, chunks: Sequence[int], blobs: Iterable[bytes], length: int) -> str:
    """Write the vectors of a knowledge base into one file named by its content; return the name.

    Args:
        directory: The folder of the knowledge base.
        chunks: Numbers of passages, ascending.
        blobs: Their vectors in this order, as they are stored; read one after the other.
        length: How many numbers each has.

    Raises:
        OSError: The file cannot be written.
    """
    import numpy as np

    made = directory / f".vectors-{os.getpid()}.npy"
    kind = _kind(length)
    digest = sha256(f"{len(chunks)} {length}".encode())
    try:
        with made.open("wb") as file:
            head = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": (len(chunks),)}
            np.lib.format.write_array_header_1_0(file, head)
            for chunk, blob in zip(chunks, blobs, strict=True):
                row = chunk.to_bytes(8, "little") + blob
                digest.update(row)
                file.write(row)
            file.flush()
            os.fsync(file.fileno())
        name = f"vectors-{digest.hexdigest()[:16]}.npy"
        made.replace(directory / name)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
    return name


def remove_vectors(directory: Path, but: str) -> None:
    """Remove all files of vectors but one; a reader that has one mapped can still read it."""
    for old in directory.glob("vectors-*.npy"):
        if old.name != but:
            # Some systems do not let go of a file that is mapped; the next fill removes it.
            with contextlib.suppress(OSError):
                old.unlink()


def read_vectors(path: Path) -> tuple[NDArray[np.int64], NDArray[np.float16]]:
    """Return the numbers of the passages in a file, ascending, and their vectors, mapped into memory.

    Raises:
        OSError, ValueError: It cannot be read, or is not such a file.
    """
    import numpy as np

    table = np.load(path, mmap_mode="r", allow_pickle=False)
    if table.dtype.names != ("chunk", "vector") or table.ndim != 1:
        raise ValueError(f"{path.name} is no file of vectors")
    # The numbers are looked through by every search: in a row, and not across the file.
    return np.ascontiguousarray(table["chunk"]), table["vector"]


def _kind(length: int) -> np.dtype[np.void]:
    import numpy as np

    return np.dtype([("chunk", "<i8"), ("vector", "<f2", (length,))])


def blob_of(vector: Embedding) -> bytes:
    """Return a vector in its stored form: float16, which needs half the space and changes cosines by less than .001."""
    import numpy as np

    return np.asarray(vector, "<f2").tobytes()


def vector_of(blob: bytes) -> Embedding:
    """Return a vector from its stored form."""
    import numpy as np

    return np.frombuffer(blob, "<f2").astype(np.float32)


# ------------------------------------------------------------------------------------------------------- what is kept


def text_of(title: str, headings: str, body: str) -> str:
    """Return the text of a passage that is embedded."""
    return "\n".join(filter(None, (title, headings, body)))


def hash_of(text: str) -> str:
    """Return the hash of a text; its vector is stored under this hash."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()


@cache
def foreign_questions() -> tuple[tuple[Language, str], ...]:
    """Return questions that no product's documentation answers."""
    lines = files("adapters.index.ranking").joinpath("foreign.txt").read_text("utf-8").splitlines()
    pairs = (line.split(" ", 1) for line in lines if line and not line.startswith("#"))
    return tuple((Language(language), text) for language, text in pairs)


def calibration_key(model: str) -> str:
    """Return the name under which the calibration of a model is stored."""
    return f"similarity of {model}"


def measured_key(model: str) -> str:
    """Return the name under which the file is stored on which the calibration of a model was measured."""
    return f"similarity measured on, of {model}"


def file_key(model: str) -> str:
    """Return the name under which the file with the vectors of a model is stored."""
    return f"vectors of {model}"


def calibration_of(text: str) -> Calibration | None:
    """Return a stored calibration; `None` if there is none."""
    figures: list[float] = json.loads(text) if text else []
    return Calibration(figures[0], figures[1], tuple(figures[2:])) if figures else None


def serialise_calibration(calibration: Calibration | None) -> str:
    """Return a calibration in its stored form."""
    return json.dumps([calibration.midpoint, calibration.spread, *calibration.mean] if calibration else [])
