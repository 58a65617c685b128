"""What `langgraph.json` names: the graph for LangGraph Studio and `langgraph dev`, and its checkpointer."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.graph import Graph as Drawing
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph

from adapters.checkpoints.sqlite import open_saver
from assistant.commands.index import index, profile_folders
from assistant.wiring import deployment, knowledge_base, ports
from contracts.context import Context
from contracts.errors import IndexBusy
from contracts.state import ChatState
from graph.build import Graph, build_graph


class _Drawn(CompiledStateGraph[ChatState, Context, Any, Any]):
    """The graph, drawn without its error handlers: LangGraph gives them no edge, and all lead to `safe_exit`."""

    async def aget_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Drawing:
        drawing = await super().aget_graph(config, xray=xray)
        for node in [node for name, node in drawing.nodes.items() if name.startswith("__error_handler__")]:
            drawing.remove_node(node)
        return drawing


def make_graph() -> Graph:
    """Build the graph of the deployment that the environment names; the server brings the checkpointer.

    The profile's documents are indexed first: where nothing changed, that takes a moment.
    """
    deployed = deployment()
    if deployed.profile.knowledge:
        # Another process that is indexing them leaves the present index readable.
        with suppress(IndexBusy):
            index(deployed, profile_folders(deployed))
    built = build_graph(ports(deployed, knowledge_base(deployed)), deployed.profile, settings=deployed.context_type)
    built.__class__ = _Drawn  # nothing but how it is drawn
    return built


graph = make_graph()


@asynccontextmanager
async def checkpointer() -> AsyncGenerator[BaseCheckpointSaver[str]]:
    """Keep the dev server's threads in a file of their own: its run queue is not our turn runner."""
    async with open_saver(deployment().folder / "studio.db") as saver:
        yield saver
