"""Lookups as a profile writes them: what is taken, what is a slip, and which values an argument takes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from contracts.enums import Source
from contracts.lookups import LookupArgument, fields_of
from tests.support.database.tables import lookup, text_argument
from tests.support.profiles import make_profile


def argument(kind: str, **changes: Any) -> LookupArgument:
    return LookupArgument.model_validate({"name": "n", "type": kind, **changes})


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"statement": "SELECT :other AS a"}, "the statement uses other, which is no argument"),
        ({"arguments": [text_argument()]}, "the statement does not use the argument title"),
        ({"statement": "SELECT :title", "arguments": [text_argument()] * 2}, "the argument title is there twice"),
        ({"source": "doc"}, "a lookup's source is"),
        ({"name": "Asked"}, "pattern"),
        ({"row": {"en": "{a.__class__}", "ru": ""}}, "plain name"),
        ({"row": {"en": "{a[0]}", "ru": ""}}, "plain name"),
        ({"row": {"en": "{a!r}", "ru": ""}}, "plain name"),
        ({"row": {"en": "{a:>100}", "ru": ""}}, "plain name"),
        ({"row": {"en": "{}", "ru": ""}}, "plain name"),
        ({"row": {"en": "{a", "ru": ""}}, "expected '}'"),
        ({"none": {"en": "no {a}", "ru": ""}}, "none: a is no argument"),
        ({"answers": {"en": [], "ru": ["?"]}}, "at least 1 item"),
        ({"statement": ""}, "at least 1 character"),
        ({"statments": "x"}, "not permitted"),
    ],
)
def test_a_slip_in_a_lookup_is_found_when_the_profile_is_read(changes: dict[str, Any], fault: str) -> None:
    """Statement, arguments and sentences have to fit together, and a template names nothing but plain columns."""
    with pytest.raises(ValidationError, match=fault):
        lookup(**{"statement": "SELECT 1 AS a", **changes})


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"type": "integer", "least": 3, "most": 1}, "least is more than most"),
        ({"type": "text", "least": 1}, "least and most are for"),
        ({"type": "choice"}, "a choice has at least one"),
        ({"type": "text", "choices": ["a"]}, "choices are for a choice"),
        ({"type": "integer", "most": 10, "default": 11}, "11 is not an integer to 10"),
        ({"type": "date", "default": "tomorrow"}, "'tomorrow' is not a date"),
        ({"type": "choice", "choices": ["a"], "default": "b"}, "'b' is not one of a"),
        ({"type": "boolean"}, "Input should be"),
    ],
)
def test_a_slip_in_an_argument_is_found_when_the_profile_is_read(changes: dict[str, Any], fault: str) -> None:
    """Bounds belong to numbers, choices to a choice, and a default is a value like any other."""
    with pytest.raises(ValidationError, match=fault):
        LookupArgument.model_validate({"name": "n", **changes})


@pytest.mark.parametrize(
    ("source", "statement", "names"),
    [
        ("db", "SELECT a::text, :one, ':two' FROM t WHERE x=:three AND y = '10:30'", {"one", "two", "three"}),
        ("db", r"SELECT a\:b", set[str]()),
        ("neo4j", "MATCH (p {name: $one}) WHERE p.x > $two RETURN p", {"one", "two"}),
    ],
)
def test_the_parameters_of_a_statement_are_those_that_the_engine_sees(
    source: str, statement: str, names: set[str]
) -> None:
    """Casts and times are none; what stands in quotes is, for SQLAlchemy binds it."""
    arguments = [text_argument(name) for name in sorted(names)]
    assert lookup(statement, source=source, arguments=arguments).parameters() == names


def test_a_profiles_lookups_speak_its_languages_and_have_names_of_their_own() -> None:
    """Each text in each language, each name once; and they are told by their source."""
    asked = lookup("SELECT 1 AS a")
    graph = lookup("RETURN 1 AS a", name="other", source="neo4j")
    taken = make_profile(lookups=[asked.model_dump(), graph.model_dump()])
    assert taken.lookups_of(Source.DB) == (asked,)
    assert taken.lookups_of(Source.NEO4J) == (graph,)
    with pytest.raises(ValidationError, match="the lookup asked is there twice"):
        make_profile(lookups=[asked.model_dump()] * 2)
    with pytest.raises(ValidationError, match=r"lookups.asked: title, answers, row or none is missing in ru"):
        make_profile(lookups=[lookup("SELECT 1 AS a", row={"en": "{a}"}).model_dump()])


@given(text=st.text(max_size=40))
def test_a_value_is_read_or_refused(text: str) -> None:
    """Whatever stands there, the outcome is a value within the bounds or a `ValueError`."""
    whole = argument("integer", least=1, most=9)
    for one in (whole, argument("number"), argument("date"), argument("choice", choices=["a"]), argument("text")):
        try:
            value = one.read(text)
        except ValueError:
            continue
        assert one is not whole or (isinstance(value, int) and 1 <= value <= 9)
        assert not isinstance(value, str) or value.encode()


@pytest.mark.parametrize("text", ["\ud800", "a\x00b", "", " ", "x" * 101])
def test_a_text_that_an_engine_could_not_take_is_refused(text: str) -> None:
    """Lone surrogates, zero characters, nothing at all and too much."""
    with pytest.raises(ValueError, match="is not a text of at most 100 characters"):
        argument("text").read(text)


def test_the_names_in_a_template_are_those_in_its_braces() -> None:
    """Doubled braces are braces."""
    assert fields_of("{a} of {b}, {{c}} {a}") == {"a", "b"}
