from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import sqlite3
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate, groupby
from operator import add
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from adapters.storage.claims import Claims
from adapters.storage.sqlite import SqliteDatabase
from assistant.turns.events import NodeFinished, NodeStarted, TurnEvent
from assistant.turns.runner import TurnRunner
from assistant.turns.transcript import TurnStore
from contracts.errors import ConfigError, InputError, ThreadBusy, ThreadError, UnknownThread
from tests.support.kill_helpers import Turns, kill, log_node, log_of, outcome_of
from tests.support.kill_helpers_graph import NODES, Settings, quick_graph, slow_graph
from tests.support.storage import open_storage


@dataclass
class Ticking:
    """A clock on which every look takes a second."""

    now: float = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


@dataclass
class Calendar:
    """A wall clock on which every look takes a minute."""

    now: datetime = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now


@dataclass
class Desk:
    """All that a turn needs, over one folder."""

    data: Path
    saver: Any
    store: TurnStore
    claims: Claims

    def runner(self, graph: Any = None, **settings: Any) -> TurnRunner:
        settings = {"context_type": Settings, "clock": Ticking(), **settings}
        graph = quick_graph(self.data, self.saver) if graph is None else graph
        return TurnRunner(graph, self.store, self.claims, **settings)

    def ran(self) -> list[str]:
        """Return the nodes that finished, in order."""
        return Turns(self.data).nodes("end")

    async def words(self, thread: str = "t") -> list[str]:
        """Return what the graph's state remembers of a conversation."""
        snapshot = await quick_graph(self.data, self.saver).aget_state({"configurable": {"thread_id": thread}})
        return [message.text for message in snapshot.values.get("messages", [])]

    async def transcript(self, thread: str = "t") -> list[tuple[int, str, str, str | None]]:
        turns = await self.store.turns(thread)
        return [(turn.number, turn.status, turn.question, turn.answer) for turn in turns]


@contextlib.asynccontextmanager
async def open_desk(data: Path, url: str = "") -> AsyncGenerator[Desk]:
    async with open_storage(data, url) as storage:
        storage.store.now = Calendar()
        yield Desk(data, storage.saver, storage.store, storage.claims)


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """Return the address of a server, or nothing for a file."""
    return request.getfixturevalue("postgres_server") if request.param == "postgres" else ""


@pytest.fixture
async def desk(tmp_path: Path, url: str) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path, url) as there:
        yield there


@pytest.fixture
async def file_desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path) as there:
        yield there


def connection_of(store: TurnStore) -> Any:
    assert isinstance(store.database, SqliteDatabase)
    return store.database.connection


class Both(TypedDict):
    messages: Annotated[list, add]
    said: Annotated[list[str], add]
    result: dict


def failing_at(desk: Desk, name: str, broken: list[bool]) -> Any:
    """Return the small graph, one of whose nodes raises as long as the list is not empty."""

    def trouble(node: str) -> None:
        if node == name and broken:
            raise RuntimeError("broken node")

    return slow_graph(desk.data, desk.saver, pause_s=0.0, trouble=trouble)


# ------------------------------------------------------------------------------------------------------------ one turn


async def test_a_turn_gives_its_result_with_the_time_of_each_node(desk: Desk) -> None:
    """The result is the graph's, its diagnostics name every node with its milliseconds, the first event and the end."""
    result = await desk.runner().run("t", "hello big world")

    assert result["answer_text"] == "echo: hello big world"
    assert result["diagnostics"] == {
        "retries": 0,
        "timings_ms": dict.fromkeys(NODES, 1000.0),
        "first_event_ms": 1000.0,
        "answer_ms": 1000.0 * (2 * len(NODES) + 1),
    }


async def test_a_turn_is_in_the_transcript(desk: Desk) -> None:
    """The transcript has the question, the answer, the outcome, the whole result and both times."""
    result = await desk.runner().run("t", "hello", turn_id="one")
    [turn] = await desk.store.turns("t")

    assert (turn.thread_id, turn.turn_id, turn.number, turn.status) == ("t", "one", 1, "done")
    assert (turn.question, turn.answer, turn.outcome, turn.result) == ("hello", "echo: hello", "answered", result)
    assert (turn.started_at, turn.finished_at) == ("2026-01-01T00:01:00.000+00:00", "2026-01-01T00:02:00.000+00:00")


