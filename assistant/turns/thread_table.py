"""Tables about conversations, in one database."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from adapters.storage.sqlite import SqliteDatabase
from adapters.storage.sqlite_file import readable

if TYPE_CHECKING:
    from types import TracebackType

    from adapters.storage.database import Database


class StoredTable:
    """One table of a database. Each method of it is a single statement, so a kill leaves nothing half done.

    Every method raises `ThreadError` if the storage fails.

    Args:
        database: Where it is.
    """

    made_by: ClassVar[tuple[str, ...]]
    """Statements that make the table in a file that has none, and columns that an earlier one has not; a server's tables are made with its schema."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @classmethod
    async def open(cls, path: Path) -> Self:
        """Open the table in a file, usually that of the checkpoints; create the file if it does not exist."""
        database = await SqliteDatabase.open(path)
        try:
            return await cls.within(database)
        except BaseException:
            await database.close()
            raise

    @classmethod
    async def within(cls, database: Database) -> Self:
        """Open the table in a database, which somebody else closes."""
        await database.make(cls.made_by)
        return cls(database)

    @classmethod
    async def share(cls, other: StoredTable) -> Self:
        """Open the table in the database of another table, which closes it."""
        return await cls.within(other.database)

    async def close(self) -> None:
        await self.database.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _rows(self, statement: str, **values: object) -> list[tuple[Any, ...]]:
        return await self.database.rows(statement, **values)


class ThreadTable(StoredTable):
    """One table with a column `thread_id`."""

    name: ClassVar[str]

    async def forget(self, thread_id: str) -> int:
        """Delete a conversation's rows; return how many there were."""
        statement = f"DELETE FROM {self.name} WHERE thread_id = :thread RETURNING 1"  # noqa: S608  # a name of ours
        return len(await self._rows(statement, thread=thread_id))

    async def ids_in_all_tables(self, beginning: str) -> set[str]:
        """Return the ids of conversations that begin with a text, from every table that has a `thread_id`."""
        found: set[str] = set()
        for table in await self.database.tables_with("thread_id"):
            rows = await self._rows(
                f"SELECT DISTINCT thread_id FROM {table} WHERE substr(thread_id, 1, length(:beginning)) = :beginning",  # noqa: S608  # quoted
                beginning=beginning,
            )
            found.update(readable(thread) for (thread,) in rows)
        return found


def utc_now() -> str:
    """Return the time as ISO 8601, UTC, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
