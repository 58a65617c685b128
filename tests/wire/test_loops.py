"""A reply that repeats itself is known as such, and the model is not asked a second time for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.models.loops import is_looping
from contracts.enums import DraftKind, FaultKind
from contracts.plan import PLAN_TOOL
from tests.support.wire.models import ASKED, DRAFTED, OFFLINE, asked_of, bench
from tests.support.wire.server_process import FakeServer

LINE = "The kettle boils at 100 degrees, so the kettle is a kettle. "


@given(
    st.lists(st.text("abcdefg", min_size=1, max_size=6), min_size=1, max_size=40),
    st.integers(0, 30),
    st.sampled_from(["", "Ein Anfang. ", "Чайник кипит. "]),
)
def test_words_that_repeat_to_the_end_are_a_loop_wherever_the_last_one_is_cut(
    words: list[str], cut: int, before: str
) -> None:
    """Of any passage up to 40 words, in a reply of any beginning."""
    passage = " ".join(words) + " "
    times = 5 + 40 // len(words)
    text = before + passage * times
    assert is_looping(text[: len(text) - min(cut, len(passage))].rstrip())


@given(st.lists(st.text("abcdefg", min_size=1, max_size=6), min_size=1, max_size=40), st.floats(0.5, 5))
def test_a_text_that_is_nothing_but_a_passage_is_judged_at_any_length(words: list[str], times: float) -> None:
    """However short: fewer than four repeats, or 36 words, are no loop."""
    text = " ".join(words * 5)[: int(len(" ".join(words)) * times)]
    assert not is_looping(text) or len(text.split()) >= 36


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Yes. No. " * 17,
        LINE * 2,
        "yes, yes, yes",
        "| a | b |\n| --- | --- |\n" + "| no | no |\n" * 8,
        "1. Open it.\n2. Close it.\n3. Open it.\n4. Close it.",
    ],
)
def test_what_repeats_a_little_is_no_loop(text: str) -> None:
    """Cells of a table and steps of a list may be equal."""
    assert not is_looping(text)


def test_no_page_of_the_handbook_is_a_loop_wherever_it_ends(root: Path) -> None:
    """What people write never repeats itself like that, at the end of none of its lines."""
    for page in sorted((root / "knowledge").glob("*/*.md")):
        lines = page.read_text("utf-8").splitlines(keepends=True)
        for end in range(0, len(lines), 3):
            assert not is_looping("".join(lines[max(0, end - 40) : end])), (page, end)


@pytest.mark.parametrize("finish", ["length", "stop"])
async def test_a_draft_that_loops_is_quoted_instead_after_one_request(server: FakeServer, finish: str) -> None:
    """Asked again with more tokens, the model would go on the same: its time is saved, and the record says why."""
    server.script([{"reply": {"text": f"NO: {LINE * 12}", "finish_reason": finish}}])
    async with bench(server) as made:
        draft = await made.drafter().draft(DRAFTED)
    assert len(asked_of(server)) == 1
    assert (draft.kind, draft.quoted) == (DraftKind.ANSWER, True)
    assert [call.fault for call in draft.calls] == [FaultKind.LOOPED]
    assert "its reply repeats itself" in draft.degraded[0]
    assert "frequency_penalty" in draft.degraded[0]


@pytest.mark.parametrize("way", ["call", "text"])
async def test_a_plan_that_loops_is_made_without_the_model_after_one_request(server: FakeServer, way: str) -> None:
    """No other way of asking is tried: a model that loops fills in no form."""
    looped = json.dumps({"user_intent": LINE * 12})[:-20]
    reply = {"call": {"name": PLAN_TOOL, "arguments": looped}} if way == "call" else {"text": looped}
    server.script([{"reply": {**reply, "finish_reason": "length"}}])
    async with bench(server) as made:
        reply = await made.planner().plan(ASKED)
    assert len(asked_of(server)) == 1
    assert reply.plan == OFFLINE
    assert "its reply repeats itself" in reply.degraded[0]
