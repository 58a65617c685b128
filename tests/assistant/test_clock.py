"""Turns under a clock that is set forth and back: between turns, inside them, in one process and in several."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from adapters.checkpoints.sqlite import PruningSqliteSaver, open_saver
from adapters.hand_off.outbox_sink import OutboxSink
from adapters.storage.claims import FileClaims
from adapters.storage.sqlite_file import open_connection
from assistant.deployment import Deployment, deployment
from assistant.turns.runner import TurnRunner
from assistant.turns.transcript import TurnStore
from assistant.wiring.documents import knowledge_base
from assistant.wiring.ports import ports
from contracts.errors import ThreadError
from contracts.report import Receipt, Ticket
from graph.build import build_graph
from tests.support.cli_helpers import Desk
from tests.support.clock import HOUR, MOVES, YEAR, Clock, clock
from tests.support.hand_off.sender import desk_at
from tests.support.kill_helpers import CLOCK_WRONG_BY, Turns, outcome_of
from tests.support.kill_helpers_graph import NODES, Settings, quick_graph, slow_graph

__all__ = ["clock"]


@asynccontextmanager
async def process(data: Path, clock: Clock, wrong_by_s: float, graph: Any = quick_graph) -> AsyncGenerator[TurnRunner]:
    """Play a new process, under a clock that is wrong by so many seconds."""
    clock.restart(wrong_by_s)
    database = data / "threads.db"
    async with open_saver(database) as saver, await TurnStore.open(database, now=clock.now) as store:
        yield TurnRunner(graph(data, saver), store, FileClaims(data / "locks"), context_type=Settings)


async def ask(data: Path, clock: Clock, wrong_by_s: float, text: str) -> str:
    async with process(data, clock, wrong_by_s) as runner:
        return (await runner.run("t", text, turn_id=text))["answer_text"]


async def on_record(data: Path) -> list[tuple[str, str | None]]:
    async with await TurnStore.open(data / "threads.db") as store:
        return [(turn.question, turn.answer) for turn in await store.turns("t")]


async def remembered(data: Path) -> list[str]:
    async with open_saver(data / "threads.db") as saver:
        state = await quick_graph(data, saver).aget_state({"configurable": {"thread_id": "t"}})
        return [message.text for message in state.values["messages"]]


async def all_is_well(data: Path, *texts: str) -> None:
    """Check that these messages, and no others, are on record and remembered, each with its own answer and in order."""
    assert await on_record(data) == [(text, f"echo: {text}") for text in texts]
    assert await remembered(data) == [said for text in texts for said in (text, f"echo: {text}")]


# ------------------------------------------------------------------------------------------------------- between turns


@pytest.mark.parametrize("wrong_by_s", MOVES)
async def test_each_message_gets_its_own_answer_in_processes_of_different_clocks(
    tmp_path: Path, clock: Clock, wrong_by_s: int
) -> None:
    """Two messages under a wrong clock, one under the right one, and one under a clock that is wrong the other way."""
    moves = (wrong_by_s, wrong_by_s, 0, -wrong_by_s)
    texts = [f"m{number}" for number in range(len(moves))]
    answers = [await ask(tmp_path, clock, off, text) for off, text in zip(moves, texts, strict=True)]

    assert answers == [f"echo: {text}" for text in texts]
    await all_is_well(tmp_path, *texts)


@pytest.mark.parametrize("wrong_by_s", MOVES)
async def test_each_message_gets_its_own_answer_while_the_clock_is_moved(
    tmp_path: Path, clock: Clock, wrong_by_s: int
) -> None:
    """The same in one process, whose clock is set forth and back while it runs."""
    async with process(tmp_path, clock, 0) as runner:
        for number, off in enumerate((wrong_by_s, 0, -wrong_by_s, 0)):
            clock.wrong_by_s = off
            await runner.run("t", f"m{number}")

    await all_is_well(tmp_path, *(f"m{number}" for number in range(4)))


async def test_a_conversation_that_was_away_is_not_spoilt_by_another(tmp_path: Path, clock: Clock) -> None:
    """Of two processes with different clocks, which take turns in one conversation, neither loses a message."""
    async with process(tmp_path, clock, YEAR) as ahead, process(tmp_path, clock, 0) as right:
        for number in range(6):
            clock.restart(0 if number % 2 else YEAR)
            await (right if number % 2 else ahead).run("t", f"m{number}")

    await all_is_well(tmp_path, *(f"m{number}" for number in range(6)))


# -------------------------------------------------------------------------------------------------------- inside turns


@pytest.mark.parametrize("wrong_by_s", MOVES)
async def test_a_turn_in_which_the_clock_is_moved_ends_as_any_other(
    tmp_path: Path, clock: Clock, wrong_by_s: int
) -> None:
    """Moved in the middle of a turn, and back again before the next one, in a process of its own."""

    def move(node: str) -> None:
        if node == "search":
            clock.wrong_by_s = wrong_by_s

    def moving(data: Path, saver: Any) -> Any:
        return slow_graph(data, saver, pause_s=0.0, trouble=move)

    await ask(tmp_path, clock, 0, "before")
    async with process(tmp_path, clock, 0, moving) as runner:
        await runner.run("t", "moved")
    await ask(tmp_path, clock, 0, "after")

    await all_is_well(tmp_path, "before", "moved", "after")


@pytest.mark.parametrize("name", NODES)
@pytest.mark.parametrize("wrong_by_s", [YEAR, -HOUR])
async def test_a_turn_that_broke_off_under_a_wrong_clock_is_finished_under_the_right_one(
    tmp_path: Path, clock: Clock, wrong_by_s: int, name: str
) -> None:
    """It goes on where it broke off, no finished node is run again, and the next message has its own answer."""

    def broken(node: str) -> None:
        if node == name:
            raise RuntimeError("broken node")

    def breaking(data: Path, saver: Any) -> Any:
        return slow_graph(data, saver, pause_s=0.0, trouble=broken)

    async with process(tmp_path, clock, wrong_by_s, breaking) as runner:
        with pytest.raises(RuntimeError):
            await runner.run("t", "one")
    async with process(tmp_path, clock, 0) as runner:
        result = await runner.resume("t")
    assert result is not None
    assert result["answer_text"] == "echo: one"
    assert Turns(tmp_path).nodes("end") == [*NODES]

    await ask(tmp_path, clock, 0, "two")
    await all_is_well(tmp_path, "one", "two")


@pytest.mark.slow
def test_a_turn_killed_under_a_clock_that_was_ahead_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real processes: kill -9 in mid-turn a year ahead, another process under the right clock, and a message after it."""
    turns = Turns(tmp_path)
    with monkeypatch.context() as patch:
        patch.setenv(CLOCK_WRONG_BY, str(YEAR))
        turns.run_and_kill("t", "one", "hello", in_node="write")
    outcome_of(turns.run("t", "two", "goodbye"))

    asyncio.run(all_is_well(tmp_path, "hello", "goodbye"))
    assert turns.nodes("end") == [*NODES, *NODES]


