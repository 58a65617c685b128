"""Loading a model: once in a process, and only where its files are those that are meant."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Once(Generic[_T]):
    """Something that is made by whoever asks first, once for all threads."""

    def __init__(self) -> None:
        self._made: _T | None = None
        self._making = threading.Lock()

    def get(self, make: Callable[[], _T]) -> _T:
        """Return it; where making it fails, the next that asks makes it."""
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
