"""Vectors of texts, from a server with OpenAI's `POST /v1/embeddings` (vLLM, TEI, llama.cpp, Ollama, OpenAI)."""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from adapters.index.ranking.embedder import BATCH
from adapters.index.ranking.requests import RankingAccess, RankingServer, entries_of, number_of
from adapters.models.retries import Pauses
from contracts.calls import ModelCall
from contracts.enums import CallPurpose, FaultKind, Language
from contracts.errors import ServerFault

if TYPE_CHECKING:
    from adapters.index.ranking.embedder import Embedding

BATCH_S: Final = 120.0
"""Seconds for one batch of passages, all tries together: nobody waits for an answer then."""
LONGEST_TEXT: Final = 2000
"""Characters of a passage that are sent; few passages have more, and many models take 512 tokens."""
_SHORTEST_CUT: Final = 200
_KEPT_QUERIES: Final = 256

WORDS_SHARE: Final = 0.5
"""What the words weigh beside a model that nothing is known of."""


class HttpEmbedder:
    """A client for one embedding model on a server.

    Args:
        access: The model.
        query_prefix, text_prefix: Prefixes of a query and a passage, for models trained with them.
        pauses: Between tries.
    """

    def __init__(
        self, access: RankingAccess, *, query_prefix: str = "", text_prefix: str = "", pauses: Pauses | None = None
    ) -> None:
        self._access = access
        self._prefixes = (query_prefix, text_prefix)
        self._server = RankingServer(access, "embeddings", "embedding server", CallPurpose.EMBED, pauses)
        self._length: int | None = None
        self._known: OrderedDict[str, Embedding] = OrderedDict()
        self._asking: dict[tuple[int, str], asyncio.Task[Embedding]] = {}

    @property
    def languages(self) -> frozenset[Language]:
        return self._access.languages

    @property
    def name(self) -> str:
        """The key that passage vectors are stored under; if it changes, all vectors are recomputed."""
        prefix = self._prefixes[1]
        return f"{self._access.model} after {prefix!r}" if prefix else self._access.model

    @property
    def query_prefix(self) -> str:
        """The prefix of queries."""
        return self._prefixes[0]

    @property
    def words_share(self) -> float:
        return WORDS_SHARE

    def speaks(self, query: str, language: Language | None) -> bool:
        """Whether a query is for this model; see `RankingAccess.speaks`."""
        return self._access.speaks(query, language)

    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Return the vectors of passages, in their order. Requests are in batches, each with its own deadline.

        A passage that is too long for the model is cut in half until it is not.

        Raises:
            ServerFault: One batch had no usable reply.
        """
        vectors: list[Embedding] = []
        for start in range(0, len(texts), BATCH):
            batch = [self._prefixes[1] + text[:LONGEST_TEXT] for text in texts[start : start + BATCH]]
            vectors += await self._shorter(batch)
        return vectors

    async def embed_query(self, text: str, made: list[ModelCall] | None = None) -> Embedding:
        """Return the vector of a query. The same query is asked only once, even by concurrent searches.

        Args:
            text: The query.
            made: Receives a record of every request that this search starts itself.

        Raises:
            ServerFault: There was no usable reply in time.
        """
        if text in self._known:
            self._known.move_to_end(text)
            return self._known[text]
        # A task belongs to its loop; the graph and the command line may each have one.
        key = (id(asyncio.get_running_loop()), text)
        task = self._asking.get(key)
        if task is None:
            task = self._asking[key] = asyncio.create_task(self._query(text, made))
            task.add_done_callback(lambda done: self._keep_result(key, done))
        # Who waits may be cancelled without the others having to ask again.
        return await asyncio.shield(task)

    async def embed_queries(self, texts: Sequence[str]) -> list[Embedding]:
        """Return the vectors of many texts, as queries, in batches.

        Raises:
            ServerFault: One batch had no usable reply.
        """
        batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
        return [
            vector
            for batch in batches
            for vector in await self._ask([self._prefixes[0] + text for text in batch], BATCH_S)
        ]

    async def _query(self, text: str, made: list[ModelCall] | None) -> Embedding:
        (vector,) = await self._ask([self._prefixes[0] + text[:LONGEST_TEXT]], self._access.timeout_s, made)
        return vector

    def _keep_result(self, key: tuple[int, str], task: asyncio.Task[Embedding]) -> None:
        self._asking.pop(key, None)
        # Asking for the error also says that somebody has seen it.
        if not task.cancelled() and task.exception() is None:
            self._known[key[1]] = task.result()
            while len(self._known) > _KEPT_QUERIES:
                self._known.popitem(last=False)

    async def _shorter(self, batch: list[str]) -> list[Embedding]:
        try:
            return await self._ask(batch, BATCH_S)
        except ServerFault as fault:
            if fault.kind is not FaultKind.TOO_LONG or max(map(len, batch)) < _SHORTEST_CUT:
                raise
        if len(batch) == 1:
            return await self._shorter([batch[0][: len(batch[0]) // 2]])
        return [vector for text in batch for vector in await self._shorter([text])]

    async def _ask(self, texts: list[str], timeout_s: float, made: list[ModelCall] | None = None) -> list[Embedding]:
        body = {"model": self._access.model, "input": texts, "encoding_format": "float"}
        return await self._server.ask(body, lambda reply: self._read(reply, len(texts)), timeout_s, made)

    def _read(self, reply: Any, count: int) -> list[Embedding]:
        """Return the vectors of a reply, each of length 1.

        Raises:
            ValueError: They are not as many as the texts, not all of one length (nor that of earlier replies), or
                have something in them that is not a finite number.
        """
        data = cast("dict[str, Any]", reply).get("data") if isinstance(reply, dict) else None
        rows = [entry.get("embedding") for entry in entries_of(data, count, "vectors")]
        vectors = [unit_of(row) for row in rows]
        lengths = {len(vector) for vector in vectors}
        if self._length is not None:
            lengths.add(self._length)
        if len(lengths) != 1:
            raise ValueError(f"its vectors have different lengths: {', '.join(map(str, sorted(lengths)))}")
        (self._length,) = lengths
        return vectors


def unit_of(row: object) -> Embedding:
    """Return a JSON list of numbers as a vector of length 1; zeros stay zeros.

    Raises:
        ValueError: The list is empty, or an element is not a finite number.
    """
    if not isinstance(row, list) or not row:
        raise ValueError("its reply has no vector where one is due")
    numbers = [number_of(value, "a part of its vector") for value in cast("list[Any]", row)]
    # The largest first, or the squares of very large numbers would be infinite.
    largest = max(map(abs, numbers))
    scaled = [number / largest for number in numbers] if largest else numbers
    length = math.hypot(*scaled)
    return np.array([number / length for number in scaled] if length else scaled, np.float32)
