"""Reading of tables from xlsx, csv and jsonl files, row by row."""

from __future__ import annotations

import codecs
import csv
import json
import re
import warnings
import zipfile
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, Final, cast

from assistant.batch.table_writer import write_cell
from assistant.batch.tables import Cell, Formula, Layout, SheetRow, Table, kind_of
from contracts.errors import InputError

_LARGEST_FIELD: Final = 50_000_000
"""Characters of one field of a csv file; the library's own limit is 131,072."""
_NO_SEPARATOR: Final = "\x1f"
"""Where a csv file has one column, commas are part of its text."""
_SEPARATOR = re.compile(r'\ufeff?"?sep=([^\w\s"]|\t)"?[\r\n]*', re.IGNORECASE)
"""A first line that tells a spreadsheet program what cuts the others, and is not shown by it."""
_HAS_FORMULA = re.compile(rb"<(?:\w{1,20}:)?f[\s/>]")
_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def open_table(path: Path, layout: Layout) -> Table:
    """Read a file once and return it as a table, with its header and its number of rows.

    Raises:
        InputError: The file cannot be read, or has no rows.
        ConfigError: The package that reads spreadsheets is not installed.
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
    """Whether a cell is empty."""
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
