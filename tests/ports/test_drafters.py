from __future__ import annotations

import pytest

from adapters.drafting.extractive import ExtractiveDrafter
from adapters.fakes.drafting import FakeDrafter
from contracts.errors import DraftingFailed
from contracts.ports import Draft, Drafter
from contracts.values import DraftKind
from tests.ports.drafter_conformance import REQUEST, DrafterConformance

ANSWER = Draft(DraftKind.ANSWER, "It boils [1].")


class TestFake(DrafterConformance):
    def drafter(self) -> Drafter:
        return FakeDrafter([ANSWER])

    def broken(self) -> Drafter:
        return FakeDrafter([DraftingFailed("The drafter is away.")])


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
