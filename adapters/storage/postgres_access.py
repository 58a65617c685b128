"""Keys and secrets that all servers over one PostgreSQL database share, in a schema of their own, `guardian`.

It belongs to no profile: a key that was made under another profile still protects the server.
"""

from __future__ import annotations

import time
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, LiteralString, cast

from contracts.errors import ConfigError

if TYPE_CHECKING:
    import psycopg

    from adapters.storage.postgres import Server

SCHEMA: Final = "guardian"
VERSION: Final = 1
"""Of the tables in `access.sql`."""
_SETUP_LOCK: Final = 0x61636365
"""The lock under which the tables are made."""
_SETUP_S: Final = 15.0


class AccessTables:
    """The tables; each call opens a connection of its own, so any thread may call, and nothing has to be closed.

    Every method raises `ConfigError` if the server cannot be used.

    Args:
        server: Where they are.

    Attributes:
        place: For messages; without a password.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._made = False
        self.place = server.place

    def list_keys(self) -> list[tuple[str, str, str, int]]:
        """Return name, hash, role and requests a minute of each key; the hash is empty if the key was removed."""
        return self._run("SELECT name, sha256, role, per_minute FROM api_keys ORDER BY name")

    def add_key(self, name: str, sha256: str, role: str, per_minute: int) -> bool:
        """Add a key; returns false if there is one of that name."""
        statement = """
            INSERT INTO api_keys VALUES (%s, %s, %s, %s)
            ON CONFLICT (name) DO UPDATE
            SET sha256 = excluded.sha256, role = excluded.role, per_minute = excluded.per_minute
            WHERE api_keys.sha256 = '' RETURNING name
        """
        return bool(self._run(statement, name, sha256, role, per_minute))

    def require_keys(self) -> None:
        """Have a row in the table, so that requests need a key even if there is none."""
        self._run("INSERT INTO api_keys VALUES ('', '', '', 1) ON CONFLICT DO NOTHING")

    def remove_key(self, name: str) -> bool:
        """Remove a key; returns false if there is none of that name."""
        statement = "UPDATE api_keys SET sha256 = '' WHERE name = %s AND sha256 <> '' RETURNING name"
        return bool(self._run(statement, name))

    def keep_secret(self, name: str, value: bytes) -> bytes:
        """Keep a secret if there is none of that name, and return the one that is kept."""
        self._run("INSERT INTO secrets VALUES (%s, %s) ON CONFLICT DO NOTHING", name, value)
        [(kept,)] = self._run("SELECT value FROM secrets WHERE name = %s", name)
        return bytes(kept)

    def read_secret(self, name: str) -> bytes | None:
        """Return a secret; `None` if there is none of that name."""
        found = self._run("SELECT value FROM secrets WHERE name = %s", name)
        return bytes(found[0][0]) if found else None

    def _run(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        import psycopg

        try:
            with psycopg.connect(self._server.url, **self._server.options()) as connection:
                connection.execute(self._server.session())
                if not self._made:
                    _make_tables(connection, self.place)
                    self._made = True
                cursor = connection.execute(cast("LiteralString", statement), values)
                return cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            failure = self._server.failure(error)
            message = failure.message.replace("The conversations in", "The API keys in", 1)
            raise ConfigError(message, failure.way_out or "") from None


def _make_tables(connection: psycopg.Connection[Any], place: str) -> None:
    """Make the schema and its tables, or check their version; of processes that begin at once, one makes them."""
    from psycopg import sql

    if (version := _read_version(connection)) is None:
        deadline = time.monotonic() + _SETUP_S
        while not connection.execute("SELECT pg_try_advisory_lock(%s)", (_SETUP_LOCK,)).fetchall()[0][0]:
            if time.monotonic() >= deadline:
                raise ConfigError(
                    f"Another process is making the tables in {place}.", "Stop that process, and try again."
                )
            time.sleep(0.05)
        try:
            if (version := _read_version(connection)) is None:
                tables = files("adapters.storage").joinpath("access.sql").read_text("utf-8")
                with connection.transaction():
                    connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(SCHEMA)))
                    connection.execute(cast("LiteralString", tables))
                version = VERSION
        finally:
            connection.execute("SELECT pg_advisory_unlock(%s)", (_SETUP_LOCK,))
    if version != VERSION:
        raise ConfigError(
            f"The tables in {place} are of version {version}, and this program's are of version {VERSION}.",
            "Run the program's version that wrote them, or name another database in GUARDIAN_DATABASE.",
        )


def _read_version(connection: psycopg.Connection[Any]) -> int | None:
    [(made,)] = connection.execute("SELECT to_regclass('schema_version') IS NOT NULL").fetchall()
    if not made:
        return None
    [(version,)] = connection.execute("SELECT coalesce(max(version), 0) FROM schema_version").fetchall()
    return version
