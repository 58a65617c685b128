"""Private files in the data folder: only its owner may read users' words and copies of documents there."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from filelock import FileLock

_OTHERS: Final = 0o077
_CHANGING = threading.Lock()
_masks: list[int] = []
"""One for each block that runs now; the first is the process's own."""


def make_folder(folder: Path) -> None:
    """Make a folder and its missing parents, only for their owner; an existing folder keeps its mode.

    Raises:
        OSError: It cannot be made, or is not a folder.
    """
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except FileNotFoundError:
        make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def can_write(folder: Path) -> bool:
    """Whether files can be created in an existing folder."""
    return os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids)


def hold_lock(path: Path, timeout_s: float) -> FileLock:
    """Take a lock between processes, in a file of its own, and return it held; make the folder if it is missing.

    Raises:
        TimeoutError: Another process has held the lock for that long.
        OSError: Its folder cannot be written to, or the file system does not support locks.
    """
    from filelock import FileLock

    make_folder(path.parent)
    # A file that is there while somebody writes, in the place of a lock, would stay when its writer is killed.
    lock = FileLock(path, timeout=timeout_s, mode=0o600, fallback_to_soft=False)
    try:
        lock.acquire()
    except OSError as error:
        if error.errno == errno.ENOSYS:
            raise OSError(errno.ENOLCK, "its file system knows no locks") from error
        raise
    return lock


@contextmanager
def owner_only() -> Generator[None]:
    """Make every file that is created in the block readable only for its owner, also if a library creates it.

    The mask applies to the whole process: files that other threads create meanwhile are never more open than usual. The
    process gets its own mask back when the last of several such blocks ends.
    """
    with _CHANGING:
        before = os.umask(_OTHERS)
        os.umask(before | _OTHERS)
        _masks.append(before)
    try:
        yield
    finally:
        with _CHANGING:
            own = _masks[0]
            _masks.pop()
            if not _masks:
                os.umask(own)


def replace_file(path: Path, text: str) -> None:
    """Write a file that only its owner may read, whole or not at all; make its folder if it is missing.

    Raises:
        OSError: It cannot be written; an earlier file of that name stays as it was.
    """
    make_folder(path.parent)
    whole = path.with_name(f"{path.name}.new")
    with owner_only():
        whole.write_text(text, "utf-8")
    whole.replace(path)


def read_secret(path: Path, size: int) -> bytes:
    """Return the content of a file of random bytes that only its owner may read; make one of `size` bytes if it is missing.

    Of two processes that make it at once, both read what the first has made.

    Raises:
        OSError: It cannot be read or made.
    """
    import secrets

    try:
        return path.read_bytes()
    except FileNotFoundError:
        return keep_secret(path, secrets.token_bytes(size))


def keep_secret(path: Path, secret: bytes) -> bytes:
    """Write a file that only its owner may read, if there is none, and return what is in it.

    Raises:
        OSError: It cannot be read or made.
    """
    import tempfile

    make_folder(path.parent)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".secret-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secret)
            file.flush()
            os.fsync(file.fileno())
        # Whole or not at all.
        try:
            os.link(name, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)
    return path.read_bytes()
