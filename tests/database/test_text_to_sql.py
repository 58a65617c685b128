"""SQL of a model's: what its check lets through, what the engines stop by themselves, and whole turns with it."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.lookups.sql import DatabaseSource
from adapters.lookups.text_to_sql.checking import check_statement
from adapters.lookups.text_to_sql.source import row_in_words
from adapters.lookups.text_to_sql.statement import RefusedStatement, Statement, readable
from contracts.enums import Language
from contracts.errors import SourceUnavailable
from contracts.profile import Database, TextToSql
from tests.support.database.hostile_sql import hostile
from tests.support.database.tables import state_of
from tests.support.examples import examples

ABOUT = {"en": "What the library lends.", "ru": "Что выдаёт библиотека."}


def allowed(**more: Any) -> TextToSql:
    """Return what may be asked: `secret` of the table `loans` is not among it, nor is the table `vault`."""
    columns = {"loans": ("id", "title", "day"), "readers": ("id", "Name")}
    tables = [
        {"name": name, "about": ABOUT, "columns": [{"name": one, "about": ABOUT} for one in own]}
        for name, own in columns.items()
    ]
    return TextToSql.model_validate({"tables": tables, **more})


LOANS = [
    (1, "apple", "2026-11-16", "key-1"),
    (2, "apple pie", "2026-11-17", "key-2"),
    (3, "apple 'tart': 5 %", "2026-10-02", "key-3"),
    (4, "pear", "2026-11-18", "key-4"),
]
SCHEMA = (
    "CREATE TABLE {s}loans (id INTEGER, title TEXT, day TEXT, secret TEXT)",
    'CREATE TABLE {s}readers (id INTEGER, "Name" TEXT)',
    "CREATE TABLE {s}vault (word TEXT)",
    "INSERT INTO {s}readers VALUES (1, 'Ann'), (2, 'Борис')",
    "INSERT INTO {s}vault VALUES ('treasure')",
)


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A file of SQLite's with what may be asked, and what may not."""
    path = tmp_path / "shelf.db"
    with sqlite3.connect(path) as connection:
        for statement in SCHEMA:
            connection.execute(statement.format(s=""))
        connection.executemany("INSERT INTO loans VALUES (?, ?, ?, ?)", LOANS)
        connection.execute("CREATE VIEW latest AS SELECT title, secret FROM loans WHERE id = 4")
    connection.close()
    return path


@pytest.fixture(scope="module")
def shelf_server(postgres: str) -> str:
    """The address of the same in PostgreSQL, for a role that may select in `loans` and `readers` by column."""
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA shelf")
        for statement in SCHEMA:
            connection.execute(statement.format(s="shelf.").encode())
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO shelf.loans VALUES (%s, %s, %s, %s)", LOANS)
        connection.execute("CREATE ROLE asker LOGIN")
        connection.execute("GRANT USAGE ON SCHEMA shelf TO asker")
        connection.execute("GRANT SELECT (id, title, day) ON shelf.loans TO asker")
        connection.execute("GRANT SELECT ON shelf.readers TO asker")
        connection.execute("ALTER ROLE asker SET search_path = shelf")
    return re.sub(r"//[^@/]*@", "//asker@", postgres)


def source(url: str | Path, **limits: Any) -> DatabaseSource:
    return DatabaseSource((), url, Database.model_validate({"seconds": 1.0, **limits}))


async def run(url: str | Path, text: str) -> list[Mapping[str, object]]:
    """Check a statement, and run what may run."""
    database = source(url)
    statement = check_statement(text, allowed(), database.dialect, 50)
    found = await database.run(statement.text, statement.values, statement.readable)
    return list(found.rows)


