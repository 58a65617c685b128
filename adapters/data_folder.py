"""What is made in the data folder is its owner's alone: people's words and copies of documents stand there."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_OTHERS: Final = 0o077
_CHANGING = threading.Lock()
_masks: list[int] = []
"""One for each block that runs now; the first is the process's own."""


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for their owner; one that is there keeps the mode it has.

    Raises:
        OSError: It cannot be made, or is no folder.
    """
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except FileNotFoundError:
        make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


@contextmanager
def owner_only() -> Generator[None]:
    """Have every file that is made meanwhile readable for its owner alone, also where a library makes it.

    The mask is the whole process's: what other threads make meanwhile is no more open than it would be. The process has
    its own back when the last of several such blocks is over.
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
