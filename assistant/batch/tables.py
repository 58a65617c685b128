"""Files of tables as streams of rows: xlsx, csv and JSON lines.

A file is read twice, once to be counted and checked, once to be asked; never is all of it in memory.
"""

from __future__ import annotations

import codecs
import csv
import hashlib
import json
import math
import re
import warnings
import zipfile
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from importlib.util import find_spec
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, Final, cast

from contracts.errors import ConfigError, GuardianError, InputError

Cell = Any
"""Text, a number, a boolean, a date, a time, nothing; of JSON lines also lists and objects."""


class Formula(str):
    """A formula of a spreadsheet that has no value there: no program has computed it yet."""

    __slots__ = ()


KINDS: Final = (".xlsx", ".csv", ".jsonl")
MOST_IN_CELL: Final = 32_767
"""UTF-16 units that a cell of a spreadsheet may have."""
MOST_ROWS: Final = 1_048_576
MOST_COLUMNS: Final = 16_384
_LARGEST_FIELD: Final = 50_000_000
"""Characters of one field of a csv file; the library's own limit is 131,072."""
_NUMBER_DIGITS: Final = 10**15
"""Spreadsheets round whole numbers from here on."""

_NO_SEPARATOR: Final = "\x1f"
"""Where a csv file has one column, commas are part of its text."""
_CUT: Final = "… [{units} characters in all; a spreadsheet's cell holds {most}]"
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)?")
_SEPARATOR = re.compile(r'\ufeff?"?sep=([^\w\s"]|\t)"?[\r\n]*', re.IGNORECASE)
"""A first line that tells a spreadsheet program what cuts the others, and is not shown by it."""
_HAS_FORMULA = re.compile(rb"<(?:\w{1,20}:)?f[\s/>]")
_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, slots=True)
class Layout:
    """What a mapping says of how files are written; empty: found out.

    Attributes:
        sheet: Of a spreadsheet; empty: the first one.
        encoding: Of a csv file that is read.
        delimiter: Of a csv file that is read.
        header_row: The number of the row that is the header; 0: the first one that is not empty.
        out_delimiter: Of a csv file that is written; empty: that of the one that was read, else a comma.
    """

    sheet: str = ""
    encoding: str = ""
    delimiter: str = ""
    header_row: int = 0
    out_delimiter: str = ""


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A row that is not empty.

    Attributes:
        number: As spreadsheet programs show it: the header is row 1. Of JSON lines: of the line.
        cells: As many as the table has columns.
        fault: Why the row cannot be read; its cells are empty then.
    """

    number: int
    cells: tuple[Cell, ...]
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A file that was looked through once.

    Attributes:
        header: The names of the columns; columns beyond the header have empty ones.
        count: Rows that are not empty.
        rows: Reads the file anew.
        delimiter: Of a csv file.
    """

    header: tuple[str, ...]
    count: int
    rows: Callable[[], Generator[SheetRow]]
    delimiter: str = ""


def kind_of(path: Path, name: str) -> str:
    """Return a file's kind, one of `KINDS`.

    Raises:
        InputError: It is none of them.
        ConfigError: What reads and writes spreadsheets is not installed.
    """
    kind = path.suffix.casefold()
    if kind not in KINDS:
        old = " Save it as .xlsx." if kind in (".xls", ".ods", ".xlsm", ".xlsb") else ""
        raise InputError(f"{name} {str(path)!r} is no .xlsx, .csv or .jsonl file.", f"Name one that is.{old}")
    if kind == ".xlsx" and find_spec("openpyxl") is None:
        raise needs_extra("Spreadsheets")
    return kind


def needs_extra(what: str) -> ConfigError:
    """Return the error of a missing library."""
    return ConfigError(
        f"{what} cannot be read or written: a package is missing.",
        "Install it: pip install 'guardian-assistant[batch]'.",
    )


