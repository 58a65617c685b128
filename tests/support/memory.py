"""A folder in memory: to make and remove a folder takes next to nothing there, and milliseconds on a busy disk."""

from __future__ import annotations

import shutil
from pathlib import Path

ENOUGH = 2_000_000_000
"""Bytes; a collection of Qdrant takes some 10 million."""


def memory() -> str | None:
    """Return the machine's folder in memory; `None`, which is that of temporary files, where there is none with room."""
    shared = Path("/dev/shm")  # noqa: S108  # who asks makes a folder there that is of this process alone
    return str(shared) if shared.is_dir() and shutil.disk_usage(shared).free > ENOUGH else None
