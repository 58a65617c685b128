"""A turn's retrieval takes as long as its slowest source: all are asked before any has answered."""

from __future__ import annotations

import asyncio

import pytest
from langgraph.runtime import Runtime

from contracts.context import Context
from contracts.enums import Source
from contracts.evidence import ConfidenceFigures, QueryTrace
from contracts.ports import SearchReply, SearchRequest
from nodes.retrieve import retrieve
from tools.benchmarks.sources import KINDS, profile, view

SECONDS = 10.0
"""Until what waits for another that is never asked gives up; asked together, they wait for nothing."""


class Waiting:
    """Answers when so many searches are under way at once that the barrier opens."""

    def __init__(self, kind: Source, barrier: asyncio.Barrier) -> None:
        self.kind = kind
        self._barrier = barrier

    async def search(self, request: SearchRequest) -> SearchReply:
        await self._barrier.wait()
        return SearchReply(
            (), QueryTrace(query=request.query, source=self.kind, confidence=ConfidenceFigures.of([], 0.5))
        )


@pytest.mark.parametrize("subqueries", [1, 4])
async def test_all_sources_are_asked_every_query_before_one_has_answered(subqueries: int) -> None:
    """No source waits for another, nor one query for the one before it."""
    barrier = asyncio.Barrier(len(KINDS) * subqueries)
    sources = {kind: Waiting(kind, barrier) for kind in KINDS}
    async with asyncio.timeout(SECONDS):
        update = await retrieve(view(subqueries), Runtime(context=Context()), sources=sources, profile=profile())
    asked = [(trace["query"], trace["source"]) for trace in update["query_traces"]]
    assert len(set(asked)) == len(KINDS) * subqueries
    assert update["degraded"] == []
