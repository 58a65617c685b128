"""The db source over real files of SQLite: what the engine stops, and what it says."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import pytest

from contracts.enums import Language, Source
from contracts.errors import ConfigError, SourceUnavailable
from contracts.ports import SearchRequest
from tests.support.database.tables import (
    ask,
    ask_in_vain,
    call,
    list_snippets,
    lookup,
    source,
    sqlite_file,
    state_of,
    text_argument,
)
from tests.support.ports.source_conformance import SourceConformance
from tests.support.timed import LOADED


def endless(select: str) -> str:
    """Return a statement over 1, 2, 3 and so on for ever."""
    return f"WITH RECURSIVE r(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM r) {select}"  # noqa: S608  # the tests' own


class TestConformance(SourceConformance):
    @pytest.fixture
    def source(self, library: Path) -> object:
        return source(library, lookup("SELECT title AS a FROM loans ORDER BY id"))

    @pytest.fixture
    def broken(self, tmp_path: Path) -> object:
        return source(tmp_path / "none.db", lookup("SELECT title AS a FROM loans"))


# ------------------------------------------------------------------------------------------------------------ fences


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO loans VALUES (9, 'x', 'y')",
        "INSERT INTO loans VALUES (9, 'x', 'y') RETURNING id AS a",
        "WITH one AS (SELECT 9) INSERT INTO loans SELECT *, 'x', 'y' FROM one",
        "UPDATE loans SET title = 'x' RETURNING title AS a",
        "DELETE FROM loans",
        "DROP TABLE loans",
        "CREATE TEMP TABLE other (a)",
        "SELECT id AS a FROM loans; DELETE FROM loans",
        "PRAGMA query_only = OFF",
        "PRAGMA writable_schema = ON",
        "SELECT * FROM pragma_table_info('loans')",
        "ATTACH '{folder}/other.db' AS other",
        "VACUUM INTO '{folder}/other.db'",
        "BEGIN IMMEDIATE",
        "SELECT load_extension('{folder}/other.so') AS a",
        "SELECT writefile('{folder}/other.db', 'x') AS a",
        "SELECT readfile('{folder}/library.db') AS a",
        "SELECT 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!' REGEXP '(a+)+$' AS a",
        "SELECT printf('%.*c', 2000000000, 'x') AS a",
        "SELECT zeroblob(1000000000) AS a",
    ],
)
async def test_what_does_not_only_read_is_refused_by_the_engine(library: Path, statement: str) -> None:
    """Whatever a profile's statement tries to change, open, load or blow up, the database stays as it is."""
    before = state_of(library)
    assert "asked" in await ask_in_vain(library, statement.replace("{folder}", str(library.parent)))
    assert state_of(library) == before


@pytest.mark.parametrize(
    "statement",
    [
        endless("SELECT count(*) AS a FROM r"),
        endless("SELECT a FROM r WHERE a < 0"),
        "SELECT count(*) AS a FROM " + " CROSS JOIN ".join(f"loans t{n}" for n in range(20)),  # noqa: S608  # as above
    ],
)
async def test_a_statement_without_end_is_stopped(library: Path, statement: str) -> None:
    """The limit is in seconds, also for a statement that never returns a row."""
    began = time.monotonic()
    assert "was stopped after 0.2 seconds" in await ask_in_vain(library, statement, limits={"seconds": 0.2})
    assert time.monotonic() - began < LOADED


async def test_a_result_without_end_is_cut_and_said_to_be(library: Path) -> None:
    """No more rows are read than fit, and half a list does not pass for a whole one."""
    reply = await ask(library, endless("SELECT a FROM r"), limits={"max_rows": 3, "seconds": 1.0})
    assert list_snippets(reply) == ["Lent: 1", "Lent: 2", "Lent: 3"]
    assert reply.trace.degraded == "db: asked: there are more than 3 rows: the first 3 rows were taken"
    assert reply.trace.error == ""


async def test_bytes_are_limited_too(library: Path) -> None:
    """Rows are taken whole or not at all; where not even one fits, that is an error."""
    wide = "hex(replace('" + "x" * 100 + "', 'x', '12345'))"
    reply = await ask(
        library, endless(wide.join(("SELECT ", " AS a FROM r"))), limits={"max_bytes": 2500, "seconds": 1.0}
    )
    assert len(reply.items) == 2
    assert "there are more than 2500 bytes: the first 2 rows" in reply.trace.degraded
    wider = wide.replace("12345", "1" * 60)
    with pytest.raises(SourceUnavailable, match="a row of more than 2500 bytes"):
        await ask(library, f"SELECT {wider} AS a", limits={"max_bytes": 2500})


