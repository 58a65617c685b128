"""Turns: one at a time per conversation, each run once, none lost.

A turn's row (`assistant.turns.transcript`) is written before the graph runs and gets its result after the graph has
ended. So if the process is killed, the question is on record and the next process finishes the turn. It continues from
the last checkpoint, from the question if there is no checkpoint yet, or from the result if only the row was not
written.

A claim keeps two processes from running one conversation. In a file's storage it is a lock that the kernel frees when its
holder ends (`adapters.storage.lock` says why it is not a lease). On a server it also fences: what a process writes after
another has taken its conversation over is refused, and the process then waits for the other's result.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast
from weakref import WeakValueDictionary

from pydantic import BaseModel, ValidationError

from adapters.storage.claims import Claims, current_claim, hold_claim
from adapters.storage.database import Fenced
from assistant.turns.events import NodeReader, OnEvent
from assistant.turns.transcript import MAX_STORED_ID_LENGTH, NewId, Turn, TurnStore, busy, check_id, encodable
from contracts.context import STEPS_PER_TURN
from contracts.errors import ConfigError, InputError, ThreadBusy, ThreadError, UnknownThread

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph
    from langgraph.types import StateSnapshot

_LOG = logging.getLogger(__name__)

Json = dict[str, Any]

_SLICE_S: Final = 0.5
"""So often a message that waits looks whether another process has answered it, in seconds."""
_MOMENT_S: Final = 0.1
"""A deletion waits for nothing but a look of another process at the claim, in seconds."""
_PATIENCE_S: Final = 900.0
"""For how long more a message waits for its own turn in another process, in seconds: its models may be slow, and it may hang."""
_DROP_S: Final = 2.0
"""For how long an answer that is on record waits for its steps to be dropped, in seconds."""
_FIRST_NODE: Final = "moderation"
_BUSY_ELSEWHERE: Final = (
    "Another process has taken the conversation over, because this one was silent for too long.",
    "Read the conversation in a moment: its answer comes from there.",
)


@dataclass
class Stopwatch:
    """The time of each node in milliseconds, summed over its runs.

    Args:
        clock: Seconds, monotonic.
    """

    clock: Callable[[], float]
    timings_ms: dict[str, float] = field(default_factory=dict[str, float])
    _since: dict[str, float] = field(default_factory=dict[str, float])
    _began: float = field(init=False)
    _first_event_ms: float | None = None

    def __post_init__(self) -> None:
        self._began = self.clock()

    def figures(self) -> Json:
        """Return the nodes' times, and the milliseconds to the first event and to now, for a result's diagnostics."""
        return {
            "timings_ms": self.timings_ms,
            "first_event_ms": self._first_event_ms,
            "answer_ms": self._milliseconds(self.clock()),
        }

    def _milliseconds(self, now: float) -> float:
        return round((now - self._began) * 1000, 3)

    def start(self, task_id: str) -> None:
        now = self._since[task_id] = self.clock()
        if self._first_event_ms is None:
            self._first_event_ms = self._milliseconds(now)

    def stop(self, task_id: str, node: str) -> float:
        """Return the milliseconds since this task began, and add them to its node's time."""
        now = self.clock()
        milliseconds = round((now - self._since.pop(task_id, now)) * 1000, 3)
        self.timings_ms[node] = round(self.timings_ms.get(node, 0.0) + milliseconds, 3)
        return milliseconds


OnCalls = Callable[[list[Json]], Awaitable[None]]
Admit = Callable[[], Awaitable[None]]


