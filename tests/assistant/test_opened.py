"""From Python: turns that are followed event by event, a deployment that stays open, and its graph in another graph."""

from __future__ import annotations

import asyncio
import gc
import threading
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from assistant import TurnEvent, ask_structured, astream, open_assistant, open_graph, stream
from assistant.deployment import deployment
from assistant.turns.events import TurnEnded
from assistant.wiring.turns import open_store
from contracts.errors import InputError, NoIndex
from graph.streaming import WITHHELD
from tests.support.cli_helpers import ANSWER, QUESTION, Desk

VAGUE = "It does not work"
"""A message that is asked back about."""


@pytest.fixture
def served(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A desk that this process is a deployment of, as its environment says."""
    for name, value in desk.environment.items():
        if name.startswith("GUARDIAN_"):
            monkeypatch.setenv(name, value)
    return desk


def is_whole(events: list[TurnEvent]) -> bool:
    kinds = [event.kind for event in events]
    inner = [kind for kind in kinds if not kind.startswith(("node", "turn"))]
    return (kinds[0], kinds[-1], inner) == (
        "turn_started",
        "turn_ended",
        ["understood", "searched", "drafted", "judged"],
    )


async def half_finished(desk: Desk) -> list[bool]:
    """Return, of each conversation on record, whether its last turn has no result."""
    async with open_store(deployment(environment=desk.environment)) as store:
        return [summary.unfinished for summary in await store.list_threads()]


@pytest.fixture
def no_thread_is_left() -> Any:
    """Fail where a thread of a database, or any other that was not there before, outlives the test."""
    before = set(threading.enumerate())
    yield
    gc.collect()
    left = [thread for thread in threading.enumerate() if thread not in before and not thread.daemon]
    others = [thread for thread in left if not thread.name.startswith("asyncio_")]
    for thread in others:
        thread.join(10)  # on a busy machine one that was told to end may still be ending
    assert [thread.name for thread in others if thread.is_alive()] == []


def test_stream_yields_typed_events_and_the_result_last(served: Desk, no_thread_is_left: None) -> None:
    """From the start of the turn to its result, which a repeated `ask_structured` gives, too."""
    events = list(stream(QUESTION, thread="t", turn_id="1"))
    assert is_whole(events)
    assert isinstance(events[-1], TurnEnded)
    assert ANSWER in events[-1].result.answer_text
    assert ask_structured(QUESTION, thread="t", turn_id="1") == events[-1].result


async def test_astream_does_the_same_inside_a_loop(served: Desk) -> None:
    """The same events, and the result without what each query brought where that is not wanted."""
    events = [event async for event in astream(QUESTION, include_per_query_trace=False)]
    assert is_whole(events)
    assert isinstance(events[-1], TurnEnded)
    assert events[-1].result.per_query_results == []


def test_breaking_out_of_stream_leaves_the_turn_half_finished(served: Desk, no_thread_is_left: None) -> None:
    """The turn is cancelled at once, its question is kept, and the conversation goes on where it was."""
    for event in stream(QUESTION, thread="t", turn_id="1"):
        if event.kind == "understood":
            break
    gc.collect()
    assert asyncio.run(half_finished(served)) == [True]
    assert ANSWER in ask_structured(QUESTION, thread="t", turn_id="1").answer_text
    assert asyncio.run(half_finished(served)) == [False]


@pytest.mark.parametrize("closes", [True, False], ids=["closed", "left to the loop"])
def test_breaking_out_of_astream_leaves_the_turn_half_finished(
    closes: bool, served: Desk, no_thread_is_left: None
) -> None:
    """Whether the generator is closed by hand or by the event loop; no task and no thread runs on."""

    async def first() -> int:
        events = astream(QUESTION, thread="t")
        async for event in events:
            if event.kind == "understood":
                break
        if closes:
            await events.aclose()
            return len(asyncio.all_tasks())
        return 1

    assert asyncio.run(first()) == 1
    assert asyncio.run(half_finished(served)) == [True]


async def test_a_cancelled_reader_cancels_the_turn(served: Desk) -> None:
    """A task that loops over the events and is cancelled ends the turn, which stays half-finished."""
    begun = asyncio.Event()

    async def read() -> None:
        async with aclosing(astream(QUESTION, thread="t")) as events:
            async for event in events:
                if event.kind == "understood":
                    begun.set()
                    await asyncio.sleep(60)

    task = asyncio.create_task(read())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await half_finished(served) == [True]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"settings": {"no_such_setting": 1}}, "no_such_setting"),
        ({"settings": {"role": "nobody"}}, "nobody"),
        ({"language": "de"}, "language"),
        ({"thread": ""}, "0 characters"),
        ({"turn_id": "a\nb"}, "cannot be shown"),
    ],
    ids=str,
)
def test_a_wrong_option_of_a_stream_is_named(options: dict[str, Any], named: str, served: Desk) -> None:
    """The first event is not told, but the error raised that `ask` raises, and no turn is on record."""
    with pytest.raises(InputError) as caught:
        list(stream(QUESTION, **options))
    assert named in caught.value.message
    assert asyncio.run(half_finished(served)) == []


def test_a_stream_without_an_index_says_how_to_make_one(empty: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """NoIndex, with the command."""
    monkeypatch.setenv("GUARDIAN_DATA_DIR", str(empty.data))
    with pytest.raises(NoIndex, match="shelf"):
        list(stream(QUESTION, profile=str(empty.profile)))


async def test_an_open_assistant_answers_many_questions(served: Desk) -> None:
    """At the same time, each in its conversation, with the options of the functions; and it searches."""
    async with open_assistant() as desk:
        answers = await asyncio.gather(*(desk.ask(QUESTION, thread=f"t{number}") for number in range(4)))
        lean = await desk.ask_structured(
            QUESTION, include_per_query_trace=False, settings={"role": "operator", "top_k": 3}
        )
        events = [event async for event in desk.stream(QUESTION)]
        found = await desk.search("restore the catalogue", top_k=2)
    assert all(ANSWER in answer for answer in answers)
    assert (lean.outcome, lean.per_query_results) == ("answered", [])
    assert is_whole(events)
    assert found[0].title == "Restoring a backup"
    assert len(await half_finished(served)) == 6


# ----------------------------------------------------------------------------------------- a part of another graph


class DeskState(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    result: dict[str, Any]
    log: str


def around(node: Any, saver: InMemorySaver | None = None) -> Any:
    """Return somebody else's graph with a state of its own, in which ours is the second of two nodes."""
    graph: Any = StateGraph(DeskState)
    graph.add_node("receive", lambda _: {"log": "received"})
    graph.add_node("guardian", node)
    graph.add_edge(START, "receive")
    graph.add_edge("receive", "guardian")
    return graph.compile(checkpointer=saver)


def said(text: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


PLACE: RunnableConfig = {"configurable": {"thread_id": "theirs"}}


async def test_the_graph_is_a_node_of_another_that_shares_messages(served: Desk) -> None:
    """The other graph gets the answer as a message and the result, keeps the conversation, and ours keeps nothing."""
    async with open_graph() as guardian:
        graph = around(guardian, InMemorySaver())
        await graph.ainvoke(said(VAGUE), PLACE)
        state = await graph.ainvoke(said("I mean restoring the catalogue from a backup"), PLACE)
    assert [type(message) for message in state["messages"]] == [HumanMessage, AIMessage] * 2
    assert ANSWER in state["messages"][-1].text
    assert state["result"]["outcome"] == "answered"
    assert state["log"] == "received"
    assert await half_finished(served) == []


async def test_a_graph_around_may_have_run_settings_of_its_own(served: Desk) -> None:
    """They are of another kind, so that ours runs with those of its deployment."""

    @dataclass
    class Tenant:
        name: str = "north"

    outer: Any = StateGraph(DeskState, context_schema=Tenant)
    async with open_graph() as guardian:
        outer.add_node("guardian", guardian)
        outer.add_edge(START, "guardian")
        state = await outer.compile().ainvoke(said(QUESTION), context=Tenant())
    assert state["result"]["outcome"] == "answered"


async def test_a_graph_around_streams_the_turn_but_no_draft(served: Desk) -> None:
    """With `subgraphs=True` the nodes of the turn are told, and an answer only once it has passed."""
    async with open_graph() as guardian:
        seen = [
            chunk async for chunk in around(guardian).astream(said(QUESTION), stream_mode="updates", subgraphs=True)
        ]
    nodes = [name for place, update in seen if place for name in update]
    assert nodes == [
        *("moderation", "sgr_plan", "inject_synthetic", "retrieve", "draft", "guardian_verify", "finalize"),
    ]
    drafts = [update["draft"]["draft_answer"] for _, update in seen if "draft" in update]
    assert drafts == [WITHHELD]
    assert ANSWER in str(seen[-1])


async def test_a_node_of_another_graph_may_call_ours_with_settings_of_its_own(served: Desk) -> None:
    """With `memory=True` it is handed the new message alone, and still knows how often it has asked back."""
    async with open_graph(memory=True) as guardian:

        async def consult(state: DeskState) -> dict[str, Any]:
            context: Any = {"max_clarifications": 1}
            told: Any = await guardian.ainvoke({"messages": state.get("messages", [])[-1:]}, context=context)
            return {"messages": told["messages"][-1:], "result": told["result"]}

        graph = around(consult, InMemorySaver())
        outcomes = [(await graph.ainvoke(said(VAGUE), PLACE))["result"]["outcome"] for _ in range(2)]
    assert outcomes[0] == "clarification"
    assert outcomes[1] != "clarification"
