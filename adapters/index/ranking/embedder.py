"""The port of embedding models: texts become vectors, and near vectors have similar meanings.

HttpEmbedder     on a server, over `POST /v1/embeddings` (`embeddings.py`)
LocalEmbedder    in this process (`local/`)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from contracts.calls import ModelCall
from contracts.enums import Language

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH: Final = 32
"""Texts that are made vectors together: the most that TEI takes in one request unless told otherwise."""

Embedding: TypeAlias = "NDArray[np.float32]"
"""One row of float32, of length 1 (or of zeros), so that the scalar product of two is their cosine."""


class Embedder(Protocol):
    """One embedding model; safe to use from several event loops."""

    @property
    def name(self) -> str:
        """The key that passage vectors are stored under; if it changes, all vectors are recomputed."""
        ...

    @property
    def languages(self) -> frozenset[Language]:
        """The model's languages; texts in other languages are not given to it."""
        ...

    @property
    def query_prefix(self) -> str:
        """The prefix of queries."""
        ...

    @property
    def words_share(self) -> float:
        """The weight of the words if both rank, 0 to 1 (`adapters.index.ranking.fusion`)."""
        ...

    def speaks(self, query: str, language: Language | None) -> bool:
        """Whether a query and the wanted documents (`None` for any language) are in the model's languages."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Return the vectors of passages, in their order.

        Raises:
            ServerFault: The vectors could not be had.
        """
        ...

    async def embed_queries(self, texts: Sequence[str]) -> list[Embedding]:
        """Return the vectors of many texts, as queries; they are not cached.

        Raises:
            ServerFault: The vectors could not be had.
        """
        ...

    async def embed_query(self, text: str, made: list[ModelCall] | None = None) -> Embedding:
        """Return the vector of a query, and cache it.

        Args:
            text: The query.
            made: Receives a record of every request to a server.

        Raises:
            ServerFault: The vector could not be had.
        """
        ...
