"""Files of tables as streams of rows, in and out."""

from __future__ import annotations

import codecs
import tracemalloc
from contextlib import closing
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pytest

from assistant.batch.table_reader import open_table
from assistant.batch.table_writer import MOST_IN_CELL, cut_to_cell, open_writer, unique
from assistant.batch.tables import Formula, Layout
from contracts.errors import GuardianError, InputError
from tests.support.batch_files import keep_value, put, put_csv, put_xlsx, sheet_xml, table

LINES = [["id", "Тема", "Описание"], ["7", "Принтер", "Не печатает, «совсем»"], ["8", "Ё", "a\nb"]]
HOSTILE = ['=HYPERLINK("http://x.example","y")', "+1+1", "-2+3", "@SUM(A1)", "\t=1", "＝1+1", "#N/A"]


def read(path: Path, **layout: Any) -> list[tuple[int, tuple[Any, ...]]]:
    """Return the rows of a file with their numbers."""
    with closing(open_table(path, Layout(**layout)).rows()) as rows:
        return [(row.number, row.cells) for row in rows]


def written(path: Path, *lines: list[Any], header: tuple[str, ...] = ("a",)) -> Path:
    """Write a table of the kind that the file's name says."""
    with open_writer(path, path.suffix, header, "") as writer:
        for line in lines:
            writer.write(line)
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1251", "utf-16"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_is_read_as_offices_write_it(tmp_path: Path, encoding: str, delimiter: str) -> None:
    """Encoding and delimiter are found out, and line breaks in cells are kept."""
    path = put_csv(tmp_path / "t.csv", LINES, encoding=encoding, delimiter=delimiter)
    found = open_table(path, Layout())
    assert (found.header, found.count, found.delimiter) == (("id", "Тема", "Описание"), 2, delimiter)
    assert read(path) == [(2, ("7", "Принтер", "Не печатает, «совсем»")), (3, ("8", "Ё", "a\nb"))]


def test_an_encoding_and_a_delimiter_that_are_named_are_taken(tmp_path: Path) -> None:
    """The mapping counts more than what the file looks like; one that does not fit is named."""
    path = tmp_path / "t.csv"
    path.write_bytes("тема;а,б\nдень;в,г\n".encode("koi8-r"))
    assert read(path, encoding="koi8-r", delimiter=",") == [(2, ("день;в", "г"))]
    assert read(path, encoding="koi8-r", delimiter=";") == [(2, ("день", "в,г"))]
    with pytest.raises(InputError, match="not written in utf-8"):
        read(path, encoding="utf-8")
    with pytest.raises(InputError, match="no encoding 'klingon'"):
        read(path, encoding="klingon")


def test_commas_do_not_cut_a_table_of_one_column(tmp_path: Path) -> None:
    """A plain list of questions under a header is a table, too."""
    (tmp_path / "t.csv").write_text("Question\nHow do I lend, and return, a book?\n", "utf-8")
    assert read(tmp_path / "t.csv") == [(2, ("How do I lend, and return, a book?",))]


@pytest.mark.parametrize("name", ["t.csv", "t.xlsx"])
def test_rows_are_numbered_as_spreadsheets_show_them(tmp_path: Path, name: str) -> None:
    """Empty rows are left out and counted; cells beyond the header are a column without a name."""
    path = put(tmp_path / name, [["id", "text"], ["1", "a"], ["", "  "], ["2", "b", "more"]])
    assert open_table(path, Layout()).header == ("id", "text", "")
    assert [(number, cells[:2]) for number, cells in read(path)] == [(2, ("1", "a")), (4, ("2", "b"))]
    assert [cells[2] for _, cells in read(path)] == [None, "more"]


def test_json_lines_have_the_columns_of_all_their_objects(tmp_path: Path) -> None:
    """A key that only a later line has is a column, and values stay what they are."""
    path = tmp_path / "t.jsonl"
    path.write_bytes(codecs.BOM_UTF8 + b'{"a": 1}\n\n{"b": [true, null], "a": "x"}\n{}\n')
    assert open_table(path, Layout()).header == ("a", "b")
    assert read(path) == [(1, (1, None)), (3, ("x", [True, None]))]


