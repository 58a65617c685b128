"""The graph of the documents, built from the system of record after indexing.

    (Page)-[HAS_SECTION]->(Section)      (Page)-[LINKS_TO]->(Page)         (Section)-[LINKS_TO]->(Page)
    (Section)-[MENTIONS]->(Setting)      (Section)-[MENTIONS]->(Command)   (Section)-[NAMES]->(Error)
    (Section)-[SETS]->(Setting)          (Section)-[DESCRIBES]->(Setting)  (Setting)-[REFERS_TO]->(Setting)
    (Error)-[MENTIONS]->(Setting)        (Error)-[MENTIONS]->(Command)

If the documents have changed, a new graph is built next to the old one and then replaces it in one step. So a killed
run leaves either the old graph or the new one.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from adapters.data_folder import hold_lock, owner_only
from adapters.index.store import NAME
from adapters.lookups.graph.engine import StatementLimits
from adapters.lookups.graph.ladybug import LARGEST, POOL, Ladybug
from adapters.lookups.graph.pages import PageGraph, RecordedPage, find
from contracts.errors import KnowledgeError, SourceUnavailable

if TYPE_CHECKING:
    import ladybug

FILE: Final = "graph.lbug"
FORMAT: Final = 2
"""Raised when the graph is made otherwise: every one is then made again."""

_PAGES = """
SELECT id, key, title, kb_id, coalesce(url, ''), language, coalesce(version, ''), source, sha256, format
FROM documents WHERE state <> 'removing' ORDER BY key, sha256
"""
_FILES = """
SELECT o.label || '/' || f.path, d.key FROM files f JOIN folders o ON o.id = f.folder
JOIN documents d ON d.sha256 = f.sha256 AND d.source = coalesce(f.source, o.source)
    AND d.version IS coalesce(f.version, o.version) AND d.state <> 'removing'
