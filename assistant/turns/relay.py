"""What processes that share a storage tell each other of running turns: the tables `wishes` and `relayed_events`.

Who wants something of a turn that runs in another process writes a wish: to stop it, or to be told of its events. The
process that runs the turn looks for wishes a few times a second while it runs any. So nothing is written for a turn that
nobody asks about, and no process needs a way to another but the storage.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pydantic import TypeAdapter, ValidationError

from adapters.storage.sqlite_file import readable
from assistant.turns.events import TurnEvent
from assistant.turns.thread_table import ThreadTable
from contracts.errors import GuardianError, ServerClosing, ThreadBusy, UnknownThread

if TYPE_CHECKING:
    from assistant.turns.runner import TurnRunner
    from assistant.turns.running_turn import RunningTurn
    from assistant.turns.transcript import TurnStore

_LOG = logging.getLogger(__name__)

LOOK_EVERY_S: Final = 0.3
"""Between two looks for wishes, and for events, in seconds."""
_GONE_AFTER: Final = 3
"""Looks at which nobody held the conversation: between two turns nobody does for a moment."""
_STOP_S: Final = 20.0
"""How long another process has to stop a turn, in seconds."""

_EVENT: Final[TypeAdapter[TurnEvent]] = TypeAdapter(TurnEvent)


class Wish(StrEnum):
    """What somebody wants of a turn that another process runs."""

    STOP = "stop"
    FOLLOW = "follow"


class RelayTable(ThreadTable):
    """The two tables, keyed by conversation and turn; a turn's rows go when it ends, and with its conversation."""

    name: ClassVar[str] = "wishes"
    made_by: ClassVar[tuple[str, ...]] = (
        """
        CREATE TABLE IF NOT EXISTS wishes (
            thread_id TEXT NOT NULL,
            turn_id   TEXT NOT NULL,
            wish      TEXT NOT NULL,
            PRIMARY KEY (thread_id, turn_id, wish)
        )
        """,
        """
        CREATE TABLE IF NOT EXISTS relayed_events (
            thread_id TEXT NOT NULL,
            turn_id   TEXT NOT NULL,
            run       TEXT NOT NULL,
            number    INTEGER NOT NULL,
            event     TEXT NOT NULL,
            PRIMARY KEY (thread_id, turn_id, run, number)
        )
        """,
    )

    async def wish(self, thread_id: str, turn_id: str, wish: Wish) -> None:
        """Write down what is wanted of a turn that has no result yet; once is enough."""
        await self._rows(
            """
            INSERT INTO wishes (thread_id, turn_id, wish) SELECT thread_id, turn_id, :wish FROM turns
            WHERE thread_id = :thread AND turn_id = :turn AND status = 'running' ON CONFLICT DO NOTHING
            """,
            thread=thread_id,
            turn=turn_id,
            wish=str(wish),
        )

    async def take(self, thread_id: str, turn_id: str, wish: Wish) -> bool:
        """Delete a wish; return whether it was there."""
        rows = await self._rows(
            "DELETE FROM wishes WHERE thread_id = :thread AND turn_id = :turn AND wish = :wish RETURNING 1",
            thread=thread_id,
            turn=turn_id,
            wish=str(wish),
        )
        return bool(rows)

    async def sweep(self) -> None:
        """Delete what was said of turns that have ended, by processes that have not come to do it."""
        # Nothing is written where nothing was said: a file that another program keeps locked can still be read.
        if not await self._rows("SELECT 1 FROM wishes UNION ALL SELECT 1 FROM relayed_events LIMIT 1"):
            return
        for table in ("wishes", "relayed_events"):
            await self._rows(
                f"""
                DELETE FROM {table} WHERE NOT EXISTS (
                    SELECT 1 FROM turns WHERE turns.thread_id = {table}.thread_id
                        AND turns.turn_id = {table}.turn_id AND turns.status = 'running'
                )
                """  # noqa: S608  # names of ours
            )

    async def wishes(self) -> set[tuple[str, str, str]]:
        """Return what is wanted of running turns, of all processes: conversation, turn and wish."""
        rows = await self._rows("SELECT thread_id, turn_id, wish FROM wishes")
        return {(readable(thread), readable(turn), readable(wish)) for thread, turn, wish in rows}

    async def publish(self, thread_id: str, turn_id: str, run: str, first: int, events: Iterable[TurnEvent]) -> None:
        """Write down events of a turn for those who follow it elsewhere.

        Args:
            thread_id: The conversation.
            turn_id: The turn.
            run: Of the process that runs it now: after a takeover it is another one.
            first: The number of the first of these events in the run.
            events: In their order.
        """
        for number, event in enumerate(events, first):
            await self._rows(
                """
                INSERT INTO relayed_events (thread_id, turn_id, run, number, event)
                VALUES (:thread, :turn, :run, :number, :event) ON CONFLICT DO NOTHING
                """,
                thread=thread_id,
                turn=turn_id,
                run=run,
                number=number,
                event=event.model_dump_json(),
            )

    async def read(
        self, thread_id: str, turn_id: str, seen: Collection[tuple[str, int]]
    ) -> list[tuple[str, int, TurnEvent]]:
        """Return the events of a turn that were not seen yet, each with its run and number; unreadable ones are left out.

        Args:
            thread_id: The conversation.
            turn_id: The turn.
            seen: Run and number of those that were seen.
        """
        rows = await self._rows(
            """
            SELECT run, number, event FROM relayed_events WHERE thread_id = :thread AND turn_id = :turn
            ORDER BY run, number
            """,
            thread=thread_id,
            turn=turn_id,
        )
        found: list[tuple[str, int, TurnEvent]] = []
        for run, number, text in rows:
            if (readable(run), number) in seen:
                continue
            try:
                found.append((readable(run), number, _EVENT.validate_json(readable(text))))
            except ValidationError:
                continue  # of another version of the program
        return found

    async def clear(self, thread_id: str, turn_id: str) -> None:
        """Delete what was said of a turn, which has ended."""
        for table in ("wishes", "relayed_events"):
            await self._rows(
                f"DELETE FROM {table} WHERE thread_id = :thread AND turn_id = :turn",  # noqa: S608  # names of ours
                thread=thread_id,
                turn=turn_id,
            )

    async def forget(self, thread_id: str) -> int:
        await self._rows("DELETE FROM relayed_events WHERE thread_id = :thread", thread=thread_id)
        await super().forget(thread_id)
        return 0  # nothing that a person would miss


