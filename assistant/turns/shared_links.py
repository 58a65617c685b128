"""Links by which others may read a conversation as it was when it was shared: the table `links`.

A link has nothing in it but a random id, so it says nothing of who shared what. The table has the id's digest alone: no
copy of the file opens a conversation, and how long a look-up takes says nothing of the ids that there are.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Final

from adapters.storage.sqlite_file import readable
from assistant.turns.thread_table import ThreadTable

_ID_BYTES: Final = 24
_ID: Final = re.compile(r"[A-Za-z0-9_-]{32}")
_MOST: Final = 100
"""Links to one conversation; one more ends the oldest, so that nobody fills the file by sharing."""


@dataclass(frozen=True, slots=True)
class SharedConversation:
    """What a link shows.

    Attributes:
        thread: The id under which the conversation is stored.
        turns: The number of its turns that may be read, the first ones.
        role: Of the person who shared it: only this role, and roles that see all, may follow the link.
        until: When the link ends, in seconds since 1970.
        begun: When the first turn began: another conversation may get the id of a deleted one.
    """

    thread: str
    turns: int
    role: str
    until: int
    begun: str


class SharedLinks(ThreadTable):
    """The table of links; a link ends with its time, and is deleted with its conversation."""

    name: ClassVar[str] = "links"
    made_by: ClassVar[tuple[str, ...]] = (
        """
        CREATE TABLE IF NOT EXISTS links (
            digest    TEXT NOT NULL PRIMARY KEY,
            thread_id TEXT NOT NULL,
            turns     INTEGER NOT NULL,
            role      TEXT NOT NULL,
            until     INTEGER NOT NULL,
            begun     TEXT NOT NULL
        )
        """,
        "CREATE INDEX IF NOT EXISTS links_thread ON links (thread_id)",
    )

    async def add(self, shared: SharedConversation, now: float) -> str:
        """Keep a new link, and return its id; of a conversation that was deleted meanwhile, nothing is kept.

        Args:
            shared: What the link shows.
            now: Seconds since 1970; links that have ended are deleted.
        """
        link = secrets.token_urlsafe(_ID_BYTES)
        digest = _digest(link)
        await self._rows("DELETE FROM links WHERE until <= :now", now=now)
        await self._rows(
            """
            INSERT INTO links (digest, thread_id, turns, role, until, begun)
            SELECT :digest, thread_id, :turns, :role, :until, :begun FROM turns WHERE thread_id = :thread LIMIT 1
            """,
            digest=digest,
            **asdict(shared),
        )
        await self._rows(
            """
            DELETE FROM links WHERE thread_id = :thread AND digest <> :digest AND digest NOT IN (
                SELECT digest FROM links WHERE thread_id = :thread AND digest <> :digest ORDER BY until DESC LIMIT :most
            )
            """,
            thread=shared.thread,
            digest=digest,
            most=_MOST - 1,
        )
        return link

    async def of(self, thread_id: str) -> list[SharedConversation]:
        """Return what the links to a conversation show, those that have ended and were not deleted yet among them."""
        rows = await self._rows(
            "SELECT thread_id, turns, role, until, begun FROM links WHERE thread_id = :thread ORDER BY until, digest",
            thread=thread_id,
        )
        return [_read_link(row) for row in rows]

    async def find(self, link: str, now: float) -> SharedConversation | None:
        """Return what a link shows; `None` if there is no such link, or it is over.

        Args:
            link: Whatever stands in an address.
            now: Seconds since 1970.
        """
        if not _ID.fullmatch(link):
            return None
        rows = await self._rows(
            "SELECT thread_id, turns, role, until, begun FROM links WHERE digest = :digest AND until > :now",
            digest=_digest(link),
            now=now,
        )
        return next(map(_read_link, rows), None)


def _read_link(row: tuple[Any, ...]) -> SharedConversation:
    thread, turns, role, until, begun = row
    return SharedConversation(readable(thread), turns, readable(role), until, readable(begun))


def _digest(link: str) -> str:
    return hashlib.sha256(link.encode()).hexdigest()
