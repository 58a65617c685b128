from __future__ import annotations

import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from adapters.lookups.graph import GraphSource, Ladybug, StatementLimits
from adapters.lookups.graph.engine import check
from contracts.errors import ConfigError, SourceUnavailable
from tests.support.graph_source.small_graph import MENTIONS, index_graph, lookup, make_graph, rows, write
from tests.support.timed import LOADED

WRITES = (
    "CREATE (:Setting {name: 'x'})",
    "MATCH (n:Setting) SET n.name = 'x'",
    "MATCH (n:Setting) DETACH DELETE n",
    "MERGE (:Setting {name: 'x'})",
    "DROP TABLE Setting",
    "ALTER TABLE Setting ADD more STRING",
    "MATCH (n:Setting) RETURN n.name; CREATE (:Setting {name: 'x'})",
    "CREATE MACRO f(x) AS x + 1",
)
ASIDE = (
    "COPY (MATCH (n:Setting) RETURN n.name) TO '{folder}/stolen.csv'",
    "EXPORT DATABASE '{folder}/stolen'",
    "LOAD FROM '{folder}/secret.csv' RETURN *",
    "CALL threads=64",
    "CALL show_tables() RETURN *",
    "INSTALL httpfs",
    "CHECKPOINT",
    "ATTACH '{folder}/other.lbug' AS other (dbtype lbug)",
    "BEGIN TRANSACTION",
    "MATCH (n:Setting) CALL show_tables() RETURN *",
    "MATCH (n:Setting) /* harmless */ SET n.name = 'x' RETURN n",
    "MATCH (n:Setting) WHERE n.name = '//' SET n.name = 'x' //'",
    "MATCH (n:Setting) RETURN 1.CREATE (m:Setting)",
    "// MATCH\nCREATE (:Setting {{name: 'x'}})",
    "PROFILE MATCH (n) RETURN n",
    "LOAD CSV FROM 'file:///etc/passwd' AS row RETURN row",
    "MATCH (n) FOREACH (x IN [1] | SET n.name = 'x')",
    "USE other MATCH (n) RETURN n",
)


@pytest.mark.parametrize("statement", WRITES)
def test_the_engine_itself_does_not_write(tmp_path: Path, statement: str) -> None:
    """A statement that would change the graph fails where it is run, whoever wrote it."""
    file = make_graph(tmp_path)
    before = file.read_bytes()
    with pytest.raises(SourceUnavailable):
        rows(file, statement)
    assert file.read_bytes() == before


@pytest.mark.parametrize("statement", WRITES + ASIDE)
def test_no_lookup_can_do_more_than_read(tmp_path: Path, statement: str) -> None:
    """What reads files, writes them, fetches extensions or calls procedures is refused before anything is run."""
    file = make_graph(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    text = statement.format(folder=tmp_path) if "{folder}" in statement else statement
    with pytest.raises(ConfigError) as caught:
        GraphSource(Ladybug(file), [lookup(text, arguments=[], none={"en": "-", "ru": "-"})])
    assert "pages_with_setting" in caught.value.message
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("call", ["labels(n)", "type (n)", "elementId(n)", "shortestPath((a)-[*]-(b))", "id(n)"])
def test_what_only_one_engine_has_is_refused(call: str) -> None:
    """A statement is of the subset that every engine runs alike, so that a profile moves between them unchanged."""
    with pytest.raises(ConfigError, match="not every engine"):
        check(f"MATCH (n:Setting) RETURN {call}", "one")


@pytest.mark.parametrize(
    "statement",
    [
        MENTIONS,
        "match (n:Setting) where n.name contains 'SET; CREATE' return n.name as name",
        "MATCH (n:Profile)-[:LOAD|MENTIONS]->(m) WHERE n.create = $x AND n.`copy` = 1 RETURN m.type AS t // DELETE it",
        "OPTIONAL MATCH (n:Setting) WITH n ORDER BY n.name SKIP 1 LIMIT 2 UNWIND [1, 2] AS x RETURN n.name AS a",
        "MATCH (n:Setting) RETURN n.name AS a\nUNION ALL\nMATCH (n:Command) RETURN n.name AS a",
    ],
)
def test_what_reads_is_let_through_whatever_its_names(statement: str) -> None:
    """Words inside strings, comments, labels, properties and backticks are names, not orders."""
    check(statement, "one")


@pytest.mark.parametrize(
    "value", ["x' OR 1=1 //", "ORCHARD_MODE'}) DETACH DELETE (n) //", "$setting", "\\", "\n", "\ud800", "\x00", "`"]
)
def test_values_are_data(tmp_path: Path, value: str) -> None:
    """No value changes what a statement does: it is compared, and found nowhere."""
    assert rows(make_graph(tmp_path), MENTIONS, setting=value) == []


def test_rows_characters_and_time_are_limited(tmp_path: Path) -> None:
    """A statement brings no more than it may, and one that takes too long is broken off."""
    pages = {f"{n}.md": f"# Page {n}\n\n" + " ".join(f"`NAME_{n}_{m}=1`" for m in range(40)) for n in range(20)}
    engine = Ladybug(make_graph(tmp_path, pages))
    names = "MATCH (n:Setting) RETURN n.name AS name ORDER BY name"
    cut = engine.run(names, {}, StatementLimits(rows=7))
    assert (len(cut.rows), cut.cut) == (7, "there are more than 7 rows: the first 7 rows were taken")
    cut = engine.run(names, {}, StatementLimits(rows=1000, size=50))
    assert (len(cut.rows), cut.cut) == (5, "there are more than 50 bytes: the first 5 rows were taken")
    whole = engine.run(names, {}, StatementLimits(rows=800))
    assert (len(whole.rows), whole.cut) == (800, "")
    many = "MATCH (a:Setting), (b:Setting), (c:Setting) WHERE a.name < b.name AND b.name < c.name RETURN count(*) AS n"
    started = time.perf_counter()
    with pytest.raises(SourceUnavailable, match=r"within 0\.2 s"):
        engine.run(many, {}, StatementLimits(seconds=0.2))
    assert time.perf_counter() - started < LOADED
    assert len(engine.run(names, {}, StatementLimits(rows=3)).rows) == 3
    engine.close()


def test_a_row_that_is_too_large_alone_is_an_error_and_not_no_row(tmp_path: Path) -> None:
    """Where not even one row fits, the graph has not been asked; sizes are those of UTF-8."""
    engine = Ladybug(make_graph(tmp_path))
    sizes = {"MATCH (n:Page) WHERE n.title = 'Settings' RETURN n.title AS a": 8, "MATCH (n:Page) RETURN 'ёж' AS a": 4}
    for statement, size in sizes.items():
        with pytest.raises(
            SourceUnavailable, match=f"The lookup 'one' has a row of more than {size - 1} bytes"
        ) as caught:
            engine.run(statement, {}, StatementLimits(size=size - 1), "the lookup 'one'")
        assert "max_bytes" in caught.value.way_out
        assert engine.run(statement, {}, StatementLimits(size=size)).rows
    engine.close()


def test_a_value_of_bytes_stays_one(tmp_path: Path) -> None:
    """Bytes are no text: how they are said is for whoever writes the sentence."""
    assert rows(make_graph(tmp_path), "MATCH (n:Page) RETURN encode('abc') AS a LIMIT 1") == [{"a": b"abc"}]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("MATCH (p:Pagee) RETURN p.path AS a", "Table Pagee does not exist"),
        ("MATCH (p:Page) RETURN p.colour AS a", "Cannot find property colour"),
        ("MATCH (p:Page RETURN p.path AS a", "Parser exception"),
        ("MATCH (p:Page) RETURN shout(p.path) AS a", "function SHOUT does not exist"),
        ("MATCH (p:Page) RETURN 1 / (p.kb_id - 7) AS a", "Divide by zero"),
    ],
)
def test_a_lookup_that_is_wrong_is_to_be_corrected(tmp_path: Path, statement: str, said: str) -> None:
    """The way out names the lookup: indexing again would not help."""
    engine = Ladybug(make_graph(tmp_path))
    with pytest.raises(SourceUnavailable, match=said) as caught:
        engine.run(statement, {}, StatementLimits(), "the lookup 'one'")
    assert caught.value.way_out == "Correct the lookup 'one' in the profile."
    engine.close()