# -------------------------------------------------------------------------------------------------------- the check


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_there_are_enough_hostile_statements(dialect: str) -> None:
    """Each engine has sixty of its own and of both, no two alike."""
    assert len(set(hostile(dialect))) == len(hostile(dialect)) >= 60


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_what_is_not_a_plain_select_on_what_is_allowed_is_refused(
    dialect: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whatever a statement tries, the check says no, with a reason, and nothing of it reaches a log."""
    assert [text for text in hostile(dialect) if not refusal(text, dialect)] == []
    assert capfd.readouterr() == ("", "")


def refusal(text: str, dialect: str) -> str:
    """Return why a statement is refused; nothing where it is not."""
    try:
        check_statement(text, allowed(), dialect, 50)
    except RefusedStatement as refused:
        return str(refused)
    return ""


# -------------------------------------------------------------------------------------------------------- the fences


def leaked(rows: list[Mapping[str, object]]) -> list[str]:
    """Return what of the rows stands in columns and tables that are not allowed."""
    said = " ".join(str(value) for row in rows for value in row.values())
    return re.findall(r"key-\d|treasure|root:", said)


async def test_sqlite_alone_changes_nothing_and_shows_nothing(shelf: Path) -> None:
    """Past the check, a hostile statement reads no other column or table, writes nothing, and ends in time."""
    before = state_of(shelf)
    for text in hostile("sqlite"):
        try:
            found = await source(shelf).run(text, {}, readable(allowed()))
        except SourceUnavailable:
            found = None
        assert leaked(list(found.rows) if found else []) == [], text
        assert state_of(shelf) == before, text


async def test_postgres_alone_changes_nothing_and_shows_nothing(shelf_server: str) -> None:
    """Past the check, the read-only transaction and the rights of the role stop the same; none runs over its time."""
    for text in hostile("postgres"):
        try:
            found = await source(shelf_server, seconds=0.3).run(text, {}, {})
        except SourceUnavailable:
            found = None
        assert leaked(list(found.rows) if found else []) == [], text
    assert await run(shelf_server, "SELECT count(*) AS n, max(title) AS t FROM loans") == [{"n": 4, "t": "pear"}]
    assert await run(shelf_server, "SELECT count(*) AS n FROM readers") == [{"n": 2}]


async def test_a_view_that_may_be_asked_may_read_its_table(shelf: Path) -> None:
    """What stands behind a view is the view's affair; its columns that are not named are refused all the same."""
    latest = {"name": "latest", "about": ABOUT, "columns": [{"name": "title", "about": ABOUT}]}
    view = TextToSql.model_validate({"tables": [latest]})
    statement = check_statement("SELECT title FROM latest", view, "sqlite", 50)
    database = source(shelf)
    assert list((await database.run(statement.text, {}, statement.readable)).rows) == [{"title": "pear"}]
    with pytest.raises(RefusedStatement):
        check_statement("SELECT secret FROM latest", view, "sqlite", 50)
    for text in ("SELECT secret FROM loans", "SELECT secret FROM latest", "SELECT title FROM loans"):
        with pytest.raises(SourceUnavailable, match="was refused"):
            await database.run(text, {}, statement.readable)


@pytest.mark.parametrize(
    "text",
    [
        "WITH latest AS (SELECT word AS title FROM vault) SELECT title FROM latest",
        "WITH Latest(title) AS MATERIALIZED (SELECT word FROM vault) SELECT title FROM LATEST",
        "WITH latest AS (SELECT secret AS title FROM loans) SELECT a.title FROM latest AS a, main.latest AS b",
        "WITH latest AS (SELECT secret AS title FROM main.latest) SELECT title FROM latest",
        "SELECT title FROM (WITH latest AS (SELECT word AS title FROM vault) SELECT title FROM latest)",
        "SELECT (WITH latest AS (SELECT word AS title FROM vault) SELECT title FROM latest) AS title FROM latest",
        "WITH a AS (WITH latest AS (SELECT word FROM vault) SELECT * FROM latest) SELECT * FROM a",
        "WITH RECURSIVE latest(t) AS (SELECT word FROM vault UNION SELECT t FROM latest) SELECT t FROM latest",
        'WITH "latest" AS (SELECT sql AS title FROM sqlite_master) SELECT title FROM latest',
        # A name that only the real table has is another column there.
        "WITH latest AS (SELECT (SELECT secret FROM loans) t FROM (SELECT id AS secret FROM loans)) SELECT t FROM latest",
        "SELECT title FROM latest UNION SELECT word FROM vault",
        "SELECT title, (SELECT word FROM vault) AS word FROM latest",
    ],
)
async def test_a_query_that_is_called_like_a_view_does_not_read_what_the_view_may(shelf: Path, text: str) -> None:
    """Past the check, a name given in the statement opens nothing: the database itself says no."""
    may_read = readable(allowed()) | {"latest": frozenset({"title"})}
    with pytest.raises(SourceUnavailable, match="was refused"):
        await source(shelf).run(text, {}, may_read)


@pytest.mark.parametrize(
    ("text", "values", "rows"),
    [
        ("WITH w AS (SELECT title FROM latest) SELECT w.title AS t FROM w", {}, [{"t": "pear"}]),
        ("SELECT l.day FROM latest AS v JOIN loans AS l ON l.title = v.title", {}, [{"day": "2026-11-18"}]),
        ("SELECT count(*) AS n FROM Latest WHERE title = :p1", {"p1": "pear"}, [{"n": 1}]),
        ('SELECT "Größe" AS g FROM "Übersicht"', {}, [{"g": 4}]),
        ("SELECT upper(substr(title, 1, 1)) AS a FROM latest AS latest", {}, [{"a": "P"}]),
    ],
)
async def test_a_view_is_asked_like_a_table(
    shelf: Path, text: str, values: dict[str, str], rows: list[dict[str, object]]
) -> None:
    """Beside tables, through `WITH`, with values, and in any alphabet."""
    with sqlite3.connect(shelf) as connection:
        connection.execute('CREATE VIEW "Übersicht" AS SELECT id AS "Größe", secret FROM loans WHERE id = 4')
    connection.close()
    may_read = readable(allowed()) | {"latest": frozenset({"title"}), "übersicht": frozenset({"größe"})}
    assert list((await source(shelf).run(text, values, may_read)).rows) == rows


# ----------------------------------------------------------------------------------------------------------- benign

BENIGN: list[tuple[str, list[dict[str, object]]]] = [
    ("SELECT count(*) AS n FROM loans", [{"n": 4}]),
    ("SELECT COUNT(*) FROM loans;", [{"value_1": 4}]),
    ("select title from loans where id = 4", [{"title": "pear"}]),
    ("SELECT l.title AS \"название\" FROM loans l WHERE l.id = 4", [{"название": "pear"}]),
    ("SELECT TITLE FROM Loans WHERE ID = 4", [{"TITLE": "pear"}]),
    ("SELECT title FROM loans ORDER BY id DESC LIMIT 1", [{"title": "pear"}]),
    ("SELECT title FROM loans ORDER BY id LIMIT 1 OFFSET 1", [{"title": "apple pie"}]),
    ("SELECT title FROM loans WHERE title LIKE '%pie' -- a comment", [{"title": "apple pie"}]),
    ("SELECT id FROM loans WHERE title = 'apple ''tart'': 5 %'", [{"id": 3}]),
    ("SELECT id FROM loans WHERE title LIKE '%: 5 %' OR title = ':p1' OR id = 4 ORDER BY id", [{"id": 3}, {"id": 4}]),
    ("SELECT count(*) AS n FROM loans WHERE day >= '2026-11-01' AND day < '2026-12-01'", [{"n": 3}]),
    ("SELECT r.name AS who, l.title AS what FROM loans l JOIN readers r ON r.id = l.id WHERE r.id = 1",
     [{"who": "Ann", "what": "apple"}]),
    ("SELECT l.title AS t FROM loans l LEFT JOIN readers r ON r.id = l.id WHERE r.id IS NULL ORDER BY l.id",
     [{"t": "apple 'tart': 5 %"}, {"t": "pear"}]),
    ("SELECT count(*) AS n FROM loans CROSS JOIN readers", [{"n": 8}]),
    ("SELECT substr(day, 1, 7) AS month, count(*) AS n FROM loans GROUP BY month ORDER BY month",
     [{"month": "2026-10", "n": 1}, {"month": "2026-11", "n": 3}]),
    ("SELECT substr(day, 1, 7) AS month, count(*) AS n FROM loans GROUP BY substr(day, 1, 7) HAVING count(*) > 1",
     [{"month": "2026-11", "n": 3}]),
    ("WITH apples AS (SELECT id, title FROM loans WHERE title LIKE 'apple%') SELECT max(id) AS m FROM apples",
     [{"m": 3}]),
    ("SELECT title FROM loans WHERE id IN (SELECT id FROM readers) ORDER BY title DESC",
     [{"title": "apple pie"}, {"title": "apple"}]),
    ("SELECT name FROM readers WHERE EXISTS (SELECT 1 FROM loans WHERE loans.id = readers.id AND title = 'apple')",
     [{"name": "Ann"}]),
    ("SELECT title, (SELECT name FROM readers r WHERE r.id = l.id) AS who FROM loans l WHERE id = 2",
     [{"title": "apple pie", "who": "Борис"}]),
    ("SELECT big.n FROM (SELECT count(*) AS n FROM loans) AS big", [{"n": 4}]),
    ("SELECT sum(CASE WHEN title LIKE 'apple%' THEN 1 ELSE 0 END) AS apples FROM loans", [{"apples": 3}]),
    ("SELECT title, rank() OVER (ORDER BY id DESC) AS place FROM loans ORDER BY place LIMIT 1",
     [{"title": "pear", "place": 1}]),
    ("SELECT count(DISTINCT substr(day, 1, 7)) AS months FROM loans", [{"months": 2}]),
    ("SELECT count(*) FILTER (WHERE id > 2) AS late FROM loans", [{"late": 2}]),
    ("SELECT upper(coalesce(nullif(title, 'pear'), 'none')) AS t FROM loans WHERE id BETWEEN 4 AND 4", [{"t": "NONE"}]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "rows"), BENIGN)
async def test_what_a_question_needs_passes_and_gives_its_rows(
    shelf: Path, shelf_server: str, text: str, rows: list[dict[str, object]]
) -> None:
    """Joins, groups, sub-queries, `WITH` and windows run on both engines, and mean what they meant."""
    for url in (shelf, shelf_server):
        # A column without a name of its own is called as the profile writes it.
        found = [{name.lower(): value for name, value in row.items()} for row in await run(url, text)]
        assert found == [{name.lower(): value for name, value in row.items()} for row in rows]


def test_bytes_of_a_row_are_counted_and_not_shown() -> None:
    """A row of a model's statement says of a value that is no text how large it is, in the language of the question."""
    assert row_in_words({"cover": b"\xff\x00"}, Language.EN) == "cover: (binary, 2 bytes)"
    assert row_in_words({"cover": b"\xff\x00"}, Language.RU) == "cover: (двоичные данные, 2 байта)"


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("sqlite", "SELECT strftime('%Y', day) AS y, count(*) AS n FROM loans WHERE date(day) <= '2026-12-01' GROUP BY y"),
        ("postgres", "SELECT to_char(day::date, 'YYYY') AS y, count(*) AS n FROM loans GROUP BY y"),
        ("postgres", "SELECT max(to_char(date_trunc('year', day::date), 'YYYY')) AS y, count(*) AS n FROM loans"),
        ("postgres", "SELECT extract(year from max(day::date))::text AS y, count(*) AS n FROM loans"),
    ],
)  # fmt: skip
async def test_dates_are_counted_in_each_engines_own_way(
    shelf: Path, shelf_server: str, dialect: str, text: str
) -> None:
    """The functions for days and months are those of the engine."""
    assert await run(shelf if dialect == "sqlite" else shelf_server, text) == [{"y": "2026", "n": 4}]