async def test_every_table_can_be_read_with_the_functions_that_lookups_need(library: Path) -> None:
    """Aggregates, windows, dates, JSON and `WITH` work: the fence is no cage."""
    statement = """
        WITH days AS (SELECT id, title, row_number() OVER (ORDER BY id) AS n FROM loans WHERE title LIKE 'apple%')
        SELECT json_extract('{"k": "v"}', '$.k') || upper(substr(title, 1, 1)) || strftime('%H:%M', '2026-01-01 10:11')
               || round(1.25, 1) || coalesce(NULL, count(*)) AS a FROM days WHERE n = 1
    """
    assert list_snippets(await ask(library, statement)) == ["Lent: vA10:111.31"]


async def test_others_may_write_meanwhile(library: Path) -> None:
    """A lookup neither waits for a writer that keeps a log ahead nor hinders it."""
    with sqlite3.connect(library) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("DELETE FROM loans")
        assert list_snippets(await ask(library, "SELECT count(*) AS a FROM loans")) == ["Lent: 4"]
        writer.rollback()
    writer.close()


# ---------------------------------------------------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    "value", ["'; DROP TABLE loans; --", "x' OR '1'='1", ":other", "$other ?1 %s {0} {title}", "\\", "100 %", "я" * 90]
)
async def test_a_value_is_data_whatever_stands_in_it(library: Path, value: str) -> None:
    """SQL in a value is compared like any text and comes back as it was."""
    arguments = [text_argument()]
    none = await ask(
        library, "SELECT title AS a FROM loans WHERE title = :title", call(title=value), arguments=arguments
    )
    assert list_snippets(none) == ["Nothing was lent."]
    echoed = await ask(library, "SELECT :title AS a", call(title=value), arguments=arguments)
    assert list_snippets(echoed) == [f"Lent: {value}"]


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({"n": "two"}, "n: 'two' is not an integer from 1 to 3"),
        ({"n": "1; DELETE"}, "n: '1; DELETE' is not an integer"),
        ({}, "asked needs a value for n"),
        ({"n": "1", "m": "1"}, "asked has no argument 'm'"),
    ],
)
async def test_what_is_no_value_of_its_argument_is_an_error(library: Path, values: dict[str, str], fault: str) -> None:
    """Nothing is looked up with a value that is guessed or left out."""
    arguments = [{"name": "n", "type": "integer", "least": 1, "most": 3}]
    with pytest.raises(SourceUnavailable, match=fault):
        await ask(library, "SELECT title AS a FROM loans WHERE id <= :n", call(**values), arguments=arguments)


@pytest.mark.parametrize(
    ("bounds", "language", "says"),
    [
        ({"least": 1, "most": 3}, Language.EN, "“Loans”: the value 9999 is out of range; n can be from 1 to 3."),
        ({"most": 3}, Language.EN, "“Loans”: the value 9999 is out of range; n can be 3 or less."),
        (
            {"least": 1, "most": 3},
            Language.RU,
            "«Выдачи»: значение 9999 вне допустимых пределов; n может быть от 1 до 3.",
        ),
        (
            {"least": 10000},
            Language.RU,
            "«Выдачи»: значение 9999 вне допустимых пределов; n может быть не меньше 10000.",
        ),
    ],
)
@pytest.mark.parametrize("named", [True, False])
async def test_a_value_out_of_range_is_answered_with_the_range(
    library: Path, bounds: dict[str, float], language: Language, says: str, *, named: bool
) -> None:
    """A question about ten thousand days gets neither a year's figure nor word of an outage: the database is well."""
    days = {"name": "n", "type": "integer", "cues": {"en": ["days"]}, **bounds}
    asked = lookup("SELECT title AS a FROM loans WHERE id <= :n", arguments=[days])
    query = "-" if named else "apple in 9999 days"
    request = SearchRequest(query, language=language, lookups=(call(n="9999"),) if named else ())
    reply = await source(library, asked).search(request)
    assert list_snippets(reply) == [says]
    assert (reply.items[0].found, reply.trace.error, reply.trace.degraded) == ("0", "", "")


async def test_one_call_that_fails_leaves_the_others_their_answer(library: Path) -> None:
    """What could be looked up is returned, and the trace says what could not be."""
    both = source(library, lookup("SELECT 1 AS a"), lookup("SELECT 1 AS a FROM nowhere", name="other"))
    request = SearchRequest("-", lookups=(call().model_copy(update={"name": "other"}), call()))
    reply = await both.search(request)
    assert list_snippets(reply) == ["Lent: 1"]
    assert "no such table: nowhere" in reply.trace.degraded


