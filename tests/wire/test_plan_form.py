from __future__ import annotations

import json
import math
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.models.thinking import without_thinking
from adapters.planning.form import FilledPlan, InvalidPlan, plan_schema, plan_tool, read_arguments, read_text
from contracts.enums import Language, RequestType, SGRAction
from contracts.plan import PLAN_TOOL, SGRPlanResult
from tests.support.examples import examples
from tests.support.turn import plan

PLAN: dict[str, Any] = plan(topic="kettles", answer_language="en").model_dump(mode="json")
"""A form that is filled in well."""


def filled(**changes: Any) -> str:
    return json.dumps({**PLAN, **changes})


def read(**changes: Any) -> FilledPlan | InvalidPlan:
    return read_arguments(filled(**changes))


scores = st.floats(allow_nan=True) | st.integers() | st.booleans() | st.sampled_from(["0.9", None, 10**400, 1e-320])
odd_texts = st.text(max_size=400) | st.sampled_from(["", " ", "x" * 10_000, "слово " * 100, "\ud800", "\x1b[31m\x00"])
lists = st.lists(odd_texts, max_size=14) | odd_texts | st.none() | st.lists(st.integers(), max_size=2)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
words = st.sampled_from(["normal", " CLARIFY ", "Block", "knowledge_qa", "EN", "casual", "", "other"])
odd_values = odd_texts | scores
lookups = (
    anything
    | odd_texts
    | st.lists(
        odd_texts
        | st.fixed_dictionaries(
            {"name": odd_texts},
            optional={
                "arguments": st.dictionaries(odd_texts, odd_values, max_size=12)
                | st.lists(st.fixed_dictionaries({"name": odd_texts, "value": odd_values}), max_size=12)
                | anything
            },
        ),
        max_size=7,
    )
)
forms = st.builds(
    lambda changes, gone: {k: v for k, v in {**PLAN, **changes}.items() if k not in gone},
    st.fixed_dictionaries(
        {},
        optional={
            "spam_score": scores | anything,
            "intent_confidence": scores,
            "spam_reason": odd_texts,
            "user_intent": odd_texts | anything,
            "topic": odd_texts | st.none(),
            "category": odd_texts | st.none(),
            "clarification_question": odd_texts | st.none(),
            "answer_language": words | anything,
            "request_type": words | st.none(),
            "action": words,
            "subqueries": lists,
            "action_plan": lists,
            "uncertainties": lists | anything,
            "wants_human": anything,
            "lookups": lookups,
            "other": anything,
        },
    ),
    st.sets(st.sampled_from(sorted(PLAN)), max_size=2),
)


def check(reading: FilledPlan | InvalidPlan | None) -> None:
    """Fail where a reading breaks a bound of the plan, or cannot be stored."""
    if reading is None:
        return
    reading.raw.encode()
    if isinstance(reading, InvalidPlan):
        assert reading.faults
        assert all("\n" not in fault and len(fault) < 300 for fault in reading.faults)
        return
    good = reading.plan
    assert SGRPlanResult.model_validate_json(good.model_dump_json()) == good
    for score in (good.spam_score, good.intent_confidence):
        assert isinstance(score, float)
        assert 0.0 <= score <= 1.0
    assert len(good.spam_reason) <= 150
    assert len(good.user_intent) <= 300
    assert len(good.topic or "") <= 150
    assert len(good.category or "") <= 80
    assert len(good.clarification_question or "") <= 300
    for several, longest in ((good.subqueries, 10), (good.action_plan, 10), (good.uncertainties, 5)):
        assert len(several) <= longest
        assert len(set(several)) == len(several)
        assert all(item.strip() for item in several)
    assert good.subqueries
    everything = " ".join([good.user_intent, good.spam_reason, *good.subqueries, *good.uncertainties])
    assert not [character for character in everything if character < " " and character not in "\n\t"]


@given(form=forms)
@examples(3)
def test_whatever_is_accepted_keeps_every_bound(form: dict[str, Any]) -> None:
    """A reading is a valid plan that can be stored and shown, or says in words what is wrong."""
    for ascii_only in (True, False):
        text = json.dumps(form, ensure_ascii=ascii_only)
        check(read_arguments(text))
        check(read_text(text))


@given(value=anything)
def test_any_json_can_be_read(value: object) -> None:
    """No JSON value makes reading raise."""
    text = json.dumps(value)
    check(read_arguments(text))
    check(read_text(text))


