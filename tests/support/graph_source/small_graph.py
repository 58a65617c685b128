"""A few pages, their knowledge base and their graph: what the tests of the graph ask."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from adapters.index.embedded import Folder, ingest
from adapters.lookups.graph import Built, Ladybug, StatementLimits, build
from adapters.lookups.graph.building import FILE
from adapters.lookups.graph.engine import Row
from contracts.lookups import Lookup
from tests.support.memory import memory

PAGES = {
    "settings.md": """---
title: Settings
kbId: 7
url: https://docs.test/settings
---

# Settings

## Environment variables

| variable | meaning |
| --- | --- |
| `ORCHARD_MODE` | how apples are picked |
| `ORCHARD_COLOUR` | as `ORCHARD_MODE` says |

Set it with `ORCHARD_MODE=fast guardian index`. A retry is `RETRIEVE_MORE`, which is no setting.
""",
    "picking.md": """# Picking apples

Apples are picked as the page [Settings](settings.md#environment-variables) says.

```
[thresholds]
spam = 0.8
```

Then run `guardian threads list`, or `guardian threads list --json`.
""",
    "troubleshooting.md": """# Troubleshooting

## What to do when apples fall

Apples fall where `ORCHARD_MODE` is wrong. Look at it first.

| message | what to do |
| --- | --- |
| "The basket is full of apples" (`BasketFull`) | empty it, or change `ORCHARD_MODE` |
| "No ladder" | run `guardian index` |
""",
    "ru.md": """# Настройки сада

Переменная `ORCHARD_MODE` говорит, как собирать яблоки: смотрите [настройки](settings.md).
""",
}


def write(folder: Path, pages: dict[str, str] | None = None) -> Path:
    """Write pages into a folder."""
    folder.mkdir(exist_ok=True)
    for name, text in (PAGES if pages is None else pages).items():
        (folder / name).write_text(text, "utf-8")
    return folder


def make_graph(root: Path, pages: dict[str, str] | None = None) -> Path:
    """Read pages in and build their graph; return its file. Pages that are given can be read in again."""
    if pages is None:
        for name, content in _files().items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(content)
    else:
        index_graph(root, pages)
    return root / "graph" / FILE


@cache
def _files() -> dict[str, bytes]:
    """Return what reading in and building write for the usual pages: a tenth of a second, which each test would take."""
    with TemporaryDirectory(dir=memory()) as folder:
        root = Path(folder)
        index_graph(root)
        return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def index_graph(root: Path, pages: dict[str, str] | None = None) -> Built:
    """Read pages in and build their graph."""
    ingest(Folder(write(root / "docs", pages)), directory=root / "kb")
    return build(root / "kb", root / "graph")


def rows(file: Path, statement: str, **values: str) -> list[Row]:
    """Run a statement."""
    with open_graph_file(file) as run:
        return run(statement, values)


@contextmanager
def open_graph_file(file: Path) -> Generator[Callable[[str, Mapping[str, str]], list[Row]]]:
    """Open a graph; yield what runs a statement with its values."""
    engine = Ladybug(file)
    try:
        yield lambda statement, values: engine.run(statement, values, StatementLimits(rows=1000, size=1_000_000)).rows
    finally:
        engine.close()


def pairs(file: Path, start: str, relation: str, end: str) -> set[tuple[str, str]]:
    """Return the names that a relation joins."""
    keys = {"Page": "path", "Section": "heading", "Setting": "name", "Command": "name", "Error": "name"}
    found = rows(file, f"MATCH (a:{start})-[:{relation}]->(b:{end}) RETURN a.{keys[start]} AS a, b.{keys[end]} AS b")
    return {(str(row["a"]), str(row["b"])) for row in found}


def lookup(statement: str, **changes: object) -> Lookup:
    """Return a lookup of the graph."""
    values: dict[str, object] = {
        "name": "pages_with_setting",
        "source": "neo4j",
        "title": {"en": "Pages with a setting", "ru": "Страницы с настройкой"},
        "answers": {"en": ["Which pages mention the setting?"], "ru": ["Какие страницы упоминают настройку?"]},
        "arguments": [{"name": "setting", "type": "text"}],
        "statement": statement,
        "row": {"en": "The page {page_title} mentions {setting}.", "ru": "Страница {page_title} упоминает {setting}."},
        "none": {"en": "No page mentions {setting}.", "ru": "Ни одна страница не упоминает {setting}."},
    }
    return Lookup.model_validate(values | changes)


MENTIONS = (
    "MATCH (p:Page)-[:HAS_SECTION]->(s:Section)-[:MENTIONS]->(x:Setting) WHERE x.name = $setting "
    "RETURN DISTINCT p.path AS page_path, p.title AS page_title, p.url AS page_url, p.kb_id AS page_kb_id "
    "ORDER BY page_path"
)
