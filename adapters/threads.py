"""Threads for sources that block.

asyncio's own pool has few threads on a small machine: six on two cores. Three sub-queries to three sources are nine
waits, so some would start only after others have ended. A server that hangs would also keep moderation from its thread.

Python waits for the threads of its pools before a process ends, but not for these. A command that has its answer ends,
even if an abandoned source is still running. So only code that reads belongs here.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import cache, partial
from queue import SimpleQueue
from typing import Any, Final, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

MOST: Final = 64
"""Threads; each is made when it is first needed."""


async def in_thread(run: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Call a blocking reader in a thread for sources, as `asyncio.to_thread` does in asyncio's own pool."""
    context = contextvars.copy_context()
    future: Future[_T] = Future()
    _pool().do(future, partial(context.run, run, *args, **kwargs))
    return await asyncio.wrap_future(future)


def run_apart(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine to its end on an event loop of its own, whether or not one runs in this thread; blocks."""
    future: Future[_T] = Future()
    threading.Thread(target=_carry_out, args=(future, partial(asyncio.run, work)), daemon=True).start()
    return future.result()


class _Pool:
    """Daemon threads that are used again, unlike those of `concurrent.futures`, which has no others."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._tasks: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._starting = threading.Lock()
        self._count = 0

    def do(self, future: Future[_T], run: Callable[[], _T]) -> None:
        """Call something when a thread is free, and set the future to what it returns or raises."""
        self._tasks.put((future, run))
        with self._starting:
            if not self._idle.acquire(blocking=False) and self._count < self._most:
                self._count += 1
                threading.Thread(target=self._work, name=f"source_{self._count}", daemon=True).start()

    def _work(self) -> None:
        while True:
            _carry_out(*self._tasks.get())
            self._idle.release()


def _carry_out(future: Future[_T], run: Callable[[], _T]) -> None:
    # Whoever waited may have gone before it was begun.
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = run()
    except BaseException as error:  # noqa: BLE001  # it is raised where it is waited for
        future.set_exception(error)
    else:
        future.set_result(result)


@cache
def _pool() -> _Pool:
    return _Pool(MOST)