class TurnRunner:
    """The runner of turns.

    If an event callback raises, the turn stops; it can be resumed.

    Errors of a node or of the storage are raised to the caller. The turn then stays unfinished; `resume` or the
    conversation's next turn finishes it first.

    Args:
        graph: Compiled with a checkpointer; accepts `messages` and ends with a `result` in its state.
        store: The transcript; also an attribute.
        claims: Of all processes that share the storage.
        context_type: The class of the settings; rebuilds the settings of a half-finished turn from its row.
        wait_s: How long a message waits for the one before it, in seconds.
        clock: Seconds, monotonic; for the timings of the nodes only.
        forget: Deletes other data of a conversation, by its id, and returns how much there was; called before its
            transcript is deleted.
        figures: Returns what else is recorded with a turn's diagnostics, from them.

    Raises:
        ConfigError: The graph has no checkpointer.
    """

    def __init__(
        self,
        graph: CompiledStateGraph[Any, Any, Any, Any],
        store: TurnStore,
        claims: Claims,
        *,
        context_type: type[BaseModel] | None = None,
        wait_s: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
        forget: Callable[[str], Awaitable[int]] | None = None,
        figures: Callable[[Json], Json] = lambda _: {},
    ) -> None:
        # What LangGraph's methods take and return is only partly typed.
        self._graph = cast("Any", graph)
        if not hasattr(self._graph.checkpointer, "adelete_thread"):
            raise ConfigError("The graph has no checkpointer, so its turns would not last.", "Compile it with one.")
        self.store = store
        self._claims = claims
        self._context_type = context_type
        self._wait_s = wait_s
        self._clock = clock
        self._forget = forget
        self._figures = figures
        self.unwanted: Callable[[Turn], Awaitable[Json | None]] | None = None
        """Returns the result to record for an unfinished turn that somebody wants stopped; `None` for any other."""
        self._queues: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def run(
        self,
        thread_id: str,
        text: str,
        *,
        turn_id: str | None = None,
        context: BaseModel | None = None,
        on_event: OnEvent | None = None,
        on_earlier: Callable[[Json], None] | None = None,
        admit: Admit | None = None,
        on_calls: OnCalls | None = None,
    ) -> Json:
        """Run one turn and return its result; a turn that ran before returns its recorded result.

        A half-finished turn of the conversation is finished first. If it is this turn, it continues with its original
        settings.

        Args:
            thread_id: The conversation, new or known.
            text: The user's message, checked and cleaned by the caller.
            turn_id: The message's own id: sending it again never runs it twice. A `NewId` is not looked for; one is made if
                you leave it out.
            context: The settings of this run.
            on_event: Called as nodes begin and end.
            on_earlier: Called with the result of a half-finished turn that was finished first.
            admit: Awaited before nodes run, when it is the message's turn; what it raises refuses it.
            on_calls: Awaited with the requests to models that a node made, as soon as it ends, whatever comes after it.

        Raises:
            InputError: An id is not valid, the message cannot be stored, or the id was used with another message.
            ThreadBusy: Another message of this conversation was not done within `wait_s`.
            ThreadError: The storage failed; nothing is lost.
        """
        turn_id = NewId(uuid.uuid4().hex) if turn_id is None else turn_id
        check_id("conversation's", thread_id, MAX_STORED_ID_LENGTH)
        check_id("message's", turn_id)
        if not encodable(text):
            raise InputError("The message has characters that cannot be stored.", "Send it as valid Unicode.")
        # Its place in the line is taken first: the storage does not answer in the order in which it is asked.
        async with self._line(thread_id) as first:
            deadline = asyncio.get_running_loop().time() + self._wait_s
            slice_s = 0.0  # what is on record waits for no other message
            while True:
                held = False
                try:
                    async with self._hold(thread_id, first, min(slice_s, self._wait_s)):
                        held = True
                        return await self._run(thread_id, turn_id, text, context, on_event, on_earlier, admit, on_calls)
                except _TakenOver:
                    # Another process finishes the turn: its result is this one's, too.
                    turn_id = str(turn_id)
                    continue
                except ThreadBusy:
                    if held:
                        raise
                    # This very turn may run in another process, for however long it takes.
                    turn = await self._record(thread_id, turn_id, text)
                    if turn is not None and turn.result is not None and not turn.lost:
                        return turn.result
                    if asyncio.get_running_loop().time() >= deadline + (_PATIENCE_S if turn is not None else 0.0):
                        raise
                    slice_s = _SLICE_S

    async def _run(
        self,
        thread_id: str,
        turn_id: str,
        text: str,
        context: BaseModel | None,
        on_event: OnEvent | None,
        on_earlier: Callable[[Json], None] | None,
        admit: Admit | None,
        on_calls: OnCalls | None,
    ) -> Json:
        """Run a turn while nobody else runs one of its conversation, unless another process has run it by now."""
        turn = None if isinstance(turn_id, NewId) else await self._record(thread_id, turn_id, text)
        if turn is not None and turn.result is not None and not turn.lost:
            return turn.result
        if admit is not None:
            await admit()
        if turn is not None and not turn.lost:
            return await self._go_on(turn, context, on_event, on_calls)
        if turn is None:
            begin = partial(self.store.begin, thread_id, str(turn_id), text, _as_json(context))
        else:
            begin = partial(self.store.reopen, thread_id, turn_id)
        try:
            begun = await begin()
        except ThreadBusy:
            # The conversation has a half-finished turn: that one first.
            earlier = await self._finish_earlier(thread_id, context, on_event, on_calls)
            if earlier is not None and on_earlier is not None:
                on_earlier(earlier)
            if earlier is not None and admit is not None:
                await admit()  # that one cost, too
            begun = await begin()
        if turn is None:
            return await self._finish(begun, context, on_event, on_calls, new=True)
        return await self._go_on(begun, context, on_event, on_calls)

    async def _go_on(
        self, turn: Turn, context: BaseModel | None, on_event: OnEvent | None, on_calls: OnCalls | None
    ) -> Json:
        """Finish a turn on record with its own settings, unless somebody wants it stopped."""
        if await self._end_unwanted(turn):
            ended = await self.store.find(turn.thread_id, turn.turn_id)
            return (ended and ended.result) or {}
        return await self._finish(turn, self._settings_of(turn, context), on_event, on_calls)

    async def resume(
        self,
        thread_id: str,
        *,
        context: BaseModel | None = None,
        on_event: OnEvent | None = None,
        on_calls: OnCalls | None = None,
        patient: bool = False,
    ) -> Json | None:
        """Finish a conversation's half-finished turn and return its result; `None` if there is none.

        Args:
            thread_id: The conversation.
            context: The settings, if the turn's original ones can no longer be read.
            on_event: Called as nodes begin and end.
            on_calls: As in `run`.
            patient: Whether to wait for a turn that another process runs, for however long that takes.

        Raises:
            ThreadBusy: The turn is not half-finished but running, and was not done within `wait_s`.
            ThreadError: The storage failed; nothing is lost.
        """
        check_id("conversation's", thread_id, MAX_STORED_ID_LENGTH)
        deadline = asyncio.get_running_loop().time() + self._wait_s
        async with self._line(thread_id) as first:
            while True:
                held = False
                try:
                    async with self._hold(thread_id, first, min(_SLICE_S, self._wait_s)):
                        held = True
                        return await self._finish_earlier(thread_id, context, on_event, on_calls)
                except ThreadBusy:
                    if held:
                        raise
                    if await self.store.unfinished(thread_id) is None:
                        return None
                    if asyncio.get_running_loop().time() >= deadline + (_PATIENCE_S if patient else 0.0):
                        raise

    async def is_running(self, thread_id: str) -> bool:
        """Return whether a conversation's unfinished turn runs now, in whichever process, and is not half-finished.

        Raises:
            ThreadError: The storage failed.
        """
        return await self._claims.is_held(thread_id)

    async def abandon(
        self, thread_id: str, result: Json, *, turn_id: str | None = None, wait_s: float | None = None
    ) -> bool:
        """End a conversation's half-finished turn without finishing it: the question stays on record with this result.

        Args:
            thread_id: The conversation.
            turn_id: The turn; by default, whichever is unfinished.
            result: A `StructuredAgentResult` as JSON; the ids are written into it.
            wait_s: How long to wait for the turn's end, if it runs, in seconds; by default as a message waits.

        Returns:
            Whether there was such a turn.

        Raises:
            ThreadBusy: The turn is not half-finished but running, and was not done within `wait_s`.
            ThreadError: The storage failed.
        """
        check_id("conversation's", thread_id, MAX_STORED_ID_LENGTH)
        async with self._alone(thread_id, self._wait_s if wait_s is None else wait_s):
            turn = await self.store.unfinished(thread_id)
            if turn is None or turn_id not in (None, turn.turn_id):
                return False
            await self._record_end(turn, result)
            return True

    async def _record_end(self, turn: Turn, result: Json) -> None:
        """Record the result of a turn that is not finished by its graph."""
        ids = {"thread_id": turn.thread_id, "turn_id": turn.turn_id, "question": turn.question}
        try:
            calls = _calls_of(await self._graph.aget_state(_place(turn.thread_id)), turn)
        except ThreadError:
            calls = []  # a turn whose state cannot be read can be ended, too
        diagnostics: Json = {**(result.get("diagnostics") or {}), "calls": calls, "model_calls": len(calls)}
        told = {"diagnostics": {**diagnostics, **self._figures(diagnostics)}}
        await self.store.finish(turn.thread_id, turn.turn_id, {**result, **ids, **told})
        await self._drop_steps(turn.thread_id)

    async def delete(self, thread_id: str) -> None:
        """Delete a conversation, its transcript last, so that a deletion that was killed can be repeated.

        Raises:
            ThreadBusy: A turn is running now.
            UnknownThread: There is nothing to delete.
        """
        check_id("conversation's", thread_id, MAX_STORED_ID_LENGTH)
        async with self._alone(thread_id, _MOMENT_S):
            await self._delete(thread_id)

    async def delete_unused(self, thread_id: str, before: str) -> bool:
        """Delete a conversation as `delete` does, unless it was used since a time, or is now; return whether it was deleted.

        Args:
            thread_id: The conversation.
            before: ISO 8601, UTC, milliseconds.
        """
        try:
            async with self._alone(thread_id, _MOMENT_S):
                turns = await self.store.turns(thread_id)
                if not turns or max(turn.finished_at or turn.started_at for turn in turns) >= before:
                    return False
                await self._delete(thread_id)
        except ThreadBusy:
            return False
        return True

    async def _delete(self, thread_id: str) -> None:
        try:
            known = (await self._graph.aget_state(_place(thread_id))).created_at is not None
        except ThreadError:
            known = True  # what cannot be read can be deleted; where the storage fails, the next line says so
        await self._graph.checkpointer.adelete_thread(thread_id)
        # The turns first: what is said of a turn is stored only while there is that turn, so nothing comes behind this.
        turns = await self.store.forget(thread_id)
        others = await self._forget(thread_id) if self._forget is not None else 0
        if (claim := current_claim.get()) is not None:
            await self._claims.forget(claim)
        if not turns and not others and not known:
            raise UnknownThread(f"There is no conversation {thread_id!r}.", "`guardian threads list` shows all.")

    async def _record(self, thread_id: str, turn_id: str, text: str) -> Turn | None:
        turn = await self.store.find(thread_id, turn_id)
        if turn is not None and turn.question != text:
            raise InputError(
                f"The id {turn_id!r} belongs to another message of this conversation.",
                "Give each message an id of its own.",
            )
        return turn

    async def _finish_earlier(
        self, thread_id: str, context: BaseModel | None, on_event: OnEvent | None, on_calls: OnCalls | None
    ) -> Json | None:
        earlier = await self.store.unfinished(thread_id)
        if earlier is None or await self._end_unwanted(earlier):
            return None
        return await self._finish(earlier, self._settings_of(earlier, context), on_event, on_calls)

    async def _end_unwanted(self, turn: Turn) -> bool:
        """End an unfinished turn that somebody wants stopped; return whether there was such a wish."""
        result = await self.unwanted(turn) if self.unwanted is not None else None
        if result is None:
            return False
        await self._record_end(turn, result)
        return True

    async def _finish(
        self,
        turn: Turn,
        context: BaseModel | None,
        on_event: OnEvent | None,
        on_calls: OnCalls | None,
        *,
        new: bool = False,
    ) -> Json:
        """Take a recorded turn from wherever it stands to its result, and record that; a new one has no step yet."""
        stopwatch = Stopwatch(self._clock)
        begun = None if new else await self._find_begun(turn)
        if begun is None or begun.tasks:
            done = _already_finished(begun) if begun else frozenset[str]()
            known = len(_calls_of(begun, turn)) if begun else 0
            progress = _TaskReader(turn.turn_id, stopwatch, on_event, done, known)
            ended = await self._advance(turn, context, progress, on_calls, begun=begun is not None)
        else:
            ended = begun.values.get("result")
        # The graph does not know which conversation it serves.
        result: Json = {**_result_of(ended, turn), "thread_id": turn.thread_id, "turn_id": turn.turn_id}
        diagnostics: Json = result.get("diagnostics") or {}
        result["diagnostics"] = {**diagnostics, **stopwatch.figures(), **self._figures(diagnostics)}
        recorded = await self.store.finish(turn.thread_id, turn.turn_id, result)
        await self._drop_steps(turn.thread_id)
        return recorded

    async def _drop_steps(self, thread_id: str) -> None:
        """Keep of a conversation only where it ended: nothing goes on from a step of a turn that has its result."""
        from langgraph.checkpoint.base import BaseCheckpointSaver

        saver = self._graph.checkpointer
        try:
            if isinstance(saver, BaseCheckpointSaver):
                async with asyncio.timeout(_DROP_S):
                    await saver.aprune([thread_id])
        except (ThreadError, Fenced, NotImplementedError, TimeoutError) as error:
            # The answer is on record, and the next turn drops what stayed.
            _LOG.info("The steps of a turn in conversation %r were not dropped: %s", thread_id, error)

    async def _find_begun(self, turn: Turn) -> StateSnapshot | None:
        """Return where a turn stands; `None` where its conversation has no step of it."""
        snapshot: StateSnapshot = await self._graph.aget_state(_place(turn.thread_id))
        if not _is_of(snapshot, turn):
            return None
        if _passed_by_an_older_version(snapshot):
            # Its verdict does not say what it is about, so nothing may be answered by it: as if just drafted.
            await self._graph.aupdate_state(_of_run(turn), {}, as_node="draft")
            snapshot = await self._graph.aget_state(_place(turn.thread_id))
        return snapshot

    async def _advance(
        self,
        turn: Turn,
        context: BaseModel | None,
        progress: _TaskReader,
        on_calls: OnCalls | None,
        *,
        begun: bool,
    ) -> Json | None:
        """Run the graph to the turn's end; return what the turn came to, which is stored then, or `None` if to nothing."""
        from langchain_core.messages import HumanMessage

        from graph.streaming import steps_alone

        ended: list[Json] = []
        question = None if begun else {"messages": [HumanMessage(turn.question, id=turn.turn_id)]}
        config = steps_alone({**_of_run(turn), "recursion_limit": STEPS_PER_TURN}, ended.append)
        stream = self._graph.astream(question, config, context=context, stream_mode="tasks", durability="sync")
        # Closed before the lock is released, also where the callback raises: no node may run on after that.
        async with aclosing(cast("AsyncGenerator[Json]", stream)) as tasks:
            async for task in tasks:
                calls = progress.see(task)
                if calls and on_calls is not None:
                    await _to_its_end(on_calls(calls))
        return ended[-1] if ended else await self._read_end(turn)

    async def _read_end(self, turn: Turn) -> Json | None:
        """Return what a turn came to from its state: what a task had written when it was killed is not streamed again."""
        snapshot: StateSnapshot = await self._graph.aget_state(_place(turn.thread_id))
        if not _is_of(snapshot, turn):
            raise _of_another(turn)
        return None if snapshot.tasks else snapshot.values.get("result")

    def _settings_of(self, turn: Turn, otherwise: BaseModel | None) -> BaseModel | None:
        if self._context_type is None or turn.context is None:
            return otherwise
        try:
            return self._context_type.model_validate(turn.context)
        except ValidationError:
            # A newer version of the product may have dropped or bounded a setting; the question still wants its answer.
            return otherwise

    @asynccontextmanager
    async def _alone(self, thread_id: str, wait_s: float) -> AsyncGenerator[None]:
        """Keep every other turn of a conversation out: of this process in the order they came, then of all others."""
        async with self._line(thread_id) as first, self._hold(thread_id, first, wait_s):
            yield

    @asynccontextmanager
    async def _line(self, thread_id: str) -> AsyncGenerator[asyncio.Task[Any]]:
        """Stand in the line of a conversation's messages in this process; the task ends when all before it are done."""
        queue = self._queues.setdefault(thread_id, asyncio.Lock())
        first = asyncio.create_task(queue.acquire())
        try:
            yield first
        finally:
            first.cancel()
            # Not awaited: whoever is cancelled once may be cancelled again.
            first.add_done_callback(lambda _: None if first.cancelled() else queue.release())

    @asynccontextmanager
    async def _hold(self, thread_id: str, first: asyncio.Task[Any], wait_s: float) -> AsyncGenerator[None]:
        """Hold the claim to a conversation once it is the first in line.

        Raises:
            ThreadBusy: It was not free in time, or another process has taken it over meanwhile.
        """
        deadline = asyncio.get_running_loop().time() + wait_s
        await asyncio.sleep(0)  # where nobody stands in line, it is the first by now
        await asyncio.wait([first], timeout=wait_s)
        if not first.done():
            raise busy(thread_id)
        async with hold_claim(self._claims, thread_id, deadline) as claim:
            if claim is None:
                raise busy(thread_id)
            writing = current_claim.set(claim)
            try:
                yield
            except Fenced as error:
                raise _TakenOver(*_BUSY_ELSEWHERE) from error
            finally:
                current_claim.reset(writing)


