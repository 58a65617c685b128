"""Tables of an older version are brought forward, and older servers go on beside newer ones.

New: before, tables of any other version were refused.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from adapters.storage.postgres import PostgresDatabase, Server
from adapters.storage.postgres_access import SCHEMA, AccessTables
from adapters.storage.schemas import ACCESS, CONVERSATIONS, Versions, bring_forward
from assistant.web.rates import HOUR_S, Quota, SharedRates
from contracts.errors import GuardianError, ThreadError

FIRST = Path(__file__).resolve().parents[1] / "data" / "schemas"
"""The tables as version 1 made them."""
NAME = "guardian_shelf"
INSERT = "INSERT INTO guardian_shelf.schema_version VALUES ({})"

_LOOK = {
    "columns": "SELECT table_name, column_name, data_type, is_nullable, column_default, collation_name "
    "FROM information_schema.columns WHERE table_schema = %(name)s",
    "indexes": "SELECT indexdef FROM pg_indexes WHERE schemaname = %(name)s",
    "constraints": "SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint "
    "WHERE connamespace = %(name)s::regnamespace AND contype <> 'n'",
    "functions": "SELECT proname, pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = %(name)s::regnamespace",
    "persistence": "SELECT relname, relpersistence::text, reloptions::text FROM pg_class "
    "WHERE relnamespace = %(name)s::regnamespace AND relkind = 'r'",
}


@pytest.fixture
def connection(database_url: str) -> Iterator[psycopg.Connection]:
    """A connection to the test's own database."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("SET search_path TO guardian_shelf")
        yield connection


def run(connection: psycopg.Connection, statements: str) -> psycopg.Cursor:
    return connection.execute(statements.encode())


def make_first(connection: psycopg.Connection) -> None:
    """Make the tables of version 1, with a turn, a key and a request in them."""
    run(connection, f"CREATE SCHEMA {NAME}; CREATE SCHEMA guardian")
    for name in ("conversations-1.sql", "access-1.sql"):
        run(connection, (FIRST / name).read_text("utf-8"))
    connection.execute("INSERT INTO labels VALUES ('t', 'Backups', 1)")
    connection.execute("INSERT INTO guardian.api_keys VALUES ('anna', repeat('0', 64), 'user', 60)")
    connection.execute("SELECT * FROM guardian.take(ARRAY['someone'], ARRAY[5], interval '60 s')")


def look(connection: psycopg.Connection, name: str) -> dict[str, list[tuple[object, ...]]]:
    """Return what a schema has, but for the order of columns that were added."""
    return {
        part: sorted(map(tuple, connection.execute(query.encode(), {"name": name}).fetchall()), key=str)
        for part, query in _LOOK.items()
    }


async def migrate(url: str) -> list[Versions]:
    done: list[Versions] = []
    for name, schema in ((NAME, CONVERSATIONS), (SCHEMA, ACCESS)):
        server = Server(url, name)
        with server.errors_as_ours():
            async with await server.connect() as connection:
                done.append(await bring_forward(connection, server.place, schema, name))
    return done


async def test_tables_that_were_brought_forward_are_those_that_are_made(
    database_url: str, connection: psycopg.Connection
) -> None:
    """Column by column, with indexes, constraints and functions; what was in them is still there."""
    assert await migrate(database_url) == [Versions(0, 3), Versions(0, 2)]
    made = [look(connection, name) for name in (NAME, SCHEMA)]
    run(connection, f"DROP SCHEMA {NAME} CASCADE; DROP SCHEMA guardian CASCADE")
    make_first(connection)
    assert await migrate(database_url) == [Versions(1, 3), Versions(1, 2)]
    assert [look(connection, name) for name in (NAME, SCHEMA)] == made
    assert await migrate(database_url) == [Versions(3, 3), Versions(2, 2)]
    assert connection.execute("SELECT title FROM labels").fetchall() == [("Backups",)]
    assert connection.execute("SELECT name FROM guardian.api_keys").fetchall() == [("anna",)]


