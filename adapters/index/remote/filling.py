"""Filling a server from the system of record, so that a killed run is finished by the next.

A passage's id comes from its document and its position, its fingerprint from everything that is stored of it. A run
compares the server's passages with the record, writes the difference in batches and deletes what is gone. Statistics
come last, and after them the state that names them; until then searches use those of the fill before.

Vectors by an embedding model are copied from the record, where `adapters.index.vectors` puts them. So no text is sent
to the model twice, whatever happens to a fill. The state names the model before the first of its vectors is written. A
server with vectors of one model accepts none of another.
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
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from adapters.index.embedded.index import VENDOR_ERRORS, analyser, open_index
from adapters.index.ranking.similarity import calibration_key, calibration_of, hash_of, text_of, vector_of
from adapters.index.ranking.spreads import directions_key
from adapters.index.records import StoredPassage
from adapters.index.remote.engine import ANOTHER_PLACE, EngineFault, IndexEngine, PassageRow, id_of
from adapters.index.remote.sparse import Averages, FieldStems, Statistics, Vector, count_words, have_drifted, passage
from adapters.index.remote.state import (
    FORMAT,
    STATE,
    Dense,
    FinishedFill,
    State,
    directions_note,
    pack_statistics,
    part_key,
    unpack_statistics,
)
from adapters.index.store import NAME, SCHEMA
from contracts.errors import ConfigError, KnowledgeError, NoIndex

if TYPE_CHECKING:
    from adapters.index.ranking.embedder import Embedder, Embedding

BATCH: Final = 500
"""Passages that are written together."""

Progress = Callable[[int, int], None]
"""Passages written, and to be written in all."""

_SECONDS: Final = 15.0
"""For reading the state, which is the first thing that is asked."""
_NOTE_S: Final = 120.0
"""For reading any other note."""
_MOST_NUMBERS: Final = 500_000
"""Of the vectors that are written together: some 6 MB as text, where Qdrant takes 32 in one request."""
_BYTES: Final = 2
"""Of a number in a vector."""
_AS_IT_WAS: Final = "Set GUARDIAN_EMBEDDER, GUARDIAN_EMBED_URL, its model and GUARDIAN_EMBED_TEXT_PREFIX as they were"
_T = TypeVar("_T")

_FROM: Final = "FROM chunks c JOIN documents d ON d.id = c.document WHERE d.state <> 'removing'"
_HEADS: Final = f"""
SELECT c.id, d.key, c.ordinal, d.source, d.version, d.format, d.title, d.url, d.kb_id, d.updated, d.language,
       c.heading, c.first_line, c.last_line, c.headings, c.hash {_FROM} ORDER BY c.id
"""
_LANGUAGE: Final = 10
"""Its column there."""
_TEXTS: Final = f"SELECT d.title, c.headings, c.body {_FROM} ORDER BY c.id"
_ROWS: Final = f"""
SELECT c.id, d.key, d.source, d.title, d.url, d.kb_id, d.updated, d.language,
       c.ordinal, c.heading, c.first_line, c.last_line, c.text, d.version, c.headings, c.body {_FROM} AND c.id IN
"""
_VECTORS: Final = "SELECT hash, vector FROM embeddings WHERE model = ? AND hash IN"
_KINDS: Final = "SELECT source FROM documents WHERE state <> 'removing' ORDER BY source"


@dataclass(frozen=True, slots=True)
class FillReport:
    """The report of a run.

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
    language: str
    content: bytes


def fill(
    directory: Path,
    engine: IndexEngine,
    embedder: Embedder | None = None,
    *,
    batch: int = BATCH,
    on_counted: Progress | None = None,
    on_progress: Progress | None = None,
) -> FillReport:
    """Bring a server up to date with a knowledge base.

    Args:
        directory: The folder with the knowledge base from `ingest` and its vectors from `adapters.index.vectors.fill`.
        engine: The server.
        embedder: The model of the vectors to copy, if any; it gets no request.
        batch: Passages that are written together.
        on_counted: Called after each batch of passages in the first phase, the counting of words.
        on_progress: Called after each batch.

    Raises:
        NoIndex: Nothing has been indexed yet.
        IndexBusy: Another process is filling the server.
        KnowledgeError: The knowledge base cannot be read, or lacks vectors, or the server cannot be written; the next
            run continues from there.
        ConfigError: The server has vectors of another model.
    """
    started = time.perf_counter()
    with _our_errors(directory, engine), _record(directory) as record, engine.alone():
        report = _fill(record, directory, engine, embedder, batch, on_counted, on_progress)
    return replace(report, seconds=time.perf_counter() - started)


