"""Tables for the tests of batches, written and read by other means than the product's."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from openpyxl import Workbook, load_workbook

Line = Sequence[Any]


def put_csv(path: Path, lines: Sequence[Line], *, encoding: str = "utf-8", delimiter: str = ",") -> Path:
    """Write a csv file."""
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows(lines)
    path.write_bytes(text.getvalue().encode(encoding))
    return path


def put_xlsx(path: Path, *sheets: tuple[str, Sequence[Line]]) -> Path:
    """Write a spreadsheet of named sheets."""
    book = Workbook()
    del book[book.sheetnames[0]]
    for name, lines in sheets:
        sheet = book.create_sheet(name)
        for line in lines:
            sheet.append(list(line))
    book.save(path)
    return path


def put_jsonl(path: Path, lines: Sequence[Line]) -> Path:
    """Write the same table as JSON lines."""
    header, *rest = lines
    objects = [dict(zip(header, line, strict=True)) for line in rest]
    path.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in objects), "utf-8")
    return path


def put(path: Path, lines: Sequence[Line]) -> Path:
    """Write a table of the kind that the file's name says."""
    match path.suffix:
        case ".csv":
            return put_csv(path, lines)
        case ".xlsx":
            return put_xlsx(path, ("Tickets", lines))
        case _:
            return put_jsonl(path, lines)


def keep_value(path: Path, formula: str, value: str, kind: str = "n") -> None:
    """Give a formula of a spreadsheet the value that a spreadsheet program keeps with it, of a kind of OOXML's."""
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    text, found = re.subn(
        rf"(<c [^>]*)>(<f>{re.escape(formula)}</f>)<v\s*(?:/>|></v>)",
        rf'\1 t="{kind}">\2<v>{value}</v>',
        parts[sheet].decode(),
    )
    assert found == 1
    parts[sheet] = text.encode()
    with zipfile.ZipFile(path, "w") as book:
        for name, content in parts.items():
            book.writestr(name, content)


def sheet_xml(path: Path) -> str:
    """Return a spreadsheet's first sheet as it stands in the file."""
    with zipfile.ZipFile(path) as book:
        return book.read("xl/worksheets/sheet1.xml").decode()


def table(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a table as a person's program reads them; all empty cells as nothing."""
    match path.suffix:
        case ".csv":
            text = path.read_bytes().decode("utf-8-sig")
            head = text.splitlines()[0]
            rows: list[Any] = list(csv.reader(io.StringIO(text), delimiter=max(",;\t", key=head.count)))
        case ".xlsx":
            book = load_workbook(path)
            rows = [[cell.value for cell in line] for line in book.worksheets[0].iter_rows()]
            book.close()
        case _:
            objects = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
            return [{name: value if value != "" else None for name, value in line.items()} for line in objects]
    header, *rest = rows
    return [{name: value if value != "" else None for name, value in zip(header, line, strict=True)} for line in rest]
