"""Which conversation a client goes on with that names none, but sends all of it again: the table `histories`.

A client of OpenAI's protocol keeps the conversation itself. Of what it sends, the user's own messages alone count, and
only as a name of the conversation: what was said in it, the transcript knows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import ClassVar

from adapters.checkpoints.database import readable
from assistant.turns.thread_table import ThreadTable, utc_now


def history_key(owner: str, said: Sequence[str]) -> str:
    """Return what names a history: 32 letters and digits.

    Args:
        owner: Whose it is.
        said: The user's messages, in order.
    """
    return hashlib.sha256(json.dumps([owner, *said]).encode()).hexdigest()[:32]


class Histories(ThreadTable):
    """One row a conversation: the history that it has had so far."""

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
        """Record the history of a conversation that begins; one that has a history keeps it."""
        await self._rows(
            "INSERT OR IGNORE INTO histories (thread_id, key, at) VALUES (?, ?, ?)", thread_id, key, utc_now()
        )

    async def advance(self, key: str, following: str) -> str | None:
        """Give a conversation of one history the next one, and return it: the one used last; `None`: there is none.

        Of two who go on with one conversation at the same time, one gets it.
        """
        rows = await self._rows(
            """
            UPDATE histories SET key = ?, at = ? WHERE thread_id = (
                SELECT thread_id FROM histories WHERE key = ? ORDER BY at DESC, thread_id LIMIT 1
            ) RETURNING thread_id
            """,
            *(following, utc_now(), key),
        )
        return readable(rows[0][0]) if rows else None

    async def find(self, key: str) -> str | None:
        """Return the conversation of a history that was used last; `None`: there is none."""
        rows = await self._rows(
            "SELECT thread_id FROM histories WHERE key = ? ORDER BY at DESC, thread_id LIMIT 1", key
        )
        return readable(rows[0][0]) if rows else None