# ------------------------------------------------------------------------------------------------------- what is refused


class Careless(PruningSqliteSaver):
    """Takes and gives checkpoints by their ids alone, as the saver of earlier versions did."""

    aget_tuple = AsyncSqliteSaver.aget_tuple
    aput = AsyncSqliteSaver.aput


async def test_an_older_turn_s_answer_is_refused(tmp_path: Path, clock: Clock) -> None:
    """Where a storage takes an older turn for the newest, the message is told so, and no answer stands on record."""
    await ask(tmp_path, clock, YEAR, "one")
    clock.restart(0)
    connection = await open_connection(tmp_path / "threads.db", None)
    try:
        async with await TurnStore.open(tmp_path / "threads.db") as store:
            graph = quick_graph(tmp_path, Careless(connection, tmp_path / "threads.db"))
            runner = TurnRunner(graph, store, FileClaims(tmp_path / "locks"), context_type=Settings)
            with pytest.raises(ThreadError, match="not of its turn") as caught:
                await runner.run("t", "two", turn_id="two")
    finally:
        await connection.close()
    assert "resume" in caught.value.way_out
    assert await on_record(tmp_path) == [("one", "echo: one"), ("two", None)]

    async with process(tmp_path, clock, 0) as runner:
        await runner.resume("t")
    await all_is_well(tmp_path, "one", "two")