def test_the_first_sheet_is_read_unless_one_is_named(tmp_path: Path) -> None:
    """Both by the order in the file, and a name that is not there is answered with those that are."""
    path = put_xlsx(tmp_path / "t.xlsx", ("One", [["q"], ["first"]]), ("Two", [["q"], ["second"]]))
    assert read(path) == [(2, ("first",))]
    assert read(path, sheet="Two") == [(2, ("second",))]
    with pytest.raises(InputError, match="no sheet 'Three'") as caught:
        read(path, sheet="Three")
    assert "'One', 'Two'" in caught.value.way_out


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"', "SEP=;"])
def test_a_first_line_that_names_the_separator_is_understood(tmp_path: Path, first: str) -> None:
    """Spreadsheet programs do not show it, so the row below it is the first."""
    (tmp_path / "t.csv").write_text(f"{first}\r\na,b,c;text\r\n1;x\r\n", "utf-8-sig")
    found = open_table(tmp_path / "t.csv", Layout())
    assert (found.header, found.delimiter) == (("a,b,c", "text"), ";")
    assert read(tmp_path / "t.csv") == [(2, ("1", "x"))]


@pytest.mark.parametrize("name", ["t.csv", "t.xlsx"])
def test_a_header_below_titles_can_be_named(tmp_path: Path, name: str) -> None:
    """What stands above it is no row; a row that is empty is no header."""
    path = put(tmp_path / name, [["Tickets of November"], [], ["", ""], ["id", "text"], ["1", "a"]])
    found = open_table(path, Layout(header_row=4))
    assert (found.header, found.count) == (("id", "text"), 1)
    with pytest.raises(InputError, match=r"Row 3 .* is empty"):
        open_table(path, Layout(header_row=3))


def test_quotation_marks_inside_of_cells_are_text(tmp_path: Path) -> None:
    """Only one that swallows rows is a fault."""
    path = tmp_path / "t.csv"
    path.write_text('id,text\n1,5" pipe\n2,"a ""b"" c\nd"\n3,"e" f"\n', "utf-8")
    assert read(path) == [(2, ("1", '5" pipe')), (3, ("2", 'a "b" c\nd')), (4, ("3", 'e f"'))]


def test_a_line_that_is_no_json_is_a_row_with_its_fault(tmp_path: Path) -> None:
    """The others are rows as before."""
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": \n[1]\n"\xff"\n{"a": 2}\n')
    found = open_table(path, Layout())
    with closing(found.rows()) as rows:
        lines = [(row.number, row.cells, row.fault[:23]) for row in rows]
    assert found.count == len(lines)
    broken = [(number, (None,), f"Line {number} of IN is no JSON") for number in (2, 3, 4)]
    assert lines == [(1, (1,), ""), *broken, (5, (2,), "")]


def test_json_lines_are_json_whatever_the_numbers(tmp_path: Path) -> None:
    """What is no number in JSON is text, in lists and objects, too."""
    path = written(tmp_path / "o.jsonl", [float("nan")], [[float("inf"), {"x": float("-inf")}]], [1.5])
    lines = path.read_text("utf-8").splitlines()
    assert lines == ['{"a": "nan"}', '{"a": ["inf", {"x": "-inf"}]}', '{"a": 1.5}']


def test_a_formula_without_a_value_is_not_empty(tmp_path: Path) -> None:
    """It is told from an empty cell and from a formula whose value is empty text, and written as text."""
    path = put_xlsx(tmp_path / "t.xlsx", ("S", [["a", "b", "c"], ["=1+1", '="x"', None], ["=2+2", "=3+3", "=4"]]))
    keep_value(path, "2+2", "4")
    keep_value(path, "4", "", "str")
    ((_, first), (_, second)) = read(path)
    assert first == ("=1+1", '="x"', None)
    assert second == (4, "=3+3", None)
    assert [isinstance(cell, Formula) for cell in (*first, *second)] == [True, True, False, False, True, False]
    assert table(written(tmp_path / "o.csv", list(first), header=("a", "b", "c")))[0]["a"] == "'=1+1"


