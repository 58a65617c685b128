"""Loading a model: once in a process, and only if its files have the expected digests."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Once(Generic[_T]):
    """A value that the first call makes, once for all threads."""

    def __init__(self) -> None:
        self._made: _T | None = None
        self._making = threading.Lock()

    def get(self, make: Callable[[], _T]) -> _T:
        """Return the value; if making it fails, the next call tries again."""
        if self._made is None:
            with self._making:
                if self._made is None:
                    self._made = make()
        return self._made


def sha256_of(path: Path) -> str:
    """Return the digest of a file, in hexadecimal.

    Raises:
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
