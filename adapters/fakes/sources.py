"""A fake source of evidence without a store: it returns scripted items."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from contracts.enums import Source
from contracts.errors import PortError
from contracts.evidence import EvidenceItem, QueryTrace
from contracts.ports import SearchReply, SearchRequest

Answers = Iterable[EvidenceItem] | Callable[[SearchRequest], Iterable[EvidenceItem]] | PortError


class FakeSource:
    """A source that answers every query that is not blank from a list.

    Args:
        kind: The kind of source.
        answers: The items, in any order; or a function that returns them for a request; or the error to raise.

    Attributes:
        requests: What it was asked, in order.
    """

    def __init__(self, kind: Source, answers: Answers = ()) -> None:
        self._kind = kind
        self._answers = answers if callable(answers) or isinstance(answers, PortError) else tuple(answers)
        self.requests: list[SearchRequest] = []

    @property
    def kind(self) -> Source:
        return self._kind

    async def search(self, request: SearchRequest) -> SearchReply:
        self.requests.append(request)
        if isinstance(self._answers, PortError):
            raise self._answers
        found = self._answers(request) if callable(self._answers) else self._answers
        wanted = [item for item in found if item.document_key not in request.exclude] if request.query.strip() else []
        items = sorted(wanted, key=lambda item: -item.confidence)[: max(request.top_k, 0)]
        trace = QueryTrace(query=request.query, source=self._kind, expanded=request.expand)
        return SearchReply(tuple(items), trace.having(items, request.threshold))