def test_a_formula_is_read_as_its_value(tmp_path: Path) -> None:
    """What a spreadsheet program computed is read, not the formula; dates and numbers are what they are."""
    line = ["=1+1", datetime(2026, 11, 22, 9, 30), date(2026, 11, 22), time(9, 30), 1.5, True]  # noqa: DTZ001
    path = put_xlsx(tmp_path / "t.xlsx", ("S", [list("abcdef"), line]))
    keep_value(path, "1+1", "2")
    ((_, cells),) = read(path)
    assert cells == (2, datetime(2026, 11, 22, 9, 30), datetime(2026, 11, 22), time(9, 30), 1.5, True)  # noqa: DTZ001
    out = table(written(tmp_path / "o.csv", list(cells), header=tuple("abcdef")))
    assert list(out[0].values()) == ["2", "2026-11-22 09:30:00", "2026-11-22", "09:30:00", "1.5", "true"]
    assert list(table(written(tmp_path / "o.xlsx", list(cells), header=tuple("abcdef")))[0].values()) == list(cells)


@pytest.mark.parametrize("source", ["i.csv", "i.xlsx", "i.jsonl"])
@pytest.mark.parametrize("target", ["o.csv", "o.xlsx", "o.jsonl"])
def test_any_kind_becomes_any_other(tmp_path: Path, source: str, target: str) -> None:
    """Header and cells are the same in all nine combinations."""
    path = put(tmp_path / source, LINES)
    found = open_table(path, Layout())
    out = written(tmp_path / target, *[list(cells) for _, cells in read(path)], header=found.header)
    assert table(out) == [dict(zip(LINES[0], line, strict=True)) for line in LINES[1:]]


def test_nothing_in_a_spreadsheet_is_a_formula(tmp_path: Path) -> None:
    """Text that begins like a formula, or looks like an error value, is text; in the header, too."""
    path = written(tmp_path / "o.xlsx", HOSTILE, header=("=1", *"bcdefg"))
    assert list(table(path)[0]) == ["=1", *"bcdefg"]
    assert list(table(path)[0].values()) == HOSTILE
    assert "<f>" not in sheet_xml(path)
    assert 't="e"' not in sheet_xml(path)


def test_nothing_in_csv_is_taken_for_a_formula(tmp_path: Path) -> None:
    """What a spreadsheet program would compute has an apostrophe before it; a plain number has none."""
    path = written(tmp_path / "o.csv", [*HOSTILE, "-5", "+7,5", -5], header=("=1", *"bcdefghij"))
    assert next(iter(table(path)[0])) == "'=1"
    values = list(table(path)[0].values())
    assert values[:6] == [f"'{text}" for text in HOSTILE[:6]]
    assert values[6:] == ["#N/A", "-5", "+7,5", "-5"]


def test_json_lines_are_as_they_are(tmp_path: Path) -> None:
    """No spreadsheet opens them, so nothing is put before anything."""
    assert table(written(tmp_path / "o.jsonl", ["=1+1"])) == [{"a": "=1+1"}]


@pytest.mark.parametrize("name", ["o.csv", "o.xlsx", "o.jsonl"])
def test_what_no_file_can_hold_is_no_fault(tmp_path: Path, name: str) -> None:
    """Control characters, half a character and a number of twenty digits are written as far as the format has them."""
    path = written(tmp_path / name, ["a\x00\x0b\ud800b"], [12345678901234567890], [float("inf")], [{"x": ["y"]}])
    cells = [line["a"] for line in table(path)]
    assert cells[0][0] == "a"
    assert cells[0][-1] == "b"
    assert str(cells[1]) == "12345678901234567890"
    assert cells[3] in ({"x": ["y"]}, '{"x": ["y"]}')


