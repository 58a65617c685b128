"""Filling a server from the system of record, so that a killed run is finished by the next.

A passage's id is made of its document and its place, and its fingerprint of all that is kept of it: a run compares
what there is with what there shall be, writes the difference in batches and deletes what is gone. Statistics come
last, and after them the state that names them; until then searches use those of the fill before.
"""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple, TypeVar
from uuid import UUID

from adapters.sources.markdown.index import VENDOR_ERRORS, analyser, opened
from adapters.sources.markdown.store import NAME, SCHEMA, Passage
from adapters.sources.remote import FORMAT, STATE, Engine, EngineFault, Filled, Row, State, packed, part_key
from adapters.sources.sparse import Averages, Statistics, Vector, Words, drifted, gathered, passage
from contracts.errors import KnowledgeError, NoIndex

BATCH: Final = 500
"""Passages that are written together."""

Progress = Callable[[int, int], None]
"""Passages written, and to be written in all."""

_SECONDS: Final = 60.0
"""For reading the state."""
_T = TypeVar("_T")

_FROM: Final = "FROM chunks c JOIN documents d ON d.id = c.document WHERE d.state <> 'removing'"
_HEADS: Final = f"""
SELECT c.id, d.key, c.ordinal, d.source, d.version, d.format, d.title, d.url, d.kb_id, d.updated, d.language,
       c.heading, c.first_line, c.last_line, c.headings, c.hash {_FROM} ORDER BY c.id
"""
_TEXTS: Final = f"SELECT d.title, c.headings, c.body {_FROM} ORDER BY c.id"
_ROWS: Final = f"""
SELECT c.id, d.key, d.source, d.title, d.url, d.kb_id, d.updated, d.language,
       c.ordinal, c.heading, c.first_line, c.last_line, c.text, d.version, c.headings, c.body {_FROM} AND c.id IN
"""
_KINDS: Final = "SELECT source FROM documents WHERE state <> 'removing' ORDER BY source"


@dataclass(frozen=True, slots=True)
class FillReport:
    """What a run did.

    Attributes:
        written, deleted, unchanged: Passages.
        passages: How many there are now.
        seconds: How long it took.
    """

    written: int
    deleted: int
    unchanged: int
    passages: int
    seconds: float


class _Head(NamedTuple):
    """A passage before its text is read: its number in the record, its id in the server, what it consists of."""

    number: int
    id: str
    content: bytes


def fill(directory: Path, engine: Engine, *, batch: int = BATCH, on_progress: Progress | None = None) -> FillReport:
    """Bring a server up to date with a knowledge base.

    Args:
        directory: Where `ingest` put the knowledge base.
        engine: The server.
        batch: Passages that are written together.
        on_progress: Called after each batch.

    Raises:
        NoIndex: Nothing was read in yet.
        IndexBusy: Somebody else is filling the server.
        KnowledgeError: The knowledge base cannot be read, or the server not be written; the next run goes on from there.
    """
    started = time.perf_counter()
    with _our_errors(directory, engine), _record(directory) as record:
        engine.prepare()
        with engine.alone():
            report = _fill(record, directory, engine, batch, on_progress)
    return replace(report, seconds=time.perf_counter() - started)


def _fill(
    record: sqlite3.Connection, directory: Path, engine: Engine, batch: int, on_progress: Progress | None
) -> FillReport:
    heads = [_head(row) for row in record.execute(_HEADS)]
    digest = _digest(sorted(head.content for head in heads))
    state = State.read(engine.note(STATE, _SECONDS))
    if state is not None and not state.current:
        state = None
    complete = state is not None and state.filled is not None and state.filled.digest == digest
    statistics = None if complete else gathered(Words.of(*row) for row in record.execute(_TEXTS))
    averages = _averages(state, statistics)
    if state is None or state.averages != averages:
        # Noted first: a killed run and the one that finishes it must encode alike.
        state = State(averages, analyser(), FORMAT, state.filled if state else None)
        engine.keep_note(STATE, state.written())

    stamp = repr((FORMAT, analyser(), averages)).encode()
    wanted = {head.id: (head.number, _digest((stamp, head.content))) for head in heads}
    held = dict(engine.held())
    changed = [(number, key) for key, (number, fingerprint) in wanted.items() if held.get(key) != fingerprint]
    written = 0
    for part in _batches(changed, batch):
        numbers = [number for number, _ in part]
        engine.put(list(_encoded(record, numbers, {key: wanted[key][1] for _, key in part}, averages)))
        written += len(part)
        if on_progress:
            on_progress(written, len(changed))
    gone = [key for key in held if key not in wanted]
    for part in _batches(gone, batch):
        engine.drop(part)
    if statistics is not None:
        filled = _noted(record, directory, engine, replace(statistics, averages=averages), digest)
        engine.keep_note(STATE, replace(state, filled=filled).written())
        kept = {part_key(filled.revision, number) for number in range(filled.parts)}
        engine.drop_notes([key for key in engine.notes() if key != STATE and key not in kept])
    if changed or gone:
        engine.settle()
    return FillReport(len(changed), len(gone), len(wanted) - len(changed), len(wanted), 0.0)


