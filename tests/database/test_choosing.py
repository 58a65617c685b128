"""Which lookup a question's words choose, and which values they have for it."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from adapters.lookups.day_expressions import day
from adapters.lookups.lookup_matching import Chooser, arguments_from, period_of
from assistant.config.profiles import load_profile
from contracts.enums import Source
from contracts.lookups import Lookup
from tests.support.database.tables import lookup, text_argument

ROOT = Path(__file__).resolve().parents[2]
TODAY = date(2026, 11, 18)
"""A Wednesday."""
BUNDLED = load_profile("handbook").lookups_of(Source.DB)
QUESTIONS: dict[str, list[str]] = json.loads((Path(__file__).parent / "questions.json").read_text("utf-8"))
"""For each of the bundled lookups, questions in other words than the profile's."""


def values_of(query: str, asked: Lookup) -> dict[str, str]:
    return arguments_from(query, asked, TODAY)


def test_most_questions_in_other_words_choose_the_right_lookup() -> None:
    """Of all, four in five; hardly any chooses a wrong one."""
    chooser = Chooser(BUNDLED)
    found = [(name, chooser.choose(query, TODAY)) for name, queries in QUESTIONS.items() for query in queries]
    right = sum(got is not None and got.call.name == name for name, got in found)
    wrong = [(name, got) for name, got in found if got is not None and got.call.name != name]
    assert right >= 0.8 * len(found)
    assert len(wrong) <= 2


def test_no_question_about_the_handbook_chooses_one() -> None:
    """The labelled questions of the evaluation ask what the documents say, not how things stand."""
    chooser = Chooser(BUNDLED)
    lines = (ROOT / "evals" / "cases" / "handbook.jsonl").read_text("utf-8").splitlines()
    asked = [said for line in lines for said in json.loads(line)["says"]]
    assert len(asked) >= 150
    assert [(query, found) for query in asked if (found := chooser.choose(query, TODAY))] == []


def test_a_lookup_that_lacks_a_value_is_passed_over() -> None:
    """It would be an error to ask it; the next best is asked instead, or none."""
    needs = lookup(
        "SELECT :title AS a",
        arguments=[text_argument(cues={"en": ["book"]})],
        answers={"en": ["Who has the book?"], "ru": ["?"]},
    )
    assert Chooser([needs]).choose("Who has the book?", TODAY) is None
    found = Chooser([needs]).choose("Who has the book “Emma”?", TODAY)
    assert found is not None
    assert found.call.arguments[0].value == "Emma"


@pytest.mark.parametrize(
    ("said", "since", "until"),
    [
        ("this week", "week", "today"),
        ("на этой неделе", "week", "today"),
        ("last week", "week-1w", "week-1d"),
        ("на прошлой неделе", "week-1w", "week-1d"),
        ("in the past week", "today-1w+1d", "today"),
        ("за неделю", "today-1w+1d", "today"),
        ("за последнюю неделю", "today-1w+1d", "today"),
        ("in the last 30 days", "today-30d+1d", "today"),
        ("за последние 30 дней", "today-30d+1d", "today"),
        ("over the last two months", "today-2m+1d", "today"),
        ("за последние две недели", "today-2w+1d", "today"),
        ("this month", "month", "today"),
        ("в прошлом месяце", "month-1m", "month-1d"),
        ("в этом году", "year", "today"),
        ("today", "today", "today"),
        ("вчера", "today-1d", "today-1d"),
        ("on 2026-11-03", "2026-11-03", "2026-11-03"),
        ("since 2026-11-03", "2026-11-03", "2026-11-18"),
        ("с 03.11.2026", "2026-11-03", "2026-11-18"),
        ("from 2026-11-03 to 2026-11-01", "2026-11-01", "2026-11-03"),
        ("с 01.11.2026 по 10.11.2026", "2026-11-01", "2026-11-10"),
        ("from 1 November to 20 November", "2026-11-01", "2026-11-20"),
        ("November 1-20", "2026-11-01", "2026-11-20"),
        ("с 1 по 20 ноября", "2026-11-01", "2026-11-20"),
        ("on November 3rd, 2025", "2025-11-03", "2025-11-03"),
        ("3 ноября 2025 года", "2025-11-03", "2025-11-03"),
        ("from 20 December to 10 January 2026", "2025-12-20", "2026-01-10"),
        ("from 20 December to 10 January", "2025-12-20", "2026-01-10"),
        ("in October 2026", "2026-10-01", "2026-10-31"),
        ("in December", "2025-12-01", "2025-12-31"),
        ("за октябрь", "2026-10-01", "2026-10-31"),
        ("since October", "2026-10-01", "2026-11-18"),
        ("в 2025 году", "2025-01-01", "2025-12-31"),
        ("in the last 9999 years", "0001-01-01", "today"),
    ],
)
def test_a_period_is_read_from_the_words(said: str, since: str, until: str) -> None:
    """In both languages: this one, the last one, the last so many, and dates."""
    assert period_of(f"How many, {said}?", TODAY) == (since, until)