def test_a_cell_that_is_too_long_for_a_spreadsheet_is_cut_and_says_so(tmp_path: Path) -> None:
    """The limit is in UTF-16 units; no character is cut in half, and the writer counts."""
    long = "я" * (MOST_IN_CELL - 1) + "😀"
    path = tmp_path / "o.xlsx"
    with open_writer(path, ".xlsx", ("a",), "") as writer:
        writer.write(["я" * MOST_IN_CELL])
        writer.write([long])
    whole, cut = (line["a"] for line in table(path))
    assert (len(whole), writer.shortened) == (MOST_IN_CELL, 1)
    assert len(cut.encode("utf-16-le")) // 2 == MOST_IN_CELL
    assert cut.endswith("[32,768 characters in all; a spreadsheet's cell holds 32,767]")
    assert len(cut_to_cell("😀" * 20_000).encode("utf-16-le")) // 2 <= MOST_IN_CELL
    assert table(written(tmp_path / "o.jsonl", [long])) == [{"a": long}]


def test_keys_of_json_are_names_of_their_own() -> None:
    """A table may have two columns of one name, or one without; an object may not."""
    assert unique(["a", "a", "", "a (2)", "a"]) == ["a", "a (2)", "column 3", "a (2) (2)", "a (3)"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.xlsx", b"no archive", "cannot be read as a spreadsheet"),
        ("t.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "cannot be read as a spreadsheet"),
        ("t.jsonl", b'\n{"a": \n[1]\n', "Line 2 .* is no JSON"),
        ("t.csv", b'id,text\n1,"a\n2,b\n3,c\n', "Row 2 .* quotation mark that is not closed"),
        ("t.csv", b'id,text\n1,a\n2,"b\n3,"c" d\n', "Row 3 .* quotation mark that is not closed"),
        ("t.csv", b'id,text\n1,a\n2,"b', "Row 3 .* quotation mark that is not closed"),
        ("t.csv", "id,text\n1,\u0442\u0435\u043c\u0430\n2,".encode() + b"\xd0\n", "Line 3 .* no UTF-8"),
        ("t.jsonl", b"", "has no rows"),
        ("t.csv", b"", "has no rows"),
        ("t.csv", b"id,text\n,\n\n", "has no rows"),
        ("t.xls", b"", "no .xlsx, .csv or .jsonl file"),
    ],
)
def test_a_file_that_is_no_table_is_named_before_anything_is_asked(
    tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    """Whatever is wrong with it, the message names it and says what to do."""
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=words) as caught:
        open_table(path, Layout())
    assert caught.value.way_out


def test_a_spreadsheet_that_breaks_off_is_named(tmp_path: Path) -> None:
    """A half-copied file is no table of fewer rows."""
    path = put_xlsx(tmp_path / "t.xlsx", ("S", [["q"], *[[f"question {n}"] for n in range(2000)]]))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="cannot be read as a spreadsheet"):
        open_table(path, Layout())


def test_out_that_cannot_be_written_is_an_error_of_ours(tmp_path: Path) -> None:
    """It names the file and the system's word."""
    (tmp_path / "o.csv").mkdir()
    with pytest.raises(GuardianError, match="cannot be written: Is a directory"):
        written(tmp_path / "o.csv", ["x"])


@pytest.mark.parametrize(("source", "target"), [("i.csv", "o.jsonl"), ("i.jsonl", "o.csv"), ("i.csv", "o.xlsx")])
def test_rows_are_not_held_in_memory(tmp_path: Path, source: str, target: str) -> None:
    """Reading and writing take no more at the last row than at the first."""
    text = "how do I lend a book " * 250
    path = put(tmp_path / source, [["q"], *[[f"{n} {text}"] for n in range(1000)]])
    written(tmp_path / f"warm{Path(target).suffix}", ["x"])  # what is imported for it is not counted
    tracemalloc.start()
    found = open_table(path, Layout())
    out = tmp_path / target
    with closing(found.rows()) as rows, open_writer(out, out.suffix, found.header, "") as writer:
        for row in rows:
            writer.write(row.cells)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < path.stat().st_size / 5, peak
