from __future__ import annotations

import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from adapters.sources.graph import GraphSource, Ladybug, Limits
from adapters.sources.graph.engine import check
from contracts.errors import ConfigError, SourceUnavailable
from tests.graph_source.small_graph import MENTIONS, indexed, lookup, made, rows, write

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
    file = made(tmp_path)
    before = file.read_bytes()
    with pytest.raises(SourceUnavailable):
        rows(file, statement)
    assert file.read_bytes() == before


@pytest.mark.parametrize("statement", WRITES + ASIDE)
def test_no_lookup_can_do_more_than_read(tmp_path: Path, statement: str) -> None:
    """What reads files, writes them, fetches extensions or calls procedures is refused before anything is run."""
    file = made(tmp_path)
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
    assert rows(made(tmp_path), MENTIONS, setting=value) == []


def test_rows_characters_and_time_are_limited(tmp_path: Path) -> None:
    """A statement brings no more than it may, and one that takes too long is broken off."""
    pages = {f"{n}.md": f"# Page {n}\n\n" + " ".join(f"`NAME_{n}_{m}`" for m in range(40)) for n in range(20)}
    engine = Ladybug(made(tmp_path, pages))
    names = "MATCH (n:Setting) RETURN n.name AS name ORDER BY name"
    assert len(engine.run(names, {}, Limits(rows=7))) == 7
    assert len(engine.run(names, {}, Limits(rows=1000, size=50))) == 5
    many = "MATCH (a:Setting), (b:Setting), (c:Setting) WHERE a.name < b.name AND b.name < c.name RETURN count(*) AS n"
    started = time.perf_counter()
    with pytest.raises(SourceUnavailable, match=r"within 0\.2 s"):
        engine.run(many, {}, Limits(seconds=0.2))
    assert time.perf_counter() - started < 2
    assert len(engine.run(names, {}, Limits(rows=3))) == 3
    engine.close()


def test_many_threads_ask_at_once(tmp_path: Path) -> None:
    """Each thread has the rows of its own statement, and closing ends them all."""
    engine = Ladybug(made(tmp_path))
    names = ("ORCHARD_MODE", "ORCHARD_COLOUR", "spam")
    expected = {name: engine.run(MENTIONS, {"setting": name}, Limits()) for name in names}
    assert [len(expected[name]) for name in names] == [3, 1, 1]
    with ThreadPoolExecutor(8) as threads:
        asked = [names[n % 3] for n in range(600)]
        found = list(threads.map(lambda name: engine.run(MENTIONS, {"setting": name}, Limits()), asked))
    assert found == [expected[name] for name in asked]
    engine.close()


def test_a_new_graph_is_seen_without_opening_anything_anew(tmp_path: Path) -> None:
    """An engine that is in use reads the graph that the next indexing put in its place."""
    engine = Ladybug(made(tmp_path))
    assert engine.run(MENTIONS, {"setting": "ORCHARD_WALL"}, Limits()) == []
    write(tmp_path / "docs", {"wall.md": "# Wall\n\n`ORCHARD_WALL`\n"})
    indexed(tmp_path, {})
    assert len(engine.run(MENTIONS, {"setting": "ORCHARD_WALL"}, Limits())) == 1
    engine.close()


def test_a_graph_that_is_gone_or_damaged_cannot_be_asked(tmp_path: Path) -> None:
    """Not being able to ask is an error with a way out, and not an empty answer."""
    file = made(tmp_path)
    engine = Ladybug(file)
    for damaged in (b"", b"no graph"):
        file.write_bytes(damaged)
        with pytest.raises(SourceUnavailable) as caught:
            engine.run(MENTIONS, {"setting": "x"}, Limits())
        assert caught.value.way_out
    shutil.rmtree(tmp_path / "graph")
    with pytest.raises(SourceUnavailable, match="no graph"):
        engine.run(MENTIONS, {"setting": "x"}, Limits())