async def test_the_same_message_again_gets_the_same_answer_without_a_run(desk: Desk) -> None:
    """A turn id that was answered gives the recorded result, equal to the first, and no node runs."""
    runner = desk.runner()
    first = await runner.run("t", "hello", turn_id="one")
    await runner.run("t", "something else", turn_id="two")
    again = await runner.run("t", "hello", turn_id="one")

    assert again == first
    assert len(desk.ran()) == 2 * len(NODES)
    assert len(await desk.store.turns("t")) == 2


async def test_the_first_answer_equals_the_recorded_one(desk: Desk) -> None:
    """What JSON cannot tell apart, the first caller does not see either: numbers as keys are text for both."""

    async def count(state: Both) -> dict:
        return {"result": {"answer_text": "7", "outcome": "answered", "counts": {7: (1, 2)}}}

    builder = StateGraph(Both)
    builder.add_node("count", count)
    builder.add_edge(START, "count")
    runner = desk.runner(builder.compile(checkpointer=desk.saver))
    first = await runner.run("t", "hello", turn_id="one")

    assert first["counts"] == {"7": [1, 2]}
    assert await runner.run("t", "hello", turn_id="one") == first


async def test_an_answered_message_is_answered_again_while_another_runs(desk: Desk) -> None:
    """Repeating a message that is done waits for nothing."""
    await desk.runner().run("t", "hello", turn_id="one")
    running = asyncio.create_task(desk.runner(slow_graph(desk.data, desk.saver)).run("t", "slow"))
    await asyncio.sleep(0.1)
    again = await desk.runner(wait_s=0).run("t", "hello", turn_id="one")

    assert not running.done()
    assert again["answer_text"] == "echo: hello"
    await running


async def test_an_id_stands_for_one_message(desk: Desk) -> None:
    """A used id with another text is refused, and neither runs nor changes anything."""
    await desk.runner().run("t", "hello", turn_id="one")
    with pytest.raises(InputError, match="another message"):
        await desk.runner().run("t", "goodbye", turn_id="one")

    assert await desk.transcript() == [(1, "done", "hello", "echo: hello")]


async def test_an_id_may_be_used_in_another_conversation(desk: Desk) -> None:
    """Ids of messages are of their conversation only."""
    await desk.runner().run("t", "hello", turn_id="one")
    result = await desk.runner().run("other", "goodbye", turn_id="one")

    assert result["answer_text"] == "echo: goodbye"


UNUSABLE = ["", "x" * 242, "a\nb", "a\x00b", "\x7f", "\ud800", "\x85"]


async def test_unusable_ids_are_refused(desk: Desk) -> None:
    """An id that is empty, too long, or not to be stored or shown is the caller's error, with a way out."""
    runner = desk.runner()
    for bad in UNUSABLE:
        for told in (
            await error_of(runner.run(bad, "hello", turn_id="one")),
            await error_of(runner.run("t", "hello", turn_id=bad)),
            await error_of(runner.resume(bad)),
            await error_of(runner.delete(bad)),
        ):
            assert isinstance(told, InputError), (bad, told)
            assert told.way_out, bad
            str(told).encode()

    assert await desk.store.list_threads() == []


async def error_of(doing: Awaitable[Any]) -> BaseException | None:
    """Return what comes of something that fails; nothing if it does not."""
    [outcome] = await asyncio.gather(doing, return_exceptions=True)
    return outcome if isinstance(outcome, BaseException) else None


ODD = ["x" * 200, "../../etc/passwd", "/", ".", "нить 🧵", "'; DROP TABLE turns; --", " "]


async def test_any_other_id_is_just_an_id(desk: Desk) -> None:
    """Paths, quotes and any script are fine in an id, and no file outside the folder of locks comes of them."""
    for odd in ODD:
        result = await desk.runner().run(odd, "hello", turn_id=odd)
        assert result["answer_text"] == "echo: hello", odd
        assert [(turn.thread_id, turn.turn_id) for turn in await desk.store.turns(odd)] == [(odd, odd)]

    assert [thread.thread_id for thread in await desk.store.list_threads()] == ODD[::-1]
    assert {path.name for path in desk.data.iterdir()} <= {
        "locks",
        "nodes.log",
        "threads.db",
        "threads.db-wal",
        "threads.db-shm",
    }