async def test_a_span_of_time_becomes_a_parameter_too(shelf_server: str) -> None:
    """PostgreSQL takes none behind the word INTERVAL; what runs casts it."""
    text = "SELECT count(*) AS n FROM loans WHERE day::date > date '2026-11-20' - interval '3 days'"
    assert await run(shelf_server, text) == [{"n": 1}]
    assert ":p2 AS INTERVAL" in check_statement(text, allowed(), "postgres", 5).text


def test_a_table_of_another_schema_is_written_with_it() -> None:
    """The profile's name is what runs, whether the model has written the schema or not; another one is refused."""
    tables = [{"name": "shelf.Loans", "about": ABOUT, "columns": [{"name": "id", "about": ABOUT}]}]
    asked = TextToSql.model_validate({"tables": tables})
    for written in ("loans", "shelf.loans"):
        statement = check_statement(f"SELECT id FROM {written}", asked, "postgres", 5)  # noqa: S608
        assert 'FROM "shelf"."Loans" AS "loans"' in statement.text
    with pytest.raises(RefusedStatement):
        check_statement("SELECT id FROM other.loans", asked, "postgres", 5)


def test_a_function_of_the_profile_may_be_called() -> None:
    """What is built in is not all that a database has; what the profile does not name stays refused."""
    text = "SELECT split_words(title) AS a FROM loans"
    with pytest.raises(RefusedStatement, match="split_words"):
        check_statement(text, allowed(), "postgres", 5)
    assert "SPLIT_WORDS(" in check_statement(text, allowed(functions=["split_words"]), "postgres", 5).text


