from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint

from adapters.hand_off.folder import HandOffFolder
from adapters.hand_off.outbox import Outbox
from adapters.hand_off.outbox_sink import OutboxSink
from adapters.storage.claims import Claim, current_claim, hold_claim
from adapters.storage.database import Database, Fenced
from adapters.storage.postgres import PostgresDatabase, Server
from adapters.storage.postgres_claims import PostgresClaims
from assistant.turns.runner import TurnRunner
from contracts.errors import ThreadBusy
from tests.support.hand_off.receiver import ticket
from tests.support.kill_helpers import Turns, outcome_of
from tests.support.kill_helpers_graph import NODES, Settings, quick_graph, slow_graph
from tests.support.storage import Storage, open_storage

RESULT: dict[str, Any] = {"answer_text": "late", "outcome": "answered"}


async def end_sessions(url: str, name: str) -> int:
    """End the sessions of claims of a schema's processes, as a server that breaks does; return how many there were."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        cursor = await connection.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = %s", (name,)
        )
        [(ended,)] = await cursor.fetchall()
        return ended


def place(thread: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}


async def test_a_claim_has_one_holder_however_many_ask_at_once(storage: Storage, data: Path, engine: str) -> None:
    """Of twenty that ask in two processes' storages one gets it; it is free again as soon as the holder is done."""
    async with open_storage(data, engine) as other:
        claims = [storage.claims, other.claims] * 10
        taken = [claim for claim in await asyncio.gather(*(one.take("t") for one in claims)) if claim]
        assert len(taken) == 1
        assert await other.claims.take("another") is not None
        for one in (storage.claims, other.claims):
            await one.release(taken[0])
        again = await other.claims.take("t")
        assert again is not None
        assert again.epoch == (taken[0].epoch + 1 if engine else 0)


async def test_a_claim_that_is_taken_for_nobody_is_free(storage: Storage) -> None:
    """Whoever is cancelled while a claim is being taken keeps it from nobody."""
    for pause in range(6):
        task = asyncio.create_task(_hold(storage, pause))
        for _ in range(pause):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
    async with asyncio.timeout(30):
        while await storage.claims.take("t") is None:  # noqa: ASYNC110  # the storage tells nobody
            await asyncio.sleep(0.01)


async def test_a_look_at_a_claim_takes_it_from_nobody(storage: Storage, data: Path, engine: str) -> None:
    """However many look at once, also if they are cancelled, what nobody holds is free, and what is held is said to be."""
    async with open_storage(data, engine) as other:
        looks = [asyncio.ensure_future(one.claims.is_held("t")) for one in (storage, other) * 10]
        await asyncio.sleep(0)
        looks[0].cancel()
        assert await asyncio.gather(*looks[1:]) == [False] * 19
        claim = await storage.claims.take("t")
        assert claim is not None
        assert await other.claims.is_held("t")
        assert await storage.claims.is_held("t")
        await storage.claims.release(claim)
        assert not await other.claims.is_held("t")


async def test_whoever_is_cancelled_again_and_again_leaves_the_conversation_free(storage: Storage, data: Path) -> None:
    """As a scope of tasks does that is closed: the next message of the conversation is answered."""
    runner = TurnRunner(
        slow_graph(data, storage.saver, pause_s=0.01), storage.store, storage.claims, context_type=Settings
    )
    for number in range(12):
        task = asyncio.create_task(runner.run("t", f"m{number}", turn_id=str(number)))
        await asyncio.sleep(0.004 * number)
        while not task.done():
            task.cancel()
            await asyncio.sleep(0)
    assert (await runner.run("t", "last", turn_id="last"))["answer_text"] == "echo: last"


async def _hold(storage: Storage, pause: int) -> None:
    async with hold_claim(storage.claims, "t", 0.0):
        await asyncio.sleep(pause)


