"""Asking for the vectors that the system of record lacks. A text is sent once for each model, whatever happens between."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from adapters.ranking.embeddings import BATCH, Embedder
from adapters.ranking.similarity import (
    Calibration,
    best_of,
    calibration_key,
    foreign_questions,
    hash_of,
    text_of,
    vector_of,
)
from adapters.sources.markdown.store import Store
from contracts.errors import ServerFault

SAMPLE: Final = 5000
"""Passages that foreign questions are compared with."""

Progress = Callable[[int, int], None]
"""Passages that have a vector now, of those that were without, and how many these were."""


@dataclass(frozen=True, slots=True)
class FillReport:
    """What a run did.

    Attributes:
        asked: Texts that got a vector in this run.
        kept: Texts that have one now.
        missing: Texts that still have none.
        fault: Why; empty where nothing went wrong.
    """

    asked: int
    kept: int
    missing: int
    fault: str = ""


async def fill(directory: Path, embedder: Embedder, on_progress: Progress | None = None) -> FillReport:
    """Ask for the vectors of all passages in the model's languages that have none; nothing else is asked for.

    Batches are written as they come, so that the next run goes on where a killed one stopped. What is no longer
    needed, of other models too, goes at the end. To be called under the lock of reading in, in a loop of its own: the
    database is used in this thread.

    Raises:
        KnowledgeError: The knowledge base cannot be read or written.
    """
    store = Store(directory)
    try:
        return await _filled(store, embedder, on_progress)
    finally:
        store.close()


async def _filled(store: Store, embedder: Embedder, on_progress: Progress | None) -> FillReport:
    wanted = wanted_texts(store, embedder)
    known = store.vector_sizes(embedder.name)
    missing = [key for key in wanted if key not in known]
    length = next(iter(known.values()), 0)
    asked, fault = 0, ""
    rest = iter(missing)
    try:
        while batch := list(islice(rest, BATCH)):
            texts = store.texts([wanted[key] for key in batch])
            vectors = await embedder.embed([text_of(*texts[wanted[key]]) for key in batch])
            blobs = [vector.tobytes() for vector in vectors]
            length = length or len(blobs[0])
            _same_length(embedder, length, len(blobs[0]))
            with store.transaction():
                store.keep_vectors(embedder.name, dict(zip(batch, blobs, strict=True)))
            asked += len(batch)
            if on_progress:
                on_progress(asked, len(missing))
        await _settle(store, embedder, wanted, changed=bool(missing))
    except ServerFault as error:
        fault = str(error)
    return FillReport(asked, len(wanted) - len(missing) + asked, len(missing) - asked, fault)


def _same_length(embedder: Embedder, before: int, now: int) -> None:
    if before != now:
        raise ServerFault(
            f"The embedding model {embedder.name!r} makes vectors of {now // 4} numbers now, and made such of "
            f"{before // 4} before.",
            "Give the model that is served now a name of its own (GUARDIAN_EMBED_MODEL).",
        )


def wanted_texts(store: Store, embedder: Embedder) -> dict[str, int]:
    """Return which texts shall have a vector: the number of a passage with each, by the hash of the text.

    The texts themselves may be more than memory holds.
    """
    return {
        hash_of(text_of(entry.title, entry.headings, entry.body)): entry.id
        for entry in store.entries(coming=False)
        if entry.language in embedder.languages
    }


async def _settle(store: Store, embedder: Embedder, wanted: dict[str, int], *, changed: bool) -> None:
    """Drop what is not needed, and measure what a similarity is worth, where that may have changed."""
    with store.transaction():
        dropped = store.drop_vectors(embedder.name, wanted)
    name = calibration_key(embedder.name)
    if not (changed or dropped or not store.meta(name)):
        return
    questions = [text for language, text in foreign_questions() if language in embedder.languages]
    queries = await embedder.embed_queries(questions)
    passages = [vector_of(blob) for blob in store.some_vectors(embedder.name, SAMPLE)]
    if passages and len(passages[0]) != len(queries[0]):
        raise ServerFault("The embedding server makes queries and passages of different lengths.")
    calibration = Calibration.of(best_of(queries, passages))
    with store.transaction():
        figures = [calibration.midpoint, calibration.spread] if calibration else []
        store.set_meta(name, json.dumps(figures))
