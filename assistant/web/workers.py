"""Worker processes that answer at one port, and their parent, which keeps their number.

The parent opens the port, forks the workers, and does nothing else: it reads no profile and imports no server, so what is
forked is small and has one thread. A worker that ends by itself is replaced. All workers hold the reading end of a pipe. When
it ends, because the parent has closed it after a SIGTERM or Ctrl-C, or because the parent was killed, they drain and end. So it
does no harm if a worker gets the SIGTERM, too, as from systemd.
"""

from __future__ import annotations

import mmap
import os
import secrets
import select
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Final

from contracts.errors import ConfigError

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)
_SHORT_LIFE_S: Final = 10.0
_LONGEST_PAUSE_S: Final = 30.0
_INTERRUPTED: Final = 130
_NOBODY: Final = 2**32 - 1
"""The connections of a worker that is not there: more than any other has."""
_LONGEST_PATH: Final = 103
"""Bytes of a socket's path, on macOS; Linux allows four more."""


@dataclass(frozen=True, slots=True)
class Worker:
    """What a worker knows of itself and of the others.

    Attributes:
        index: Its number, from 0.
        count: How many workers there are, from 2.
        folder: A folder of theirs, which no other user may read: their sockets, and counts of requests.
        token: Known to the workers alone.
        connections: How many connections each worker has open, in memory that all share.
        parent: The reading end of a pipe that ends when the workers are to end.
        parent_pid: The parent.
        ready: The writing end of a pipe, for one byte when the worker answers.
        first: Whether it says where the server listens, once all answer.
    """

    index: int
    count: int
    folder: Path
    token: str = field(repr=False)
    connections: memoryview = field(repr=False)
    parent: int
    parent_pid: int
    ready: int
    first: bool

    def socket_path(self, index: int) -> Path:
        """Return the path of a worker's own socket, for requests that others pass on."""
        return self.folder / f"{index}.sock"

    def tell_connections(self, count: int) -> None:
        """Tell the others how many connections this worker has open."""
        self.connections[self.index] = count

    def has_more_than_others(self) -> bool:
        """Whether another worker has clearly fewer connections open, and should take the next one."""
        return self.connections[self.index] > min(self.connections) + 1

    def remove_folder(self) -> None:
        """Remove the folder if there is no parent any more, whose work that is; whoever is second finds nothing."""
        if os.getppid() != self.parent_pid:
            shutil.rmtree(self.folder, ignore_errors=True)

    def tell_ready(self) -> None:
        """Tell the parent and the other workers that this one answers."""
        self.connections[self.index] = 0
        with suppress(BrokenPipeError):  # there is no parent: its pipe says so, too
            os.write(self.ready, b"1")
        os.close(self.ready)

    def all_answer(self) -> bool:
        """Whether all workers answer."""
        return max(self.connections) < _NOBODY


@dataclass(slots=True)
class _Child:
    """A running worker, as its parent sees it.

    Attributes:
        ready: The reading end of its pipe; -1 once that has ended.
        answers_since: When it told that it answers, in monotonic seconds; `None` if it has not.
    """

    index: int
    ready: int
    answers_since: float | None = None


