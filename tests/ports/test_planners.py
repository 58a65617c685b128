from __future__ import annotations

import pytest
from hypothesis import given

from adapters.fakes.planning import FakePlanner
from adapters.planning.offline import OfflinePlanner
from contracts.errors import PlanningFailed, SourceUnavailable
from contracts.ports import Planner, PlanRequest
from contracts.values import Language
from tests.nodes.turn import PROFILE, plan
from tests.ports.planner_conformance import PlannerConformance, check, requests

ASKED = PlanRequest("How?", Language.EN)


class Probe:
    """Says of every text what it was told to say."""

    def __init__(self, topic: float = 0.8) -> None:
        self.topic = topic
        self.texts: list[str] = []

    async def on_topic(self, text: str) -> float:
        self.texts.append(text)
        return self.topic


class BrokenProbe:
    async def on_topic(self, text: str) -> float:
        raise SourceUnavailable("The index is away.", "Index again.")


class TestOffline(PlannerConformance):
    def planner(self) -> Planner:
        return OfflinePlanner(Probe(), PROFILE)

    def broken(self) -> Planner:
        return OfflinePlanner(BrokenProbe(), PROFILE)


class TestOfflineOffTopic(TestOffline):
    def planner(self) -> Planner:
        return OfflinePlanner(Probe(0.0), PROFILE)


class TestFake(PlannerConformance):
    def planner(self) -> Planner:
        return FakePlanner([plan()])

    def broken(self) -> Planner:
        return FakePlanner([PlanningFailed("The planner is away.")])


PLANNERS = {"offline": TestOffline, "offline, off topic": TestOfflineOffTopic, "fake": TestFake}


@pytest.mark.parametrize("name", PLANNERS)
@given(asked=requests)
async def test_any_message_has_a_valid_plan(name: str, asked: PlanRequest) -> None:
    """No message makes a planner raise, and no plan breaks a bound."""
    check(await PLANNERS[name]().planner().plan(asked))


async def test_a_fake_returns_its_plans_in_turn_and_the_last_one_for_ever() -> None:
    """A script of plans and errors is played in order, and each request is remembered."""
    one, two = plan(spam_score=0.1), plan(spam_score=0.2)
    fake = FakePlanner([one, PlanningFailed("Away."), two])
    assert (await fake.plan(ASKED)).plan == one
    with pytest.raises(PlanningFailed, match="Away"):
        await fake.plan(ASKED)
    assert [(await fake.plan(ASKED)).plan for _ in range(3)] == [two, two, two]
    assert fake.requests == [ASKED] * 5


async def test_a_fake_without_plans_says_so() -> None:
    """An empty script is an error of the port, not a crash."""
    with pytest.raises(PlanningFailed, match="no plan"):
        await FakePlanner([]).plan(ASKED)
