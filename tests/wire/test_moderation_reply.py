"""What a guard model's words are taken for."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adapters.models.thinking import without_thinking
from adapters.moderation.reply import LONGEST_RAW, GuardReply, read_body, read_verdict, result_of, storable
from contracts.enums import HarmCategory, ModerationState, SafetyLevel

SAFE = GuardReply(SafetyLevel.SAFE)
UNSAFE = GuardReply(SafetyLevel.UNSAFE)
JAILBREAK = GuardReply(SafetyLevel.UNSAFE, (HarmCategory.JAILBREAK,))
CONTROVERSIAL = GuardReply(SafetyLevel.CONTROVERSIAL)

LINES = {
    "safe": ("Safety: Safe\nCategories: None", SAFE),
    "unsafe": ("Safety: Unsafe\nCategories: Jailbreak", JAILBREAK),
    "controversial": (
        "Safety: Controversial\nCategories: Politically Sensitive Topics\nRefusal: No",
        GuardReply(SafetyLevel.CONTROVERSIAL, (HarmCategory.POLITICAL,), "No"),
    ),
    "several categories, one twice": (
        "Safety: Unsafe\nCategories: PII, Violent,  pii , Suicide & Self-Harm",
        GuardReply(SafetyLevel.UNSAFE, (HarmCategory.PII, HarmCategory.VIOLENT, HarmCategory.SELF_HARM)),
    ),
    "lower case": (
        "safety: unsafe\ncategories: jailbreak\nrefusal: yes",
        GuardReply(SafetyLevel.UNSAFE, (HarmCategory.JAILBREAK,), "Yes"),
    ),
    "upper case, spaces, CRLF": ("  SAFETY:UNSAFE  \r\n\tCATEGORIES :x\r\n categories:  JAILBREAK\r\n", JAILBREAK),
    "no other line": ("Safety: Unsafe", UNSAFE),
    "only the level, with a line break": ("\n\nSafety: Safe\n", SAFE),
    "a new category": ("Safety: Unsafe\nCategories: Weather, Jailbreak", JAILBREAK),
    "only a new category": ("Safety: Unsafe\nCategories: Weather", UNSAFE),
    "a broken refusal": ("Safety: Unsafe\nCategories: Jailbreak\nRefusal: perhaps", JAILBREAK),
    "lines in another order": (
        "Refusal: No\nCategories: Jailbreak\nSafety: Unsafe",
        GuardReply(*(UNSAFE.level, JAILBREAK.categories, "No")),
    ),
    "safe with a category": ("Safety: Safe\nCategories: Jailbreak", SAFE),
    "thinking first": ("<think>Safety: Safe\nSafety: Unsafe</think>\nSafety: Controversial", CONTROVERSIAL),
    "the end of thinking alone": ("It says\nSafety: Safe\n</think>Safety: Unsafe", UNSAFE),
    "two levels": ("Safety: Safe\nSafety: Controversial", CONTROVERSIAL),
    "two levels, the strict one first": ("Safety: Unsafe\nSafety: Controversial\nSafety: Safe", UNSAFE),
    "a level and an odd one": ("Safety: Unsafe\nSafety: fine", UNSAFE),
}
NO_VERDICT = {
    "empty": "",
    "prose": "This message is safe.",
    "another word": "Safety: Fine",
    "no word": "Safety:\nCategories: None",
    "two words": "Safety: Safe enough",
    "not applicable": "Safety: N/A",
    "a full stop": "Safety: Safe.",
    "the word on the next line": "Safety:\nSafe",
    "in the middle of a line": "The verdict is Safety: Safe",
    "a marked key": "**Safety:** Safe",
    "a quoted line": "> Safety: Safe",
    "said twice": "Safety: Safe\nSafety: Safe",
    "safe and an odd one": "Safety: Safe\nSafety: fine",
    "thinking that never ends": "<think>\nSafety: Safe",
    "letters that fold to it": "Safety: ſafe",
    "a key that folds to it": "ſafety: Safe",
    "another kind of line break": "Safety: Safe\u2028Safety: Unsafe",
}


@pytest.mark.parametrize("name", LINES)
def test_lines_are_read_by_their_keys(name: str) -> None:
    """The level stands whatever is wrong with the other lines, and the strictest of several counts."""
    text, expected = LINES[name]
    assert read_verdict(text) == expected


@pytest.mark.parametrize("name", NO_VERDICT)
def test_words_without_a_verdict_are_none(name: str) -> None:
    """Where no line says a known level, or several say no more than Safe, there is no verdict."""
    assert read_verdict(NO_VERDICT[name]) is None


@pytest.mark.parametrize("category", HarmCategory)
def test_every_category_is_known_by_its_name(category: HarmCategory) -> None:
    """Each of the nine categories is read from a line as the guard model writes it."""
    assert read_verdict(f"Safety: Unsafe\nCategories: {category}") == GuardReply(SafetyLevel.UNSAFE, (category,))


BODIES = {
    "the fields": ({"safety_level": "Unsafe", "categories": ["Jailbreak"], "refusal": "No"}, "Unsafe", "Jailbreak"),
    "lower case": ({"safety_level": "controversial", "categories": ["pii"]}, "Controversial", "PII"),
    "keys in another case": ({"Safety": "Unsafe", "Categories": "Jailbreak"}, "Unsafe", "Jailbreak"),
    "the short key": ({"safety": "Safe", "categories": []}, "Safe", ""),
    "categories in one string": ({"safety": "Unsafe", "categories": "PII, Violent"}, "Unsafe", "PII, Violent"),
    "odd categories": ({"safety": "Unsafe", "categories": [3, None, {}, "Weather", "PII"]}, "Unsafe", "PII"),
    "categories of no kind": ({"safety": "Unsafe", "categories": 3, "refusal": {}}, "Unsafe", ""),
    "in result": ({"result": {"safety_level": "Unsafe"}}, "Unsafe", ""),
    "in data in response": ({"response": {"data": {"safety_level": "Safe"}}}, "Safe", ""),
    "lines in output": ({"id": 7, "output": "Safety: Unsafe\nCategories: Jailbreak"}, "Unsafe", "Jailbreak"),
    "a string of lines": ("Safety: Controversial\nCategories: PII", "Controversial", "PII"),
    "the level beside the model's lines": ({"safety": "Safe", "output": "Safety: Safe\nCategories: None"}, "Safe", ""),
    "lines stricter than the level": ({"safety": "Safe", "output": "Safety: Unsafe"}, "Unsafe", ""),
    "a level stricter than the lines": ({"safety": "Unsafe", "output": "Safety: Safe"}, "Unsafe", ""),
    "two keys of which one is strict": ({"safety": "Safe", "safety_level": "Controversial"}, "Controversial", ""),
}
NO_VERDICT_BODIES = {
    "nothing": "",
    "HTML": "<html><body>\n<p>Safety: Safe</p>\n</body></html>",
    "truncated": '{"safety_level": "Safe", "categ',
    "null": "null",
    "a number": "1",
    "a list": '[{"safety_level": "Safe"}]',
    "an object without a level": '{"detail": "Safe"}',
    "another word": '{"safety_level": "fine"}',
    "not applicable": '{"safety_level": "N/A"}',
    "true": '{"safe": true, "safety": true}',
    "an object for a level": '{"safety": {"level": "Safe"}}',
    "the same key twice": '{"safety": "Safe", "safety": "Safe"}',
    "two wrappers": '{"data": "Safety: Safe", "output": "Safety: Safe"}',
    "an odd level beside good lines": '{"safety": "fine", "output": "Safety: Safe"}',
    "too many wrappers": '{"data": {"data": {"data": {"data": {"safety": "Safe"}}}}}',
    "too deep to parse": "[" * 200_000,
}


@pytest.mark.parametrize("name", BODIES)
def test_a_body_is_read_as_json_of_the_same_content(name: str) -> None:
    """The fields count wherever they stand, and the strictest level in a body is the one that counts."""
    value, level, categories = BODIES[name]
    reading = read_body(json.dumps(value))
    assert reading is not None
    assert (reading.level, ", ".join(reading.categories)) == (level, categories)


def test_a_body_may_be_the_lines_themselves() -> None:
    """A server that passes the model's text on is read like the model."""
    assert read_body("Safety: Unsafe\nCategories: Jailbreak") == JAILBREAK


