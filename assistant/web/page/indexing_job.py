"""Indexing while a server runs: one thread, at most one run at a time, with its progress."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from adapters.reading.stop_switch import ReadingStopped, StopSwitch
from assistant.indexing import index_documents, profile_folders
from assistant.starter_questions import choose_starter_questions
from assistant.wiring.rankers import fill_vectors
from contracts.errors import GuardianError, IndexBusy

if TYPE_CHECKING:
    from assistant.deployment import Deployment

_LOG: Final = logging.getLogger(__name__)
_AGAIN_S: Final = 0.5
"""Between tries, where vectors are made or another process is indexing."""


_Made = TypeVar("_Made")


class _Ended(Exception):
    """The server ends while documents are read; the old index is whole."""


@dataclass(frozen=True, slots=True)
class IndexingState:
    """How far a run is.

    Attributes:
        running: Whether one runs now.
        stage: `waiting` for another process, `files`, `vectors` or `questions`; empty before the first run.
        done, total: Steps of the stage; both 0 if they are not counted.
        file: The file at hand.
        fault: Why the last run failed, and the way out; empty if it did not.
    """

    running: bool = False
    stage: str = ""
    done: int = 0
    total: int = 0
    file: str = ""
    fault: str = ""


class IndexingJob:
    """Runs of indexing for one server.

    Args:
        deployed: The deployment whose documents are indexed.
    """

    def __init__(self, deployed: Deployment) -> None:
        self._deployed = deployed
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._switches: set[StopSwitch] = set()
        self._call: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None
        self._again = False
        self._thread: threading.Thread | None = None
        self.state = IndexingState()

    def start(self) -> None:
        """Begin a run; if one runs already, another follows it, for files may have come behind its back."""
        with self._lock:
            if self.state.running:
                self._again = True
                return
            self.state = IndexingState(running=True, stage="waiting")
            self._thread = threading.Thread(target=self._run, name="indexing", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """End what runs, and all reading of uploads, without waiting; the index is the old one or the new one."""
        with self._lock:
            self._ended.set()
            for switch in self._switches:
                switch.press()
            if self._call is not None:
                loop, task = self._call
                loop.call_soon_threadsafe(task.cancel)

    @contextmanager
    def stop_switch(self) -> Generator[StopSwitch]:
        """Yield a switch for reading files, which is pressed when the server ends, and at the end of the block."""
        switch = StopSwitch()
        with self._lock:
            self._switches.add(switch)
            if self._ended.is_set():
                switch.press()
        try:
            yield switch
        finally:
            with self._lock:
                self._switches.remove(switch)
            switch.press()  # whoever waited for it may have gone

    def stop(self) -> None:
        """End what runs, and wait for it; the index is the old one or the new one."""
        self.end()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            fault = self._index()
            with self._lock:
                if not self._again or self._ended.is_set():
                    self.state = replace(self.state, running=False, fault=fault)
                    return
                self._again = False

    def _index(self) -> str:
        """Index once; return why it failed."""
        deployed = self._deployed
        try:
            with self.stop_switch() as stop, asyncio.Runner() as runner:
                loop = runner.get_loop()
                folders = profile_folders(deployed)
                self._when_free(lambda: index_documents(deployed, folders, self._advance_files, stop))
                self._tell("vectors")
                self._when_free(lambda: fill_vectors(deployed, self._advance_vectors, partial(self._await, loop)))
                self._tell("questions")
                self._await(loop, choose_starter_questions(deployed))
        except (_Ended, ReadingStopped):
            pass
        except GuardianError as error:
            return str(error)
        except Exception:  # noqa: BLE001  # it is logged, and the page says so: the server goes on
            _LOG.exception("Indexing failed.")
            return "Indexing broke off; the server's log says why. The old index serves on."
        return ""

    def _when_free(self, work: Callable[[], object]) -> None:
        """Do what writes the index, as soon as nobody else writes it."""
        while True:
            try:
                work()
            except IndexBusy:
                self._tell("waiting")
                self._ended.wait(_AGAIN_S)
            else:
                return

    def _await(self, loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, _Made]) -> _Made:
        """Run a coroutine to its end; the end of the server cancels it."""
        task = loop.create_task(work)
        with self._lock:
            self._call = loop, task
            if self._ended.is_set():
                task.cancel()
        try:
            return loop.run_until_complete(task)
        except asyncio.CancelledError:
            raise _Ended from None
        finally:
            with self._lock:
                self._call = None

    def _advance_files(self, done: int, total: int, path: str) -> None:
        self._tell("files", done, total, path)

    def _advance_vectors(self, done: int, total: int) -> None:
        self._tell("vectors", done, total)

    def _tell(self, stage: str, done: int = 0, total: int = 0, file: str = "") -> None:
        if self._ended.is_set():
            raise _Ended
        self.state = IndexingState(True, stage, done, total, file)
