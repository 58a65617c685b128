"""Two servers over one storage, of either engine: what one does for the callers of the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from assistant.deployment import deployment
from assistant.service import Caller, Question, Service, open_service
from assistant.turns.events import TurnEvent
from assistant.turns.running_turn import RunningTurn
from contracts.enums import Outcome
from contracts.errors import ServerClosing, TurnStopped
from tests.support.cli_helpers import ANSWER, QUESTION, Desk
from tests.support.wire.server_process import FakeServer, fake_server

ANNA = Caller("anna")
ASKED = Question(QUESTION, thread="t", turn_id="1")


@pytest.fixture(scope="module")
def model() -> Iterator[FakeServer]:
    with fake_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def shared(request: pytest.FixtureRequest, desk: Desk, model: FakeServer) -> Desk:
    """A desk with a language model and a storage that both servers use."""
    model.reset()
    url = request.getfixturevalue("database_url") if request.param == "postgres" else ""
    return desk.having(
        GUARDIAN_MODEL="fake-model", OPENAI_BASE_URL=model.url, OPENAI_API_KEY="none", GUARDIAN_DATABASE=url
    )


@asynccontextmanager
async def open_two(desk: Desk) -> AsyncGenerator[tuple[Service, Service]]:
    deployed = deployment(environment=desk.environment)
    async with open_service(deployed) as one, open_service(deployed) as other:
        yield one, other


async def see(live: RunningTurn, node: str) -> list[TurnEvent]:
    """Follow a turn until a node has begun, and return what was told until then."""
    told: list[TurnEvent] = []
    async with asyncio.timeout(60):
        async for event in live.follow():
            told.append(event)
            if event.kind == "node_started" and event.node == node:
                return told
    raise AssertionError(f"{node} never began: {told}")


async def test_a_turn_is_followed_and_its_message_answered_at_another_server(shared: Desk, model: FakeServer) -> None:
    """Both see the same nodes, one of them runs them, and both get the one answer."""
    async with open_two(shared) as (one, other):
        with model.held():
            first = one.begin(ANNA, ASKED)
            begun = await see(first, "sgr_plan")
            again = other.begin(ANNA, ASKED)
            joined = await other.join(ANNA, "t")
            assert joined is again
            assert await see(again, "sgr_plan") == begun
            assert not again.ran
        results = await asyncio.gather(first.result(), again.result())
        assert results[0] == results[1]
        assert results[0].outcome is Outcome.ANSWERED
        assert len(await other.turns(ANNA, "t")) == 1


async def test_a_turn_of_another_server_is_shown_and_stopped(shared: Desk, model: FakeServer) -> None:
    """Whoever opens its conversation elsewhere sees it run; stopped there, it is over for all, and on record as stopped."""
    async with open_two(shared) as (one, other):
        with model.held():
            first = one.begin(ANNA, ASKED)
            await see(first, "sgr_plan")
            shown = await other.join(ANNA, "t")
            assert shown is not None
            await see(shown, "sgr_plan")
            assert await other.stop(ANNA, "t")
            for live in (first, shown):
                with pytest.raises(TurnStopped):
                    await live.result()
        [turn] = await one.turns(ANNA, "t")
        assert turn.result
        assert turn.result["block_reason"] == "stopped"
        assert await other.join(ANNA, "t") is None
        assert not await other.stop(ANNA, "t")


async def test_a_half_finished_turn_that_nobody_runs_is_not_joined(shared: Desk, model: FakeServer) -> None:
    """It waits for its user, as ever, and any server finishes it."""
    async with open_two(shared) as (one, other):
        with model.held():
            async with one.asking(ANNA, ASKED) as live:
                await see(live, "sgr_plan")
        assert await other.join(ANNA, "t") is None
        resumed = await other.resume(ANNA, "t")
        assert resumed is not None
        assert (await resumed.result()).outcome is Outcome.ANSWERED


async def test_looking_at_a_half_finished_conversation_finishes_nothing(shared: Desk, model: FakeServer) -> None:
    """However often it is opened at once, at both servers, and while its claim is held for something else."""
    async with open_two(shared) as (one, other):
        with model.held():
            async with one.asking(ANNA, ASKED) as live:
                await see(live, "sgr_plan")
        looks = await asyncio.gather(*(server.join(ANNA, "t") for server in (one, other) * 5))
        for look in filter(None, looks):
            with pytest.raises(ServerClosing):
                await look.result()
        [turn] = await one.turns(ANNA, "t")
        assert turn.status == "running"


async def test_a_stopped_turn_is_finished_by_no_message_that_waits_elsewhere(shared: Desk, model: FakeServer) -> None:
    """The turn stays stopped, and the message behind it, at the other server, is answered."""
    behind = Question("How bright is a reading lamp?", thread="t", turn_id="2")
    async with open_two(shared) as (one, other):
        with model.held():
            first = one.begin(ANNA, ASKED)
            await see(first, "sgr_plan")
            second = other.begin(ANNA, behind)
            await asyncio.sleep(0.2)
            assert await one.stop(ANNA, "t")
        # Neither is stopped with it, nor what the other server's message would have finished on its way.
        await second.result()
        stopped, answered = await one.turns(ANNA, "t")
        assert stopped.result
        assert answered.result
        assert stopped.result["block_reason"] == "stopped"
        assert answered.result["block_reason"] != "stopped"


async def test_a_message_that_waits_behind_a_turn_that_is_stopped_from_elsewhere_is_answered(
    shared: Desk, model: FakeServer
) -> None:
    """Only the turn ends that somebody wants stopped, at the server that runs it, too."""
    behind = Question("How bright is a reading lamp?", thread="t", turn_id="2")
    async with open_two(shared) as (one, other):
        with model.held():
            first = one.begin(ANNA, ASKED)
            await see(first, "sgr_plan")
            second = one.begin(ANNA, behind)
            assert await other.stop(ANNA, "t")
            with pytest.raises(TurnStopped):
                await first.result()
        await second.result()
        assert [turn.result["block_reason"] == "stopped" for turn in await one.turns(ANNA, "t") if turn.result] == [
            True,
            False,
        ]


async def test_a_half_finished_turn_is_stopped_while_another_message_finishes_it(
    shared: Desk, model: FakeServer
) -> None:
    """A server that finishes an older turn on the way to a new message stops it when somebody elsewhere wants that."""
    async with open_two(shared) as (one, other):
        with model.held():
            async with one.asking(ANNA, ASKED) as live:
                await see(live, "sgr_plan")
            later = one.begin(ANNA, Question("How bright is a reading lamp?", thread="t", turn_id="2"))
            await see(later, "sgr_plan")
            assert await other.stop(ANNA, "t")
            with pytest.raises(TurnStopped):
                await later.result()
        [turn] = await one.turns(ANNA, "t")
        assert turn.result
        assert turn.result["block_reason"] == "stopped"


async def test_whoever_only_watches_keeps_nobody_from_sending_the_message_again(
    shared: Desk, model: FakeServer
) -> None:
    """The server that worked on it is gone: the same message, sent to the one that watched, is answered there."""
    async with open_two(shared) as (one, other):
        with model.held():
            first = one.begin(ANNA, ASKED)
            await see(first, "sgr_plan")
            watched = await other.join(ANNA, "t")
            assert watched is not None
            await one.drain(0)
            again = other.begin(ANNA, ASKED)
            assert again is not watched
        assert (await again.result()).outcome is Outcome.ANSWERED


def test_the_index_and_the_conversations_may_be_in_one_database(desk: Desk, tmp_path: Path, database_url: str) -> None:
    """Both are made there, each in tables of its own; what empties one leaves the other alone."""
    # New: each of the two was tested alone.
    both = replace(desk, data=tmp_path / "data").having(GUARDIAN_DATABASE=database_url, GUARDIAN_INDEX_URL=database_url)
    both.index()
    assert ANSWER in both.here("ask", QUESTION, "--thread", "t").out
    assert [thread["thread_id"] for thread in both.here("threads", "list", "--json").json] == ["t"]
    assert both.here("keys", "add", "anna").code == 0
    both.here("threads", "delete", "t")
    assert ANSWER in both.here("ask", QUESTION, "--thread", "u").out
    with psycopg.connect(database_url) as connection:
        rows = connection.execute("SELECT DISTINCT schemaname FROM pg_tables WHERE schemaname !~ '^(pg_|information)'")
        assert {schema for (schema,) in rows} == {"public", "guardian", f"guardian_{desk.folder.name}"}
