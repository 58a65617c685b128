"""The port of a database of conversations: an SQLite file and a PostgreSQL server behind the same few methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class ConstraintError(Exception):
    """A statement breaks a constraint of its table; nothing of it was written."""


class Fenced(Exception):  # the field's word
    """Another process has claimed the conversation since: whoever sees this writes nothing more to it."""


class Database(Protocol):
    """One database. Each statement is a transaction of its own, so a kill leaves nothing half done.

    Every method raises `ThreadError` if the storage fails.

    Attributes:
        place: The file, or the server's address without its password; for messages.
    """

    place: str

    async def make(self, statements: Sequence[str]) -> None:
        """Make tables and add columns that are not there yet, if this database does not make all of them when it is opened."""
        ...

    async def rows(self, statement: str, **values: object) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows.

        Args:
            statement: In the SQL that both databases know; a value stands in it as `:name`.
            values: By name.

        Raises:
            ConstraintError: It breaks a constraint of a table.
            Fenced: It writes for a claim that is over.
        """
        ...

    async def has_column(self, table: str, column: str) -> bool:
        """Return whether a table has a column; a file of an earlier version that may not be written lacks new ones."""
        ...

    def json_list(self, column: str, paths: Sequence[str]) -> str:
        """Return an expression for fields of a JSON text, as a JSON list; `NULL` where the text is no JSON.

        Args:
            column: The text's column.
            paths: Names of fields, with points between: `guardian.verdict`.
        """
        ...

    async def tables_with(self, column: str) -> list[str]:
        """Return the tables that have a column, as they are written in a statement."""
        ...

    async def compact(self) -> None:
        """Have nothing of what was deleted stay in the database's files, as far as that is in a program's power.

        Raises:
            ThreadError: Something stays; the error says what ends it.
        """
        ...

    async def check_writable(self, wait_s: float) -> None:
        """Write something and take it back.

        Args:
            wait_s: How long to wait for other writers, in seconds.

        Raises:
            ThreadError: Nothing can be written now.
        """
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...
