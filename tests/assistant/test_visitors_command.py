"""What ends: everything that is kept of a visitor, by a command; old conversations, by themselves."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from adapters.storage.lock import ProcessLock
from assistant.deployment import deployment
from assistant.service import Caller, Question, open_service
from assistant.turns.feedback import Feedback, FeedbackStore, Rating
from assistant.turns.transcript import TurnStore
from assistant.visitors import user_name
from assistant.wiring.hand_offs import outbox
from contracts.errors import ThreadBusy
from tests.support.cli_helpers import Desk
from tests.support.hand_off.receiver import ticket

VISITOR, OTHER = f"v_{'a' * 32}", f"v_{'b' * 32}"
SAID = "My cat is called Behemoth and lives under the catalogue"
TABLES = ("turns", "feedback", "histories", "checkpoints", "writes", "links")


async def _talk(desk: Desk) -> None:
    """Leave what can be kept of a visitor, one conversation of another, and one of a user."""
    deployed = deployment(environment=desk.having(GUARDIAN_SHARE_DAYS="7").environment)
    async with open_service(deployed) as service:
        for name in (VISITOR, OTHER, user_name("anna@shop.example")):
            caller = Caller(name)
            thread, turn_id = await service.place(caller, [SAID])
            await service.ask(caller, Question(SAID, thread, turn_id))
            await service.rate(caller, thread, turn_id, Feedback(rating=Rating.DOWN, comment=SAID))
            await service.share(caller, thread)
    # Of a conversation that was half deleted: nothing but this is left of it.
    await outbox(deployed).keep(ticket(f"{VISITOR}/half", question=SAID))


def _count_kept(desk: Desk, name: str) -> dict[str, int]:
    with closing(sqlite3.connect(desk.folder / "threads.db")) as connection:
        return {
            table: connection.execute(
                f"SELECT count(*) FROM {table} WHERE thread_id LIKE ?",  # noqa: S608  # names of ours
                (f"{name.replace('_', '~_')}/%",),
            ).fetchone()[0]
            for table in TABLES
        }


def test_erasing_leaves_nothing_of_a_visitor_and_all_of_the_others(desk: Desk) -> None:
    """Every table is empty of them, half-deleted conversations too; the words are in no file, and nobody else loses any."""
    asyncio.run(_talk(desk))
    others = {name: _count_kept(desk, name) for name in (OTHER, user_name("anna@shop.example"))}
    with closing(sqlite3.connect(desk.folder / "threads.db")) as connection:
        compressed = [
            value
            for table in ("SELECT details FROM turns", "SELECT checkpoint FROM checkpoints")
            for (value,) in connection.execute(table)
        ]
    listed = desk.here("visitors", "list", "--json").json
    assert {entry["name"]: entry["conversations"] for entry in listed} == {VISITOR: 1, **dict.fromkeys(others, 1)}
    erased = desk.here("visitors", "erase", VISITOR)
    assert (erased.code, erased.err) == (0, "")
    assert "conversations: 2" in erased.out
    assert "Not erased" in erased.out
    # What stays in the data folder is named, with its place.
    assert str(desk.folder / "review_cases.jsonl") in erased.out
    assert "the record of looks" in erased.out
    assert set(_count_kept(desk, VISITOR).values()) == {0}
    assert {name: _count_kept(desk, name) for name in others} == others
    desk.here("visitors", "erase", VISITOR).complains(1, VISITOR, "guardian visitors list")
    assert desk.here("visitors", "erase", "anna@shop.example", "--json").json["erased"] == user_name(
        "anna@shop.example"
    )
    desk.here("visitors", "erase", "boris@shop.example").complains(1, "Nothing is kept")
    assert desk.here("visitors", "erase", OTHER).code == 0
    assert desk.here("visitors", "list").out == "There are no conversations of visitors or users.\n"
    # Words may be compressed in it: then no part of what was stored of them is left.
    said = [SAID.encode(), *(value[at : at + 64] for value in compressed for at in range(0, len(value) - 64, 1_000))]
    left = [path.name for path in desk.folder.rglob("*.db*") if any(part in path.read_bytes() for part in said)]
    assert left == []
    assert len(said) > len(compressed) > 3


def test_a_row_that_is_the_last_of_a_conversation_is_found_in_whatever_table(desk: Desk) -> None:
    """A deletion that was killed may leave any one of them; every table that has conversations' ids is looked through."""
    asyncio.run(_talk(desk))
    asyncio.run(_review_and_name(desk))
    path = desk.folder / "threads.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        # What servers tell each other of a running turn, left by one that was killed.
        connection.execute("INSERT INTO wishes VALUES (?, '1', 'stop')", (f"{OTHER}/t",))
        connection.execute("INSERT INTO relayed_events VALUES (?, '1', 'run', 0, '{}')", (f"{OTHER}/t",))
        # What a node wrote in a turn that was killed.
        connection.execute("INSERT INTO writes VALUES (?, '', 'c', 't', 0, 'draft', 'empty', x'', '')", (f"{OTHER}/t",))
    whole = path.read_bytes()
    with closing(sqlite3.connect(path)) as connection:
        tables = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            if any(row[1] == "thread_id" for row in connection.execute(f"PRAGMA table_info({name})"))
        ]
    assert {*TABLES, "labels", "reviews"} <= set(tables)
    for last in tables:
        path.write_bytes(whole)
        with closing(sqlite3.connect(path)) as connection:
            kept = connection.execute(f"SELECT count(*) FROM {last} WHERE thread_id LIKE '{OTHER}/%'").fetchone()[0]  # noqa: S608
            for table in tables:
                if table != last:
                    connection.execute(f"DELETE FROM {table}")  # noqa: S608  # names of ours
            connection.commit()
        assert kept, last
        assert desk.here("visitors", "erase", OTHER).code == 0, last
        with closing(sqlite3.connect(path)) as connection:
            left = connection.execute(f"SELECT count(*) FROM {last} WHERE thread_id LIKE '{OTHER}/%'").fetchone()  # noqa: S608
        assert left == (0,), last