@given(
    text=st.text() | st.text(alphabet='{}[]",:`\n </>abctool_call'),
    wrap=st.sampled_from(["{}", "```json\n{}", "<tool_call>{}"]),
)
def test_any_text_can_be_read(text: str, wrap: str) -> None:
    """No text makes reading raise."""
    check(read_arguments(text))
    check(read_text(wrap.replace("{}", text)))
    without_thinking(text)


HOSTILE = {
    "deep lists": '{"subqueries": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "deep objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "a number of 5,000 digits": '{"spam_score": ' + "1" * 5_000 + "}",
    "a number of 4,000 digits": filled(spam_score=10**3_999),
    "an exponent": '{"spam_score": 1e999999}',
    "a megabyte of text": filled(user_intent="x" * 1_000_000),
    "a megabyte of queries": filled(subqueries=["x"] * 250_000),
    "a lone surrogate": '{"user_intent": "\\ud800"}',
    "a lone surrogate in a key": '{"\\ud800": "\\udfff"}',
    "a fence and nothing but line breaks": "```" + "\n" * 1_000_000,
    "a fence that never ends": "```json\n" + "{" * 1_000_000,
    "fences": "```\n" * 250_000,
    "tags that never end": "<tool_call>{" * 80_000,
    "thoughts that never end": "<think>" * 150_000,
    "ends of thoughts": "</think>" * 120_000,
    "commas": "{" + ", " * 500_000 + "}",
    "a comma and blanks": "{," + " " * 1_000_000 + "x}",
    **{
        f"a call with arguments of depth {depth}": f'{{"name": "{PLAN_TOOL}", "arguments": {"[" * depth}{"]" * depth}}}'
        for depth in (100, 300, 480, 900, 960, 990)
    },
    "half commas": '{"a": [' + '",' * 300_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_takes_longer_to_read_than_a_moment(name: str) -> None:
    """A megabyte of what is hardest to read is read in less than two seconds, and raises nothing."""
    began = time.process_time()
    check(read_arguments(HOSTILE[name]))
    check(read_text(without_thinking(HOSTILE[name])))
    assert time.process_time() - began < 2.0


@pytest.mark.parametrize("field", ["spam_score", "intent_confidence"])
@pytest.mark.parametrize(
    "score", [math.nan, math.inf, -math.inf, True, False, "0.9", "", None, 1.7, -0.1, 10**400, [], {}]
)
def test_only_a_number_from_0_to_1_is_a_score(field: str, score: object) -> None:
    """NaN, infinity, booleans, digits in quotes and numbers out of range are faults that name their field."""
    reading = read(**{field: score})
    assert isinstance(reading, InvalidPlan)
    assert [fault for fault in reading.faults if fault.startswith(f"{field}: ")]


@pytest.mark.parametrize("score", [0, 1, 0.0, 0.5, 1.0])
def test_a_number_from_0_to_1_is_a_score(score: float) -> None:
    """Both ends count, whole numbers too."""
    reading = read(spam_score=score)
    assert isinstance(reading, FilledPlan)
    assert reading.plan.spam_score == score
    assert reading.repaired == ()


@pytest.mark.parametrize(
    ("field", "given_", "read_as"),
    [
        ("subqueries", "one query", ["one query"]),
        ("subqueries", ["a", "b", "a", " a ", ""], ["a", "b"]),
        ("subqueries", [str(n) for n in range(40)], [str(n) for n in range(10)]),
        ("action_plan", None, []),
        ("uncertainties", "what", ["what"]),
        ("uncertainties", list("abcdefg"), list("abcde")),
        ("action", " Normal ", SGRAction.NORMAL),
        ("request_type", "howto_policy", RequestType.HOWTO_POLICY),
        ("request_type", None, RequestType.KNOWLEDGE_QA),
        ("answer_language", "RU", Language.RU),
        ("answer_language", "", None),
        ("topic", "  ", None),
        ("wants_human", None, False),
        ("user_intent", "x" * 10_000, "x" * 299 + "…"),
        ("user_intent", "a\x1b[31m\x00b", "a[31mb"),
    ],
)
def test_what_is_unambiguous_is_put_right(field: str, given_: object, read_as: object) -> None:
    """Lengths, doubles, a bare string, null and the case of a word are mended without asking, and it is said."""
    reading = read(**{field: given_})
    assert isinstance(reading, FilledPlan)
    assert getattr(reading.plan, field) == read_as
    assert reading.repaired in ((field,), ()) or given_ is None


@pytest.mark.parametrize(
    "changes",
    [
        {"action": "reply"},
        {"action": None},
        {"request_type": "RIDDLE"},
        {"subqueries": []},
        {"subqueries": [1]},
        {"user_intent": None},
    ],
)
def test_what_is_ambiguous_is_not_guessed(changes: dict[str, Any]) -> None:
    """An unknown word, an empty list of queries and a missing intent are faults that name their field."""
    reading = read(**changes)
    assert isinstance(reading, InvalidPlan)
    assert reading.faults[0].startswith(next(iter(changes)))


def test_a_text_is_clipped_at_a_word() -> None:
    """What is too long ends at a word and says that it goes on."""
    reading = read(spam_reason="a word " * 50)
    assert isinstance(reading, FilledPlan)
    assert reading.plan.spam_reason.endswith(" word…") or reading.plan.spam_reason.endswith(" a…")
    assert reading.repaired == ("spam_reason",)


CALL = json.dumps({"name": PLAN_TOOL, "arguments": PLAN})


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(PLAN),
        f"Here it is:\n```json\n{json.dumps(PLAN, indent=1)}\n```\nGood luck!",
        f"```\n{json.dumps(PLAN)}\n```",
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"<tool_call>{CALL}",
        json.dumps({"name": PLAN_TOOL, "parameters": PLAN}),
        json.dumps({"name": PLAN_TOOL, "arguments": json.dumps(PLAN)}),
        json.dumps(PLAN).replace("}", ",}").replace("]", ", ]"),
        json.dumps(PLAN).replace("ACTION-PLAN", "ACTION-\nPLAN"),
        f"<think>spam_score {{}}</think>{json.dumps(PLAN)}",
        f"The user {{name}} asks.</think>{json.dumps(PLAN)}",
    ],
)
def test_a_plan_written_as_text_is_read(text: str) -> None:
    """In a fence, in the tags of a call, as a call's JSON, with trailing commas and raw line breaks, after thinking."""
    reading = read_text(without_thinking(text))
    assert isinstance(reading, FilledPlan)
    assert reading.plan.user_intent == PLAN["user_intent"]


