"""The database of conversations on a PostgreSQL server: one schema for each profile.

Claims belong to a session, and so does the schema, so nothing here works behind a pooler that lends a connection for one
transaction only. From outside it looks like one that lends connections for whole sessions, so all poolers are refused.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import select
import socket
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Final, LiteralString, Self, cast
from urllib.parse import quote, quote_plus

from adapters.storage.claims import current_claim
from adapters.storage.database import ConstraintError, Fenced
from adapters.storage.schemas import CONVERSATIONS, bring_forward
from contracts.errors import ConfigError, ThreadError

if TYPE_CHECKING:
    import psycopg
    from psycopg import sql
    from psycopg_pool import AsyncConnectionPool

    Connection = psycopg.AsyncConnection[Any]
    Pool = AsyncConnectionPool[Connection]

MOST_CONNECTIONS: Final = 8
"""Of one process, beside the session of its claims."""
FENCED: Final = "GF001"
"""The SQLSTATE of what is written for a claim that is over (`schema.sql`)."""
_CONNECT_S: Final = 5
_STATEMENT_S: Final = 15
_POOL_S: Final = 5.0
_RECONNECT_S: Final = 3.0
_HUNG_S: Final = 25.0
"""After so long a server that says nothing counts as hung, in seconds: longer than a statement may take there."""
_SESSION: Final = (
    f"SET statement_timeout = '{_STATEMENT_S}s'; SET jit = off; SET idle_in_transaction_session_timeout = '10s'; "
    "SET client_connection_check_interval = '5s'; SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; "
    "SET tcp_keepalives_count = 3; SET tcp_user_timeout = 11000"
)
"""Of each session: what the server ends by itself, also when it is the client that is gone."""
_SECRET: Final = ("password", "sslpassword", "passfile")
_LONGEST_NAME: Final = 63
"""Of a schema, in bytes."""

_VALUE: Final = re.compile(r"(?<![:\w]):([a-z_]+)\b")
_FENCE: Final = "SELECT fence(%(claimed)s, %(epoch)s, %(token)s)"
_READS: Final = re.compile(r"\s*(SELECT|SHOW)\b", re.IGNORECASE)

_REACH = "See that the server runs, and that the address, user, password and database in GUARDIAN_DATABASE are right"
_KEPT = "what was finished until then is kept, and the next message or `guardian threads resume` goes on from there"
_FAILURES: Final[tuple[tuple[tuple[str, ...], str, str], ...]] = (
    (
        ("28", "authentication failed", "no pg_hba.conf entry", 'FATAL: role "'),
        "it does not let this user in",
        f"{_REACH}.",
    ),
    (
        ("3D", 'FATAL: database "'),
        "it has no such database",
        "Create the database, or name another one in GUARDIAN_DATABASE.",
    ),
    (
        ("42501",),
        "this user has no right to do so",
        "Make the user the owner of the tables, with the right to create a schema; or run `guardian migrate` as their owner.",
    ),
    (
        ("25006",),
        "it may only be read",
        f"Name the server that may be written in GUARDIAN_DATABASE: this one is a replica, or read-only; {_KEPT}.",
    ),
    (("53100",), "its disk is full", f"Free some space on the server's disk; {_KEPT}."),
    (
        ("53", "54", "too many clients", "too many connections"),
        "it is at its limits",
        f"Raise max_connections, or stop what uses the server; {_KEPT}.",
    ),
    (("57014", "55P03"), "it took too long", f"See that the server is not overloaded and no table is locked; {_KEPT}."),
    (
        ("42P", "42703", "42883"),
        "its tables are not those of this version",
        "Upgrade the servers with the older version of the program.",
    ),
    (("XX", "58"), "the server is damaged", "See the server's log, and restore a backup if its files are damaged."),
)
"""Beginnings of SQLSTATE (PostgreSQL's documentation, appendix A), what that means, and what to do about it.

An error of connecting has no code, so some of its words stand beside the codes.
"""


def schema_of(profile: str) -> str:
    """Return the name of a profile's schema.

    Raises:
        ConfigError: The profile's name is too long for one.
    """
    name = f"guardian_{profile}"
    if len(name.encode()) > _LONGEST_NAME:
        raise ConfigError(
            f"The profile's name {profile!r} is too long for a schema of PostgreSQL.",
            f"Choose a name of at most {_LONGEST_NAME - len('guardian_')} bytes.",
        )
    return name


class Server:
    """What connections to one schema of a server have in common.

    Args:
        url: `postgresql://user:password@host:port/database`, or without what PGUSER, PGPASSWORD and the like say.
        schema: The schema of the tables.

    Attributes:
        process: Under this name the server knows all sessions that are opened by this object.
        place: For messages; without a password.
    """

    def __init__(self, url: str, schema: str) -> None:
        from psycopg.conninfo import conninfo_to_dict

        self.url = url
        self.schema = schema
        # As the driver reads it: other readers take other signs for the end of a password.
        read = conninfo_to_dict(url)
        secret = {str(read[name]) for name in _SECRET if read.get(name)}
        self._secrets = secret | {quote(one, safe="") for one in secret} | {quote_plus(one) for one in secret}
        self.process = f"guardian:{socket.gethostname()[:30]}:{os.getpid()}:{secrets.token_hex(4)}"
        port = f":{read['port']}" if read.get("port") else ""
        self.place = f"the schema {schema} at {read.get('host') or 'localhost'}{port}/{read.get('dbname') or ''}"

    async def connect(self, **more: Any) -> Connection:
        """Return a new connection, which the caller closes.

        Raises:
            psycopg.Error: The server cannot be reached, or refuses.
        """
        import psycopg

        connection = await psycopg.AsyncConnection.connect(self.url, **self.options(), **more)
        try:
            await self.prepare(connection)
        except BaseException:
            await connection.close()
            raise
        return connection

    def options(self) -> dict[str, Any]:
        """Return what each connection is opened with: a server that is gone is noticed after 11 s."""
        return {
            "application_name": self.process,
            "autocommit": True,
            "connect_timeout": _CONNECT_S,
            "keepalives_idle": 5,
            "keepalives_interval": 2,
            "keepalives_count": 3,
            "tcp_user_timeout": 11_000,
            "prepare_threshold": 2,
        }

    def session(self) -> sql.Composed:
        """Return the statements that begin a session: its schema and its limits; the last one returns the server's process."""
        from psycopg import sql

        return sql.SQL("SET search_path = {}; {}; SELECT pg_backend_pid()").format(
            sql.Identifier(self.schema), sql.SQL(cast("LiteralString", _SESSION))
        )

    async def prepare(self, connection: Connection) -> None:
        """Prepare a session: its schema, its limits.

        Raises:
            ConfigError: A pooler stands in between.
        """
        cursor = await connection.execute(self.session())
        while cursor.nextset():
            pass
        [(own,)] = await cursor.fetchall()
        if own != connection.info.backend_pid:
            raise ConfigError(
                "Between this program and PostgreSQL stands a pooler, for example pgbouncer, which may lend its connections to others.",
                "Name the server itself in GUARDIAN_DATABASE. Each Guardian process uses up to 10 connections and keeps them open.",
            )

    def failure(self, error: Exception) -> ThreadError:
        """Return Guardian's error for one of the driver's; the password is in none."""
        code = getattr(error, "sqlstate", None) or ""
        text = " ".join(str(error).split()) or type(error).__name__
        for secret in self._secrets:
            text = text.replace(secret, "***")
        text = text[:300].rstrip(".?")
        for beginnings, meaning, way_out in _FAILURES:
            if code.startswith(beginnings) or (not code and any(words in text for words in beginnings[1:])):
                return ThreadError(f"The conversations in {self.place} cannot be used: {meaning} ({text}).", way_out)
        return ThreadError(f"The conversations in {self.place} cannot be reached: {text}.", f"{_REACH}; {_KEPT}.")

    @contextmanager
    def errors_as_ours(self) -> Generator[None]:
        """Turn the driver's errors into ours; a wrong statement is not translated.

        Raises:
            ThreadError: The server cannot be reached, or fails.
            ConstraintError: A constraint of a table is broken.
            Fenced: Something is written for a claim that is over.
        """
        import psycopg

        try:
            yield
        except psycopg.errors.IntegrityError as error:
            raise ConstraintError(str(error)) from None
        except (psycopg.errors.SyntaxError, psycopg.ProgrammingError) as error:
            # A table that is not there is told of; a statement of ours that is wrong stays what it is.
            if not (error.sqlstate or "").startswith(("42P", "42501", "42703", "42883", "3D", "3F")):
                raise
            raise self.failure(error) from None
        except psycopg.Error as error:
            if error.sqlstate == FENCED:
                raise Fenced(str(error)) from None
            raise self.failure(error) from None

    @asynccontextmanager
    async def answering(self) -> AsyncGenerator[None]:
        """Turn the driver's errors into ours, as `errors_as_ours`, and end what takes too long.

        Raises:
            ThreadError: See `errors_as_ours`; or the server does not answer.
        """
        try:
            with self.errors_as_ours():
                async with asyncio.timeout(_HUNG_S):
                    yield
        except TimeoutError:
            raise ThreadError(
                f"The conversations in {self.place} cannot be used: the server does not answer within {_HUNG_S:g} s.",
                f"See that the server is not stopped or overloaded; {_KEPT}.",
            ) from None


async def check_connection(connection: Connection) -> None:
    """Find out whether a connection is still there before it is used, without asking the server.

    A server that ended it has said so, or hung up: something can be read, although nothing was asked. While somebody waits
    for an answer on it, nothing is read: they would wait for ever for what was taken from them.

    Raises:
        psycopg.OperationalError: It is gone.
    """
    import psycopg

    if connection.lock.locked():
        return
    poller = select.poll()
    poller.register(connection.fileno(), select.POLLIN)
    if poller.poll(0):
        connection.pgconn.consume_input()
        if connection.broken or connection.pgconn.status != psycopg.pq.ConnStatus.OK:
            raise psycopg.OperationalError("the server has closed the connection")
        await connection.execute("")


class PostgresDatabase:
    """The tables of one profile on a server; see `Database`.

    Attributes:
        pool: The connections.
        server: Where they lead.
    """

    def __init__(self, pool: Pool, server: Server) -> None:
        self.pool = pool
        self.server = server
        self.place = server.place

    @classmethod
    async def open(cls, server: Server, *, most: int = MOST_CONNECTIONS) -> Self:
        """Open the schema; make it, and its tables, if they are not there.

        Args:
            server: Where.
            most: The most connections.

        Raises:
            ThreadError: The server cannot be reached, or its tables are of another version.
            ConfigError: A pooler stands in between.
        """
        from psycopg_pool import AsyncConnectionPool

        with server.errors_as_ours():
            async with await server.connect() as connection:
                await bring_forward(connection, server.place, CONVERSATIONS, server.schema)
            pool: Pool = AsyncConnectionPool(
                server.url,
                min_size=1,
                max_size=most,
                # After an outage the pool would otherwise wait for as long as it lasted.
                reconnect_timeout=_RECONNECT_S,
                open=False,
                kwargs=server.options(),
                configure=server.prepare,
                check=check_connection,
                timeout=_POOL_S,
                num_workers=1,
            )
            await pool.open()
        return cls(pool, server)

    async def make(self, statements: Sequence[str]) -> None:
        """All tables were made when the schema was opened."""

    async def rows(self, statement: str, **values: object) -> list[tuple[Any, ...]]:
        import psycopg

        # A percent sign is the driver's own mark.
        asked = cast("LiteralString", _VALUE.sub(r"%(\1)s", statement.replace("%", "%%")))
        given = {name: _storable(value) for name, value in values.items()}
        claim = current_claim.get()
        fenced = (
            claim is not None and claim.token and claim.name == values.get("thread") and not _READS.match(statement)
        )
        async with self.server.answering(), self.pool.connection() as connection:
            if claim is None or not fenced:
                cursor = await connection.execute(asked, given)
            else:
                # In one exchange with the server, and so in one transaction: what is written stands only if the claim does.
                fence = {"claimed": claim.name, "epoch": claim.epoch, "token": claim.token}
                cursor = psycopg.AsyncClientCursor(connection)
                await cursor.execute(f"{_FENCE}; {asked}", given | fence)
                cursor.nextset()
            return await cursor.fetchall() if cursor.description else []

    async def has_column(self, table: str, column: str) -> bool:  # of the port
        return True

    def json_list(self, column: str, paths: Sequence[str]) -> str:
        fields = ", ".join(f"r.fields #> '{{{path.replace('.', ',')}}}'" for path in paths)
        read = f"SELECT read_json({column}) AS fields"  # names of ours
        return f"(SELECT json_build_array({fields})::text FROM ({read}) AS r WHERE r.fields IS NOT NULL)"  # noqa: S608

    async def tables_with(self, column: str) -> list[str]:
        rows = await self.rows(
            """
            SELECT quote_ident(c.table_name) FROM information_schema.columns AS c
            JOIN information_schema.tables AS t ON t.table_schema = c.table_schema AND t.table_name = c.table_name
            WHERE c.table_schema = current_schema() AND c.column_name = :column AND t.table_type = 'BASE TABLE'
            """,
            column=column,
        )
        return [table for (table,) in rows]

    async def compact(self) -> None:
        for table in await self.tables_with("thread_id"):
            await self.rows(f"VACUUM {table}")

    async def check_writable(self, wait_s: float) -> None:
        statement = "UPDATE schema_version SET version = version"
        try:
            async with asyncio.timeout(wait_s):
                await self.rows(statement)
        except TimeoutError:
            raise ThreadError(
                f"Nothing can be written to {self.place} within {wait_s:g} s.", "See what locks its tables."
            ) from None

    async def close(self) -> None:
        await self.pool.close()


def _storable(value: object) -> object:
    """Return a value that PostgreSQL can store: its texts have no zero bytes and no halves of surrogate pairs."""
    if not isinstance(value, str):
        return value
    return value.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()
