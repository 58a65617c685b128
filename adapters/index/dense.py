"""Ranking by meaning in addition to words, with the same rules for every kind of index.

A query is given to the embedding model only if the query and the requested documents are in the model's languages. The
best of both rankings are fused into one order (`adapters.index.ranking.fusion`). If a passage has both scores, both
give its confidence (`Calibration.together`). So a passage that the words miss can be sure, and a passage that shares
only words with the query is less sure.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeVar

from adapters.index.ranking.fusion import fuse
from contracts.calls import ModelCall
from contracts.errors import ServerFault
from contracts.ports import SearchRequest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from adapters.index.hits import Hit
    from adapters.index.ranking.embedder import Embedder, Embedding
    from adapters.index.ranking.similarity import Calibration, Vectors

DEPTH: Final = 100
"""Passages of each ranking that are fused."""
_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The passages' vectors, and how near each is to a query (`Vectors.similarities`)."""

    vectors: Vectors
    similarities: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class QueryMeaning:
    """The side of a query that is searched by meaning.

    Attributes:
        vector: Of the query.
        compared: Its comparison with the passages' vectors, if these are in this process.
        degraded: Why meaning is left out, fully or in part, although it should be used.
        calls: The requests to the embedding server for it.
        spread: Standard deviation of the similarities over all passages; `None` if it is not known.
    """

    vector: Embedding | None = None
    compared: Comparison | None = None
    degraded: str = ""
    calls: tuple[ModelCall, ...] = ()
    spread: float | None = None


NO_MEANING: Final = QueryMeaning()
"""Of a query that is not for the model, or where there is none."""


async def meaning_of(embedder: Embedder | None, request: SearchRequest) -> QueryMeaning:
    """Ask for the vector of a query that is for the embedding model; `NO_MEANING` for any other."""
    if embedder is None or not embedder.speaks(request.query, request.language):
        return NO_MEANING
    made: list[ModelCall] = []
    try:
        vector = await embedder.embed_query(request.query, made)
    except ServerFault as fault:
        return QueryMeaning(degraded=f"embeddings: {fault}", calls=tuple(made))
    return QueryMeaning(vector, calls=tuple(made))


@dataclass(frozen=True, slots=True)
class Fusion:
    """The rule that fuses the scores by words and by meaning for one query.

    Attributes:
        share: The weight of the words, 0 to 1.
        floor: The similarity that counts as nothing.
        calibration: What a similarity is worth; `None` if it was not measured.
    """

    share: float
    floor: float = 0.0
    calibration: Calibration | None = None

    @classmethod
    def of(cls, embedder: Embedder, query: Embedding, calibration: Calibration | None) -> Fusion:
        return cls(embedder.words_share, calibration.floor(query) if calibration else 0.0, calibration)

    def confidence(self, by_words: float, similarity: float | None) -> float:
        """Return how far a passage is on topic, 0 to 1, from what is known of it."""
        if similarity is None or self.calibration is None:
            return by_words
        return self.calibration.together(by_words, similarity)

    def joined(self, hits: Mapping[_Key, Hit], similarities: Mapping[_Key, float], count: int) -> list[Hit]:
        """Return the best of two rankings of one query.

        Args:
            hits: Hits by words, then hits only by meaning, with their scores by words; best first in each group.
            similarities: Of all hits that have a vector.
            count: How many are wanted.
        """
        order = self.ordered({key: hit.score for key, hit in hits.items()}, similarities)
        return [self.weighed(hits[key], similarities.get(key), fused) for key, fused in order[:count]]

    def ordered(self, scores: Mapping[_Key, float], similarities: Mapping[_Key, float]) -> list[tuple[_Key, float]]:
        """Return everything that has a score by words or a similarity, best first, with the fused score (`fuse`)."""
        return fuse(scores, similarities, self.share, self.floor)

    def weighed(self, hit: Hit, similarity: float | None, fused: float) -> Hit:
        """Return a hit by words with its similarity added."""
        sure = self.confidence(hit.confidence, similarity)
        return replace(hit, confidence=sure, similarity=similarity, fused=fused)


def other_length(query: int, documents: int, then: str = "index the documents again") -> str:
    """Return why vectors of two lengths cannot be compared, and how to fix it; `then` is the last step of the fix."""
    return (
        f"the model makes vectors of {query} numbers now, and made such of {documents} for the documents. "
        f"Give the model that is served now a name of its own (GUARDIAN_EMBED_MODEL), and {then}."
    )