def digest(path: Path) -> str:
    """Return the SHA-256 of a file's bytes.

    Raises:
        InputError: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(
            f"{str(path)!r} cannot be read: {error.strerror}.", "Check the path and its permissions."
        ) from error


# --------------------------------------------------------------------------------------------------------- reading


def open_table(path: Path, layout: Layout) -> Table:
    """Look a file through: its header, and how many rows it has.

    Raises:
        InputError: It cannot be read, or has no rows.
        ConfigError: What reads spreadsheets is not installed.
    """
    kind = kind_of(path, "IN")
    if kind == ".jsonl":
        return _count_rows(path, lambda: _lines(path))
    if kind == ".xlsx":
        return _count_rows(path, lambda: _with_header(_sheet(path, layout.sheet), layout.header_row))
    encoding = layout.encoding or _detect_encoding(path)
    delimiter = layout.delimiter or _delimiter(path, encoding, layout.header_row)
    table = _count_rows(path, lambda: _with_header(_checked_records(path, encoding, delimiter), layout.header_row))
    return Table(table.header, table.count, table.rows, "" if delimiter == _NO_SEPARATOR else delimiter)


_Named = tuple[int, dict[str | int, Cell] | str]
"""A row's number, and its cells by the name or, in a table with a header, the place of their columns; or its fault."""


def _count_rows(path: Path, read: Callable[[], Generator[_Named]]) -> Table:
    columns: dict[str | int, str] = {}
    count = 0
    fault = ""
    with closing(read()) as rows:
        for number, cells in rows:
            count += number > 0
            if isinstance(cells, str):
                fault = fault or cells
            elif number:
                columns.update({key: key if isinstance(key, str) else "" for key in cells if key not in columns})
            else:
                columns = {place: write_cell(name).strip() for place, name in cells.items()}
    if fault and not columns:
        raise InputError(fault, _ONE_OBJECT)
    if not count:
        raise InputError(f"{str(path)!r} has no rows below its header.", "Name a table that has questions.")
    places = sorted(columns) if all(isinstance(key, int) for key in columns) else list(columns)

    def again() -> Generator[SheetRow]:
        with closing(read()) as rows:
            for number, cells in rows:
                if isinstance(cells, str):
                    yield SheetRow(number, (None,) * len(places), f"{cells} {_ONE_OBJECT}")
                elif number:
                    yield SheetRow(number, tuple(cells.get(place) for place in places))

    return Table(tuple(columns[place] for place in places), count, again)


def _with_header(rows: Generator[tuple[int, Sequence[Cell]]], header_row: int) -> Generator[_Named]:
    """Return the header with the number 0, then the rows; of each the cells that are not empty.

    Raises:
        InputError: The row that is to be the header is empty.
    """
    with closing(rows):
        header = True
        for number, cells in rows:
            filled = [place for place, cell in enumerate(cells) if not is_empty(cell)]
            if not filled or (header and number < header_row):
                continue
            if header and header_row and number > header_row:
                raise InputError(
                    f"Row {header_row} of IN, which is to be its header, is empty.",
                    "Correct header_row in the mapping.",
                )
            if header:
                # Columns without a name between two that have one are columns, too.
                yield 0, dict(enumerate(cells[: filled[-1] + 1]))
                header = False
            else:
                yield number, {place: cells[place] for place in filled}


def is_empty(cell: Cell) -> bool:
    """Whether there is nothing in a cell."""
    return cell is None or (isinstance(cell, str) and not cell.strip())


def _sheet(path: Path, name: str) -> Generator[tuple[int, Sequence[Cell]]]:
    from openpyxl import load_workbook

    def strange(error: Exception) -> InputError:
        return InputError(
            f"{str(path)!r} cannot be read as a spreadsheet: {error or type(error).__name__}.",
            "Open it in a spreadsheet program and save it as .xlsx, without a password.",
        )

    try:
        with _without_warnings():
            book = load_workbook(path, read_only=True, data_only=True)
    except Exception as error:  # the library raises whatever it meets in a broken file
        raise strange(error) from error
    with closing(book):
        sheets = {sheet.title: sheet for sheet in book.worksheets}
        if not sheets or (name and name not in sheets):
            raise InputError(
                f"{str(path)!r} has no sheet {name!r}.", f"It has: {', '.join(map(repr, sheets)) or 'none'}."
            )
        sheet: Any = sheets[name] if name else next(iter(sheets.values()))
        # What a program wrote about the size of the sheet may be wrong.
        sheet.reset_dimensions()
        rows = _with_formulas(path, sheet) if _has_formulas(path) else sheet.iter_rows(values_only=True)
        number = 0
        while True:
            try:
                with _without_warnings():
                    cells = next(rows, None)
            except Exception as error:  # as above
                raise strange(error) from error
            if cells is None:
                return
            number += 1
            # Excel's way of keeping the first half of a line break.
            yield number, [cell.replace("_x000D_", "") if type(cell) is str else cell for cell in cells]


