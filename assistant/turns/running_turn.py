"""A running turn: who follows it, who is bound to it, and what ends it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any, TypeAlias

from assistant.turns.events import OnEvent, TurnEnded, TurnEvent
from contracts.errors import GuardianError, ServerClosing, TurnStopped
from contracts.result import StructuredAgentResult

Json = dict[str, Any]

Watcher: TypeAlias = "Callable[[RunningTurn, TurnEvent | None], None]"
"""Is told of every event of a turn as it happens, and of an end without a result by `None`; it raises nothing."""


class RunningTurn:
    """A turn that runs or has just ended."""

    def __init__(
        self, thread: str, turn_id: str, question: str, watchers: Sequence[Watcher] = (), *, role: str = ""
    ) -> None:
        self.thread = thread
        self.turn_id = turn_id
        self.question = question
        self.role = role
        self.watching = False
        """Whether it runs in another process, and is only watched here."""
        self.working_on = ""
        """The turn whose nodes run here now: a half-finished one before it, or itself; empty before the first node."""
        self.lasting = False
        """Whether it goes on without anybody who is bound to it."""
        self._bound = 0
        self._ended_by: GuardianError | None = None
        self.recorded: asyncio.Event | None = None
        """Set once it stands on record that it was stopped, where it is; who follows is told no sooner."""
        self.task: asyncio.Task[StructuredAgentResult] | None = None
        self._watchers = watchers
        self._events: list[TurnEvent] = []
        self._ran = False
        self._news = asyncio.Event()

    def tell(self, event: TurnEvent) -> None:
        """Pass an event on to all followers."""
        self._events.append(event)
        if event.kind == "node_started":
            self._ran = True
            self.working_on = event.turn_id
        for watcher in self._watchers:
            watcher(self, event)
        self._wake()

    def relay(self, event: TurnEvent) -> None:
        """Pass an event on that happened in another process, where the watchers were told of it."""
        self._events.append(event)
        self._wake()

    @property
    def events(self) -> Sequence[TurnEvent]:
        """What was told so far."""
        return self._events

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def watch(self, task: asyncio.Task[StructuredAgentResult]) -> None:
        """Follow a task: when it ends, following the turn ends, too."""

        def done(_: object) -> None:
            if task.cancelled() or task.exception() is not None:
                for watcher in self._watchers:
                    watcher(self, None)
            self._wake()

        self.task = task
        task.add_done_callback(done)

    @property
    def running(self) -> bool:
        """Whether the turn runs."""
        return self.task is not None and not self.task.done()

    @property
    def joinable(self) -> bool:
        """Whether the turn runs and nothing has asked it to end."""
        return self.running and self._ended_by is None

    def hold(self) -> None:
        """Bind a caller to the turn, who later calls `let_go`."""
        self._bound += 1

    async def let_go(self) -> None:
        """Undo a `hold`; when the last bound caller lets go, the turn ends and stays half-finished."""
        self._bound -= 1
        if not self._bound and not self.lasting:
            await end_turns([self], stop_error())

    def end(self, why: GuardianError) -> None:
        """Cancel the turn if it runs; everybody who waits for it gets the error."""
        if self.task is not None and self.joinable:
            self._ended_by = why
            self.task.cancel()

    @property
    def ran(self) -> bool:
        """Whether any of its nodes ran here; false for a turn that ran before, or runs in another process."""
        return self._ran

    async def follow(self) -> AsyncGenerator[TurnEvent]:
        """Yield all events, past ones first; the last is `TurnEnded`.

        Raises:
            GuardianError: The turn ended without a result; raised after all events.
        """
        told = 0
        while True:
            news = self._news
            while told < len(self._events):
                told += 1
                yield self._events[told - 1]
            if not self.running and told == len(self._events):
                await self.result()
                return
            await news.wait()

    async def result(self, on_event: OnEvent | None = None) -> StructuredAgentResult:
        """Wait for the end and return the result.

        Args:
            on_event: Called with each event, past ones first.

        Raises:
            TurnStopped: The turn was stopped.
            ServerClosing: The process ended before the turn did.
            GuardianError: Another error ended the turn without a result.
        """
        if on_event is not None:
            async with aclosing(self.follow()) as events:
                async for event in events:
                    on_event(event)
        assert self.task is not None  # noqa: S101  # it was begun before anybody has it
        # Not awaited itself: the end of its waiter must not be taken for its own, nor the other way round.
        await asyncio.wait([self.task])
        if self.task.cancelled():
            if self.recorded is not None:
                await self.recorded.wait()
            raise self._ended_by or stop_error()
        return self.task.result()


def tell_end(live: RunningTurn, raw: Json) -> StructuredAgentResult:
    """Report the end of a turn and return its result, with the conversation's id as its owner knows it."""
    result = StructuredAgentResult.model_validate({**raw, "thread_id": live.thread})
    live.tell(TurnEnded(turn_id=live.turn_id, result=result))
    return result


def stop_error() -> TurnStopped:
    """Return the error of a turn that was stopped."""
    return TurnStopped("The turn was stopped.", "Send the message again, or resume the conversation.")


def closing_error() -> ServerClosing:
    """Return the error of a turn that the end of the process stopped or kept from beginning."""
    return ServerClosing("The server is shutting down.", "Send the message again in a moment.")


async def end_turns(lives: Sequence[RunningTurn], why: GuardianError) -> None:
    """End turns and wait until they have released everything; their followers get their own errors.

    All turns end at once; otherwise a waiting turn would begin when the one before it has ended.
    """
    tasks = [live.task for live in lives if live.task is not None and live.running]
    for live in lives:
        live.end(why)
    if tasks:
        await asyncio.wait(tasks)
