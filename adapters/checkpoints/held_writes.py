"""What the tasks of a step wrote, held for a moment, so that it is stored together with the checkpoint that follows.

LangGraph stores a task's writes when the task ends, and a checkpoint when all tasks of a step have ended. In a graph whose
steps have one task each, the second follows the first at once, and both fit into one exchange with the storage. What stands
in the storage afterwards is the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

_HOLD_S: Final = 0.05
"""How long writes wait for their checkpoint, in seconds: other tasks of the step may run for minutes."""

Row = tuple[Any, ...]


class StepKey(NamedTuple):
    """The checkpoint whose tasks wrote something."""

    thread_id: str
    namespace: str
    checkpoint_id: str


class HeldWrites:
    """The rows of one saver that wait for their checkpoint; for one event loop."""

    def __init__(self) -> None:
        self._waiting: dict[StepKey, list[tuple[list[Row], asyncio.Future[bool]]]] = {}

    async def hold(self, step: StepKey, rows: list[Row]) -> bool:
        """Hold rows until `take` stores them; return whether it did.

        If nothing has taken them after a moment, or could not store them, the caller stores them.
        """
        stored = asyncio.get_running_loop().create_future()
        held = (rows, stored)
        self._waiting.setdefault(step, []).append(held)
        try:
            await asyncio.wait([stored], timeout=_HOLD_S)
        finally:
            in_line = self._waiting.get(step, [])
            nobody_took_it = held in in_line
            if nobody_took_it:
                in_line.remove(held)
                if not in_line:
                    del self._waiting[step]
        return False if nobody_took_it else await stored

    @contextmanager
    def take(self, step: StepKey) -> Generator[list[Row]]:
        """Take the rows that wait for a checkpoint, for a block that stores them with it."""
        held = self._waiting.pop(step, [])
        done = False
        try:
            yield [row for rows, _ in held for row in rows]
            done = True
        finally:
            for _, stored in held:
                if not stored.done():
                    stored.set_result(done)