@pytest.mark.parametrize(
    "text", ["", "I cannot call functions.", "{}", "[1]", '{"name": "other", "arguments": {}}', "{not json}"]
)
def test_a_text_without_a_plan_is_none(text: str) -> None:
    """Nothing is taken for a plan that does not look like one."""
    assert read_text(text) is None


# ------------------------------------------------------------------------------------------------------- the schema


def _walk(schema: object) -> list[dict[str, Any]]:
    if isinstance(schema, list):
        return [found for inner in schema for found in _walk(inner)]
    if not isinstance(schema, dict):
        return []
    return [schema, *(found for inner in schema.values() for found in _walk(inner))]


def _fits(value: object, schema: dict[str, Any]) -> bool:
    """Whether a value keeps a schema, as far as the plan's schema goes."""
    if "anyOf" in schema:
        return any(_fits(value, option) for option in schema["anyOf"])
    kinds = {"string": str, "number": int | float, "boolean": bool, "null": type(None), "array": list, "object": dict}
    if not isinstance(value, kinds[schema["type"]]) or value not in schema.get("enum", [value]):
        return False
    if isinstance(value, str):
        return schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", math.inf)
    if isinstance(value, list):
        within = schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", math.inf)
        return within and all(_fits(item, schema["items"]) for item in value)
    if isinstance(value, dict):
        inner = all(_fits(value[name], schema["properties"][name]) for name in value if name in schema["properties"])
        return set(value) == set(schema["required"]) and inner
    return (
        value is None or isinstance(value, bool) or schema.get("minimum", 0) <= value <= schema.get("maximum", math.inf)
    )


def test_the_schema_is_one_that_every_server_takes() -> None:
    """No references, no defaults, every field required and no other allowed, in the order of reasoning."""
    schema = plan_schema()
    assert list(schema["properties"]) == list(SGRPlanResult.model_fields)
    assert schema["required"] == list(schema["properties"])
    assert schema["additionalProperties"] is False
    for part in _walk(schema):
        if "type" not in part and "anyOf" not in part:
            continue  # the properties of an object
        assert not {"$ref", "$defs", "default", "title"} & set(part)
        if part.get("type") == "object":
            assert part["required"] == list(part["properties"])
            assert part["additionalProperties"] is False


