"""Opening of the SQLite file of the conversations, and translation of SQLite's errors into Guardian's."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import tempfile
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final, Literal, TypeVar

import aiosqlite

from adapters.data_folder import make_folder
from contracts.errors import ThreadError

BUSY_TIMEOUT_S: Final = 5.0
"""How long a statement waits for another process's write, in seconds."""

_RETRY_EVERY_S: Final = 0.02
_T = TypeVar("_T")

_NOT_ABOUT_STORAGE = (
    sqlite3.DataError,
    sqlite3.IntegrityError,
    sqlite3.NotSupportedError,
    sqlite3.ProgrammingError,
)

_KEPT = "what was finished until then is kept, and the next message or `guardian threads resume` goes on from there"

_FAILURES: Final[tuple[tuple[tuple[str, ...], str, str], ...]] = (
    (("SQLITE_FULL",), "the disk is full", f"Free some space on that disk; {_KEPT}."),
    (
        ("SQLITE_BUSY", "SQLITE_LOCKED"),
        "another program keeps it locked",
        f"Close the program that holds it (a backup, a database browser); {_KEPT}.",
    ),
    (
        ("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH"),
        "it may not be written",
        "Give this user the right to write the file and its folder, or choose another GUARDIAN_DATA_DIR.",
    ),
    (
        ("SQLITE_CANTOPEN",),
        "it cannot be opened",
        "Check that its folder exists and may be written, or choose another GUARDIAN_DATA_DIR.",
    ),
    (
        ("SQLITE_NOTADB", "SQLITE_CORRUPT"),
        "the file is damaged or is not a database",
        "Move it away, with the -wal and -shm files beside it, and put a backup in its place or start afresh without.",
    ),
    (
        ("SQLITE_IOERR",),
        "the disk could not be read or written",
        f"Check the disk and the space left on it; {_KEPT}.",
    ),
)
"""Prefixes of SQLite's names of an error, what that means, and what to do about it."""


def storage_failure(error: sqlite3.Error, path: Path, what: str = "conversations") -> ThreadError:
    """Return Guardian's error for an SQLite error; `what` is what the file holds, in the plural."""
    name = getattr(error, "sqlite_errorname", None) or ""
    for prefixes, meaning, way_out in _FAILURES:
        if name.startswith(prefixes):
            return ThreadError(f"The {what} in {path} cannot be used: {meaning} ({error}).", way_out)
    return ThreadError(
        f"The {what} in {path} cannot be used: {error}.",
        "Move the file away, with the -wal and -shm files beside it, if another program or version wrote it.",
    )


@contextmanager
def storage_errors_as_ours(path: Path, what: str = "conversations") -> Generator[None]:
    """Translate errors of the storage into `ThreadError`; wrong statements and broken constraints are not translated.

    Raises:
        ThreadError: The disk is full, the database locked, unreadable or not writable.
    """
    try:
        yield
    except _NOT_ABOUT_STORAGE:
        raise
    except sqlite3.DatabaseError as error:
        raise storage_failure(error, path, what) from error


async def open_connection(
    path: Path, isolation: Literal["IMMEDIATE"] | None, what: str = "conversations"
) -> DatabaseConnection:
    """Open the file in WAL mode; create it if it does not exist.

    Args:
        path: The database; folders above it are created.
        isolation: `IMMEDIATE` if each change begins a transaction that a commit must end; `None` if each statement is
            its own transaction.
        what: What the file holds, for messages, in the plural.

    Raises:
        ThreadError: The file cannot be opened, read or written.
    """
    with storage_errors_as_ours(path, what):
        await asyncio.to_thread(_make_folder, path.parent, what)
        await asyncio.to_thread(_make_private, path)
        connection = await _connect(path, isolation)
        try:
            await _prepare(connection)
        except BaseException:
            await close_connection(connection)
            raise
        return connection


