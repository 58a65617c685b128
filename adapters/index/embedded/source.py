"""The documents as a source of evidence."""

from __future__ import annotations

from adapters.index.queries import Knowledge
from contracts.enums import Source
from contracts.ports import SearchReply, SearchRequest


class DocumentSource:
    """One kind of the knowledge base's documents, as an evidence source of the graph.

    Args:
        knowledge: What is searched.
        kind: `doc` or `policy`.
    """

    def __init__(self, knowledge: Knowledge, kind: Source = Source.DOC) -> None:
        if kind not in (Source.DOC, Source.POLICY):
            raise ValueError(f"documents are doc or policy, not {kind}")
        self._knowledge = knowledge
        self._kind = kind

    @property
    def kind(self) -> Source:
        return self._kind

    async def search(self, request: SearchRequest) -> SearchReply:
        return await self._knowledge.search(request, self._kind)
