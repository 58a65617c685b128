"""`guardian index`: reads documents into the knowledge base."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, NoReturn

from adapters.index.embedded import Folder
from adapters.reading import files
from adapters.reading.dialects import DialectSettings
from assistant.deployment import Deployment, deployment
from assistant.indexing import index_documents, profile_folders
from assistant.starter_questions import choose_starter_questions
from assistant.wiring.documents import engine_of
from assistant.wiring.rankers import embedder, fill_vectors
from contracts.enums import Outcome, Source
from contracts.errors import GuardianError, IndexBusy, InputError
from language.figures.counted import count_noun

if TYPE_CHECKING:
    from tqdm import tqdm

    from adapters.index.remote.engine import IndexEngine


def run(options: argparse.Namespace) -> int:
    """Index the given folders, and list skipped files with the reason."""
    deployed = deployment(options.profile)
    if options.path is not None:
        if not options.path.strip():
            # It would be taken for the working directory.
            raise InputError("The path is empty.", "Name a folder that holds documents.")
        path = Path(options.path)
        folders = [Folder(path, Source(options.source), options.version, _reading(deployed, path))]
    else:
        folders = profile_folders(deployed)
    to = deployed.settings.index.url if options.to is None else options.to
    # Before the documents are read: that may take long.
    engine = engine_of(deployed, to) if to or options.to is not None else None

    def bring_up_to_date() -> None:
        print(index(deployed, folders), flush=True)
        _choose_questions(deployed)
        if engine:
            print(_fill_engine(deployed, engine), flush=True)

    try:
        bring_up_to_date()
        if options.watch:
            _watch(folders, bring_up_to_date)
    finally:
        if engine:
            engine.close()
    return 0


def _choose_questions(deployed: Deployment) -> None:
    """Choose the questions of the welcome, with a bar for each that is tried."""
    with _bar("questions tried") as bar:

        def advance(_question: str, _outcome: Outcome) -> None:
            bar.update()

        asyncio.run(choose_starter_questions(deployed, advance))


_LOOK_AGAIN_S = 1.0


def _watch(folders: Sequence[Folder], bring_up_to_date: Callable[[], None]) -> None:
    """Index again whenever a file of the folders changes, until Ctrl-C; a fault is told and does not end the watch."""
    seen = _stamp(folders)
    with _interruption() as interrupted:
        print("Watching the folders for changes; Ctrl-C ends.", file=sys.stderr, flush=True)
        while not interrupted.wait(_LOOK_AGAIN_S):
            if (now := _stamp(folders)) == seen:
                continue
            try:
                bring_up_to_date()
                seen = now
            except IndexBusy:
                continue  # another process is indexing: the next look tries again
            except GuardianError as error:
                seen = now
                print(f"guardian: {error}\n  → {error.way_out}", file=sys.stderr, flush=True)
    print(file=sys.stderr)


@contextmanager
def _interruption() -> Generator[Event]:
    """Yield an event that Ctrl-C sets, so that the work at hand is finished first; a second Ctrl-C ends that, too."""
    interrupted = Event()

    def interrupt(*_: object) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt
        interrupted.set()

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)


def _stamp(folders: Sequence[Folder]) -> dict[tuple[Path, str], tuple[int, int]]:
    """Return the size and the time stamp of every document."""
    return {
        (folder.path, found.path): (found.size, found.mtime_ns)
        for folder in folders
        for found in files.walk(folder.path.expanduser()).found
    }


def _reading(deployed: Deployment, path: Path) -> DialectSettings:
    """Return how the Markdown of a folder is written, as the profile says where it names the folder."""
    if not deployed.profile.knowledge:
        return DialectSettings()
    readings = {folder.path: folder.reading for folder in profile_folders(deployed)}
    return readings.get(path.expanduser().resolve(), DialectSettings())


def index(deployed: Deployment, folders: list[Folder], *, vectors: bool = True) -> str:
    """Index folders with a progress bar, list skipped files, and return a one-line summary.

    Args:
        deployed: The deployment that gets the documents.
        folders: The folders to read.
        vectors: Whether to make missing vectors here; a server makes them while it runs turns
            (`assistant.wiring.background`).
    """
    with _bar("files") as bar:

        def advance(done: int, total: int, path: str) -> None:
            bar.total = total
            bar.set_postfix_str(Path(path).name, refresh=False)
            bar.update(done - bar.n)

        report = index_documents(deployed, folders, advance)
    for note in (*report.skipped, *report.warnings):
        print(f"{note.path}: {note.reason}", file=sys.stderr)
    if report.markup:
        kinds = ", ".join(f"{kind} in {count_noun(count, 'file|files')}" for kind, count in report.markup.items())
        print(
            f"This mark-up is not known and is left out of answers: {kinds}. Where it is MkDocs's, say so with "
            '`dialect = "mkdocs"` under [[knowledge]] in the profile.',
            file=sys.stderr,
        )
    made = _fill(deployed) if vectors else ""
    copies = f" (of these, {report.folded} the same as others)" if report.folded else ""
    parts = f", {report.parts} only parts of other pages" if report.parts else ""
    return (
        f"{report.added} added, {report.changed} changed, {report.removed} removed, {report.unchanged} unchanged"
        f"{copies}, {len(report.skipped)} left out{parts}; "
        f"{count_noun(report.documents, 'document|documents')} ({count_noun(report.policies, 'policy|policies')}) with {count_noun(report.chunks_in_all, 'passage|passages')} in all; "
        f"{report.seconds:.1f} s{made}"
    )


def _bar(unit: str) -> tqdm[NoReturn]:
    """Return a progress bar with numbers and rate; none where standard error is no terminal, such as in a log."""
    from tqdm import tqdm

    return tqdm(unit=f" {unit}", file=sys.stderr, mininterval=0.2, delay=0.3, leave=False, disable=None)


@contextmanager
def show_progress(unit: str) -> Generator[Callable[[int, int], None]]:
    """Yield a function that moves a progress bar, with what is done and how much there is."""
    with _bar(unit) as bar:
        yield _on(bar)


def _on(bar: tqdm[NoReturn]) -> Callable[[int, int], None]:
    """Return what moves a bar."""

    def advance(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)

    return advance


def _fill_engine(deployed: Deployment, engine: IndexEngine) -> str:
    """Bring an index in a server up to date with a progress bar, and return one line about it."""
    from adapters.index.remote.filling import fill

    model = embedder(deployed.settings)
    with _bar("passages counted") as counting, _bar("passages") as writing:
        report = fill(deployed.knowledge_folder, engine, model, on_counted=_on(counting), on_progress=_on(writing))
    return (
        f"{engine.name}: {count_noun(report.written, 'passage|passages')} written, {report.deleted} deleted, "
        f"{report.unchanged} unchanged; {report.seconds:.1f} s"
    )


def _fill(deployed: Deployment) -> str:
    """Ask for missing vectors with a progress bar, where there is a model for them; return a few words about it."""
    with _bar("vectors") as bar:
        filled = fill_vectors(deployed, _on(bar))
    if filled is None:
        return ""
    if filled.fault:
        print(f"vectors: {filled.missing} are missing, and search goes on by words: {filled.fault}", file=sys.stderr)
    return f"; {filled.asked} vectors made, {filled.missing} missing"