async def _review_and_name(desk: Desk) -> None:
    """Leave an operator's note on the other visitor's conversation, and a title of their own."""
    async with open_service(deployment(environment=desk.environment)) as service:
        [thread] = [summary.thread_id for summary in await service.threads(Caller(OTHER))]
        [turn] = await service.turns(Caller(OTHER), thread)
        await service.rename(Caller(OTHER), thread, SAID)
        await service.desk.note(f"{OTHER}/{thread}", turn.turn_id, "olga", "look at it")


def test_a_conversation_in_which_a_turn_runs_is_erased_later(desk: Desk) -> None:
    """The others are erased, and the command says to come again."""
    threads = [f"{VISITOR}/{name}" for name in ("one", "other")]
    asyncio.run(_leave(desk, 0, threads))
    name = hashlib.sha256(threads[0].encode()).hexdigest()[:32]
    lock = ProcessLock(deployment(environment=desk.environment).locks_folder / f"{name}.lock")
    assert lock.try_acquire()
    desk.here("visitors", "erase", VISITOR).complains(1, "1 of 2 conversations", "again")
    lock.release()
    assert desk.here("visitors", "erase", VISITOR, "--json").json["conversations"] == threads[:1]


async def _leave(desk: Desk, age_days: int, threads: Sequence[str]) -> None:
    """Leave conversations of one message whose last turn ended so many days ago."""
    when = datetime.now(UTC) - timedelta(days=age_days)
    async with await TurnStore.open(desk.folder / "threads.db", now=lambda: when) as store:
        for thread in threads:
            await store.begin(thread, "t", "What is new?", None)
            await store.finish(thread, "t", {"answer_text": "Nothing.", "outcome": "answered"})


def test_nothing_is_erased_of_nobody(empty: Desk) -> None:
    """A name of blanks is an error, and a data folder that is not there stays so."""
    empty.here("visitors", "erase", " ").complains(2, "No visitor is named")
    empty.here("visitors", "erase", VISITOR).complains(1, "Nothing is kept")
    assert empty.here("visitors", "list", "--json").json == []
    assert not empty.data.exists()


@pytest.mark.parametrize(
    ("days", "left"),
    [
        ("", {f"{VISITOR}/new", "boris/old", "old", "v_short/old"}),
        ("100", {f"{VISITOR}/new", f"{VISITOR}/old", "boris/old", "old", "v_short/old"}),
        ("60", {f"{VISITOR}/new"}),
    ],
)
async def test_what_is_old_ends(desk: Desk, days: str, left: set[str]) -> None:
    """Visitors' conversations end after 30 days, others only where it is set; none with a running turn, none used since."""
    old = ("boris/old", "old", "v_short/old", f"{VISITOR}/old", f"{VISITOR}/running")
    await _leave(desk, 90, old)
    await _leave(desk, 29, [f"{VISITOR}/new"])
    deployed = deployment(environment=desk.having(GUARDIAN_KEEP_DAYS=days).environment)
    async with open_service(deployed) as service:
        # As a turn of another process holds it.
        async with service._runner._alone(f"{VISITOR}/running", 0.0):
            assert await service.delete_expired() == len(old) - len(left)
            with pytest.raises(ThreadBusy):
                await service.delete(Caller(VISITOR), "running")
        kept = {thread.thread_id for thread in await service._store.list_threads()}
    assert kept == left | {f"{VISITOR}/running"}
    async with await FeedbackStore.open(desk.folder / "threads.db") as store:
        assert await store.ids_in_all_tables("") == kept
