from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langgraph.runtime import Runtime

from adapters.fakes.sources import FakeSource
from contracts.calls import ModelCall
from contracts.context import Context
from contracts.enums import CallPurpose, RequestType, RequiredAction, Source
from contracts.errors import SourceUnavailable
from contracts.evidence import EvidenceItem, Fate, PassageFate, PassageTrace, QueryTrace
from contracts.ports import EvidenceSource, SearchReply, SearchRequest
from contracts.state import fresh_turn
from nodes.retrieve import retrieve
from tests.support.turn import PROFILE

CALL = ModelCall(purpose=CallPurpose.RERANK, model="m", server="s:1", ms=2.0)


def item(ref: str, confidence: float = 0.9, source: Source = Source.DOC, size: int = 100) -> EvidenceItem:
    return EvidenceItem(source=source, ref=ref, snippet=f"{ref} " * (size // 4), confidence=confidence)


class Calling(FakeSource):
    """A source that asks a ranker; it copies nothing, and leaves one passage out itself."""

    async def search(self, request: SearchRequest) -> SearchReply:
        reply = await super().search(request)
        rows = [*reply.trace.passages, PassageTrace(ref="x").meets(PassageFate(Fate.COPY, "a1"))]
        return SearchReply(reply.items, reply.trace.having(reply.items, request.threshold, rows), (CALL,))


async def searched(
    sources: Sequence[EvidenceSource], before: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    state: Any = {
        **fresh_turn(),
        "question": {"text": "one", "language": "en"},
        "sgr_plan": {"subqueries": ["one"]},
        "request_type": str(RequestType.HOWTO_POLICY),
        **(before or {}),
        **more,
    }
    context = Context(top_k=2, context_budget=500)
    by_kind = {source.kind: source for source in sources}
    return {**state, **await retrieve(state, Runtime(context=context), sources=by_kind, profile=PROFILE)}


def fates(state: dict[str, Any], attempt: int, source: Source) -> dict[str, str]:
    traces = [trace for trace in state["query_traces"] if (trace["attempt"], trace["source"]) == (attempt, source)]
    return {row["ref"]: row["fate"] for trace in traces for row in trace["passages"]}


def kept(state: dict[str, Any]) -> list[str]:
    rows = [row for trace in state["query_traces"] for row in trace["passages"]]
    return sorted(row["ref"] for row in rows if row["fate"] in ("kept", "shortened"))


async def test_a_retry_tells_what_it_gives_up_in_the_trace_of_the_search_that_found_it() -> None:
    """After documents are dropped, those that were kept are given up, and what is kept in all traces is the evidence."""
    doc = FakeSource(Source.DOC, [item("a1"), item("a2", 0.8)])
    policy = FakeSource(Source.POLICY, [item("p1", 0.85, Source.POLICY), item("p2", 0.3, Source.POLICY)])
    first = await searched([doc, policy])
    assert fates(first, 0, Source.DOC) == {"a1": "kept", "a2": "over_limit"}
    assert fates(first, 0, Source.POLICY) == {"p1": "kept", "p2": "below_threshold"}
    again = {"guardian": {"required_actions": [str(RequiredAction.REMOVE_DOC_EVIDENCE)]}, "retry_count": 1}
    second = await searched([doc, policy], first, **again)
    assert fates(second, 0, Source.DOC) == {"a1": "given_up", "a2": "over_limit"}
    assert kept(second) == sorted(one["ref"] for one in second["evidence"]) == ["p1"]


async def test_what_a_retry_finds_again_counts_once() -> None:
    """A passage that both attempts found is kept in one row, and repeated in the other."""
    doc = FakeSource(Source.DOC, [item("a1"), item("a2", 0.8)])
    first = await searched([doc])
    again = {"guardian": {"required_actions": [str(RequiredAction.RETRIEVE_MORE)]}, "retry_count": 1}
    second = await searched([doc], first, **again)
    assert sorted([fates(second, n, Source.DOC)["a1"] for n in (0, 1)]) == ["kept", "repeated"]
    assert kept(second) == sorted(one["ref"] for one in second["evidence"])


async def test_a_shortened_passage_is_told_with_its_size() -> None:
    """The row has the characters that are left of it, as the evidence has."""
    state = await searched([FakeSource(Source.DOC, [item("a1", size=900), item("a2", 0.8, size=900)])])
    (trace,) = state["query_traces"]
    sizes = [row["chars"] for row in trace["passages"] if row["fate"] == "shortened"]
    assert sizes == [len(one["snippet"]) for one in state["evidence"]]
    assert sum(sizes) <= 500


async def test_requests_to_rankers_go_on_the_turns_record() -> None:
    """Those of a source that answered, and those of one that could not be asked in the end."""
    earlier: dict[str, Any] = {"model_calls": [{"purpose": "plan", "model": "m", "server": "s"}]}
    state = await searched([Calling(Source.DOC, [item("a1")])], earlier)
    assert [call["purpose"] for call in state["model_calls"]] == ["plan", "rerank"]
    assert (state["query_traces"][0]["found"], state["query_traces"][0]["folded"]) == (2, 1)
    broken = FakeSource(Source.DOC, SourceUnavailable("The index is gone.", calls=(CALL,)))
    state = await searched([broken])
    assert [call["purpose"] for call in state["model_calls"]] == ["rerank"]


async def test_a_trace_survives_the_state() -> None:
    """Written to the state and read back, a trace is the same, though it leaves out what has nothing to say."""
    state = await searched([Calling(Source.DOC, [item("a1"), item("a2", 0.0)])])
    (trace,) = state["query_traces"]
    assert QueryTrace.model_validate(trace).model_dump(mode="json") == trace
    assert QueryTrace.model_validate(json.loads(json.dumps(trace))).model_dump(mode="json") == trace
    assert all("similarity" not in row for row in trace["passages"])
    assert trace["passages"][1]["confidence"] == 0.0
