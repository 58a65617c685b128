"""The state and the views on it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from typing import Any, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage

import contracts.views
from contracts.shapes import Shape
from contracts.state import MESSAGE_WINDOW, THREAD_KEYS, ChatState, add_to_window, fresh_turn, said_before

CHANNELS = get_type_hints(ChatState)
VIEWS = {
    name: view
    for name, view in inspect.getmembers(contracts.views, inspect.isclass)
    if view.__module__ == contracts.views.__name__
}


def human(identifier: str, text: str = "?") -> HumanMessage:
    return HumanMessage(text, id=identifier)


# ----------------------------------------------------------------------------------------------------------- turns


def test_a_fresh_turn_sets_every_key_but_those_of_the_thread() -> None:
    """Nothing of an earlier turn can be left over: each per-turn key has a first value."""
    assert set(fresh_turn()) == set(CHANNELS) - THREAD_KEYS
    assert set(CHANNELS) >= THREAD_KEYS


def test_the_first_values_are_empty_and_of_their_channels_types() -> None:
    """A key begins as the empty value of its type, and is plain data."""
    first = fresh_turn()
    for key, value in first.items():
        assert value == (get_origin(CHANNELS[key]) or CHANNELS[key])(), key
        assert type(value) is (get_origin(CHANNELS[key]) or CHANNELS[key]), key
    assert json.loads(json.dumps(first)) == first


def test_two_turns_share_nothing() -> None:
    """Every call makes new lists and dictionaries, so that no turn can write into another."""
    one, other = fresh_turn(), fresh_turn()
    shared = [key for key, value in one.items() if isinstance(value, list | dict) and value is other[key]]
    assert shared == []
    containers = [id(value) for value in one.values() if isinstance(value, list | dict)]
    assert len(containers) == len(set(containers))


def test_only_messages_have_a_reducer() -> None:
    """Lists of a turn are last-value channels: a reducer could not be reset."""
    hints = get_type_hints(ChatState, include_extras=True)
    marks = {key: hint.__metadata__ for key, hint in hints.items() if hasattr(hint, "__metadata__")}
    assert {key for key, mark in marks.items() if any(not isinstance(one, Shape) for one in mark)} == {"messages"}
    assert hints["messages"].__metadata__ == (add_to_window,)


# ----------------------------------------------------------------------------------------------------------- views


def test_there_is_a_view_for_every_node() -> None:
    """The nine nodes read by eight views, for both ends of a turn share one; a turn begins with messages alone."""
    assert set(VIEWS) == {
        "TurnInput",
        "ModerationView",
        "PlanView",
        "SyntheticView",
        "RetrieveView",
        "DraftView",
        "GuardianView",
        "RetryView",
        "FinalView",
    }


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_reads_channels_of_the_state_with_their_types(name: str) -> None:
    """A view key that is no state key would silently become a channel, and one of another type would lie."""
    keys = get_type_hints(VIEWS[name])
    assert keys
    assert {key: hint for key, hint in keys.items() if CHANNELS.get(key) != hint} == {}
    # `ReadOnly[Annotated[T, reducer]]` drops the reducer without a word, so a view has no marks at all.
    marked = get_type_hints(VIEWS[name], include_extras=True)
    assert [key for key, hint in marked.items() if hasattr(hint, "__metadata__")] == []


def test_whoever_builds_the_result_can_read_all_that_a_turn_wrote() -> None:
    """The last nodes see every channel but the ones that they write and those that no result shows."""
    unread = set(CHANNELS) - set(get_type_hints(contracts.views.FinalView))
    assert unread == {
        "past_searches",
        "widened",
        "nothing_new",
        "drafted_from",
        "searches_wanted",
        "searches_made",
        "quoting",
        "quoted",
        "kept",
        "final_answer",
        "result",
    }


# --------------------------------------------------------------------------------------------------------- messages


def test_a_message_of_a_known_id_replaces_the_earlier_one_in_its_place() -> None:
    """A step that runs again does not double what it said."""
    window = add_to_window([human("1"), human("2"), human("3")], [human("2", "again")])
    assert [(message.id, message.content) for message in window] == [("1", "?"), ("2", "again"), ("3", "?")]


def test_a_message_can_be_taken_back() -> None:
    """Removal by id works as in LangGraph."""
    removal: list[Any] = [RemoveMessage(id="1")]
    assert [m.id for m in add_to_window([human("1"), human("2")], removal)] == ["2"]


def test_a_message_without_an_id_gets_one() -> None:
    """Without an id, a message could not be told from a repeat."""
    window = add_to_window([], [HumanMessage("?"), AIMessage("!")])
    assert all(message.id for message in window)
    assert window[0].id != window[1].id


@pytest.mark.parametrize("one", ["?", HumanMessage("?"), {"role": "user", "content": "?"}, ("user", "?")], ids=str)
def test_a_single_message_is_taken_in_any_form(one: Any) -> None:
    """A bare text, a message, a dictionary or a pair is one message of the user, not taken apart."""
    window = add_to_window([human("1")], one)
    assert [(type(message), message.content) for message in window] == [(HumanMessage, "?")] * 2


def test_the_window_keeps_the_last_twenty() -> None:
    """Of twenty-one messages the oldest goes; twenty stay."""
    twenty: list[AnyMessage] = [human(str(n)) for n in range(20)]
    assert MESSAGE_WINDOW == 20
    assert add_to_window(twenty, []) == twenty
    assert [m.id for m in add_to_window(twenty, [human("20")])] == [str(n) for n in range(1, 21)]


IDS = st.integers(0, 30).map(str)


def _batches(batches: list[list[str]]) -> Iterator[list[AnyMessage]]:
    for turn, batch in enumerate(batches):
        yield [human(identifier, str(turn)) for identifier in batch]


@given(st.lists(st.lists(IDS, unique=True, max_size=8), max_size=12))
def test_the_window_never_grows_past_twenty_nor_holds_an_id_twice(batches: list[list[str]]) -> None:
    """Whatever is added, the window holds at most twenty different messages, with the newest words of each."""
    window: list[AnyMessage] = []
    for batch in _batches(batches):
        before = [*window]
        window = add_to_window(window, batch)
        ids = [message.id for message in window]
        assert len(ids) == len(set(ids)) <= MESSAGE_WINDOW
        assert {m.id: m.content for m in window}.items() >= {m.id: m.content for m in batch if m.id in ids}.items()
        kept = [m.id for m in before if m.id in ids]
        assert ids[: len(kept)] == kept


def test_the_reducer_leaves_its_arguments_alone() -> None:
    """The window that was there is not changed by adding to it."""
    left: list[AnyMessage] = [human("1")]
    right: list[Any] = [human("1", "again"), human("2")]
    add_to_window(left, right)
    assert [m.content for m in left] == ["?"]
    assert [m.id for m in right] == ["1", "2"]


def test_what_was_never_answered_is_not_said_before() -> None:
    """A stopped question is left out; one that another assistant answered, in a graph around ours, is not."""

    def ours(turn_id: str) -> AIMessage:
        return AIMessage(f"answer to {turn_id}", additional_kwargs={"turn_id": turn_id, "outcome": "answered"})

    messages = [
        HumanMessage("cut off, with its answer", id="a"),
        AIMessage("theirs"),
        HumanMessage("stopped", id="b"),
        HumanMessage("taken up", id="c"),
        ours("c"),
        HumanMessage("stopped, too", id="d"),
        HumanMessage("now", id="e"),
    ]
    said = ["cut off, with its answer", "theirs", "taken up", "answer to c"]
    assert [exchange.text for exchange in said_before(messages, "e")] == said
    asked = [exchange.text for exchange in said_before(messages, "e", with_unanswered=True) if exchange.role == "user"]
    assert asked == ["cut off, with its answer", "stopped", "taken up", "stopped, too"]
