"""A state with junk in it, as after an edit in Studio: the turn ends all the same."""

from __future__ import annotations

from typing import Any, get_type_hints

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from adapters.fakes.drafting import FakeDrafter
from adapters.fakes.hand_off import FakeSink
from adapters.fakes.moderation import FakeModerator
from adapters.fakes.planning import FakePlanner
from adapters.fakes.sources import FakeSource
from contracts.context import STEPS_PER_TURN, Context
from contracts.enums import DraftKind, Outcome, Source
from contracts.ports import Draft
from contracts.state import ChatState
from graph.build import Ports, build_graph
from tests.support.routes import NEVER_RIGHT, RIGHT
from tests.support.turn import PROFILE, SAFE, VIEWS, passage, plan

JUNK: tuple[Any, ...] = (None, "junk", 7, ["x"], {"x": 1}, [{"x": 1}])
BEFORE = {
    "sgr_plan": "moderation",
    "inject_synthetic": "sgr_plan",
    "retrieve": "inject_synthetic",
    "draft": "retrieve",
    "guardian_verify": "draft",
    "finalize": "guardian_verify",
    "safe_exit": "guardian_verify",
    "retry_bump": "guardian_verify",
}
"""Of each later node the one before it, as which a state is edited."""
KEYS = sorted(set(get_type_hints(ChatState)) - {"messages"})
WRITTEN: dict[str, Any] = {
    "safe_exit": [Draft(DraftKind.CLARIFICATION, "Which kettle is it?")],
    "retry_bump": NEVER_RIGHT,
}


@pytest.mark.parametrize("node", BEFORE)
async def test_a_state_with_junk_ends_with_a_way_out(node: str) -> None:
    """Whatever stands in any key that a node reads, the run ends in a result; an error says how to go on."""
    written = WRITTEN.get(node, [RIGHT])
    ports = Ports(
        moderator=FakeModerator(SAFE),
        planner=FakePlanner([plan()]),
        sources={Source.DOC: FakeSource(Source.DOC, [passage(1), passage(2)])},
        drafter=FakeDrafter(written),
        quoter=FakeDrafter([RIGHT]),
        sink=FakeSink(),
    )
    graph = build_graph(ports, PROFILE, checkpointer=InMemorySaver())
    start: Any = {"messages": [HumanMessage("When does the kettle boil?", id="q")]}
    stopped: Any = {"configurable": {"thread_id": "first"}}
    await graph.ainvoke(start, stopped, context=Context(), interrupt_before=[node])
    values = (await graph.aget_state(stopped)).values
    reads = [key for key in KEYS if key in get_type_hints(VIEWS[node])]
    assert reads
    for key in reads:
        for number, junk in enumerate(JUNK):
            config: Any = {
                "configurable": {"thread_id": f"{key}-{number}"},
                "recursion_limit": STEPS_PER_TURN,
            }
            await graph.aupdate_state(config, {**values, key: junk}, BEFORE[node])
            end = await graph.ainvoke(None, config, context=Context(max_retry=1))
            where = (node, key, junk)
            assert end.get("result"), where
            assert end["result"]["outcome"] in set(Outcome), where
            assert str(end["messages"][-1].content) == end["final_answer"], where
            if end["result"]["outcome"] == Outcome.ERROR:
                assert "kettle support" in end["final_answer"], where


@pytest.mark.parametrize("key", ["searches_wanted", "sgr_plan"])
async def test_a_text_in_the_place_of_queries_is_not_searched_for_letter_by_letter(key: str) -> None:
    """One of 50,000 letters would be as many searches; it is an error with a way out, and no source is asked."""
    source = FakeSource(Source.DOC, [passage(1), passage(2)])
    ports = Ports(FakeModerator(SAFE), FakePlanner([plan()]), {Source.DOC: source}, FakeDrafter([RIGHT]))
    graph = build_graph(ports, PROFILE, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": STEPS_PER_TURN}
    start: Any = {"messages": [HumanMessage("When does the kettle boil?", id="q")]}
    await graph.ainvoke(start, config, context=Context(), interrupt_before=["retrieve"])
    planned = (await graph.aget_state(config)).values["sgr_plan"]
    junk: Any = "x" * 50_000 if key == "searches_wanted" else {**planned, "subqueries": "x" * 50_000}
    await graph.aupdate_state(config, {key: junk}, "inject_synthetic")
    end = await graph.ainvoke(None, config, context=Context())
    assert (end["result"]["outcome"], source.requests) == (Outcome.ERROR, [])
    assert "kettle support" in end["final_answer"]
