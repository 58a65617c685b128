"""Excel files: each sheet that is shown is a section, its rows are tables, and a hostile file costs only itself."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.reading import chunks, xlsx
from adapters.reading.converter import Converter
from adapters.reading.document import Document, Unfit
from tests.support import office
from tests.support.office import cell, sheet


def text(*rows: object, before: str = "", after: str = "") -> str:
    """Return what is read of a sheet with these rows below its name."""
    content = office.xlsx({"S": sheet(*rows, before=before, after=after)})  # type: ignore[arg-type]
    return xlsx.read(content).text.removeprefix("## S\n\n").rstrip("\n")


# -------------------------------------------------------------------------------------------------------- contents


def test_each_sheet_is_a_section_and_each_block_of_its_rows_a_table() -> None:
    """A table ends at an empty row; a row of one cell above one is a paragraph, and so is a row by itself."""
    prices = sheet(
        ("Price list",), ("Item", "Price", "Note"), ("Pen | <b>", 12.5), ("Ink", 3, "one\ntwo"), (), ("Valid", "2026")
    )
    content = office.xlsx(
        {"Prices & more": prices, "Empty": sheet((), ()), "Лист": sheet(("а",), ("б",))}, title="Shop"
    )
    assert xlsx.read(content) == Document(
        "## Prices & more\n\nPrice list\n\n| Item | Price | Note |\n| --- | --- | --- |\n| Pen \\| &lt;b> | 12.5 |  |\n"
        "| Ink | 3 | one two |\n\nValid — 2026\n\n## Лист\n\n| а |\n| --- |\n| б |\n",
        "Shop",
        "",
        "2025-01-02",
    )


@pytest.mark.parametrize(
    ("names", "said", "title"),
    [
        (["Tariffs"], "", "Tariffs"),
        (["Тарифы"], "", "Тарифы"),
        (["Tariffs"], "Shop", "Shop"),
        (["Tariffs", "Hours"], "", ""),
        (["Sheet1"], "", ""),
        (["TDSheet"], "", ""),
        (["Лист1 (2)"], "", ""),
        (["Лист 12"], "", ""),
        (["1"], "", ""),
    ],
)
def test_a_workbook_of_one_sheet_is_called_by_its_name(names: list[str], said: str, title: str) -> None:
    """A title in the properties comes first, and a name that a program gave is none."""
    content = office.xlsx(dict.fromkeys(names, sheet(("Item", "Price"), ("Pen", 3))), title=said)
    assert xlsx.read(content).title == title


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (cell(0.30000000000000004), "0.3"),
        (cell(46048, 1), "2026-01-26"),
        (cell(46048.5, 1), "2026-01-26 12:00"),
        (cell(0.5, 6), "12:00"),
        (cell(1.25, 7), "30:00:00"),
        (cell(1234.565, 2), "1234.57 ₽"),
        (cell(0.125, 3), "13%"),
        (cell(42, 4), "00042"),
        (cell(5, 8), "5 pcs"),
        (cell(-5, 8), "(5)"),
        (cell(7, 5), ""),
        (cell("secret", 5), ""),
        ('<c t="b"><v>1</v></c>', "TRUE"),
        ('<c t="e"><v>#N/A</v></c>', "#N/A"),
        (cell("a_x000D_\nb"), "a b"),
        (cell("1. One\n2. Two"), "One; Two"),
        (cell(1e300, 2), "1e+300"),
    ],
)
def test_a_value_stands_as_it_is_shown(value: str, shown: str) -> None:
    """Dates are in ISO; numbers have the decimals, percent, currency and zeros of a plain format; `;;;` shows nothing."""
    assert text(("a", "b"), ("x", value)) == f"| a | b |\n| --- | --- |\n| x | {shown} |"


def test_what_a_sheet_hides_is_no_text() -> None:
    """Hidden sheets, rows and columns, and what lies under a merged cell, are left out; its value is said once."""
    rows = [
        ("Item", "secret", "Port"),
        ("web", "secret", "80"),
        f'<row r="3" hidden="1">{cell("secret")}</row>',
        ("secret", "secret", "443"),
        f'<row ht="0">{cell("secret")}</row>',
    ]
    hidden = '<cols><col min="2" max="2" width="0"/><col min="4" max="16384" hidden="true"/></cols>'
    shown = sheet(*rows, before=hidden, after='<mergeCells><mergeCell ref="A2:A4"/></mergeCells>')
    others = {"A": sheet(("secret",)), "B": sheet(("secret",))}
    content = office.xlsx({"S": shown, **others}, hidden={"A": "hidden", "B": "veryHidden"})
    assert xlsx.read(content).text == "## S\n\n| Item | Port |\n| --- | --- |\n| web | 80 |\n|  | 443 |\n"


@pytest.mark.parametrize(("question", "answer"), [("Question", "Answer"), ("ВОПРОС:", "Ответ")])
def test_a_table_of_questions_becomes_headings_with_answers(question: str, answer: str) -> None:
    """So each is found by its question and quoted with all of its answer, steps included."""
    rows = [("№", question, answer, "Topic"), (1, "How?", "1. One\n2. Two\n\n# end", "Doors"), (2, "When?", "Now")]
    assert text(*rows, ("", "", "At once"), (), (None, "Where?", "Here")) == (
        "### How?\n\n1. One\n2. Two\n\n\\# end\n\nTopic: Doors\n\n### When?\n\nNow\n\nAt once\n\n### Where?\n\nHere"
    )
    # Without the two words it is a table like another one.
    assert text(("Question", "Owner"), ("How?", "Ann")).startswith("| Question | Owner |")


def test_a_formula_without_a_value_is_empty_and_told_once() -> None:
    """Nothing is computed here; what was computed to be empty lacks nothing."""
    computed = cell(2, formula="1+1"), cell("", formula='""')
    found = xlsx.read(office.xlsx({"S": sheet(("a", "b"), computed)}))
    assert (found.problem, found.text) == ("", "## S\n\n| a | b |\n| --- | --- |\n| 2 |  |\n")
    found = xlsx.read(office.xlsx({"S": sheet(("a", "b"), ("x", cell(None, formula="1+1")))}))
    assert (found.problem.count("save it"), found.text) == (1, "## S\n\n| a | b |\n| --- | --- |\n| x |  |\n")


def test_every_passage_of_a_long_table_has_its_head() -> None:
    """A table of many rows is cut between rows, and each part can be read alone."""
    rows = [(f"item {number}", "text " * 20) for number in range(200)]
    found = chunks.read(xlsx.read(office.xlsx({"S": sheet(("Item", "Text"), *rows)})).text, title="T").chunks
    passages = [passage for passage in found if "| item" in passage.text]
    assert len(passages) > 5
    assert all("| Item | Text |\n| --- | --- |\n| item" in passage.text for passage in passages)
    assert {passage.path for passage in passages} == {("S",)}


# -------------------------------------------------------------------------------------------------------- bad files

LAUGHS = "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(12))
DECLARED = f'<!DOCTYPE a [<!ENTITY a "ha">{LAUGHS}]>'
GOOD = office.xlsx({"S": sheet(("apple",))})


def with_sheet(content: str) -> bytes:
    return office.xlsx({"S": content})


@pytest.mark.parametrize(
    ("content", "way_out"),
    [
        (b"PK\x03\x04 no archive", "save it again"),
        (b"", "save it again"),
        (b"a,b\n1,2", "save it again"),
        (b"\xd0\xcf\x11\xe0" + b"\x00" * 600, "without a password"),
        (GOOD[:-200], "save it again"),
        (with_sheet("<worksheet"), "save it again"),
        (with_sheet(DECLARED + sheet(("&m;",))), "save it again"),
        (with_sheet('<!DOCTYPE a [<!ENTITY a SYSTEM "/etc/passwd">]>' + sheet(("&a;",))), "save it again"),
        (office.xlsx({"S": ""}, parts={"xl/sharedStrings.xml": DECLARED + "<sst>&m;</sst>"}), "save it again"),
        (with_sheet(" " * 30_000_000), "split it"),
        (with_sheet(sheet((), ())), "remove it"),
        (office.xlsx({}), "not as Strict Open XML"),
        (with_sheet(sheet('<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>')), "split it"),
        (with_sheet(sheet('<row r="99999999999"><c><v>1</v></c></row>')), "save it again"),
        (with_sheet(sheet((cell(int("9" * 4000)).replace("9", "99"),))), "save it again"),
        (
            office.xlsx(
                {"S": sheet(*[('<c t="s"><v>0</v></c>',)] * 100)},
                parts={"xl/sharedStrings.xml": f"<sst {office.SHEETS}><si><t>{'x' * 1_000_000}</t></si></sst>"},
            ),
            "split it",
        ),
    ],
    ids=[
        *("no archive", "nothing", "csv", "encrypted", "cut", "broken", "entities", "outside", "shared entities"),
        *("bomb", "empty", "strict", "last column", "row beyond", "number", "shared text"),
    ],
)
def test_a_bad_spreadsheet_is_refused_with_the_way_out(content: bytes, way_out: str) -> None:
    """Damaged, encrypted, empty and exploding files are refused, in a second and with what to do."""
    started = time.process_time()
    with pytest.raises(Unfit, match=way_out):
        xlsx.read(content)
    assert time.process_time() - started < 5


def test_a_sheet_that_lies_about_its_size_is_read() -> None:
    """The size that a program wrote, and cells merged to the end of the sheet, cost nothing."""
    merged = '<mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>'
    started = time.process_time()
    assert text(("apple", "pear"), before='<dimension ref="A1:XFD1048576"/>', after=merged) == "apple"
    assert time.process_time() - started < 1


@settings(max_examples=40)
@given(st.binary(min_size=1, max_size=40), st.integers(0, len(GOOD)), st.integers(0, 60))
def test_any_damage_to_a_spreadsheet_is_read_or_refused(noise: bytes, place: int, length: int) -> None:
    """A file with some bytes changed gives text, or a reason, and no other error."""
    try:
        said = xlsx.read(GOOD[:place] + noise + GOOD[place + length :]).text
    except Unfit as unfit:
        said = str(unfit)
    assert "apple" in said or ":" in said


def test_a_macro_is_neither_run_nor_read() -> None:
    """A file with macros under the name of one without is read like one without."""
    content = office.xlsx({"S": sheet(("apple",))}, parts={"xl/vbaProject.bin": b"secret"})
    assert xlsx.read(content).text == "## S\n\napple\n"


def test_a_process_of_its_own_reads_spreadsheets() -> None:
    """The worker knows the format, hands its warning over, and is not ended by a refused file."""
    with Converter() as converter:
        with pytest.raises(Unfit, match="save it again"):
            converter.read(".xlsx", b"no archive")
        found = converter.read(".xlsx", office.xlsx({"S": sheet(("apple", cell(None, formula="1")))}))
    assert (found.text, "formulas" in found.problem) == ("## S\n\napple\n", True)


def test_the_library_is_not_imported_before_it_is_needed() -> None:
    """What names the reader does not import openpyxl."""
    code = "import sys, adapters.reading.xlsx\nprint('openpyxl' in sys.modules, 'lxml' in sys.modules)"
    root = Path(__file__).parents[2]
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert said.stdout == "False False\n"
