"""Table files as streams of rows: xlsx, csv and JSON lines.

A file is read twice, first to count and check its rows, then to ask them. It is never completely in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from contracts.errors import ConfigError, InputError

Cell = Any
"""Text, a number, a boolean, a date, a time, nothing; of JSON lines also lists and objects."""


class Formula(str):
    """A spreadsheet formula without a value, because no program has computed it yet."""

    __slots__ = ()


KINDS: Final = (".xlsx", ".csv", ".jsonl")
MOST_ROWS: Final = 1_048_576
MOST_COLUMNS: Final = 16_384


@dataclass(frozen=True, slots=True)
class Layout:
    """A mapping's settings for reading and writing files; an empty value is detected.

    Attributes:
        sheet: The sheet of a spreadsheet; empty means the first.
        encoding: Encoding of the csv file to read.
        delimiter: Delimiter of the csv file to read.
        header_row: The number of the header row; 0 means the first row that is not empty.
        out_delimiter: Delimiter of the csv file to write. Empty means that of the csv file that was read, or else a
            comma.
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
        number: The row number as spreadsheet programs show it: the header is row 1. For JSON lines, the line number.
        cells: One cell for each column of the table.
        fault: Why the row cannot be read; its cells are then empty.
    """

    number: int
    cells: tuple[Cell, ...]
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table file that was read through once.

    Attributes:
        header: The column names; columns beyond the header have empty names.
        count: The number of rows that are not empty.
        rows: Reads the file again.
        delimiter: The delimiter, for a csv file.
    """

    header: tuple[str, ...]
    count: int
    rows: Callable[[], Generator[SheetRow]]
    delimiter: str = ""


def kind_of(path: Path, name: str) -> str:
    """Return a file's kind, one of `KINDS`.

    Raises:
        InputError: The file is of another kind.
        ConfigError: The package that reads and writes spreadsheets is not installed.
    """
    kind = path.suffix.casefold()
    if kind not in KINDS:
        old = " Save it as .xlsx." if kind in (".xls", ".ods", ".xlsm", ".xlsb") else ""
        raise InputError(f"{name} {str(path)!r} is no .xlsx, .csv or .jsonl file.", f"Name one that is.{old}")
    if kind == ".xlsx" and find_spec("openpyxl") is None:
        raise needs_extra("Spreadsheets")
    return kind


def needs_extra(what: str) -> ConfigError:
    """Return the error for a missing package."""
    return ConfigError(
        f"{what} cannot be read or written: a package is missing.",
        "Install it: pip install 'guardian-assistant[batch]'.",
    )


def digest(path: Path) -> str:
    """Return the SHA-256 of a file's bytes.

    Raises:
        InputError: The file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(
            f"{str(path)!r} cannot be read: {error.strerror}.", "Check the path and its permissions."
        ) from error
