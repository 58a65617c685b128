"""The `db` source: a profile's lookups over SQLite or PostgreSQL.

The database engine prevents changes and endless statements. Reading the statements is not enough: one hostile statement
passed a check that only parsed (docs/decisions.md, 21).
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from adapters.lookups.lookup_source import LookupSource, Rows, utc_now
from adapters.threads import in_thread
from contracts.enums import Source
from contracts.errors import ConfigError, SourceUnavailable
from contracts.lookups import Lookup, Value
from contracts.ports import SearchReply, SearchRequest
from contracts.profile import Database

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine

_GRACE_S: Final = 2.0
"""What the engine gets on top of its own limit to end by itself, in seconds."""
_CONNECT_S: Final = 5
_LONGEST_VALUE: Final = 16_000_000
"""Bytes of the longest value inside a statement: a result of a turn, say, of which one part is taken."""
_INSTRUCTIONS: Final = 10_000
"""Of SQLite's virtual machine between two looks at the clock: well under a millisecond."""

_HARMLESS: Final = """
    abs avg cast ceil ceiling changes char coalesce concat concat_ws count cume_dist date datetime dense_rank exp
    first_value floor glob group_concat hex ifnull iif instr json json_array json_array_length json_each
    json_error_position json_extract json_group_array json_group_object json_object json_quote json_tree json_type
    json_valid julianday lag last_value lead length like likelihood likely ln log log10 log2 lower ltrim max min mod
    nth_value ntile nullif octet_length percent_rank pow power quote rank replace round row_number rtrim sign
    sqrt strftime string_agg substr substring sum time timediff total trim trunc typeof unicode unixepoch unlikely upper
    -> ->>
"""
FUNCTIONS: Final = frozenset(_HARMLESS.split())
"""The functions that a statement for SQLite may call; none reads a file or loads code, and each ends soon: a width
in a format, say, would not."""


@dataclass(frozen=True, slots=True)
class _SqlLimits:
    rows: int
    size: int
    seconds: float


class DatabaseSource:
    """Evidence from a database, by the lookups of a profile: see `LookupSource`.

    Each lookup has its own connection, in a thread, so that one that hangs does not block the others.

    Args:
        lookups: All of the profile; those of other sources are ignored.
        url: `sqlite:///file.db`, or `postgresql://user:password@host/database`; a path is an SQLite file's.
        limits: Rows, bytes and seconds of one lookup.
        now: The wall clock.

    Raises:
        ConfigError: The address is not valid, or is of another kind of database.
    """

    def __init__(
        self, lookups: Sequence[Lookup], url: str | Path, limits: Database, *, now: Callable[[], datetime] = utc_now
    ) -> None:
        self._engine = _Sqlite(url) if isinstance(url, Path) else _engine_of(url)
        self._limits = _SqlLimits(limits.max_rows, limits.max_bytes, limits.seconds)
        self._lookups = LookupSource(Source.DB, lookups, self._ask, now=now)

    @property
    def kind(self) -> Source:
        """The kind of source this is."""
        return Source.DB

    async def search(self, request: SearchRequest) -> SearchReply:
        """Run what the request asks for.

        Raises:
            SourceUnavailable: The database cannot be asked, or will not answer.
        """
        return await self._lookups.search(request)

    async def check(self) -> None:
        """Connect without a statement.

        Raises:
            SourceUnavailable: The database cannot be reached.
        """
        await self._in_time(lambda: self._engine.rows("SELECT 1 AS one", {}, self._limits), "The database")

    @property
    def dialect(self) -> str:
        """`sqlite` or `postgres`."""
        return self._engine.dialect

    async def run(self, statement: str, values: Mapping[str, Value], readable: Readable) -> Rows:
        """Run a statement that is not from the profile, under the limits of lookups and one more.

        Args:
            statement: With `:name` for values.
            values: Bound as parameters.
            readable: What it may read. SQLite enforces this; in PostgreSQL the rights of the role do.

        Raises:
            SourceUnavailable: The database cannot be asked, or will not answer.
        """
        limits = self._limits
        return await self._in_time(lambda: self._engine.rows(statement, values, limits, readable), "The statement")

    async def _ask(self, lookup: Lookup, values: Mapping[str, Value]) -> Rows:
        return await self._in_time(
            lambda: self._engine.rows(lookup.statement, values, self._limits), f"The lookup {lookup.name!r}"
        )

    async def _in_time(self, run: Callable[[], Rows], what: str) -> Rows:
        deadline = self._limits.seconds + _CONNECT_S + _GRACE_S
        try:
            return await asyncio.wait_for(in_thread(run), deadline)
        except TimeoutError as error:
            raise SourceUnavailable(f"{what} did not end within {deadline:g} seconds.", _SLOW) from error
        except _StatementFailure as stopped:
            raise SourceUnavailable(f"{what} {stopped.why}.", stopped.way_out) from stopped.__cause__


