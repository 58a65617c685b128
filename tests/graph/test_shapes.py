"""The fields of the state that Studio shows are those that turns write."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.fakes.drafting import FakeDrafter
from adapters.fakes.moderation import FakeModerator
from adapters.fakes.planning import FakePlanner
from adapters.fakes.sources import FakeSource
from contracts.context import Context
from contracts.enums import DraftKind, PlanTrace, Source
from contracts.ports import Draft
from contracts.state import fresh_turn
from graph.build import Ports, build_graph
from tests.support.turn import ANSWER, PROFILE, SAFE, begin_turn, passage, plan

OPEN = {"kept", "error", "model_calls"}
"""Keys that stay empty in these turns."""


def graph_of(draft: str) -> Any:
    """Return a graph whose drafter writes this text each time."""
    return build_graph(
        Ports(
            FakeModerator(SAFE),
            FakePlanner([plan()]),
            {Source.DOC: FakeSource(Source.DOC, [passage(1), passage(2)])},
            FakeDrafter([Draft(DraftKind.ANSWER, draft)] * 4),
        ),
        PROFILE,
    )


@pytest.mark.parametrize("draft", [ANSWER, "The kettle boils at 90 degrees [1]."], ids=["answered", "failed"])
async def test_every_field_that_a_turn_writes_is_in_the_schema_of_the_state(draft: str) -> None:
    """No field of a dictionary in the state is missing in what Studio shows of it, on either way a turn may end."""
    graph = graph_of(draft)
    properties = graph.get_output_jsonschema()["properties"]
    state = await graph.ainvoke(
        {"messages": begin_turn()["messages"]}, context=Context(plan_trace=PlanTrace.TOOL_RESULT)
    )
    filled: set[str] = set()
    for key in fresh_turn():
        values = state[key] if isinstance(state[key], list) else [state[key]]
        shape = properties[key].get("items", properties[key])
        for value in values:
            if isinstance(value, dict):
                assert value.keys() <= shape["properties"].keys(), key
                filled |= {key} if value else set()
    dictionaries = {key for key, value in properties.items() if "properties" in value.get("items", value)}
    assert dictionaries - OPEN <= filled


def test_the_schema_of_the_state_needs_no_definitions_elsewhere() -> None:
    """Each field stands where it is used: whoever reads the schema of one key needs no other part."""
    properties = graph_of(ANSWER).get_output_jsonschema()["properties"]
    assert {key for key in fresh_turn() if "$ref" in str(properties[key])} == set()
    assert "sgr_injected" in properties["synthetic"]["properties"]["additional_kwargs"]["properties"]
    assert "verdict" in properties["guardian"]["properties"]
    assert "snippet" in properties["evidence"]["items"]["properties"]
