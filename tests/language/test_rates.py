"""Rates and frequencies."""

from __future__ import annotations

import pytest

from language.figures.comparison import missing_from
from language.figures.nearest import exchanged_values
from language.figures.passage import passage
from language.figures.rates import frequencies, per_what
from language.figures.values import values


@pytest.mark.parametrize(
    ("behind", "per"),
    [
        (" requests per minute", {"minute"}),
        ("/мес.", {"month"}),
        ("/user/month", {"month"}),
        (" ежемесячно", {"month"}),
        (" запросов в секунду", {"second"}),
        (" per GB and month", {"gb", "month"}),
        (" files; every day", set()),
        (" files, 3 per day", set()),
        (" days", set()),
    ],
)
def test_a_rate_is_read_behind_its_figure(behind: str, per: set[str]) -> None:
    """Within the same clause, and up to the next figure."""
    assert per_what(behind) == per


@pytest.mark.parametrize(
    ("claim", "source", "missing"),
    [
        ("100 запросов в минуту", "100 requests per minute", []),
        ("4990 ₽/мес", "4 990 ₽ в месяц", []),
        ("$49 monthly", "$49 per user per month", []),
        ("100 requests", "100 requests per minute", []),
        ("100 requests per minute", "| requests a minute | 100 |", []),
        ("100 запросов в секунду", "100 запросов в минуту", ["100 per second"]),
        ("1,000 requests per hour", "1,000 requests per minute", ["1,000 per hour"]),
        ("250 ₽ per day", "250 ₽ в месяц", ["250 ₽ per day"]),
        ("$0.05 per TB", "$0.05 per GB per month", ["$0.05 per tb"]),
    ],
)
def test_a_figure_is_a_rate_of_what_the_source_says(claim: str, source: str, missing: list[str]) -> None:
    """Per minute is not per second; where the source says no rate, none is compared."""
    assert missing_from(claim, source) == missing


def test_how_often_is_read_without_a_figure() -> None:
    """Once a week, weekly and every week are one; a night is a day."""
    said = [set(frequencies(text)) for text in ("once a week", "Weekly", "раз в неделю", "every week", "каждую неделю")]
    assert said == [{"1/week"}] * 5
    assert set(frequencies("каждую ночь")) == set(frequencies("daily")) == {"1/day"}
    assert set(frequencies("дважды в день")) == {"2/day"}
    assert frequencies("every 6 months") == {}


@pytest.mark.parametrize(
    ("claim", "source", "exchanged"),
    [
        ("Отчёт приходит раз в месяц", "Отчёт приходит раз в неделю.", ["раз в месяц"]),
        ("Отчёт приходит ежедневно", "Отчёт приходит раз в неделю.", ["ежедневно"]),
        ("Отчёт приходит еженедельно", "Отчёт приходит раз в неделю.", []),
        ("A backup is made every hour", "A backup is made every night at 02:30.", ["every hour"]),
        ("A backup is made daily", "A backup is made every night at 02:30.", []),
        ("A backup is made daily", "A backup is made every 24 hours.", []),
        ("The light is checked daily", "A backup is made weekly.", []),
        ("Set `max_retry` to 7", "Set `max_retry` to 2.\n\nWait 7 seconds.", ["7"]),
        ("Set `max_retry` to 2", "Set `max_retry` to 2.\n\nWait 7 seconds.", []),
        ("| Pro | $10 |", "| Plan | Price |\n| - | - |\n| Basic | $10 |\n| Pro | $40 |", ["10"]),
        ("| Pro | $40 |", "| Plan | Price |\n| - | - |\n| Basic | $10 |\n| Pro | $40 |", []),
        ("| Pro | $9 |", "It is $9.\n\n| Plan | Price |\n| - | - |\n| Basic | $10 |\n| Pro | $40 |", []),
    ],
)
def test_what_the_place_says_otherwise_is_exchanged(claim: str, source: str, exchanged: list[str]) -> None:
    """Another frequency, the number of another setting, and the value of another row."""
    found = exchanged_values(claim, values(claim), [passage(source)])
    assert [name.removeprefix("$") for name in found] == exchanged