async def test_a_message_that_cannot_be_stored_is_refused(desk: Desk) -> None:
    """A lone surrogate in a message is the caller's error, not a broken conversation."""
    with pytest.raises(InputError, match="cannot be stored"):
        await desk.runner().run("t", "broken \ud800")

    assert await desk.store.turns("t") == []


async def test_a_graph_without_a_checkpointer_is_refused(desk: Desk) -> None:
    """What would not last is refused before the first message."""
    with pytest.raises(ConfigError, match="checkpointer"):
        desk.runner(quick_graph(desk.data, None))


# -------------------------------------------------------------------------------------------------------------- events


def of_nodes(events: list[TurnEvent]) -> list[tuple[str, str]]:
    """Return what was told of nodes: that one began or ended, and its name."""
    return [(event.kind, event.node) for event in events if isinstance(event, NodeStarted | NodeFinished)]


async def test_events_tell_the_nodes_in_order_and_no_messages(desk: Desk) -> None:
    """Each node is reported as it begins and as it ends, with its time, but never with what it wrote."""
    events: list[TurnEvent] = []
    await desk.runner().run("t", "hello", turn_id="one", on_event=events.append)

    assert of_nodes(events) == [(kind, node) for node in NODES for kind in ("node_started", "node_finished")]
    assert events[3] == NodeFinished(turn_id="one", node="search", ms=1000.0)
    assert "hello" not in repr(events)


async def test_an_event_that_raises_stops_the_turn_and_nothing_runs_on(desk: Desk) -> None:
    """Where the callback fails the turn stops at once, the conversation is free, and the turn can be finished."""

    def refuse(event: Any) -> None:
        if event.node == "write":
            raise BrokenPipeError("nobody listens")

    runner = desk.runner(slow_graph(desk.data, desk.saver, pause_s=0.05))
    with pytest.raises(BrokenPipeError):
        await runner.run("t", "hello", turn_id="one", on_event=refuse)
    stopped = Turns(desk.data).log()
    await asyncio.sleep(0.2)

    assert Turns(desk.data).log() == stopped
    assert "write" not in desk.ran()
    assert (await runner.run("t", "hello", turn_id="one"))["answer_text"] == "echo: hello"
    assert desk.ran() == list(NODES)


async def test_a_node_that_finished_before_the_kill_is_not_reported_again(desk: Desk) -> None:
    """Of a step whose nodes run side by side, resuming reports and times only those that still have to run."""
    broken = [True]

    async def steady(state: Both) -> dict:
        return {"said": ["steady"]}

    async def shaky(state: Both) -> dict:
        await asyncio.sleep(0.05)
        if broken.pop():
            raise RuntimeError("shaky")
        return {"said": ["shaky"]}

    async def end(state: Both) -> dict:
        return {"result": {"answer_text": " ".join(state["said"]), "outcome": "answered"}}

    builder = StateGraph(Both)
    for name, node in (("steady", steady), ("shaky", shaky), ("end", end)):
        builder.add_node(name, log_node(name, node, log_of(desk.data)))
    for before, after in ((START, "steady"), (START, "shaky"), ("steady", "end"), ("shaky", "end"), ("end", END)):
        builder.add_edge(before, after)
    runner = desk.runner(builder.compile(checkpointer=desk.saver))
    events: list[TurnEvent] = []
    with pytest.raises(RuntimeError):
        await runner.run("t", "hello")
    broken.append(False)
    result = await runner.resume("t", on_event=events.append)

    assert desk.ran() == ["steady", "shaky", "end"]
    assert of_nodes(events) == [(kind, node) for node in ("shaky", "end") for kind in ("node_started", "node_finished")]
    assert result is not None
    assert set(result["diagnostics"]["timings_ms"]) == {"shaky", "end"}


