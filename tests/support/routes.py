"""The graph over fakes, and the way of one turn through it."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import HumanMessage

from adapters.fakes.drafting import FakeDrafter
from adapters.fakes.moderation import FakeModerator
from adapters.fakes.planning import FakePlanner
from adapters.fakes.sources import FakeSource
from contracts.context import STEPS_PER_TURN, Context
from contracts.enums import DraftKind, Source
from contracts.ports import Draft
from graph.build import Graph, Ports, build_graph
from tests.support.turn import ANSWER, PROFILE, SAFE, passage, plan

NEVER_RIGHT = [Draft(DraftKind.ANSWER, f"The kettle boils at {900 + n} degrees [1].") for n in range(6)]
RIGHT = Draft(DraftKind.ANSWER, ANSWER)


def build_fake_graph(
    *, moderated: Any = SAFE, planned: Any = None, written: Any = RIGHT, found: Any = None, saver: Any = None
) -> Graph:
    """Return the graph over fakes that say, find and write this; a draft that passes, unless another is given."""
    ports = Ports(
        moderator=FakeModerator(moderated),
        planner=FakePlanner([planned or plan()]),
        sources={Source.DOC: FakeSource(Source.DOC, [passage(1), passage(2)] if found is None else found)},
        drafter=FakeDrafter([written] if isinstance(written, Draft) else written),
    )
    return build_graph(ports, PROFILE, checkpointer=saver)


async def walk(graph: Graph, text: str = "When does the kettle boil?", **context: Any) -> tuple[list[str], Any]:
    """Return the nodes of one turn in order, and the values that it ends in."""
    path: list[str] = []
    values: Any = None
    config: Any = {"recursion_limit": STEPS_PER_TURN}
    start: Any = {"messages": [HumanMessage(text, id="q")]}
    async for mode, part in graph.astream(start, config, context=Context(**context), stream_mode=["updates", "values"]):
        if mode == "updates":
            path += [name for name in part if not name.startswith("__error_handler__")]
        else:
            values = part
    return path, values