Readable = Mapping[str, frozenset[str]]
"""Columns by table, in lower case; of a view, they are the view's."""

_SLOW: Final = "Give the statement an index or a LIMIT, or raise database.seconds in the profile."


class _StatementFailure(Exception):
    """A statement did not end well."""

    def __init__(self, why: str, way_out: str) -> None:
        super().__init__(why)
        self.why = why.rstrip(".")
        self.way_out = way_out


class _SqlEngine:
    """What SQLite and PostgreSQL have in common."""

    dialect: str

    def rows(
        self, statement: str, values: Mapping[str, Value], limits: _SqlLimits, readable: Readable | None = None
    ) -> Rows:
        """Run a statement; if `readable` is given, the statement may read only that.

        Raises:
            _Stopped: The engine refused it, or a limit ended it.
        """
        from sqlalchemy.exc import SQLAlchemyError

        try:
            engine = self._make_engine(limits)
            with engine.connect() as connection:
                if readable is not None:
                    self._judge(connection, statement, values, readable)
                with self._fence(connection, limits, readable):
                    return self._read(connection, statement, values, limits)
        except (SQLAlchemyError, sqlite3.Error) as error:
            raise self._describe_failure(error, limits) from error
        except (OSError, ValueError) as error:
            raise _StatementFailure(f"failed: {error}", _WRONG) from error

    def _read(self, connection: Connection, statement: str, values: Mapping[str, Value], limits: _SqlLimits) -> Rows:
        from sqlalchemy import text

        # A cursor of the server's where there is one: one statement, and no more rows on their way than fit.
        options = {"stream_results": True, "max_row_buffer": limits.rows + 1, "yield_per": limits.rows + 1}
        with connection.execute(text(statement), dict(values), execution_options=options) as result:
            return _take_rows(result.mappings(), limits)

    def _make_engine(self, limits: _SqlLimits) -> Engine:
        raise NotImplementedError

    def _judge(self, connection: Connection, statement: str, values: Mapping[str, Value], readable: Readable) -> None:
        """Refuse a statement that the fence of the connection alone would not stop; most engines have none such."""

    @contextmanager
    def _fence(self, connection: Connection, limits: _SqlLimits, readable: Readable | None) -> Generator[None]:
        """Take from a connection what it must not do."""
        raise NotImplementedError
        yield

    def _describe_failure(self, error: Exception, limits: _SqlLimits) -> _StatementFailure:
        raise NotImplementedError


def _take_rows(found: Any, limits: _SqlLimits) -> Rows:
    """Take rows until a limit; what was left out is said, for half a list looks like a whole one."""
    rows: list[Mapping[str, object]] = []
    size = 0
    for row in found:
        said = {str(name): value for name, value in row.items()}
        size += sum(_size(value) for value in said.values())
        if size > limits.size and not rows:
            raise _StatementFailure(
                f"has a row of more than {limits.size} bytes", "Select less, or raise database.max_bytes."
            )
        if size > limits.size or len(rows) == limits.rows:
            limit = f"{limits.size} bytes" if size > limits.size else f"{limits.rows} rows"
            return Rows(tuple(rows), f"there are more than {limit}: the first {len(rows)} rows were taken")
        rows.append(said)
    return Rows(tuple(rows))


def _size(value: object) -> int:
    return len(value if isinstance(value, bytes) else str(value).encode(errors="replace"))


