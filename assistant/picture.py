"""The graph as a picture: Mermaid, drawn by LangGraph from the graph that runs."""

from __future__ import annotations

from assistant.wiring import Deployment, knowledge_base, ports


def mermaid(deployed: Deployment) -> str:
    """Return the graph of a deployment as Mermaid, error handlers left out: they all lead to `safe_exit`."""
    from graph.build import build_graph

    graph = build_graph(ports(deployed, knowledge_base(deployed)), deployed.profile)
    drawn = graph.get_graph()
    handlers = [name for name in drawn.nodes if name.startswith("__error_handler__")]
    for name in handlers:
        drawn.remove_node(drawn.nodes[name])
    return drawn.draw_mermaid(with_styles=False)
