"""The db source over a real server of PostgreSQL, asked as a user who may do anything."""

from __future__ import annotations

import time

import pytest

from contracts.errors import SourceUnavailable
from tests.support.database.tables import ROWS, ask, ask_in_vain, call, list_snippets, lookup, source, text_argument
from tests.support.ports.source_conformance import SourceConformance
from tests.support.timed import LOADED


class TestConformance(SourceConformance):
    @pytest.fixture
    def source(self, postgres: str) -> object:
        return source(postgres, lookup("SELECT title AS a FROM loans ORDER BY id"))

    @pytest.fixture
    def broken(self) -> object:
        return source("postgresql://reader@127.0.0.1:1/none", lookup("SELECT title AS a FROM loans"))


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO loans VALUES (9, 'x', 'y')",
        "WITH one AS (INSERT INTO loans VALUES (9, 'x', 'y') RETURNING id) SELECT id AS a FROM one",
        "SELECT 1 AS a; INSERT INTO loans VALUES (9, 'x', 'y')",
        "SET TRANSACTION READ WRITE; INSERT INTO loans VALUES (9, 'x', 'y')",
        "COMMIT; SET default_transaction_read_only = off; INSERT INTO loans VALUES (9, 'x', 'y')",
        "SELECT set_config('transaction_read_only', 'off', false) AS a",
        "DO $$ BEGIN INSERT INTO loans VALUES (9, 'x', 'y'); END $$",
        "COPY (SELECT 1) TO PROGRAM 'true'",
        "SELECT lo_create(4242) AS a",
        "CREATE TEMP TABLE other (a integer)",
        "DROP TABLE loans",
    ],
)
async def test_what_does_not_only_read_is_refused_by_the_engine(postgres: str, statement: str) -> None:
    """Several statements, writes inside a `WITH`, and ways back to writing are all refused."""
    assert "asked" in await ask_in_vain(postgres, statement)
    assert list_snippets(await ask(postgres, "SELECT count(*) AS a FROM loans")) == [f"Lent: {len(ROWS)}"]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT pg_sleep(30) AS a",
        "WITH RECURSIVE r(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM r) SELECT count(*) AS a FROM r",
        "SELECT set_config('statement_timeout', '0', false) AS a UNION ALL SELECT pg_sleep(30)::text",
    ],
)
async def test_a_statement_without_end_is_stopped(postgres: str, statement: str) -> None:
    """Also one that puts off the server's own limit before it goes on."""
    began = time.monotonic()
    assert "was stopped after 1 seconds" in await ask_in_vain(postgres, statement)
    assert time.monotonic() - began < LOADED


async def test_a_huge_result_is_cut_and_said_to_be(postgres: str) -> None:
    """Rows come through a cursor of the server's: no more are on their way than fit."""
    statement = "SELECT a FROM loans, LATERAL (SELECT repeat('x', 100) AS a FROM generate_series(1, 100000)) AS many"
    reply = await ask(postgres, statement, limits={"max_rows": 10})
    assert len(reply.items) == 10
    assert "there are more than 10 rows" in reply.trace.degraded


@pytest.mark.parametrize(
    "value", ["'; DROP TABLE loans; --", "x' OR '1'='1", "100 % :x %s %(title)s {0}", "apple 'tart'"]
)
async def test_a_value_is_data_whatever_stands_in_it(postgres: str, value: str) -> None:
    """SQL and signs of the driver in a value come back as they were."""
    arguments = [text_argument()]
    reply = await ask(postgres, "SELECT :title AS a, '5 %' AS b", call(title=value), arguments=arguments)
    assert list_snippets(reply) == [f"Lent: {value}"]


async def test_dates_and_numbers_fit_the_servers_types(postgres: str) -> None:
    """A day is compared with a date, a number with a number."""
    arguments = [{"name": "since", "type": "date"}, {"name": "n", "type": "number"}]
    statement = "SELECT count(*) AS a FROM loans WHERE to_date(nullif(day, '-'), 'YYYY-MM-DD') >= :since AND id < :n"
    reply = await ask(postgres, statement, call(since="week", n="3.5"), arguments=arguments)
    assert list_snippets(reply) == ["Lent: 2"]


async def test_a_role_without_the_right_is_told_so(postgres: str) -> None:
    """The documentation asks for a role that may only select: what it may not read, is refused."""
    url = postgres.replace("postgres:@", "reader:not-to-be-shown@")
    assert url != postgres
    text = await ask_in_vain(url, "SELECT title AS a FROM loans")
    assert "permission denied" in text
    assert "not-to-be-shown" not in text


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://reader:not-to-be-shown@127.0.0.1:1/none",
        "postgresql://reader@/none?host=/nowhere&password=not-to-be-shown",
    ],
)
async def test_a_server_that_is_away_is_told_from_one_that_refuses(url: str) -> None:
    """The way out names the setting; no password is shown."""
    with pytest.raises(SourceUnavailable, match="cannot be asked") as caught:
        await ask(url, "SELECT 1 AS a")
    assert "GUARDIAN_DATABASE_URL" in caught.value.way_out
    assert "not-to-be-shown" not in str(caught.value) + repr(caught.value)
