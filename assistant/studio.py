"""What `langgraph.json` names: the graph for LangGraph Studio and `langgraph dev`, and its checkpointer."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

from langgraph.checkpoint.base import BaseCheckpointSaver

from adapters.checkpoints.sqlite import open_saver
from assistant.commands.index import index, profile_folders
from assistant.hand_offs import desk
from assistant.wiring import deployment, knowledge_base, ports
from contracts.errors import IndexBusy
from graph.build import Graph, build_graph


def make_graph() -> Graph:
    """Build the graph of the deployment that the environment names; the server brings the checkpointer.

    The profile's documents are indexed first: where nothing changed, that takes a moment.
    """
    deployed = deployment()
    if deployed.profile.knowledge:
        # Another process that is indexing them leaves the present index readable.
        with suppress(IndexBusy):
            index(deployed, profile_folders(deployed))
    chosen = ports(deployed, knowledge_base(deployed), desk=desk(deployed))
    return build_graph(chosen, deployed.profile, settings=deployed.context_type)


graph = make_graph()


@asynccontextmanager
async def checkpointer() -> AsyncGenerator[BaseCheckpointSaver[str]]:
    """Keep the dev server's threads in a file of their own: its run queue is not our turn runner."""
    deployed = deployment()
    async with AsyncExitStack() as opened:
        # The server begins and ends here: what was kept before is sent now.
        if (taking := desk(deployed)) is not None:
            await opened.enter_async_context(taking)
        yield await opened.enter_async_context(open_saver(deployed.folder / "studio.db"))