async def test_a_failed_node_is_reported_with_its_error(desk: Desk) -> None:
    """The event of a node that failed says why."""
    events: list[TurnEvent] = []
    runner = desk.runner(failing_at(desk, "search", [True]))
    with pytest.raises(RuntimeError):
        await runner.run("t", "hello", on_event=events.append)

    last = events[-1]
    assert isinstance(last, NodeFinished)
    assert (last.node, last.error) == ("search", "broken node")


# ------------------------------------------------------------------------------------------------- one turn at a time


async def test_two_messages_at_once_are_answered_one_after_the_other(desk: Desk) -> None:
    """Neither of two turns of one conversation is lost, in the transcript or in the state."""
    runner = desk.runner()
    first, second = await asyncio.gather(runner.run("t", "first"), runner.run("t", "second"))

    assert (first["question"], second["question"]) == ("first", "second")
    assert await desk.transcript() == [(1, "done", "first", "echo: first"), (2, "done", "second", "echo: second")]
    assert await desk.words() == ["first", "echo: first", "second", "echo: second"]
    assert desk.ran() == [*NODES, *NODES]


async def test_messages_are_answered_in_the_order_they_came(desk: Desk) -> None:
    """Ten messages at once wait in line."""
    runner = desk.runner()
    await asyncio.gather(*(runner.run("t", f"m{number}") for number in range(10)))

    assert [turn.question for turn in await desk.store.turns("t")] == [f"m{number}" for number in range(10)]


async def test_two_runners_of_one_process_do_not_share_a_conversation(desk: Desk) -> None:
    """The lock stands between runners, too, not only between the messages of one."""
    await asyncio.gather(*(desk.runner().run("t", f"m{number}") for number in range(4)))

    assert len(await desk.words()) == 8
    assert desk.ran() == [*NODES] * 4


async def test_the_same_message_twice_at_once_is_run_once(desk: Desk) -> None:
    """Both callers get the result of one run."""
    runner = desk.runner()
    first, second = await asyncio.gather(*(runner.run("t", "hello", turn_id="one") for _ in range(2)))

    assert first == second
    assert desk.ran() == [*NODES]


async def test_conversations_do_not_wait_for_each_other(desk: Desk) -> None:
    """Turns of different conversations run side by side: from the first node on, two are at work at once.

    They need not keep step: on a busy machine one of them is a node ahead.
    """
    runner = desk.runner(slow_graph(desk.data, desk.saver, pause_s=0.2))
    await asyncio.gather(runner.run("a", "hello"), runner.run("b", "hello"))
    events = [line.split()[0] for line in Turns(desk.data).log()]
    at_work = list(accumulate(1 if event == "begin" else -1 for event in events))

    assert (events[0], events[1]) == ("begin", "begin")
    assert at_work.count(2) >= len(NODES)
    assert len(events) == 4 * len(NODES)


async def test_a_message_that_waited_too_long_is_told_so_and_leaves_nothing(desk: Desk) -> None:
    """After `wait_s` the second message is refused with a way out, and is not in the transcript."""
    running = asyncio.create_task(desk.runner(slow_graph(desk.data, desk.saver)).run("t", "first"))
    await asyncio.sleep(0.1)
    started = time.monotonic()
    for refused in (desk.runner(wait_s=0.2).run("t", "second"), desk.runner(wait_s=0).resume("t")):
        with pytest.raises(ThreadBusy) as caught:
            await refused
        assert caught.value.way_out

    assert time.monotonic() - started >= 0.2
    assert [question for _, _, question, _ in await desk.transcript()] == ["first"]
    assert (await running)["answer_text"] == "echo: first"


async def test_waiting_in_line_ends_too(desk: Desk) -> None:
    """Behind another message of the same runner, too, nobody waits longer than `wait_s`."""
    runner = desk.runner(slow_graph(desk.data, desk.saver), wait_s=0.3)
    done = await asyncio.gather(*(runner.run("t", f"m{number}") for number in range(3)), return_exceptions=True)

    assert [type(outcome) for outcome in done] == [dict, ThreadBusy, ThreadBusy]


async def test_a_second_running_row_cannot_be(desk: Desk) -> None:
    """The table itself refuses a second running turn of one conversation."""
    await desk.store.begin("t", "one", "first", None)
    with pytest.raises(ThreadBusy):
        await desk.store.begin("t", "two", "second", None)

    assert [turn.turn_id for turn in await desk.store.turns("t")] == ["one"]


