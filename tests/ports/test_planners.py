from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from adapters.fakes.planning import FakePlanner
from adapters.planning.offline import OfflinePlanner
from contracts.enums import Language
from contracts.errors import PlanningFailed
from contracts.ports import Planner, PlanReply, PlanRequest
from language.clean import clean
from tests.support.examples import examples
from tests.support.ports.planner_conformance import TEXTS, PlannerConformance, check, requests
from tests.support.ports.probes import BrokenProbe, Probe
from tests.support.turn import PROFILE, plan
from tests.support.wire.models import bench
from tests.support.wire.server_process import FakeServer, fake_server

ASKED = PlanRequest("How?", Language.EN)


@pytest.fixture(scope="module")
def running() -> Iterator[FakeServer]:
    with fake_server() as server:
        yield server


@pytest.fixture
def server(running: FakeServer) -> FakeServer:
    """The scripted server without a script, and nothing asked yet."""
    running.reset()
    return running


class TestOffline(PlannerConformance):
    def planner(self) -> Planner:
        return OfflinePlanner(Probe(), PROFILE)

    async def test_a_planner_that_cannot_plan_says_so(self) -> None:
        """This one always can: an index that is away is named, and does not make a question off topic or unclear."""
        reply = await OfflinePlanner(BrokenProbe(), PROFILE).plan(PlanRequest("How do I install it?", Language.EN))
        check(reply)
        assert (reply.plan.action, reply.plan.spam_score, reply.plan.intent_confidence) == ("normal", 0.2, 0.8)
        assert reply.degraded == (
            "plan: it was not asked how far the message is on topic. The index is away. Index again.",
        )


class TestOfflineOffTopic(TestOffline):
    def planner(self) -> Planner:
        return OfflinePlanner(Probe(0.0), PROFILE)


class TestFake(PlannerConformance):
    def planner(self) -> Planner:
        return FakePlanner([plan()])

    def broken(self) -> Planner:
        return FakePlanner([PlanningFailed("The planner is away.")])


class OnServer:
    """A model's planner or drafter on a scripted server, opened anew for each request: each has a loop of its own."""

    def __init__(self, server: FakeServer, **changes: Any) -> None:
        self._server = server
        self._changes = changes

    async def plan(self, request: PlanRequest) -> PlanReply:
        async with bench(self._server) as made:
            return await made.planner(**self._changes).plan(request)


class TestModel(PlannerConformance):
    """The model's planner, asking a strict server that plays a model which behaves."""

    @pytest.fixture(autouse=True)
    def _on(self, server: FakeServer) -> None:
        server.options(strict=True)
        self.server = server

    def planner(self) -> Planner:
        return OnServer(self.server)

    def broken(self) -> Planner:
        self.server.script([{"reply": {"status": 503}}])
        return OnServer(self.server, otherwise=FakePlanner([PlanningFailed("The planner is away.")]))

    @pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if text.strip()])
    async def test_the_model_itself_has_planned_an_odd_message(self, name: str) -> None:
        """No text of a user is an obstacle between the model and its plan."""
        reply = await self.planner().plan(PlanRequest(TEXTS[name], Language.RU))
        assert reply.degraded == ()
        assert len(reply.calls) == 1


class TestModelThatCannot(TestModel):
    """The same with a model that only chats: the offline plan stands in."""

    def planner(self) -> Planner:
        self.server.script([{"reply": {"text": "Nice to meet you!"}}])
        return OnServer(self.server)

    @pytest.mark.parametrize("name", ["empty"])
    async def test_the_model_itself_has_planned_an_odd_message(self, name: str) -> None:
        """It has not, and it is said."""
        reply = await self.planner().plan(PlanRequest("How?", Language.RU))
        assert reply.degraded
        check(reply)


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


@given(asked=requests)
@examples(0.4)
async def test_any_message_is_planned_by_a_model(server: FakeServer, asked: PlanRequest) -> None:
    """Whatever a user writes, after whatever conversation, a strict server takes the request and its plan is used."""
    server.options(strict=True)
    cleaned = replace(asked, message=clean(asked.message))
    reply = await OnServer(server).plan(cleaned)
    check(reply)
    assert reply.degraded == ()