class _TakenOver(ThreadBusy):
    """While a turn ran here, another process took its conversation over."""


class _TaskReader:
    """Turns LangGraph's task events into a turn's, and times them."""

    def __init__(
        self, turn_id: str, stopwatch: Stopwatch, on_event: OnEvent | None, finished: frozenset[str], calls: int
    ) -> None:
        self._reader = NodeReader(turn_id)
        self._stopwatch = stopwatch
        self._on_event = on_event
        self._finished = finished
        self._calls = calls

    def see(self, task: Json) -> list[Json]:
        """Tell of a task's beginning or end; return the requests to models that it made."""
        if task["id"] in self._finished:
            # LangGraph names it again when the step that it is part of goes on, but does not run it.
            return []
        node = task["name"]
        if "input" in task:
            self._stopwatch.start(task["id"])
            events = [self._reader.begin(node)]
        else:
            milliseconds = self._stopwatch.stop(task["id"], node)
            error = str(task["error"]) if task["error"] else ""
            events = self._reader.finish(node, milliseconds, task["result"], error)
        if self._on_event is not None:
            for event in events:
                self._on_event(event)
        # A node writes all requests of the turn so far.
        made = _written_calls(task.get("result"))[self._calls :]
        self._calls += len(made)
        return made


async def _to_its_end(work: Awaitable[None]) -> None:
    """Await something that is finished also if the turn is stopped meanwhile; the turn stops after that."""
    running = asyncio.ensure_future(work)
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise


