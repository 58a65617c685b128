"""The small form of a plan: words become figures, what is open is the offline plan's, and no doubt is taken away."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.planning.form import FilledPlan, InvalidPlan, flat_schema
from adapters.planning.prompt import small_prompt
from adapters.planning.small_form import (
    SPAM_SCORE,
    UNCLEAR_CONFIDENCE,
    RequestReading,
    offered_lookups,
    read_small,
    small_form,
)
from contracts.enums import SGRAction, Source
from contracts.lookups import LookupArgument, LookupCall
from contracts.plan import SGRPlanResult
from tests.support.database.tables import lookup
from tests.support.turn import PROFILE, plan

WRITTEN: dict[str, Any] = {
    "user_intent": "When it boils, the kettle.",
    "subqueries": ["kettle boils"],
    "request": "clear",
}
LOANS = lookup("SELECT 1 AS a")
OF_A_SHELF = LOANS.model_copy(update={"name": "shelf", "arguments": (LookupArgument.model_construct(default=None),)})
OFFLINE = plan(spam_score=0.2, intent_confidence=0.9)


def reading(offline: SGRPlanResult = OFFLINE, **changes: Any) -> FilledPlan | InvalidPlan | None:
    return read_small(json.dumps({**WRITTEN, **changes}), [LOANS] if "lookup" in changes else [], offline)


@pytest.mark.parametrize(
    ("request_", "offline", "spam", "confidence", "action"),
    [
        ("clear", OFFLINE, 0.2, 0.9, SGRAction.NORMAL),
        ("clear", plan(spam_score=0.8, action="block"), 0.8, 0.9, SGRAction.BLOCK),
        ("clear", plan(intent_confidence=0.2, action="clarify"), 0.1, 0.2, SGRAction.CLARIFY),
        ("unclear", OFFLINE, 0.2, UNCLEAR_CONFIDENCE, SGRAction.CLARIFY),
        ("unclear", plan(intent_confidence=0.2, action="clarify"), 0.1, 0.2, SGRAction.CLARIFY),
        ("spam", OFFLINE, SPAM_SCORE, 0.9, SGRAction.BLOCK),
        ("unclear", plan(action="guardian_block"), 0.1, UNCLEAR_CONFIDENCE, SGRAction.GUARDIAN_BLOCK),
        ("spam", plan(action="guardian_block"), SPAM_SCORE, 0.9, SGRAction.GUARDIAN_BLOCK),
    ],
)
def test_a_word_becomes_figures_and_takes_no_doubt_away(
    request_: str, offline: SGRPlanResult, spam: float, confidence: float, action: SGRAction
) -> None:
    """The word "clear" leaves the offline plan's scores; the other two add the doubt that their words say; a refusal stays."""
    read = reading(offline, request=request_)
    assert isinstance(read, FilledPlan)
    assert (read.plan.spam_score, read.plan.intent_confidence, read.plan.action) == (spam, confidence, action)
    assert (read.plan.user_intent, read.plan.subqueries) == (WRITTEN["user_intent"], WRITTEN["subqueries"])


@pytest.mark.parametrize(
    "changes",
    [
        {"request": 0.9},
        {"request": "sure"},
        {"subqueries": []},
        {"subqueries": ["a", "b", "c", "d"]},
        {"user_intent": ""},
    ],
)
def test_what_is_no_word_of_the_form_is_a_fault_to_ask_again_for(changes: dict[str, Any]) -> None:
    """No figure is taken for a word, and nothing out of its range is cut to it."""
    read = reading(**changes)
    assert isinstance(read, InvalidPlan)
    assert read.faults[0].startswith(next(iter(changes)))


def test_what_is_plain_is_put_right_without_asking() -> None:
    """A word's case, and queries beyond the third."""
    queries = ["kettle", "kettle boils", "boiling", "boils when"]
    read = reading(request=" Unclear", subqueries=[queries[0], *queries])
    assert isinstance(read, FilledPlan)
    assert (read.plan.intent_confidence, read.plan.subqueries) == (UNCLEAR_CONFIDENCE, queries[:3])


@pytest.mark.parametrize(
    "queries", [["clear", "unclear", "spam"], ["kettle boils", "1.0.0.0"], ["boils in the morning"]]
)
def test_queries_that_lose_the_request_are_asked_for_again(queries: list[str]) -> None:
    """Each has a word of what the offline plan searches for, and all together half of them: what a tiny model wrote had not."""
    offline = plan(subqueries=["When does the blue kettle boil?"])
    read = reading(offline, subqueries=queries)
    assert isinstance(read, InvalidPlan)
    assert read.faults[0].startswith("subqueries: ")


def test_an_intent_that_loses_the_request_is_left_to_the_offline_plan() -> None:
    """It is shown to the user; a tiny model wrote "1"."""
    read = reading(user_intent="I am a user of the Guardian.")
    assert isinstance(read, FilledPlan)
    assert read.plan.user_intent == OFFLINE.user_intent


def test_only_lookups_of_the_role_that_need_no_values_are_offered() -> None:
    """By name, in the schema and in the prompt; without any, the form has three fields and the prompt does not speak of them."""
    named_none = LOANS.model_copy(update={"name": "none"})
    assert offered_lookups([LOANS, OF_A_SHELF, named_none], None) == [LOANS]
    assert offered_lookups([LOANS], {Source.DOC}) == []
    fields = flat_schema(small_form([LOANS]))["properties"]
    assert fields["lookup"]["enum"] == ["none", LOANS.name]
    assert f"  {LOANS.name}: " in small_prompt(PROFILE.product, [LOANS])
    assert list(flat_schema(small_form([]))["properties"]) == ["user_intent", "subqueries", "request"]
    assert "lookup" not in small_prompt(PROFILE.product, [])


@pytest.mark.parametrize(("name", "called"), [("none", []), (LOANS.name, [LookupCall(name=LOANS.name)])])
def test_a_lookup_is_named_or_none(name: str, called: list[LookupCall]) -> None:
    """It is called without values, and so with its defaults; one that was not offered is a fault."""
    read = reading(lookup=name)
    assert isinstance(read, FilledPlan)
    assert read.plan.lookups == called
    assert isinstance(reading(lookup="shelf"), InvalidPlan)


@given(
    st.fixed_dictionaries(
        {
            "user_intent": st.text(max_size=400),
            "subqueries": st.lists(st.text(max_size=400).map("kettle boil ".__add__), max_size=5),
        },
        optional={"request": st.sampled_from([*RequestReading, "other"])},
    ),
    st.builds(plan, spam_score=st.floats(0, 1), intent_confidence=st.floats(0, 1), action=st.sampled_from(SGRAction)),
)
def test_whatever_is_accepted_is_a_plan_in_which_nothing_is_surer_than_offline(
    form: dict[str, Any], offline: SGRPlanResult
) -> None:
    """Every bound of the plan holds, too: whatever a small model writes into three fields."""
    read = read_small(json.dumps(form), [], offline)
    if isinstance(read, FilledPlan):
        assert SGRPlanResult.model_validate(read.plan.model_dump()) == read.plan
        assert read.plan.spam_score >= offline.spam_score
        assert read.plan.intent_confidence <= offline.intent_confidence
