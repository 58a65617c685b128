"""Turns as CSV for a spreadsheet and as JSONL for programs."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from io import StringIO
from typing import Any, Final, cast

from assistant.review.records import TurnRecord
from rendering.columns import without_formula

COLUMNS: Final = tuple(TurnRecord.model_fields)
Write = Callable[[TurnRecord], str]


def csv_line(record: TurnRecord) -> str:
    """Return a turn as a line of CSV (RFC 4180); a cell that a spreadsheet would compute begins with an apostrophe."""
    return _write([_cell(value) for value in record.model_dump(mode="json").values()])


def csv_head() -> str:
    """Return the line of CSV with the names of the columns."""
    return _write(COLUMNS)


def json_line(record: TurnRecord) -> str:
    """Return a turn as a line of JSONL."""
    return f"{json.dumps(record.model_dump(mode='json'), ensure_ascii=False)}\n"


def _write(cells: Any) -> str:
    text = StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return without_formula(", ".join(cast("list[str]", value)) if isinstance(value, list) else str(value))
