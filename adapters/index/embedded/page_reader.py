"""Pages read from files and cut into chunks: in this process, or in several if there is much to read.

Reading a page takes most of the processor time of a run, and no page needs another one.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import zlib
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, Self

from adapters.index.records import Header
from adapters.reading import chunks, files, front_matter
from adapters.reading.dialects import DialectSettings
from adapters.reading.document import Unfit
from adapters.reading.pdf import PAGE_HEADING
from adapters.reading.stop_switch import StopSwitch, start_module
from adapters.reading.texts import Text, TextReader
from contracts.errors import KnowledgeError
from language.attacks.orders import orders_in
from language.markup import find_unknown_markup
from language.words import detect

LEAST_BYTES: Final = 2_000_000
"""Bytes for each process, at least: it takes a second to start, and reads some 300 KB in it."""
MOST_PROCESSES: Final = 8
BEGINS: Final = b"pages follow\n"
"""What a process writes as soon as it can read; one that ends before that costs nothing but time."""
_AHEAD: Final = 3
"""Tasks that a process has."""
_PATIENCE_S: Final = 2.0
"""A process that is at work takes moments to end, unless it is stopped or has no processor."""
_QUOTA: Final = Path("/sys/fs/cgroup/cpu.max")
"""Microseconds of processor time in a period, and the period (Linux, cgroup v2)."""
_MEMORY: Final = Path("/sys/fs/cgroup/memory.max")
"""Bytes that the container may use."""
_MEMORY_OF_A_RUN: Final = 400 * 2**20
_MEMORY_OF_A_READER: Final = 100 * 2**20
_PROSE: Final = 20_000
"""Characters that are enough to tell a page's language."""
_MOST_NAMED: Final = 5
"""Lines of a file that a warning names."""