def _written_calls(result: Any) -> list[Json]:
    written: Any = cast("Json", result).get("model_calls") if isinstance(result, dict) else None
    return cast("list[Json]", written) if isinstance(written, list) else []


def _calls_of(snapshot: StateSnapshot, turn: Turn) -> list[Json]:
    """Return the requests to models that a turn made as far as it stands, also by nodes whose step has not ended."""
    if not _is_of(snapshot, turn):
        return []
    written = [_written_calls(task.result) for task in snapshot.tasks]
    # Until the first node has ended, the state has what the turn before made.
    if _FIRST_NODE not in snapshot.next:
        written.append(_written_calls(snapshot.values))
    return max(written, key=len) if written else []


def _already_finished(snapshot: StateSnapshot) -> frozenset[str]:
    return frozenset(task.id for task in snapshot.tasks if task.result is not None)


def _is_of(snapshot: StateSnapshot, turn: Turn) -> bool:
    """Whether the newest step of a conversation was made by this turn."""
    return cast("Json", snapshot.metadata or {}).get("run_id") == turn.turn_id


def _of_another(turn: Turn) -> ThreadError:
    return ThreadError(
        f"The newest step of conversation {turn.thread_id!r} is not of its turn {turn.turn_id!r}, so that its answer "
        "would be another one's; nothing was recorded.",
        "`guardian threads resume` tries again; if that does not help, delete the conversation.",
    )


