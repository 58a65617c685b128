"""Threads in which sources wait.

asyncio's own pool has few threads on a small machine, six where there are two cores. Three sub-queries to three sources
are nine waits, so that some would begin when others have ended; and a server that stands still would keep moderation
from its thread.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Final, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

MOST: Final = 64
"""Threads; each is made when it is first needed."""


async def in_thread(run: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Call what blocks in a thread of the sources, as `asyncio.to_thread` does in a thread of everybody's."""
    context = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(_pool(), lambda: context.run(run, *args, **kwargs))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MOST, thread_name_prefix="source")
