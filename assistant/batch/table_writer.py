"""Writing of tables to xlsx, csv and jsonl files, row by row."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import date, datetime, time, timedelta
from itertools import chain
from pathlib import Path
from typing import Any, Final, cast

from assistant.batch.tables import Cell
from contracts.errors import GuardianError
from rendering.columns import without_formula

MOST_IN_CELL: Final = 32_767
"""UTF-16 units that a cell of a spreadsheet may have."""
_NUMBER_DIGITS: Final = 10**15
"""Spreadsheets round whole numbers from here on."""
_CUT: Final = "… [{units} characters in all; a spreadsheet's cell holds {most}]"
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)?")


def write_cell(cell: Cell) -> str:  # noqa: PLR0911 - one line per kind of cell
    """Return a cell as text: dates in ISO format, lists and objects as JSON."""
    match cell:
        case None:
            return ""
        case str():
            return cell
        case bool():
            return "true" if cell else "false"
        case datetime() if cell.time() == time():
            return cell.date().isoformat()
        case datetime():
            return cell.isoformat(sep=" ", timespec="seconds")
        case date() | time():
            return cell.isoformat()
        case float() if cell.is_integer() and abs(cell) < _NUMBER_DIGITS:
            return str(int(cell))
        case list() | dict():
            return json.dumps(_plain(cell), ensure_ascii=False)
        case _:
            return str(cell)


class TableWriter:
    """A writer that accepts rows of cells, in order.

    Attributes:
        shortened: Cells that were longer than a spreadsheet allows.
    """

    def __init__(self, write: Callable[[Sequence[Cell]], None]) -> None:
        self._write = write
        self.shortened = 0

    def write(self, cells: Sequence[Cell]) -> None:
        """Write one row."""
        self._write(cells)


def open_writer(path: Path, kind: str, header: Sequence[str], delimiter: str) -> AbstractContextManager[TableWriter]:
    """Open a writer for a kind of `KINDS`, whatever the file's name; the file is complete when the block ends.

    Raises:
        GuardianError: The file cannot be written.
    """
    work = {".xlsx": _book, ".csv": _csv, ".jsonl": _json_lines}[kind]
    return _translate_errors(path, work(path, header, delimiter))


@contextmanager
def _translate_errors(path: Path, work: AbstractContextManager[TableWriter]) -> Generator[TableWriter]:
    try:
        with work as writer:
            yield writer
    except OSError as error:
        raise GuardianError(
            f"{str(path)!r} cannot be written: {error.strerror}.", "Check free space and permissions of its folder."
        ) from error


@contextmanager
def _csv(path: Path, header: Sequence[str], delimiter: str) -> Generator[TableWriter]:
    # With a mark at its beginning: spreadsheet programs take a file without one for the system's own encoding.
    with path.open("w", encoding="utf-8-sig", errors="replace", newline="") as file:
        rows = csv.writer(file, delimiter=delimiter or ",")

        def write(cells: Sequence[Cell]) -> None:
            rows.writerow([_harmless(cell) for cell in cells])

        write(header)
        yield TableWriter(write)


def _harmless(cell: Cell) -> str:
    text = write_cell(cell)
    # A plain number stays one.
    return without_formula(text) if isinstance(cell, str) and not _NUMBER.fullmatch(text) else text


@contextmanager
def _json_lines(path: Path, header: Sequence[str], delimiter: str) -> Generator[TableWriter]:
    del delimiter
    names = unique(header)
    with path.open("w", encoding="utf-8") as file:

        def write(cells: Sequence[Cell]) -> None:
            file.write(f"{_json(dict(zip(names, map(_plain, cells), strict=True)))}\n")

        yield TableWriter(write)


def _plain(cell: Cell) -> Cell:
    """Return what JSON has: dates and numbers that are none as text."""
    match cell:
        case date() | time() | timedelta():
            return write_cell(cell)
        case float() if not math.isfinite(cell):
            return str(cell)
        case list():
            return [_plain(item) for item in cast("list[Cell]", cell)]
        case dict():
            return {name: _plain(item) for name, item in cast("dict[str, Cell]", cell).items()}
        case _:
            return cell


def _json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value)
    return text


def unique(header: Sequence[str]) -> list[str]:
    """Return column names that are all different and not empty; names that are so already stay unchanged."""
    taken: dict[str, None] = {}
    for place, name in enumerate(header, 1):
        wanted = name or f"column {place}"
        others = (f"{wanted} ({number})" for number in range(2, len(header) + 2))
        taken[next(candidate for candidate in chain([wanted], others) if candidate not in taken)] = None
    return list(taken)


@contextmanager
def _book(path: Path, header: Sequence[str], delimiter: str) -> Generator[TableWriter]:
    del delimiter
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    book = Workbook(write_only=True)
    sheet: Any = book.create_sheet("answers")
    sheet.freeze_panes = "A2"

    def cell_of(value: Cell) -> object:
        if value is None or isinstance(value, bool | date | time | timedelta):
            return value
        if isinstance(value, int | float) and abs(value) < _NUMBER_DIGITS and math.isfinite(value):
            return value
        text = _NOT_IN_XML.sub("", write_cell(value))
        short = cut_to_cell(text)
        writer.shortened += short != text
        cell: Any = WriteOnlyCell(sheet, value=" ")
        # Not by its setter, which makes a formula of what begins like one.
        cell._value = short  # noqa: SLF001
        cell.data_type = "s"
        return cell

    def write(cells: Sequence[Cell]) -> None:
        sheet.append([cell_of(value) for value in cells])

    writer = TableWriter(write)
    try:
        write(header)
        yield writer
    except BaseException:
        # Its rows are in a file of the system's folder for such, which goes with its end.
        sheet.close()
        raise
    book.save(path)


def cut_to_cell(text: str) -> str:
    """Return a text cut to a spreadsheet's cell limit; a text that is cut says so at its end."""
    encoded = text.encode("utf-16-le")
    units = len(encoded) // 2
    if units <= MOST_IN_CELL:
        return text
    note = _CUT.format(units=f"{units:,}", most=f"{MOST_IN_CELL:,}")
    return encoded[: 2 * (MOST_IN_CELL - len(note))].decode("utf-16-le", "ignore") + note
