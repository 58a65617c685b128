"""A lock between processes that the kernel frees when its holder ends, however it ends.

It has these advantages over a lease with a heartbeat. Nothing has to be refreshed while a model is thinking. A process
that was only suspended (a debugger, a laptop's lid) cannot lose the lock to another and then write as if it still had
it. After a kill -9 nobody has to wait for a lease to expire. It needs POSIX and a file system that supports `flock`.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from adapters.data_folder import make_folder
from contracts.errors import ThreadError


class ProcessLock:
    """An exclusive lock, held by one open file, against other processes and other holders in this one.

    A subprocess does not inherit it; a bare `os.fork` would.

    Args:
        path: The lock's file. It exists while the lock is held, and after a kill; a file left behind does no harm.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None

    def try_acquire(self) -> bool:
        """Take the lock if it is free, without waiting; return whether it was.

        Raises:
            ThreadError: The file cannot be made, or the file system does not support locks.
        """
        try:
            make_folder(self.path.parent)
            while True:
                file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if self._is_still(file):
                        self._file = file
                        return True
                except BlockingIOError:
                    return False
                finally:
                    if self._file != file:
                        os.close(file)
        except OSError as error:
            raise ThreadError(
                f"The lock {self.path} cannot be taken: {error.strerror}.",
                "Keep GUARDIAN_DATA_DIR on a local disk that this user may write.",
            ) from error

    def release(self) -> None:
        """Free the lock and remove its file; do nothing if it is not held."""
        if self._file is None:
            return
        file, self._file = self._file, None
        try:
            # While the lock is held, so that only its holder ever removes the file.
            self.path.unlink(missing_ok=True)
        finally:
            os.close(file)

    def _is_still(self, file: int) -> bool:
        """Return whether the path still leads to the locked file: its last holder may just have removed it."""
        try:
            there = self.path.stat()
        except FileNotFoundError:
            return False
        mine = os.fstat(file)
        return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)
