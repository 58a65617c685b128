"""The port of models that read a query together with a passage, and an evidence source that such a model orders.

HttpReranker     on a server, over `POST /v1/rerank` or TEI's `POST /rerank` (`http_reranker.py`)
LocalReranker    in this process (`local/`)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

from contracts.calls import ModelCall
from contracts.enums import Language, Source
from contracts.errors import ServerFault
from contracts.evidence import EvidenceItem, Fate, PassageFate, PassageTrace
from contracts.ports import EvidenceSource, SearchReply, SearchRequest

TOP: Final = 8
"""Items that are put in order, unless told otherwise: with 12, six manuals had no more right answers (docs/decisions.md, 87)."""


class Reranker(Protocol):
    """One reranking model (a cross-encoder); safe to use from several event loops."""

    @property
    def tells_odds(self) -> bool:
        """Whether a score is the logit of "this text answers the query", on the scale that the Guardian's weights know."""
        ...

    def speaks(self, query: str, language: Language | None) -> bool:
        """Whether a query and the wanted documents (`None` for any language) are in the model's languages."""
        ...

    async def scores(self, query: str, texts: Sequence[str], made: list[ModelCall] | None = None) -> list[float]:
        """Return the model's score of each text, in their order: raw, and comparable within one query only.

        Args:
            query: The query that the texts should answer.
            texts: The texts that the model reads.
            made: Receives a record of every request to a server.

        Raises:
            ServerFault: The scores could not be had in time.
        """
        ...


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
        read = [item for item in first if self._reranker.speaks(request.query, item.language)]
        if not read:
            return _cut(wider, wider.items, {}, request, "")
        made: list[ModelCall] = []
        try:
            scores = await self._reranker.scores(request.query, [text_of_item(item) for item in read], made)
        except ServerFault as fault:
            reply = _cut(wider, wider.items, {}, request, f"reranker: {fault}")
        else:
            by_ref = {item.ref: score for item, score in zip(read, scores, strict=True)}
            # What it did not read, because it is in another language, keeps its place.
            ranked = iter(sorted(read, key=lambda item: -by_ref[item.ref]))
            ordered = [next(ranked) if item.ref in by_ref else item for item in first]
            reply = _cut(wider, (*ordered, *rest), by_ref, request, "")
            reply = replace(reply, trace=reply.trace.model_copy(update={"odds": self._reranker.tells_odds}))
        return replace(reply, calls=(*wider.calls, *made))


def text_of_item(item: EvidenceItem) -> str:
    """Return the text of an item for the model."""
    return "\n".join(filter(None, (item.title, item.heading, item.snippet)))


def _cut(
    reply: SearchReply,
    items: Sequence[EvidenceItem],
    scores: Mapping[str, float],
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
