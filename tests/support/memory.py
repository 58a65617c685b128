"""A folder in memory: to make and remove a folder takes next to nothing there, and milliseconds on a busy disk."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

ENOUGH = 4_000_000_000
"""Bytes; a run writes half of that, some of which stays to its end."""


def memory() -> str | None:
    """Return the machine's folder in memory; `None`, which is that of temporary files, where there is none with room.

    Nor may there be one whose programs the system does not start, as in most containers: tests write programs.
    """
    shared = Path("/dev/shm")  # noqa: S108  # who asks makes a folder there that is of this process alone
    if not shared.is_dir() or shutil.disk_usage(shared).free < ENOUGH:
        return None
    return None if os.statvfs(shared).f_flag & os.ST_NOEXEC else str(shared)
