"""The time limit of a node, for work that waits too long and for work that never yields.

A timeout is a timer of the event loop, and while a node computes, the loop runs no timer and no other conversation. So
one thread of the process watches the loops in which nodes run; each loop regularly shows that it is alive. If one step
of a task holds a loop for a quarter of a node's time limit, or for half a minute, an exception is raised inside that
step. The node then fails by timeout, and the loop serves the others. The limit is a quarter, so that the other timers
have not expired by then.

The watchdog cannot end two things. A single call into C (one regular-expression search, one database statement) runs
until it returns, because an exception is only raised between two Python instructions. Work that a node sent to a thread
holds no loop: the timer ends the waiting, and nothing ends the thread.
"""

from __future__ import annotations

import asyncio
import ctypes
import threading
import time
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from langgraph.errors import NodeTimeoutError

from contracts.state import Json

_SHARE: Final = 4
"""The part of a node's bound, one in so many, for which a step of it may hold the loop."""
_MOST_HELD_S: Final = 30.0
"""And at most so long, however long the node may wait for a slow model."""
_LOOKS: Final = 8
"""How many times in that time a loop is asked to show itself."""


class _Held(BaseException):
    """Raised inside a step that holds its loop; no `except Exception` on its way takes it for a fault of its own."""


async def within(seconds: float, node: str, work: Coroutine[Any, Any, Json]) -> Json:
    """Return the result of a node's work.

    LangGraph has such a timeout, too, but its timer task and its settings for the work cost a millisecond more each
    turn.

    Raises:
        NodeTimeoutError: The work took longer than the bound; it is cancelled and left, however it reacts. Or one of
            its steps held the event loop for longer than a quarter of the bound.
    """
    began, held = time.monotonic(), min(seconds / _SHARE, _MOST_HELD_S)
    with _WATCH.over(asyncio.get_running_loop(), held):
        task = asyncio.create_task(work)
        try:
            done, _ = await asyncio.wait((task,), timeout=seconds)
            if done:
                return task.result()
        except (_Held, BaseExceptionGroup) as error:
            # A group of tasks (`asyncio.TaskGroup`) raises what one of its tasks has raised in a group of its own.
            ended, others = error.split(_Held) if isinstance(error, BaseExceptionGroup) else (error, None)
            if ended is None:
                raise
            raise NodeTimeoutError(node, time.monotonic() - began, kind="run", run_timeout=held) from others
        finally:
            if not task.done():
                _leave(task)
    raise NodeTimeoutError(node, time.monotonic() - began, kind="run", run_timeout=seconds)


def _leave(task: asyncio.Task[Json]) -> None:
    """Cancel a task that nobody waits for any more; asyncio complains of errors that nobody reads."""
    task.cancel()
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())


@dataclass(slots=True)
class _Watched:
    """A loop in which nodes run.

    Attributes:
        thread: The thread that it runs in.
        bounds: Of each of its nodes, how long a step may hold it.
        shown: Whether it has shown itself since it was last asked to.
        silent: Seconds for which it has not.
    """

    thread: int
    bounds: list[float] = field(default_factory=list[float])
    shown: bool = True
    silent: float = 0.0

    def show(self) -> None:
        self.shown = True


class _Watch:
    """The thread, which sleeps while no node runs, and the loops that it looks after."""

    def __init__(self) -> None:
        self._loops: dict[asyncio.AbstractEventLoop, _Watched] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._pause: float | None = None
        """Seconds to the next look; nothing while no node runs."""

    @contextmanager
    def over(self, loop: asyncio.AbstractEventLoop, seconds: float) -> Generator[None]:
        """Watch a loop while a node runs in it."""
        with self._changed:
            watched = self._loops.setdefault(loop, _Watched(threading.get_ident()))
            watched.bounds.append(seconds)
            # A process that was forked has the object and not the thread.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="nodes that hold their loop", daemon=True)
                self._thread.start()
            elif self._pause is None or seconds / _LOOKS < self._pause:
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                watched.bounds.remove(seconds)
                if not watched.bounds:
                    self._loops.pop(loop, None)

    def _run(self) -> None:
        with self._changed:
            while True:
                bounds = [bound for watched in self._loops.values() for bound in watched.bounds]
                self._pause = min(bounds) / _LOOKS if bounds else None
                since = time.monotonic()
                self._changed.wait(self._pause)
                # Where the whole process stood still, no loop has held anything.
                passed = min(time.monotonic() - since, 2 * (self._pause or 0.0))
                for loop, watched in list(self._loops.items()):
                    self._look(loop, watched, passed)

    def _look(self, loop: asyncio.AbstractEventLoop, watched: _Watched, passed: float) -> None:
        if watched.shown:
            watched.shown, watched.silent = False, 0.0
            try:
                loop.call_soon_threadsafe(watched.show)
            except RuntimeError:  # closed, with a node inside that nobody awaits
                self._loops.pop(loop, None)
            return
        watched.silent += passed
        # What is raised outside of a task's step would end the loop itself. Between this question and the call,
        # no other thread gets the interpreter.
        if watched.silent >= min(watched.bounds) and asyncio.current_task(loop) is not None:
            watched.silent = 0.0
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(watched.thread), ctypes.py_object(_Held))


_WATCH: Final = _Watch()
