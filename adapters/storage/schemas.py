"""The tables in PostgreSQL: made when there are none, and brought forward when they are of an older version.

`CONVERSATIONS` is the schema of one profile, `ACCESS` the one schema of all profiles. For each there is a file that makes
the newest tables (`schema.sql`, `access.sql`), and a file for each step from one version to the next in `migrations`.

From version 2 on, servers of one version and the next may run side by side: a step changes nothing that the version before
uses. (Version 1 was in no release, and its servers do not start with newer tables.) The table
`schema_version` has a row for each step, with the oldest version of the program that can use the tables from then on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, LiteralString, cast

from contracts.errors import ThreadError

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.AsyncConnection[Any]


@dataclass(frozen=True, slots=True)
class Schema:
    """Tables that are made and brought forward together.

    Attributes:
        tables: The file that makes the newest ones.
        steps: The beginning of the names of the files that bring them forward; `2` follows for the step from 1 to 2.
        version: The newest version, from 1.
    """

    tables: str
    steps: str
    version: int


CONVERSATIONS: Final = Schema("schema.sql", "conversations", 3)
ACCESS: Final = Schema("access.sql", "access", 2)

_SETUP_LOCK: Final = 0x677561726469616E
"""The lock under which tables are made."""
_LONGEST_S: Final = 15
"""How long another process may take to make tables, in seconds."""
_WAIT_FOR_TABLES: Final = "SET LOCAL lock_timeout = '5s'"
"""A step that waits for a table keeps all others from it."""


@dataclass(frozen=True, slots=True)
class Versions:
    """What there was and what there is.

    Attributes:
        before: The version that was found; 0 if there were no tables.
        after: The version now.
    """

    before: int
    after: int


async def bring_forward(connection: Connection, place: str, schema: Schema, name: str) -> Versions:
    """Make the tables of a schema, or bring them to this program's version; of processes that begin at once, one does.

    Args:
        connection: Of a session of its own.
        place: Where it leads, for messages.
        schema: The tables.
        name: The schema's name in the database.

    Raises:
        ThreadError: The tables are of a version that this program cannot use, or another process does not come to an end.
        psycopg.Error: The server refuses it; then nothing has changed.
    """
    before, oldest = await _read_version(connection, name)
    after = before
    if before < schema.version:
        async with alone_in_setup(connection, place):
            # Another process may have done it meanwhile.
            after, oldest = await _read_version(connection, name)
            while after < schema.version:
                await _make_next(connection, schema, name, after)
                after, oldest = await _read_version(connection, name)
    if oldest > schema.version:
        raise ThreadError(
            f"The tables in {place} are of version {after}, and this program's are of version {schema.version}.",
            "Upgrade this program, or name another database in GUARDIAN_DATABASE.",
        )
    return Versions(before, after)


async def _make_next(connection: Connection, schema: Schema, name: str, version: int) -> None:
    """Take one step; the first one makes the newest tables."""
    from psycopg import sql

    folder = files("adapters.storage")
    step = folder / "migrations" / f"{schema.steps}-{version + 1}.sql"
    statements = (step if version else folder / schema.tables).read_text("utf-8")
    async with connection.transaction():
        await connection.execute(_WAIT_FOR_TABLES)
        # Who may make no schema may be given one: the right is asked for even if there is nothing to make.
        found = await connection.execute("SELECT to_regnamespace(quote_ident(%s)) IS NULL", (name,))
        [(missing,)] = await found.fetchall()
        if missing:
            await connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
        await connection.execute(cast("LiteralString", statements))


async def _read_version(connection: Connection, name: str) -> tuple[int, int]:
    """Return the version of the tables, and the oldest version of the program that can use them; 0, 0 if there are none."""
    from psycopg import sql

    table = sql.Identifier(name, "schema_version")
    found = await connection.execute("SELECT to_regclass(quote_ident(%s) || '.schema_version') IS NOT NULL", (name,))
    [(made,)] = await found.fetchall()
    if not made:
        return 0, 0
    # Version 1 had no column `oldest`.
    statement = "SELECT v.version, coalesce((to_jsonb(v) ->> 'oldest')::integer, v.version) FROM {} AS v ORDER BY 1 DESC LIMIT 1"
    found = await connection.execute(sql.SQL(statement).format(table))
    rows = await found.fetchall()
    return rows[0] if rows else (0, 0)


@asynccontextmanager
async def alone_in_setup(connection: Connection, place: str) -> AsyncGenerator[None]:
    """Keep other processes from making tables at the same time.

    The lock is asked for again and again: who waits for it inside the server would keep an index from being made
    concurrently, which waits for every statement that runs.

    Raises:
        ThreadError: Another process is making tables, and does not come to an end.
    """
    clock = asyncio.get_running_loop().time
    deadline = clock() + _LONGEST_S
    while True:
        found = await connection.execute("SELECT pg_try_advisory_lock(%s)", (_SETUP_LOCK,))
        [(got,)] = await found.fetchall()
        if got:
            break
        if clock() >= deadline:
            raise ThreadError(
                f"Another process is making the tables in {place}, and does not come to an end.",
                "Stop that process, and try again.",
            )
        await asyncio.sleep(0.05)
    try:
        yield
    finally:
        await connection.execute("SELECT pg_advisory_unlock(%s)", (_SETUP_LOCK,))