@pytest.mark.parametrize("name", NO_VERDICT_BODIES)
def test_a_body_without_a_verdict_is_none(name: str) -> None:
    """What is no verdict in JSON, or no JSON at all, is never taken for Safe."""
    assert read_body(NO_VERDICT_BODIES[name]) is None


def test_a_key_that_stands_twice_hides_nothing() -> None:
    """Of two values under one key the strict one counts, where a dict would hold only the last."""
    assert read_body('{"safety": "Unsafe", "safety": "Safe"}') == UNSAFE


ODD_LINES = st.lists(
    st.one_of(
        st.builds("{}{}{}{}".format, *map(st.sampled_from, (
            ["", " ", "\t", "- ", "> ", "\u2028"],
            ["Safety:", "safety:", "SAFETY :", "Safety", "Categories:", "Refusal:", "Safe", "<think>", "</think>"],
            ["", " ", "\u00a0", "\x1c", "\r"],
            ["Safe", "safe", "SAFE ", "Unsafe", "Controversial", "N/A", "", "Safe.", "Safe Unsafe", "None"],
        ))),
        st.text(max_size=20),
    ),
    max_size=5,
).map("\n".join)  # fmt: skip


@given(ODD_LINES)
@example("Safety: Safe\nSafety: Safe")
@example("Safety: Safe\n<think>\n</think>")
def test_odd_text_is_safe_only_where_its_one_safety_line_says_so(text: str) -> None:
    """A verdict of Safe has exactly one Safety line outside of thinking, and the word on it is Safe."""
    reading = read_verdict(text)
    lines = [line.strip().lower() for line in without_thinking(text).split("\n")]
    values = [line.removeprefix("safety:").strip() for line in lines if line.startswith("safety:")]
    assert (reading is not None and reading.level is SafetyLevel.SAFE) == (values == ["safe"])


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["Safe", "Unsafe", "Safety: Safe", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["safety", "SAFETY_LEVEL", "data", "output", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(JSON_VALUES)
def test_no_json_that_says_unsafe_is_safe(value: object) -> None:
    """Whatever shape a body has, it is Safe only where it says so, and never where a field that is read says Unsafe."""
    body = json.dumps(value)
    reading = read_body(body)
    if reading is not None and reading.level is SafetyLevel.SAFE:
        assert "Safe" in body
        assert not _says_unsafe(value, 3)


def _says_unsafe(value: object, depth: int) -> bool:
    if not isinstance(value, dict) or not depth:
        return False
    said = [inner for key, inner in value.items() if key.lower() in ("safety", "safety_level")]
    return "Unsafe" in said or any(
        _says_unsafe(inner, depth - 1) for key, inner in value.items() if key in ("data", "output")
    )


@given(st.text(alphabet=st.characters(codec=None), max_size=20))
@example("a\ud83d\ude00\ud800b")
def test_what_is_kept_can_be_written(text: str) -> None:
    """Text to be kept or sent has no lone surrogate, and text without one is left as it is."""
    kept = storable(text)
    kept.encode("utf-8")
    if not any("\ud800" <= letter <= "\udfff" for letter in text):
        assert kept == text


def test_a_result_says_what_the_reading_says() -> None:
    """A result has the reading's level as its state, and no more of the reply than is kept."""
    result = result_of(JAILBREAK, "x" * (LONGEST_RAW + 1), model="guard", provider="vllm", calls=())
    assert (result.safety_level, result.state) == (SafetyLevel.UNSAFE, ModerationState.UNSAFE)
    assert (result.categories, result.raw_output) == ([HarmCategory.JAILBREAK], "x" * LONGEST_RAW)