# -------------------------------------------------------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("language", "sentence", "title"),
    [
        (Language.EN, "Lent: apple 'tart'", "Loans"),
        (Language.RU, "Выдано: apple 'tart'", "Выдачи"),
        (None, "Lent: apple 'tart'", "Loans"),
    ],
)
async def test_a_row_is_a_sentence_in_the_language_of_the_request(
    library: Path, language: Language | None, sentence: str, title: str
) -> None:
    """Sentence and title are those that the profile has for it."""
    statement = "SELECT title AS a FROM loans WHERE id = 3"
    reply = await source(library, lookup(statement)).search(SearchRequest("-", language=language, lookups=(call(),)))
    [item] = reply.items
    assert (item.snippet, item.title, item.source) == (sentence, title, Source.DB)
    assert (item.ref, item.confidence) == ("db:asked#1", 1.0)


@pytest.mark.parametrize(
    ("size", "language", "sentence"),
    [
        (2, Language.EN, "Lent: (binary, 2 bytes)"),
        (1, Language.EN, "Lent: (binary, 1 byte)"),
        (21, Language.RU, "Выдано: (двоичные данные, 21 байт)"),
        (3, Language.RU, "Выдано: (двоичные данные, 3 байта)"),
        (12, Language.RU, "Выдано: (двоичные данные, 12 байт)"),
    ],
)
async def test_bytes_are_counted_and_not_shown(library: Path, size: int, language: Language, sentence: str) -> None:
    """A value that is no text is said to be there, in the language of the request."""
    asked = source(library, lookup(f"SELECT x'{'ff' * size}' AS a"))
    assert list_snippets(await asked.search(SearchRequest("-", language=language, lookups=(call(),)))) == [sentence]


@pytest.mark.parametrize(
    ("language", "nothing"), [(Language.EN, "Nothing was lent."), (Language.RU, "Ничего не выдано.")]
)
async def test_finding_nothing_is_an_answer(library: Path, language: Language, nothing: str) -> None:
    """Where there is no row, the sentence for that is the evidence."""
    asked = source(library, lookup("SELECT title AS a FROM loans WHERE id = 99"))
    assert list_snippets(await asked.search(SearchRequest("-", language=language, lookups=(call(),)))) == [nothing]


async def test_the_words_of_a_query_choose_where_the_plan_did_not(library: Path) -> None:
    """Confidence then follows the likeness; a query about something else finds nothing."""
    asked = source(
        library, lookup("SELECT title AS a FROM loans", answers={"en": ["Which books are lent?"], "ru": ["?"]})
    )
    [first, *_] = (await asked.search(SearchRequest("which books are lent now"))).items
    assert 0.75 <= first.confidence < 1
    assert (await asked.search(SearchRequest("How do I restore a backup?"))).items == ()


async def test_different_values_are_different_references(library: Path) -> None:
    """One reference never names two sentences, and the same call is made once."""
    arguments = [text_argument()]
    asked = source(library, lookup("SELECT :title AS a", arguments=arguments))
    calls = (call(title="a"), call(title="b"), call(title="a"))
    assert [item.ref for item in (await asked.search(SearchRequest("-", lookups=calls))).items] == [
        "db:asked(title=a)#1",
        "db:asked(title=b)#1",
    ]


async def test_a_row_without_the_column_that_the_sentence_names_is_an_error(library: Path) -> None:
    """The profile is at fault, and is said to be."""
    assert "there is no column 'a'" in await ask_in_vain(library, "SELECT title FROM loans")


@pytest.mark.parametrize(
    "url",
    [
        "mysql://root:not-to-be-shown@host/base",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file.db?mode=rwc",
        "postgresql+asyncpg://u:not-to-be-shown@h/b",
        "not-to-be-shown",
    ],
)
def test_an_address_of_another_kind_is_refused_without_being_shown(url: str) -> None:
    """There may be a password in it."""
    with pytest.raises(ConfigError) as caught:
        source(url, lookup("SELECT 1 AS a"))
    assert "not-to-be-shown" not in str(caught.value)


async def test_a_file_is_named_by_its_address_too(tmp_path: Path) -> None:
    """Spaces and signs of addresses in its name change nothing."""
    path = sqlite_file(tmp_path / "a library & more.db")
    assert list_snippets(await ask(f"sqlite:///{path}", "SELECT count(*) AS a FROM loans")) == ["Lent: 4"]
