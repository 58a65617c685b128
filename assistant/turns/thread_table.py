"""Tables about conversations, in one file, on a connection of their own."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from adapters.checkpoints.database import open_connection, readable, storage_errors_as_ours
from contracts.errors import ThreadError

if TYPE_CHECKING:
    from types import TracebackType

    import aiosqlite


class FileTable:
    """One table of the file. Each method of it is a single statement, so a kill leaves nothing half done.

    Every method raises `ThreadError` if the storage fails.
    """

    made_by: ClassVar[tuple[str, ...]]
    """Statements that make the table where there is none."""

    def __init__(self, connection: aiosqlite.Connection, path: Path) -> None:
        self._connection = connection
        self.path = path

    @classmethod
    async def open(cls, path: Path) -> Self:
        """Open the table in a file, usually that of the checkpoints; create the file if it does not exist."""
        connection = await open_connection(path, None)
        connection.text_factory = readable
        opened = cls(connection, path)
        try:
            await opened._make()
        except BaseException:
            await opened.close()
            raise
        return opened

    @classmethod
    async def share(cls, other: FileTable) -> Self:
        """Open the table on the connection of another table, which closes it."""
        opened = cls(other._connection, other.path)
        await opened._make()
        return opened

    async def _make(self) -> None:
        for statement in self.made_by:
            await self._rows(statement)

    async def close(self) -> None:
        await self._connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        with storage_errors_as_ours(self.path):
            return [tuple(row) for row in await self._connection.execute_fetchall(statement, values)]


class ThreadTable(FileTable):
    """One table with a column `thread_id`."""

    name: ClassVar[str]

    async def forget(self, thread_id: str) -> int:
        """Delete a conversation's rows; return how many there were."""
        statement = f"DELETE FROM {self.name} WHERE thread_id = ? RETURNING 1"  # noqa: S608  # a name of ours
        return len(await self._rows(statement, thread_id))

    async def ids_in_all_tables(self, beginning: str) -> set[str]:
        """Return the ids of conversations that begin with a text, from every table of the file that has a `thread_id`."""
        tables = await self._rows(
            """
            SELECT m.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c
            WHERE m.type = 'table' AND c.name = 'thread_id'
            """
        )
        found: set[str] = set()
        for (table,) in tables:
            quoted = readable(table).replace('"', '""')
            rows = await self._rows(
                f'SELECT DISTINCT thread_id FROM "{quoted}" WHERE substr(thread_id, 1, length(?1)) = ?1',  # noqa: S608  # quoted
                beginning,
            )
            found.update(readable(thread) for (thread,) in rows)
        return found

    async def compact(self) -> None:
        """Write the file anew, so that nothing of what was deleted stays in it.

        Raises:
            ThreadError: Another program reads the file, so deleted words are still in the log beside it.
        """
        await self._rows("VACUUM")
        [(busy, *_)] = await self._rows("PRAGMA wal_checkpoint(TRUNCATE)")
        if busy:
            raise ThreadError(
                f"What was deleted is still in the log beside {self.path}, because another program reads the file.",
                "End that program, such as a backup, and give the command again.",
            )


def utc_now() -> str:
    """Return the time as ISO 8601, UTC, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
