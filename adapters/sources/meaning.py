"""Ranking by meaning beside the ranking by words: the same rules for every place where passages are kept.

A query is sent to the embedding model only where it is in the model's languages, and so are the documents that are
wanted. Its two rankings are joined by reciprocal rank fusion. Confidence stays that by words; a passage that has less
than the request's threshold by it, and is among the nearest, gets what its similarity is worth, where that is more.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeVar

from adapters.ranking.fusion import fused
from contracts.calls import ModelCall
from contracts.errors import ServerFault
from contracts.ports import SearchRequest

if TYPE_CHECKING:
    from array import array

    from adapters.ranking.embeddings import Embedder
    from adapters.ranking.similarity import Calibration, Vectors
    from adapters.sources.markdown.asking import Hit

DEPTH: Final = 50
"""Passages of each ranking that are fused."""
_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a query is searched with beside its words.

    Attributes:
        vector: Of the query.
        vectors: Of the passages, where they are at hand.
        degraded: Why it is not searched by meaning, or not wholly, where it should be.
        calls: What was asked of the embedding server for it.
    """

    vector: array[float] | None = None
    vectors: Vectors | None = None
    degraded: str = ""
    calls: tuple[ModelCall, ...] = ()


NO_MEANING: Final = Meaning()
"""Of a query that is not for the model, or where there is none."""


async def meaning_of(embedder: Embedder | None, request: SearchRequest) -> Meaning:
    """Ask for the vector of a query that is for the embedding model; `NO_MEANING` for any other."""
    if embedder is None or not embedder.speaks(request.query, request.language):
        return NO_MEANING
    made: list[ModelCall] = []
    try:
        vector = await embedder.embed_query(request.query, made)
    except ServerFault as fault:
        return Meaning(degraded=f"embeddings: {fault}", calls=tuple(made))
    return Meaning(vector, calls=tuple(made))


def joined(
    by_words: Mapping[_Key, Hit],
    nearest: Mapping[_Key, float],
    others: Callable[[Sequence[_Key]], Mapping[_Key, Hit]],
    calibration: Calibration | None,
    request: SearchRequest,
) -> list[Hit]:
    """Return the best of two rankings of one query.

    Args:
        by_words: What was found by words, best first.
        nearest: The similarities of the nearest passages, best first.
        others: Returns hits for those of the nearest that words did not find.
        calibration: What a similarity is worth; `None` where it was not measured.
        request: How many are wanted, and the threshold.
    """
    order = [key for key, _ in fused([list(by_words), list(nearest)])][: request.top_k]
    hits = {**by_words, **others([key for key in order if key not in by_words])}
    return [_weighed(hits[key], nearest.get(key), calibration, request.threshold) for key in order]


def _weighed(hit: Hit, similarity: float | None, calibration: Calibration | None, threshold: float) -> Hit:
    sure = hit.confidence
    if similarity is not None and calibration is not None and sure < threshold:
        sure = max(sure, calibration.confidence(similarity))
    return replace(hit, confidence=sure, similarity=similarity)


def other_length(query: int, documents: int, then: str = "index the documents again") -> str:
    """Return why vectors of two lengths cannot be compared, with the way out; `then`: what the new model takes."""
    return (
        f"the model makes vectors of {query} numbers now, and made such of {documents} for the documents. "
        f"Give the model that is served now a name of its own (GUARDIAN_EMBED_MODEL), and {then}."
    )