@pytest.mark.parametrize(("later", "token"), [(6, ""), (0, "0" * 16)])
async def test_nothing_is_written_for_a_claim_that_is_over(on_server: Storage, later: int, token: str) -> None:
    """Neither the transcript nor a step takes anything in the name of another epoch, or of its own with another's token."""
    claim = await on_server.claims.take("t")
    assert claim is not None
    await on_server.store.begin("t", "one", "?", None)
    wrong = Claim("t", claim.epoch + later, token or claim.token)
    for held, counts in ((wrong, False), (claim, True)):
        reset = current_claim.set(held)
        try:
            for write in (
                lambda: on_server.store.finish("t", "one", RESULT),
                lambda: on_server.saver.aput(place("t"), empty_checkpoint(), {}, {}),
                lambda: on_server.saver.aput_writes(
                    {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "c"}}, [("a", 1)], "task"
                ),
                lambda: on_server.saver.adelete_thread("t"),
            ):
                if counts:
                    await write()
                else:
                    with pytest.raises(Fenced):
                        await write()
        finally:
            current_claim.reset(reset)
        [turn] = await on_server.store.turns("t")
        assert turn.status == ("done" if counts else "running")


async def test_a_turn_whose_session_was_ended_gets_the_answer_of_who_took_over(
    on_server: Storage, data: Path, postgres_server: str
) -> None:
    """Its own late steps are refused, and both callers get one answer of one whole run."""
    gate = asyncio.Event()
    began = asyncio.Event()

    def runner_of(storage: Storage, **settings: Any) -> TurnRunner:
        graph = quick_graph(data, storage.saver)
        return TurnRunner(graph, storage.store, storage.claims, context_type=Settings, **settings)

    async def admit() -> None:
        began.set()
        await gate.wait()

    async with open_storage(data, postgres_server) as other:
        slow = asyncio.create_task(runner_of(on_server).run("t", "hello", turn_id="one", admit=admit))
        await began.wait()
        with pytest.raises(ThreadBusy):
            await runner_of(other, wait_s=0.1).run("t", "hello", turn_id="one")
        assert isinstance(on_server.claims, PostgresClaims)
        assert await end_sessions(postgres_server, on_server.claims.holder) >= 1
        quick = await runner_of(other).run("t", "hello", turn_id="one")
        gate.set()
        assert await slow == quick
        assert [turn.number for turn in await other.store.turns("t")] == [1]
    assert Turns(data).nodes("end") == [*NODES]


@pytest.mark.slow
def test_a_process_that_stands_still_is_taken_over_on_a_server(data: Path, postgres_server: str) -> None:
    """After its silence another process finishes its turn; when it goes on, it gives the other's answer, and adds nothing."""
    turns = Turns(data, database=postgres_server, silent_s=1.0)
    stopped = turns.run("t", "one", "hello")
    turns.wait_for("begin search", stopped)
    stopped.send_signal(signal.SIGSTOP)
    quick, said = (other := turns.run("t", "one", "hello")).communicate(timeout=60)
    stopped.send_signal(signal.SIGCONT)
    assert outcome_of(stopped) == json.loads(quick)
    assert other.returncode == 0
    assert "has been silent for 1 s" in said

    async def transcript() -> list[tuple[int, str]]:
        async with open_storage(data, postgres_server) as storage:
            return [(turn.number, turn.status) for turn in await storage.store.turns("t")]

    assert asyncio.run(transcript()) == [(1, "done")]
    assert turns.nodes("end").count("check") == 1


async def test_eight_first_starts_at_once_make_one_set_of_tables(data: Path, postgres_server: str) -> None:
    """Each of them can use what one of them made."""
    server = Server(postgres_server, f"test_{data.name}")
    opened = await asyncio.gather(*(PostgresDatabase.open(server) for _ in range(8)))
    for database in opened:
        assert await database.rows("SELECT count(*) FROM schema_version") == [(1,)]
        await database.close()


class _Beside:
    """The table of hand-offs in a storage that is open."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def exists(self) -> bool:
        return True

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Database]:
        yield self._storage.database


async def test_what_a_turn_sends_later_does_not_end_with_its_claim(on_server: Storage, tmp_path: Path) -> None:
    """Kept hand-offs that a turn begins to send are noted as delivered, also if its conversation is another's by then."""
    outbox = Outbox(_Beside(on_server), "tests")
    await outbox.keep(ticket("other"))
    over = Claim("t", 1, "0" * 16)
    current_claim.set(over)
    async with OutboxSink(outbox, HandOffFolder(tmp_path / "desk"), on_server.claims), asyncio.timeout(30):
        while (await outbox.entries())[0].delivered_at is None:  # noqa: ASYNC110  # the storage tells nobody
            await asyncio.sleep(0.02)
    assert current_claim.get() is over
    assert await on_server.database.rows("SELECT count(*) FROM claims") == [(0,)]
