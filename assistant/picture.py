"""The graph as a picture: Mermaid, drawn by LangGraph from the graph that runs."""

from __future__ import annotations

from assistant.settings import load_profile


def mermaid() -> str:
    """Return the graph as Mermaid. Error handlers are not drawn: all of them lead to `safe_exit`."""
    from adapters.drafting.extractive import ExtractiveDrafter
    from adapters.fakes.planning import FakePlanner
    from adapters.moderation.rules import RuleModerator
    from graph.build import Ports, build_graph

    # Drawing asks nobody anything, so the graph is drawn without an index, too.
    ports = Ports(moderator=RuleModerator(), planner=FakePlanner([]), sources={}, drafter=ExtractiveDrafter())
    graph = build_graph(ports, load_profile("handbook"))
    return graph.get_graph().draw_mermaid(with_styles=False)
