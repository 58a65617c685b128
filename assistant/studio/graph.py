"""The graph that `langgraph.json` names, for LangGraph Studio and `langgraph dev`."""

from __future__ import annotations

import atexit
from contextlib import suppress

from assistant.cli.commands.index import index
from assistant.deployment import deployment
from assistant.indexing import profile_folders
from assistant.studio.progress import stage_progress
from assistant.studio.views import ReadByRole
from assistant.wiring.background import Filling
from assistant.wiring.documents import knowledge_base
from assistant.wiring.hand_offs import hand_off_sink
from assistant.wiring.ports import ports
from contracts.errors import IndexBusy
from graph.build import Graph, build_graph
from graph.langgraph_internals import recast


def make_graph() -> Graph:
    """Build the graph of the deployment that the environment names; the server provides the checkpointer.

    The profile's documents are indexed first; if nothing changed, that takes a moment. Missing vectors are made while
    turns run.
    """
    deployed = deployment()
    if deployed.profile.knowledge:
        # Another process that is indexing them leaves the present index readable.
        with suppress(IndexBusy):
            index(deployed, profile_folders(deployed), vectors=False)
    filling = Filling(deployed)
    filling.start()
    atexit.register(filling.stop)
    chosen = ports(deployed, knowledge_base(deployed), sink=hand_off_sink(deployed))
    progress = stage_progress(deployed.profile)
    built = build_graph(chosen, deployed.profile, settings=deployed.context_type, progress=progress)
    return recast(built, ReadByRole)


graph = make_graph()
