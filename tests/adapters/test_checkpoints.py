from __future__ import annotations

import asyncio
import logging
import queue
import sqlite3
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import add
from pathlib import Path
from typing import Annotated, Any

import aiosqlite.core
import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from adapters.checkpoints.held_writes import HeldWrites, StepKey
from adapters.checkpoints.sqlite import PruningSqliteSaver, open_saver
from adapters.checkpoints.steps import CheckpointStep, find_superseded, outlives_its_turn
from adapters.storage.lock import ProcessLock
from adapters.storage.sqlite_file import close_connection, open_connection
from contracts.errors import ThreadError
from tests.support.storage import open_storage
from tests.support.turn import place


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    seen: list[str]
    filler: str


def join(said: list[str], more: Sequence[list[str]]) -> list[str]:
    return [*said, *(word for words in more for word in words)]


def keep_last(left: list[AnyMessage], right: list[AnyMessage]) -> list[AnyMessage]:
    return [*left, *right][-20:]


class Both(TypedDict):
    said: Annotated[list[str], add]


class Spread(TypedDict):
    said: Annotated[list[str], DeltaChannel(join)]


class Window(TypedDict):
    messages: Annotated[list[AnyMessage], keep_last]


async def listen(state: State) -> dict:
    return {"seen": [message.text for message in state["messages"]], "filler": "x" * 4000}


async def think(state: State) -> dict:
    return {"seen": [*state["seen"], "thought"]}


async def speak(state: State) -> dict:
    return {"messages": [AIMessage(f"heard {len(state['messages'])}")], "filler": ""}


def talk(saver: Any) -> Any:
    builder = StateGraph(State)
    for name, node in (("listen", listen), ("think", think), ("speak", speak)):
        builder.add_node(name, node)
    for before, after in ((START, "listen"), ("listen", "think"), ("think", "speak"), ("speak", END)):
        builder.add_edge(before, after)
    return builder.compile(checkpointer=saver)


STEPS_A_TURN = 5
"""Of `talk`: the input, the start, and one after each node."""


def turn(number: int | str) -> Any:
    return {**place(), "metadata": {"run_id": f"turn {number}"}}


async def say(graph: Any, text: str, config: Any = None) -> dict:
    config = {**(config or place()), "metadata": {"run_id": text}}
    return await graph.ainvoke({"messages": [HumanMessage(text, id=text)]}, config, durability="sync")


async def history(graph: Any, thread: str = "t") -> list[Any]:
    return [snapshot async for snapshot in graph.aget_state_history(place(thread))]


async def open_and_close(path: Path) -> None:
    async with open_saver(path):
        pass


def rows(path: Path, statement: str, *values: object) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path, timeout=0)
    try:
        with connection:
            return connection.execute(statement, values).fetchall()
    finally:
        connection.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "threads.db"


@pytest.fixture
async def file_saver(path: Path) -> AsyncIterator[PruningSqliteSaver]:
    async with open_saver(path) as opened:
        yield opened


