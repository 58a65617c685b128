from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from adapters.lookups.graph import build
from adapters.lookups.graph.building import FILE
from assistant.config.settings import VARIABLES
from contracts.errors import KnowledgeError
from tests.support.fork_server import Program
from tests.support.graph_source.small_graph import PAGES, index_graph, make_graph, open_graph_file, pairs, rows, write

HANDBOOK = Path(__file__).resolve().parents[2] / "knowledge"


@pytest.fixture(scope="module")
def handbook(handbook_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of the graph that was built when the handbook was indexed, for reading only."""
    place = tmp_path_factory.mktemp("handbook")
    shutil.copytree(handbook_data / "handbook" / "graph", place / "graph")
    return place / "graph" / FILE


def everything(file: Path) -> list[list[str]]:
    """Return all nodes and relations of a graph as lines."""
    nodes = {"Page": "path", "Section": "id", "Setting": "name", "Command": "name", "Error": "id"}
    asked = [f"MATCH (n:{label}) RETURN n.{key} AS n" for label, key in nodes.items()]
    for start, key in nodes.items():
        asked += [
            f"MATCH (a:{start})-[]->(b:{end}) RETURN a.{key} AS a, b.{other} AS b" for end, other in nodes.items()
        ]
    with open_graph_file(file) as run:
        return [sorted(map(str, run(statement, {}))) for statement in asked]


def test_settings_and_commands_are_found_where_the_pages_name_them(tmp_path: Path) -> None:
    """A variable or a command in code is a node, an action written like a variable is none, nor is an option."""
    file = make_graph(tmp_path)
    settings = {str(row["name"]) for row in rows(file, "MATCH (n:Setting) RETURN n.name AS name")}
    commands = {str(row["name"]) for row in rows(file, "MATCH (n:Command) RETURN n.name AS name")}
    assert settings == {"ORCHARD_MODE", "ORCHARD_COLOUR", "thresholds", "spam"}
    assert commands == {"guardian threads list", "guardian index"}


def test_relations_are_those_of_the_text(tmp_path: Path) -> None:
    """Links, mentions, assignments, descriptions and errors lead from where they stand to what they name."""
    file = make_graph(tmp_path)
    assert pairs(file, "Page", "LINKS_TO", "Page") == {
        ("docs/picking.md", "docs/settings.md"),
        ("docs/ru.md", "docs/settings.md"),
    }
    assert pairs(file, "Section", "SETS", "Setting") == {
        ("Environment variables", "ORCHARD_MODE"),
        ("Picking apples", "spam"),
    }
    assert ("Environment variables", "ORCHARD_COLOUR") in pairs(file, "Section", "DESCRIBES", "Setting")
    assert pairs(file, "Setting", "REFERS_TO", "Setting") == {("ORCHARD_COLOUR", "ORCHARD_MODE")}
    assert ("What to do when apples fall", "ORCHARD_MODE") in pairs(file, "Section", "MENTIONS", "Setting")
    assert pairs(file, "Error", "MENTIONS", "Command") == {('"No ladder"', "guardian index")}


PRESENTED = {
    "graph.md": """# Graph

| relation | from |
| --- | --- |
| `HAS_PART` | `Page` |

```cypher
MATCH (p:Page)-[:HAS_PART]->(s) WHERE s.colour = 'red' RETURN s.LINKS_TO
```

The terminal's `LC_ALL` says the language.
""",
    "keys.md": """# Keys

## The profile: thresholds

| Key | default |
| --- | --- |
| `limits.weight` | 5; see `ORCHARD_SPEED` and `colour` |
| `colour` | red |
| `SAFE_REFUSAL` | no setting, but an action |

## What is ORCHARD_SPEED for?

It is the speed, up to `limits.weight`. A `weight` may be any.

## Running

Run `export ORCHARD_ROOT=/srv`.
""",
    "other.md": "# Other\n\n| настройка запуска | смысл |\n| --- | --- |\n| `depth` | as `HAS_PART` and `ORCHARD_ROOT` |\n",
}


def test_a_setting_is_what_the_pages_present_as_one(tmp_path: Path) -> None:
    """By a heading, a table of settings or a value; a relation's name or another program's variable is none."""
    file = make_graph(tmp_path, PRESENTED)
    settings = {str(row["name"]) for row in rows(file, "MATCH (n:Setting) RETURN n.name AS name")}
    assert settings == {"ORCHARD_SPEED", "ORCHARD_ROOT", "weight", "colour", "depth"}
    assert pairs(file, "Section", "DESCRIBES", "Setting") == {
        ("What is ORCHARD_SPEED for?", "ORCHARD_SPEED"),
        ("The profile: thresholds", "weight"),
        ("The profile: thresholds", "colour"),
        ("Other", "depth"),
    }
    assert pairs(file, "Setting", "REFERS_TO", "Setting") == {("weight", "ORCHARD_SPEED"), ("depth", "ORCHARD_ROOT")}
    assert ("What is ORCHARD_SPEED for?", "weight") in pairs(file, "Section", "MENTIONS", "Setting")
    assert ("Running", "ORCHARD_ROOT") in pairs(file, "Section", "SETS", "Setting")


def test_the_handbook_s_own_keys_are_settings_and_its_relations_are_not(handbook: Path) -> None:
    """Keys of one word in its tables can be asked about; names in its Cypher and foreign variables cannot."""
    names = {str(row["name"]) for row in rows(handbook, "MATCH (n:Setting) RETURN n.name AS name")}
    assert names >= {"evidence", "spam", "guard_mode", "GUARD_MODE", "max_bytes"}
    assert not names & {"HAS_SECTION", "LINKS_TO", "REFERS_TO", "LC_ALL", "LC_MESSAGES"}
    described = {end for _, end in pairs(handbook, "Section", "DESCRIBES", "Setting")}
    assert described >= {"evidence", "spam", "guard_mode", "GUARD_MODE"}


def test_a_page_keeps_what_a_citation_needs(tmp_path: Path) -> None:
    """Title, number, address and language of a page are in the graph, and a section's first sentences."""
    file = make_graph(tmp_path)
    page = rows(file, "MATCH (p:Page) WHERE p.path = 'docs/settings.md' RETURN p.title AS t, p.kb_id AS k, p.url AS u")
    assert page == [{"t": "Settings", "k": 7, "u": "https://docs.test/settings"}]
    fallen = "MATCH (s:Section) WHERE s.trouble = true RETURN s.heading AS h, s.opening AS o"
    assert rows(file, fallen) == [
        {"h": "What to do when apples fall", "o": "Apples fall where `ORCHARD_MODE` is wrong. Look at it first."}
    ]


def test_building_twice_gives_the_same_graph_and_writes_once(tmp_path: Path) -> None:
    """What did not change is not written again, and written anew it is the same."""
    file = make_graph(tmp_path, PAGES)
    before, stamp = everything(file), file.stat().st_mtime_ns
    assert not index_graph(tmp_path).written
    assert file.stat().st_mtime_ns == stamp
    file.unlink()
    assert build(tmp_path / "kb", tmp_path / "graph").written
    assert everything(file) == before


def test_removed_pages_leave_the_graph_and_changed_ones_change_it(tmp_path: Path) -> None:
    """The graph follows the documents: what no page says any more is not in it."""
    file = make_graph(tmp_path, PAGES)
    (tmp_path / "docs" / "troubleshooting.md").unlink()
    write(tmp_path / "docs", {"picking.md": "# Picking\n\nSee `ORCHARD_BASKET=1`.\n"})
    assert index_graph(tmp_path, {}).written
    assert rows(file, "MATCH (e:Error) RETURN e.name AS name") == []
    assert pairs(file, "Page", "LINKS_TO", "Page") == {("docs/ru.md", "docs/settings.md")}
    assert "ORCHARD_BASKET" in str(rows(file, "MATCH (n:Setting) RETURN n.name AS name"))
    assert "spam" not in str(rows(file, "MATCH (n:Setting) RETURN n.name AS name"))


def test_a_page_that_is_there_twice_is_one_and_links_to_either_file_lead_to_it(tmp_path: Path) -> None:
    """A file with the content of another makes no page of its own."""
    file = make_graph(tmp_path, PAGES | {"copy.md": PAGES["settings.md"], "see.md": "# See\n\n[there](settings.md)\n"})
    assert len(rows(file, "MATCH (p:Page) WHERE p.title = 'Settings' RETURN p.path AS path")) == 1
    assert ("docs/see.md", "docs/copy.md") in pairs(file, "Page", "LINKS_TO", "Page")


def test_pages_without_anything_to_find_make_a_graph_all_the_same(tmp_path: Path) -> None:
    """No heading, no name, no link, odd text: every page is a node."""
    pages = {"a.md": "Only words.\n", "b.md": "# Empty ``` `x\n\n| a |\n| --- |\n| `|` |\n", "c.md": "![](x) [y]( \n"}
    file = make_graph(tmp_path, pages)
    assert len(rows(file, "MATCH (p:Page) RETURN p.path AS path")) == 3


def test_the_handbook_s_graph_has_every_variable_of_its_pages(handbook: Path) -> None:
    """Each environment variable that the handbook's pages name is in its graph."""
    assert len(rows(handbook, "MATCH (n) RETURN label(n) AS label")) > 500
    names = {row["name"] for row in rows(handbook, "MATCH (n:Setting) RETURN n.name AS name")}
    settings = (HANDBOOK / "en" / "settings.md").read_text("utf-8")
    documented = {variable.name for variable in VARIABLES if variable.name in settings}
    assert len(documented) > 20
    assert documented <= names


_BUILD_FOR_EVER = """
import sys
from pathlib import Path
from adapters.lookups.graph import build, building
for number in range(10**6):
    building.FORMAT = 1000 + number
    build(Path(sys.argv[1]), Path(sys.argv[2]))
    print(number, flush=True)
"""


@pytest.mark.parametrize("wait", [0.0, 0.08])
def test_a_killed_build_leaves_a_whole_graph(tmp_path: Path, wait: float) -> None:
    """Whenever the writer is killed, the graph is the old one or the new one, and the next run needs no help."""
    file = make_graph(tmp_path)
    before = everything(file)
    writer = Program[bytes](
        ["-c", _BUILD_FOR_EVER, str(tmp_path / "kb"), str(tmp_path / "graph")],
        stdout=subprocess.PIPE,
        cwd=HANDBOOK.parent,
    )
    assert writer.stdout
    with writer.stdout:
        assert writer.stdout.readline()
        time.sleep(wait)
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
    assert everything(file) == before
    assert build(tmp_path / "kb", tmp_path / "graph").written
    assert [path.name for path in (tmp_path / "graph").iterdir() if ".new" in path.name] == []


def test_a_damaged_graph_is_made_again(tmp_path: Path) -> None:
    """A file that is no graph, or half of one, is no reason to stop: the documents are there."""
    file = make_graph(tmp_path)
    before, whole = everything(file), file.read_bytes()
    for damaged in (b"", b"no graph", whole[: len(whole) // 2]):
        file.write_bytes(damaged)
        assert build(tmp_path / "kb", tmp_path / "graph").written
        assert everything(file) == before


def test_what_cannot_be_written_or_read_is_said(tmp_path: Path) -> None:
    """Without a record, or with a file in the way, the error says so and names a way out."""
    with pytest.raises(KnowledgeError) as caught:
        build(tmp_path / "nothing", tmp_path / "graph")
    assert caught.value.way_out
    make_graph(tmp_path)
    (tmp_path / "blocked").write_text("in the way")
    with pytest.raises(KnowledgeError, match="cannot be written") as caught:
        build(tmp_path / "kb", tmp_path / "blocked")
    assert caught.value.way_out
