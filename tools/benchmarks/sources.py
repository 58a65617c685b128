"""What a turn's retrieval takes with slow sources: the slowest, or all of them one after the other."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Mapping
from typing import Final, cast

from langgraph.runtime import Runtime

from adapters.threads import in_thread
from contracts.context import Context
from contracts.enums import RequestType, SGRAction, Source
from contracts.evidence import ConfidenceFigures, QueryTrace
from contracts.plan import SGRPlanResult
from contracts.ports import SearchReply, SearchRequest
from contracts.profile import Profile
from contracts.state import fresh_turn
from contracts.views import RetrieveView
from nodes.retrieve import retrieve
from tools.benchmarks.report import Measurement

RUNS: Final = 5
SECONDS: Final[Mapping[Source, float]] = {Source.DOC: 0.1, Source.POLICY: 0.2, Source.NEO4J: 0.3}
"""What a question about knowledge asks (DT-006), and how long each source takes."""
KINDS: Final = tuple(SECONDS)
SUBQUERIES: Final = 3


class SlowSource:
    """Finds nothing, and takes its time for it.

    Args:
        kind: The kind of source to be.
        seconds: For each query.
        blocking: Whether it waits in a thread, as drivers of databases do, rather than in the event loop.
    """

    def __init__(self, kind: Source, seconds: float, *, blocking: bool) -> None:
        self._kind = kind
        self._seconds = seconds
        self._blocking = blocking

    @property
    def kind(self) -> Source:
        return self._kind

    async def search(self, request: SearchRequest) -> SearchReply:
        await (in_thread(time.sleep, self._seconds) if self._blocking else asyncio.sleep(self._seconds))
        trace = QueryTrace(query=request.query, source=self._kind, confidence=ConfidenceFigures.of([], 0.5))
        return SearchReply((), trace)


def measure() -> list[Measurement]:
    """Time the node that retrieves, with sources of 100, 200 and 300 ms."""
    slowest, together = max(SECONDS.values()), sum(SECONDS.values())
    asked = ", ".join(f"{seconds * 1000:.0f}" for seconds in SECONDS.values())
    one = _seconds(1, blocking=False)
    threads = _seconds(1, blocking=True)
    several = _seconds(SUBQUERIES, blocking=True)
    what = f"a turn's retrieval, sources of {asked} ms"
    return [
        Measurement(what, one * 1000, slowest * 1000, "ms", "the slowest source", aim=1.1),
        Measurement(what, one * 1000, together * 1000, "ms", "all sources, one after the other"),
        Measurement(f"{what}, in threads", threads * 1000, slowest * 1000, "ms", "the slowest source", aim=1.1),
        Measurement(
            f"{what}, in threads, {SUBQUERIES} sub-queries",
            several * 1000,
            slowest * 1000,
            "ms",
            "the slowest source",
            aim=1.1,
        ),
    ]


def _seconds(subqueries: int, *, blocking: bool) -> float:
    return asyncio.run(_median(subqueries, blocking=blocking))


async def _median(subqueries: int, *, blocking: bool) -> float:
    sources = {kind: SlowSource(kind, seconds, blocking=blocking) for kind, seconds in SECONDS.items()}
    times: list[float] = []
    for _ in range(RUNS):
        began = time.perf_counter()
        await retrieve(view(subqueries), Runtime(context=Context()), sources=sources, profile=profile())
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def profile() -> Profile:
    """Return a profile whose users may ask all of these sources."""
    return Profile.model_validate(
        {
            "name": "slow",
            "product": "Anything",
            "languages": ["en"],
            "scope": {"description": {"en": "anything"}},
            "roles": {"user": {"sources": list(KINDS)}},
        }
    )


def view(subqueries: int) -> RetrieveView:
    """Return a turn with so many sub-queries, as retrieval sees it."""
    plan = SGRPlanResult(
        spam_score=0.0,
        spam_reason="-",
        user_intent="Learn something.",
        subqueries=[f"question {number}" for number in range(subqueries)],
        action_plan=["answer"],
        intent_confidence=0.9,
        action=SGRAction.NORMAL,
    )
    turn = {
        **fresh_turn(),
        "question": {"text": "question", "language": "en"},
        "sgr_plan": plan.model_dump(mode="json"),
        "request_type": RequestType.KNOWLEDGE_QA,
    }
    return cast("RetrieveView", {key: turn[key] for key in RetrieveView.__annotations__})
