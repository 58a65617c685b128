"""Timing ways to do the same in turns, so that all of them meet the same moods of the machine."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

WARM_UP = 20
TIMES = 3


def time_interleaved(
    ways: Mapping[str, Callable[[str], object]], texts: Sequence[str], times: int = TIMES
) -> dict[str, list[float]]:
    """Return how long each way takes for each text, in milliseconds.

    Args:
        ways: What is compared. A first part of the texts is a warm-up for each of them.
        texts: What they are called with.
        times: How often, one round after the other; the fastest counts, for what else a machine does only adds time.
    """
    for text in texts[:WARM_UP]:
        for run in ways.values():
            run(text)
    best = {name: dict.fromkeys(texts, float("inf")) for name in ways}
    order = random.Random(1)
    for _ in range(times):
        for text in order.sample(texts, len(texts)):
            for name, run in ways.items():
                began = time.perf_counter()
                run(text)
                best[name][text] = min(best[name][text], (time.perf_counter() - began) * 1000)
    return {name: list(found.values()) for name, found in best.items()}


def bytes_in(folder: Path) -> int:
    """Return what all files below a folder take on the disk: files may have holes."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())
