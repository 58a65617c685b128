"""Ranking by meaning beside the ranking by words: the same rules for every place where passages are kept.

A query is given to the embedding model only where it is in the model's languages, and so are the documents that are
wanted. The best of both rankings are put in one order by what both say of each (`adapters.index.ranking.fusion`), and where
both have spoken, so is the confidence (`Calibration.together`): a passage that the words miss may be sure, and one that
shares nothing but words with the query is less so.
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
    """What a query is searched with beside its words.

    Attributes:
        vector: Of the query.
        compared: To those of the passages, where they are at hand.
        degraded: Why it is not searched by meaning, or not wholly, where it should be.
        calls: What was asked of the embedding server for it.
        spread: Standard deviation of the similarities over all passages; `None` where it is not known.
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
    """How what words and meaning say of one query is put together.

    Attributes:
        share: What the words weigh, 0 to 1.
        floor: The similarity that is worth nothing.
        calibration: What a similarity is worth; `None` where it was not measured.
    """

    share: float
    floor: float = 0.0
    calibration: Calibration | None = None

    @classmethod
    def of(cls, embedder: Embedder, query: Embedding, calibration: Calibration | None) -> Fusion:
        return cls(embedder.words_share, calibration.floor(query) if calibration else 0.0, calibration)

    def confidence(self, by_words: float, similarity: float | None) -> float:
        """Return how far a passage is on topic, 0 to 1, of which this much is known."""
        if similarity is None or self.calibration is None:
            return by_words
        return self.calibration.together(by_words, similarity)

    def joined(self, hits: Mapping[_Key, Hit], similarities: Mapping[_Key, float], count: int) -> list[Hit]:
        """Return the best of two rankings of one query.

        Args:
            hits: By words, then those that are near by meaning alone, with their scores by words; best first in each.
            similarities: Of all of them that have a vector.
            count: How many are wanted.
        """
        order = self.ordered({key: hit.score for key, hit in hits.items()}, similarities)
        return [self.weighed(hits[key], similarities.get(key), fused) for key, fused in order[:count]]

    def ordered(self, scores: Mapping[_Key, float], similarities: Mapping[_Key, float]) -> list[tuple[_Key, float]]:
        """Return all that has a score by words or a similarity, best first, with what both say of it (`fuse`)."""
        return fuse(scores, similarities, self.share, self.floor)

    def weighed(self, hit: Hit, similarity: float | None, fused: float) -> Hit:
        """Return a hit by words with what meaning says of it."""
        sure = self.confidence(hit.confidence, similarity)
        return replace(hit, confidence=sure, similarity=similarity, fused=fused)


def other_length(query: int, documents: int, then: str = "index the documents again") -> str:
    """Return why vectors of two lengths cannot be compared, with the way out; `then`: what the new model takes."""
    return (
        f"the model makes vectors of {query} numbers now, and made such of {documents} for the documents. "
        f"Give the model that is served now a name of its own (GUARDIAN_EMBED_MODEL), and {then}."
    )
