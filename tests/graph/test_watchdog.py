"""A node whose work never yields is ended by its bound, and the others go on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.errors import NodeTimeoutError

from adapters.fakes.drafting import FakeDrafter
from adapters.fakes.moderation import FakeModerator
from adapters.fakes.planning import FakePlanner
from adapters.fakes.sources import FakeSource
from contracts.context import STEPS_PER_TURN, Context
from contracts.enums import DraftKind, Source
from contracts.ports import Draft
from graph.build import Ports, build_graph
from graph.watchdog import within
from tests.support.turn import ANSWER, PROFILE, SAFE, passage, plan

BOUND = 3.0
"""Seconds; a step may hold the loop for a quarter of it, and the other turn has the rest."""


class Computes:
    """Every port at once; none ever yields, or lets a fault of its own stop it."""

    kind = Source.DOC

    def __init__(self) -> None:
        self.ended = 0

    async def _for_ever(self, *_: object) -> Any:
        count = 0
        try:
            while True:
                try:
                    count += 1
                except Exception:  # noqa: BLE001, S112  # as code around a fault may be written
                    continue
        finally:
            self.ended += 1

    moderate = plan = search = draft = _for_ever


def ports(**changes: Any) -> Ports:
    bound: dict[str, Any] = {
        "moderator": FakeModerator(SAFE),
        "planner": FakePlanner([plan()]),
        "sources": {Source.DOC: FakeSource(Source.DOC, [passage(1), passage(2)])},
        "drafter": FakeDrafter([Draft(DraftKind.ANSWER, ANSWER)]),
    }
    return Ports(**{**bound, **changes})


async def run(with_ports: Ports) -> Any:
    graph = build_graph(with_ports, PROFILE)
    start: Any = {"messages": [HumanMessage("When does the kettle boil?", id="q")]}
    return await graph.ainvoke(start, {"recursion_limit": STEPS_PER_TURN}, context=Context())


PORTS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "moderation": lambda port: {"moderator": port},
    "sgr_plan": lambda port: {"planner": port},
    "retrieve": lambda port: {"sources": {Source.DOC: port}},
    "draft": lambda port: {"drafter": port},
}


@pytest.mark.parametrize("node", PORTS)
async def test_a_node_that_never_yields_ends_in_safe_exit(monkeypatch: pytest.MonkeyPatch, node: str) -> None:
    """Its turn ends as one of a node that hangs; another turn of the same loop is answered."""
    monkeypatch.setattr("graph.build.SECONDS_PER_NODE", BOUND)
    computes = Computes()
    held, other = await asyncio.gather(run(ports(**PORTS[node](computes))), run(ports()))
    assert (held["result"]["outcome"], held["error"]["node"]) == ("error", node)
    assert held["error"]["kind"] == "NodeTimeoutError"
    assert held["final_answer"]
    assert computes.ended >= 1
    assert other["result"]["outcome"] == "answered"
    assert (await run(ports()))["result"]["outcome"] == "answered"


async def test_a_task_of_a_group_that_never_yields_ends_by_the_bound() -> None:
    """What it is ended by comes out of the group in a group; another fault of a group stays as it is."""

    async def group_of(task: Callable[[], Any]) -> dict[str, Any]:
        async with asyncio.TaskGroup() as group:
            group.create_task(task())
        return {}

    async def fail() -> None:
        raise ValueError("a fault of its own")

    with pytest.raises(NodeTimeoutError, match="draft"):
        await within(2.0, "draft", group_of(Computes().draft))
    with pytest.raises(ExceptionGroup) as caught:
        await within(2.0, "draft", group_of(fail))
    assert caught.group_contains(ValueError)


async def test_work_that_yields_is_left_to_its_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that takes long and comes to its end in time is not disturbed, and neither is one that waits."""
    monkeypatch.setattr("graph.build.SECONDS_PER_NODE", 30.0)

    class Slow(FakeDrafter):
        async def draft(self, request: Any) -> Draft:
            sum(range(3_000_000))
            await asyncio.sleep(0.2)
            return await super().draft(request)

    values = await run(ports(drafter=Slow([Draft(DraftKind.ANSWER, ANSWER)])))
    assert values["result"]["outcome"] == "answered"


async def test_work_that_will_not_be_cancelled_is_left_behind() -> None:
    """A node ends by its bound, whatever an adapter makes of being cancelled."""
    goes_on = asyncio.Event()

    async def work() -> dict[str, Any]:
        while not goes_on.is_set():
            with suppress(asyncio.CancelledError):
                await goes_on.wait()
        return {}

    with pytest.raises(NodeTimeoutError, match="draft"):
        await asyncio.wait_for(within(0.1, "draft", work()), 5)
    goes_on.set()


async def test_a_turn_that_is_stopped_stops() -> None:
    """Cancelling goes through to the work."""
    hangs = asyncio.Event()
    cancelled: list[bool] = []

    async def work() -> dict[str, Any]:
        try:
            await hangs.wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise
        return {}

    task = asyncio.create_task(within(30.0, "draft", work()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cancelled == [True]
