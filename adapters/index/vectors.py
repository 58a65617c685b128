"""Embedding of texts that have no vector in the system of record. A model gets each text once, even after a crash."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from adapters.index.ranking.embedder import BATCH, Embedder, Embedding
from adapters.index.ranking.similarity import (
    Calibration,
    best_of,
    blob_of,
    calibration_key,
    file_key,
    foreign_questions,
    hash_of,
    measured_key,
    read_vectors,
    remove_vectors,
    serialise_calibration,
    text_of,
    write_vectors,
)
from adapters.index.ranking.spreads import directions_key, directions_of
from adapters.index.store import Store
from contracts.errors import KnowledgeError, ServerFault

_BYTES: Final = 2
"""Of a number in a vector."""

Progress = Callable[[int, int], None]
"""Passages that have a vector now, of those that were without, and how many these were."""


Writing = Callable[[], AbstractContextManager[object]]
Run = Callable[[Coroutine[Any, Any, list[Embedding]]], list[Embedding]]


@dataclass(frozen=True, slots=True)
class VectorReport:
    """The report of a run.

    Attributes:
        asked: Texts that got a vector in this run.
        kept: Texts that have a vector now.
        missing: Texts that still have no vector.
        fault: Why; empty if nothing went wrong.
    """

    asked: int
    kept: int
    missing: int
    fault: str = ""


def fill(
    directory: Path,
    embedder: Embedder,
    on_progress: Progress | None = None,
    writing: Writing = nullcontext,
    run: Run | None = None,
) -> VectorReport:
    """Make the missing vectors of all passages in the model's languages; the model is asked for nothing else.

    Batches are written as they arrive, so the next run continues after a killed one. At the end all vectors are
    published in one file, and vectors that are no longer needed are deleted, of other models too. It reads and writes
    files in this thread, in which no event loop may run.

    Args:
        directory: The folder of the knowledge base.
        embedder: The model.
        on_progress: Called after each batch.
        writing: The lock of indexing, entered for each write; without it, the caller holds the lock throughout.
        run: Runs each call of the model on an event loop to its end; without it, on one of this call's own.

    Raises:
        KnowledgeError: The knowledge base cannot be read or written.
        IndexBusy: From `writing`; earlier batches are kept.
    """
    with writing():
        store = Store(directory)
    try:
        with asyncio.Runner() as own:
            return _fill(directory, store, embedder, on_progress, writing, run or own.run)
    except (OSError, ValueError) as error:
        raise KnowledgeError(
            f"The vectors of the knowledge base in {directory} cannot be written: {error}.",
            "See that its disk has free space and its folder may be written to, then index again.",
        ) from error
    finally:
        store.close()


def _fill(
    directory: Path, store: Store, embedder: Embedder, on_progress: Progress | None, writing: Writing, run: Run
) -> VectorReport:
    wanted = wanted_texts(store, embedder)
    by_hash = {key: chunk for chunk, key in wanted.items()}
    known = store.vector_sizes(embedder.name)
    missing = [key for key in by_hash if key not in known]
    length = next(iter(known.values()), 0)
    asked, fault = 0, ""
    rest = iter(missing)
    try:
        while batch := list(islice(rest, BATCH)):
            texts = store.texts([by_hash[key] for key in batch])
            # What was read in meanwhile may have taken some away.
            batch = [key for key in batch if by_hash[key] in texts]
            vectors = run(embedder.embed([text_of(*texts[by_hash[key]]) for key in batch]))
            blobs = [blob_of(vector) for vector in vectors]
            for blob in blobs[:1]:
                length = length or len(blob)
                _same_length(embedder, length, len(blob))
            with writing(), store.transaction():
                store.keep_vectors(embedder.name, dict(zip(batch, blobs, strict=True)))
            known |= dict.fromkeys(batch, length)
            asked += len(batch)
            if on_progress:
                on_progress(asked, len(missing))
    except ServerFault as error:
        fault = str(error)
    with writing():
        now = wanted_texts(store, embedder) if asked else wanted
        with store.transaction():
            store.drop_vectors(embedder.name, set(now.values()))
        name = _publish(directory, store, embedder, {chunk: key for chunk, key in now.items() if key in known}, length)
    if not fault:
        try:
            _measure(directory, store, embedder, name, writing, run)
        except ServerFault as error:
            fault = str(error)
    hashes = set(now.values())
    kept = len(hashes & known.keys())
    return VectorReport(asked, kept, len(hashes) - kept, fault)


def _same_length(embedder: Embedder, before: int, now: int) -> None:
    if before != now:
        raise ServerFault(
            f"The embedding model {embedder.name!r} makes vectors of {now // _BYTES} numbers now, and made such of "
            f"{before // _BYTES} before.",
            "Give the model that is served now a name of its own (GUARDIAN_EMBED_MODEL).",
        )


def wanted_texts(store: Store, embedder: Embedder) -> dict[int, str]:
    """Return the hash of the text of each passage that needs a vector, by the passage's number, ascending.

    The texts themselves may not fit into memory.
    """
    return {
        entry.id: hash_of(text_of(entry.title, entry.headings, entry.body))
        for entry in store.entries(coming=False)
        if entry.language in embedder.languages
    }


def _publish(directory: Path, store: Store, embedder: Embedder, having: dict[int, str], length: int) -> str:
    """Put the vectors of passages where searches look for them; return the name of the file."""
    before = store.meta(file_key(embedder.name))
    if not _holds(directory, before, list(having)):
        name = write_vectors(directory, list(having), store.vectors(embedder.name, having.values()), length // _BYTES)
        with store.transaction():
            store.set_meta(file_key(embedder.name), name)
        before = name
    remove_vectors(directory, but=before)
    return before


def _holds(directory: Path, name: str, chunks: list[int]) -> bool:
    """Tell whether a file is there and has the vectors of just these passages, of which none ever changes."""
    try:
        return bool(name) and read_vectors(directory / name)[0].tolist() == chunks
    except (OSError, ValueError):
        return False


def _measure(directory: Path, store: Store, embedder: Embedder, name: str, writing: Writing, run: Run) -> None:
    """Measure what a similarity is worth, where the vectors are others than when it was measured last."""
    if store.meta(measured_key(embedder.name)) == name and store.meta(directions_key(embedder.name)):
        return
    questions = [text for language, text in foreign_questions() if language in embedder.languages]
    queries = run(embedder.embed_queries(questions))
    _, rows = read_vectors(directory / name)
    if len(rows) and rows.shape[1] != len(queries[0]):
        raise ServerFault("The embedding server makes queries and passages of different lengths.")
    calibration = Calibration.of(*best_of(queries, rows))
    with writing(), store.transaction():
        store.set_meta(calibration_key(embedder.name), serialise_calibration(calibration))
        store.set_meta(directions_key(embedder.name), directions_of(rows))
        store.set_meta(measured_key(embedder.name), name)
