"""What a sheet of a spreadsheet says about its cells beside their values: which are hidden, merged, or not computed.

openpyxl keeps this only for sheets that it holds in memory as a whole, where a small file can ask for any amount of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import IO, Final

from adapters.reading.document import Unfit

MAX_CELLS: Final = 1_000_000
"""Cells of a sheet that have a value."""
MAX_COLUMNS: Final = 1_000
"""Columns up to the last one that is shown and has a value."""
_LAST_ROW: Final = 1_048_576
_BLOCK: Final = 1 << 16
_TRUE: Final = ("1", "true")


MOST_MERGED = 20_000
"""Merged cells of a sheet that are looked at; of more, the value may be said again in each row."""


@dataclass(slots=True)
class SheetLayout:
    """The layout of a sheet; rows and columns count from 1.

    Attributes:
        width: The last shown column that has a value; 0 if none has one.
        hidden_rows: Rows that are not shown.
        hidden_columns: The same of columns.
        merged: First row, last row, first column and last column of merged cells.
        uncomputed: Whether a formula has no value, because no program has computed it yet.
    """

    width: int = 0
    hidden_rows: set[int] = field(default_factory=set[int])
    hidden_columns: set[int] = field(default_factory=set[int])
    merged: list[tuple[int, int, int, int]] = field(default_factory=list[tuple[int, int, int, int]])
    uncomputed: bool = False


def read_layout(part: IO[bytes]) -> SheetLayout:
    """Read the layout of a sheet, in one pass that keeps none of its cells.

    Args:
        part: The sheet as it stands in the archive.

    Raises:
        Unfit: It has too many cells.
        ExpatError, ValueError, KeyError: It is damaged.
    """
    from xml.parsers.expat import ParserCreate

    reading = _LayoutReading()
    parser = ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = reading.open
    parser.EndElementHandler = reading.close
    parser.CharacterDataHandler = reading.take
    parser.StartDoctypeDeclHandler = _refuse
    while block := part.read(_BLOCK):
        parser.Parse(block)
    parser.Parse(b"", True)
    return reading.layout


def _refuse(*_: object) -> None:
    """No program that makes spreadsheets declares entities."""
    raise ValueError("a document type")


class _LayoutReading:
    def __init__(self) -> None:
        self.layout = SheetLayout()
        self._row = self._column = self._cells = 0
        self._kind = ""
        self._inside = self._has_formula = self._has_value = False

    def open(self, name: str, attributes: Mapping[str, str]) -> None:
        from openpyxl.utils.cell import coordinate_to_tuple, range_boundaries

        tag = name.rpartition(" ")[2]
        if tag == "c":
            place = attributes.get("r")
            self._column = coordinate_to_tuple(place)[1] if place else self._column + 1
            self._kind = attributes.get("t", "")
            self._has_formula = self._has_value = False
        elif tag in ("v", "t"):
            self._inside = True
        elif tag == "f":
            self._has_formula = True
        elif tag == "row":
            self._open_row(attributes)
        elif tag == "col":
            if _is_hidden(attributes, "width"):
                last = min(int(attributes["max"]), MAX_COLUMNS + 1)
                self.layout.hidden_columns.update(range(int(attributes["min"]), last + 1))
        elif tag == "mergeCell":
            left, top, right, bottom = (int(edge or 0) for edge in range_boundaries(attributes["ref"]))
            if len(self.layout.merged) < MOST_MERGED:
                self.layout.merged.append((top, bottom, left, right))

    def _open_row(self, attributes: Mapping[str, str]) -> None:
        self._row = int(attributes.get("r") or self._row + 1)
        self._column = 0
        if self._row > _LAST_ROW:
            raise ValueError(f"row {self._row}")
        if _is_hidden(attributes, "ht"):
            self.layout.hidden_rows.add(self._row)

    def take(self, _: str) -> None:
        self._has_value |= self._inside

    def close(self, name: str) -> None:
        tag = name.rpartition(" ")[2]
        if tag in ("v", "t"):
            self._inside = False
        elif tag == "c":
            self._close_cell()

    def _close_cell(self) -> None:
        # Text that was computed to be empty has a kind.
        self.layout.uncomputed |= self._has_formula and not self._has_value and self._kind != "str"
        if not self._has_value or self._row in self.layout.hidden_rows or self._column in self.layout.hidden_columns:
            return
        self._cells += 1
        self.layout.width = max(self.layout.width, self._column)
        if self._cells > MAX_CELLS:
            raise Unfit(f"has a sheet of more than {MAX_CELLS:,} cells: split it")
        if self.layout.width > MAX_COLUMNS:
            raise Unfit(f"has a sheet of more than {MAX_COLUMNS:,} columns: split it")


def _is_hidden(attributes: Mapping[str, str], size: str) -> bool:
    return attributes.get("hidden") in _TRUE or attributes.get(size) in ("0", "0.0")


def sweep_merged(layout: SheetLayout) -> Iterator[set[int]]:
    """Yield row by row, without end, the columns under merged cells, whose value stands in their first row and column."""
    waiting = sorted(set(layout.merged), reverse=True)
    begun: list[tuple[int, int, int, int]] = []
    for row in count(1):
        while waiting and waiting[-1][0] <= row:
            begun.append(waiting.pop())
        begun = [merged for merged in begun if merged[1] >= row]
        yield {
            column
            for top, _, left, right in begun
            for column in range(left + (row == top), min(right, layout.width) + 1)
        }