async def test_a_recorded_result_is_not_overwritten(desk: Desk) -> None:
    """Only a running turn can be finished."""
    await desk.store.begin("t", "one", "first", None)
    await desk.store.finish("t", "one", {"answer_text": "right", "outcome": "answered"})
    await desk.store.finish("t", "one", {"answer_text": "wrong", "outcome": "answered"})

    assert await desk.transcript() == [(1, "done", "first", "right")]


# --------------------------------------------------------------------------------------------------------- half-finished


async def test_a_turn_that_died_before_its_first_checkpoint_is_run(desk: Desk) -> None:
    """Where only the row was written, the question in it is asked."""
    await desk.store.begin("t", "one", "hello", None)
    result = await desk.runner().resume("t")

    assert result is not None
    assert await desk.transcript() == [(1, "done", "hello", "echo: hello")]


async def test_a_half_finished_turn_is_finished_before_the_next_begins(desk: Desk) -> None:
    """A new message waits until the one before it has its answer, and both are remembered in order."""
    await desk.store.begin("t", "one", "hello", None)
    result = await desk.runner().run("t", "goodbye", turn_id="two")

    assert result["answer_text"] == "echo: goodbye"
    assert await desk.transcript() == [(1, "done", "hello", "echo: hello"), (2, "done", "goodbye", "echo: goodbye")]
    assert await desk.words() == ["hello", "echo: hello", "goodbye", "echo: goodbye"]


async def test_an_end_that_was_not_recorded_is_recorded_and_not_run_again(desk: Desk) -> None:
    """Where the process died between the graph's end and the row's, the answer that exists is taken."""
    await desk.runner().run("t", "before")
    await desk.store.begin("t", "one", "hello", None)
    graph = quick_graph(desk.data, desk.saver)
    config = {"configurable": {"thread_id": "t"}, "metadata": {"run_id": "one"}}
    await graph.ainvoke({"messages": [HumanMessage("hello", id="one")]}, config, durability="sync")
    ran = desk.ran()
    result = await desk.runner(graph).run("t", "hello", turn_id="one")

    assert desk.ran() == ran == [*NODES, *NODES]
    assert result["answer_text"] == "echo: hello"
    assert (await desk.transcript())[1:] == [(2, "done", "hello", "echo: hello")]


@pytest.mark.parametrize("name", NODES)
async def test_a_turn_whose_node_raised_goes_on_at_that_node(desk: Desk, name: str) -> None:
    """An error leaves the turn unfinished; the next message finishes it first, from the node that failed."""
    broken = [True]
    runner = desk.runner(failing_at(desk, name, broken))
    with pytest.raises(RuntimeError, match="broken node"):
        await runner.run("t", "hello", turn_id="one")
    [summary] = await desk.store.list_threads()
    broken.clear()
    await runner.run("t", "goodbye", turn_id="two")

    assert summary.unfinished
    assert desk.ran() == [*NODES, *NODES]
    assert await desk.words() == ["hello", "echo: hello", "goodbye", "echo: goodbye"]


async def test_a_cancelled_turn_can_be_finished(desk: Desk) -> None:
    """Cancelling, as Ctrl-C does, frees the conversation and loses nothing."""
    runner = desk.runner(slow_graph(desk.data, desk.saver, pause_s=0.1))
    running = asyncio.create_task(runner.run("t", "hello", turn_id="one"))
    while "search" not in desk.ran():  # noqa: ASYNC110  # the nodes write into a file
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    result = await desk.runner().resume("t")

    assert result is not None
    # A node that was cancelled between its end and its checkpoint runs again.
    assert [name for name, _ in groupby(desk.ran())] == [*NODES]


async def test_nothing_to_resume_is_none(desk: Desk) -> None:
    """A conversation without a half-finished turn, or without any turn, has nothing to finish."""
    await desk.runner().run("t", "hello")

    assert await desk.runner().resume("t") is None
    assert await desk.runner().resume("unheard of") is None


