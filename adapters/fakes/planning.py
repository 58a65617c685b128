"""A fake planner without a model or an index: it returns scripted plans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from contracts.errors import PlanningFailed
from contracts.plan import SGRPlanResult
from contracts.ports import PlanReply, PlanRequest


class FakePlanner:
    """A planner that returns one plan after another and repeats the last one.

    Args:
        plans: The plans, or the error to raise instead of a plan.

    Attributes:
        requests: What it was asked, in order.
    """

    def __init__(self, plans: Iterable[SGRPlanResult | PlanningFailed]) -> None:
        self._plans: Iterator[SGRPlanResult | PlanningFailed] = iter(plans)
        self._last: SGRPlanResult | PlanningFailed | None = None
        self.requests: list[PlanRequest] = []

    async def plan(self, request: PlanRequest) -> PlanReply:
        self.requests.append(request)
        self._last = next(self._plans, self._last)
        if self._last is None:
            raise PlanningFailed("The fake planner was given no plan.", "Give it one.")
        if isinstance(self._last, PlanningFailed):
            raise self._last
        return PlanReply(self._last, {"planner": "fake", "arguments": self._last.model_dump(mode="json")})