def _has_formulas(path: Path) -> bool:
    with zipfile.ZipFile(path) as book:
        for name in book.namelist():
            if name.startswith("xl/worksheets/") and name.endswith(".xml"):
                with book.open(name) as file:
                    before = b""
                    while block := file.read(1 << 20):
                        if _HAS_FORMULA.search(before + block):
                            return True
                        before = block[-30:]
    return False


def _with_formulas(path: Path, sheet: Any) -> Iterator[Sequence[Cell]]:
    """Return the values of a sheet, and a `Formula` for one that has none; what was computed to be empty is empty."""
    from openpyxl import load_workbook

    with closing(load_workbook(path, read_only=True)) as book:
        same = cast("Any", book[sheet.title])
        same.reset_dimensions()
        for values, formulas in zip_longest(sheet.iter_rows(), same.iter_rows(), fillvalue=()):
            yield [
                Formula(getattr(formula.value, "text", formula.value) or "=")
                if value.value is None and value.data_type != "str" and formula.data_type == "f"
                else value.value
                for value, formula in zip(values, formulas, strict=True)
            ]


@contextmanager
def _without_warnings() -> Generator[None]:
    """Keep the library's remarks about styles and dates off the terminal: nothing of ours depends on them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _detect_encoding(path: Path) -> str:
    """Return the encoding of a csv file: by its first bytes, else UTF-8 where all of it is that, else Windows-1251."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        begin = file.read(4)
        for mark, encoding in _BOMS:
            if begin.startswith(mark):
                return encoding
        file.seek(0)
        try:
            while block := file.read(1 << 16):
                decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            _refuse_broken(path)
            return "cp1251"
    return "utf-8"


def _refuse_broken(path: Path) -> None:
    """Raise `InputError` where a file is UTF-8 but for some bytes: most of its letters are that."""
    right = wrong = first = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            text = line.decode("utf-8", "ignore")
            right += len(text) - len(text.encode("ascii", "ignore"))
            lost = line.decode("utf-8", "replace").count("\ufffd") - text.count("\ufffd")
            wrong += lost
            first = first or (number if lost else 0)
    if right > wrong:
        raise InputError(
            f"Line {first} of {str(path)!r} has bytes that are no UTF-8, as the rest of it is.",
            'Save it again as UTF-8, or name its encoding in the mapping: encoding = "cp1251".',
        )


def _delimiter(path: Path, encoding: str, header_row: int) -> str:
    """Return what the first line names, else what cuts the header into most columns."""
    with suppress(LookupError, UnicodeError), path.open(encoding=encoding, newline="") as file:
        if named := _SEPARATOR.fullmatch(file.readline(20)):
            return named[1]

    def columns(delimiter: str) -> int:
        with closing(_records(path, encoding, delimiter)) as rows:
            headers = (cells for number, cells in rows if number >= header_row and any(map(str.strip, cells)))
            return len(next(headers, ()))

    found = {delimiter: columns(delimiter) for delimiter in (",", ";", "\t")}
    best = max(found, key=lambda delimiter: found[delimiter])
    return best if found[best] > 1 else _NO_SEPARATOR


def _checked_records(path: Path, encoding: str, delimiter: str) -> Generator[tuple[int, list[str]]]:
    """Return rows, none of which has a quote that swallowed others.

    Raises:
        InputError: One has, or the file cannot be read.
    """
    lines: list[str] = []
    with closing(_records(path, encoding, delimiter, lines.append)) as rows:
        for number, cells in rows:
            if _is_open(lines, delimiter):
                raise InputError(
                    f"Row {number} of {str(path)!r} has a quotation mark that is not closed, and would swallow the rows "
                    "below.",
                    'Close it; a quotation mark inside of a quoted cell is written twice, as in "a ""b"" c".',
                )
            lines.clear()
            yield number, cells


