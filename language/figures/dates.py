"""Dates and times of day in Russian and English, compared by meaning.

A date in digits with two possible readings ("05/06/2026") means both. A date without year or day is supported by every
fuller date that agrees with it.
"""

from __future__ import annotations

import re
from typing import Final

from language.patterns import read_wording

_WORDING: Final = read_wording(__name__)

Date = tuple[int | None, int | None, int | None]
"""Year, month and day; what is not said is `None`."""

_MONTHS: Final = {word: int(number) for number, words in _WORDING.forms("months").items() for word in words.split()}
_S = r"[ \u00a0\u202f]"

DATE: Final = _WORDING.pattern("date", s=_S)

TIME: Final = re.compile(
    r"(?<![\w:.,-])(?P<hour>[01]?\d|2[0-4])(?::(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d))?(?![\w:])|(?=[ \u00a0]?[ap]\.?m\b))"
    r"(?:[ \u00a0]?(?P<half>[ap])\.?m\b\.?)?",
    re.IGNORECASE,
)
"""A time of day in a text; `time_of` says what it means."""


def read(match: re.Match[str]) -> frozenset[Date]:
    """Return the dates that a match of `DATE` may mean; none if it is not a date."""
    found: list[tuple[str | None, int, str | None]] = []
    if "may" in (match["wm"], match["em"]) and not (match["wy"] or match["ey"]):
        return frozenset()  # "20 may fail"
    if match["iso"]:
        found = [(match["iy"], int(match["im"]), match["id"])]
    elif match["ymd"]:
        found = [(match["yy"], int(match["ym"]), match["yd"])]
    elif match["dmy"]:
        found = [(match["dy"], int(match["db"]), match["da"])]
        if match["mark"] != ".":
            found.append((match["dy"], int(match["da"]), match["db"]))
    elif match["dm"]:
        found = [(match["wy"], _month(match["wm"]), match["wd"])]
    elif match["md"]:
        found = [(match["ey"], _month(match["em"]), match["ed"])]
    elif match["my"]:
        found = [(match["oy"], _month(match["om"]), None)]
    return frozenset(
        (int(year) if year else None, month, int(day) if day else None)
        for year, month, day in found
        if 1 <= month <= 12 and (day is None or 1 <= int(day) <= 31)
    )


def agrees(claimed: Date, there: Date) -> bool:
    """Whether a date in a passage supports a claimed date."""
    return all(said is None or said == known for said, known in zip(claimed, there, strict=True))


def time_of(match: re.Match[str]) -> str:
    """Return a match of `TIME` as `14:30`, or `14:30:05` if it has seconds."""
    hour, half = int(match["hour"]), (match["half"] or "").lower()
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    seconds = match["second"]
    return f"{hour}:{match['minute'] or '00'}" + (f":{seconds}" if seconds and seconds != "00" else "")


def _month(word: str) -> int:
    return _MONTHS[word.lower()[:3]]
