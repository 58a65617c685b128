"""The embedded engine: a graph in one file, opened for reading only.

One `Database` serves all threads through a few shared connections. One thread at a time uses a connection. There are
few because a connection keeps memory of the pool after its statement; fifty of them have used it up. The library
releases the interpreter's lock while it works. If the file is replaced, it is opened again; threads that still read the
old file read it to the end.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from adapters.lookups.graph.engine import SLOW, UNNAMED, Row, RowSet, StatementLimits, Value, plain_value, take_rows
from contracts.errors import SourceUnavailable

if TYPE_CHECKING:
    import ladybug

_INDEX_AGAIN: Final = "Index the documents again."
POOL: Final = 64 << 20
"""Bytes of pages that are kept in memory; the library's default is most of the machine."""
AT_ONCE: Final = 4
"""Connections, and so statements that run side by side."""
LARGEST: Final = 1 << 36
"""Bytes of address space: how large a file can be read. The library's default of 8 TB is refused by some containers."""


class Ladybug:
    """A graph file.

    Args:
        file: The file from `building.build`. The first statement opens it.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._opening = threading.Lock()
        self._places = threading.BoundedSemaphore(AT_ONCE)
        self._seen: tuple[int, int, int] | None = None
        self._database: ladybug.Database | None = None
        self._idle: list[ladybug.Connection] = []

    def run(
        self, statement: str, parameters: Mapping[str, Value], limits: StatementLimits, asked: str = UNNAMED
    ) -> RowSet:
        """Return the rows of a statement; see `Engine.run`."""
        if not self._places.acquire(timeout=limits.seconds):
            raise SourceUnavailable(f"The graph was too busy for {limits.seconds:g} s ({asked}).", SLOW)
        try:
            return self._ask(statement, parameters, limits, asked)
        finally:
            self._places.release()

    def _ask(self, statement: str, parameters: Mapping[str, Value], limits: StatementLimits, asked: str) -> RowSet:
        try:
            connection = self._connection()
        except FileNotFoundError as error:
            raise SourceUnavailable("There is no graph of the documents.", _INDEX_AGAIN) from error
        except ImportError as error:
            raise SourceUnavailable(
                "The graph engine is not installed.", "Install the package ladybug: `make install` does."
            ) from error
        except (RuntimeError, OSError, ValueError) as error:
            raise SourceUnavailable(f"The graph cannot be asked: {_first_line(error)}", _INDEX_AGAIN) from error
        try:
            return self._run(connection, statement, parameters, limits, asked)
        except (RuntimeError, OSError, ValueError, TypeError) as error:
            raise _fault(_first_line(error), limits, asked) from error
        finally:
            with self._opening:
                # One of a database that was replaced meanwhile is let go of.
                if connection.database is self._database:
                    self._idle.append(connection)

    def close(self) -> None:
        """Release the file; the object may still be used."""
        with self._opening:
            database, self._database, self._seen = self._database, None, None
            self._idle.clear()
        if database is not None:
            database.close()

    def _run(
        self,
        connection: ladybug.Connection,
        statement: str,
        parameters: Mapping[str, Value],
        limits: StatementLimits,
        asked: str,
    ) -> RowSet:
        connection.set_query_timeout(max(1, int(limits.seconds * 1000)))
        # A lone surrogate is no text for the engine; what it stands for is not in the graph either.
        values: dict[str, Any] = {name: _encodable(value) for name, value in parameters.items()}
        result = connection.execute(statement, values)
        if isinstance(result, list):
            raise ValueError("more than one statement")
        with result:
            return take_rows(_rows(result), limits, asked)

    def _connection(self) -> ladybug.Connection:
        import ladybug

        database = self._current()
        with self._opening:
            if self._idle and database is self._database:
                return self._idle.pop()
        return ladybug.Connection(database, num_threads=1)

    def _current(self) -> ladybug.Database:
        import ladybug

        stamp = self._file.stat()
        if not stamp.st_size:
            # The library takes it for a graph without any nodes.
            raise ValueError("its file is empty")
        seen = (stamp.st_ino, stamp.st_mtime_ns, stamp.st_size)
        with self._opening:
            if self._database is None or seen != self._seen:
                # The old one is closed when its last connection is let go of.
                self._database = ladybug.Database(
                    self._file, read_only=True, buffer_pool_size=POOL, max_num_threads=2, max_db_size=LARGEST
                )
                self._seen = seen
                self._idle.clear()
            return self._database


def _rows(result: ladybug.QueryResult) -> Iterator[Row]:
    names = result.get_column_names()
    while result.has_next():
        values: Any = result.get_next()
        yield {name: plain_value(value) for name, value in zip(names, values, strict=True)}


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _fault(said: str, limits: StatementLimits, asked: str) -> SourceUnavailable:
    """Return what to say of a statement that failed in a graph that could be opened."""
    if said == "Interrupted.":
        return SourceUnavailable(f"The graph did not answer within {limits.seconds:g} s ({asked}).", SLOW)
    way_out = f"Correct {asked} in the profile."
    if said.startswith("Buffer manager exception"):
        way_out = f"Make {asked} ask for less: it needs more than the {POOL >> 20} MB of memory that it gets."
    elif said.startswith("IO exception"):
        way_out = _INDEX_AGAIN
    return SourceUnavailable(f"The graph cannot be asked for {asked}: {said}", way_out)


def _encodable(value: Value) -> Value:
    return value.encode("utf-8", "replace").decode("utf-8").replace("\x00", " ") if isinstance(value, str) else value