def test_the_schema_has_the_plans_own_words() -> None:
    """Each field has the description that the plan gives it, and each enumeration all its values."""
    properties = plan_schema()["properties"]
    for name, field in SGRPlanResult.model_fields.items():
        assert properties[name]["description"] == field.description
    assert properties["action"]["enum"] == [str(word) for word in SGRAction]
    assert properties["request_type"]["enum"] == [str(word) for word in RequestType]
    assert [str(word) for word in Language] in [part.get("enum") for part in properties["answer_language"]["anyOf"]]


@given(form=forms)
def test_a_plan_that_is_accepted_fits_the_schema(form: dict[str, Any]) -> None:
    """Schema and plan ask for the same: whatever was read as a plan could have been written by the schema."""
    reading = read_arguments(json.dumps(form))
    if isinstance(reading, FilledPlan):
        assert _fits(reading.plan.model_dump(mode="json"), plan_schema())


@pytest.mark.parametrize(
    "changes", [{"spam_score": 1.7}, {"action": "reply"}, {"topic": 1}, {"subqueries": []}, {"other": 1}]
)
def test_the_schema_refuses_what_is_no_plan(changes: dict[str, Any]) -> None:
    """The check above can fail."""
    assert _fits(PLAN, plan_schema())
    assert not _fits({**PLAN, **changes}, plan_schema())


@pytest.mark.parametrize("strict", [True, False])
def test_strict_stands_inside_the_tools_own_object(strict: bool) -> None:
    """Servers look for it there; where it is not asked for, it is not there at all."""
    tool = plan_tool(strict=strict)
    assert set(tool) == {"type", "function"}
    assert tool["function"].get("strict", False) is strict
    assert ("strict" in tool["function"]) is strict
    assert tool["function"]["parameters"] == plan_schema()


@pytest.mark.parametrize(
    ("written", "calls"),
    [
        (None, []),
        ([], []),
        ("asked", [("asked", {})]),
        (["asked", "asked", ""], [("asked", {})]),
        ({"name": " asked "}, [("asked", {})]),
        (
            [{"name": "asked", "arguments": {"since": "week", "days": 7, "ratio": 0.5}}],
            [("asked", {"since": "week", "days": "7", "ratio": "0.5"})],
        ),
        ([{"name": "asked", "arguments": [{"name": "since", "value": None}]}], [("asked", {})]),
        ([{"name": "asked", "arguments": [{"name": "since", "value": "week"}]}], [("asked", {"since": "week"})]),
        ([{"name": f"asked{n}"} for n in range(9)], [(f"asked{n}", {}) for n in range(5)]),
    ],
)
def test_lookups_may_be_written_in_any_way_that_is_plain(written: Any, calls: list[tuple[str, dict[str, str]]]) -> None:
    """A bare name, values as an object, numbers and `null` are meant as the form says them; doubles count once."""
    reading = read(lookups=written)
    assert isinstance(reading, FilledPlan)
    got = [(call.name, {value.name: value.value for value in call.arguments}) for call in reading.plan.lookups]
    assert got == calls


@pytest.mark.parametrize("written", [[1], [{"name": 7}], [{"arguments": {}}], [{"name": "a", "arguments": [1]}]])
def test_a_lookup_that_could_mean_anything_is_a_fault(written: Any) -> None:
    """What has no name is not guessed."""
    reading = read(lookups=written)
    assert isinstance(reading, InvalidPlan)
    assert reading.faults[0].startswith("lookups.0")


# ---------------------------------------------------------------------------------------------------------- thinking


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("<think>a</think>b", "b"),
        ("x <Thinking>a\n</THINKING> b", "x  b"),
        ("a</think>b", "b"),
        ("a</think>b</think>c", "c"),
        ("<think>a", ""),
        ("b<think>a", "b"),
        ("<think>a<think>b</think>c</think>d", "d"),
        ("<reasoning>a</reasoning><thought>b</thought>c", "c"),
        ("a < b and </b> and <thinker>", "a < b and </b> and <thinker>"),
        ("", ""),
    ],
)
def test_what_a_model_thinks_is_left_out(text: str, rest: str) -> None:
    """Closed, only begun, or only ended: nothing of a model's reasoning stays, and nothing else is lost."""
    assert without_thinking(text) == rest
