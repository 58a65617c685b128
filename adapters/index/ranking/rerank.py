"""A reranker over HTTP, and an evidence source that uses it to order its best items.

There are two wire formats. Cohere, Jina, vLLM, llama.cpp and Infinity use `query`, `documents`, `top_n` -> `results`
with `index` and `relevance_score`. TEI uses `query`, `texts` -> a list with `index` and `score`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias, cast

from adapters.index.ranking.requests import RankingAccess, RankingServer, entries_of, number_of
from adapters.models.retries import Pauses
from contracts.calls import ModelCall
from contracts.enums import CallPurpose, Language, Source
from contracts.errors import ServerFault
from contracts.evidence import EvidenceItem, Fate, PassageFate, PassageTrace
from contracts.ports import EvidenceSource, SearchReply, SearchRequest

Shape: TypeAlias = Literal["cohere", "tei"]

TOP: Final = 20
"""Items that are put in order, unless told otherwise."""
LONGEST_TEXT: Final = 4000
"""Characters of an item that are sent."""
_TEI_BATCH: Final = 32
"""Texts that TEI takes at once unless told otherwise; its scores do not depend on one another."""


class Reranker:
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

    def speaks(self, query: str, language: Language | None) -> bool:
        """Whether a query is for this model; see `RankingAccess.speaks`."""
        return self._access.speaks(query, language)

    async def scores(self, query: str, texts: Sequence[str], made: list[ModelCall] | None = None) -> list[float]:
        """Return the model's score of each text, in their order: raw, and comparable within one query only.

        Args:
            query: The query that the texts should answer.
            texts: The texts that the model reads.
            made: Receives a record of every request.

        Raises:
            ServerFault: There was no usable reply in time.
        """
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


class RerankedSource:
    """An evidence source with its best items ordered by a reranker.

    Confidence stays the source's own, because the scale of a reranker's scores differs with each model. If the
    reranker cannot be asked, the source's order is kept, and the trace says so.

    Args:
        source: What is searched.
        reranker: Used for queries in its languages; for other queries the source's order is kept.
        top: How many of the source's best items the model reads.
    """

    def __init__(self, source: EvidenceSource, reranker: Reranker, top: int = TOP) -> None:
        self._source = source
        self._reranker = reranker
        self._top = top

    @property
    def kind(self) -> Source:
        return self._source.kind

    async def search(self, request: SearchRequest) -> SearchReply:
        if request.top_k < 1 or not self._reranker.speaks(request.query, request.language):
            return await self._source.search(request)
        wider = await self._source.search(replace(request, top_k=max(request.top_k, self._top)))
        first, rest = wider.items[: self._top], wider.items[self._top :]
        if not first:
            return wider
        made: list[ModelCall] = []
        try:
            scores = await self._reranker.scores(request.query, [text_of_item(item) for item in first], made)
        except ServerFault as fault:
            reply = _cut(wider, wider.items, {}, request, f"reranker: {fault}")
        else:
            ranked = sorted(zip(first, scores, strict=True), key=lambda pair: -pair[1])
            by_ref = {item.ref: score for item, score in ranked}
            reply = _cut(wider, (*(item for item, _ in ranked), *rest), by_ref, request, "")
        return replace(reply, calls=(*wider.calls, *made))


def text_of_item(item: EvidenceItem) -> str:
    """Return the text of an item for the model."""
    return "\n".join(filter(None, (item.title, item.heading, item.snippet)))


def _cut(
    reply: SearchReply,
    items: Sequence[EvidenceItem],
    scores: dict[str, float],
    request: SearchRequest,
    degraded: str,
) -> SearchReply:
    """Return the first items of an order, and the trace: of them, of those after them, and of what the source left out."""
    known = {row.ref: row for row in reply.trace.passages}
    rows: list[PassageTrace] = []
    for place, item in enumerate(items):
        row = known.get(item.ref) or PassageTrace.of(item)
        row = row.model_copy(update={"rerank_score_raw": scores.get(item.ref)})
        rows.append(row if place < request.top_k else row.meets(PassageFate(Fate.OVER_LIMIT)))
    kept, returned = tuple(items[: request.top_k]), {item.ref for item in items}
    rows += [row for row in reply.trace.passages if row.ref not in returned]
    said = "\n".join(filter(None, (reply.trace.degraded, degraded)))
    trace = reply.trace.having(kept, request.threshold, rows)
    # Of a long list of copies the source's trace has only the number.
    uncounted = reply.trace.found - len(reply.trace.passages)
    counts = {"found": trace.found + uncounted, "folded": trace.folded + uncounted}
    return SearchReply(kept, trace.model_copy(update={"degraded": said, **counts}))