class DatabaseConnection(aiosqlite.Connection):
    """A connection whose end can be waited for, also where nobody got it: its thread tells the loop that it ends."""

    stopped: asyncio.Future[None] | None = None

    async def run(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Run something in the connection's thread, in one call, and return what it returns.

        It runs to its end also if the task is cancelled meanwhile.
        """
        return await self._execute(work, self._conn)

    async def transact(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Run something as `run` does, in a transaction: all of it or nothing is stored, also under kill -9."""
        return await self.run(partial(_in_transaction, work))

    def stop(self) -> asyncio.Future[None] | None:
        self.stopped = super().stop()
        # A task that is cancelled cancels what it waits for: whoever waits after it would be told at once.
        return None if self.stopped is None else asyncio.shield(self.stopped)


def _in_transaction(work: Callable[[sqlite3.Connection], _T], connection: sqlite3.Connection) -> _T:
    connection.execute("BEGIN IMMEDIATE")
    try:
        result = work(connection)
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise
    return result


async def _connect(path: Path, isolation: Literal["IMMEDIATE"] | None) -> DatabaseConnection:
    """Connect; where that fails, or the task is cancelled meanwhile, wait for the thread that would have served the connection.

    It tells its loop what became of it, and the loop may end at once.
    """
    connection = DatabaseConnection(
        partial(sqlite3.connect, path, timeout=BUSY_TIMEOUT_S, isolation_level=isolation), iter_chunk_size=64
    )
    opening = asyncio.ensure_future(connection)
    try:
        await asyncio.shield(opening)
    except BaseException:
        await asyncio.wait([opening])
        if not opening.cancelled() and opening.exception() is None:
            await connection.close()
        elif connection.stopped is not None:
            await connection.stopped
        raise
    return connection


async def close_connection(connection: aiosqlite.Connection) -> None:
    """Close a connection completely, even if the task is cancelled meanwhile."""
    closing_it = asyncio.ensure_future(connection.close())
    try:
        await asyncio.shield(closing_it)
    except asyncio.CancelledError:
        await asyncio.wait([closing_it])
        # A loop that ends has cancelled the closing, too.
        if isinstance(connection, DatabaseConnection) and connection.stopped is not None:
            await connection.stopped
        raise


def check_writable(path: Path, wait_s: float, what: str = "conversations") -> None:
    """Begin a write to the file and roll it back; nothing is changed.

    Args:
        path: The database, which must exist.
        wait_s: How long to wait for another writer, in seconds.
        what: What the file holds, for messages, in the plural.

    Raises:
        ThreadError: Nothing can be written now.
    """
    with (
        storage_errors_as_ours(path, what),
        closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", wait_s, uri=True)) as connection,
    ):
        connection.isolation_level = None
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")


def readable(value: object) -> str:
    """Return a value from the file as text, whatever it is: one broken row must not hide the others."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _make_folder(folder: Path, what: str) -> None:
    try:
        make_folder(folder)
    except OSError as error:
        raise ThreadError(
            f"The folder {folder} for the {what} cannot be made: {error.strerror}.",
            "Choose another GUARDIAN_DATA_DIR, or make the folder writable.",
        ) from error


def _make_private(path: Path) -> None:
    """Make a database that is not there yet, for its owner alone: people's words stand in it.

    What SQLite keeps beside it takes over its mode; one that is there keeps the mode that somebody gave it.
    """
    # Whatever is wrong here, opening the database says it better.
    with suppress(OSError):
        if path.exists():
            return
        # Closing a file frees all locks that this process has on it (POSIX), those of SQLite, too: so it gets its name
        # when it has been closed.
        opened, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        try:
            os.close(opened)
            os.link(beside, path)
        finally:
            Path(beside).unlink()


async def _prepare(connection: aiosqlite.Connection) -> None:
    await connection.execute_fetchall(f"PRAGMA busy_timeout = {int(BUSY_TIMEOUT_S * 1000)}")
    await connection.execute_fetchall("PRAGMA synchronous = NORMAL")
    clock = asyncio.get_running_loop().time
    deadline = clock() + BUSY_TIMEOUT_S
    while True:
        try:
            await connection.execute_fetchall("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            # SQLite does not wait by itself where two processes switch a new file to WAL at once.
            if not (error.sqlite_errorname or "").startswith("SQLITE_BUSY") or clock() >= deadline:
                raise
            await asyncio.sleep(_RETRY_EVERY_S)
        else:
            return