def fork_workers(count: int) -> Worker | int:
    """Fork workers, and stay in the parent until all have ended.

    Returns:
        In a worker, what it knows of itself; in the parent, at the end, the exit code.

    Raises:
        ConfigError: No folder for the workers' sockets can be made, or its name is too long for them.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix="guardian-"))
    except OSError as error:
        raise ConfigError(
            f"No folder for temporary files can be made: {error.strerror}.", "Name one that can be written in TMPDIR."
        ) from error
    parent = _Parent(count, folder)
    worker = None
    try:
        if len(os.fsencode(folder / f"{count}.sock")) > _LONGEST_PATH:
            raise ConfigError(
                f"The folder for temporary files, {folder.parent}, has too long a name for sockets in it.",
                "Name a shorter one in TMPDIR, such as /tmp.",
            )
        worker = parent.run()
    finally:
        if worker is None:
            shutil.rmtree(folder, ignore_errors=True)
    return parent.code if worker is None else worker


class _Parent:
    """The parent of the workers.

    Args:
        count: The number of workers to keep.
        folder: The workers' folder.
    """

    def __init__(self, count: int, folder: Path) -> None:
        self.code = 0
        self._count = count
        self._folder = folder
        self._token = secrets.token_hex(16)
        self._pipe = os.pipe()
        self._connections = memoryview(mmap.mmap(-1, 4 * count)).cast("I")
        for index in range(count):
            self._connections[index] = _NOBODY
        self._children: dict[int, _Child] = {}
        self._due: dict[int, float] = {}
        """When to start a worker, by its number."""
        self._pauses = dict.fromkeys(range(count), 0.0)
        self._signals = 0
        """SIGTERM and Ctrl-C that have come. Only counted when they come: the loop acts on them."""
        self._ending = False
        self._answers = False
        self._all_answered = False

    def run(self) -> Worker | None:
        """Keep the workers running; return in each worker what it knows, and `None` in the parent when all have ended."""
        waking, woken = os.pipe()
        for end in (waking, woken):
            os.set_blocking(end, False)
        before = {number: signal.signal(number, self._count_signal) for number in _SIGNALS}
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        try:
            # One alone at first: what is missing is then said once.
            self._due[0] = time.monotonic()
            while self._due or self._children:
                if worker := self._start_due():
                    os.close(waking)
                    return worker
                self._wait(waking)
                self._reap()
                self._end_if_told()
            return None
        finally:
            signal.set_wakeup_fd(-1)
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(woken)

    def _count_signal(self, number: int, _: FrameType | None) -> None:
        if number != signal.SIGCHLD:
            self._signals += 1

    def _end_if_told(self) -> None:
        if self._signals and not self._ending:
            self._ending = True
            self._due.clear()
            os.close(self._pipe[1])
            for process, child in self._children.items():
                if child.answers_since is None:
                    os.kill(process, signal.SIGTERM)  # it is still starting, and does not look at the pipe
        if self._signals > 1:
            self.code = _INTERRUPTED
            for process in self._children:
                os.kill(process, signal.SIGKILL)

    def _start_due(self) -> Worker | None:
        now = time.monotonic()
        for index in [index for index, due in self._due.items() if due <= now]:
            del self._due[index]
            if worker := self._fork(index):
                return worker
        return None

    def _fork(self, index: int) -> Worker | None:
        # What comes between the look at the signals and the table of children would not reach the child.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        if self._signals:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            return None
        first = index == 0 and not self._all_answered
        parent = os.getpid()
        try:
            ready, telling = os.pipe()
            child = os.fork()
        except OSError as error:
            # The others go on, and this one is tried again.
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            self._due[index] = time.monotonic() + _LONGEST_PAUSE_S / 6
            _tell(f"guardian: no worker can be started: {error.strerror}; it is tried again.")
            return None
        if child:
            self._children[child] = _Child(index, ready)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            os.close(telling)
            return None
        # Ctrl-C on a terminal reaches the parent alone.
        os.setpgid(0, 0)
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        for descriptor in (ready, self._pipe[1], *(one.ready for one in self._children.values() if one.ready >= 0)):
            os.close(descriptor)
        return Worker(
            index, self._count, self._folder, self._token, self._connections, self._pipe[0], parent, telling, first
        )

    def _wait(self, waking: int) -> None:
        """Wait until a signal comes, a worker says something, or one has to be started."""
        told = {child.ready: child for child in self._children.values() if child.ready >= 0}
        pause = max(0.0, min(self._due.values()) - time.monotonic()) if self._due else None
        readable, _, _ = select.select([waking, *told], [], [], pause)
        if waking in readable:
            os.read(waking, 4096)
        for descriptor in set(readable) & told.keys():
            child = told[descriptor]
            answers = os.read(descriptor, 1) == b"1"
            os.close(descriptor)
            child.ready = -1
            if answers:
                child.answers_since = time.monotonic()
            self._all_answered |= len([one for one in self._children.values() if one.answers_since]) == self._count
            if answers and not self._answers and not self._ending:
                self._answers = True
                self._due.update(dict.fromkeys(set(range(self._count)) - {child.index}, 0.0))

    def _reap(self) -> None:
        while self._children:
            ended, status = os.waitpid(-1, os.WNOHANG)
            if not ended:
                return
            child = self._children.pop(ended, None)
            if child is None:
                continue
            if child.ready >= 0:
                os.close(child.ready)
            self._connections[child.index] = _NOBODY
            code = os.waitstatus_to_exitcode(status)
            if self._ending and code == -signal.SIGTERM:
                continue  # it was still starting
            if self._ending or not self._answers:
                self.code = max(self.code, code if code >= 0 else 128 - code)
                continue
            self._replace(child, code)

    def _replace(self, child: _Child, code: int) -> None:
        now = time.monotonic()
        lived = 0.0 if child.answers_since is None else now - child.answers_since
        pause = 0.0 if lived >= _SHORT_LIFE_S else min(_LONGEST_PAUSE_S, max(1.0, 2 * self._pauses[child.index]))
        self._pauses[child.index] = pause
        self._due[child.index] = now + pause
        how = f"with code {code}" if code >= 0 else f"by signal {-code}"
        _tell(f"guardian: worker {child.index + 1} of {self._count} ended {how}; it is replaced.")


def _tell(line: str) -> None:
    with suppress(OSError):  # nobody may read it any more
        print(line, file=sys.stderr, flush=True)