@pytest.mark.parametrize(
    "said",
    [
        "how many in all",
        "",
        "the weekly report",
        "30 дней спустя",
        "on 2026-02-31",
        "v1.2.2026",
        "31 ноября",
        "questions may be",
        "up to 5 may be",
        "in 2000 tickets",
        "из 2000 вопросов",
    ],
)
def test_what_is_no_period_is_not_taken_for_one(said: str) -> None:
    """Then the lookup's default holds, and the sentence says which period that is."""
    assert period_of(said, TODAY) is None


@pytest.mark.parametrize(
    ("kind", "query", "value"),
    [
        ({"type": "integer", "cues": {"en": ["day", "days"]}}, "in the last two weeks", "14"),
        ({"type": "integer", "cues": {"en": ["days"]}}, "last month", None),
        ({"type": "integer", "cues": {"en": ["page"]}}, "what is on page 7 of 9", "7"),
        ({"type": "integer", "cues": {"ru": ["этаж"]}}, "что на 3 этаже", "3"),
        ({"type": "number", "cues": {"en": ["euros"]}}, "more than 2,5 euros", "2.5"),
        ({"type": "integer", "cues": {"en": ["page"]}}, "7 books", None),
        ({"type": "choice", "choices": ["open", "closed"]}, "which tickets were CLOSED", "closed"),
        ({"type": "choice", "choices": ["open"]}, "the closed ones", None),
        ({"type": "text"}, "who reads «Война и мир» now", "Война и мир"),
        ({"type": "text"}, "what depends on GUARD_MODE?", "GUARD_MODE"),
        ({"type": "text", "cues": {"en": ["depends on"]}}, "what depends on the index? and why", "the index"),
        ({"type": "text"}, "what depends on the index?", None),
    ],
)
def test_values_are_read_from_the_words(kind: dict[str, Any], query: str, value: str | None) -> None:
    """Numbers beside their cue, choices by their words, texts in quotes, as identifiers or behind a cue."""
    asked = lookup("SELECT :n AS a", arguments=[{"name": "n", **kind}])
    assert values_of(query, asked) == ({} if value is None else {"n": value})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-02-28", "2026-02-28"),
        ("today", "2026-11-18"),
        ("today-29d", "2026-10-20"),
        ("week", "2026-11-16"),
        ("week-1w", "2026-11-09"),
        ("week-1d", "2026-11-15"),
        ("month", "2026-11-01"),
        ("month-1m", "2026-10-01"),
        ("month-1d", "2026-10-31"),
        ("year-1y", "2025-01-01"),
        ("today-1m+1d", "2026-10-19"),
        ("month-9m+27d+1y", "2027-02-28"),
    ],
)
def test_a_day_is_a_date_or_counted_from_one_that_everybody_knows(text: str, expected: str) -> None:
    """Weeks begin on Monday; the month before one of 31 days ends on its own last day."""
    assert day(text, TODAY).isoformat() == expected
    assert day("today-1m", date(2026, 3, 31)) == date(2026, 2, 28)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-02-30",
        "20261118",
        "2026-11-18T00:00",
        "tomorrow",
        "week-1",
        "today-9999y",
        "today+9999y",
        "٢٠٢٦-١١-١٨",
    ],
)
def test_what_names_no_day_is_refused(text: str) -> None:
    """Neither a date that is not in the calendar nor one beyond its years is taken."""
    with pytest.raises(ValueError, match="is not a date"):
        day(text, TODAY)
