"""Planning in parallel with moderation: the plan starts as if the message were safe, and is used only if it is."""

from __future__ import annotations

import asyncio
from typing import Final

from contracts.calls import ModelCall
from contracts.enums import CallPurpose, SafetyLevel
from contracts.errors import PortError
from contracts.ports import Planner, PlanReply, PlanRequest

_MOST_BEGUN: Final = 256
THROWN_AWAY: Final = "thrown_away"
"""The fault of a planning request that was ended because moderation blocked the message."""


class PlanAhead:
    """A planner that starts before moderation has finished.

    Neither the decisions of DT-001 nor the plans change. If moderation finds anything but Safe, the early plan is
    discarded, and the message is planned with the verdict.

    Args:
        planner: Makes the plans.
        model: Name of its model, for the record of a discarded plan.
        server: The model's server.
    """

    def __init__(self, planner: Planner, model: str, server: str) -> None:
        self._planner = planner
        self._model = model
        self._server = server
        self._begun: dict[str, tuple[PlanRequest, asyncio.Task[PlanReply]]] = {}

    def begin(self, request: PlanRequest) -> None:
        """Start the planner; an earlier plan under the same turn's id is discarded."""
        self.drop(request.turn_id)
        task = asyncio.create_task(self._planner.plan(request))
        task.add_done_callback(_read_error)
        self._begun[request.turn_id] = (request, task)
        if len(self._begun) > _MOST_BEGUN:
            self.drop(next(iter(self._begun)))  # of a turn that was ended between the two nodes

    def drop(self, turn_id: str) -> tuple[ModelCall, ...]:
        """Discard an early plan and return its cost: the answered requests, or one request without figures."""
        _, task = self._begun.pop(turn_id, (None, None))
        if task is None:
            return ()
        if task.done() and not task.cancelled():
            error = task.exception()
            if error is None:
                return task.result().calls
            if isinstance(error, PortError):
                return error.calls
        task.cancel()
        return (
            ModelCall(
                purpose=CallPurpose.PLAN, model=self._model, server=self._server, form="ahead", fault=THROWN_AWAY
            ),
        )

    async def plan(self, request: PlanRequest) -> PlanReply:
        """Return the early plan if the message turned out to be safe, else plan now.

        Raises:
            PlanningFailed: As the planner does.
        """
        begun, task = self._begun.get(request.turn_id, (None, None))
        safe = request.moderation is not None and request.moderation.safety_level is SafetyLevel.SAFE
        if task is None or begun is None or not safe or not _same(begun, request):
            wasted = self.drop(request.turn_id)
            reply = await self._planner.plan(request)
            return PlanReply(reply.plan, reply.trace, reply.degraded, (*wasted, *reply.calls))
        try:
            return await task
        finally:
            if self._begun.get(request.turn_id) == (begun, task):
                del self._begun[request.turn_id]
            task.cancel()  # a turn that was ended while it waited ends its plan, too; a finished one stays as it is


def _same(begun: PlanRequest, request: PlanRequest) -> bool:
    return (begun.message, begun.language, begun.history, begun.clarifications) == (
        request.message,
        request.language,
        request.history,
        request.clarifications,
    )


def _read_error(task: asyncio.Task[PlanReply]) -> None:
    """Take note of how a task ended, or one that nobody waits for would be reported as lost."""
    if not task.cancelled():
        task.exception()