@pytest.fixture(params=["sqlite", "postgres"])
async def saver(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    """Return the saver of a storage of either engine."""
    url = request.getfixturevalue("postgres_server") if request.param == "postgres" else ""
    async with open_storage(tmp_path, url) as storage:
        yield storage.saver


# ---------------------------------------------------------------------------------------------------- the whole port


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
async def test_the_saver_passes_langgraph_s_own_conformance_suite(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str
) -> None:
    """All eight capabilities are there, the optional ones too, and every test of each passes."""
    count = iter(range(100))
    url = request.getfixturevalue("postgres_server") if engine == "postgres" else ""

    @checkpointer_test(name=engine)
    async def pruning() -> AsyncIterator[Any]:
        async with open_storage(tmp_path / f"{tmp_path.name}_{next(count)}", url) as storage:
            yield storage.saver

    report = await validate(pruning)

    assert {name: result.passed for name, result in report.results.items()} == dict.fromkeys(
        (
            "put",
            "put_writes",
            "get_tuple",
            "list",
            "delete_thread",
            "delete_for_runs",
            "copy_thread",
            "prune",
        ),
        True,
    )


# ----------------------------------------------------------------------------------------------- what a turn leaves


async def test_a_thread_holds_the_last_turn_s_steps_and_the_one_it_began_from(saver: Any) -> None:
    """However many turns a conversation has, it keeps the steps of the last one and the end of the one before."""
    graph = talk(saver)
    counts = []
    for number in range(6):
        await say(graph, f"m{number}")
        counts.append(len(await history(graph)))

    assert counts == [STEPS_A_TURN] + [STEPS_A_TURN + 1] * 5


async def test_input_of_no_named_run_drops_nothing(saver: Any) -> None:
    """Without a run's id nobody knows which steps are of an earlier turn, so all stay."""
    graph = talk(saver)
    message = {"messages": [HumanMessage("again")]}
    await graph.ainvoke(message, place(), durability="sync")
    await graph.ainvoke(message, place(), durability="sync")

    assert len(await history(graph)) == 2 * STEPS_A_TURN


async def test_pruning_loses_nothing_of_what_was_said(saver: Any) -> None:
    """The state after many turns is the same as if no step had been dropped."""
    graph = talk(saver)
    for number in range(6):
        await say(graph, f"m{number}")
    texts = [message.text for message in (await graph.aget_state(place())).values["messages"]]

    assert texts == [text for n in range(6) for text in (f"m{n}", f"heard {2 * n + 1}")]


async def test_pending_writes_go_with_their_steps(file_saver: PruningSqliteSaver, path: Path) -> None:
    """No row of pending writes outlives the checkpoint that it belongs to."""
    graph = talk(file_saver)
    for number in range(4):
        await say(graph, f"m{number}")

    orphans = rows(
        path,
        "SELECT count(*) FROM writes WHERE (thread_id, checkpoint_ns, checkpoint_id) NOT IN "
        "(SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints)",
    )
    assert orphans == [(0,)]
    assert rows(path, "SELECT count(*) > 0 FROM writes") == [(1,)]


async def test_pruning_touches_no_other_thread(file_saver: PruningSqliteSaver, path: Path) -> None:
    """Turns in one conversation leave every row of another as it was."""
    graph = talk(file_saver)
    await say(graph, "other", place("other"))
    every_row = "SELECT * FROM checkpoints WHERE thread_id = 'other' ORDER BY checkpoint_id"
    before = rows(path, every_row)
    for number in range(3):
        await say(graph, f"m{number}")

    assert len(before) == STEPS_A_TURN
    assert rows(path, every_row) == before


def side_by_side(saver: Any, *nodes: Any) -> Any:
    """Return a graph whose nodes run in one step."""
    builder = StateGraph(Both)
    for node in nodes:
        builder.add_node(node.__name__, node)
        builder.add_edge(START, node.__name__)
    return builder.compile(checkpointer=saver)


async def test_a_finished_node_of_a_broken_step_is_not_run_again_after_pruning(saver: Any) -> None:
    """The pending writes of a running turn survive the pruning that its own input set off."""
    runs: list[str] = []
    broken = True

    async def steady(state: Both) -> dict:
        runs.append("steady")
        return {"said": ["steady"]}

    async def shaky(state: Both) -> dict:
        await asyncio.sleep(0.05)
        if broken and runs.count("steady") == 3:
            raise RuntimeError("shaky")
        runs.append("shaky")
        return {"said": ["shaky"]}

    graph = side_by_side(saver, steady, shaky)
    for text in ("one", "two"):
        await graph.ainvoke({"said": [text]}, turn(text), durability="sync")
    with pytest.raises(RuntimeError):
        await graph.ainvoke({"said": ["three"]}, turn("three"), durability="sync")
    broken = False
    final = await graph.ainvoke(None, turn("three"), durability="sync")

    assert runs == ["steady", "shaky"] * 2 + ["steady", "shaky"]
    assert [word for word in final["said"] if word in ("one", "two", "three")] == ["one", "two", "three"]
    assert final["said"].count("steady") == 3


async def test_what_a_task_wrote_is_stored_while_another_task_of_its_step_runs(saver: Any) -> None:
    """Writes wait a moment for their step's checkpoint, and not for as long as another task takes."""
    ended = asyncio.Event()

    async def quick(state: Both) -> dict:
        return {"said": ["quick"]}

    async def slow(state: Both) -> dict:
        await ended.wait()
        return {"said": ["slow"]}

    graph = side_by_side(saver, quick, slow)
    running = asyncio.create_task(graph.ainvoke({"said": ["one"]}, turn("one"), durability="sync"))
    while not running.done():
        step = await saver.aget_tuple(place())
        if step is not None and any(value == ["quick"] for _, _, value in step.pending_writes):
            break
        await asyncio.sleep(0.01)
    assert not running.done()
    ended.set()
    assert sorted((await running)["said"]) == ["one", "quick", "slow"]


async def test_what_a_task_wrote_is_stored_when_its_run_is_stopped(saver: Any) -> None:
    """It is stored before the run has ended, and nothing comes after that: the conversation may be another's by then."""
    ended = asyncio.Event()

    async def quick(state: Both) -> dict:
        asyncio.get_running_loop().call_soon(ended.set)
        return {"said": ["quick"]}

    async def slow(state: Both) -> dict:
        await asyncio.sleep(60)
        return {}

    graph = side_by_side(saver, quick, slow)
    running = asyncio.create_task(graph.ainvoke({"said": ["one"]}, turn("one"), durability="sync"))
    await ended.wait()
    await asyncio.sleep(0.01)  # within the moment for which writes are held
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    step = await saver.aget_tuple(place())
    assert ["quick"] in [value for _, _, value in step.pending_writes]


async def test_writes_whose_checkpoint_cannot_be_stored_are_stored_by_themselves() -> None:
    """A disk that is full, or a claim that is over, is told to both."""
    held = HeldWrites()
    step = StepKey("t", "", "1")
    waiting = asyncio.create_task(held.hold(step, [("a",)]))
    await asyncio.sleep(0)
    with suppress(OSError), held.take(step) as taken:
        assert taken == [("a",)]
        raise OSError("full")
    assert not await waiting
    with held.take(step) as taken:
        assert taken == []


# ------------------------------------------------------------------------------------------------------------- forks


async def at_step(graph: Any, next_node: str) -> Any:
    return next(snapshot for snapshot in await history(graph) if snapshot.next == (next_node,))


async def test_any_step_of_the_last_turn_can_be_run_again(saver: Any) -> None:
    """Running from an older checkpoint of the last turn gives that turn's end once more."""
    graph = talk(saver)
    for number in range(3):
        await say(graph, f"m{number}")
    step = await at_step(graph, "think")
    again = await graph.ainvoke(None, step.config, durability="sync")

    assert [message.text for message in again["messages"]][-2:] == ["m2", "heard 5"]


async def test_a_fork_and_the_step_it_was_made_from_survive_the_next_turn(saver: Any) -> None:
    """A new message on the older branch keeps the fork beside it, with its parent, and the fork can still go on."""
    graph = talk(saver)
    for number in range(3):
        await say(graph, f"m{number}")
    main_end = (await history(graph))[0].config
    origin = (await at_step(graph, "speak")).config
    fork = await graph.aupdate_state(origin, {"messages": [HumanMessage("forked", id="forked")]}, as_node="think")
    await say(graph, "m3", main_end)
    ids = {snapshot.config["configurable"]["checkpoint_id"] for snapshot in await history(graph)}
    # By the ids alone the origin is older than the end of the main branch, and so a step of an earlier turn.
    ids_needed = {config["configurable"]["checkpoint_id"] for config in (main_end, origin, fork)}
    forked = await graph.ainvoke(None, fork, durability="sync")

    assert ids_needed <= ids
    assert [message.text for message in forked["messages"]][-2:] == ["forked", "heard 6"]


async def test_a_message_can_be_said_differently(saver: Any) -> None:
    """Input from the checkpoint before the last turn replaces that turn, and the conversation goes on from there."""
    graph = talk(saver)
    for number in range(3):
        await say(graph, f"m{number}")
    before_last = next(s for s in await history(graph) if s.metadata["source"] == "input").parent_config
    await say(graph, "instead", before_last)
    await say(graph, "after")
    texts = [message.text for message in (await graph.aget_state(place())).values["messages"]]

    assert texts == ["m0", "heard 1", "m1", "heard 3", "instead", "heard 5", "after", "heard 7"]


@pytest.mark.parametrize(
    ("steps", "start", "dropped"),
    [
        ([("", "1", None), ("", "2", "1"), ("", "3", "2"), ("", "4", "3")], "3", ["1", "2"]),
        ([("", "1", None), ("", "2", "1"), ("", "3", "2"), ("", "4", "1"), ("", "5", "3")], "3", ["2"]),
        ([("a:x", "1", None), ("", "2", None), ("a:y", "3", None), ("", "4", "2")], "2", ["1"]),
        ([("a", "1", None), ("a", "2", "1"), ("", "3", None), ("", "4", "3")], "3", ["1"]),
        ([("", "1", None), ("", "2", "1")], "1", []),
        ([("", "2", "1")], "1", []),
    ],
    ids=["earlier steps", "origin of a fork", "a finished subgraph", "a subgraph's memory", "first turn", "gone"],
)
def test_what_is_superseded(steps: list[tuple[str, str, str | None]], start: str, dropped: list[str]) -> None:
    """Older steps go, but for the origins of forks and the newest memory of a subgraph that outlives its turn."""
    assert [step.checkpoint_id for step in find_superseded([CheckpointStep(*step) for step in steps], start)] == dropped


# --------------------------------------------------------------------------------------------------------- subgraphs


class Counted(TypedDict):
    said: str
    count: int


class Memory(TypedDict):
    said: str
    heard: Annotated[list[str], add]
    count: int


def with_subgraph(saver: Any, *, remembers: bool) -> Any:
    async def hear(state: Memory) -> dict:
        return {"heard": [state["said"]]}

    async def count(state: Memory) -> dict:
        return {"count": len(state["heard"])}

    inner = StateGraph(Memory)
    inner.add_node("hear", hear)
    inner.add_node("count", count)
    inner.add_edge(START, "hear")
    inner.add_edge("hear", "count")
    outer = StateGraph(Counted)
    outer.add_node("inner", inner.compile(checkpointer=True if remembers else None))
    outer.add_edge(START, "inner")
    return outer.compile(checkpointer=saver)


async def test_a_subgraph_keeps_its_memory_over_turns(file_saver: PruningSqliteSaver, path: Path) -> None:
    """A subgraph compiled with its own checkpoints goes on where it was, and does not pile its old steps up."""
    graph = with_subgraph(file_saver, remembers=True)
    counts, sizes = [], []
    for number in range(5):
        counts.append((await graph.ainvoke({"said": str(number)}, turn(number), durability="sync"))["count"])
        sizes.append(rows(path, "SELECT count(*) FROM checkpoints")[0][0])

    assert counts == [1, 2, 3, 4, 5]
    assert sizes[2:] == [sizes[1]] * 3


async def test_the_namespaces_of_finished_subgraphs_go(file_saver: PruningSqliteSaver, path: Path) -> None:
    """A subgraph that starts afresh each turn leaves no namespace behind but the last turn's."""
    graph = with_subgraph(file_saver, remembers=False)
    for number in range(4):
        assert (await graph.ainvoke({"said": str(number)}, turn(number), durability="sync"))["count"] == 1
    namespaces = [name for (name,) in rows(path, "SELECT DISTINCT checkpoint_ns FROM checkpoints")]

    assert len(namespaces) <= 2
    assert not any(outlives_its_turn(name) for name in namespaces)


async def test_a_thread_with_delta_channels_is_left_whole(saver: Any) -> None:
    """Where a channel's value is spread over earlier steps, none of them is dropped, by itself or when asked."""

    async def echo(state: Spread) -> dict:
        return {"said": ["echo"]}

    builder = StateGraph(Spread)
    builder.add_node("echo", echo)
    builder.add_edge(START, "echo")
    graph = builder.compile(checkpointer=saver)
    for number in range(3):
        await graph.ainvoke({"said": [str(number)]}, turn(number), durability="sync")
    await saver.aprune(["t"])

    assert (await graph.aget_state(place())).values["said"] == ["0", "echo", "1", "echo", "2", "echo"]


# ------------------------------------------------------------------------------------- the optional three, at the edges


async def test_runs_are_found_whatever_the_metadata_column_holds(file_saver: PruningSqliteSaver, path: Path) -> None:
    """Metadata as bytes, as text or as neither is read where it can be and never breaks the deletion."""
    graph = talk(file_saver)
    for thread in ("bytes", "text", "broken", "none", "other"):
        run = "keep" if thread == "other" else "drop"
        await graph.ainvoke({"messages": [HumanMessage("hi")]}, {**place(thread), "metadata": {"run_id": run}})
    rows(path, "UPDATE checkpoints SET metadata = CAST(metadata AS TEXT) WHERE thread_id = 'text'")
    rows(path, "UPDATE checkpoints SET metadata = '{not json' WHERE thread_id = 'broken'")
    rows(path, "UPDATE checkpoints SET metadata = NULL WHERE thread_id = 'none'")
    await file_saver.adelete_for_runs(["drop", "unheard of"])
    left = rows(path, "SELECT thread_id, count(*) FROM checkpoints GROUP BY thread_id ORDER BY thread_id")

    assert left == [("broken", STEPS_A_TURN), ("none", STEPS_A_TURN), ("other", STEPS_A_TURN)]


async def test_a_turn_goes_on_where_the_metadata_before_it_is_unreadable(
    file_saver: PruningSqliteSaver, path: Path
) -> None:
    """Pruning reads the metadata of the checkpoint before a turn, and broken bytes there stop nothing."""
    graph = talk(file_saver)
    await say(graph, "m0")
    stored = await file_saver.aget_tuple(place())
    assert stored is not None
    rows(path, "UPDATE checkpoints SET metadata = X'FF00' WHERE checkpoint_id = ?", stored.checkpoint["id"])
    # Upstream's own reading of the column cannot stand that; ours is asked alone.
    await file_saver._drop_before("t", stored.checkpoint["id"])

    assert rows(path, "SELECT count(*) FROM checkpoints") == [(1,)]


async def test_two_histories_are_not_mixed(file_saver: PruningSqliteSaver, path: Path) -> None:
    """Copying onto a conversation that exists is refused, and both stay as they were."""
    graph = talk(file_saver)
    await say(graph, "mine", place("mine"))
    await say(graph, "yours", place("yours"))
    before = rows(path, "SELECT * FROM checkpoints ORDER BY checkpoint_id")
    with pytest.raises(ThreadError, match="exists already") as caught:
        await file_saver.acopy_thread("mine", "yours")

    assert caught.value.way_out
    assert rows(path, "SELECT * FROM checkpoints ORDER BY checkpoint_id") == before


async def test_a_copied_conversation_goes_on_by_itself(saver: Any) -> None:
    """A turn in the copy changes nothing in the original."""
    graph = talk(saver)
    await say(graph, "one")
    await saver.acopy_thread("t", "copy")
    await say(graph, "two", place("copy"))

    assert len((await graph.aget_state(place("copy"))).values["messages"]) == 4
    assert len((await graph.aget_state(place())).values["messages"]) == 2


async def test_an_unknown_strategy_is_refused(saver: Any) -> None:
    """A misspelt strategy deletes nothing."""
    graph = talk(saver)
    await say(graph, "one")
    with pytest.raises(ValueError, match="keep_last"):
        await saver.aprune(["t"], strategy="keep_last")

    assert len(await history(graph)) == STEPS_A_TURN


async def test_a_checkpoint_can_be_looked_up_while_others_are_listed(saver: Any) -> None:
    """Listing holds no lock between two items."""
    graph = talk(saver)
    await say(graph, "one")
    async with asyncio.timeout(5):
        found = [await saver.aget_tuple(item.config) async for item in saver.alist(place())]

    assert len(found) == STEPS_A_TURN
    assert None not in found


# --------------------------------------------------------------------------------------------------------- what is read


async def test_messages_come_back_as_they_were(saver: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Every kind of message is read back as itself, and nothing is complained about."""
    messages = [
        SystemMessage("rules", id="1"),
        HumanMessage("вопрос \u200b 🙂", id="2"),
        AIMessage("", id="3", tool_calls=[{"name": "f", "args": {"x": [1, None]}, "id": "c"}]),
        ToolMessage("done", tool_call_id="c", id="4"),
        AIMessage("answer", id="5", additional_kwargs={"sgr_injected": True}),
        RemoveMessage("1"),
    ]
    with caplog.at_level(logging.WARNING):
        back = saver.serde.loads_typed(saver.serde.dumps_typed({"messages": messages}))

    assert back == {"messages": messages}
    assert caplog.records == []


@dataclass
class Foreign:
    command: str


async def test_no_foreign_class_is_built_from_a_checkpoint(saver: Any) -> None:
    """Whatever a file says, reading it makes plain values and messages only, with or without the strict setting."""
    back = saver.serde.loads_typed(saver.serde.dumps_typed({"value": Foreign("rm")}))

    assert not isinstance(back["value"], Foreign)


# ------------------------------------------------------------------------------------------------------ when it is hard


async def test_a_cancelled_write_leaves_the_file_free(file_saver: PruningSqliteSaver, path: Path) -> None:
    """Wherever a write is cancelled, another process can write at once."""
    for ticks in range(40):
        writing = asyncio.create_task(
            file_saver.aput(place(checkpoint_ns=""), empty_checkpoint(), {"source": "loop", "step": ticks}, {})
        )
        for _ in range(ticks % 20):
            await asyncio.sleep(0 if ticks < 20 else 0.0005)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        rows(
            path,
            "INSERT INTO writes (thread_id, checkpoint_id, task_id, idx, channel) VALUES ('x', ?, '', 0, '')",
            ticks,
        )

    assert rows(path, "SELECT count(*) FROM writes") == [(40,)]


async def test_a_change_after_a_cancelled_write_is_whole(file_saver: PruningSqliteSaver, path: Path) -> None:
    """Wherever a write is cancelled, the next change neither fails on it nor is lost with it."""
    for ticks in range(30):
        thread = f"t{ticks}"
        await file_saver.aput(place(thread, checkpoint_ns=""), empty_checkpoint(), {"source": "loop", "step": 0}, {})
        writing = asyncio.create_task(
            file_saver.aput(place(checkpoint_ns=""), empty_checkpoint(), {"source": "loop", "step": ticks}, {})
        )
        for _ in range(ticks):
            await asyncio.sleep(0 if ticks % 2 else 0.0002)
        writing.cancel()
        await file_saver.adelete_thread(thread)
        await asyncio.gather(writing, return_exceptions=True)

    assert rows(path, "SELECT count(*) FROM checkpoints WHERE thread_id <> 't'") == [(0,)]


async def test_a_full_disk_is_said_so_and_the_turn_goes_on_later(file_saver: PruningSqliteSaver) -> None:
    """Where the file cannot grow, the error names the way out, and when there is room again nothing is missing."""
    graph = talk(file_saver)
    await say(graph, "one")
    [(pages,)] = await file_saver.conn.execute_fetchall("PRAGMA page_count")
    await file_saver.conn.execute_fetchall(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(ThreadError, match="disk is full") as caught:
        await say(graph, "two " * 5000)
    await file_saver.conn.execute_fetchall("PRAGMA max_page_count = 1000000")
    if (await graph.aget_state(place())).tasks:
        await graph.ainvoke(None, place(), durability="sync")
    after = (await say(graph, "last"))["messages"]

    assert "Free some space" in caught.value.way_out
    assert [message.type for message in after] == ["human", "ai"] * (len(after) // 2)
    assert after[0].text == "one"


async def test_a_locked_database_is_said_so(file_saver: PruningSqliteSaver, path: Path) -> None:
    """Where another program holds the write lock for longer than is waited, the error says who can mend it."""
    graph = talk(file_saver)
    await say(graph, "one")
    await file_saver.conn.execute_fetchall("PRAGMA busy_timeout = 50")
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(ThreadError, match="locked") as caught:
            await say(graph, "two")
    finally:
        holder.close()

    assert "Close the program" in caught.value.way_out
    assert len((await say(graph, "two"))["messages"]) == 4


async def test_housekeeping_does_not_stop_a_turn(
    file_saver: PruningSqliteSaver, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Where earlier steps cannot be dropped now, that is logged, nothing is lost, and the next turn drops them."""
    graph = talk(file_saver)
    await say(graph, "one")
    await say(graph, "two")
    await file_saver.conn.execute_fetchall("PRAGMA busy_timeout = 50")
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        await file_saver._drop_before("t", (await history(graph))[0].config["configurable"]["checkpoint_id"])
    finally:
        holder.close()

    assert "were not dropped" in caplog.text
    assert len(await history(graph)) == STEPS_A_TURN + 1
    await say(graph, "three")
    assert len(await history(graph)) == STEPS_A_TURN + 1


@pytest.fixture
def diary(tmp_path: Path) -> Path:
    file = tmp_path / "diary.db"
    file.write_bytes(b"Dear diary, " * 200)
    return file


class _SlowPath(type(Path())):
    """A path on a disk that takes its time to open a database."""

    def __str__(self) -> str:
        if threading.current_thread().name.endswith("(_connection_worker_thread)"):
            time.sleep(0.3)
        return super().__str__()


def database_threads() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name.endswith("(_connection_worker_thread)")]


async def end_while_it_opens(folder: Path) -> None:
    task = asyncio.create_task(open_connection(_SlowPath(folder / "threads.db"), None))
    for _ in range(20_000):
        if database_threads() or task.done():
            break
        await asyncio.sleep(0.001)
    assert not task.done()


async def end_while_it_closes(folder: Path) -> None:
    connection = await open_connection(folder / "threads.db", None)
    task = asyncio.create_task(close_connection(connection))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    # Behind the closing, before the end of the thread.
    slow = asyncio.create_task(connection._execute(time.sleep, 0.3))
    for _ in range(20_000):
        if not connection._running:
            break
        await asyncio.sleep(0.001)
    assert not task.done()
    assert not slow.done()


async def end_where_it_cannot_be_opened(folder: Path) -> None:
    with pytest.raises(ThreadError):
        await open_connection(folder, None)


class _SlowQueue(queue.SimpleQueue[Any]):
    """What a database's thread has to do, of which it hears a little late."""

    def get(self, block: bool = True, timeout: float | None = None) -> Any:  # as upstream has it
        work = super().get(block, timeout)
        time.sleep(0.05)
        return work


@pytest.mark.parametrize("ending", [end_while_it_opens, end_while_it_closes, end_where_it_cannot_be_opened])
def test_a_loop_that_ends_while_a_database_is_opened_or_closed_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: Callable[[Path], Coroutine[None, None, None]]
) -> None:
    """Its thread has somebody to tell how that ended (regression: "Event loop is closed", from a ticket that was being sent)."""
    broken: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", broken.append)
    monkeypatch.setattr(aiosqlite.core, "SimpleQueue", _SlowQueue)
    asyncio.run(ending(tmp_path))
    # It may still be on its way out when it has told the loop.
    for thread in database_threads():
        thread.join()
    assert [each.exc_value for each in broken] == []


