"""A reranker on a server, over HTTP.

There are two wire formats. Cohere, Jina, vLLM, llama.cpp and Infinity use `query`, `documents`, `top_n` -> `results`
with `index` and `relevance_score`. TEI uses `query`, `texts` -> a list with `index` and `score`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias, cast

from adapters.index.ranking.requests import RankingAccess, RankingServer, entries_of, number_of
from adapters.models.retries import Pauses
from contracts.calls import ModelCall
from contracts.enums import CallPurpose, Language

Shape: TypeAlias = Literal["cohere", "tei"]

LONGEST_TEXT: Final = 4000
"""Characters of an item that are sent."""
_TEI_BATCH: Final = 32
"""Texts that TEI takes at once unless told otherwise; its scores do not depend on one another."""


class HttpReranker:
    """A client for one reranking model.

    Args:
        access: The model.
        shape: The server's wire format.
        pauses: Between tries.
    """

    def __init__(self, access: RankingAccess, shape: Shape = "cohere", *, pauses: Pauses | None = None) -> None:
        self._access = access
        self._shape = shape
        self._server = RankingServer(access, "rerank", "reranking server", CallPurpose.RERANK, pauses)

    @property
    def tells_odds(self) -> bool:
        return False  # each model has a scale of its own

    def speaks(self, query: str, language: Language | None) -> bool:
        """Whether a query is for this model; see `RankingAccess.speaks`."""
        return self._access.speaks(query, language)

    async def scores(self, query: str, texts: Sequence[str], made: list[ModelCall] | None = None) -> list[float]:
        """Return the model's score of each text; see `Reranker.scores`."""
        size = _TEI_BATCH if self._shape == "tei" else max(1, len(texts))
        batches = [texts[start : start + size] for start in range(0, len(texts), size)]
        share = self._access.timeout_s / max(1, len(batches))
        return [score for batch in batches for score in await self._ask(query, batch, share, made)]

    async def _ask(
        self, query: str, texts: Sequence[str], timeout_s: float, made: list[ModelCall] | None
    ) -> list[float]:
        cut = [text[:LONGEST_TEXT] for text in texts]
        if self._shape == "tei":
            body: dict[str, object] = {"query": query, "texts": cut, "truncate": True}
        else:
            body = {"model": self._access.model, "query": query, "documents": cut, "top_n": len(cut)}
        return await self._server.ask(body, lambda reply: self._read(reply, len(cut)), timeout_s, made)

    def _read(self, reply: Any, count: int) -> list[float]:
        """Return the scores of a reply.

        Raises:
            ValueError: They are not one finite number for each text.
        """
        if self._shape == "tei":
            entries, name = reply, "score"
        else:
            entries = cast("dict[str, Any]", reply).get("results") if isinstance(reply, dict) else None
            name = "relevance_score"
        return [number_of(entry.get(name), "one of its scores") for entry in entries_of(entries, count, "scores")]
