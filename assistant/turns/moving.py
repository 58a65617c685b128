"""A copy of all conversations from one storage into another, one conversation at a time.

A conversation counts as moved when its transcript is in the other storage, and that is written last. So what was broken off
is begun again with the next run, and what is complete is left alone. Nothing is deleted where the conversations come from.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from adapters.storage.claims import hold_claim
from contracts.errors import ThreadBusy

if TYPE_CHECKING:
    from adapters.hand_off.outbox import Place
    from adapters.storage.claims import Claims
    from adapters.storage.database import Database

_TURNS: Final = (
    "thread_id, number, turn_id, status, question, context, result, started_at, finished_at, details",
    "turns",
)
_BESIDE: Final = (
    ("thread_id, title, pinned", "labels"),
    ("thread_id, turn_id, rating, comment, at", "feedback"),
    ("thread_id, key, at", "histories"),
    ("thread_id, turn_id, handled, note, case_id, who, at", "reviews"),
    ("digest, thread_id, turns, role, until, begun", "links"),
)
"""Columns of the tables beside the transcript, and the tables."""
_HAND_OFFS: Final = (
    "thread_id, turn_id, key, kept_at, ticket, tries, refused, why, delivered_at, delivered_to",
    "hand_offs",
)
_WHOLE: Final = (("at, who, what", "looks"), ("day, who, amount, currency", "model_costs"))
"""Tables that belong to no conversation."""


@dataclass(frozen=True, slots=True)
class Store:
    """One storage, open.

    Attributes:
        database: The tables of conversations, all made.
        saver: LangGraph's.
        claims: Of this process.
        hand_offs: Where hand-offs are kept.
    """

    database: Database
    saver: Any
    claims: Claims
    hand_offs: Place


@dataclass
class Moved:
    """What became of the conversations.

    Attributes:
        moved: Those that were copied now.
        there: Those that were complete in the other storage before.
        left: Those that were left alone, each with why: `busy` if a turn runs in it, `differs` if the other storage has
            other turns of it.
    """

    moved: list[str] = field(default_factory=list[str])
    there: list[str] = field(default_factory=list[str])
    left: dict[str, str] = field(default_factory=dict[str, str])


async def move_all(source: Store, target: Store, on_step: Callable[[int, int], None], wait_s: float) -> Moved:
    """Copy every conversation that is not complete in the target.

    Args:
        source: Where they are.
        target: Where they go to.
        on_step: Called with how many conversations are done, and of how many.
        wait_s: How long a conversation that is in use is waited for, in seconds.

    Raises:
        ThreadError: A storage failed; the next run goes on from there.
    """
    told = Moved()
    rows = await source.database.rows("SELECT DISTINCT thread_id FROM turns ORDER BY thread_id")
    threads = [str(thread) for (thread,) in rows]
    for number, thread_id in enumerate(threads):
        on_step(number, len(threads))
        try:
            async with _hold(source, thread_id, wait_s), _hold(target, thread_id, wait_s):
                await _move(source, target, thread_id, told)
        except ThreadBusy:
            told.left[thread_id] = "busy"
    for columns, table in _WHOLE:
        await _copy_new(source.database, target.database, columns, table)
    await _raise_costs(source.database, target.database)
    if await source.hand_offs.exists():
        # Also those of conversations that are in LangGraph's own server, or have been deleted.
        async with source.hand_offs.open() as kept, target.hand_offs.open() as taking:
            await _copy_new(kept, taking, *_HAND_OFFS)
            await _note_delivered(kept, taking)
    on_step(len(threads), len(threads))
    return told


async def _move(source: Store, target: Store, thread_id: str, told: Moved) -> None:
    here = await _rows_of(source.database, *_TURNS, thread_id)
    there = await _rows_of(target.database, *_TURNS, thread_id)
    if there == here:
        await _add_beside(source.database, target.database, thread_id)
        told.there.append(thread_id)
        return
    if not _is_earlier(there, here):
        told.left[thread_id] = "differs"
        return
    # Without its transcript it does not count as moved, whatever happens now.
    await _replace(target.database, *_TURNS, [], thread_id)
    await target.saver.adelete_thread(thread_id)
    await _copy_checkpoints(source.saver, target.saver, thread_id)
    await _add_beside(source.database, target.database, thread_id)
    await _replace(target.database, *_TURNS, here, thread_id)
    told.moved.append(thread_id)


def _is_earlier(there: Sequence[tuple[Any, ...]], here: Sequence[tuple[Any, ...]]) -> bool:
    """Whether the target has the first turns of the source, the last of them perhaps not finished yet."""
    if not there:
        return True
    *finished, last = there
    known = finished == list(here[: len(finished)])
    return known and len(there) <= len(here) and (last == here[len(finished)] or _began_as(last, here[len(finished)]))


def _began_as(unfinished: tuple[Any, ...], turn: tuple[Any, ...]) -> bool:
    """Whether one row is a turn that runs, and the other the same turn later."""
    thread, number, turn_id, status, question, *_ = unfinished
    return status == "running" and (thread, number, turn_id, question) == (*turn[:3], turn[4])


async def _add_beside(source: Database, target: Database, thread_id: str) -> None:
    """Add what was said of a conversation; what was said of it in the target stays."""
    for columns, table in _BESIDE:
        for row in await _rows_of(source, columns, table, thread_id):
            await _insert(target, columns, table, row)


async def _copy_checkpoints(source: Any, target: Any, thread_id: str) -> None:
    found = [one async for one in source.alist({"configurable": {"thread_id": thread_id}})]
    for one in sorted(found, key=lambda item: item.checkpoint["id"]):
        place = one.config["configurable"]
        parent = one.parent_config["configurable"]["checkpoint_id"] if one.parent_config else None
        namespace = {"thread_id": thread_id, "checkpoint_ns": place.get("checkpoint_ns", "")}
        metadata = {name: value for name, value in one.metadata.items() if name not in {"thread_id", "checkpoint_ns"}}
        stored = await target.aput(
            {"configurable": {**namespace, "checkpoint_id": parent}},
            one.checkpoint,
            metadata,
            one.checkpoint["channel_versions"],
        )
        pending: list[tuple[str, str, Any]] = one.pending_writes or []
        for task, writes in groupby(pending, key=lambda write: write[0]):
            await target.aput_writes(stored, [(channel, value) for _, channel, value in writes], task)


async def _rows_of(database: Database, columns: str, table: str, thread_id: str) -> list[tuple[Any, ...]]:
    order = "number" if table == "turns" else "1, 2"
    return await database.rows(
        f"SELECT {columns} FROM {table} WHERE thread_id = :thread ORDER BY {order}",  # noqa: S608  # names of ours
        thread=thread_id,
    )


async def _replace(
    database: Database, columns: str, table: str, rows: Sequence[tuple[Any, ...]], thread_id: str
) -> None:
    await database.rows(f"DELETE FROM {table} WHERE thread_id = :thread", thread=thread_id)  # noqa: S608  # a name of ours
    for row in rows:
        await _insert(database, columns, table, row)


async def _insert(database: Database, columns: str, table: str, row: Sequence[Any]) -> None:
    names = columns.split(", ")
    values = ", ".join(f":{name}" for name in names)
    await database.rows(
        f"INSERT INTO {table} ({columns}) VALUES ({values}) ON CONFLICT DO NOTHING",  # noqa: S608  # names of ours
        **dict(zip(names, row, strict=True)),
    )


async def _copy_new(source: Database, target: Database, columns: str, table: str) -> None:
    """Copy the rows of a table that the other one does not have; of the others, the target's stay."""
    there = set(await target.rows(f"SELECT {columns} FROM {table}"))  # noqa: S608  # names of ours
    for row in await source.rows(f"SELECT {columns} FROM {table}"):  # noqa: S608  # names of ours
        if row not in there:
            await _insert(target, columns, table, row)