def test_a_file_that_is_no_database_is_said_so_and_left_alone(diary: Path) -> None:
    """A file of something else is neither opened nor overwritten."""
    with pytest.raises(ThreadError, match="not a database") as caught:
        asyncio.run(open_and_close(diary))

    assert "Move it away" in caught.value.way_out
    assert diary.read_bytes() == b"Dear diary, " * 200


async def test_a_path_that_cannot_be_a_file_is_said_so(tmp_path: Path) -> None:
    """A folder in the file's place, and a file in the folder's place, are named with a way out."""
    (tmp_path / "file").write_text("x")
    for wrong in (tmp_path, tmp_path / "file" / "threads.db"):
        with pytest.raises(ThreadError) as caught:
            await open_and_close(wrong)
        assert "GUARDIAN_DATA_DIR" in caught.value.way_out


async def test_a_new_file_can_be_opened_by_many_at_once(tmp_path: Path) -> None:
    """First openings at the same moment do not disturb each other."""

    async def use(path: Path, number: int) -> int:
        async with open_saver(path) as opened:
            return len((await say(talk(opened), "hi", place(str(number))))["messages"])

    for attempt in range(5):
        path = tmp_path / f"{attempt}.db"
        assert await asyncio.gather(*(use(path, number) for number in range(8))) == [2] * 8


