"""Timing ways to do the same in turns, so that all of them meet the same moods of the machine."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

WARM_UP = 20


def interleaved(ways: Mapping[str, Callable[[str], object]], texts: Sequence[str]) -> dict[str, list[float]]:
    """Return how long each way took for each text, in milliseconds; a first part of the texts is a warm-up before."""
    for text in texts[:WARM_UP]:
        for run in ways.values():
            run(text)
    times: dict[str, list[float]] = {name: [] for name in ways}
    for text in random.Random(1).sample(texts, len(texts)):
        for name, run in ways.items():
            began = time.perf_counter()
            run(text)
            times[name].append((time.perf_counter() - began) * 1000)
    return times


def bytes_in(folder: Path) -> int:
    """Return what all files below a folder take on the disk: files may have holes."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())
