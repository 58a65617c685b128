from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from adapters.checkpoints import held_writes
from adapters.storage.postgres import PostgresDatabase, Server, schema_of
from assistant.config.settings import StorageSettings
from assistant.deployment import deployment
from assistant.service import Caller, Question, open_service
from contracts.enums import Outcome
from contracts.errors import ConfigError, GuardianError, ThreadError
from tests.support.cli_helpers import QUESTION, Desk
from tests.support.storage import open_storage

SECRET = "not-to-be-shown"  # noqa: S105  # of nobody


def as_user(url: str, name: str, database: str = "") -> str:
    """Return the address as a user with a password has it."""
    parts = urlsplit(url)
    return f"postgresql://{name}:{SECRET}@{parts.path if not database else f'/{database}'}?{parts.query}"


def make_user(url: str, name: str, *settings: str) -> str:
    """Make a user who may connect and nothing else, and return the address."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP ROLE IF EXISTS {name}".encode())
        for statement in (f"CREATE ROLE {name} LOGIN PASSWORD '{SECRET}'", *settings):
            connection.execute(statement.encode())
    return as_user(url, name)


async def fail_to_open(url: str) -> GuardianError:
    with pytest.raises(GuardianError) as caught:
        await PostgresDatabase.open(Server(url, "guardian_shelf"))
    told = str(caught.value)
    assert SECRET not in told
    assert caught.value.way_out
    return caught.value


async def test_each_way_in_which_a_server_cannot_be_used_has_its_words(database_url: str) -> None:
    """No server, no such database, no right to make tables, read-only: what is wrong and what to do, and no password."""
    nowhere = f"postgresql://keeper:{SECRET}@127.0.0.1:1/none"
    assert "cannot be reached" in str(await fail_to_open(nowhere))
    assert "no such database" in str(await fail_to_open(as_user(database_url, "postgres", "nobody_made_it")))
    poor = make_user(database_url, "poor")
    assert "no right to do so" in str(await fail_to_open(poor))
    name = urlsplit(database_url).path.lstrip("/")
    reader = make_user(
        database_url,
        "reader_only",
        f"GRANT CREATE ON DATABASE {name} TO reader_only",
        "ALTER ROLE reader_only SET default_transaction_read_only = on",
    )
    assert "it may only be read" in str(await fail_to_open(reader))


async def open_at(address: str) -> None:
    settings = StorageSettings.read({"GUARDIAN_DATABASE": address})
    await PostgresDatabase.open(Server(settings.url, "guardian_shelf"))


@pytest.mark.parametrize(
    "address",
    [
        *(
            f"postgresql://u:{sign.join(('SeKrEt', 'SeKrEt'))}@127.0.0.1:1/db"
            for sign in ("#", "?", "/", "@", "%ss", "[", "&")
        ),
        "postgresql://u:SeK%23rEt@127.0.0.1:1/db",
        "postgresql://u:SeKrEt@[::1/db",
        "postgresql://u:SeKrEt@127.0.0.1:1/db?no_such=1",
        "postgresql://u@127.0.0.1:1/db?password=SeKrEt%20SeKrEt",
        "postgresql://u:SeKrEt@127.0.0.1:1/db?connect_timeout=2",
        "mysql://u:SeKrEt@127.0.0.1/db",
    ],
)
async def test_no_address_shows_its_password(address: str) -> None:
    """Whatever signs are in it, and whoever refuses it, neither the password nor a part of it stands in the error."""
    with pytest.raises(GuardianError) as caught:
        await open_at(address)
    told = f"{caught.value} {caught.value.way_out}"
    for part in ("SeKrEt", "SeK%23rEt", "SeK#rEt", "rEt"):
        assert part not in told


async def test_tables_of_another_version_are_left_alone(database_url: str) -> None:
    """The versions are named, and nothing is changed."""
    server = Server(database_url, "guardian_shelf")
    await (await PostgresDatabase.open(server)).close()
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("INSERT INTO guardian_shelf.schema_version VALUES (99, 99)")
    assert "are of version 99" in str(await fail_to_open(database_url))


def test_a_profile_whose_name_makes_no_schema_is_refused() -> None:
    """PostgreSQL would cut a longer name, and two profiles would share their conversations."""
    assert schema_of("handbook") == "guardian_handbook"
    with pytest.raises(ConfigError, match="too long"):
        schema_of("x" * 60)


async def test_a_server_that_ended_all_sessions_is_used_again_with_the_next_message(
    data: Path, postgres_server: str
) -> None:
    """As after a restart: no connection that is gone is lent, and claims are made anew."""
    async with open_storage(data, postgres_server) as storage:
        first = await storage.claims.take("t")
        assert first is not None
        await storage.store.begin("t", "one", "?", None)
        with psycopg.connect(postgres_server, autocommit=True) as connection:
            ended = connection.execute(
                "SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name LIKE 'guardian:%' AND datname = current_database()"
            ).fetchall()
            pids = [pid for pid, _ in ended]
            # They end by themselves, a moment later.
            while connection.execute("SELECT 1 FROM pg_stat_activity WHERE pid = ANY(%s)", (pids,)).fetchall():  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        assert [turn.turn_id for turn in await storage.store.turns("t")] == ["one"]
        again = await storage.claims.take("t")
        assert again is not None
        assert again.epoch == first.epoch + 1


@pytest.fixture
def desk(tmp_path: Path, database_url: str) -> Desk:
    desk = Desk(tmp_path / "data", tmp_path).having(GUARDIAN_DATABASE=database_url)
    desk.index()
    return desk


@pytest.mark.parametrize("broken", ["turns", "checkpoints"])
async def test_a_turn_that_cannot_be_stored_is_told_and_can_be_sent_again(
    desk: Desk, database_url: str, broken: str
) -> None:
    """Whichever table fails in the middle, the error has a way out, and the same message is answered afterwards."""
    deployed = deployment(environment=desk.environment)
    question = Question(QUESTION, thread="t", turn_id="1")
    schema = schema_of(deployed.profile.name)
    async with open_service(deployed) as service:
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute(f"ALTER TABLE {schema}.{broken} RENAME TO away".encode())
            with pytest.raises(ThreadError) as caught:
                await service.ask(Caller("anna"), question)
            assert caught.value.way_out
            connection.execute(f"ALTER TABLE {schema}.away RENAME TO {broken}".encode())
        assert (await service.ask(Caller("anna"), question)).outcome is Outcome.ANSWERED
        assert len(await service.turns(Caller("anna"), "t")) == 1


async def test_a_turn_takes_fifteen_exchanges_with_the_server(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """One for each step, with all that its node wrote, and six for the rest; counted at the driver."""
    told: list[str] = []
    execute = psycopg.AsyncCursor.execute
    execute_many = psycopg.AsyncCursor.executemany

    async def count(cursor: psycopg.AsyncCursor[Any], *arguments: Any, **options: Any) -> Any:
        told.append(str(arguments[0]))
        return await execute(cursor, *arguments, **options)

    async def count_many(cursor: psycopg.AsyncCursor[Any], *arguments: Any, **options: Any) -> Any:
        told.append(str(arguments[0]))
        return await execute_many(cursor, *arguments, **options)

    def transaction(*_: object, **__: object) -> None:
        raise AssertionError("a transaction is three exchanges")

    async with open_service(deployment(environment=desk.environment)) as service:
        await service.ask(Caller("anna"), Question(QUESTION, thread="t"))
        # On a slow machine a checkpoint may follow later than 50 ms, and what waits for it would go alone.
        monkeypatch.setattr(held_writes, "_HOLD_S", 60.0)
        monkeypatch.setattr(psycopg.AsyncCursor, "execute", count)
        monkeypatch.setattr(psycopg.AsyncCursor, "executemany", count_many)
        monkeypatch.setattr(psycopg.AsyncConnection, "transaction", transaction)
        result = await service.ask(Caller("anna"), Question(QUESTION, thread="t"))
        monkeypatch.undo()
    assert result.outcome is Outcome.ANSWERED
    # Whatever turns there are: what others wish, three times a second; a sign of life; a session of the pool that begins.
    of_no_turn = ("SELECT thread_id, turn_id, wish FROM wishes", "SELECT 1", "Composed([SQL('SET search_path")
    of_the_turn = [statement for statement in told if not statement.startswith(of_no_turn)]
    assert len(of_the_turn) <= 15, "\n".join(" ".join(statement.split())[:60] for statement in of_the_turn)
