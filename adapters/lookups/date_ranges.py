"""The period that a question names: "this week", "in October 2026", "from 1 to 20 November". Pure."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Final

from adapters.lookups.day_expressions import day
from language.clean import fold
from language.patterns import read_wording

_WORDING: Final = read_wording(__name__)

_NUMBERS: Final = {word: int(number) for number, words in _WORDING.forms("numbers").items() for word in words.split()}
_UNITS: Final = _WORDING.forms("units")
_COUNT: Final = rf"(?:(?P<count>\d{{1,4}}|{'|'.join(_NUMBERS)})\s+)?"


def _make_unit_patterns(unit: str) -> Iterator[tuple[re.Pattern[str], str, str]]:
    """Yield the patterns of a unit: this one, the last one, and the last so many, up to today."""
    name = {"d": "today", "w": "week", "m": "month", "y": "year"}[unit]
    words = _UNITS[unit]
    if unit != "d":
        yield re.compile(rf"\b(?:{_WORDING.piece('this')})\s+(?:{words})\b"), name, "today"
        yield re.compile(rf"\b(?:{_WORDING.piece('last')})\s+(?:{words})\b"), f"{name}-1{unit}", f"{name}-1d"
    yield (
        re.compile(
            rf"\b(?:(?:{_WORDING.piece('past')})\s+{_COUNT}"
            rf"|(?:{_WORDING.piece('within')})\s+(?:the\s+|an?\s+)?{_COUNT.replace('count', 'number')})(?:{words})\b"
        ),
        f"today-{{}}{unit}+1d",
        "today",
    )


_PERIODS: Final = (
    (_WORDING.pattern("today"), "today", "today"),
    (_WORDING.pattern("yesterday"), "today-1d", "today-1d"),
    *(pattern for unit in "wmyd" for pattern in _make_unit_patterns(unit)),
)
"""What a period is called, and the days that it begins and ends on."""

_MONTH_NUMBERS: Final = {
    name: int(number) for number, names in _WORDING.forms("month_numbers").items() for name in names.split()
}
_MONTH: Final = _WORDING.piece("month")
_DAY: Final = _WORDING.piece("day")
_OF_YEAR: Final = _WORDING.piece("of_year")
_BEFORE: Final = _WORDING.piece("before")
_BEHIND: Final = _WORDING.piece("behind")
_DATES: Final = tuple(
    re.compile(rf"(?<![\w.-]){before}(?:{words}){_BEHIND}")
    for before, words in (
        (f"{_BEFORE}?", r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)(?![\w-])"),
        (f"{_BEFORE}?", r"(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})(?![\w-])"),
        (f"{_BEFORE}?", rf"(?P<d>{_DAY})\s+(?:of\s+)?(?P<m>{_MONTH}){_OF_YEAR}"),
        (f"{_BEFORE}?", rf"(?P<m>{_MONTH})\s+(?P<d>{_DAY})(?![\w:]){_OF_YEAR}"),
        # Alone, a month or a year needs a word before it: "questions may be", "2025 questions".
        (_BEFORE, rf"(?P<m>{_MONTH}){_OF_YEAR}"),
        (_BEFORE, _WORDING.piece("year")),
    )
)
"""Days, months and years as people write them; where two match at one place, the first of these holds."""
_BETWEEN: Final = _WORDING.piece("between")
_DAY_TO_DAY: Final = _WORDING.pattern("day_to_day")
_MONTH_DAY_TO_DAY: Final = re.compile(rf"(?<![\w.-])({_MONTH})\s+({_DAY})({_BETWEEN})({_DAY})(?![\w:])")
_BEGINS: Final = _WORDING.pattern("begins")


@dataclass(frozen=True, slots=True)
class _Date:
    """A day, a month or a year in a text; `begins`: the word before it has a period begin there."""

    year: int | None
    month: int | None
    number: int | None
    begins: bool

    def days(self, year: int) -> tuple[date, date]:
        """Return its first and its last day in a year.

        Raises:
            ValueError: There is no such day.
        """
        first = date(year, self.month or 1, self.number or 1)
        if self.number:
            return first, first
        month = self.month or 12
        return first, date(year, month, calendar.monthrange(year, month)[1])


def period_of(text: str, today: date) -> tuple[str, str] | None:
    """Return the first and the last day of the period that a text names, as a plan would write them.

    Two dates are a period. One date is a day, a month or a year, or the beginning of a period: "since 2026-11-01". A
    date without a year is the last one that has begun. Weeks begin on Monday. A period that would begin before the
    calendar begins on the calendar's first day.
    """
    folded = _written_out(fold(text))
    written = [_read(match) for match in _matches(folded)]
    if spans := list(_days(written, today)):
        first, last = min(first for first, _ in spans), max(last for _, last in spans)
        if len(spans) == 1 and written[0].begins:
            last = max(today, first)
        return first.isoformat(), last.isoformat()
    for pattern, since, until in _PERIODS:
        if found := pattern.search(folded):
            count = next((value for value in found.groupdict().values() if value), "1")
            return _at_earliest(since.format(_NUMBERS.get(count, count)), today), until
    return None


def without_periods(text: str) -> str:
    """Return a folded text without its periods and dates, and without the words before these: "since", "до"."""
    text = _written_out(text)
    for match in reversed(_matches(text)):
        text = f"{text[: match.start()]} {text[match.end() :]}"
    for pattern, _, _ in _PERIODS:
        text = pattern.sub(" ", text)
    return text


def _at_earliest(text: str, today: date) -> str:
    try:
        day(text, today)
    except ValueError:
        return date.min.isoformat()
    return text


def _written_out(text: str) -> str:
    """Write "1 to 20 November" as "1 November to 20 November"."""
    text = _DAY_TO_DAY.sub(r"\1 \4 \2 \3 \4", text)
    return _MONTH_DAY_TO_DAY.sub(r"\2 \1 \3 \4 \1", text)


def _matches(text: str) -> list[re.Match[str]]:
    """Return what is a date, in its order, none of them within another."""
    found: list[re.Match[str]] = []
    for pattern in _DATES:
        for match in pattern.finditer(text):
            if all(match.end() <= other.start() or other.end() <= match.start() for other in found):
                found.append(match)
    return sorted(found, key=lambda match: match.start())


def _read(match: re.Match[str]) -> _Date:
    said = match.groupdict()
    month, number = said.get("m"), said.get("d")
    return _Date(
        year=int(said["y"]) if said.get("y") else None,
        month=None if not month else int(month) if month.isdecimal() else _MONTH_NUMBERS[month[:3]],
        number=int(re.sub(r"\D", "", number)) if number else None,
        begins=bool(_BEGINS.fullmatch(said["before"] or "")),
    )


def _days(written: list[_Date], today: date) -> Iterator[tuple[date, date]]:
    """Yield the first and the last day of each date; one that is not in the calendar is passed over."""
    before: date | None = None
    for place, one in enumerate(written):
        said = next((other.year for other in written[place + 1 :] if other.year), None)
        try:
            if one.year or before:
                year = one.year or (before or today).year
                span = one.days(year)
                if before and not one.year and span[0] < before:
                    span = one.days(year + 1)
            else:
                # Of "from 20 December to 10 January 2026", the first is of the year before.
                end = next(other.days(said)[0] for other in written if other.year) if said else today
                span = one.days(end.year)
                if span[0] > end:
                    span = one.days(end.year - 1)
        except ValueError:
            continue
        before = span[0]
        yield span