async def test_opening_waits_for_a_writer_of_a_file_that_is_not_in_wal_mode_yet(tmp_path: Path) -> None:
    """Where another process is just writing to a new file, opening it waits, though SQLite itself would not."""
    path = tmp_path / "threads.db"
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("CREATE TABLE other (x)")
    holder.execute("BEGIN IMMEDIATE")
    opening = asyncio.create_task(open_and_close(path))
    await asyncio.sleep(0.2)
    assert not opening.done()
    holder.close()
    async with asyncio.timeout(4):
        await opening


async def test_the_file_is_in_wal_mode_and_waits_for_others(file_saver: PruningSqliteSaver) -> None:
    """Readers never wait for a writer, a writer waits five seconds for another, and a commit costs no disk flush."""
    settings = {}
    for name in ("journal_mode", "synchronous", "busy_timeout"):
        [(settings[name],)] = await file_saver.conn.execute_fetchall(f"PRAGMA {name}")

    assert settings == {"journal_mode": "wal", "synchronous": 1, "busy_timeout": 5000}


# ------------------------------------------------------------------------------------------------------------- the lock


def test_a_lock_has_one_holder(tmp_path: Path) -> None:
    """While one holds it nobody else gets it, in this process either; then the next one does."""
    first, second = ProcessLock(tmp_path / "locks" / "a"), ProcessLock(tmp_path / "locks" / "a")

    assert first.try_acquire()
    assert not second.try_acquire()
    first.release()
    assert second.try_acquire()
    second.release()
    assert not list((tmp_path / "locks").iterdir())


