"""LangGraph's SQLite saver with pruning: it keeps the steps of the last turn and drops earlier ones.

Upstream keeps every step of every turn for good, each with the whole state. Here the steps of earlier turns are dropped
when the next turn's input checkpoint is stored. From then on the thread holds the checkpoint that the turn started from
and everything after it. So a killed turn resumes at its last step, and a fork from any of these steps works. Where the turn
runner stores the results, it drops the steps of a turn with its end, too (`aprune`); LangGraph's server keeps them.

Turns are distinguished by the `run_id` in the metadata of their checkpoints. The turn runner and LangGraph's server set
it. (LangGraph itself treats input under the id of the last run as that run's resumption.) Input without a `run_id`
drops nothing.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Generator, Iterable, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.checkpoint.sqlite.utils import load_pending_writes, pending_writes_sql

from adapters.checkpoints.held_writes import HeldWrites, Row, StepKey
from adapters.checkpoints.ids import PATTERN, raise_floor
from adapters.checkpoints.steps import CheckpointStep, find_superseded, later_step_error, newest
from adapters.storage.sqlite_file import DatabaseConnection, open_connection, storage_errors_as_ours
from contracts.errors import ThreadError

_LOG = logging.getLogger(__name__)

# Not below the newest of its namespace, unless a checkpoint of that very id is replaced.
_PUT: Final = """
INSERT OR REPLACE INTO checkpoints
    (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7
WHERE NOT EXISTS (SELECT 1 FROM checkpoints WHERE thread_id = ?1 AND checkpoint_ns = ?2 AND checkpoint_id > ?3)
    OR EXISTS (SELECT 1 FROM checkpoints WHERE thread_id = ?1 AND checkpoint_ns = ?2 AND checkpoint_id = ?3)
RETURNING 1
"""
# In one row, also where the namespace has no checkpoint.
_GET: Final = """
SELECT (SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = ?1 AND checkpoint_id GLOB ?3),
    checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata
FROM (SELECT 1) LEFT JOIN (
    SELECT checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata FROM checkpoints
    WHERE thread_id = ?1 AND checkpoint_ns = ?2 AND (?4 IS NULL OR checkpoint_id = ?4)
    ORDER BY checkpoint_id DESC LIMIT 1
) ON 1
"""
_WRITTEN: Final = pending_writes_sql(has_task_path=True)
_WRITE: Final = """INTO writes (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_ADD_WRITE: Final = f"INSERT OR IGNORE {_WRITE}"
_REPLACE_WRITE: Final = f"INSERT OR REPLACE {_WRITE}"
_PLACE: Final = "thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
_COPIED: Final = {
    "checkpoints": "checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata",
    "writes": "checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value",
}
_TABLES: Final = tuple(_COPIED)
_PARTS: Final = ("v", "id", "ts", "channel_values", "channel_versions", "versions_seen")
"""What LangGraph takes for granted in every state."""
_COMPRESSED: Final = "zlib:"
"""Before the type of a checkpoint that is compressed: a conversation's last one, a quarter as large then."""
_T = TypeVar("_T")


def read_metadata(raw: object) -> dict[str, Any]:
    """Return a checkpoint's metadata, whether its column holds bytes or text; empty if it is not a JSON object."""
    if not isinstance(raw, str | bytes):
        return {}
    try:
        value = json.loads(raw)
    except ValueError:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


class PruningSqliteSaver(AsyncSqliteSaver):
    """The SQLite saver that Guardian uses.

    It differs from the upstream saver as follows:

    - It has `aprune`, `adelete_for_runs` and `acopy_thread`.
    - It prunes earlier turns when they are superseded.
    - The newest step of a thread is the one that was stored last, whatever the wall clock said
      (`adapters.checkpoints.ids`).
    - What it does is one call of the connection's thread, and a transaction of its own if it writes: a failed or
      cancelled write cannot hold the file's write lock. What a task wrote goes with the checkpoint that follows.
    - It reads back only plain values and messages, whatever LANGGRAPH_STRICT_MSGPACK says.
    - Errors of the storage are `ThreadError`s that say how to fix them.

    A thread with delta channels in its state is not pruned: their values are spread over earlier steps.

    Args:
        connection: Opened by `open_connection(path, None)`.
        path: The file, for messages.
    """

    def __init__(self, connection: DatabaseConnection, path: Path, *, serde: SerializerProtocol | None = None) -> None:
        super().__init__(connection, serde=serde or _Serde())
        self.conn = connection
        self.path = path
        self._held = HeldWrites()

    async def setup(self) -> None:
        with storage_errors_as_ours(self.path):
            await super().setup()

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint, and have later ids rise above all ids of the thread, in any namespace.

        Raises:
            ConfigError: The installed LangGraph does not allow ids to be kept in order.
        """
        place = config.get("configurable", {})
        thread_id, namespace = str(place["thread_id"]), str(place.get("checkpoint_ns", ""))
        wanted = get_checkpoint_id(config)
        # Upstream asks in six calls of the connection's thread, and each is waited for.
        row, written = await self._run(partial(_read_step, thread_id, namespace, wanted))
        highest, checkpoint_id, parent_id, kind, value, metadata = row
        # Every run, change of the state and fork begins here.
        raise_floor(highest)
        if not checkpoint_id:
            return None
        step = {"thread_id": thread_id, "checkpoint_ns": namespace}
        with _state_errors_as_ours(thread_id):
            return CheckpointTuple(
                config if wanted else {"configurable": {**step, "checkpoint_id": checkpoint_id}},
                _object(self.serde.loads_typed((kind, value)), _PARTS),
                _object(json.loads(metadata) if metadata is not None else {}, ("step",)),
                {"configurable": {**step, "checkpoint_id": parent_id}} if parent_id else None,
                load_pending_writes(written, self.serde),
            )

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002  # the upstream name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        named = str((config or {}).get("configurable", {}).get("thread_id", "?"))
        with storage_errors_as_ours(self.path), _state_errors_as_ours(named):
            found = [item async for item in super().alist(config, filter=filter, before=before, limit=limit)]
        # Read to its end first: upstream holds the saver's lock between two items, and whoever looks a
        # checkpoint up inside the loop waits for ever.
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

        `aget_tuple` makes ids rise. So an id below the newest one means that LangGraph does not make the thread's ids,
        or that another program writes to the thread at the same time. The turn then stops before it gives an old turn's
        answer.

        Raises:
            ThreadError: The storage failed; or the checkpoint would be older than the newest of its namespace, and
                would never be found again.
        """
        place = config.get("configurable", {})
        thread_id, namespace = str(place["thread_id"]), str(place.get("checkpoint_ns", ""))
        start = str(place["checkpoint_id"]) if place.get("checkpoint_id") else None
        known = get_checkpoint_metadata(config, metadata)
        kind, value = self.serde.dumps_typed(checkpoint)
        told = json.dumps(known, ensure_ascii=False).encode("utf-8", "ignore")
        step = (thread_id, namespace, checkpoint["id"], start, kind, value, told)
        begins = metadata.get("source") == "input" and not namespace and known.get("run_id")
        with self._held.take(StepKey(thread_id, namespace, start or "")) as rows:
            if not await self._run(partial(_put, step, rows), writes=True):
                raise later_step_error(thread_id)
        if begins and start:
            await self._drop_before(thread_id, start)
        place = {"thread_id": place["thread_id"], "checkpoint_ns": namespace, "checkpoint_id": checkpoint["id"]}
        return {"configurable": place}

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        place = config.get("configurable", {})
        step = StepKey(*(str(place[name]) for name in ("thread_id", "checkpoint_ns", "checkpoint_id")))
        rows = [
            (*step, task_id, task_path, WRITES_IDX_MAP.get(channel, number), channel, *self.serde.dumps_typed(value))
            for number, (channel, value) in enumerate(writes)
        ]
        # An error or an interrupt takes the place of an earlier one; what a task wrote stays as it is.
        again = all(channel in WRITES_IDX_MAP for channel, _ in writes)
        if again or not await self._held.hold(step, rows):
            await self._run(partial(_put_writes, _REPLACE_WRITE if again else _ADD_WRITE, rows), writes=True)

    async def adelete_thread(self, thread_id: str) -> None:
        await self._run(partial(_delete_thread, str(thread_id)), writes=True)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep only the newest checkpoint of each namespace, compressed (`keep_latest`), or nothing (`delete`, `delete_all`).

        Raises:
            ValueError: The strategy is unknown.
        """
        if strategy in ("delete", "delete_all"):
            for thread_id in thread_ids:
                await self.adelete_thread(thread_id)
        elif strategy == "keep_latest":
            for thread_id in thread_ids:
                await self._run(partial(_keep_newest, str(thread_id)), writes=True)
        else:
            raise ValueError(f"unknown strategy {strategy!r}: keep_latest, delete or delete_all")

    async def adelete_for_runs(self, run_ids: Iterable[str]) -> None:
        """Delete every checkpoint of these runs, by its metadata, in all threads and namespaces."""
        wanted = json.dumps([str(run_id) for run_id in run_ids])
        await self._run(partial(_delete_runs, wanted), writes=True)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and pending writes of a thread to a new one; do nothing if the source has none.

        Raises:
            ThreadError: The target already has checkpoints, and two histories cannot be mixed.
        """
        await self._run(partial(_copy_thread, str(source_thread_id), str(target_thread_id)), writes=True)

    async def _run(self, work: Callable[[sqlite3.Connection], _T], *, writes: bool = False) -> _T:
        """Run something in one call of the connection's thread, in a transaction of its own if it writes."""
        if not self.is_setup:
            await self.setup()
        with storage_errors_as_ours(self.path):
            async with self.lock:
                try:
                    return await (self.conn.transact(work) if writes else self.conn.run(work))
                except BaseException:
                    # Until work that nobody waits for any more has ended, it may hold the file's write lock.
                    await asyncio.shield(self._end())
                    raise

    async def _end(self) -> None:
        """Wait for what was begun in the connection's thread."""
        # A closed connection (ValueError) runs nothing; what fails here has nothing to add to the first error.
        with suppress(ValueError, sqlite3.Error):
            await self.conn.rollback()

    async def _drop_before(self, thread_id: str, start: str) -> None:
        try:
            await self._run(partial(_delete_superseded, thread_id, start), writes=True)
        except ThreadError as error:
            # Housekeeping: the turn's own checkpoint is stored, and the next turn drops what stayed now.
            _LOG.warning("Earlier steps of conversation %r were not dropped: %s", thread_id, error)


@contextmanager
def _state_errors_as_ours(thread_id: str) -> Generator[None]:
    """Turn whatever a serialiser says of a state that it cannot read into `ThreadError`."""
    try:
        yield
    except sqlite3.Error:
        raise
    except Exception as error:
        raise ThreadError(
            f"The state of conversation {thread_id!r} cannot be read: the file was damaged, or another program wrote it.",
            "Begin a new conversation. `guardian threads show` shows what was said in this one, and `guardian threads "
            "delete` removes it.",
        ) from error


def _object(value: Any, needed: Collection[str]) -> Any:
    if not isinstance(value, dict) or not value.keys() >= set(needed):
        raise TypeError(f"a state is an object with {', '.join(needed)}")
    return cast("Any", value)


def _read_step(
    thread_id: str, namespace: str, wanted: str | None, connection: sqlite3.Connection
) -> tuple[tuple[Any, ...], list[tuple[Any, ...]]]:
    """Return the columns of `_GET`, and the writes of the step's tasks."""
    row = connection.execute(_GET, (thread_id, namespace, PATTERN, wanted)).fetchone()
    written = connection.execute(_WRITTEN, (thread_id, namespace, row[1])).fetchall() if row[1] else []
    return row, written


def _put(step: tuple[object, ...], written: list[Row], connection: sqlite3.Connection) -> bool:
    """Store a checkpoint and what led to it; return whether it was stored."""
    connection.executemany(_ADD_WRITE, written)
    return connection.execute(_PUT, step).fetchone() is not None


def _put_writes(statement: str, rows: list[Row], connection: sqlite3.Connection) -> None:
    connection.executemany(statement, rows)


def _delete_thread(thread_id: str, connection: sqlite3.Connection) -> None:
    for table in _TABLES:
        connection.execute(f"DELETE FROM {table} WHERE thread_id = ?", (thread_id,))  # noqa: S608  # two names of ours


def _delete_superseded(thread_id: str, start: str, connection: sqlite3.Connection) -> None:
    """Delete the steps that are no longer needed once a turn has started from one."""
    steps = _steps(connection, thread_id)
    dropped = set(find_superseded(steps, start))
    kept = [step for step in steps if step.checkpoint_id <= start and step not in dropped]
    if dropped and not _any_delta_channels(connection, thread_id, kept):
        _delete(connection, thread_id, dropped)


def _keep_newest(thread_id: str, connection: sqlite3.Connection) -> None:
    """Delete all steps but the newest of each namespace, and compress these."""
    steps = _steps(connection, thread_id)
    kept = newest(steps)
    if not _any_delta_channels(connection, thread_id, kept):
        _delete(connection, thread_id, set(steps) - set(kept))
        _compress(connection, thread_id, kept)


def _delete_runs(wanted: str, connection: sqlite3.Connection) -> None:
    """Delete the steps of runs, whose ids are a JSON list."""
    # As text first: newer versions of SQLite take bytes for their own binary JSON.
    rows = connection.execute(
        """
        SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id
        FROM (SELECT *, CAST(metadata AS TEXT) AS readable FROM checkpoints)
        WHERE CASE WHEN json_valid(readable) THEN CAST(json_extract(readable, '$.run_id') AS TEXT) END
              IN (SELECT value FROM json_each(?))
        """,
        (wanted,),
    ).fetchall()
    for thread_id, *step in rows:
        _delete(connection, thread_id, [CheckpointStep(*step)])


def _copy_thread(source: str, target: str, connection: sqlite3.Connection) -> None:
    if _steps(connection, target):
        raise ThreadError(
            f"Conversation {target!r} exists already, so nothing was copied to it.",
            "Choose an id that is not in use, or delete that conversation first.",
        )
    for table, columns in _COPIED.items():
        connection.execute(
            f"INSERT INTO {table} (thread_id, {columns}) SELECT ?, {columns} FROM {table} WHERE thread_id = ?",  # noqa: S608  # names of ours
            (target, source),
        )


def _steps(connection: sqlite3.Connection, thread_id: str) -> list[CheckpointStep]:
    rows = connection.execute(
        "SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id FROM checkpoints WHERE thread_id = ?", (thread_id,)
    )
    return [CheckpointStep(*row) for row in rows]


def _delete(connection: sqlite3.Connection, thread_id: str, steps: Collection[CheckpointStep]) -> None:
    keys = [(thread_id, step.namespace, step.checkpoint_id) for step in steps]
    for table in _TABLES:
        connection.executemany(f"DELETE FROM {table} WHERE {_PLACE}", keys)  # noqa: S608  # text of ours


def _compress(connection: sqlite3.Connection, thread_id: str, steps: Iterable[CheckpointStep]) -> None:
    for step in steps:
        key = (thread_id, step.namespace, step.checkpoint_id)
        found = connection.execute(f"SELECT type, checkpoint FROM checkpoints WHERE {_PLACE}", key)  # noqa: S608  # text of ours
        for kind, value in found.fetchall():
            if isinstance(value, bytes) and not str(kind).startswith(_COMPRESSED):
                connection.execute(
                    f"UPDATE checkpoints SET type = ?, checkpoint = ? WHERE {_PLACE}",  # noqa: S608  # text of ours
                    (f"{_COMPRESSED}{kind}", zlib.compress(value, 1), *key),
                )


def _any_delta_channels(connection: sqlite3.Connection, thread_id: str, steps: Iterable[CheckpointStep]) -> bool:
    """Return whether the values of one of these checkpoints are spread over earlier steps, which must then stay."""
    for step in steps:
        key = (thread_id, step.namespace, step.checkpoint_id)
        found = connection.execute(f"SELECT metadata FROM checkpoints WHERE {_PLACE}", key)  # noqa: S608  # text of ours
        if any(read_metadata(metadata).get("counters_since_delta_snapshot") for (metadata,) in found):
            return True
    return False


class _Serde(JsonPlusSerializer):
    """Reads plain values and messages only, compressed or not."""

    def __init__(self) -> None:
        super().__init__(allowed_msgpack_modules=None)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        kind, value = data
        if kind and kind.startswith(_COMPRESSED):
            return super().loads_typed((kind.removeprefix(_COMPRESSED), zlib.decompress(value)))
        return super().loads_typed(data)


@asynccontextmanager
async def open_saver(path: Path | str) -> AsyncGenerator[PruningSqliteSaver]:
    """Open the saver of a file, and close it at the end; create the file if it does not exist.

    Raises:
        ThreadError: The file cannot be opened, read or written.
    """
    place = Path(path)
    connection = await open_connection(place, None)
    try:
        saver = PruningSqliteSaver(connection, place)
        await saver.setup()
        yield saver
    finally:
        await connection.close()