def _fill(
    record: sqlite3.Connection,
    directory: Path,
    engine: IndexEngine,
    embedder: Embedder | None,
    batch: int,
    on_counted: Progress | None,
    on_progress: Progress | None,
) -> FillReport:
    state = State.read(engine.note(STATE, _SECONDS))
    heads = [_head(row) for row in record.execute(_HEADS)]
    digest = _digest(sorted(head.content for head in heads))
    dense = _agree_on_vectors(engine, state.dense if state else None, _dense(record, embedder, heads), embedder)
    engine.prepare(dense.length if dense else 0)
    if state is not None and not state.current:
        state = None
    filled = state.filled if state else None
    complete = filled is not None and filled.digest == digest and _readable(engine, filled)
    statistics = None if complete else count_words(_words(record, len(heads), batch, on_counted))
    averages = _averages(state, statistics)
    if state is None or (state.averages, state.dense) != (averages, dense):
        # Noted first: a killed run and the one that finishes it must encode alike.
        _note_directions(record, engine, dense)
        state = State(averages, analyser(), FORMAT, state.filled if state else None, dense)
        engine.keep_note(STATE, state.written())

    stamp = repr((FORMAT, analyser(), averages)).encode()
    meant = [repr((dense.model, dense.length)).encode()] if dense else []
    spoken = dense.languages if dense else ()
    wanted = {
        head.id: (head.number, _digest((stamp, head.content, *(meant if head.language in spoken else ()))))
        for head in heads
    }
    held = dict(engine.held())
    changed = [(number, key) for key, (number, fingerprint) in wanted.items() if held.get(key) != fingerprint]
    written = 0
    if dense:
        batch = max(1, min(batch, _MOST_NUMBERS // dense.length))
    for part in _batches(changed, batch):
        numbers = [number for number, _ in part]
        engine.put(_encode_passages(record, numbers, {key: wanted[key][1] for _, key in part}, averages, dense))
        written += len(part)
        if on_progress:
            on_progress(written, len(changed))
    gone = [key for key in held if key not in wanted]
    for part in _batches(gone, batch):
        engine.drop(part)
    finished = statistics is None and state.filled is not None and state.filled.dense == dense
    if changed or gone or not finished:
        # Before the state says that all is done: a run that is killed here is settled by the next.
        engine.settle()
    if statistics is not None:
        filled = _note_statistics(record, directory, engine, replace(statistics, averages=averages), digest, dense)
        engine.keep_note(STATE, replace(state, filled=filled).written())
        kept = {part_key(filled.revision, number) for number in range(filled.parts)}
        kept.add(directions_note(dense.directions if dense else ""))
        engine.drop_notes([key for key in engine.notes() if key != STATE and key not in kept])
    elif state.filled is not None and not finished:
        engine.keep_note(STATE, replace(state, filled=replace(state.filled, dense=dense)).written())
    return FillReport(len(changed), len(gone), len(wanted) - len(changed), len(wanted), 0.0)


def _words(record: sqlite3.Connection, total: int, batch: int, on_counted: Progress | None) -> Iterator[FieldStems]:
    for done, row in enumerate(record.execute(_TEXTS), 1):
        yield FieldStems.of(*row)
        if on_counted and done % batch == 0:
            on_counted(done, total)


def _averages(state: State | None, statistics: Statistics | None) -> Averages:
    """Return what passages are to be encoded with: what those that are there were, unless the lengths have moved."""
    if statistics is None:
        if state is None:
            raise ValueError("neither a state nor statistics")
        return state.averages
    if state is None or have_drifted(state.averages, statistics.averages):
        return statistics.averages
    return state.averages


def _head(row: Sequence[object]) -> _Head:
    number, key, ordinal = row[:3]
    return _Head(
        int(str(number)), id_of(str(key), int(str(ordinal))), str(row[_LANGUAGE]), repr(tuple(row[1:])).encode()
    )


def _digest(parts: Iterable[bytes]) -> str:
    made = blake2b(digest_size=16)
    for part in parts:
        made.update(len(part).to_bytes(8, "big") + part)
    return made.hexdigest()


def _encode_passages(
    record: sqlite3.Connection,
    numbers: Sequence[int],
    fingerprints: dict[str, str],
    averages: Averages,
    dense: Dense | None,
) -> list[tuple[PassageRow, Vector]]:
    sql = f"{_ROWS} ({','.join('?' * len(numbers))})"
    read = [(StoredPassage(*fields), headings, body) for *fields, headings, body in record.execute(sql, numbers)]
    vectors = _vectors(record, dense, read) if dense else {}
    made: list[tuple[PassageRow, Vector]] = []
    for shown, headings, body in read:
        name = id_of(shown.key, shown.ordinal)
        row = PassageRow(name, fingerprints[name], shown, body, vectors.get(shown.id))
        made.append((row, passage(FieldStems.of(shown.title, headings, body), averages)))
    return made


# ------------------------------------------------------------------------------------------------------------ meaning


def _dense(record: sqlite3.Connection, embedder: Embedder | None, heads: Sequence[_Head]) -> Dense | None:
    """Return what the record's vectors of a model are made with; `None` where it is to have none.

    Raises:
        KnowledgeError: It is to have some, and has none.
    """
    if embedder is None or not any(head.language in embedder.languages for head in heads):
        return None
    there = record.execute("SELECT 1 FROM sqlite_master WHERE name = 'embeddings'").fetchone()
    sql = "SELECT length(vector) FROM embeddings WHERE model = ? LIMIT 1"
    first = record.execute(sql, (embedder.name,)).fetchone() if there else None
    if first is None:
        raise _missing_vectors_error(embedder.name)
    measured = record.execute("SELECT value FROM meta WHERE key = ?", (calibration_key(embedder.name),)).fetchone()
    if measured is None:
        raise _missing_vectors_error(embedder.name)
    calibration = calibration_of(measured[0])
    languages = tuple(sorted(embedder.languages))
    differ = _directions(record, embedder.name)
    length = first[0] // _BYTES
    named = _digest((differ.encode(),))[:16] if differ else ""
    return Dense(embedder.name, embedder.query_prefix, length, languages, calibration, named)


def _directions(record: sqlite3.Connection, model: str) -> str:
    """Return how the record's vectors of a model differ; empty where that was not measured."""
    found = record.execute("SELECT value FROM meta WHERE key = ?", (directions_key(model),)).fetchone()
    return found[0] if found else ""


def _note_directions(record: sqlite3.Connection, engine: IndexEngine, dense: Dense | None) -> None:
    if dense and dense.directions and (differ := _directions(record, dense.model)):
        engine.keep_note(directions_note(dense.directions), differ)


def _agree_on_vectors(
    engine: IndexEngine, there: Dense | None, here: Dense | None, embedder: Embedder | None
) -> Dense | None:
    """Return what a server's vectors are to be made with.

    Raises:
        ConfigError: It has vectors that these cannot be compared with, or would lose those that it has.
    """
    if there is None or there == here:
        return here
    has = f"The index at {engine.name} has vectors of the embedding model {there.model!r} with {there.length} numbers"
    if embedder is None:
        raise ConfigError(f"{has}, and no model is set.", f"{_AS_IT_WAS}, or {ANOTHER_PLACE}.")
    if here is None and there.model == embedder.name:
        # There is no passage in its languages any more.
        return there
    if here is None or (there.model, there.length) != (here.model, here.length):
        now = f"{embedder.name!r} with {here.length}" if here else repr(embedder.name)
        raise ConfigError(
            f"{has}, and the settings name {now}: they cannot be compared.",
            f"{_AS_IT_WAS}, or {ANOTHER_PLACE}.",
        )
    return here


def _vectors(
    record: sqlite3.Connection, dense: Dense, read: Sequence[tuple[StoredPassage, str, str]]
) -> dict[int, Embedding]:
    """Return the vectors of passages in the model's languages, by the number of the passage.

    Raises:
        KnowledgeError: One is missing.
    """
    texts = {
        shown.id: hash_of(text_of(shown.title, headings, body))
        for shown, headings, body in read
        if shown.language in dense.languages
    }
    keys = list(set(texts.values()))
    sql = f"{_VECTORS} ({','.join('?' * len(keys))})"
    known = {key: vector_of(blob) for key, blob in record.execute(sql, (dense.model, *keys))}
    if len(known) < len(keys) or any(len(vector) != dense.length for vector in known.values()):
        raise _missing_vectors_error(dense.model)
    return {number: known[key] for number, key in texts.items()}


def _missing_vectors_error(model: str) -> KnowledgeError:
    """Return the error of a fill whose passages have not all vectors."""
    return KnowledgeError(
        f"Not all passages have a vector of the embedding model {model!r} yet, so the index in the server cannot be "
        "brought up to date.",
        "See that the embedding server runs, and run the same command again: it asks for the rest alone.",
    )


# -------------------------------------------------------------------------------------------------------------- notes


def _note_statistics(
    record: sqlite3.Connection,
    directory: Path,
    engine: IndexEngine,
    statistics: Statistics,
    digest: str,
    dense: Dense | None,
) -> FinishedFill:
    """Write the statistics down under a name of their own."""
    documents = Counter[str](source for (source,) in record.execute(_KINDS))
    there, default = _versions(directory)
    revision = _digest((digest.encode(), repr((FORMAT, analyser(), statistics.averages)).encode()))[:16]
    parts = pack_statistics(statistics)
    for number, part in enumerate(parts):
        engine.keep_note(part_key(revision, number), part)
    return FinishedFill(revision, len(parts), digest, there, default, dict(documents), dense)


def _readable(engine: IndexEngine, filled: FinishedFill) -> bool:
    """Tell whether searches can read the statistics of a fill: what is damaged there is written anew."""
    parts = [engine.note(part_key(filled.revision, number), _NOTE_S) for number in range(filled.parts)]
    try:
        unpack_statistics([part for part in parts if part is not None])
    except ValueError:
        return False
    return None not in parts


def _versions(directory: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the versions that there are, and those that are searched by default, as the embedded index has them."""
    try:
        take, _ = open_index(directory)
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
def _our_errors(directory: Path, engine: IndexEngine) -> Generator[None]:
    try:
        yield
    except EngineFault as fault:
        again = " Then run the same command again: it goes on where it stopped." if fault.passing else ""
        raise KnowledgeError(
            f"The index at {engine.name} cannot be filled: {fault.message}.", f"{fault.way_out}{again}"
        ) from fault
    except sqlite3.Error as error:
        raise KnowledgeError(
            f"The knowledge base in {directory} cannot be read: {error}.", "Index the documents again."
        ) from error
