"""Files of tables as streams of rows: xlsx, csv and JSON lines.

A file is read twice, once to be counted and checked, once to be asked; never is all of it in memory.
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
    """A formula of a spreadsheet that has no value there: no program has computed it yet."""

    __slots__ = ()


KINDS: Final = (".xlsx", ".csv", ".jsonl")
MOST_ROWS: Final = 1_048_576
MOST_COLUMNS: Final = 16_384


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
