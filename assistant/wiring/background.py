"""Vectors that are made while a server runs; until then, turns search by words and say so."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Final

from assistant.turns.progress import own_language, phrases
from contracts.errors import GuardianError, IndexBusy

if TYPE_CHECKING:
    from adapters.index.ranking.embedder import Embedding
    from adapters.index.vectors import VectorReport
    from assistant.deployment import Deployment

_AGAIN_S: Final = 2.0
"""Between tries, where another process is indexing; it makes vectors, too."""
_STEPS: Final = 10
"""How often it is told how far it is."""


class Filling:
    """A thread that makes the missing vectors of a deployment's passages; after a kill, the next one continues.

    It does nothing for an index on a server, or without an embedding model. Errors go to standard error and do not end
    the server.
    """

    def __init__(self, deployed: Deployment) -> None:
        self._deployed = deployed
        self._say = phrases(own_language())
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="vectors", daemon=True)
        self._ended = threading.Event()
        self._call: asyncio.Task[list[Embedding]] | None = None
        self._told = 0

    def start(self) -> None:
        """Start the thread; the documents have been read in."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and wait until it has ended; finished vectors are kept."""
        self._ended.set()
        # The loop takes no calls any more where it is over.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._cancel)
        self._thread.join()

    def _cancel(self) -> None:
        if self._call is not None:
            self._call.cancel()

    def _run(self) -> None:
        # Files are read and written between the calls of the model, while no event loop runs in this thread: `langgraph
        # dev` refuses whatever blocks one, in any thread.
        with contextlib.suppress(asyncio.CancelledError), contextlib.closing(self._loop):
            self._work()

    def _work(self) -> None:
        while not self._ended.is_set():
            try:
                report = self._fill()
            except IndexBusy:
                self._ended.wait(_AGAIN_S)
                continue
            except GuardianError as error:
                self._tell("vectors_missing", missing="?", why=f"{error} {error.way_out or ''}".strip())
                return
            # Passages that were read in meanwhile are missing without a fault.
            if report is None or report.fault or not report.missing:
                self._tell_end(report)
                return

    def _tell_end(self, report: VectorReport | None) -> None:
        if report is not None and report.missing:
            self._tell("vectors_missing", missing=report.missing, why=report.fault)
        elif report is not None and report.asked:
            self._tell("vectors_made", count=report.asked)

    def _fill(self) -> VectorReport | None:
        """Make what is missing; `None` where nothing is to be made here."""
        from adapters.index.embedded.ingestion import alone
        from adapters.index.store import NAME
        from adapters.index.vectors import fill
        from assistant.wiring.rankers import embedder

        deployed = self._deployed
        model = embedder(deployed.settings)
        folder = deployed.knowledge_folder
        if model is None or deployed.settings.index.url or not (folder / NAME).is_file():
            return None
        # Others may index between two batches: a large knowledge base takes a large model an hour.
        return fill(folder, model, self._advance, lambda: alone(folder), self._await)

    def _await(self, call: Coroutine[Any, Any, list[Embedding]]) -> list[Embedding]:
        """Run a call of the model to its end; the end of the thread cancels it."""
        self._call = self._loop.create_task(call)
        if self._ended.is_set():
            self._call.cancel()
        return self._loop.run_until_complete(self._call)

    def _advance(self, done: int, total: int) -> None:
        step = _STEPS * done // total
        if step > self._told and done < total:
            self._told = step
            self._tell("vectors_making", done=done, total=total)

    def _tell(self, name: str, **values: object) -> None:
        print(self._say[name].format(**values), file=sys.stderr, flush=True)
