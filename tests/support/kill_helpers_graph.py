"""A small graph of four nodes, each doing a part of a turn: what the turn runner wants of any graph, and no more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime
from pydantic import BaseModel
from typing_extensions import TypedDict

from tests.support.kill_helpers import log_node, log_of

NODES = ("hear", "search", "write", "check")
"""In the order they run."""


class Settings(BaseModel):
    """Settings of one run."""

    greeting: str = "echo"


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    question: str
    found: list[str]
    draft: str
    result: dict[str, Any]


async def hear(state: State) -> dict:
    questions = [message for message in state["messages"] if isinstance(message, HumanMessage)]
    return {"question": questions[-1].text, "found": [], "draft": "", "result": {}}


async def search(state: State) -> dict:
    return {"found": state["question"].split()}


async def write(state: State, runtime: Runtime[Settings]) -> dict:
    settings = runtime.context or Settings()
    return {"draft": " ".join([f"{settings.greeting}:", *state["found"]])}


async def check(state: State) -> dict:
    return {
        "messages": [AIMessage(state["draft"])],
        "result": {
            "answer_text": state["draft"],
            "outcome": "answered",
            "question": state["question"],
            "diagnostics": {"retries": 0},
        },
    }


def slow_graph(data: Path, saver: Any, pause_s: float = 0.25, trouble: Callable[[str], None] | None = None) -> Any:
    """Return the graph, with a pause inside each node, and then a call that may raise."""
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(State, context_schema=Settings)
    for name, node in zip(NODES, (hear, search, write, check), strict=True):
        builder.add_node(name, log_node(name, node, log_of(data), pause_s, trouble))
    for before, after in zip((START, *NODES), (*NODES, END), strict=True):
        builder.add_edge(before, after)
    return builder.compile(checkpointer=saver)


def quick_graph(data: Path, saver: Any) -> Any:
    """Return the graph without its pauses."""
    return slow_graph(data, saver, pause_s=0.0)
