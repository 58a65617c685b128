"""Which column is what: the mapping and its defaults."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from textwrap import dedent

import pytest

from assistant.batch.columns import Column, ColumnMap, Input, cells_of, find_columns, read_column_map
from assistant.batch.tables import Formula, SheetRow
from contracts.enums import Language, Outcome
from contracts.errors import ConfigError, InputError
from contracts.result import Diagnostics, StructuredAgentResult

ROOT = Path(__file__).resolve().parents[2]


def question(header: list[str], *cells: str, **wanted: object) -> str:
    """Return the question of one row."""
    return find_columns(header, Input.model_validate(wanted)).question(SheetRow(2, cells))


@pytest.mark.parametrize(
    "header",
    [
        ["id", "subject", "description"],
        ["ID", "Subject", "HTML Description"],
        ["Ticket_ID", "Title", "Body"],
        ["№ заявки", "Тема", "Описание"],
        ["Номер", " ТЕМА ОБРАЩЕНИЯ ", "Текст обращения"],
        ["Issue key", "Summary", "Description"],
    ],
)
def test_an_export_of_tickets_needs_no_mapping(header: list[str]) -> None:
    """Usual headers are known in both languages, in any case and with any marks."""
    assert question(header, "7", "Printer", "It is <b>silent</b>") == "Printer\n\nIt is silent"
    assert find_columns(header, Input()).name(SheetRow(2, ("7", "a", "b"))) == "7"


def test_a_single_column_of_questions_will_do() -> None:
    """A subject is not needed, and neither is a description where there is a subject."""
    assert question(["Вопрос"], "Как вернуть книгу?") == "Как вернуть книгу?"
    assert question(["Topic", "Price"], "Backup", "7") == "Backup"


def test_a_description_that_begins_with_its_subject_does_not_say_it_twice() -> None:
    """Many programs copy the first line into the subject."""
    assert question(["subject", "description"], "Printer is off", "Printer is off since Monday") == (
        "Printer is off since Monday"
    )
    assert question(["subject", "description"], "", "x") == "x"


def test_a_formula_without_a_value_is_no_question() -> None:
    """Neither is a row that could not be read; a formula in a column that is not asked does no harm."""
    header = ["subject", "description", "price"]
    for cells in ([Formula("=A1"), "x", ""], ["x", Formula("=A1"), ""]):
        with pytest.raises(InputError, match="formula without a value") as caught:
            question(header, *cells)
        assert "save the file" in caught.value.way_out
    assert question(header, Formula("=A1"), "x", Formula("=1"), ask="description") == "x"
    with pytest.raises(InputError, match="is no JSON"):
        find_columns(header, Input()).question(SheetRow(2, (None, None, None), "Line 2 is no JSON."))


def test_what_alone_is_asked_must_be_there() -> None:
    """A table without descriptions has none to ask."""
    assert question(["subject", "description"], "Question", "Why?", ask="subject") == "Question"
    with pytest.raises(InputError, match="no column of a description"):
        question(["subject"], "x", ask="description")


def test_a_mapping_names_columns_in_their_order() -> None:
    """Several are joined; an empty list stands for none, though there be one of a usual name."""
    header = ["A", "B", "Title"]
    assert question(header, "one", "two", "three", description=["b", "a"]) == "three\n\ntwo\n\none"
    assert question(header, "one", "two", "three", description="B", subject=[]) == "two"


def test_a_column_that_is_not_there_is_named_with_those_that_are() -> None:
    """The message helps to correct the mapping, and so it does where no usual column is found."""
    with pytest.raises(InputError, match="no column 'Text'") as caught:
        question(["A", "B"], "x", "y", description="Text")
    assert "'A', 'B'" in caught.value.way_out
    with pytest.raises(InputError, match="known as a subject or a description") as caught:
        question(["A", "B"], "x", "y")
    assert "--columns" in caught.value.way_out
    assert "header_row" in caught.value.way_out


def test_a_turn_that_ended_with_an_error_is_one_in_its_row() -> None:
    """What did not work stands there; a turn with another outcome has no error, whatever did not work."""
    broken = Diagnostics(degraded=["draft: the server is away"])

    def cells(outcome: Outcome, diagnostics: Diagnostics) -> tuple[object, object]:
        result = StructuredAgentResult(
            language=Language.EN, outcome=outcome, answer_text="Sorry.", diagnostics=diagnostics
        )
        found = cells_of(result, structured=False)
        return found[Column.DEGRADED], found[Column.ERROR]

    assert cells(Outcome.ERROR, broken) == ("draft: the server is away", "draft: the server is away")
    assert cells(Outcome.ERROR, Diagnostics()) == (None, "the turn ended with an error")
    assert cells(Outcome.ANSWERED, broken) == ("draft: the server is away", None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[input\n", "is no TOML"),
        ('[input]\nsubjekt = "x"', "input.subjekt"),
        ('[input]\nhtml = "maybe"', "input.html"),
        ('[input]\ndelimiter = "|"', "input.delimiter"),
        ('[output.columns]\nanswr = "x"', "output.columns.answr"),
        ("[output.columns]\n", "output.columns"),
        ("[output.columns]\nanswer = 7", "output.columns.answer"),
    ],
)
def test_a_wrong_mapping_is_named_with_what_there_is(tmp_path: Path, text: str, words: str) -> None:
    """The place of the fault is named, and a name that is none is answered with all that are."""
    path = tmp_path / "c.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(ConfigError, match=words) as caught:
        read_column_map(path)
    assert caught.value.way_out


def test_the_example_says_what_holds_without_it() -> None:
    """Whoever copies the example and changes one line changes that only; every key of a mapping is in it."""
    path = ROOT / "docs" / "batch-columns.toml"
    example, raw = read_column_map(path), tomllib.loads(path.read_text("utf-8"))
    assert example.output == ColumnMap().output
    assert list(example.output.columns) == list(Column)
    assert set(raw["input"]) == set(Input.model_fields)
    header = [names[0] for names in (example.input.id, example.input.subject, example.input.description) if names]
    assert question(header, "7", "Printer", "It is silent") == "Printer\n\nIt is silent"
    assert (example.input.html, example.layout) == ("auto", ColumnMap().layout)


@pytest.mark.parametrize("language", ["en", "ru"])
def test_the_handbook_has_the_whole_example(language: str) -> None:
    """Its page shows the file, other pieces that are mappings, and names each column that can be written."""
    page = (ROOT / "knowledge" / language / "batch-columns.md").read_text("utf-8")
    shown = [tomllib.loads(dedent(block)) for block in re.findall(r"```toml\n(.*?)```", page, re.DOTALL)]
    assert tomllib.loads((ROOT / "docs" / "batch-columns.toml").read_text("utf-8")) in shown
    assert all(ColumnMap.model_validate(piece) for piece in shown)
    assert all(f"| `{column}` |" in page for column in (*Column, *Input.model_fields))
