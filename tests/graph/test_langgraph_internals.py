"""What the graph takes of the inside of LangGraph and LangChain is still there, and does what is said of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from importlib.metadata import version
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_core.tracers.event_stream import _AstreamEventsCallbackHandler
from langchain_core.tracers.langchain import LangChainTracer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel._messages import StreamMessagesHandler
from typing_extensions import TypedDict

from graph.langgraph_internals import filter_surrounding, hears_models, is_part, recast


class Count(TypedDict):
    """A state of one number."""

    number: int


def mark(chunk: Any) -> Any:
    """Put what a chunk tells under a key of ours; before it stand the graph's place and the mode."""
    *place, payload = chunk
    return (*place, {"marked": payload})


class Louder(CompiledStateGraph[Count, Any, Any, Any]):
    """A graph that says whether it is streamed by another, and tells that one marked chunks."""

    parts: list[bool]

    async def astream(self, *arguments: Any, **options: Any) -> AsyncIterator[Any]:
        given, config = arguments
        known: RunnableConfig = ensure_config(config)
        self.parts.append(is_part(known))
        async for chunk in super().astream(given, filter_surrounding(known, mark), **options):
            yield chunk


def counting(*nodes: tuple[str, Any]) -> CompiledStateGraph[Any, Any, Any, Any]:
    graph = StateGraph(Count)
    for (name, node), before in zip(nodes, [START, *(name for name, _ in nodes)], strict=False):
        graph.add_node(name, node)
        graph.add_edge(before, name)
    graph.add_edge(nodes[-1][0], END)
    return graph.compile()


async def add_one(state: Count) -> Count:
    return {"number": state["number"] + 1}


def test_the_versions_are_those_that_were_tried() -> None:
    """A new minor version is tried by hand with the graph inside another one before it is named here."""
    assert version("langgraph").rpartition(".")[0] == "1.2"
    assert version("langchain-core").rpartition(".")[0] == "1.7"


async def test_a_recast_graph_knows_its_surrounding_stream_and_marks_what_goes_there() -> None:
    """Run alone it is no part of anything; inside another graph that is streamed, it is, and that one gets marked chunks."""
    inner = recast(counting(("add", add_one)), Louder)
    inner.parts = []
    assert type(inner) is Louder
    assert await inner.ainvoke({"number": 1}) == {"number": 2}
    told: Any = [chunk async for chunk in counting(("inner", inner)).astream({"number": 1}, subgraphs=True)]
    assert inner.parts == [False, True]
    (within, marked), last = told
    assert within
    assert marked == {"marked": {"add": {"number": 2}}}
    assert last == ((), {"inner": {"number": 2}})


def test_of_listeners_those_that_hear_models_are_told_apart() -> None:
    """The handler of `astream_events` hears what models say; LangGraph's for messages and a tracer need not be taken out."""
    assert hears_models(_AstreamEventsCallbackHandler())
    assert not hears_models(StreamMessagesHandler(lambda _: None, subgraphs=True))
    assert not hears_models(LangChainTracer())