def test_a_lock_whose_file_goes_while_it_is_taken_is_not_shared(tmp_path: Path) -> None:
    """Whoever opened the file just before its holder removed it does not hold the lock beside the next one."""
    holder, late, following = (ProcessLock(tmp_path / "a") for _ in range(3))
    armed = [True]

    def between_opening_and_locking(event: str, _: object) -> None:
        if event == "fcntl.flock" and armed and holder._file is not None:
            armed.clear()
            holder.release()
            assert following.try_acquire()

    assert holder.try_acquire()
    # It cannot be taken away again, but does nothing once it is disarmed.
    sys.addaudithook(between_opening_and_locking)

    assert not late.try_acquire()
    assert not armed
    following.release()
    assert late.try_acquire()
    late.release()


def test_a_lock_that_cannot_be_is_said_so(tmp_path: Path) -> None:
    """A folder that cannot hold lock files is an error with a way out, not a lock that everybody holds."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(ThreadError) as caught:
        ProcessLock(tmp_path / "file" / "a").try_acquire()

    assert caught.value.way_out


async def test_a_turn_costs_the_same_however_long_the_conversation_is(
    file_saver: PruningSqliteSaver, path: Path
) -> None:
    """With a window of messages, the file does not grow from turn 20 to turn 60."""

    async def answer(state: Window) -> dict:
        return {"messages": [AIMessage("a" * 500)]}

    builder = StateGraph(Window)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    graph = builder.compile(checkpointer=file_saver)
    sizes = []
    for number in range(61):
        await graph.ainvoke({"messages": [HumanMessage("q" * 500, id=str(number))]}, turn(number), durability="sync")
        if number % 20 == 0:
            sizes.append(rows(path, "SELECT sum(length(checkpoint)) FROM checkpoints")[0][0])

    assert sizes[3] == pytest.approx(sizes[1], rel=0.02)


def modes_in(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()}


async def test_a_new_database_is_its_owners_alone(tmp_path: Path) -> None:
    """What people said is readable for nobody else; a file that is there keeps the mode that somebody gave it."""
    path = tmp_path / "threads.db"
    for mode in (0o600, 0o640):
        connection = await open_connection(path, None)
        await connection.execute("CREATE TABLE IF NOT EXISTS kept (what TEXT)")
        modes = modes_in(tmp_path)
        await connection.close()
        assert modes.pop("threads.db") == mode
        assert modes
        assert set(modes.values()) <= {mode, 0o600}
        path.chmod(0o640)
