"""The threads in which sources wait."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
import time

import pytest

from adapters import threads
from adapters.threads import MOST, in_thread
from tests.support.timed import LOADED

GIVEN_UP = """
import asyncio, time
from adapters.threads import in_thread

async def main():
    try:
        async with asyncio.timeout(0.1):
            await in_thread(time.sleep, 60)
    except TimeoutError:
        print("given up")

asyncio.run(main())
"""


def test_a_process_does_not_wait_for_a_source_that_was_given_up() -> None:
    """A command that has its answer ends, with its own exit code and nothing on standard error."""
    began = time.monotonic()
    ended = subprocess.run([sys.executable, "-c", GIVEN_UP], capture_output=True, text=True, timeout=50, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "given up\n", "")
    assert time.monotonic() - began < LOADED


async def test_what_is_returned_or_raised_comes_back() -> None:
    """As with `asyncio.to_thread`: results, errors, and the context of the caller."""
    name = contextvars.ContextVar[str]("name")
    name.set("mine")
    assert await in_thread(name.get) == "mine"
    assert await in_thread(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        await in_thread(divmod, 7, 0)


async def test_many_wait_at_the_same_time_and_the_rest_have_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """More waits than threads: all end, and no more threads than allowed were made."""
    pool = threads._Pool(MOST)
    monkeypatch.setattr(threads, "_pool", lambda: pool)
    released = threading.Event()
    waiting = [asyncio.create_task(in_thread(released.wait, 30)) for _ in range(MOST + 20)]
    await asyncio.sleep(0.2)
    assert not any(task.done() for task in waiting)
    assert pool._count == MOST
    released.set()
    assert all(await asyncio.gather(*waiting))


async def test_a_thread_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """One wait after another takes one thread: connections that are kept by thread are opened once."""
    pool = threads._Pool(MOST)
    monkeypatch.setattr(threads, "_pool", lambda: pool)
    used = set[str]()
    for _ in range(10):
        used.add(await in_thread(lambda: threading.current_thread().name))
        await asyncio.sleep(0.02)
    assert len(used) == 1


async def test_what_was_given_up_before_it_began_is_never_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that nobody waits for any more is not sent when a thread gets free."""
    pool = threads._Pool(1)
    monkeypatch.setattr(threads, "_pool", lambda: pool)
    released, done = threading.Event(), list[str]()
    first = asyncio.create_task(in_thread(released.wait, 30))
    second = asyncio.create_task(in_thread(done.append, "second"))
    await asyncio.sleep(0.05)
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    released.set()
    await first
    await in_thread(done.append, "third")
    assert done == ["third"]