def _is_open(lines: Sequence[str], delimiter: str) -> bool:
    """Whether the lines of one row are not closed where they end, or several lines are not quoted as a whole."""
    if len(lines) == 1 and lines[0].count('"') % 2 == 0:
        return False
    try:
        list(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error as error:
        return len(lines) > 1 or "unexpected end" in str(error)
    return False


def _records(
    path: Path, encoding: str, delimiter: str, seen: Callable[[str], None] | None = None
) -> Generator[tuple[int, list[str]]]:
    csv.field_size_limit(_LARGEST_FIELD)
    # Windows-1251 has one byte that stands for nothing.
    errors = "replace" if encoding == "cp1251" else "strict"
    try:
        with path.open(encoding=encoding, errors=errors, newline="") as file:
            first = file.readline()
            lines = file if _SEPARATOR.fullmatch(first) else chain([first], file)
            yield from enumerate(csv.reader(_report_each(lines, seen) if seen else lines, delimiter=delimiter), 1)
    except UnicodeError as error:
        raise InputError(
            f"{str(path)!r} is not written in {encoding}.", 'Name its encoding in the mapping: encoding = "cp1251".'
        ) from error
    except LookupError as error:
        raise InputError(f"There is no encoding {encoding!r}.", "Name one, such as utf-8 or cp1251.") from error
    except csv.Error as error:
        raise InputError(f"{str(path)!r} cannot be read as csv: {error}.", "Save it again as UTF-8 csv.") from error


def _report_each(lines: Iterable[str], seen: Callable[[str], None]) -> Iterator[str]:
    for line in lines:
        seen(line)
        yield line


_ONE_OBJECT: Final = "Write one JSON object a line, in UTF-8."


def _lines(path: Path) -> Generator[_Named]:
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            if not raw.strip(b" \t\r\n" + codecs.BOM_UTF8):
                continue
            try:
                value: Any = json.loads(raw.decode("utf-8-sig"), parse_constant=str)
            except (ValueError, RecursionError):
                yield number, f"Line {number} of IN is no JSON."
                continue
            if not isinstance(value, dict):
                yield number, f"Line {number} of IN is no JSON object."
                continue
            cells = cast("dict[str | int, Cell]", value)
            if not all(is_empty(cell) for cell in cells.values()):
                yield number, cells


def write_cell(cell: Cell) -> str:  # noqa: PLR0911 - one line per kind of cell
    """Return a cell as text: dates as ISO writes them, lists and objects as JSON."""
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


# --------------------------------------------------------------------------------------------------------- writing


class TableWriter:
    """Takes rows of cells, in order.

    Attributes:
        shortened: Cells that were longer than a spreadsheet's may be.
    """

    def __init__(self, write: Callable[[Sequence[Cell]], None]) -> None:
        self._write = write
        self.shortened = 0

    def write(self, cells: Sequence[Cell]) -> None:
        """Write one row."""
        self._write(cells)


def open_writer(path: Path, kind: str, header: Sequence[str], delimiter: str) -> AbstractContextManager[TableWriter]:
    """Write a table of a kind of `KINDS`, whatever the file's name; it is whole when the block has ended.

    Raises:
        GuardianError: It cannot be written.
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
    """Return text that no spreadsheet program takes for a formula (OWASP, CSV injection); a plain number stays one."""
    text = write_cell(cell)
    formula = isinstance(cell, str) and _FORMULA.match(text) and not _NUMBER.fullmatch(text)
    return f"'{text}" if formula else text


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
    """Return names of columns of which no two are alike and none is empty, those that are so already unchanged."""
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
    """Return what a spreadsheet's cell can hold; text that is cut says so at its end."""
    encoded = text.encode("utf-16-le")
    units = len(encoded) // 2
    if units <= MOST_IN_CELL:
        return text
    note = _CUT.format(units=f"{units:,}", most=f"{MOST_IN_CELL:,}")
    return encoded[: 2 * (MOST_IN_CELL - len(note))].decode("utf-16-le", "ignore") + note
