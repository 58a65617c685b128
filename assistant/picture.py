"""The graph as a Mermaid picture, drawn by LangGraph from the graph that runs."""

from __future__ import annotations

from assistant.config.profiles import load_profile
from assistant.wiring.ports import idle_ports


def mermaid() -> str:
    """Return the graph as Mermaid. Error handlers are not drawn: all of them lead to `safe_exit`."""
    from graph.build import build_graph

    # Drawing asks nobody anything, so the graph is drawn without an index, too.
    graph = build_graph(idle_ports(), load_profile("handbook"))
    return graph.get_graph().draw_mermaid(with_styles=False)