async def test_a_turn_goes_on_with_the_settings_it_began_with(desk: Desk) -> None:
    """Resuming takes the settings from the row, whoever resumes and whatever their own settings are."""
    broken = [True]
    runner = desk.runner(failing_at(desk, "write", broken))
    with pytest.raises(RuntimeError):
        await runner.run("t", "hello", context=Settings(greeting="salut"))
    broken.clear()
    result = await runner.resume("t", context=Settings(greeting="hallo"))

    assert result is not None
    assert result["answer_text"] == "salut: hello"


class Stricter(BaseModel):
    """Settings of a later version, under which the earlier one's are not valid any more."""

    greeting: str = Field(default="hey", max_length=3)


async def test_settings_that_are_valid_no_more_give_way_to_the_caller_s(desk: Desk) -> None:
    """A turn begun under an older version's settings is finished under those of whoever finishes it."""
    await desk.store.begin("t", "one", "hello", {"greeting": "good morning"})
    result = await desk.runner(context_type=Stricter).resume("t", context=Stricter())

    assert result is not None
    assert result["answer_text"] == "hey: hello"


async def test_a_graph_that_ends_without_a_result_is_said_so(desk: Desk) -> None:
    """Nothing is recorded as an answer that is none."""

    async def nothing(state: Both) -> dict:
        return {"messages": [AIMessage("?")]}

    builder = StateGraph(Both)
    builder.add_node("nothing", nothing)
    builder.add_edge(START, "nothing")
    with pytest.raises(ThreadError, match="without a result"):
        await desk.runner(builder.compile(checkpointer=desk.saver)).run("t", "hello")

    assert await desk.transcript() == [(1, "running", "hello", None)]


# ---------------------------------------------------------------------------------------------------------- the store


async def test_conversations_are_listed_the_last_used_first(desk: Desk) -> None:
    """The list has, per conversation, its turns, its times, its first question and whether one is unfinished."""
    for thread, text in (("a", "first of a"), ("b", "first of b"), ("a", "second of a")):
        await desk.runner().run(thread, text)
    await desk.store.begin("c", "one", "left", None)
    threads = await desk.store.list_threads()

    assert [(t.thread_id, t.turns, t.first_question, t.unfinished) for t in threads] == [
        ("c", 1, "left", True),
        ("a", 2, "first of a", False),
        ("b", 1, "first of b", False),
    ]
    assert (threads[1].started_at, threads[1].last_at) == (
        "2026-01-01T00:01:00.000+00:00",
        "2026-01-01T00:06:00.000+00:00",
    )


async def test_a_deleted_conversation_is_gone_and_its_id_is_free(desk: Desk) -> None:
    """Deleting takes the transcript and the checkpoints of that conversation and nothing else."""
    for thread in ("t", "other"):
        await desk.runner().run(thread, "hello", turn_id="one")
    await desk.runner().delete("t")

    assert [thread.thread_id for thread in await desk.store.list_threads()] == ["other"]
    assert await desk.words("t") == []
    assert await desk.words("other") == ["hello", "echo: hello"]
    await desk.runner().run("t", "anew", turn_id="one")
    assert await desk.transcript() == [(1, "done", "anew", "echo: anew")]


async def test_a_half_finished_conversation_can_be_deleted(desk: Desk) -> None:
    """A turn that nobody is running does not keep a conversation from being deleted."""
    await desk.store.begin("t", "one", "hello", None)
    await desk.runner().delete("t")

    assert await desk.store.list_threads() == []


async def test_a_running_conversation_cannot_be_deleted(desk: Desk) -> None:
    """Deleting refuses at once while a turn is running, and the turn gets its answer."""
    running = asyncio.create_task(desk.runner(slow_graph(desk.data, desk.saver, pause_s=0.1)).run("t", "hello"))
    await asyncio.sleep(0.1)
    with pytest.raises(ThreadBusy):
        await desk.runner().delete("t")

    assert (await running)["answer_text"] == "echo: hello"
    assert await desk.transcript() == [(1, "done", "hello", "echo: hello")]


async def test_deleting_what_is_not_there_is_said_so(desk: Desk) -> None:
    """A misspelt id is not reported as deleted."""
    with pytest.raises(UnknownThread) as caught:
        await desk.runner().delete("unheard of")

    assert caught.value.way_out


