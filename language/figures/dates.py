"""Dates and times of day as they are written in Russian and English, compared by what they mean.

A date of figures that can be read in two ways ("05/06/2026") is both. A date without its year or day is
supported by every fuller one that agrees with it.
"""

from __future__ import annotations

import re
from typing import Final

Date = tuple[int | None, int | None, int | None]
"""Year, month and day; what is not said is `None`."""

_MONTHS: Final = {
    "jan": 1, "янв": 1, "feb": 2, "фев": 2, "mar": 3, "мар": 3, "apr": 4, "апр": 4, "may": 5, "мая": 5, "май": 5,
    "мае": 5, "jun": 6, "июн": 6, "jul": 7, "июл": 7, "aug": 8, "авг": 8, "sep": 9, "сен": 9, "oct": 10, "окт": 10,
    "nov": 11, "ноя": 11, "dec": 12, "дек": 12,
}  # fmt: skip
_MONTH = (
    r"(?:jan(?:uary|\.)?|feb(?:ruary|\.)?|mar(?:ch|\.)?|apr(?:il|\.)?|may|june?\.?|july?\.?|aug(?:ust|\.)?|sept?(?:ember|\.)?|"
    r"oct(?:ober|\.)?|nov(?:ember|\.)?|dec(?:ember|\.)?|январ[ьяею]|феврал[ьяею]|март[ае]?|апрел[ьяею]|ма[йяе]|июн[ьяею]|"
    r"июл[ьяею]|август[ае]?|сентябр[ьяею]|октябр[ьяею]|ноябр[ьяею]|декабр[ьяею])(?![\w])"
)
_S = r"[ \u00a0\u202f]"

DATE: Final = re.compile(
    rf"(?<![\w./-])(?:"
    rf"(?P<iso>(?P<iy>\d{{4}})-(?P<im>\d{{1,2}})-(?P<id>\d{{1,2}}))(?!\d|-\d)"
    rf"|(?P<ymd>(?P<yy>\d{{4}})[/.](?P<ym>\d{{1,2}})[/.](?P<yd>\d{{1,2}}))(?![\d/]|\.\d)"
    rf"|(?P<dmy>(?P<da>\d{{1,2}})(?P<mark>[./-])(?P<db>\d{{1,2}})(?P=mark)(?P<dy>\d{{4}}))(?![\d/]|[.-]\d)"
    rf"|(?P<dm>(?P<wd>\d{{1,2}})(?:st|nd|rd|th|-?го|-?е)?{_S}(?:of{_S})?(?P<wm>{_MONTH})(?:{_S}?,?{_S}(?P<wy>\d{{4}})(?!\d))?)"
    rf"|(?P<md>(?P<em>{_MONTH}){_S}(?P<ed>\d{{1,2}})(?:st|nd|rd|th)?(?![\w:])(?!{_S}?[-–][\d])(?:{_S}?,?{_S}(?P<ey>\d{{4}})(?!\d))?)"
    rf"|(?P<my>(?P<om>{_MONTH}){_S}?,?{_S}(?P<oy>\d{{4}})(?!\d))"
    rf")",
    re.IGNORECASE,
)
"""A date in a text; `read` says what it means."""

TIME: Final = re.compile(
    r"(?<![\w:.,-])(?P<hour>[01]?\d|2[0-4])(?::(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d))?(?![\w:])|(?=[ \u00a0]?[ap]\.?m\b))"
    r"(?:[ \u00a0]?(?P<half>[ap])\.?m\b\.?)?",
    re.IGNORECASE,
)
"""A time of day in a text; `time_of` says what it means."""


def read(match: re.Match[str]) -> frozenset[Date]:
    """Return what a match of `DATE` may mean; nothing where it is no date."""
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
    """Whether a date that is there says all that is claimed."""
    return all(said is None or said == known for said, known in zip(claimed, there, strict=True))


def time_of(match: re.Match[str]) -> str:
    """Return a match of `TIME` as `14:30`, or `14:30:05` where it has seconds."""
    hour, half = int(match["hour"]), (match["half"] or "").lower()
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    seconds = match["second"]
    return f"{hour}:{match['minute'] or '00'}" + (f":{seconds}" if seconds and seconds != "00" else "")


def _month(word: str) -> int:
    return _MONTHS[word.lower()[:3]]
