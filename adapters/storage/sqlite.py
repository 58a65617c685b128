"""The database of conversations in a file of SQLite's, on a connection of its own."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from adapters.storage.database import ConstraintError
from adapters.storage.sqlite_file import (
    check_writable,
    close_connection,
    open_connection,
    readable,
    storage_errors_as_ours,
)
from contracts.errors import ThreadError

if TYPE_CHECKING:
    import aiosqlite

_ADDED_COLUMN: Final = re.compile(r"ALTER TABLE (\w+) ADD COLUMN (\w+) ")


class SqliteDatabase:
    """A file with its connection; see `Database`.

    Attributes:
        connection: Each statement on it is a transaction of its own.
    """

    def __init__(self, connection: aiosqlite.Connection, path: Path, what: str) -> None:
        self.connection = connection
        self._path = path
        self._what = what
        self.place = str(path)

    @classmethod
    async def open(cls, path: Path, what: str = "conversations") -> Self:
        """Open a file, usually that of the checkpoints; create it if it does not exist.

        Args:
            path: The file.
            what: What it holds, for messages, in the plural.

        Raises:
            ThreadError: It cannot be opened, read or written.
        """
        connection = await open_connection(path, None, what)
        connection.text_factory = readable
        return cls(connection, path, what)

    async def make(self, statements: Sequence[str]) -> None:
        for statement in statements:
            if column := _ADDED_COLUMN.match(statement):
                await self._add_column(statement, *column.groups())
            else:
                await self.rows(statement)

    async def _add_column(self, statement: str, table: str, column: str) -> None:
        if await self.has_column(table, column):
            return
        with storage_errors_as_ours(self._path, self._what):
            try:
                await self.connection.execute_fetchall(statement)
            except sqlite3.OperationalError as error:
                # An earlier version's file that may not be written can be read; another process may have added it meanwhile.
                read_only = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_READONLY
                if not read_only and not await self.has_column(table, column):
                    raise

    async def has_column(self, table: str, column: str) -> bool:
        asked = "SELECT 1 FROM pragma_table_info(:table) WHERE name = :column"
        return bool(await self.rows(asked, table=table, column=column))

    async def rows(self, statement: str, **values: object) -> list[tuple[Any, ...]]:
        with storage_errors_as_ours(self._path, self._what):
            try:
                return [tuple(row) for row in await self.connection.execute_fetchall(statement, values)]
            except sqlite3.IntegrityError as error:
                raise ConstraintError(str(error)) from error

    def json_list(self, column: str, paths: Sequence[str]) -> str:
        # SQLite would fail on a whole page of rows for one text that is no JSON.
        text = f"CASE WHEN json_valid(CAST({column} AS TEXT)) THEN CAST({column} AS TEXT) END"
        fields = ", ".join(f"'$.{path}'" for path in paths)
        return f"(SELECT json_extract(r.text, {fields}) FROM (SELECT {text} AS text) AS r)"  # noqa: S608  # names of ours

    async def tables_with(self, column: str) -> list[str]:
        rows = await self.rows(
            """
            SELECT m.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c
            WHERE m.type = 'table' AND c.name = :column
            """,
            column=column,
        )
        return ['"' + readable(table).replace('"', '""') + '"' for (table,) in rows]

    async def compact(self) -> None:
        await self.rows("VACUUM")
        [(busy, *_)] = await self.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        if busy:
            raise ThreadError(
                f"What was deleted is still in the log beside {self.place}, because another program reads the file.",
                "End that program, such as a backup, and give the command again.",
            )

    async def check_writable(self, wait_s: float) -> None:
        await asyncio.to_thread(check_writable, self._path, wait_s, self._what)

    async def close(self) -> None:
        await close_connection(self.connection)
