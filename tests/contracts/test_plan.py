"""The plan's form: what it takes, what it refuses, and what it tells whoever fills it."""

from __future__ import annotations

import json
import re
from math import inf, nan, nextafter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from contracts.enums import Language, RequestType, SGRAction
from contracts.plan import SGRPlanResult

LEAST = {
    "spam_score": 0.1,
    "spam_reason": "A question about the product.",
    "user_intent": "The user wants to install it.",
    "subqueries": ["install"],
    "intent_confidence": 0.9,
    "action": "normal",
}
SCORES = ["spam_score", "intent_confidence"]


def plan(**changes: Any) -> SGRPlanResult:
    return SGRPlanResult.model_validate({**LEAST, **changes})


def refused(**changes: Any) -> list[str]:
    """Return the fields that a form is refused for; the empty list where it is taken."""
    try:
        plan(**changes)
    except ValidationError as error:
        return [str(part["loc"][0]) for part in error.errors()]
    return []


def test_the_least_form_has_the_defaults_of_the_specification() -> None:
    """What may be left out is: nothing is inferred here, and the type is KNOWLEDGE_QA."""
    least = plan()
    assert least.request_type is RequestType.KNOWLEDGE_QA
    assert (least.topic, least.category, least.answer_language, least.clarification_question) == (None,) * 4
    assert (least.action_plan, least.uncertainties, least.wants_human) == ([], [], False)


@pytest.mark.parametrize("field", SCORES)
@pytest.mark.parametrize(
    "wrong",
    [
        nan,
        inf,
        -inf,
        True,
        False,
        "0.5",
        "1",
        "",
        None,
        1.5,
        -0.1,
        nextafter(1.0, 2.0),
        nextafter(0.0, -1.0),
        [0.5],
        {},
    ],
)
def test_what_only_looks_like_a_score_is_refused(field: str, wrong: Any) -> None:
    """NaN, infinity, a boolean, a numeric string and a number outside 0 to 1 are no scores."""
    assert refused(**{field: wrong}) == [field]


@pytest.mark.parametrize("field", SCORES)
@pytest.mark.parametrize("wrong", ["true", "NaN", "Infinity", '"0.5"', "1e400"])
def test_what_only_looks_like_a_score_is_refused_in_json_too(field: str, wrong: str) -> None:
    """The same holds for a form that comes as text: JSON readers take NaN and infinity for numbers."""
    text = json.dumps(LEAST).replace(f'"{field}": {LEAST[field]}', f'"{field}": {wrong}')
    assert wrong in text
    for read in (SGRPlanResult.model_validate_json, lambda raw: SGRPlanResult.model_validate(json.loads(raw))):
        with pytest.raises(ValidationError):
            read(text)


@pytest.mark.parametrize("field", SCORES)
@given(number=st.floats(0, 1) | st.sampled_from([0, 1]))
def test_every_number_from_0_to_1_is_a_score(field: str, number: float) -> None:
    """Both ends are scores, and the number stays what it is."""
    assert getattr(plan(**{field: number}), field) == number


@pytest.mark.parametrize(
    ("field", "fits", "too_much"),
    [
        ("spam_reason", "x" * 150, "x" * 151),
        ("user_intent", "x" * 300, "x" * 301),
        ("clarification_question", "x" * 300, "x" * 301),
        ("topic", "x" * 150, "x" * 151),
        ("category", "x" * 80, "x" * 81),
        ("subqueries", ["x"] * 10, ["x"] * 11),
        ("subqueries", ["x"], []),
        ("action_plan", ["x"] * 10, ["x"] * 11),
        ("uncertainties", ["x"] * 5, ["x"] * 6),
    ],
)
def test_every_length_has_its_bound(field: str, fits: Any, too_much: Any) -> None:
    """The bound itself fits, and one more does not."""
    assert refused(**{field: fits}) == []
    assert refused(**{field: too_much}) == [field]


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("action", "Normal"),
        ("action", "answer"),
        ("request_type", "knowledge_qa"),
        ("answer_language", "de"),
        ("subqueries", "install"),
        ("subqueries", [1]),
        ("uncertainties", None),
    ],
)
def test_a_word_or_shape_of_none_of_the_sets_is_refused(field: str, wrong: Any) -> None:
    """Closed sets are closed, and a bare string is no list: mending is the planner's business, not the form's."""
    assert refused(**{field: wrong}) == [field]


@pytest.mark.parametrize("field", sorted(LEAST))
def test_what_must_be_filled_must_be_filled(field: str) -> None:
    """A form without a score, reason, intent, query, confidence or action is no plan."""
    with pytest.raises(ValidationError):
        SGRPlanResult.model_validate({key: value for key, value in LEAST.items() if key != field})


def test_what_a_model_adds_is_dropped() -> None:
    """A further key does not fail a plan, and does not get in."""
    assert "guard_categories" not in plan(guard_categories=["PII"]).model_dump()


def test_a_plan_is_the_same_after_a_trip_through_json() -> None:
    """Plain data in the state, a plan again at the node's edge."""
    full = plan(answer_language=Language.RU, request_type="CASUAL", action=SGRAction.CLARIFY, wants_human=True)
    assert SGRPlanResult.model_validate(json.loads(json.dumps(full.model_dump(mode="json")))) == full


def test_the_fields_stand_in_the_order_of_reasoning() -> None:
    """Each field names its step, and the steps ascend in the order in which the form is filled."""
    steps = [
        re.match(r"REASONING STEP (\d+)([a-z]?) - ", field.description or "")
        for field in SGRPlanResult.model_fields.values()
    ]
    assert all(steps)
    order = [(int(step[1]), step[2]) for step in steps if step]
    assert order == sorted(order)
    assert {number for number, _ in order} == set(range(1, 9))


def test_the_schema_tells_the_model_every_bound() -> None:
    """What the form refuses, its schema says: ranges of scores, lengths, list sizes and closed sets."""
    schema = SGRPlanResult.model_json_schema()
    properties = schema["properties"]
    for score in SCORES:
        assert (properties[score]["minimum"], properties[score]["maximum"]) == (0.0, 1.0)
    assert (properties["subqueries"]["minItems"], properties["subqueries"]["maxItems"]) == (1, 10)
    assert (properties["spam_reason"]["maxLength"], properties["user_intent"]["maxLength"]) == (150, 300)
    assert schema["$defs"]["SGRAction"]["enum"] == list(SGRAction)
    assert set(schema["required"]) == set(LEAST)
