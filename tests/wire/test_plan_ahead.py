from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from adapters.fakes.planning import FakePlanner
from adapters.planning.speculative import THROWN_AWAY, PlanAhead
from contracts.calls import ModelCall
from contracts.enums import CallPurpose, HarmCategory, Language, ModerationState, SafetyLevel
from contracts.errors import PlanningFailed
from contracts.ports import Exchange, PlanReply, PlanRequest
from contracts.report import ModerationResult
from tests.support.turn import PROFILE, begin_turn, call, plan
from tests.support.wire.models import ASKED, MODEL, asked_of, bench
from tests.support.wire.moderator_faults import wait_until_asked
from tests.support.wire.server_process import FakeServer

SAFE = ModerationResult(safety_level=SafetyLevel.SAFE, state=ModerationState.SAFE)
DOUBTFUL = ModerationResult(
    safety_level=SafetyLevel.CONTROVERSIAL, state=ModerationState.CONTROVERSIAL, categories=[HarmCategory.PII]
)
BEGUN = replace(ASKED, moderation=SAFE)


@pytest.fixture(autouse=True)
async def no_task_is_left() -> AsyncIterator[None]:
    """Fail where a test leaves a task behind, or one was lost with nobody to wait for it."""
    lost: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: lost.append(context["message"]))
    before = asyncio.all_tasks()
    yield
    left = asyncio.all_tasks() - before
    for _ in range(200):
        left = asyncio.all_tasks() - before - {asyncio.current_task()}
        if not left:
            break
        await asyncio.sleep(0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gc.collect()
    assert (left, lost) == (set(), [])


class Slow(FakePlanner):
    """A fake planner that waits until it is told to go on."""

    def __init__(self, *plans: Any) -> None:
        super().__init__(plans or [plan()])
        self.go_on = asyncio.Event()
        self.cancelled = 0

    async def plan(self, request: PlanRequest) -> PlanReply:
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return await super().plan(request)


def ahead_of(planner: Any) -> PlanAhead:
    return PlanAhead(planner, MODEL, "here")


async def gone(server: FakeServer, place: int = 0) -> bool:
    """Return whether the server sees, in a moment, that nobody waits for a request any more."""
    for _ in range(300):
        requests = server.requests()
        if len(requests) > place and requests[place]["replied"] == "gone":
            return True
        await asyncio.sleep(0.01)
    return False


async def test_a_safe_message_is_planned_once(server: FakeServer) -> None:
    """The begun plan is the plan: one request, begun before moderation has spoken."""
    async with bench(server) as made:
        ahead = ahead_of(made.planner())
        ahead.begin(BEGUN)
        await asyncio.to_thread(wait_until_asked, server)
        reply = await ahead.plan(
            replace(BEGUN, moderation=SAFE.model_copy(update={"provider": "rules", "raw_output": "x"}))
        )
    assert len(asked_of(server)) == 1
    assert [each.fault for each in reply.calls] == [""]
    assert not reply.degraded


async def test_a_plan_begun_ahead_is_the_plan_made_after(server: FakeServer) -> None:
    """Planning ahead changes when a model is asked, not what: the same request, the same plan."""
    async with bench(server) as made:
        ahead = ahead_of(made.planner())
        ahead.begin(BEGUN)
        early = await ahead.plan(BEGUN)
        late = await made.planner().plan(BEGUN)
    first, second = asked_of(server)
    assert first == second
    assert early == late


@pytest.mark.parametrize(
    "moderation",
    [None, DOUBTFUL, ModerationResult(safety_level=SafetyLevel.NOT_AVAILABLE, state=ModerationState.UNAVAILABLE)],
)
async def test_a_message_that_is_not_safe_is_planned_again(
    server: FakeServer, moderation: ModerationResult | None
) -> None:
    """With what moderation found; the plan that took it for safe is thrown away, and its cost is told."""
    server.script([{"times": 1, "reply": {"hang": True}}])
    async with bench(server) as made:
        ahead = ahead_of(made.planner())
        ahead.begin(BEGUN)
        await asyncio.to_thread(wait_until_asked, server)
        reply = await ahead.plan(replace(ASKED, moderation=moderation))
        assert await gone(server)
    first, second = asked_of(server)
    level = moderation.safety_level if moderation else SafetyLevel.NOT_AVAILABLE
    assert "Level: Safe\n" in first["messages"][0]["content"]
    assert f"Level: {level}\n" in second["messages"][0]["content"]
    assert [each.fault for each in reply.calls] == [THROWN_AWAY, ""]


async def test_a_blocked_message_takes_its_request_back(server: FakeServer) -> None:
    """The server sees that nobody waits, and the record says that a request was thrown away."""
    server.script([{"reply": {"hang": True}}])
    async with bench(server) as made:
        ahead = ahead_of(made.planner())
        ahead.begin(BEGUN)
        await asyncio.to_thread(wait_until_asked, server)
        (made_,) = ahead.drop(BEGUN.turn_id)
        assert await gone(server)
    assert (made_.purpose, made_.model, made_.server, made_.fault) == (CallPurpose.PLAN, MODEL, "here", THROWN_AWAY)
    assert ahead.drop(BEGUN.turn_id) == ()


async def test_a_plan_that_was_ready_is_thrown_away_with_its_true_cost(server: FakeServer) -> None:
    """What was answered before moderation blocked has cost tokens, and they are told."""
    async with bench(server) as made:
        ahead = ahead_of(made.planner())
        ahead.begin(BEGUN)
        await asyncio.sleep(0.3)
        (made_,) = ahead.drop(BEGUN.turn_id)
    assert made_.prompt_tokens
    assert made_.fault == ""


async def test_a_plan_that_had_failed_is_thrown_away_with_its_true_cost() -> None:
    """The same holds for requests that ended in nothing."""
    calls = (ModelCall(purpose=CallPurpose.PLAN, model=MODEL, server="here", fault="busy", http_status=429),)
    ahead = ahead_of(FakePlanner([PlanningFailed("Away.", calls=calls)]))
    ahead.begin(BEGUN)
    await asyncio.sleep(0)
    assert ahead.drop(BEGUN.turn_id) == calls


async def test_what_was_never_begun_is_planned_now() -> None:
    """A turn that nobody planned ahead is planned as without this."""
    fake = FakePlanner([plan()])
    reply = await ahead_of(fake).plan(BEGUN)
    assert (reply.plan, fake.requests, reply.calls) == (plan(), [BEGUN], ())
    assert ahead_of(fake).drop("nobody") == ()


@pytest.mark.parametrize(
    "change",
    [{"message": "Another?"}, {"history": (Exchange("user", "x"),)}, {"clarifications": 1}, {"language": Language.RU}],
)
async def test_a_plan_for_anything_else_is_not_used(change: dict[str, Any]) -> None:
    """Only the same message in the same conversation has the begun plan."""
    fake = FakePlanner([plan(user_intent="AHEAD"), plan(user_intent="NOW")])
    ahead = ahead_of(fake)
    ahead.begin(BEGUN)
    await asyncio.sleep(0)
    assert (await ahead.plan(replace(BEGUN, **change))).plan.user_intent == "NOW"


async def test_two_turns_at_once_are_not_mixed(server: FakeServer) -> None:
    """Each has the plan of its own message, whichever was begun or asked for first."""
    async with bench(server) as made:
        ahead = ahead_of(made.planner())
        turns = [replace(BEGUN, message=f"What is kettle {n}?", turn_id=f"turn-{n}") for n in range(6)]
        for turn in turns:
            ahead.begin(turn)
        ahead.drop("turn-0")
        replies = await asyncio.gather(*(ahead.plan(turn) for turn in reversed(turns[1:])))
    assert [reply.plan.subqueries for reply in reversed(replies)] == [[turn.message] for turn in turns[1:]]


async def test_a_turn_that_is_begun_again_has_one_plan() -> None:
    """A node that is run again begins again: the first plan is thrown away."""
    slow = Slow()
    ahead = ahead_of(slow)
    ahead.begin(BEGUN)
    await asyncio.sleep(0)
    ahead.begin(BEGUN)
    slow.go_on.set()
    await ahead.plan(BEGUN)
    assert (len(slow.requests), slow.cancelled) == (1, 1)


async def test_a_turn_that_is_begun_again_while_it_is_waited_for_raises_nothing_of_its_own() -> None:
    """Who waited is told that the plan is gone; the plan that was begun last is there for who asks next."""
    slow = Slow()
    ahead = ahead_of(slow)
    ahead.begin(BEGUN)
    waiting = asyncio.create_task(ahead.plan(BEGUN))
    await asyncio.sleep(0)
    ahead.begin(BEGUN)
    with pytest.raises(asyncio.CancelledError):
        await waiting
    slow.go_on.set()
    await ahead.plan(BEGUN)
    await asyncio.sleep(0.01)
    assert len(slow.requests) == 1


async def test_an_error_of_the_planner_is_the_turns() -> None:
    """It comes where the plan is asked for, not before, and the next turn begins anew."""
    ahead = ahead_of(FakePlanner([PlanningFailed("Away."), plan()]))
    ahead.begin(BEGUN)
    await asyncio.sleep(0)
    with pytest.raises(PlanningFailed, match="Away"):
        await ahead.plan(BEGUN)
    assert (await ahead.plan(BEGUN)).plan == plan()


async def test_an_error_that_nobody_waits_for_is_no_noise() -> None:
    """A begun plan that failed, and whose message was then blocked, is reported nowhere."""
    ahead = ahead_of(FakePlanner([PlanningFailed("Away.")]))
    ahead.begin(BEGUN)
    await asyncio.sleep(0)
    ahead.drop(BEGUN.turn_id)


async def test_a_turn_that_is_ended_ends_its_plan() -> None:
    """Who is cancelled while waiting for the plan takes the request back."""
    slow = Slow()
    ahead = ahead_of(slow)
    ahead.begin(BEGUN)
    waiting = asyncio.create_task(ahead.plan(BEGUN))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert slow.cancelled == 1
    assert ahead.drop(BEGUN.turn_id) == ()


class Broken:
    """A moderator that hangs until it is told to fail."""

    def __init__(self) -> None:
        self.fail = asyncio.Event()

    async def moderate(self, text: str) -> ModerationResult:
        await self.fail.wait()
        raise RuntimeError("a bug of a moderator")


@pytest.mark.parametrize("ends", ["cancelled", "failed"])
async def test_a_turn_that_ends_in_moderation_ends_its_plan(ends: str) -> None:
    """Where moderation itself is ended or breaks, nobody will ask for the plan, so its request is taken back."""
    slow, moderator = Slow(), Broken()
    bound = {"moderator": moderator, "ahead": ahead_of(slow), "profile": PROFILE}
    node = asyncio.create_task(call("moderation", begin_turn(), bound))
    await asyncio.sleep(0.01)
    if ends == "cancelled":
        node.cancel()
    else:
        moderator.fail.set()
    with pytest.raises(asyncio.CancelledError if ends == "cancelled" else RuntimeError):
        await node
    await asyncio.sleep(0.01)
    assert slow.cancelled == 1