@dataclass(frozen=True, slots=True)
class PageTask:
    """A file to read.

    Attributes:
        root: The folder that is indexed; `path` is the file's path in it.
        size: Bytes, as far as they are known.
        max_bytes: The limit for Markdown.
        known: The digest of its content when it was read before; if it is the same, it need not be read again.
    """

    root: Path
    path: str
    size: int
    reading: DialectSettings
    max_bytes: int
    known: str | None = None


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page as the record and the index take it.

    Attributes:
        digest: The hash of everything that went into it.
        alone: Whether that is only the file.
        markup: Kinds of mark-up that no Markdown knows.
        cut: Its header and its chunks, packed: they wait on the disk until they are written (`unpack`).
    """

    digest: str
    alone: bool
    kb_id: int | None
    source: str | None
    version: str | None
    warning: str
    markup: tuple[str, ...]
    cut: bytes


@dataclass(frozen=True, slots=True)
class UnreadPage:
    """Why a page was not read: it is unfit, or it cannot be read now; neither if it is known as it is."""

    unfit: str = ""
    fault: str = ""


Page = ReadPage | UnreadPage


def unpack(cut: bytes) -> tuple[Header, tuple[chunks.Chunk, ...]]:
    """Return the header and the chunks of a page."""
    return pickle.loads(zlib.decompress(cut))  # noqa: S301 - of this run's own making


def read_page(task: PageTask, texts: TextReader) -> Page:
    """Read one file.

    Raises:
        ReadingStopped: Somebody ended reading.
    """
    try:
        content = files.read(task.root / task.path, task.max_bytes)
        if task.known is not None and texts.known_as(task.path, content, task.reading) == task.known:
            return UnreadPage()
        return _cut(texts.read(task.root, task.path, content, task.reading), task.path)
    except Unfit as error:
        return UnreadPage(unfit=str(error))
    except OSError as error:
        return UnreadPage(fault=files.why(error))


def _cut(text: Text, path: str) -> ReadPage:
    matter = front_matter.read(text.text)
    if not "".join(text.text.split("\n")[matter.lines :]).strip():
        raise Unfit("has no text: write some, or remove it")
    page = chunks.read(text.text, title=matter.title, skip=matter.lines)
    # The heading of a PDF's page names no document.
    heading = "" if PAGE_HEADING.fullmatch(page.heading) and not text.has_lines else page.heading
    title = matter.title or heading or PurePosixPath(path).stem
    header = Header(title, matter.kb_id, matter.url, matter.updated, detect(f"{title} {page.prose[:_PROSE]}"))
    return ReadPage(
        digest=text.digest,
        alone=text.alone,
        kb_id=matter.kb_id,
        source=str(matter.source) if matter.source else None,
        version=matter.version,
        warning="; ".join(filter(None, (matter.problem, text.problem, _warn_of_orders(text)))),
        markup=tuple(find_unknown_markup(text.text)),
        cut=zlib.compress(pickle.dumps((header, tuple(map(text.placed, page.chunks)))), 1),
    )


def _warn_of_orders(text: Text) -> str:
    """Return in which lines a text gives orders to its reader; nothing if it gives none."""
    lines = [text.text.count("\n", 0, start) for _, start, _ in orders_in(text.text)[:_MOST_NAMED]]
    if not lines:
        return ""
    places = [text.lines[line] if text.lines else line + 1 for line in lines] if text.has_lines else []
    where = f"line {', '.join(map(str, places))} " if places else ""
    return f"{where}gives orders to whoever reads it, and is not quoted: take it out, or put it in quotation marks"


# ---------------------------------------------------------------------------------------------- several processes


def read_pages(tasks: Sequence[PageTask], stop: StopSwitch | None = None) -> Generator[Page]:
    """Yield the page of each file, in the order of the tasks; closed, it ends its processes.

    Raises:
        ReadingStopped: Somebody ended reading.
        KnowledgeError: A process that reads was ended from outside.
    """
    stop = stop or StopSwitch()
    # What is too large is refused by its size, and is no work.
    share = sum(task.size for task in tasks if task.size <= files.limit(task.path, task.max_bytes)) // LEAST_BYTES
    with ExitStack() as opened:
        texts = opened.enter_context(TextReader(stop))
        processes = opened.enter_context(_start(min(_count_processors(), MOST_PROCESSES, len(tasks), share), stop))
        waiting: deque[tuple[PageTask, ReaderProcess | None]] = deque()

        def receive() -> Page:
            task, process = waiting.popleft()
            return (process and process.receive(task)) or read_page(task, texts)

        for number, task in enumerate(tasks):
            process = processes[number % len(processes)] if processes else None
            if process:
                process.send(task)
            waiting.append((task, process))
            if len(waiting) > len(processes) * _AHEAD:
                yield receive()
        while waiting:
            yield receive()


@contextmanager
def _start(number: int, stop: StopSwitch) -> Generator[list[ReaderProcess]]:
    """Start processes for a block; none if one is enough, or if they cannot be started: this one reads then."""
    with ExitStack() as opened:
        begun: list[ReaderProcess] = []
        if number > 1 and sys.executable:
            try:
                begun = [opened.enter_context(ReaderProcess(stop)) for _ in range(number)]
            except OSError:
                opened.close()
        yield begun


def _count_processors() -> int:
    """Return how many processors this process may use, of a container with limits at most those that it has memory for.

    A container's part of a processor counts as one.
    """
    # macOS and Windows have no such call.
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):
        quota, period = _QUOTA.read_text("ascii").split()  # "max" where there is no limit
        own = min(own, -(-int(quota) // int(period)))
    with suppress(OSError, ValueError):
        memory = int(_MEMORY.read_text("ascii"))  # "max" here, too
        own = min(own, max(1, (memory - _MEMORY_OF_A_RUN) // _MEMORY_OF_A_READER))
    return own


class ReaderProcess:
    """A process that reads pages, one after the other (`adapters.index.embedded.page_worker`)."""

    def __init__(self, stop: StopSwitch) -> None:
        self._stop = stop
        self._process = start_module("adapters.index.embedded.page_worker", stop=stop)
        self._begun = False

    def send(self, task: PageTask) -> None:
        """Hand over a task; the process takes it at once, whatever it is doing."""
        assert self._process.stdin is not None  # noqa: S101 - a pipe
        # If the process has ended, `receive` says so.
        with suppress(OSError):
            pickle.dump(task, self._process.stdin)
            self._process.stdin.flush()

    def receive(self, task: PageTask) -> Page | None:
        """Return the page of the task that was handed over first; nothing if the process ended before it could read any.

        Raises:
            ReadingStopped: Somebody ended reading.
            KnowledgeError: The process has ended.
        """
        assert self._process.stdout is not None  # noqa: S101 - a pipe
        try:
            while not self._begun:
                # What a start of the interpreter prints is no page.
                if not (line := self._process.stdout.readline()):
                    self._stop.check()
                    return None
                self._begun = line.endswith(BEGINS)
            page = pickle.load(self._process.stdout)  # noqa: S301 - what our own process wrote
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            self._stop.check()
            raise KnowledgeError(
                f"A process that reads documents ended while it read {task.path}.",
                "Index again. If it ends again, look whether the machine has enough memory, or take that file out of the folder.",
            ) from error
        if isinstance(page, str):
            raise RuntimeError(f"{task.path} could not be read by another process:\n{page}")
        return page

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.remove(self._process)
        with self._process as process:
            assert process.stdin is not None  # noqa: S101 - a pipe
            with suppress(OSError):
                process.stdin.close()
            # It ends its converter and then itself. If it were killed, the converter would be left to the first process of
            # the machine or the container, which may be this one, and waits for none that it has not started.
            with suppress(subprocess.TimeoutExpired):
                process.wait(_PATIENCE_S)
            process.kill()