class TurnRelay:
    """What one process does for the others, and asks of them, while it has running turns.

    Args:
        relay: The tables.
        store: The transcript.
        running: Returns the turns of this process by the ids of their conversations.
        stop: Stops a turn of a conversation, by their ids, in this process for good.
    """

    def __init__(
        self,
        relay: RelayTable,
        store: TurnStore,
        running: Callable[[], Mapping[str, Sequence[RunningTurn]]],
        stop: Callable[[str, str], Coroutine[Any, Any, None]],
    ) -> None:
        self._relay = relay
        self._store = store
        self._running = running
        self._stop = stop
        self._run = secrets.token_hex(4)
        self._serving: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._told: dict[tuple[str, str], int] = {}
        self._stopping: set[tuple[str, str]] = set()

    def look_after(self, thread_id: str, live: RunningTurn) -> None:
        """Follow a turn in another process if it runs there, and serve others' wishes while it runs here."""
        self._keep(asyncio.create_task(self._follow(thread_id, live)))
        if self._serving is None or self._serving.done():
            self._serving = self._keep(asyncio.create_task(self._serve()))

    async def abandon(self, runner: TurnRunner, thread_id: str, turn_id: str, result: dict[str, Any]) -> bool:
        """End an unfinished turn without finishing it; if another process runs it, that one is asked to stop it first.

        Raises:
            ThreadBusy: It was not stopped in time.
        """
        clock = asyncio.get_running_loop().time
        deadline = clock() + _STOP_S
        try:
            while True:
                with suppress(ThreadBusy):
                    await runner.abandon(thread_id, result, turn_id=turn_id, wait_s=LOOK_EVERY_S)
                turn = await self._store.find(thread_id, turn_id)
                if turn is None or turn.result is not None:
                    # The other process may have recorded it as stopped itself, or it was answered before.
                    recorded = turn.result if turn is not None and turn.result is not None else {}
                    return recorded.get("block_reason") == result["block_reason"]
                if clock() >= deadline:
                    raise ThreadBusy("The turn was not stopped in time.", "Stop it again in a moment.")
        finally:
            # A stop that failed must not end the turn that its user then wants finished.
            with suppress(GuardianError):
                await self._relay.take(thread_id, turn_id, Wish.STOP)

    async def want_stopped(self, thread_id: str, turn_id: str) -> None:
        """Tell all processes that a turn is to be stopped, before any of them can finish it.

        If that cannot be written down, whoever runs it here is stopped all the same.
        """
        try:
            await self._relay.wish(thread_id, turn_id, Wish.STOP)
        except GuardianError as error:
            _LOG.warning("Other processes could not be told to stop a turn: %s", error)

    async def take_stop(self, thread_id: str, turn_id: str) -> bool:
        """Return whether somebody wants a turn stopped, once: whoever asks records it as stopped."""
        return await self._relay.take(thread_id, turn_id, Wish.STOP)

    async def watch(self, runner: TurnRunner, thread_id: str, turn_id: str) -> dict[str, Any]:
        """Wait for the end of a turn that another process runs, and return its result.

        Raises:
            ServerClosing: Nobody runs it any more, and it is half-finished.
            UnknownThread: The conversation was deleted.
        """
        unheld = 0
        while unheld < _GONE_AFTER:
            await asyncio.sleep(LOOK_EVERY_S)
            turn = await self._store.find(thread_id, turn_id)
            if turn is None:
                raise UnknownThread("The conversation was deleted.", "Begin a new one.")
            if turn.result is not None:
                return turn.result
            unheld = 0 if await runner.is_running(thread_id) else unheld + 1
        raise ServerClosing("The server that worked on the message has ended.", "Finish the turn, or send it again.")

    async def close(self) -> None:
        """End everything that goes on here."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        with suppress(GuardianError):
            await self._clear_ended()

    def _keep(self, task: asyncio.Task[Any]) -> asyncio.Task[Any]:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _follow(self, thread_id: str, live: RunningTurn) -> None:
        """Pass the events of a turn on that another process runs, until it has ended, or runs here."""
        seen: set[tuple[str, int]] = set()
        wished = False
        await asyncio.sleep(LOOK_EVERY_S)
        while live.running and not live.ran:
            # A storage that fails ends the turn itself, with words.
            with suppress(GuardianError):
                turn = await self._store.find(thread_id, live.turn_id)
                if turn is not None and turn.result is None and not live.ran:
                    if not wished:
                        await self._relay.wish(thread_id, live.turn_id, Wish.FOLLOW)
                        wished = True
                    for run, number, event in await self._relay.read(thread_id, live.turn_id, seen):
                        seen.add((run, number))
                        if event.kind not in {"turn_started", "turn_ended"}:
                            live.relay(event)
            await asyncio.sleep(LOOK_EVERY_S)

    async def _serve(self) -> None:
        """Do what others want of the turns that run here, as long as any does."""
        while self._any_running() or self._told:
            await asyncio.sleep(LOOK_EVERY_S)
            try:
                for thread_id, turn_id, wish in await self._relay.wishes():
                    for live in list(self._running().get(thread_id, ())):
                        if live.working_on == turn_id and live.running:
                            await self._grant(thread_id, turn_id, live, wish)
                await self._clear_ended()
            except GuardianError as error:
                _LOG.warning("What other processes want of running turns could not be looked up: %s", error)
                if not self._any_running():
                    return

    def _any_running(self) -> bool:
        return any(live.running for lives in self._running().values() for live in lives)

    async def _grant(self, thread_id: str, turn_id: str, live: RunningTurn, wish: str) -> None:
        if wish == Wish.STOP:
            if (thread_id, turn_id) not in self._stopping:
                self._stopping.add((thread_id, turn_id))
                task = self._keep(asyncio.create_task(self._stop(thread_id, turn_id)))
                task.add_done_callback(lambda _: self._stopping.discard((thread_id, turn_id)))
            return
        told = self._told.setdefault((thread_id, turn_id), 0)
        events = [event for event in live.events if event.turn_id == turn_id][told:]
        await self._relay.publish(thread_id, turn_id, self._run, told, events)
        self._told[thread_id, turn_id] = told + len(events)

    async def _clear_ended(self) -> None:
        """Delete what was told of turns that have ended."""
        running = {
            (thread, live.working_on) for thread, lives in self._running().items() for live in lives if live.running
        }
        for thread_id, turn_id in [key for key in self._told if key not in running]:
            del self._told[thread_id, turn_id]
            await self._relay.clear(thread_id, turn_id)