def test_the_rows_are_limited_to_one_more_than_are_taken() -> None:
    """So a longer result is known to be longer; a smaller limit of the model's stays."""
    assert check_statement("SELECT id FROM loans", allowed(), "sqlite", 5).text.endswith("LIMIT 6")
    assert check_statement("SELECT id FROM loans LIMIT 3", allowed(), "sqlite", 5).text.endswith("LIMIT 3")
    assert check_statement("SELECT id FROM loans LIMIT 999999999999999", allowed(), "sqlite", 5).text.endswith(
        "LIMIT 6"
    )


# ------------------------------------------------------------------------------------------------------------- fuzz

_WORDS = st.sampled_from(
    [
        "SELECT",
        "FROM",
        "WHERE",
        "AND",
        "OR",
        "(",
        ")",
        ",",
        ".",
        "*",
        "id",
        "title",
        "day",
        "secret",
        "loans",
        "readers",
        "vault",
        "l",
        "r",
        "AS",
        "JOIN",
        "ON",
        "USING",
        "NATURAL",
        "LATERAL",
        "WITH",
        "a",
        "UNION",
        "ALL",
        "GROUP",
        "BY",
        "ORDER",
        "HAVING",
        "LIMIT",
        "1",
        "'x'",
        '"secret"',
        "[secret]",
        "`secret`",
        "=",
        "<",
        "||",
        "--",
        "/*",
        "*/",
        ";",
        "count",
        "max",
        "lower",
        "pg_sleep",
        "load_extension",
        "sqlite_master",
        "pg_user",
        "INTO",
        "FOR",
        "UPDATE",
        "EXISTS",
        "IN",
        "CASE",
        "WHEN",
        "THEN",
        "END",
        "OVER",
        "PARTITION",
        "DISTINCT",
        "NOT",
        "NULL",
        "::",
        ":x",
        "$1",
        "?",
        "rowid",
        "ctid",
        "CAST",
        "RETURNING",
        "VALUES",
        "RECURSIVE",
        "INSERT",
        "DELETE",
        "PRAGMA",
    ]
)
_ALLOWED = ["id", "title", "l.id", "l.day", "l.title"]
_COLUMN = st.sampled_from([*_ALLOWED * 4, "secret", "l.secret", "l.*", "*", "loans", "l", "r.id", "a.secret", "x"])
_VALUE = st.one_of(
    *[st.sampled_from(_ALLOWED)] * 6,
    _COLUMN,
    st.sampled_from(_ALLOWED).map("count({})".format),
    _COLUMN.map("lower({})".format),
    _COLUMN.map("(SELECT {} FROM loans l)".format),
    _COLUMN.map("(SELECT max({}) FROM vault)".format),
    st.sampled_from(["1", "'key-1'", "count(*)", "pg_sleep(1)", "printf('x')", "n", "n"]),
)
_RELATION = st.sampled_from(
    [
        *["loans l"] * 8,
        *["loans l JOIN readers r ON r.id = l.id"] * 3,
        "(SELECT id, title, day FROM loans) l",
        "(SELECT secret AS id, title, day FROM loans) l",
        "vault l",
        "loans l(id, title, secret)",
        "loans l NATURAL JOIN vault",
        "loans l, vault",
        "loans l JOIN loans r USING (secret)",
    ]
)
_NOTHING = st.just("")
_BEFORE = st.sampled_from(
    ["WITH a AS (SELECT secret AS id FROM loans) ", "WITH loans AS (SELECT word AS id FROM vault) "]
)
_AFTER = st.sampled_from([" LIMIT 2", "; DELETE FROM loans", " FOR UPDATE", " UNION SELECT secret FROM loans"])
_SHAPED = st.builds(
    "{}SELECT {} AS {} FROM {}{}{}{}{}".format,
    st.one_of(*[_NOTHING] * 8, _BEFORE),
    _VALUE,
    st.sampled_from(["n", "secret", "title", "id"]),
    _RELATION,
    st.one_of(_NOTHING, st.builds(" WHERE {} = {}".format, _VALUE, _VALUE)),
    st.one_of(_NOTHING, _VALUE.map(" GROUP BY {}".format)),
    st.one_of(_NOTHING, _VALUE.map(" ORDER BY {}".format)),
    st.one_of(_NOTHING, _NOTHING, _AFTER),
)