def _place(thread_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id}}


def _of_run(turn: Turn) -> RunnableConfig:
    return {**_place(turn.thread_id), "metadata": {"run_id": turn.turn_id}}


def _passed_by_an_older_version(snapshot: StateSnapshot) -> bool:
    """Whether a turn stands before its answer with a verdict that names no draft: none did before judged_hash.

    If the process was killed behind the verdict, it is only among what the node wrote, and in no state yet.
    """
    judged = [snapshot.values.get("guardian")] if "finalize" in snapshot.next else []
    written: list[Any] = [task.result for task in snapshot.tasks if task.name == "guardian_verify"]
    judged += [result.get("guardian") for result in written if isinstance(result, dict)]
    return any(isinstance(report, dict) and "judged_hash" not in report for report in judged)


def _as_json(context: BaseModel | None) -> Json | None:
    return None if context is None else context.model_dump(mode="json")


def _result_of(result: object, turn: Turn) -> Json:
    if not isinstance(result, dict) or not result:
        raise ThreadError(
            f"The turn {turn.turn_id!r} of conversation {turn.thread_id!r} stopped without a result.",
            "`guardian threads resume` tries again; if that does not help, delete the conversation.",
        )
    answer = dict(cast("Json", result))
    # A turn that broke before its question was read has a result without an id.
    if answer.get("turn_id") not in (None, "", turn.turn_id):
        raise _of_another(turn)
    return answer
