"""The text of a cell of a spreadsheet: as it is shown, where its format is plain."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from math import isfinite
from typing import Final, NamedTuple

_LONGEST_FORMAT: Final = 255
"""Characters of a number's format; Excel takes no longer one."""
_MOST_DIGITS: Final = 25
"""Digits of a number that are written after its format."""
_RETURN: Final = "_x000D_"
"""Excel's way of keeping the first half of a line break."""
_PIECE = re.compile(r'"[^"]*"|\\.|;|[^";\\]+|.', re.DOTALL)
_LITERAL = r"""(?:"[^"]*"|\\.|\[\$[^\]-]*(?:-[0-9A-Fa-f]*)?\]|\[[A-Za-z]+\d*\]|_.|\*.|[%$€£¥₽()+ \u00a0-])*+"""
_NUMBER = re.compile(rf"(?P<before>{_LITERAL})(?P<digits>[#0,]*[#0])(?:\.(?P<decimals>0+))?(?P<after>{_LITERAL})")
_WRITTEN = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<single>.)|\[\$(?P<money>[^\]-]*)[^\]]*\]|\[[^\]]*\]|_.|\*.|(?P<bare>.)'
)


class _NumberFormat(NamedTuple):
    """A format for numbers of one sign.

    Attributes:
        digits: At least so many stand before the decimal point.
        decimals: So many stand behind it.
        percent: Whether the number is shown a hundredfold.
    """

    before: str
    digits: int
    decimals: int
    after: str
    percent: bool


_HIDDEN: Final = ""
_Section = _NumberFormat | str | None
"""A part of a format; `_HIDDEN` shows nothing, and `None` is none of the plain formats."""


def write_cell(value: object, number_format: str) -> str:
    """Return what a cell says.

    Dates are in ISO. Numbers have their decimals, percent and currency; thousands stand together, for the file does not
    say how its reader would divide them.

    Args:
        value: Text, a number, a boolean, a date, a time or a duration; `None` for an empty cell.
        number_format: The cell's format, as the file has it; one that shows nothing hides the value.
    """
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float):
        return _write_number(value, number_format)
    if isinstance(value, date | time | timedelta):
        return _write_time(value)
    sections = _sections(number_format)
    shown = len(sections) < 4 or sections[3] != _HIDDEN
    return str(value).replace(_RETURN, "").strip() if value is not None and shown else ""


def _write_time(value: date | time | timedelta) -> str:
    if isinstance(value, timedelta):
        seconds = round(abs(value).total_seconds())
        sign = "-" if value < timedelta() else ""
        return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if isinstance(value, time):
        return value.isoformat("seconds" if value.second else "minutes")
    if not isinstance(value, datetime) or value.time() == time():
        return f"{value:%Y-%m-%d}"
    return value.isoformat(" ", "seconds" if value.second else "minutes")


def _write_number(value: float, number_format: str) -> str:
    sections = _sections(number_format)
    place = 0 if value > 0 or len(sections) < 2 else 1 if value < 0 else 2
    section = sections[place if place < len(sections) else 0]
    if section == _HIDDEN:
        return ""
    general = str(value) if isinstance(value, int) else f"{value:.15g}"
    if not isinstance(section, _NumberFormat) or not isfinite(value) or abs(value) >= 10**_MOST_DIGITS:
        return general
    amount = abs(Decimal(general)) * (100 if section.percent else 1)
    number = f"{amount.quantize(Decimal(1).scaleb(-section.decimals), ROUND_HALF_UP):f}"
    whole, point, rest = number.partition(".")
    # A format of its own for negative numbers writes their sign, too.
    sign = "-" if value < 0 and place == 0 else ""
    return f"{sign}{section.before}{whole.zfill(section.digits)}{point}{rest}{section.after}".strip()


@lru_cache(maxsize=1000)
def _sections(number_format: str) -> tuple[_Section, ...]:
    """Return the parts of a format: for positive and negative numbers, for zero and for text; the first one always."""
    if len(number_format) > _LONGEST_FORMAT:
        return (None,)
    parts = [""]
    for piece in _PIECE.findall(number_format):
        if piece == ";":
            parts.append("")
        else:
            parts[-1] += piece
    return tuple(_section(part.strip()) if part.strip() or len(parts) > 1 else None for part in parts)


def _section(text: str) -> _Section:
    found = _NUMBER.fullmatch(text)
    if not found:
        return None if text else _HIDDEN
    decimals = len(found["decimals"] or "")
    digits = found["digits"].count("0")
    if digits + decimals > _MOST_DIGITS:
        return None
    before, percent_before = _write_literal(found["before"])
    after, percent_after = _write_literal(found["after"])
    return _NumberFormat(before, digits, decimals, after, percent_before or percent_after)


def _write_literal(text: str) -> tuple[str, bool]:
    """Return what stands beside a number, and whether a sign in it makes the number a percentage."""
    found = list(_WRITTEN.finditer(text))
    words = "".join(part["quoted"] or part["single"] or part["money"] or part["bare"] or "" for part in found)
    return words, any(part["bare"] == "%" for part in found)