@examples(5)
@given(text=st.one_of(_SHAPED, st.lists(_WORDS, max_size=25).map(" ".join), st.text(max_size=80)))
def test_only_plain_selects_on_allowed_columns_reach_an_engine(text: str) -> None:
    """Whatever is written, what comes out reads nothing else, by SQLite's own account of it."""
    for dialect in ("sqlite", "postgres"):
        try:
            statement = check_statement(text, allowed(), dialect, 5)
        except RefusedStatement:
            continue
        assert_reads_only(statement)


def assert_reads_only(statement: Statement) -> None:
    """Have SQLite itself say what a statement reads, and that it does nothing else."""
    reads: list[tuple[str | None, str | None]] = []
    others: list[int] = []

    def note(action: int, first: str | None, second: str | None, *_: str | None) -> int:
        if action == sqlite3.SQLITE_READ:
            reads.append((first, second))
        elif action not in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_FUNCTION):
            others.append(action)
        return sqlite3.SQLITE_OK

    connection = sqlite3.connect(":memory:")
    try:
        for line in SCHEMA:
            connection.execute(line.format(s=""))
        connection.create_function("position", 2, lambda *_: 0)
        connection.set_authorizer(note)
        try:
            connection.execute(f"EXPLAIN {statement.text}", statement.values)
        except sqlite3.OperationalError as error:
            # PostgreSQL's own functions, and what no engine takes, like a sum in GROUP BY.
            assert "prohibited" not in str(error)  # noqa: PT017
    finally:
        connection.set_authorizer(None)
        connection.close()
    may_read = readable(allowed())
    assert others == []
    for table, column in reads:
        assert table is not None
        assert (column or "").lower() in (*may_read.get(table.lower(), ()), ""), statement.text
        assert table.lower() in may_read, statement.text
