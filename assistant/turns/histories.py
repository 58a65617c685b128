"""The table `histories`: finds the conversation of a client that names none but sends the whole conversation again.

A client of OpenAI's protocol keeps the conversation itself. Only the user's own messages in its request count, and only
to identify the conversation. The content of the conversation comes from the transcript.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import ClassVar

from adapters.storage.sqlite_file import readable
from assistant.turns.thread_table import ThreadTable, utc_now


def history_key(owner: str, said: Sequence[str]) -> str:
    """Return the key of a history: 32 hexadecimal digits.

    Args:
        owner: The owner of the conversation.
        said: The user's messages, in order.
    """
    return hashlib.sha256(json.dumps([owner, *said]).encode()).hexdigest()[:32]


class Histories(ThreadTable):
    """The table of histories, one row a conversation: what its user has said so far."""

    name: ClassVar[str] = "histories"
    made_by: ClassVar[tuple[str, ...]] = (
        """
        CREATE TABLE IF NOT EXISTS histories (
            thread_id TEXT NOT NULL PRIMARY KEY,
            key       TEXT NOT NULL,
            at        TEXT NOT NULL
        )
        """,
        "CREATE INDEX IF NOT EXISTS histories_key ON histories (key)",
    )

    async def begin(self, thread_id: str, key: str) -> None:
        """Record the history of a new conversation; a conversation that has a history keeps it."""
        await self._rows(
            "INSERT INTO histories (thread_id, key, at) VALUES (:thread, :key, :now) ON CONFLICT DO NOTHING",
            thread=thread_id,
            key=key,
            now=utc_now(),
        )

    async def advance(self, key: str, following: str) -> str | None:
        """Move a conversation from one history to the next and return its id; `None` if there is none.

        If several match, the most recently used one moves. If two requests continue one conversation at the same time,
        only one gets it.
        """
        rows = await self._rows(
            """
            UPDATE histories SET key = :following, at = :now WHERE key = :key AND thread_id = (
                SELECT thread_id FROM histories WHERE key = :key ORDER BY at DESC, thread_id LIMIT 1
            ) RETURNING thread_id
            """,
            following=following,
            now=utc_now(),
            key=key,
        )
        return readable(rows[0][0]) if rows else None

    async def find(self, key: str) -> str | None:
        """Return the most recently used conversation of a history; `None` if there is none."""
        rows = await self._rows(
            "SELECT thread_id FROM histories WHERE key = :key ORDER BY at DESC, thread_id LIMIT 1", key=key
        )
        return readable(rows[0][0]) if rows else None
