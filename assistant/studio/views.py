"""What a caller of `langgraph dev` may read of a thread's state: only operators see drafts that did not pass."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextvars import ContextVar
from typing import Any, Final

from langgraph.types import StateSnapshot

from graph.streaming import JudgedGraph, withheld

sees_drafts: Final[ContextVar[bool]] = ContextVar("sees_drafts", default=True)
"""Whether whoever sent the request that is being answered may read them; the server itself may, and resumes turns."""


class ReadByRole(JudgedGraph):
    """A graph that also hides drafts in its state and history from readers who may not see them, as its streams do."""

    async def aget_state(self, *arguments: Any, **options: Any) -> StateSnapshot:
        return _withhold_drafts(await super().aget_state(*arguments, **options))

    async def aget_state_history(self, *arguments: Any, **options: Any) -> AsyncIterator[StateSnapshot]:
        async for snapshot in super().aget_state_history(*arguments, **options):
            yield _withhold_drafts(snapshot)


def _withhold_drafts(snapshot: StateSnapshot) -> StateSnapshot:
    return snapshot if sees_drafts.get() else withheld(snapshot)