"""
_NODES: Final = {
    "Page": "path STRING, title STRING, kb_id INT64, url STRING, language STRING, version STRING, source STRING",
    "Section": "id STRING, path STRING, heading STRING, anchor STRING, opening STRING, trouble BOOLEAN",
    "Setting": "name STRING",
    "Command": "name STRING",
    "Error": "id STRING, name STRING, remedy STRING",
    "Graph": "signature STRING",
}
"""The properties of each label, its key first."""
_RELATIONS: Final = {
    "HAS_SECTION": (("Page", "Section"),),
    "LINKS_TO": (("Page", "Page"), ("Section", "Page")),
    "MENTIONS": (("Section", "Setting"), ("Section", "Command"), ("Error", "Setting"), ("Error", "Command")),
    "SETS": (("Section", "Setting"),),
    "DESCRIBES": (("Section", "Setting"),),
    "NAMES": (("Section", "Error"),),
    "REFERS_TO": (("Setting", "Setting"),),
}
_SIGNATURE = "MATCH (g:Graph) RETURN g.signature AS signature"


@dataclass(frozen=True, slots=True)
class Built:
    """The report of a run: whether there was anything to do, and how much the graph holds."""

    written: bool
    nodes: int = 0
    relations: int = 0


def build(knowledge: Path, folder: Path) -> Built:
    """Bring the graph of a knowledge base up to date.

    Args:
        knowledge: The folder of the system of record.
        folder: The folder of the graph, which is the file `FILE` in it; made if it is missing.

    Raises:
        KnowledgeError: The record cannot be read, or the graph cannot be written; the old graph is intact.
    """
    try:
        with _alone(folder), closing(_open_record(knowledge)) as record:
            # One transaction: what is read is the documents of one moment.
            record.execute("BEGIN")
            signature = _signature(record)
            if _read_signature(folder / FILE) == signature:
                return Built(written=False)
            found = find(_pages(record), dict(record.execute(_FILES).fetchall()))
        with owner_only():
            return _write(found, signature, folder)
    except sqlite3.Error as error:
        raise KnowledgeError(
            f"The graph cannot be made: the knowledge base cannot be read ({error}).", "Index the documents again."
        ) from error
    except (OSError, RuntimeError) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise KnowledgeError(
            f"The graph of the documents cannot be written: {said}",
            "See that its disk has free space and its folder may be written to, then index again.",
        ) from error


# -------------------------------------------------------------------------------------------------------- the record


def _open_record(knowledge: Path) -> sqlite3.Connection:
    uri = f"{(knowledge / NAME).absolute().as_uri()}?mode=ro"
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=5)


def _signature(record: sqlite3.Connection) -> str:
    told = [FORMAT, record.execute(_PAGES).fetchall(), sorted(record.execute(_FILES).fetchall())]
    return sha256(repr(told).encode("utf-8", "replace")).hexdigest()


def _pages(record: sqlite3.Connection) -> list[RecordedPage]:
    texts: dict[int, list[str]] = {}
    for document, text in record.execute("SELECT document, text FROM chunks ORDER BY document, ordinal"):
        texts.setdefault(document, []).append(text)
    return [
        RecordedPage(key, title, kb_id, url, language, version, source, tuple(texts.get(number, ())))
        for number, key, title, kb_id, url, language, version, source, *_ in record.execute(_PAGES)
    ]


@contextmanager
def _alone(folder: Path) -> Generator[None]:
    try:
        lock = hold_lock(folder / "writer.lock", 60)
    except TimeoutError as error:
        raise KnowledgeError(
            f"Another process is writing the graph in {folder}.", "Wait until it has finished, then index again."
        ) from error
    try:
        yield
    finally:
        lock.release()


def _read_signature(file: Path) -> str:
    """Return what the graph that there is was made from; empty where there is none that can be read."""
    if not file.is_file():
        return ""
    engine = Ladybug(file)
    try:
        rows = engine.run(_SIGNATURE, {}, StatementLimits(rows=1)).rows
    except SourceUnavailable:
        return ""
    finally:
        engine.close()
    return str(rows[0]["signature"]) if rows else ""


# ------------------------------------------------------------------------------------------------------- the writing


def _write(found: PageGraph, signature: str, folder: Path) -> Built:
    import ladybug

    beside = folder / f"{FILE}.new"
    for left in folder.glob(f"{FILE}.new*"):
        left.unlink()
    database = ladybug.Database(beside, buffer_pool_size=POOL, max_num_threads=2, max_db_size=LARGEST)
    try:
        connection = ladybug.Connection(database, num_threads=1)
        try:
            counted = _fill(connection, found, signature)
        finally:
            connection.close()
    finally:
        # Closing brings the write-ahead log home, so that the graph is one file.
        database.close()
    _flush(beside)
    beside.replace(folder / FILE)
    _flush(folder)
    return counted


def _fill(connection: ladybug.Connection, found: PageGraph, signature: str) -> Built:
    for label, properties in _NODES.items():
        key = properties.split()[0]
        connection.execute(f"CREATE NODE TABLE {label}({properties}, PRIMARY KEY ({key}))")
    for name, pairs in _RELATIONS.items():
        ends = ", ".join(f"FROM {start} TO {end}" for start, end in pairs)
        connection.execute(f"CREATE REL TABLE {name}({ends})")
    connection.execute("BEGIN TRANSACTION")
    nodes = {
        "Page": [_without(asdict(page), "passages") for page in found.pages],
        "Section": [asdict(section) for section in found.sections],
        "Setting": [{"name": name} for name in found.settings],
        "Command": [{"name": name} for name in found.commands],
        "Error": [_without(asdict(fault), "section") for fault in found.faults],
        "Graph": [{"signature": signature}],
    }
    for label, rows in nodes.items():
        keys = [part.split()[0] for part in _NODES[label].split(", ")]
        values = ", ".join(f"{key}: row.{key}" for key in keys)
        _each(connection, f"UNWIND $rows AS row CREATE (:{label} {{{values}}})", rows)
    relations = 0
    for (name, start, end), pairs in found.relations.items():
        keys = [_NODES[label].split()[0] for label in (start, end)]
        statement = (
            f"UNWIND $rows AS row MATCH (a:{start}), (b:{end}) WHERE a.{keys[0]} = row.a AND b.{keys[1]} = row.b "
            f"CREATE (a)-[:{name}]->(b)"
        )
        _each(connection, statement, [{"a": a, "b": b} for a, b in pairs])
        relations += len(pairs)
    connection.execute("COMMIT")
    return Built(written=True, nodes=sum(map(len, nodes.values())), relations=relations)


def _each(connection: ladybug.Connection, statement: str, rows: list[dict[str, Any]]) -> None:
    for start in range(0, len(rows), 2000):
        connection.execute(statement, {"rows": rows[start : start + 2000]})


def _without(values: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}


def _flush(path: Path) -> None:
    """See that a file or a folder's list of files is on the disk, and not only on its way."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
