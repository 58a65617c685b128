"""What every planner does, whoever fills the plan: a suite that each adapter and the fake run.

A test module subclasses `PlannerConformance` and gives it a planner, and one that cannot plan.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import strategies as st

from contracts.enums import Language, ModerationState, SafetyLevel
from contracts.errors import PortError
from contracts.plan import SGRPlanResult
from contracts.ports import Exchange, Planner, PlanReply, PlanRequest
from contracts.report import ModerationResult
from tests.support.ports.moderator_conformance import ODD_TEXTS

TEXTS = {name: text for name, text in ODD_TEXTS.items() if "surrogate" not in name}
"""Messages reach a planner cleaned: without lone surrogates, which no encoder takes."""


requests = st.builds(
    PlanRequest,
    message=st.text(),
    language=st.sampled_from(Language),
    history=st.lists(st.builds(Exchange, st.sampled_from(["user", "assistant"]), st.text(max_size=30)), max_size=3).map(
        tuple
    ),
    clarifications=st.integers(0, 4),
)
"""Any message after any conversation, with any number of questions asked back."""


def check(reply: PlanReply) -> None:
    """Fail where a reply is no valid plan that can be stored."""
    plan = reply.plan
    assert SGRPlanResult.model_validate(json.loads(plan.model_dump_json())) == plan
    assert 1 <= len(plan.subqueries) <= 10
    assert len(set(plan.subqueries)) == len(plan.subqueries)
    assert json.loads(json.dumps(reply.trace)) == reply.trace
    assert all(reply.degraded)


class PlannerConformance:
    """Subclasses define two methods: `planner`, and `broken`, a planner that cannot plan."""

    def planner(self) -> Planner:
        raise NotImplementedError

    def broken(self) -> Planner:
        raise NotImplementedError

    @pytest.mark.parametrize("language", Language)
    @pytest.mark.parametrize("text", ["How do I install it?", "Как его установить?", "Hello!", "It does not work"])
    async def test_a_message_has_a_valid_plan(self, text: str, language: Language) -> None:
        """The plan keeps every bound, has one to ten different sub-queries, and leaves a trace of plain data."""
        check(await self.planner().plan(PlanRequest(text, language)))

    @pytest.mark.parametrize("name", TEXTS)
    async def test_an_odd_message_has_a_valid_plan(self, name: str) -> None:
        """Whatever a user writes is planned: no text makes a planner raise."""
        check(await self.planner().plan(PlanRequest(TEXTS[name], Language.RU)))

    async def test_the_same_request_has_the_same_plan(self) -> None:
        """A turn that is run again after a crash is planned as before."""
        request = PlanRequest("How do I install it, and how do I start it?", Language.EN)
        assert await self.planner().plan(request) == await self.planner().plan(request)
        planner = self.planner()
        assert await planner.plan(request) == await planner.plan(request)

    @pytest.mark.parametrize("level", SafetyLevel)
    async def test_moderation_is_no_obstacle(self, level: SafetyLevel) -> None:
        """Whatever moderation said, there is a plan; what it leads to is a table's business."""
        unknown = level is SafetyLevel.NOT_AVAILABLE
        state = ModerationState.UNAVAILABLE if unknown else ModerationState(level.value)
        moderation = ModerationResult(safety_level=level, state=state)
        check(await self.planner().plan(PlanRequest("How?", Language.EN, moderation=moderation)))

    async def test_a_planner_that_cannot_plan_says_so(self) -> None:
        """It raises an error of the port, with a message for people."""
        with pytest.raises(PortError) as caught:
            await self.broken().plan(PlanRequest("How do I install it?", Language.EN))
        assert caught.value.message
