"""The entailment checkers that ship, and the fake that stands for them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from typing import Any, cast

import pytest

from adapters.fakes.entailment import FakeEntailment
from contracts.calls import ModelCall
from contracts.enums import CallPurpose, Entailment
from contracts.errors import EntailmentUnavailable
from contracts.ports import EntailmentAnswer, EntailmentChecker, EntailmentQuestion, EntailmentReply
from tests.support.checkers import SHAPES, checker_of
from tests.support.ports.entailment_conformance import PLAIN, RULES, Conformance
from tests.support.wire.server_process import FakeServer, fake_server

DOWN = EntailmentUnavailable("The checker is down.", "Start it.")
YES = EntailmentAnswer(Entailment.ENTAILED, 0.9)
PLAN_CALL = ModelCall(purpose=CallPurpose.PLAN, model="x", server="x")
CHECKERS: dict[str, Callable[[], EntailmentChecker]] = {
    "fake that agrees": FakeEntailment,
    "fake that objects": lambda: FakeEntailment({"tin": Entailment.CONTRADICTED}, otherwise=None),
    "fake that is down": lambda: FakeEntailment(error=DOWN),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("name", CHECKERS)
async def test_every_checker_keeps_every_rule_of_its_port(name: str, rule: Conformance) -> None:
    """A checker keeps the rule that the function states."""
    await rule(CHECKERS[name]())


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with fake_server() as server:
        yield server


@pytest.fixture(params=SHAPES)
async def remote(request: pytest.FixtureRequest, server: FakeServer) -> AsyncGenerator[EntailmentChecker]:
    async with checker_of(request.param, server) as checker:
        yield checker


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
async def test_a_remote_checker_keeps_every_rule_of_its_port(remote: EntailmentChecker, rule: Conformance) -> None:
    """A checker that asks a server keeps the rule that the function states, over a real socket."""
    await rule(remote)


class _Broken:
    """A checker that breaks one rule of the port."""

    def __init__(self, reply: Callable[[int, Sequence[EntailmentQuestion]], EntailmentReply]) -> None:
        self._reply = reply
        self._calls = 0

    async def check(self, questions: Sequence[EntailmentQuestion]) -> EntailmentReply:
        self._calls += 1
        return self._reply(self._calls, questions)


def _crash(_: int, __: Sequence[EntailmentQuestion]) -> EntailmentReply:
    raise KeyError("entailment")


@pytest.mark.parametrize(
    ("broken", "error"),
    [
        (lambda _, asked: EntailmentReply((YES,) * (len(asked) > 1)), AssertionError),
        (lambda _, asked: EntailmentReply((EntailmentAnswer(Entailment.NEUTRAL, 90),) * len(asked)), AssertionError),
        (
            lambda _, asked: EntailmentReply((EntailmentAnswer(cast("Any", "entailed"), 1),) * len(asked)),
            AssertionError,
        ),
        (lambda _, asked: EntailmentReply((YES,) * max(1, len(asked))), AssertionError),
        (lambda calls, asked: EntailmentReply((YES if calls % 2 else None,) * len(asked)), AssertionError),
        (lambda _, asked: EntailmentReply((YES,) * len(asked), (PLAN_CALL,)), AssertionError),
        (_crash, KeyError),
    ],
    ids=["drops answers", "per cent", "a bare word", "answers nothing", "wavers", "accounts", "crashes"],
)
async def test_the_suite_finds_a_checker_that_breaks_a_rule(
    broken: Callable[[int, Sequence[EntailmentQuestion]], EntailmentReply], error: type[Exception]
) -> None:
    """A checker that breaks one rule of the port fails at least one function of the suite."""

    async def run_all() -> None:
        for rule in RULES:
            await rule(_Broken(broken))

    with pytest.raises(error):
        await run_all()


async def test_the_fake_answers_by_what_a_claim_holds() -> None:
    """The first text of the script that a claim holds decides, and what was asked is kept."""
    fake = FakeEntailment({"tin": Entailment.CONTRADICTED, "brass": None})
    reply = await fake.check(PLAIN)
    assert [answer and answer.entailment for answer in reply.answers] == ["contradicted", None, "entailed"]
    assert fake.seen == [PLAIN]
