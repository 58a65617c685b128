"""LangGraph's PostgreSQL saver with pruning and a fence; what it keeps, `adapters.checkpoints.sqlite` says.

It differs from the upstream saver as follows:

- Each step, with what its tasks wrote, is one statement. The statement writes nothing if the claim under which the turn runs
  is over (`adapters.storage.postgres_claims`).
- It prunes earlier turns when they are superseded; a blob goes with the last checkpoint that names it.
- The newest step of a thread is the one that was stored last, whatever the clocks of the machines said.
- One lock for the whole process is no longer held while the server is asked (langgraph#7259).
- Texts are kept as blobs: `jsonb` knows no zero bytes, and upstream writes each text again with each step.
- Errors of the storage are `ThreadError`s that say how to fix them.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, LiteralString, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_metadata,
    get_serializable_checkpoint_metadata,
)
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot  # pyright: ignore[reportPrivateUsage]
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from adapters.checkpoints.held_writes import HeldWrites, StepKey
from adapters.checkpoints.ids import raise_floor
from adapters.checkpoints.steps import CheckpointStep, find_superseded, later_step_error
from adapters.storage.claims import current_claim
from adapters.storage.database import Fenced
from adapters.storage.postgres import PostgresDatabase
from adapters.storage.schemas import alone_in_setup
from contracts.errors import ThreadError

_LOG = logging.getLogger(__name__)

_FENCE: Final = """
WITH fence AS MATERIALIZED (
    SELECT 1 FROM claims WHERE thread_id = %(claimed)s AND epoch = %(epoch)s AND token = %(token)s FOR SHARE
)"""
_NO_FENCE: Final = "WITH fence AS (SELECT 1)"

# Not below the newest of its namespace, unless a checkpoint of that very id is replaced. What led to it goes with it. The
# first column says whether the claim holds, the second whether anything was stored.
_PUT: Final = """{fence},
allowed AS MATERIALIZED (
    SELECT 1 FROM fence
    WHERE NOT EXISTS (
        SELECT 1 FROM checkpoints
        WHERE thread_id = %(thread)s AND checkpoint_ns = %(namespace)s AND checkpoint_id COLLATE "C" > %(id)s
    ) OR EXISTS (
        SELECT 1 FROM checkpoints
        WHERE thread_id = %(thread)s AND checkpoint_ns = %(namespace)s AND checkpoint_id = %(id)s
    )
),
blobs AS (
    INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
    SELECT %(thread)s, %(namespace)s, b.* FROM allowed,
        unnest(%(channels)s::text[], %(versions)s::text[], %(types)s::text[], %(blobs)s::bytea[]) AS b
    ON CONFLICT DO NOTHING
),
written AS (
    INSERT INTO checkpoint_writes
        (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob)
    SELECT %(thread)s, %(namespace)s, %(parent)s, w.* FROM allowed,
        unnest(%(w_tasks)s::text[], %(w_paths)s::text[], %(w_numbers)s::int[], %(w_channels)s::text[], %(w_types)s::text[],
            %(w_blobs)s::bytea[]) AS w
    ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) DO NOTHING
),
stored AS (
    INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
    SELECT %(thread)s, %(namespace)s, %(id)s, %(parent)s, %(checkpoint)s, %(metadata)s FROM allowed
    ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id)
        DO UPDATE SET checkpoint = excluded.checkpoint, metadata = excluded.metadata
    RETURNING 1
)
SELECT EXISTS (SELECT 1 FROM fence) AS held, EXISTS (SELECT 1 FROM stored) AS stored,
    %(begins)s AND EXISTS (
        SELECT 1 FROM checkpoints WHERE thread_id = %(thread)s AND checkpoint_id COLLATE "C" < %(parent)s
    ) AS earlier
