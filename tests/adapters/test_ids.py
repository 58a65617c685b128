"""The newest step of a thread is the one that was stored last, whatever the clock says."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from operator import add
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base import id as maker
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from adapters.checkpoints.ids import raise_floor, time_of
from adapters.checkpoints.sqlite import PruningSqliteSaver, open_saver
from contracts.errors import ConfigError, ThreadError
from tests.support.clock import HOUR, MOVES, YEAR, Clock, clock
from tests.support.storage import open_storage
from tests.support.turn import place

__all__ = ["clock"]

HIGHEST = "ffffffff-ffff-6fff-bfff-ffffffffffff"
"""No id of version 6 is above it."""


class State(TypedDict):
    said: Annotated[list[str], add]


def parrot(saver: Any, ran: list[str] | None = None) -> Any:
    """Return a graph of two nodes that say what they were told, and note that they ran."""
    noted = [] if ran is None else ran

    async def hear(state: State) -> dict:
        noted.append("hear")
        return {}

    async def speak(state: State) -> dict:
        noted.append("speak")
        return {"said": [state["said"][-1].upper()]}

    builder = StateGraph(State)
    builder.add_node("hear", hear)
    builder.add_node("speak", speak)
    for before, after in ((START, "hear"), ("hear", "speak"), ("speak", END)):
        builder.add_edge(before, after)
    return builder.compile(checkpointer=saver)


async def say(graph: Any, text: str, config: Any = None, durability: Literal["sync", "async", "exit"] = "sync") -> None:
    config = {**(config or place()), "metadata": {"run_id": text}}
    await graph.ainvoke({"said": [text]}, config, durability=durability)


async def said(graph: Any, thread: str = "t") -> list[str]:
    return (await graph.aget_state(place(thread))).values["said"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "threads.db"


@pytest.fixture
async def saver(path: Path) -> AsyncIterator[PruningSqliteSaver]:
    async with open_saver(path) as opened:
        yield opened


@pytest.fixture(params=["sqlite", "postgres"])
async def either(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    """Return the saver of each engine."""
    url = request.getfixturevalue("database_url") if request.param == "postgres" else ""
    async with open_storage(tmp_path, url) as storage:
        yield storage.saver


# ------------------------------------------------------------------------------------------------- what LangGraph does


def test_langgraph_s_ids_are_still_made_as_is_thought(clock: Clock) -> None:
    """Without the floor an id follows the clock back; with it, each is above the one that it was raised to."""
    clock.wrong_by_s = YEAR
    ahead = empty_checkpoint()["id"]
    clock.restart(0)
    behind = empty_checkpoint()["id"]
    raise_floor(ahead)
    above = [empty_checkpoint()["id"] for _ in range(3)]

    assert behind < ahead < above[0] < above[1] < above[2]
    assert UUID(ahead).version == 6
    assert time_of(above[0]) == (time_of(ahead) or 0) + 1


def test_an_older_id_does_not_lower_the_floor(clock: Clock) -> None:
    """A thread that was last used long ago takes nothing from one that is ahead."""
    old = empty_checkpoint()["id"]
    clock.wrong_by_s = YEAR
    new = empty_checkpoint()["id"]
    clock.wrong_by_s = 0
    raise_floor(old)
    raise_floor(None)

    assert empty_checkpoint()["id"] > new


@pytest.mark.parametrize("odd", ["", "zz", "0", str(UUID(int=7, version=4)), HIGHEST])
def test_an_id_that_no_clock_made_is_left_out(clock: Clock, odd: str) -> None:
    """Ids of other kinds, and one that leaves no room above, change nothing for anybody else."""
    before = empty_checkpoint()["id"]
    raise_floor(odd)
    after = empty_checkpoint()["id"]

    assert before < after < "20000000"


async def test_a_langgraph_with_other_ids_is_refused(
    saver: PruningSqliteSaver, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the floor is not what it was, no turn is run, and the error says what to install."""
    ran: list[str] = []
    monkeypatch.delattr(maker, "_last_v6_timestamp")
    with pytest.raises(ConfigError, match="ids of checkpoints") as caught:
        await say(parrot(saver, ran), "one")

    assert "requirements.lock" in caught.value.way_out
    assert ran == []


# --------------------------------------------------------------------------------------------------- the newest is last


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("wrong_by_s", MOVES)
async def test_what_was_said_last_is_last(
    either: Any, clock: Clock, wrong_by_s: int, durability: Literal["sync", "async", "exit"]
) -> None:
    """Over a clock that is wrong for one turn and right for the next, each turn goes on from the one before."""
    graph = parrot(either)
    for number, off in enumerate((0, wrong_by_s, 0, -wrong_by_s, 0)):
        clock.restart(off)
        await say(graph, f"m{number}", durability=durability)

    assert await said(graph) == [text for n in range(5) for text in (f"m{n}", f"M{n}")]


