from __future__ import annotations

import pytest

from adapters.lookups.graph import GraphSource, Neo4j, StatementLimits
from contracts.enums import Language
from contracts.errors import ConfigError, SourceUnavailable
from contracts.ports import SearchRequest
from tests.support.graph_source.bolt_server import BEGIN, HELLO, PULL, RUN, BoltServer
from tests.support.graph_source.small_graph import MENTIONS, lookup

PASSED = "p@ss/word"
COLUMNS = ["page_path", "page_title", "page_url", "page_kb_id"]


def address(server: BoltServer) -> str:
    return f"bolt://reader:p%40ss%2Fword@127.0.0.1:{server.port}/docs"


def test_a_statement_runs_in_a_reading_transaction_with_its_limits() -> None:
    """Over the wire: read access mode, the time limit, the database, values as parameters, no more rows than wanted."""
    with BoltServer(columns=["name"], rows=[["a"], ["b"], [None]]) as server:
        engine = Neo4j(address(server))
        hostile = "x'}) DETACH DELETE (n) //"
        found = engine.run(MENTIONS, {"setting": hostile}, StatementLimits(rows=2, seconds=3))
        assert found.rows == [{"name": "a"}, {"name": "b"}]
        assert found.cut == "there are more than 2 rows: the first 2 rows were taken"
        engine.close()
    (begun,) = server.of(BEGIN)
    assert (begun[0]["mode"], begun[0]["tx_timeout"], begun[0]["db"]) == ("r", 3000, "docs")
    assert [fields[:2] for fields in server.of(RUN)] == [[MENTIONS, {"setting": hostile}]]
    assert [fields[0]["n"] for fields in server.of(PULL)] == [3]
    assert server.of(HELLO)[0][0]["principal"] == "reader"
    assert server.of(HELLO)[0][0]["credentials"] == PASSED


def test_bytes_of_a_server_s_rows_are_limited_and_said_to_be() -> None:
    """A cut list says so, and a first row that is too large is an error: leaving it out would say "nothing"."""
    with BoltServer(columns=["name"], rows=[["a" * 30], ["b" * 30]]) as server:
        engine = Neo4j(address(server))
        found = engine.run(MENTIONS, {"setting": "x"}, StatementLimits(size=59))
        assert (len(found.rows), found.cut) == (1, "there are more than 59 bytes: the first 1 rows were taken")
        assert engine.run(MENTIONS, {"setting": "x"}, StatementLimits(size=60)).cut == ""
        with pytest.raises(SourceUnavailable, match="The lookup 'one' has a row of more than 29 bytes"):
            engine.run(MENTIONS, {"setting": "x"}, StatementLimits(size=29), "the lookup 'one'")
        engine.close()


async def test_rows_of_a_server_are_evidence_like_those_of_a_file() -> None:
    """The same lookup, the same sentence, the same page: only the engine is another."""
    with BoltServer(columns=COLUMNS, rows=[["docs/a.md", "Settings", "", 7]]) as server:
        source = GraphSource(Neo4j(address(server)), [lookup(MENTIONS.replace("$setting", "toLower($setting)"))])
        request = SearchRequest("Which pages mention the setting «X_MODE»?", language=Language.EN)
        (item,) = (await source.search(request)).items
        source.close()
    assert item.snippet == "The page Settings mentions X_MODE."
    assert (item.title, item.url, item.kb_id) == ("Settings", None, 7)


@pytest.mark.parametrize(
    ("code", "way_out"),
    [
        ("Neo.ClientError.Statement.SyntaxError", "Correct the lookup 'one' in the profile"),
        ("Neo.ClientError.Transaction.TransactionTimedOut", "Ask for less"),
        ("Neo.TransientError.General.MemoryPoolOutOfMemoryError", "Ask for less"),
        ("Neo.ClientError.Security.Unauthorized", "user and password"),
        ("Neo.TransientError.General.Busy", "See that it runs"),
    ],
)
def test_what_the_server_refuses_is_said_without_secrets(code: str, way_out: str) -> None:
    """An error names the server and its own code, with the way out of that, and never the password."""
    with BoltServer(failure=code) as server:
        engine = Neo4j(address(server))
        with pytest.raises(SourceUnavailable) as caught:
            engine.run(MENTIONS, {"setting": "x"}, StatementLimits(), "the lookup 'one'")
        engine.close()
    assert code in caught.value.message
    assert way_out in caught.value.way_out
    assert PASSED not in caught.value.message + repr(engine)


def test_a_server_that_is_away_cannot_be_asked() -> None:
    """No connection is an error of the port, with the address and without the password."""
    with BoltServer() as server:
        gone = address(server)
    engine = Neo4j(gone)
    with pytest.raises(SourceUnavailable, match=r"127\.0\.0\.1"):
        engine.run(MENTIONS, {"setting": "x"}, StatementLimits())
    engine.close()


@pytest.mark.parametrize("url", ["", "localhost:7687", "http://localhost:7474", "bolt://", "bolt://host:port", "neo4j"])
def test_an_address_that_is_none_is_an_error_of_the_settings(url: str) -> None:
    """What cannot be an address of a server is refused when it is read."""
    with pytest.raises(ConfigError) as caught:
        Neo4j(url)
    assert "neo4j://" in caught.value.way_out
