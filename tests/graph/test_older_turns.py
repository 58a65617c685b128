"""Turns that an older version of the product began."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver

from adapters.fakes.drafting import FakeDrafter
from adapters.fakes.moderation import FakeModerator
from adapters.fakes.planning import FakePlanner
from adapters.fakes.sources import FakeSource
from contracts.context import Context
from contracts.enums import DraftKind, Outcome, Source
from contracts.errors import InputError
from contracts.ports import Draft
from contracts.state import fresh_turn
from graph.build import Ports, build_graph
from tests.support.turn import ANSWER, PROFILE, SAFE, passage, plan

NEEDED = {
    "question",
    "sgr_plan",
    "request_type",
    "track",
    "architect_spec",
    "synthetic",
    "moderation",
    "action",
    "flow",
}
"""What a node cannot do without: the work of the nodes before it."""


@pytest.mark.parametrize("key", sorted(set(fresh_turn()) - NEEDED))
async def test_a_half_finished_turn_without_a_newer_key_is_finished(key: str) -> None:
    """A turn that stopped before searching, whose checkpoint lacks a key that was added since, ends in an answer."""
    saver = InMemorySaver()
    graph = build_graph(
        Ports(
            moderator=FakeModerator(SAFE),
            planner=FakePlanner([plan()]),
            sources={Source.DOC: FakeSource(Source.DOC, [passage(1), passage(2)])},
            drafter=FakeDrafter([Draft(DraftKind.ANSWER, ANSWER)]),
        ),
        PROFILE,
        checkpointer=saver,
    )
    place: Any = {"configurable": {"thread_id": "old"}}
    asked = {"messages": [HumanMessage("When does the kettle boil?", id="q")]}
    await graph.ainvoke(asked, place, context=Context(), interrupt_before=["retrieve"])
    stored = await saver.aget_tuple(place)
    assert stored is not None
    older: Any = {**stored.checkpoint, "id": empty_checkpoint()["id"]}
    older["channel_values"] = {
        name: value for name, value in stored.checkpoint["channel_values"].items() if name != key
    }
    older["channel_versions"] = {n: v for n, v in stored.checkpoint["channel_versions"].items() if n != key}
    await saver.aput(
        place | {"configurable": {**place["configurable"], "checkpoint_ns": ""}}, older, stored.metadata, {}
    )
    state = await graph.ainvoke(None, place, context=Context())
    assert state["result"]["outcome"] == Outcome.ANSWERED, state["result"]["block_reason"]


async def test_a_fork_from_a_state_that_is_gone_ends_in_a_sentence() -> None:
    """Steps of earlier turns are dropped: whoever goes on from one without a message is told what to send instead."""
    graph = build_graph(
        Ports(FakeModerator(SAFE), FakePlanner([plan()]), {}, FakeDrafter([])), PROFILE, checkpointer=InMemorySaver()
    )
    gone: Any = {"configurable": {"thread_id": "old", "checkpoint_id": empty_checkpoint()["id"]}}
    with pytest.raises(InputError, match=r"no state is stored under this checkpoint\. Send a message"):
        await graph.ainvoke(None, gone)