"""
"""The last column says whether the turn that begins supersedes something."""
# An error or an interrupt takes the place of an earlier one; what a task wrote stays as it is.
_PUT_WRITES: Final = """{fence},
written AS (
    INSERT INTO checkpoint_writes
        (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob)
    SELECT %(thread)s, %(namespace)s, %(id)s, %(task)s, %(path)s, w.* FROM fence,
        unnest(%(numbers)s::int[], %(channels)s::text[], %(types)s::text[], %(blobs)s::bytea[]) AS w
    ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) DO {conflict}
)
SELECT EXISTS (SELECT 1 FROM fence) AS held
"""
_KEEP_NEWEST: Final = """{fence},
newest AS MATERIALIZED (
    SELECT c.checkpoint_ns, max(c.checkpoint_id COLLATE "C") AS id FROM checkpoints AS c, fence
    WHERE c.thread_id = %(thread)s GROUP BY 1
),
kept AS MATERIALIZED (
    SELECT c.checkpoint_ns, c.checkpoint_id, c.checkpoint -> 'channel_versions' AS versions,
        c.metadata ? 'counters_since_delta_snapshot' AS delta
    FROM checkpoints AS c JOIN newest AS n ON c.checkpoint_ns = n.checkpoint_ns AND c.checkpoint_id = n.id
    WHERE c.thread_id = %(thread)s
),
allowed AS MATERIALIZED (SELECT 1 FROM fence WHERE NOT EXISTS (SELECT 1 FROM kept WHERE delta)),
steps AS (
    DELETE FROM checkpoints AS c USING kept AS k, allowed
    WHERE c.thread_id = %(thread)s AND c.checkpoint_ns = k.checkpoint_ns AND c.checkpoint_id <> k.checkpoint_id
),
written AS (
    DELETE FROM checkpoint_writes AS w USING kept AS k, allowed
    WHERE w.thread_id = %(thread)s AND w.checkpoint_ns = k.checkpoint_ns AND w.checkpoint_id <> k.checkpoint_id
),
blobs AS (
    DELETE FROM checkpoint_blobs AS b USING allowed WHERE b.thread_id = %(thread)s AND NOT EXISTS (
        SELECT 1 FROM kept AS k
        WHERE k.checkpoint_ns = b.checkpoint_ns AND k.versions ->> b.channel = b.version
    )
)
SELECT EXISTS (SELECT 1 FROM fence) AS held
"""
"""One exchange with the server, at the end of each turn. Nothing goes if values are spread over earlier steps."""
_REPLACE: Final = "UPDATE SET channel = excluded.channel, type = excluded.type, blob = excluded.blob"
_DELETE_BLOBS: Final = """
DELETE FROM checkpoint_blobs AS b WHERE b.thread_id = %(thread)s AND NOT EXISTS (
    SELECT 1 FROM checkpoints AS c
    WHERE c.thread_id = b.thread_id AND c.checkpoint_ns = b.checkpoint_ns
      AND c.checkpoint -> 'channel_versions' ->> b.channel = b.version
)
"""
_TABLES: Final = ("checkpoint_writes", "checkpoint_blobs", "checkpoints")
_COPY: Final = (
    ("checkpoints", "checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata"),
    ("checkpoint_blobs", "checkpoint_ns, channel, version, type, blob"),
    ("checkpoint_writes", "checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob"),
)


class PruningPostgresSaver(AsyncPostgresSaver):
    """The PostgreSQL saver that Guardian uses.

    Args:
        database: Where; its tables are made by `setup`.
    """

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(cast("Any", database.pool), serde=JsonPlusSerializer(allowed_msgpack_modules=None))
        self._database = database
        self._held = HeldWrites()

    async def setup(self) -> None:
        if await self._is_set_up():
            return
        server = self._database.server
        async with server.answering(), await server.connect() as connection, alone_in_setup(connection, server.place):
            await connection.execute(cast("LiteralString", self.MIGRATIONS[0]))
            found = await connection.execute("SELECT coalesce(max(v), -1) FROM checkpoint_migrations")
            [(newest_made,)] = await found.fetchall()
            for number in range(newest_made + 1, len(self.MIGRATIONS)):
                # Upstream's indexes are made concurrently, which waits for every old snapshot in the database, as of a
                # backup, and leaves a broken index if it is cut off.
                migration = self.MIGRATIONS[number].replace(" CONCURRENTLY", "")
                async with connection.transaction():
                    await connection.execute(cast("LiteralString", migration))
                    await connection.execute("INSERT INTO checkpoint_migrations (v) VALUES (%s)", (number,))

    async def _is_set_up(self) -> bool:
        """Return whether all of LangGraph's migrations were made."""
        if not await self._database.rows("SELECT 1 WHERE to_regclass('checkpoint_migrations') IS NOT NULL"):
            return False
        [(newest,)] = await self._database.rows("SELECT max(v) FROM checkpoint_migrations")
        return newest is not None and newest >= len(self.MIGRATIONS) - 1

    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncGenerator[Any]:
        del pipeline
        async with (
            self._database.server.answering(),
            self._database.pool.connection() as connection,
            connection.cursor(binary=True, row_factory=dict_row) as cursor,
        ):
            yield cursor

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint, and have later ids rise above the thread's newest one in the same namespace."""
        found = await super().aget_tuple(config)
        # Every run, change of the state and fork begins here.
        raise_floor(found.checkpoint["id"] if found else None)
        return found

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002  # the upstream name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        # Read to its end first: whoever looks a checkpoint up inside the loop needs another connection.
        found = [item async for item in super().alist(config, filter=filter, before=before, limit=limit)]
        for item in found:
            yield item

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint, and drop what it supersedes.

        Raises:
            Fenced: The claim under which the turn runs is over.
            ThreadError: The storage failed; or the checkpoint would be older than the newest of its namespace.
        """
        place = config.get("configurable", {})
        thread, namespace = str(place["thread_id"]), str(place.get("checkpoint_ns", ""))
        parent = place.get("checkpoint_id")
        plain: dict[str, Any] = {}
        large: dict[str, Any] = {}
        for channel, value in checkpoint["channel_values"].items():
            if value is None or isinstance(value, bool | int | float):
                plain[channel] = value
                continue
            large[channel] = value
            if isinstance(value, _DeltaSnapshot):
                plain[channel] = True
        versions = {name: version for name, version in new_versions.items() if name in large}
        known = get_checkpoint_metadata(config, metadata)
        begins = metadata.get("source") == "input" and not namespace and parent and known.get("run_id")
        rows = self._dump_blobs(thread, namespace, large, versions)
        with self._held.take(StepKey(thread, namespace, str(parent or ""))) as written:
            found = await self._put(
                _PUT,
                thread,
                {
                    "namespace": namespace,
                    "id": checkpoint["id"],
                    "parent": parent,
                    "begins": bool(begins),
                    "checkpoint": Jsonb({**checkpoint, "channel_values": plain}),
                    "metadata": Jsonb(get_serializable_checkpoint_metadata(config, metadata)),
                    **_columns(rows, 2, "channels", "versions", "types", "blobs"),
                    **_columns(written, 0, "w_tasks", "w_paths", "w_numbers", "w_channels", "w_types", "w_blobs"),
                },
            )
            if not found["stored"]:
                raise later_step_error(thread)
        if found["earlier"]:
            await self._drop_before(thread, str(parent))
        return {"configurable": {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": checkpoint["id"]}}

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        place = config.get("configurable", {})
        thread, namespace, step = (str(place[name]) for name in ("thread_id", "checkpoint_ns", "checkpoint_id"))
        rows = self._dump_writes(thread, namespace, step, task_id, task_path, writes)
        again = all(channel in WRITES_IDX_MAP for channel, _ in writes)
        if not again and await self._held.hold(StepKey(thread, namespace, step), [row[3:] for row in rows]):
            return
        await self._put(
            _PUT_WRITES,
            thread,
            {
                "namespace": namespace,
                "id": step,
                "task": task_id,
                "path": task_path,
                **_columns(rows, 5, "numbers", "channels", "types", "blobs"),
            },
            conflict=_REPLACE if again else "NOTHING",
        )

    async def adelete_thread(self, thread_id: str) -> None:
        async with self._transaction(str(thread_id)) as cursor:
            for table in _TABLES:
                await cursor.execute(f"DELETE FROM {table} WHERE thread_id = %s", (str(thread_id),))  # noqa: S608  # names of ours

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep only the newest checkpoint of each namespace (`keep_latest`), or nothing (`delete`, `delete_all`).

        Raises:
            ValueError: The strategy is unknown.
        """
        if strategy in ("delete", "delete_all"):
            for thread_id in thread_ids:
                await self.adelete_thread(thread_id)
        elif strategy == "keep_latest":
            for thread_id in map(str, thread_ids):
                await self._put(_KEEP_NEWEST, thread_id, {})
        else:
            raise ValueError(f"unknown strategy {strategy!r}: keep_latest, delete or delete_all")

    async def adelete_for_runs(self, run_ids: Iterable[str]) -> None:
        """Delete every checkpoint of these runs, by its metadata, in all threads and namespaces."""
        async with self._cursor() as cursor, cursor.connection.transaction():
            await cursor.execute(
                "SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id FROM checkpoints "
                "WHERE metadata ->> 'run_id' = ANY(%s)",
                ([str(run_id) for run_id in run_ids],),
            )
            found: dict[str, list[CheckpointStep]] = {}
            for row in await cursor.fetchall():
                found.setdefault(row["thread_id"], []).append(_step(row))
            for thread_id, steps in found.items():
                await _delete(cursor, thread_id, steps)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and pending writes of a thread to a new one; do nothing if the source has none.

        Raises:
            ThreadError: The target already has checkpoints, and two histories cannot be mixed.
        """
        source, target = str(source_thread_id), str(target_thread_id)
        async with self._transaction(target) as cursor:
            if await _steps(cursor, target):
                raise ThreadError(
                    f"Conversation {target!r} exists already, so nothing was copied to it.",
                    "Choose an id that is not in use, or delete that conversation first.",
                )
            for table, columns in _COPY:
                await cursor.execute(
                    f"INSERT INTO {table} (thread_id, {columns}) SELECT %s, {columns} FROM {table} WHERE thread_id = %s",  # noqa: S608  # names of ours
                    (target, source),
                )

    async def _put(self, statement: str, thread: str, values: dict[str, Any], **texts: str) -> dict[str, Any]:
        """Store something in one statement; return its row."""
        claim = current_claim.get()
        ours = claim is not None and claim.token and claim.name == thread
        named = {**values, "thread": thread}
        if ours and claim is not None:
            named |= {"claimed": claim.name, "epoch": claim.epoch, "token": claim.token}
        async with self._cursor() as cursor:
            await cursor.execute(statement.format(fence=_FENCE if ours else _NO_FENCE, **texts), named)
            row = await cursor.fetchone()
        if not row["held"]:
            raise Fenced(f"conversation {thread!r} was claimed by another process")
        return row

    async def _drop_before(self, thread_id: str, start: str) -> None:
        try:
            async with self._transaction(thread_id) as cursor:
                steps = await _steps(cursor, thread_id)
                dropped = set(find_superseded(steps, start))
                kept = [step for step in steps if step.checkpoint_id <= start and step not in dropped]
                if not await _any_delta_channels(cursor, thread_id, kept):
                    await _delete(cursor, thread_id, dropped)
        except ThreadError as error:
            # Housekeeping: the turn's own checkpoint is stored, and the next turn drops what stayed now.
            _LOG.warning("Earlier steps of conversation %r were not dropped: %s", thread_id, error)

    @asynccontextmanager
    async def _transaction(self, thread_id: str) -> AsyncGenerator[Any]:
        """All or nothing, and nothing if the claim under which the thread is written to is over."""
        claim = current_claim.get()
        async with self._cursor() as cursor, cursor.connection.transaction():
            if claim is not None and claim.token and claim.name == thread_id:
                await cursor.execute("SELECT fence(%s, %s, %s)", (claim.name, claim.epoch, claim.token))
            yield cursor


def _columns(rows: Sequence[Sequence[Any]], first: int, *names: str) -> dict[str, list[Any]]:
    """Return columns of rows from the first one on, each as a list, under their names."""
    return {name: [row[number] for row in rows] for number, name in enumerate(names, first)}


def _step(row: dict[str, Any]) -> CheckpointStep:
    return CheckpointStep(row["checkpoint_ns"], row["checkpoint_id"], row["parent_checkpoint_id"])


async def _steps(cursor: Any, thread_id: str) -> list[CheckpointStep]:
    await cursor.execute(
        "SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id FROM checkpoints WHERE thread_id = %s", (thread_id,)
    )
    return [_step(row) for row in await cursor.fetchall()]


async def _delete(cursor: Any, thread_id: str, steps: Collection[CheckpointStep]) -> None:
    if not steps:
        return
    keys = {
        "thread": thread_id,
        "namespaces": [step.namespace for step in steps],
        "ids": [step.checkpoint_id for step in steps],
    }
    for table in ("checkpoint_writes", "checkpoints"):
        await cursor.execute(
            f"DELETE FROM {table} WHERE thread_id = %(thread)s AND (checkpoint_ns, checkpoint_id) IN "  # noqa: S608  # names of ours
            "(SELECT * FROM unnest(%(namespaces)s::text[], %(ids)s::text[]))",
            keys,
        )
    await cursor.execute(_DELETE_BLOBS, keys)


async def _any_delta_channels(cursor: Any, thread_id: str, steps: Iterable[CheckpointStep]) -> bool:
    """Return whether the values of one of these checkpoints are spread over earlier steps, which must then stay."""
    ids = [step.checkpoint_id for step in steps]
    await cursor.execute(
        "SELECT 1 AS found FROM checkpoints WHERE thread_id = %s AND checkpoint_id = ANY(%s) "
        "AND metadata ? 'counters_since_delta_snapshot' LIMIT 1",
        (thread_id, ids),
    )
    return await cursor.fetchone() is not None
