"""Excel files as Markdown: each sheet that is shown is a section, and each block of its rows a table.

openpyxl reads the values that the last program stored; a formula is never computed, and a macro never run.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from io import BytesIO
from itertools import groupby
from typing import Any, Final, NamedTuple
from zipfile import ZipFile

from adapters.reading.archive import OLE, read_properties
from adapters.reading.document import Document, Unfit, check_length, document
from adapters.reading.markdown import write_line, write_lines, write_table
from adapters.reading.xlsx_cells import write_cell
from adapters.reading.xlsx_layout import SheetLayout, read_layout, sweep_merged
from language.patterns import read_wording

_WORDING = read_wording(__name__)
_QUESTION: Final = frozenset(_WORDING.words("question"))
_ANSWER: Final = frozenset(_WORDING.words("answer"))
_NUMBER: Final = frozenset(_WORDING.words("number"))
_UNNAMED: Final = frozenset(_WORDING.words("unnamed"))

_UNCOMPUTED: Final = (
    "has formulas without a value, which are read as empty cells: open it in a spreadsheet program and save it, so that "
    "they are computed"
)

_Row = Mapping[int, str]
"""The texts of a row by column, from 1; empty cells are left out."""


def read(content: bytes) -> Document:
    """Return an `.xlsx` file as Markdown, without hidden sheets, rows and columns.

    Its title is that of its properties, else the name of its only sheet if somebody gave it one. The names of its sheets
    are headings.

    Raises:
        Unfit: It is not an Excel file, is encrypted or damaged, or is too large.
    """
    if content.startswith(OLE):
        raise Unfit("is encrypted or of the old format .xls: save it as .xlsx without a password")
    try:
        core = read_properties(content)
        reading = _read_book(content)
    except (Unfit, MemoryError):
        raise
    except Exception as error:
        # The library meets a damaged file with whatever its parts raise.
        raise Unfit(
            "is no Excel file, or a damaged one: open it in a spreadsheet program and save it again as .xlsx"
        ) from error
    return document(
        "\n\n".join(reading.parts),
        title=core.get("dc:title", "").strip() or reading.find_only_name(),
        updated=core.get("dcterms:modified", ""),
        problem=_UNCOMPUTED if reading.uncomputed else "",
    )


def _read_book(content: bytes) -> _BookReading:
    """Return what is read of a workbook."""
    from openpyxl import load_workbook

    reading = _BookReading()
    with ZipFile(BytesIO(content)) as archive, warnings.catch_warnings():
        # The library's remarks are about styles and the like, on which nothing here depends.
        warnings.simplefilter("ignore")
        with closing(load_workbook(BytesIO(content), read_only=True, data_only=True, keep_links=False)) as book:
            if not book.sheetnames:
                # The library finds no sheet in a file whose names follow the strict standard.
                raise Unfit("has no sheet that is read: save it as an ordinary Excel workbook, not as Strict Open XML")
            sheets: list[Any] = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
            for sheet in sheets:
                # The library says nowhere else which part of the archive a sheet is.
                with archive.open(sheet._worksheet_path) as part:  # noqa: SLF001
                    layout = read_layout(part)
                reading.add(sheet, layout)
    return reading


class _QuestionColumns(NamedTuple):
    """The columns of a table of questions, from 1.

    Attributes:
        others: The heads of the other ones, but for one that numbers the questions.
    """

    question: int
    answer: int
    others: _Row


class _BookReading:
    """The blocks of a workbook, as far as it has been read.

    Attributes:
        parts: Finished blocks.
        names: Of the sheets that are read.
        size: At least so many characters have been read.
        uncomputed: Whether a formula had no value.
    """

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.names: list[str] = []
        self.size = 0
        self.uncomputed = False

    def find_only_name(self) -> str:
        """Return the name of the only sheet; empty if there are more, or a program named it: "Sheet1"."""
        name = self.names[0] if len(self.names) == 1 else ""
        return "" if name.casefold().rstrip("0123456789 _()-") in ("", *_UNNAMED) else name

    def add(self, sheet: Any, layout: SheetLayout) -> None:
        """Add a sheet of openpyxl's.

        Raises:
            Unfit: The workbook has too much text.
        """
        self.uncomputed |= layout.uncomputed
        if not layout.width:
            return
        self.names.append(sheet.title)
        self.parts.append(f"## {write_line(sheet.title)}")
        questions: _QuestionColumns | None = None
        for filled, rows in groupby(self._rows(sheet, layout), bool):
            if not filled:
                continue
            block = list(rows)
            # Rows without a head of their own go on with the questions above them.
            again = questions if questions and _columns(block) <= {questions.question, questions.answer} else None
            found = _find_questions(block)
            questions = found or questions
            if found:
                self.parts += _write_questions(block[1:], found)
            elif again:
                self.parts += _write_questions(block, again)
            else:
                self.parts += self._write_block(block)

    def _rows(self, sheet: Any, layout: SheetLayout) -> Iterator[_Row]:
        """Yield the rows that are shown, the empty ones among them."""
        # What a program wrote about the size of the sheet may be wrong.
        sheet.reset_dimensions()
        rows = zip(sheet.iter_rows(max_col=layout.width), sweep_merged(layout), strict=False)
        for number, (cells, covered) in enumerate(rows, 1):
            if number in layout.hidden_rows:
                continue
            texts = {
                column: text
                for column, cell in enumerate(cells, 1)
                if cell.value is not None and column not in covered and column not in layout.hidden_columns
                if (text := write_cell(cell.value, cell.number_format))
            }
            self.size += sum(map(len, texts.values()))
            check_length(self.size)
            yield texts

    def _write_block(self, rows: Sequence[_Row]) -> Iterator[str]:
        """Yield rows without an empty one between them as a table, with what stands above it."""
        columns = sorted(_columns(rows))
        first = 0
        # A row of a single cell above wider ones is no head: it says what the table is about.
        while len(columns) > 1 and first < len(rows) and len(rows[first]) == 1:
            yield write_lines(*rows[first].values())
            first += 1
        table = [[row.get(column, "") for column in columns] for row in rows[first:]]
        check_length(self.size + len(table) * len(columns) * len("| "))
        if len(table) == 1:
            yield " — ".join(write_line(text) for text in table[0] if text)
        elif table:
            yield write_table(table)


def _columns(rows: Sequence[_Row]) -> set[int]:
    return {column for row in rows for column in row}


def _find_questions(rows: Sequence[_Row]) -> _QuestionColumns | None:
    """Return the columns of a table whose head says that it is one of questions and answers."""
    heads = {column: text.casefold().strip(" :?") for column, text in rows[0].items()}
    question = next((column for column, head in heads.items() if head in _QUESTION), 0)
    answer = next((column for column, head in heads.items() if head in _ANSWER), 0)
    if not question or not answer or len(rows) < 2:
        return None
    others = {column for column, head in heads.items() if head not in _NUMBER} - {question, answer}
    return _QuestionColumns(question, answer, {column: rows[0][column] for column in sorted(others)})


def _write_questions(rows: Sequence[_Row], columns: _QuestionColumns) -> Iterator[str]:
    """Yield each question as a heading and its answer below; a row without a question goes on with the answer above."""
    for row in rows:
        if columns.question in row:
            yield f"### {write_line(row[columns.question])}"
        if columns.answer in row:
            yield write_lines(row[columns.answer])
        for column, head in columns.others.items():
            if column in row:
                yield f"{write_line(head)}: {write_line(row[column])}"
