"""The table that keeps hand-offs until they are delivered, and a record of delivered ones."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from adapters.data_folder import make_folder
from adapters.hand_off.delivery import Delivery, key_of
from adapters.storage.sqlite import SqliteDatabase
from adapters.storage.sqlite_file import readable
from contracts.errors import HandOffFailed, ThreadError
from contracts.report import Ticket, number_of

if TYPE_CHECKING:
    from adapters.storage.database import Database

MOST_REFUSALS: Final = 5
"""After so many nobody sends a ticket but the command: its receiver would most likely say no again."""
AT_ONCE: Final = 100
"""How many kept tickets are looked up for sending in one go."""

_WHAT: Final = "hand-offs"
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS hand_offs (
    thread_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    key TEXT NOT NULL,
    kept_at TEXT NOT NULL,
    ticket TEXT,               -- JSON; nothing once it is delivered
    tries INTEGER NOT NULL DEFAULT 0,
    refused INTEGER NOT NULL DEFAULT 0,
    why TEXT NOT NULL DEFAULT '',
    delivered_at TEXT,
    delivered_to TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (thread_id, turn_id)
)
"""
_COLUMNS: Final = "thread_id, turn_id, key, kept_at, ticket, tries, refused, why, delivered_at, delivered_to"


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """One hand-off.

    Attributes:
        kept_at, delivered_at: ISO 8601 in UTC; the second `None` while it is kept.
        ticket: As JSON; `None` once it is delivered: then the receiver has it.
        tries: The number of failed tries to send it.
        refused: How many of these tries the receiver refused.
        why: Why the last try failed, and what to do.
    """

    thread_id: str
    turn_id: str
    key: str
    kept_at: str
    ticket: str | None
    tries: int
    refused: int
    why: str
    delivered_at: str | None
    delivered_to: str

    @property
    def state(self) -> str:
        """`delivered`, `kept` (will be sent again automatically) or `failed` (only the command sends it again)."""
        if self.delivered_at is not None:
            return "delivered"
        return "failed" if self.refused >= MOST_REFUSALS else "kept"

    @property
    def number(self) -> str:
        """What its user quotes."""
        return number_of(self.thread_id, self.turn_id)

    def describe(self) -> dict[str, Any]:
        """Return the hand-off as plain data for people and programs, without the ticket."""
        fields = asdict(self)
        del fields["ticket"]
        return {**fields, "state": self.state, "number": self.number}

    def delivery(self) -> Delivery:
        """Return the delivery to send; only for a hand-off that was not delivered."""
        return Delivery(self.key, self.kept_at, Ticket.model_validate_json(self.ticket or ""))


class Place(Protocol):
    """Where hand-offs are kept. It is opened for each operation, because these are rare."""

    async def exists(self) -> bool:
        """Whether anything was ever kept there."""
        ...

    def open(self) -> AbstractAsyncContextManager[Database]:
        """Open the database with the table; make it if there is none.

        Raises:
            ThreadError: It cannot be opened, read or written.
        """
        ...


