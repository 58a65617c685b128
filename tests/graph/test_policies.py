"""What the graph does when a node hangs, fails once, or fails for good."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from adapters.fakes.drafting import FakeDrafter
from adapters.fakes.moderation import FakeModerator
from adapters.fakes.planning import FakePlanner
from adapters.fakes.sources import FakeSource
from contracts.context import STEPS_PER_TURN, Context
from contracts.enums import DraftKind, Source
from contracts.errors import ConfigError, DraftingFailed, PlanningFailed, SourceUnavailable
from contracts.ports import Draft
from graph.build import Ports, build_graph
from graph.policies import SECONDS_PER_NODE, TRY_AGAIN
from tests.support.timed import LOADED
from tests.support.turn import ANSWER, PROFILE, SAFE, passage, plan

QUESTIONS = {"en": "When does the kettle boil?", "ru": "Когда закипит чайник?"}
RIGHT = Draft(DraftKind.ANSWER, ANSWER)


def ports(**changes: Any) -> Ports:
    bound: dict[str, Any] = {
        "moderator": FakeModerator(SAFE),
        "planner": FakePlanner([plan()]),
        "sources": {Source.DOC: FakeSource(Source.DOC, [passage(1), passage(2)])},
        "drafter": FakeDrafter([RIGHT]),
    }
    return Ports(**{**bound, **changes})


async def run(with_ports: Ports, text: str = QUESTIONS["en"]) -> Any:
    graph = build_graph(with_ports, PROFILE)
    start: Any = {"messages": [HumanMessage(text, id="q")]}
    return await graph.ainvoke(start, {"recursion_limit": STEPS_PER_TURN}, context=Context())


class Hangs:
    """Every port at once; none ever answers."""

    kind = Source.DOC

    def __init__(self) -> None:
        self.cancelled = 0

    async def _for_ever(self, *_: object) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled += 1

    moderate = plan = search = draft = _for_ever


PORTS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "moderation": lambda port: {"moderator": port},
    "sgr_plan": lambda port: {"planner": port},
    "retrieve": lambda port: {"sources": {Source.DOC: port}},
    "draft": lambda port: {"drafter": port},
}


@pytest.mark.parametrize("language", QUESTIONS)
@pytest.mark.parametrize("node", PORTS)
async def test_a_port_that_hangs_is_ended_by_the_nodes_timeout(
    monkeypatch: pytest.MonkeyPatch, node: str, language: str
) -> None:
    """The turn ends soon after the limit, the call is cancelled, and the user is told in his language."""
    await run(ports(), QUESTIONS[language])  # what is imported by a first turn is nobody's time
    monkeypatch.setattr("graph.build.SECONDS_PER_NODE", 0.1)
    hangs = Hangs()
    began = time.monotonic()
    values = await run(ports(**PORTS[node](hangs)), QUESTIONS[language])
    assert time.monotonic() - began < LOADED
    assert (values["result"]["outcome"], values["result"]["language"]) == ("error", language)
    assert values["error"]["node"] == node
    assert values["error"]["kind"] == "NodeTimeoutError"
    assert hangs.cancelled == 1


async def test_a_node_waits_for_a_slow_model_as_long_as_its_settings_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of a node follows from its slowest port: a model that may take minutes is waited for."""

    class Slow(FakeDrafter):
        async def draft(self, request: Any) -> Draft:
            await asyncio.sleep(0.5)
            return await super().draft(request)

    await run(ports(), QUESTIONS["en"])
    monkeypatch.setattr("graph.build.SECONDS_PER_NODE", 0.1)
    values = await run(ports(drafter=Slow([RIGHT]), slowest_s=LOADED))
    assert values["result"]["outcome"] == "answered"


@pytest.mark.parametrize(
    ("node", "changes"),
    [
        ("sgr_plan", lambda: {"planner": FakePlanner([PlanningFailed("Down."), plan()])}),
        ("draft", lambda: {"drafter": FakeDrafter([DraftingFailed("Down."), RIGHT])}),
    ],
)
async def test_a_port_that_fails_once_is_tried_again(node: str, changes: Callable[[], dict[str, Any]]) -> None:
    """One failure of the outside costs a moment, not the turn."""
    made = changes()
    values = await run(ports(**made))
    assert values["result"]["outcome"] == "answered"
    assert [len(port.requests) for port in made.values()] == [2], node


@pytest.mark.parametrize("language", QUESTIONS)
@pytest.mark.parametrize(
    ("node", "changes"),
    [
        ("sgr_plan", lambda: {"planner": FakePlanner([PlanningFailed("Down.", "Start it.")])}),
        ("draft", lambda: {"drafter": FakeDrafter([DraftingFailed("Down.", "Start it.")])}),
    ],
)
async def test_a_port_that_fails_twice_ends_the_turn(
    node: str, changes: Callable[[], dict[str, Any]], language: str
) -> None:
    """Two failures are enough: the turn ends in safe_exit with outcome error, in the user's language."""
    made = changes()
    values = await run(ports(**made), QUESTIONS[language])
    assert [len(port.requests) for port in made.values()] == [2]
    assert (values["result"]["outcome"], values["result"]["language"]) == ("error", language)
    assert values["result"]["block_reason"] == f"error_in_{node}"
    assert values["error"]["message"] == "Down. Start it."
    assert ("Something went wrong" in values["final_answer"]) == (language == "en")
    assert ("произошёл сбой" in values["final_answer"]) == (language == "ru")


async def test_a_source_that_is_down_costs_its_evidence_not_the_turn() -> None:
    """A source that cannot be asked is a degraded part: the turn goes on and does not pretend."""
    values = await run(ports(sources={Source.DOC: FakeSource(Source.DOC, SourceUnavailable("Away."))}))
    assert values["result"]["outcome"] == "handed_off"
    assert values["guardian"]["reasons"][0] == "could_not_check=[doc]"
    assert values["guardian"]["required_actions"] == ["ESCALATE_TO_HUMAN"]
    assert values["result"]["diagnostics"]["degraded"] == ["doc: Away."]


async def test_errors_of_our_own_are_not_tried_again() -> None:
    """A wrong setting fails alike the second time, so it fails once."""

    class Misconfigured(FakePlanner):
        async def plan(self, request: Any) -> Any:
            self.requests.append(request)
            raise ConfigError("No such model.", "Name another.")

    planner = Misconfigured([])
    values = await run(ports(planner=planner))
    assert len(planner.requests) == 1
    assert values["error"]["message"] == "No such model. Name another."


def test_the_longest_turn_fits_into_the_recursion_limit() -> None:
    """Three steps, six rounds of four, and the end: what five retries need is allowed, and little more."""
    assert 3 + 6 * 4 + 1 <= STEPS_PER_TURN <= 4 * (3 + 6 * 4 + 1)
    assert TRY_AGAIN.max_attempts == 2
    assert 10 <= SECONDS_PER_NODE <= 600
