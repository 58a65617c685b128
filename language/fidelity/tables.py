"""Cells of a table that a claim assigns to another row."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from language.clean import fold
from language.fidelity.bindings import LEAST_WORDS
from language.figures.nearest import pieces_in_order
from language.figures.passage import ReadPassage
from language.patterns import read_wording
from language.words import stem, stop_words

_WORDING: Final = read_wording(__name__)


def from_other_rows(claim: str, cited: Iterable[ReadPassage]) -> list[str]:
    """Return the values and cells of a claim that its own row of a table does not have, but other rows have.

    A row is the claim's own if the claim has all words of the row's first cell; a claim that is a row must have them in
    its first cell.
    """
    return _values_of_other_rows(claim, cited) or _cells_of_other_rows(claim, cited)


def _cells_of_other_rows(claim: str, cited: Iterable[ReadPassage]) -> list[str]:
    """Return whole cells that a claim gives to a row which has another one in their column.

    The claim must begin with the row's first cell, or be a row itself: elsewhere a cell's words may be anybody's.
    """
    said = _cell_words(claim)
    begins = [fold(word) for word in _TOKEN.findall(_TAG.sub(" ", claim))]
    for there in cited:
        for rows in _tables(there.text).tables:
            named = [row.begins for row in rows if row.begins and begins[: len(row.begins)] == list(row.begins)]
            if not named:
                if cell := _cell_with_other_words(said, rows):
                    return [cell]
                continue
            # Rows may share their first cell: which of them the claim is about is not known, so each is its own.
            own = max(named, key=len)
            mine = [row for row in rows if row.begins == own]
            words = frozenset[str]().union(*(row.words for row in mine))
            for column in range(max(len(row.cells) for row in mine)):
                there_said = [row.cells[column] for row in mine if column < len(row.cells)]
                if any(cell and len(cell & said) * 2 >= len(cell) for cell in there_said):
                    break
                for row in rows:
                    if row.begins == own or column >= len(row.cells):
                        continue
                    if (cell := row.cells[column] - words) and cell <= said:
                        return [" ".join(row.written[column].split())[:_SHOWN]]
    return []


def _cell_with_other_words(said: frozenset[str], rows: Sequence[_TableRow]) -> str:
    """Return the cell whose words a claim has where the row that it names has other ones: "green" for what blue stands for.

    Both cells must share some words with the claim and with each other, for a claim may be about neither.
    """
    named = [row for row in rows if row.key and row.key <= said and not all(map(str.isdigit, row.key))]
    if len(named) != 1:
        return ""
    [own] = named
    for column, mine in enumerate(own.cells):
        for row in rows:
            if row is own or column >= len(row.cells):
                continue
            theirs = row.cells[column] - mine
            shared = row.cells[column] & mine & said
            if theirs and theirs <= said and not (mine - row.cells[column]) & said and len(shared) >= LEAST_WORDS:
                return " ".join(row.written[column].split())[:_SHOWN]
    return ""


_SHOWN: Final = 60
"""Characters of a cell that a reason names."""


def _values_of_other_rows(claim: str, cited: Iterable[ReadPassage]) -> list[str]:
    said, spoken = _cell_words(claim), f" {' '.join(_CODE_NAME.findall(fold(claim)))} "
    # "Unlike Basic, the other plan ..." speaks of another row.
    names = frozenset[str]() if _COMPARES.search(claim) else _cell_words(" ".join(_CAPITAL.findall(claim)))
    first = _cell_words(split_cells(claim)[0]) if split_cells(claim) else frozenset[str]()
    right, wrong = set[str](), set[str]()
    for there in cited:
        tables = _tables(there.text)
        right |= tables.beside
        for rows in tables.tables:
            own = [row for row in rows if (row.key == first if first else row.is_named_in(said, names, spoken))]
            own = [row for row in own if not any(row.tells < other.tells for other in own)]
            named = frozenset[str]().union(*(row.tells for row in own))
            # Of a table of which no row is named, any may be meant; and so may one that is half named beside others.
            meant = [row for row in rows if row in own or not own or row.tells & said - named]
            right.update(*(row.key | row.values for row in meant))
            wrong.update(*(row.values for row in rows if row not in meant))
    return sorted(word for word in said & wrong - right if any(map(str.isdigit, word)))


@dataclass(frozen=True, slots=True)
class _TableRow:
    """A row of a table.

    Attributes:
        key: The words of its first cell.
        tells: Those of them that most other rows have not; all where there is none.
        codes: Cells that are a code, as `high-iops-ha`.
        values: The words of its other cells.
        begins: The words of its first cell in order.
        cells: The words of each other cell.
        written: The other cells as they stand.
    """

    key: frozenset[str]
    tells: frozenset[str]
    codes: frozenset[str]
    values: frozenset[str]
    begins: tuple[str, ...]
    cells: tuple[frozenset[str], ...]
    written: tuple[str, ...]

    @property
    def words(self) -> frozenset[str]:
        """The words of the whole row."""
        return self.key | self.values

    def is_named_in(self, words: frozenset[str], names: frozenset[str], codes: str) -> bool:
        """Whether a claim names the row, by its first cell or a code; a plain number does not identify a row."""
        if any(f" {code} " in codes for code in self.codes):
            return True
        # One plain word may be anybody's, but for one that is written as a name: "Basic".
        tells = len(self.tells) > 1 or any(map(str.isdigit, "".join(self.tells))) or self.tells <= names
        return self.tells <= words and tells and not all(map(str.isdigit, self.tells))


@dataclass(frozen=True, slots=True)
class _Tables:
    """The rows of a text under each head, and the words of what else it says."""

    tables: tuple[tuple[_TableRow, ...], ...]
    beside: frozenset[str]


@lru_cache(maxsize=256)
def _tables(text: str) -> _Tables:
    heads: dict[str, list[list[str]]] = {}
    beside: list[str] = []
    for piece, is_code in pieces_in_order(text):
        head, _, line = piece.rpartition("\n")
        cells = split_cells(line)
        if is_code or len(cells) < _LEAST_CELLS:
            beside.append(piece)
        elif len(heads) < _MOST_TABLES:
            heads.setdefault(head, []).append(cells)
    tables = tuple(tuple(_rows(rows)) for rows in heads.values() if len(rows) > 1)
    return _Tables(tables, _cell_words("\n".join((*beside, *heads))))


def _rows(table: Sequence[Sequence[str]]) -> Iterator[_TableRow]:
    keys = [_cell_words(cells[0]) for cells in table]
    counted = Counter(word for key in keys for word in key)
    for key, cells in zip(keys, table, strict=True):
        if key:
            tells = frozenset(word for word in key if counted[word] * 2 <= len(table)) or key
            codes = frozenset(code for cell in cells if _CODE_NAME.fullmatch(code := fold(cell.strip("` "))))
            begins = tuple(fold(word) for word in _TOKEN.findall(_TAG.sub(" ", cells[0])))
            others = tuple(cells[1:])
            yield _TableRow(
                key, tells, codes, _cell_words(" | ".join(others)), begins, tuple(map(_cell_words, others)), others
            )


_LEAST_CELLS: Final = 2
_TAG: Final = re.compile(r"</?[a-z]{1,6}/?>", re.IGNORECASE)
_CODE_NAME: Final = re.compile(r"(?<![a-z0-9._-])[a-z][a-z0-9.]*+(?:[-_][a-z0-9.]++)++")
_COMPARES: Final = _WORDING.pattern("compares")
_CAPITAL: Final = re.compile(r"(?<![^\W_])[A-ZА-ЯЁ][^\W_]*+")
_MOST_TABLES: Final = 20
_TOKEN: Final = re.compile(r"[^\W_]+(?:[.,:][^\W_]+)*")


def split_cells(line: str) -> list[str]:
    row = line.strip()
    return [cell.strip() for cell in row.strip("|").split("|")] if row.startswith("|") else []


def _cell_words(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in _TOKEN.findall(fold(_TAG.sub(" ", text))) if word not in stop_words())