class OutboxFile:
    """An SQLite file of hand-offs. It holds users' words, so only its owner may read it.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    async def exists(self) -> bool:
        return await asyncio.to_thread(self._path.exists)

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Database]:
        await asyncio.to_thread(_keep_private, self._path)
        database = await SqliteDatabase.open(self._path, _WHAT)
        try:
            # What is kept must be on the disk before it is sent, or a power failure makes two of it. What is deleted is
            # overwritten: people's words stand in it.
            await database.make(("PRAGMA synchronous = FULL", "PRAGMA secure_delete = ON", _SCHEMA))
            yield database
        finally:
            await database.close()


class Outbox:
    """The store of hand-offs. Reading and `forget` make nothing that is not there.

    Args:
        place: Where they are kept.
        scope: The deployment of the conversations; part of the keys that receivers see.
    """

    def __init__(self, place: Place, scope: str) -> None:
        self._place = place
        self._scope = scope

    async def keep(self, ticket: Ticket) -> OutboxEntry:
        """Keep a ticket, unless its turn already has one; return the kept one.

        Raises:
            HandOffFailed: The file cannot be written.
        """
        storable = Ticket.model_validate_json(_text(json.dumps(ticket.model_dump(mode="json"), ensure_ascii=False)))
        place = {"thread": _text(ticket.thread_id), "turn": _text(ticket.turn_id)}
        async with self._open() as database:
            await database.rows(
                """
                INSERT INTO hand_offs (thread_id, turn_id, key, kept_at, ticket)
                VALUES (:thread, :turn, :key, :now, :ticket) ON CONFLICT DO NOTHING
                """,
                **place,
                key=key_of(self._scope, storable),
                now=_now(),
                ticket=storable.model_dump_json(),
            )
            [entry] = await _entries(database, "WHERE thread_id = :thread AND turn_id = :turn", place)
            return entry

    async def find(self, thread_id: str, turn_id: str) -> OutboxEntry | None:
        """Return a turn's hand-off.

        Raises:
            HandOffFailed: The file cannot be read.
        """
        found = await self._read(
            "WHERE thread_id = :thread AND turn_id = :turn", thread=_text(thread_id), turn=_text(turn_id)
        )
        return found[0] if found else None

    async def entries(self) -> list[OutboxEntry]:
        """Return all hand-offs, oldest first.

        Raises:
            HandOffFailed: The file cannot be read.
        """
        return await self._read("ORDER BY kept_at, thread_id, turn_id")

    async def waiting(self, *, all_of_them: bool = False) -> list[OutboxEntry]:
        """Return the hand-offs to send, least tried first, so that one that fails does not block the others.

        Args:
            all_of_them: Also those that were refused so often that they are skipped otherwise.

        Raises:
            HandOffFailed: The file cannot be read.
        """
        if all_of_them:
            return await self._read("WHERE ticket IS NOT NULL ORDER BY tries, kept_at")
        return await self._read(
            "WHERE ticket IS NOT NULL AND refused < :refusals ORDER BY tries, kept_at LIMIT :most",
            refusals=MOST_REFUSALS,
            most=AT_ONCE,
        )

    async def delivered(self, entry: OutboxEntry, to: str) -> None:
        """Mark a hand-off as delivered, and delete its words: the receiver has them now.

        Raises:
            HandOffFailed: The file cannot be written.
        """
        await self._write(
            "UPDATE hand_offs SET ticket = NULL, why = '', delivered_at = :now, delivered_to = :receiver "
            "WHERE thread_id = :thread AND turn_id = :turn RETURNING 1",
            now=_now(),
            receiver=to,
            thread=entry.thread_id,
            turn=entry.turn_id,
        )

    async def failed(self, entry: OutboxEntry, why: str, *, refused: bool) -> None:
        """Note that a try failed.

        Raises:
            HandOffFailed: The file cannot be written.
        """
        await self._write(
            "UPDATE hand_offs SET tries = tries + 1, refused = refused + :refused, why = :why "
            "WHERE thread_id = :thread AND turn_id = :turn RETURNING 1",
            refused=int(refused),
            why=why,
            thread=entry.thread_id,
            turn=entry.turn_id,
        )

    async def forget(self, thread_id: str) -> int:
        """Delete a conversation's hand-offs, delivered or not; return how many there were.

        Raises:
            HandOffFailed: The file cannot be written.
        """
        if not await self._place.exists():
            return 0
        return await self._write("DELETE FROM hand_offs WHERE thread_id = :thread RETURNING 1", thread=_text(thread_id))

    async def _read(self, where: str, **values: object) -> list[OutboxEntry]:
        if not await self._place.exists():
            return []
        async with self._open() as database:
            return await _entries(database, where, values)

    async def _write(self, statement: str, **values: object) -> int:
        async with self._open() as database:
            return len(await database.rows(statement, **values))

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[Database]:
        try:
            async with self._place.open() as database:
                yield database
        except ThreadError as error:
            raise HandOffFailed(error.message, error.way_out) from error


def _keep_private(path: Path) -> None:
    """Have a file, and those that SQLite keeps beside it, readable for their owner alone; those take over its mode."""
    # Whatever is wrong here, opening the database says it better.
    with suppress(OSError):
        make_folder(path.parent)
        for one in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
            if one.exists() and one.stat().st_mode & 0o077:
                one.chmod(0o600)


async def _entries(database: Database, where: str, values: Mapping[str, object]) -> list[OutboxEntry]:
    rows = await database.rows(f"SELECT {_COLUMNS} FROM hand_offs {where}", **values)  # noqa: S608  # texts of ours
    return [_entry(*row) for row in rows]


def _entry(*values: object) -> OutboxEntry:
    thread_id, turn_id, key, kept_at, ticket, tries, refused, why, delivered_at, delivered_to = values
    return OutboxEntry(
        thread_id=readable(thread_id),
        turn_id=readable(turn_id),
        key=readable(key),
        kept_at=readable(kept_at),
        ticket=None if ticket is None else readable(ticket),
        tries=tries if isinstance(tries, int) else 0,
        refused=refused if isinstance(refused, int) else 0,
        why=readable(why),
        delivered_at=None if delivered_at is None else readable(delivered_at),
        delivered_to=readable(delivered_to),
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _text(name: str) -> str:
    """Return an id that can be stored: half a surrogate pair cannot."""
    return name.encode("utf-8", "replace").decode()
