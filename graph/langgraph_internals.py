"""The internals of LangGraph and LangChain that the graph uses, because there is no public API.

`tests/graph/test_langgraph_internals.py` names the tested versions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableConfig
from langchain_core.tracers._streaming import _StreamingCallbackHandler
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel._messages import StreamMessagesHandler
from langgraph.pregel.protocol import StreamProtocol

_Compiled = TypeVar("_Compiled", bound=CompiledStateGraph[Any, Any, Any, Any])

_STREAM: Final = "__pregel_stream"
"""Under this key of its settings a graph finds the stream of the graph that it is a part of, and writes into it."""


def recast(built: CompiledStateGraph[Any, Any, Any, Any], kind: type[_Compiled]) -> _Compiled:
    """Return a compiled graph as an instance of a subclass: `StateGraph.compile` only builds its own class."""
    built.__class__ = kind
    assert isinstance(built, kind)  # noqa: S101  # for the type checker
    return built


def is_part(config: RunnableConfig) -> bool:
    """Whether a run with these settings is streamed by a graph around it."""
    return _STREAM in config.get("configurable", {})


def filter_surrounding(config: RunnableConfig, change: Callable[[Any], Any]) -> RunnableConfig:
    """Return the settings of a run that changes the chunks streamed to a surrounding graph, if there is one."""
    settings = config.get("configurable", {})
    stream = settings.get(_STREAM)
    if stream is None:
        return config

    def tell(chunk: Any) -> None:
        stream(change(chunk))

    return {**config, "configurable": {**settings, _STREAM: StreamProtocol(tell, stream.modes)}}


def hears_models(handler: BaseCallbackHandler) -> bool:
    """Whether a listener of a surrounding run receives the requests and replies of models.

    The listeners of `astream_events` and `astream_log` do. LangGraph's own listener for messages is a subclass of the
    same class and does not: a tag hides model calls from it.
    """
    return isinstance(handler, _StreamingCallbackHandler) and not isinstance(handler, StreamMessagesHandler)