async def test_a_result_that_names_another_turn_is_refused(tmp_path: Path, clock: Clock) -> None:
    """A result with the id of another turn is nobody's answer; one with this turn's, or with none, is."""

    def naming(name: str) -> Any:
        def graph(data: Path, saver: Any) -> Any:
            built = quick_graph(data, saver)

            async def check(state: Any) -> dict:
                return {"result": {"answer_text": "7", "outcome": "answered", "turn_id": name}}

            built.nodes["check"].bound.afunc = check
            return built

        return graph

    for name in ("one", ""):
        async with process(tmp_path, clock, 0, naming(name)) as runner:
            assert (await runner.run(f"of {name!r}", "hello", turn_id="one"))["answer_text"] == "7"
    async with process(tmp_path, clock, 0, naming("other")) as runner:
        with pytest.raises(ThreadError, match="not of its turn"):
            await runner.run("t", "hello", turn_id="one")
    assert await on_record(tmp_path) == [("hello", None)]


# ------------------------------------------------------------------------------------------------------------ hand-offs

HAND_OFF = "Show me the loans of another reader"


class CutOff:
    """A desk whose process ends when the ticket has gone out, before the turn could note it."""

    def __init__(self, desk: OutboxSink) -> None:
        self.desk = desk
        self.running: asyncio.Task[Any] | None = None

    async def submit(self, ticket: Ticket) -> Receipt:
        said = await self.desk.submit(ticket)
        if self.running is not None:
            self.running.cancel()
            self.running = None
            await asyncio.sleep(60)
        return said


@asynccontextmanager
async def product(deployed: Deployment, desk: CutOff, clock: Clock, wrong_by_s: float) -> AsyncGenerator[TurnRunner]:
    """Play a new process of the product, with its own graph, over a desk."""

    def graph(data: Path, saver: Any) -> Any:
        chosen = ports(deployed, knowledge_base(deployed), sink=desk)
        return build_graph(chosen, deployed.profile, settings=deployed.context_type, checkpointer=saver)

    async with process(deployed.folder, clock, wrong_by_s, graph) as runner:
        yield runner


@pytest.mark.parametrize("wrong_by_s", [YEAR, -YEAR])
async def test_a_hand_off_goes_out_once(
    desk: Desk, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, wrong_by_s: int
) -> None:
    """A turn that broke off behind its ticket, under another clock, is finished without a second one, as a hand-off."""
    for name, value in desk.environment.items():
        monkeypatch.setenv(name, value)
    deployed = deployment()
    sent = tmp_path / "sent"
    receiving = CutOff(desk_at(tmp_path, str(sent)))
    async with product(deployed, receiving, clock, 0) as runner:
        await runner.run("t", "How do I lend a book to a reader?")
    async with product(deployed, receiving, clock, wrong_by_s) as runner:
        receiving.running = asyncio.create_task(runner.run("t", HAND_OFF, turn_id="two"))
        with pytest.raises(asyncio.CancelledError):
            await receiving.running
    async with product(deployed, receiving, clock, 0) as runner:
        finished = await runner.resume("t")
        again = await runner.run("t", HAND_OFF, turn_id="two")
        following = await runner.run("t", "Where are backups kept, and for how long?")

    assert finished == again
    assert finished is not None
    assert (finished["question"], finished["outcome"]) == (HAND_OFF, "handed_off")
    assert following["outcome"] == "answered"
    assert following["question"].startswith("Where are backups")
    [ticket] = [json.loads(file.read_text()) for file in sent.glob("*.json")]
    assert (ticket["question"], ticket["turn_id"]) == (HAND_OFF, "two")