async def test_of_servers_that_begin_at_once_one_brings_the_tables_forward(
    database_url: str, connection: psycopg.Connection
) -> None:
    """The others wait, and find them done."""
    make_first(connection)
    done = await asyncio.gather(*(migrate(database_url) for _ in range(6)))
    assert all([versions.after for versions in one] == [3, 2] for one in done)
    assert connection.execute("SELECT version FROM schema_version ORDER BY 1").fetchall() == [(1,), (2,), (3,)]


async def test_a_server_of_the_version_before_goes_on_beside_a_newer_one(
    database_url: str, connection: psycopg.Connection
) -> None:
    """What it sends is still answered, and its counts are those of the newer one."""
    make_first(connection)
    await migrate(database_url)
    take = "SELECT place, wait FROM guardian.take(%s, CAST(%s AS integer[]), make_interval(secs => %s))"
    assert connection.execute(take, (["one"], [1], 60.0)).fetchall() == []
    [(place, wait)] = connection.execute(take, (["one"], [1], 60.0)).fetchall()
    assert (place, 59 < wait <= 60) == (1, True)
    assert connection.execute("UPDATE schema_version SET version = version WHERE version = 1").rowcount == 1


async def test_a_version_to_come_is_used_if_it_says_so(database_url: str, connection: psycopg.Connection) -> None:
    """The newest row of the table names the oldest program that can use it."""
    await migrate(database_url)
    run(connection, INSERT.format("4, 3"))
    assert (await migrate(database_url))[0] == Versions(4, 4)
    run(connection, INSERT.format("5, 4"))
    with pytest.raises(ThreadError, match="of version 5, and this program's are of version 3"):
        await migrate(database_url)


async def test_a_step_that_fails_changes_nothing(database_url: str, connection: psycopg.Connection) -> None:
    """Whoever may not change the tables is told, and who must; a table that is in use is waited for, and not for ever."""
    make_first(connection)
    connection.execute("CREATE ROLE clerk LOGIN")
    try:
        run(connection, f"GRANT ALL ON ALL TABLES IN SCHEMA {NAME}, guardian TO clerk")
        run(connection, f"GRANT USAGE ON SCHEMA {NAME}, guardian TO clerk")
        clerk = re.sub(r"//[^@/]*@", "//clerk@", database_url)
        with pytest.raises(GuardianError) as caught:
            await migrate(clerk)
        assert "guardian migrate" in caught.value.way_out
        with psycopg.connect(database_url) as other:
            run(other, f"LOCK {NAME}.schema_version IN ACCESS SHARE MODE")
            with pytest.raises(ThreadError, match="took too long"):
                await migrate(database_url)
        assert connection.execute("SELECT version FROM schema_version").fetchall() == [(1,)]
        # Once the owner has done it, the same account is enough.
        await migrate(database_url)
        await (await PostgresDatabase.open(Server(clerk, NAME))).close()
        assert await AccessTables(Server(clerk, SCHEMA)).list_keys() == [("anna", "0" * 64, "user", 60)]
    finally:
        connection.execute("DROP OWNED BY clerk")
        connection.execute("DROP ROLE clerk")


async def test_new_visitors_of_an_hour_are_counted_over_all_servers(database_url: str) -> None:
    """Requests of a minute that are cleared away take none of them along."""
    database = await PostgresDatabase.open(Server(database_url, NAME))
    try:
        await AccessTables(Server(database_url, SCHEMA)).list_keys()
        one, other = SharedRates(database), SharedRates(database)
        newcomer = Quota("new_visitor", "office", 1)
        assert await one.take([newcomer], HOUR_S) is None
        await database.rows("UPDATE guardian.requests SET at = at - interval '2 min', over = over - interval '2 min'")
        for number in range(300):  # one in a hundred clears away what others left
            assert await one.take([Quota("key", f"k{number}", 9)]) is None
        full = await other.take([newcomer], HOUR_S)
        assert full is not None
        assert full[0] == 0
        assert 3400 < full[1] <= 3480
    finally:
        await database.close()