async def test_any_result_can_be_stored(desk: Desk) -> None:
    """Any script reads as itself, and a lone surrogate, which no encoder takes, does not lose the turn."""
    await desk.store.begin("t", "one", "hello", None)
    result = {"answer_text": "ответ 🙂 \ud83d", "outcome": "answered"}
    await desk.store.finish("t", "one", result)
    [turn] = await desk.store.turns("t")

    assert turn.result == result


async def test_a_transcript_that_cannot_be_read_is_said_so(tmp_path: Path) -> None:
    """A file that is no database is an error with a way out."""
    await asyncio.to_thread((tmp_path / "threads.db").write_bytes, b"Dear diary, " * 200)
    with pytest.raises(ThreadError, match="not a database") as caught:
        await TurnStore.open(tmp_path / "threads.db")

    assert caught.value.way_out


@pytest.mark.parametrize("whose", ["store", "saver"])
async def test_a_full_disk_loses_nothing(file_desk: Desk, whose: str) -> None:
    """Whether the question or a step cannot be stored, the error says so, and sending it again when there is room works."""
    connection = connection_of(file_desk.store) if whose == "store" else file_desk.saver.conn
    await file_desk.runner().run("t", "before")
    [(pages,)] = await connection.execute_fetchall("PRAGMA page_count")
    await connection.execute_fetchall(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(ThreadError, match="disk is full") as caught:
        await file_desk.runner().run("t", "long " * 5000, turn_id="long")
    await connection.execute_fetchall("PRAGMA max_page_count = 1000000")
    await file_desk.runner().run("t", "long " * 5000, turn_id="long")
    await file_desk.runner().run("t", "after")

    assert "Free some space" in caught.value.way_out
    assert [status for _, status, _, _ in await file_desk.transcript()] == ["done"] * 3
    assert len(await file_desk.words()) == 6


async def test_a_locked_transcript_is_said_so(file_desk: Desk) -> None:
    """Where another program holds the file, the error names that, and the message can be sent again."""
    await connection_of(file_desk.store).execute_fetchall("PRAGMA busy_timeout = 50")
    holder = sqlite3.connect(file_desk.data / "threads.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(ThreadError, match="locked") as caught:
            await file_desk.runner().run("t", "hello", turn_id="one")
    finally:
        holder.close()

    assert not isinstance(caught.value, ThreadBusy)
    assert (await file_desk.runner().run("t", "hello", turn_id="one"))["answer_text"] == "echo: hello"


# --------------------------------------------------------------------------------------------------- killed processes


@pytest.fixture
def turns(tmp_path: Path, url: str) -> Turns:
    return Turns(tmp_path, database=url)


async def run_here(turns: Turns, text: str, turn_id: str) -> dict[str, Any]:
    """Run a turn in this process, which is another than those that are killed."""
    async with open_desk(turns.data, turns.database) as desk:
        return await desk.runner().run("t", text, turn_id=turn_id)


async def resume_here(turns: Turns) -> list[dict[str, Any] | None]:
    """Finish what is half-finished in this process, and once more; return both results."""
    async with open_desk(turns.data, turns.database) as desk:
        return [await desk.runner().resume("t") for _ in range(2)]


async def everything(turns: Turns, thread: str = "t") -> tuple[list[tuple[int, str, str, str | None]], list[str]]:
    """Return a conversation's transcript, and what the graph's state remembers."""
    async with open_desk(turns.data, turns.database) as desk:
        return await desk.transcript(thread), await desk.words(thread)


@pytest.mark.slow
@pytest.mark.parametrize("name", NODES)
def test_a_turn_killed_in_any_node_is_finished_by_another_process(turns: Turns, name: str) -> None:
    """After kill -9 nothing is lost, no finished node runs again, and the answer is recorded once."""
    asyncio.run(run_here(turns, "hello", "one"))
    turns.run_and_kill("t", "two", "killed message", in_node=name)
    result, nothing = asyncio.run(resume_here(turns))
    transcript, words = asyncio.run(everything(turns))

    assert result is not None
    assert result["answer_text"] == "echo: killed message"
    assert nothing is None
    assert turns.nodes("end") == [*NODES, *NODES]
    at = NODES.index(name)
    assert turns.nodes("begin") == [*NODES, *NODES[: at + 1], *NODES[at:]]
    assert transcript == [(1, "done", "hello", "echo: hello"), (2, "done", "killed message", "echo: killed message")]
    assert words == ["hello", "echo: hello", "killed message", "echo: killed message"]


@pytest.mark.slow
def test_a_killed_first_turn_is_finished_before_the_next_message(turns: Turns) -> None:
    """Another process's message, sent after the kill, comes second, and both are answered."""
    turns.run_and_kill("t", "one", "hello", in_node="search")
    asyncio.run(run_here(turns, "goodbye", "two"))
    transcript, words = asyncio.run(everything(turns))

    assert transcript == [(1, "done", "hello", "echo: hello"), (2, "done", "goodbye", "echo: goodbye")]
    assert words == ["hello", "echo: hello", "goodbye", "echo: goodbye"]
    assert turns.nodes("end") == [*NODES, *NODES]


@pytest.mark.slow
def test_two_processes_at_once_lose_no_message(turns: Turns) -> None:
    """Both turns are in the transcript and in the state, one wholly after the other."""
    processes = [turns.run("t", text, text) for text in ("first", "second")]
    answers = [outcome_of(process)["answer_text"] for process in processes]
    transcript, words = asyncio.run(everything(turns))

    assert answers == ["echo: first", "echo: second"]
    assert sorted(question for _, _, question, _ in transcript) == ["first", "second"]
    assert [number for number, _, _, _ in transcript] == [1, 2]
    assert words == [text for _, _, question, answer in transcript for text in (question, answer)]
    assert turns.nodes("begin") == turns.nodes("end") == [*NODES, *NODES]
    assert len({line.split()[2] for line in turns.log()[2:10] if "ready" not in line}) == 1


@pytest.mark.slow
def test_the_same_message_from_two_processes_is_run_once(turns: Turns) -> None:
    """Both processes print the same result of one run."""
    first, second = (turns.run("t", "one", "hello") for _ in range(2))

    assert outcome_of(first) == outcome_of(second)
    assert turns.nodes("begin") == [*NODES]


@pytest.mark.slow
def test_a_stopped_process_keeps_its_turn(turns: Turns) -> None:
    """A process that only stands still is not robbed of its turn, and finishes it when it goes on."""
    stopped = turns.run("t", "one", "hello")
    turns.wait_for("begin search", stopped)
    stopped.send_signal(signal.SIGSTOP)
    refused = turns.run("t", "two", "goodbye", "--wait-s", "1")
    _, complaint = refused.communicate(timeout=60)
    stopped.send_signal(signal.SIGCONT)

    assert refused.returncode == 3
    assert complaint.startswith("ThreadBusy: ")
    assert outcome_of(stopped)["answer_text"] == "echo: hello"
    assert turns.nodes("end") == [*NODES]


@pytest.mark.slow
def test_no_answered_message_is_lost_by_kills_at_any_moment(tmp_path: Path, url: str) -> None:
    """Over kills at random moments of a fast chat, pruning included, every message is answered once and in order."""
    turns = Turns(tmp_path, graph="tests.support.kill_helpers_graph:quick_graph", database=url)
    dice = random.Random(7)  # noqa: S311  # moments to kill at, not secrets
    transcript: list[tuple[int, str, str, str | None]] = []
    for _ in range(6):
        first = 1 + len(transcript)
        process = turns.chat("t", first=first)
        turns.wait_for(f"answered {first + dice.randrange(2, 6)}", process)
        time.sleep(dice.uniform(0.0, 0.03))
        kill(process)
        answered = [int(line.split()[1]) for line in turns.log() if line.startswith("answered")]
        transcript, _ = asyncio.run(everything(turns))
        done = [number for number, status, _, _ in transcript if status == "done"]
        assert set(answered) <= set(done)
    asyncio.run(resume_here(turns))
    transcript, words = asyncio.run(everything(turns))

    assert len(transcript) > 18
    assert transcript == [
        (number, "done", f"message {number}", f"echo: message {number}") for number in range(1, len(transcript) + 1)
    ]
    assert words == [text for _, _, question, answer in transcript for text in (question, answer)]