async def _note_delivered(source: Database, target: Database) -> None:
    """Have what was delivered from the source since it was copied not be sent from the target, too."""
    for row in await source.rows(
        "SELECT thread_id, turn_id, delivered_at, delivered_to FROM hand_offs WHERE delivered_at IS NOT NULL"
    ):
        await target.rows(
            """
            UPDATE hand_offs SET ticket = NULL, why = '', delivered_at = :at, delivered_to = :receiver
            WHERE thread_id = :thread_id AND turn_id = :turn AND delivered_at IS NULL
            """,
            **dict(zip(("thread_id", "turn", "at", "receiver"), row, strict=True)),
        )


async def _raise_costs(source: Database, target: Database) -> None:
    """Have sums of costs that grew since they were copied grow in the target, too."""
    for row in await source.rows("SELECT day, who, currency, amount FROM model_costs"):
        await target.rows(
            """
            UPDATE model_costs SET amount = :amount
            WHERE day = :day AND who = :who AND currency = :currency AND amount < :amount
            """,
            **dict(zip(("day", "who", "currency", "amount"), row, strict=True)),
        )


@asynccontextmanager
async def _hold(store: Store, thread_id: str, wait_s: float) -> AsyncGenerator[None]:
    """Keep turns out of a conversation in one storage.

    Raises:
        ThreadBusy: One runs.
    """
    deadline = asyncio.get_running_loop().time() + wait_s
    async with hold_claim(store.claims, thread_id, deadline) as claim:
        if claim is None:
            raise ThreadBusy(f"A turn is running in conversation {thread_id!r}.", "Give the command again later.")
        yield
