"""Days as a plan or a profile writes them: by the calendar, or counted from one that everybody knows."""

from __future__ import annotations

import calendar
import re
from datetime import date, timedelta
from typing import Final

_COUNTED: Final = re.compile(r"(today|week|month|year)((?:[+-]\d{1,4}[dwmy]){0,4})", re.ASCII)
_STEP: Final = re.compile(r"([+-]\d{1,4})([dwmy])", re.ASCII)


def day(text: str, today: date) -> date:
    """Return the day that a text names: see `contracts.lookups.ArgumentType`.

    Raises:
        ValueError: It names no day.
    """
    counted = _COUNTED.fullmatch(text)
    try:
        if counted is None:
            return date.fromisoformat(text if re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII) else "")
        found = {
            "today": today,
            "week": today - timedelta(days=today.weekday()),
            "month": today.replace(day=1),
            "year": today.replace(month=1, day=1),
        }[counted[1]]
        for number, unit in _STEP.findall(counted[2]):
            found = _step(found, int(number), unit)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text[:40]!r} is not a date: write 2026-11-22, today, week-1w or month-1d") from error
    return found


def _step(start: date, number: int, unit: str) -> date:
    if unit in "dw":
        return start + timedelta(days=number * (7 if unit == "w" else 1))
    months = start.year * 12 + start.month - 1 + number * (12 if unit == "y" else 1)
    year, month = months // 12, months % 12 + 1
    if not 1 <= year <= 9999:
        raise ValueError("no such year")
    return date(year, month, min(start.day, calendar.monthrange(year, month)[1]))
