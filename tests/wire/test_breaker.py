"""A model that keeps missing its deadline is left alone for a while, and asked again."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from adapters.models.breaker import FIRST_REST_S, LONGEST_REST_S, MISSES, CircuitBreaker
from adapters.models.chat import Ask, ChatModel
from adapters.models.retries import deadline_in
from contracts.enums import CallPurpose, FaultKind
from contracts.errors import ServerFault
from tests.support.clock import SetClock
from tests.support.wire.models import asked_of, bench
from tests.support.wire.server_process import FakeServer


def miss(breaker: CircuitBreaker, times: int = 1) -> None:
    for _ in range(times):
        breaker.begin(5)
        breaker.settle(FaultKind.DEADLINE)


def refuses(breaker: CircuitBreaker) -> bool:
    """Begin a request, and tell whether it was refused."""
    try:
        breaker.begin(5)
    except ServerFault:
        return True
    return False


def test_deadlines_in_a_row_alone_open_the_circuit() -> None:
    """An answer between them, were it a refusal, says that the server is quick enough."""
    breaker = CircuitBreaker(SetClock())
    for ends in (None, FaultKind.BUSY, FaultKind.NOT_ALLOWED):
        miss(breaker, MISSES - 1)
        breaker.settle(ends)
    assert not refuses(breaker)
    miss(breaker, MISSES)
    assert refuses(breaker)


def test_each_rest_is_twice_as_long_up_to_a_bound() -> None:
    """After a rest one request goes through; if it misses its deadline too, the next rest is longer."""
    clock = SetClock()
    breaker = CircuitBreaker(clock)
    miss(breaker, MISSES - 1)
    rests: list[float] = []
    for _ in range(6):
        miss(breaker)
        rests.append(breaker.rests_s)
        clock.now += breaker.rests_s
    assert rests == [min(FIRST_REST_S * 2**turn, LONGEST_REST_S) for turn in range(6)]


def test_what_was_begun_before_a_rest_says_nothing_about_it() -> None:
    """Many requests at once that miss the same outage are one reason to rest, and none of them ends a later trial."""
    clock = SetClock()
    breaker = CircuitBreaker(clock)
    begun = [breaker.begin(60) for _ in range(8)]
    for mark in begun[:-1]:
        breaker.settle(FaultKind.DEADLINE, mark)
    assert breaker.rests_s == FIRST_REST_S
    clock.now += FIRST_REST_S
    trial = breaker.begin(60)
    breaker.settle(FaultKind.DEADLINE, begun[-1])
    assert breaker.rests_s == 60
    breaker.settle(FaultKind.DEADLINE, trial)
    assert breaker.rests_s == 2 * FIRST_REST_S


def test_a_trial_that_nobody_waits_for_lets_the_next_one_try() -> None:
    """A user who goes away in it does not keep the model from everybody for the length of its deadline."""
    clock = SetClock()
    breaker = CircuitBreaker(clock)
    miss(breaker, MISSES)
    clock.now += FIRST_REST_S
    breaker.let_go(breaker.begin(600))
    assert not refuses(breaker)


def test_a_moderator_is_asked_however_often_it_was_late() -> None:
    """Nothing stands in for it: each message is checked, or it is said that it was not."""
    breaker = CircuitBreaker(SetClock(), misses=0)
    miss(breaker, 20)
    assert not refuses(breaker)


def test_after_a_rest_one_request_goes_through_alone() -> None:
    """Others are refused while it runs; its answer lets everybody through, and its vanishing lets the next one try."""
    clock = SetClock()
    breaker = CircuitBreaker(clock)
    miss(breaker, MISSES)
    clock.now += FIRST_REST_S
    assert not refuses(breaker)
    assert refuses(breaker)
    clock.now += 5  # whoever asked went away
    assert not refuses(breaker)
    breaker.settle(None)
    assert not refuses(breaker)
    assert not refuses(breaker)


async def test_a_server_that_is_too_slow_is_not_asked_while_it_is_left_alone(server: FakeServer) -> None:
    """The refusal says how often it missed, when it is asked again and what to do; then it is asked and answers."""
    clock = SetClock()
    slow = {"times": MISSES, "reply": {"delay_headers_s": 600}}
    server.script([slow, {"reply": {"text": "Here I am."}}])
    async with bench(server, timeout_s=0.2) as made:
        model = ChatModel(made.access, CallPurpose.DRAFT, made.client, breaker=CircuitBreaker(clock))

        async def ask(seconds: float = 0.2) -> Any:
            return await model.ask(Ask([HumanMessage("q")], 100), deadline_in(seconds))

        for _ in range(MISSES):
            with pytest.raises(ServerFault) as caught:
                await ask()
            assert caught.value.kind is FaultKind.DEADLINE
        with pytest.raises(ServerFault) as caught:
            await ask()
        assert caught.value.kind is FaultKind.RESTING
        assert not caught.value.calls
        assert f"missed {MISSES} deadlines in a row and is asked again in 60 s" in caught.value.message
        assert "GUARDIAN_MODEL_TIMEOUT" in caught.value.way_out
        assert len(asked_of(server)) <= MISSES
        clock.now += FIRST_REST_S
        # On a busy machine a request may have ended before the server saw it.
        server.script([{"reply": {"text": "Here I am."}}])
        assert (await ask(20)).text == "Here I am."