def _averages(state: State | None, statistics: Statistics | None) -> Averages:
    """Return what passages are to be encoded with: what those that are there were, unless the lengths have moved."""
    if statistics is None:
        if state is None:
            raise ValueError("neither a state nor statistics")
        return state.averages
    if state is None or drifted(state.averages, statistics.averages):
        return statistics.averages
    return state.averages


def _head(row: Sequence[object]) -> _Head:
    number, key, ordinal = row[:3]
    return _Head(int(str(number)), _id(f"{key}#{ordinal}"), repr(tuple(row[1:])).encode())


def _id(name: str) -> str:
    return str(UUID(bytes=blake2b(name.encode(), digest_size=16).digest()))


def _digest(parts: Iterable[bytes]) -> str:
    made = blake2b(digest_size=16)
    for part in parts:
        made.update(len(part).to_bytes(8, "big") + part)
    return made.hexdigest()


def _encoded(
    record: sqlite3.Connection, numbers: Sequence[int], fingerprints: dict[str, str], averages: Averages
) -> Iterator[tuple[Row, Vector]]:
    sql = f"{_ROWS} ({','.join('?' * len(numbers))})"
    for *fields, headings, body in record.execute(sql, numbers):
        shown = Passage(*fields)
        name = _id(f"{shown.key}#{shown.ordinal}")
        row = Row(name, fingerprints[name], shown, body)
        yield row, passage(Words.of(shown.title, headings, body), averages)


def _noted(record: sqlite3.Connection, directory: Path, engine: Engine, statistics: Statistics, digest: str) -> Filled:
    """Write the statistics down under a name of their own."""
    documents = Counter[str](source for (source,) in record.execute(_KINDS))
    there, default = _versions(directory)
    revision = _digest((digest.encode(), repr((FORMAT, analyser(), statistics.averages)).encode()))[:16]
    parts = packed(statistics)
    for number, part in enumerate(parts):
        engine.keep_note(part_key(revision, number), part)
    return Filled(revision, len(parts), digest, there, default, dict(documents))


def _versions(directory: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the versions that there are, and those that are searched by default, as the embedded index has them."""
    try:
        take, _ = opened(directory)
        snapshot = take()
        versions = snapshot.versions, snapshot.default_versions
    except VENDOR_ERRORS as error:
        raise KnowledgeError(
            f"The knowledge base in {directory} cannot be read: {error}.", "Index the documents again."
        ) from error
    return versions


def _batches(items: Sequence[_T], size: int) -> Iterator[Sequence[_T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


@contextmanager
def _record(directory: Path) -> Generator[sqlite3.Connection]:
    """Open the system of record for reading, as it is at this moment."""
    path = directory / NAME
    if not path.is_file():
        raise NoIndex(f"Nothing is indexed in {directory}.", "Index a folder of Markdown files first.")
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None, timeout=5)
    try:
        if connection.execute("PRAGMA user_version").fetchone()[0] != SCHEMA:
            raise KnowledgeError(
                f"The knowledge base in {directory} was made by another version of this program.",
                "Delete that folder and index again.",
            )
        # All that is read below is of one moment, whoever indexes meanwhile.
        connection.execute("BEGIN")
        yield connection
    finally:
        connection.close()


@contextmanager
def _our_errors(directory: Path, engine: Engine) -> Generator[None]:
    try:
        yield
    except EngineFault as fault:
        raise KnowledgeError(
            f"The index at {engine.name} cannot be filled: {fault.message}.",
            f"{fault.way_out} Then run the same command again: it goes on where it stopped.",
        ) from fault
    except sqlite3.Error as error:
        raise KnowledgeError(
            f"The knowledge base in {directory} cannot be read: {error}.", "Index the documents again."
        ) from error