async def test_a_change_and_a_fork_of_an_older_step_are_the_newest(either: Any, clock: Clock) -> None:
    """After the clock was set back, what is changed is the newest step, also where it is made from an older one."""
    graph = parrot(either)
    clock.restart(YEAR)
    await say(graph, "one")
    begun = [snapshot async for snapshot in graph.aget_state_history(place())][-2].config
    clock.restart(0)
    await graph.aupdate_state(place(), {"said": ["changed"]}, as_node="speak")
    assert await said(graph) == ["one", "ONE", "changed"]

    clock.restart(-YEAR)
    await graph.aupdate_state(begun, {"said": ["forked"]}, as_node="speak")
    assert await said(graph) == ["one", "forked"]

    clock.restart(0)
    await say(graph, "two")
    assert await said(graph) == ["one", "forked", "two", "TWO"]


async def test_a_copied_thread_goes_on_above_its_copied_ids(either: Any, clock: Clock) -> None:
    """The ids of a copy are those of its original, and a turn in either is above them."""
    graph = parrot(either)
    clock.restart(HOUR)
    await say(graph, "one")
    await either.acopy_thread("t", "copy")
    clock.restart(0)
    await say(graph, "two", place("copy"))
    clock.restart(0)
    await say(graph, "three")

    assert await said(graph, "copy") == ["one", "ONE", "two", "TWO"]
    assert await said(graph) == ["one", "ONE", "three", "THREE"]


async def test_the_ids_of_subgraphs_count_too(saver: PruningSqliteSaver, clock: Clock) -> None:
    """A subgraph that remembers finds its own newest step, and its ids do not fall behind the outer graph's."""

    async def count(state: State) -> dict:
        return {"said": [str(len(state["said"]))]}

    inner = StateGraph(State)
    inner.add_node("count", count)
    inner.add_edge(START, "count")
    outer = StateGraph(State)
    outer.add_node("inner", inner.compile(checkpointer=True))
    outer.add_edge(START, "inner")
    graph = outer.compile(checkpointer=saver)
    highest = []
    for number, off in enumerate((0, YEAR, 0, -YEAR)):
        clock.restart(off)
        await say(graph, f"m{number}")
        [[newest]] = await saver.conn.execute_fetchall("SELECT max(checkpoint_id) FROM checkpoints")
        highest.append(newest)

    heard = (await graph.aget_state({"configurable": {"thread_id": "t", "checkpoint_ns": "inner"}})).values["said"]
    assert highest == sorted(set(highest))
    assert [text for text in dict.fromkeys(heard) if text.startswith("m")] == ["m0", "m1", "m2", "m3"]


async def test_many_threads_of_one_process_do_not_disturb_each_other(either: Any, clock: Clock) -> None:
    """Of ten threads at once, half of them from a clock that was ahead, each keeps its own order."""
    graph = parrot(either)
    clock.restart(YEAR)
    await asyncio.gather(*(say(graph, "m0", place(str(thread))) for thread in range(0, 10, 2)))
    clock.restart(0)
    for number in range(1, 4):
        await asyncio.gather(*(say(graph, f"m{number}", place(str(thread))) for thread in range(10)))

    for thread in range(10):
        first = thread % 2
        assert await said(graph, str(thread)) == [text for n in range(first, 4) for text in (f"m{n}", f"M{n}")]


# ------------------------------------------------------------------------------------------------ what cannot be newest


async def test_a_step_below_the_newest_is_refused(saver: PruningSqliteSaver, path: Path) -> None:
    """It would never be found again; the error says so, and the thread stays as it was."""
    old, new = empty_checkpoint(), empty_checkpoint()
    await saver.aput(place(checkpoint_ns=""), new, {"source": "loop", "step": 1}, {})
    with pytest.raises(ThreadError, match="a later one is there") as caught:
        await saver.aput(place(checkpoint_ns=""), old, {"source": "loop", "step": 2}, {})

    assert caught.value.way_out
    stored = await saver.aget_tuple(place())
    assert stored is not None
    assert (stored.checkpoint["id"], stored.metadata.get("step")) == (new["id"], 1)


async def test_a_step_may_be_stored_once_more_and_beside_another_namespace(saver: PruningSqliteSaver) -> None:
    """A checkpoint replaces the one of its own id, and a namespace is not measured by another one."""
    old, new = empty_checkpoint(), empty_checkpoint()
    for checkpoint in (old, new, old):
        await saver.aput(place(checkpoint_ns=""), checkpoint, {"source": "loop", "step": 1}, {})
    await saver.aput(place(checkpoint_ns="inner"), old, {"source": "loop", "step": 1}, {})

    assert len([step async for step in saver.alist(place())]) == 3


@pytest.mark.parametrize("foreign", ["zz", HIGHEST])
async def test_a_thread_that_no_id_can_be_above_stops_before_its_second_node(
    saver: PruningSqliteSaver, path: Path, foreign: str
) -> None:
    """A turn that could only be given an old answer does not go on to what has effects outside; others do."""
    ran: list[str] = []
    graph = parrot(saver, ran)
    await say(graph, "one")
    with sqlite3.connect(path) as connection:
        connection.execute(
            "UPDATE checkpoints SET checkpoint_id = ? WHERE checkpoint_id = (SELECT max(checkpoint_id) FROM checkpoints)",
            (foreign,),
        )
    connection.close()
    ran.clear()
    with pytest.raises(ThreadError, match="a later one is there"):
        await say(graph, "two")
    assert "speak" not in ran

    await say(graph, "one", place("other"))
    assert await said(graph, "other") == ["one", "ONE"]