def test_a_lookup_that_needs_too_much_memory_is_to_ask_for_less(tmp_path: Path) -> None:
    """Neither the profile's names nor the graph are wrong then."""
    pages = {f"{n}.md": f"# Page {n}\n\n" + " ".join(f"`NAME_{n}_{m}=1`" for m in range(40)) for n in range(20)}
    engine = Ladybug(make_graph(tmp_path, pages))
    many = "MATCH (a:Setting), (b:Setting), (c:Setting) RETURN a.name + b.name + c.name AS x ORDER BY x"
    with pytest.raises(SourceUnavailable, match="buffer pool is full") as caught:
        engine.run(many, {}, StatementLimits(seconds=60), "the lookup 'one'")
    assert (
        caught.value.way_out
        == "Make the lookup 'one' ask for less: it needs more than the 64 MB of memory that it gets."
    )
    engine.close()


def test_many_threads_ask_at_once(tmp_path: Path) -> None:
    """Each thread has the rows of its own statement, and closing ends them all."""
    engine = Ladybug(make_graph(tmp_path))
    names = ("ORCHARD_MODE", "ORCHARD_COLOUR", "spam")
    expected = {name: engine.run(MENTIONS, {"setting": name}, StatementLimits()) for name in names}
    assert [len(expected[name].rows) for name in names] == [3, 1, 1]
    with ThreadPoolExecutor(8) as threads:
        asked = [names[n % 3] for n in range(600)]
        found = list(threads.map(lambda name: engine.run(MENTIONS, {"setting": name}, StatementLimits()), asked))
    assert found == [expected[name] for name in asked]
    engine.close()


def test_a_new_graph_is_seen_without_opening_anything_anew(tmp_path: Path) -> None:
    """An engine that is in use reads the graph that the next indexing put in its place."""
    engine = Ladybug(make_graph(tmp_path))
    assert engine.run(MENTIONS, {"setting": "ORCHARD_WALL"}, StatementLimits()).rows == []
    write(tmp_path / "docs", {"wall.md": "# Wall\n\n`ORCHARD_WALL=1`\n"})
    index_graph(tmp_path, {})
    assert len(engine.run(MENTIONS, {"setting": "ORCHARD_WALL"}, StatementLimits()).rows) == 1
    engine.close()


def test_a_graph_that_is_gone_or_damaged_cannot_be_asked(tmp_path: Path) -> None:
    """Not being able to ask is an error with a way out, and not an empty answer."""
    file = make_graph(tmp_path)
    engine = Ladybug(file)
    for damaged in (b"", b"no graph"):
        file.write_bytes(damaged)
        with pytest.raises(SourceUnavailable) as caught:
            engine.run(MENTIONS, {"setting": "x"}, StatementLimits())
        assert caught.value.way_out == "Index the documents again."
    shutil.rmtree(tmp_path / "graph")
    with pytest.raises(SourceUnavailable, match="no graph"):
        engine.run(MENTIONS, {"setting": "x"}, StatementLimits())