class _Sqlite(_SqlEngine):
    dialect = "sqlite"

    def __init__(self, path: Path) -> None:
        self._path = path

    def _make_engine(self, limits: _SqlLimits) -> Engine:
        from sqlalchemy import create_engine
        from sqlalchemy.pool import NullPool

        if not self._path.is_file():
            raise _StatementFailure(
                f"cannot be asked: there is no database {self._path}",
                "Set GUARDIAN_DATABASE_URL to the database; conversations have none before the first one.",
            )

        def connect() -> sqlite3.Connection:
            address = f"{self._path.resolve().as_uri()}?mode=ro"
            return sqlite3.connect(address, uri=True, timeout=limits.seconds, isolation_level=None)

        return create_engine("sqlite://", creator=connect, poolclass=NullPool)

    def _judge(self, connection: Connection, statement: str, values: Mapping[str, Value], readable: Readable) -> None:
        """Refuse a statement that passes for a view it is not.

        The fence lets a view read what it is made of, and SQLite calls a query of `WITH` by its name just as it calls
        a view. So where views may be read, the statement is first prepared against an empty database in which what may
        be read are plain tables, and there is nothing else: there, only such a query has a view's name.
        """
        from sqlalchemy import create_engine, text
        from sqlalchemy.exc import SQLAlchemyError
        from sqlalchemy.pool import NullPool

        raw = _raw(connection)
        views = _views(raw).intersection(readable)
        if not views:
            return

        def empty() -> sqlite3.Connection:
            made = sqlite3.connect(":memory:", isolation_level=None)
            for table, columns in _names(raw, readable).items():
                made.execute(f"CREATE TABLE {_quote_name(table)} ({', '.join(map(_quote_name, columns))})").close()
            return made

        try:
            with create_engine("sqlite://", creator=empty, poolclass=NullPool).connect() as beside:
                _raw(beside).set_authorizer(_allowed_to_name(readable, views))
                beside.execute(text(f"EXPLAIN {statement}"), dict(values)).close()
        except SQLAlchemyError as error:
            raise _StatementFailure(f"was refused: {getattr(error, 'orig', None) or error}", _ONLY_READS) from error

    @contextmanager
    def _fence(self, connection: Connection, limits: _SqlLimits, readable: Readable | None) -> Generator[None]:
        raw = _raw(connection)
        raw.execute("PRAGMA query_only = ON").close()
        for category, most in (
            (sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE),
            (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
            (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 300),
            (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
        ):
            raw.setlimit(category, most)
        deadline = time.monotonic() + limits.seconds
        raw.set_progress_handler(lambda: time.monotonic() > deadline, _INSTRUCTIONS)
        raw.set_authorizer(_authorize if readable is None else _allowed_to_read(readable, _views(raw)))
        yield

    def _describe_failure(self, error: Exception, limits: _SqlLimits) -> _StatementFailure:
        cause = getattr(error, "orig", None) or error
        name = getattr(cause, "sqlite_errorname", "") or ""
        if name == "SQLITE_INTERRUPT":
            return _StatementFailure(f"was stopped after {limits.seconds:g} seconds", _SLOW)
        if name in ("SQLITE_AUTH", "SQLITE_READONLY") or "not authorized" in str(cause):
            return _StatementFailure(f"was refused: {cause}", _ONLY_READS)
        return _StatementFailure(f"failed: {cause}", _WRONG)


def _authorize(action: int, _first: str | None, second: str | None, *_: str | None) -> int:
    """Say to SQLite what a statement may do: read, and call the functions that are known to be harmless."""
    if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in FUNCTIONS:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _raw(connection: Connection) -> sqlite3.Connection:
    raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)  # noqa: S101  # `_Sqlite._made` has made it
    return raw


def _quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _names(raw: sqlite3.Connection, readable: Readable) -> dict[str, list[str]]:
    """Return the columns that may be read by table, both as the database writes them: it folds no more than ASCII."""
    with closing(
        raw.execute(
            "SELECT m.name, c.name FROM sqlite_master AS m, pragma_table_xinfo(m.name) AS c"
            " WHERE m.type IN ('table', 'view')"
        )
    ) as found:
        names: dict[str, list[str]] = {}
        for table, column in found:
            if column.lower() in readable.get(table.lower(), ()):
                names.setdefault(table, []).append(column)
        return names


def _views(raw: sqlite3.Connection) -> frozenset[str]:
    with closing(raw.execute("SELECT name FROM sqlite_master WHERE type = 'view'")) as found:
        return frozenset(name.lower() for (name,) in found)


def _allowed_to_read(readable: Readable, views: frozenset[str]) -> Callable[..., int]:
    """Return what says to SQLite what a statement may do that may only read some columns.

    That a view's name means the view is for `_Sqlite._judge` to see to.
    """
    open_views = views.intersection(readable)

    def allowed(action: int, first: str | None, second: str | None, *place: str | None) -> int:
        if action != sqlite3.SQLITE_READ:
            return _authorize(action, first, second, *place)
        # A view that may be read may read what it is made of. Counting rows reads the column "".
        through = (place[1] or "").lower() if len(place) > 1 else ""
        columns = readable.get((first or "").lower())
        known = columns is not None and (second or "").lower() in (*columns, "")
        return sqlite3.SQLITE_OK if known or through in open_views else sqlite3.SQLITE_DENY

    return allowed


def _allowed_to_name(readable: Readable, views: frozenset[str]) -> Callable[..., int]:
    """Return what says to SQLite what a statement may do in a database without views; no query has a view's name."""
    allowed_to_read = _allowed_to_read(readable, frozenset())

    def allowed(action: int, first: str | None, second: str | None, *place: str | None) -> int:
        through = (place[1] or "").lower() if len(place) > 1 else ""
        return sqlite3.SQLITE_DENY if through in views else allowed_to_read(action, first, second, *place)

    return allowed


_ONLY_READS: Final = "A statement may only read what it is given: correct the profile, or the role's rights."
_WRONG: Final = "Correct the statement in the profile, or GUARDIAN_DATABASE_URL."


class _Postgres(_SqlEngine):
    dialect = "postgres"

    def __init__(self, url: URL) -> None:
        self._url = url

    def _make_engine(self, limits: _SqlLimits) -> Engine:
        from sqlalchemy import create_engine
        from sqlalchemy.pool import NullPool

        milliseconds = round(limits.seconds * 1000)
        settings = {
            "default_transaction_read_only": "on",
            "statement_timeout": milliseconds,
            "lock_timeout": milliseconds,
            "idle_in_transaction_session_timeout": 2 * milliseconds + 1000 * _CONNECT_S,
            "timezone": "UTC",
        }
        # The address's own come first: of two values of one setting, the later one counts.
        own = self._url.query.get("options", "")
        options = {
            "connect_timeout": _CONNECT_S,
            "application_name": "guardian",
            "tcp_user_timeout": milliseconds,
            "keepalives_idle": _CONNECT_S,
            "keepalives_interval": 1,
            "keepalives_count": 3,
            "options": " ".join((str(own), *(f"-c {name}={value}" for name, value in settings.items()))),
        }
        try:
            return create_engine(self._url, poolclass=NullPool, connect_args=options)
        except ImportError as error:
            raise _StatementFailure(
                "cannot be asked: the driver for PostgreSQL is not installed",
                "Install it: pip install 'guardian-assistant[postgres]'.",
            ) from error

    @contextmanager
    def _fence(self, connection: Connection, limits: _SqlLimits, readable: Readable | None) -> Generator[None]:
        # A statement can put off the server's own limit for what is fetched later.
        raw: Any = connection.connection.driver_connection
        timer = threading.Timer(limits.seconds + 1, raw.cancel)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()

    def _describe_failure(self, error: Exception, limits: _SqlLimits) -> _StatementFailure:
        cause = getattr(error, "orig", None) or error
        code = getattr(cause, "sqlstate", "") or ""
        said = " ".join(str(cause).split())
        for secret in filter(None, (self._url.password, str(self._url.query.get("password", "")))):
            said = said.replace(secret, "***")
        if code in ("57014", "55P03"):
            return _StatementFailure(f"was stopped after {limits.seconds:g} seconds", _SLOW)
        if code in ("25006", "42501", "42601", "0A000"):  # read only, no right, no SELECT, writes in a WITH
            return _StatementFailure(f"was refused: {said}", _ONLY_READS)
        if code.startswith(("08", "28", "3D", "53", "57")) or not code:
            return _StatementFailure(
                f"cannot be asked: {said}", "Check GUARDIAN_DATABASE_URL and that the server is running."
            )
        return _StatementFailure(f"failed: {said}", _WRONG)


def _engine_of(url: str) -> _SqlEngine:
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        read = make_url(url)
    except (ArgumentError, ValueError):
        read = None
    match read.get_backend_name() if read is not None else "":
        case "sqlite" if read is not None and read.database and read.database != ":memory:" and not read.query:
            return _Sqlite(Path(read.database))
        case "postgresql" if read is not None and read.drivername in ("postgresql", "postgresql+psycopg"):
            return _Postgres(read.set(drivername="postgresql+psycopg"))
        case _:
            # The address is not quoted: there may be a password in it.
            raise ConfigError(
                "GUARDIAN_DATABASE_URL is not the address of a database that can be asked.",
                "Write sqlite:///path/to/file.db, or postgresql://user:password@host/database.",
            )
