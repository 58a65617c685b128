from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from adapters.drafting.extractive import ExtractiveDrafter
from adapters.fakes.drafting import FakeDrafter
from contracts.enums import DraftKind
from contracts.errors import DraftingFailed
from contracts.ports import Draft, Drafter, DraftRequest, Exchange
from tests.support.ports.drafter_conformance import REQUEST, DrafterConformance, check
from tests.support.ports.planner_conformance import TEXTS
from tests.support.wire.models import bench
from tests.support.wire.server_process import FakeServer, fake_server

ANSWER = Draft(DraftKind.ANSWER, "It boils [1].")


class TestFake(DrafterConformance):
    def drafter(self) -> Drafter:
        return FakeDrafter([ANSWER])

    def broken(self) -> Drafter:
        return FakeDrafter([DraftingFailed("The drafter is away.")])


class OnServer:
    """A model's drafter on a scripted server, opened anew for each request: each has a loop of its own."""

    def __init__(self, server: FakeServer, **changes: Any) -> None:
        self._server = server
        self._changes = changes

    async def draft(self, request: DraftRequest) -> Draft:
        async with bench(self._server) as made:
            return await made.drafter(**self._changes).draft(request)


@pytest.fixture(scope="module")
def running() -> Iterator[FakeServer]:
    with fake_server() as server:
        yield server


class TestModel(DrafterConformance):
    """The model's drafter, asking a strict server that plays a model which behaves."""

    @pytest.fixture(autouse=True)
    def _on(self, running: FakeServer) -> None:
        running.reset()
        running.options(strict=True)
        self.server = running

    def drafter(self) -> Drafter:
        return OnServer(self.server)

    def broken(self) -> Drafter:
        self.server.script([{"reply": {"status": 503}}])
        return OnServer(self.server, otherwise=FakeDrafter([DraftingFailed("The drafter is away.")]))

    @pytest.mark.parametrize("name", TEXTS)
    async def test_odd_texts_are_no_obstacle(self, name: str) -> None:
        """Whatever stands in a question, in the evidence or in what was said, the request is taken and its draft used."""
        text = TEXTS[name]
        said = (Exchange("user", text), Exchange("assistant", text))
        evidence = (REQUEST.evidence[0].model_copy(update={"title": text, "heading": text}), REQUEST.evidence[1])
        request = replace(REQUEST, question=text, intent=text, synthetic=text, history=said, evidence=evidence)
        draft = await self.drafter().draft(request)
        check(draft, request)
        assert draft.degraded == ()


class TestModelThatCannot(TestModel):
    """The same with a model that says nothing: the evidence is quoted."""

    def drafter(self) -> Drafter:
        self.server.script([{"reply": {"text": ""}}])
        return OnServer(self.server)

    @pytest.mark.parametrize("name", ["empty"])
    async def test_odd_texts_are_no_obstacle(self, name: str) -> None:
        """They are no draft of the model's here, and it is said."""
        draft = await self.drafter().draft(REQUEST)
        check(draft, REQUEST)
        assert draft.degraded


class TestExtractive(DrafterConformance):
    def drafter(self) -> Drafter:
        return ExtractiveDrafter()

    def broken(self) -> Drafter:
        # The extractive drafter asks nobody, so it cannot be broken; the fake stands in.
        return FakeDrafter([])


async def test_a_fake_returns_its_drafts_in_turn_and_the_last_one_for_ever() -> None:
    """A script of drafts and errors is played in order, and each request is remembered."""
    fake = FakeDrafter([ANSWER, DraftingFailed("Away."), Draft(DraftKind.ABSTENTION, "Nothing.")])
    assert await fake.draft(REQUEST) == ANSWER
    with pytest.raises(DraftingFailed, match="Away"):
        await fake.draft(REQUEST)
    assert [(await fake.draft(REQUEST)).text for _ in range(2)] == ["Nothing.", "Nothing."]
    assert fake.requests == [REQUEST] * 4
