"""How long something takes where other programs want the processor, too."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# The seconds within which a busy machine does what needs next to none. What hangs in a test hangs for longer.
LOADED = 20.0


def measure(run: Callable[[], T]) -> tuple[T, float]:
    """Return what something gives, and the seconds that it takes."""
    began = time.monotonic()
    return run(), time.monotonic() - began


def soonest(run: Callable[[], T], holds: Callable[[T], bool], tries: int = 3) -> T:
    """Run something until a bound on its time holds, up to so often, and return what it gave the last time.

    What hangs by itself does so each time, and a machine that is busy for a moment only then.
    """
    for _ in range(tries - 1):
        found = run()
        if holds(found):
            return found
    return run()
