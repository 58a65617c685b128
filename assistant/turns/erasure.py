"""Deletion of many conversations: all of one caller, and those that have been kept long enough."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from assistant.visitors import visitor_of
from contracts.errors import ThreadBusy, UnknownThread

if TYPE_CHECKING:
    from adapters.hand_off.outbox import Outbox
    from assistant.turns.runner import TurnRunner
    from assistant.turns.transcript import TurnStore

VISITOR_DAYS: Final = 30
"""Days that a visitor's conversation is kept where nothing else is said."""


async def conversations_of(store: TurnStore, outbox: Outbox, name: str) -> list[str]:
    """Return the stored ids of everything that is kept of a caller, also of half-deleted conversations.

    Args:
        store: The transcript; LangGraph's tables are in its file.
        outbox: The hand-offs.
        name: The caller's name, not empty.
    """
    beginning = f"{name}/"
    # In every table: of a deletion that was killed, any of them may have the last row.
    found = set(await store.ids_in_all_tables(beginning))
    found.update(entry.thread_id for entry in await outbox.entries() if entry.thread_id.startswith(beginning))
    return sorted(found)


async def erase(runner: TurnRunner, thread_ids: list[str]) -> list[str]:
    """Delete conversations; return the ids of those that remain, because a turn is running in them now."""
    busy: list[str] = []
    for thread_id in thread_ids:
        try:
            await runner.delete(thread_id)
        except ThreadBusy:
            busy.append(thread_id)
        except UnknownThread:
            pass  # somebody else has deleted it meanwhile
    return busy


async def delete_expired(runner: TurnRunner, keep_days: int | None, now: datetime) -> int:
    """Delete the conversations whose last message is too old, except those with a running turn; return how many.

    Args:
        runner: Deletes.
        keep_days: How long conversations are kept; `None` if only visitors' end, after `VISITOR_DAYS`.
        now: The time, with a time zone.
    """
    before = (now.astimezone(UTC) - timedelta(days=keep_days or VISITOR_DAYS)).isoformat(timespec="milliseconds")
    deleted = 0
    for thread_id in await runner.store.unused_since(before):
        if keep_days or visitor_of(thread_id):
            deleted += await runner.delete_unused(thread_id, before)
    return deleted
