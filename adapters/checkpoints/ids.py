"""Checkpoint ids that rise, whatever the wall clock says.

LangGraph makes an id from the time (a UUID of version 6) and treats a thread's highest id as its newest step. Within
one process the ids rise, because LangGraph remembers the time of the last one. A process that starts after the clock
was set back remembers none, and would put new steps below old ones. So the saver passes a thread's highest id to
LangGraph before a run of that thread makes an id.

If a clock was ahead, all ids that such a process writes from then on are ahead, too. That does no harm: nobody reads
the time from them, and they only order the steps of a thread.
"""

from __future__ import annotations

import uuid
from typing import Final

from langgraph.checkpoint.base import id as maker

from contracts.errors import ConfigError

PATTERN: Final = "-".join(
    (8 * "[0-9a-f]", 4 * "[0-9a-f]", f"6{3 * '[0-9a-f]'}", f"[89ab]{3 * '[0-9a-f]'}", 12 * "[0-9a-f]")
)
"""What ids of LangGraph's look like, as a pattern of SQLite's GLOB."""

_FLOOR: Final = "_last_v6_timestamp"
"""LangGraph's name for the time of the last id made in this process, in units of 100 ns."""

_HIGHEST: Final = (1 << 60) - (1 << 40)
"""An id has 60 bits of time. One that leaves no room above (the year 5236) is no clock's, and must not spoil those of
all other threads."""


def time_of(checkpoint_id: str) -> int | None:
    """Return the time in an id, in units of 100 ns since 1582; `None` if it is not a UUID of version 6."""
    try:
        value = uuid.UUID(checkpoint_id)
    except ValueError:
        return None
    return (value.int >> 80) << 12 | (value.int >> 64) & 0xFFF if value.version == 6 else None


def raise_floor(checkpoint_id: str | None) -> None:
    """Make every later id of this process higher than the given one; `None` changes nothing.

    Raises:
        ConfigError: The installed LangGraph makes its ids in an unknown way.
    """
    known = vars(maker)
    if _FLOOR not in known:
        raise ConfigError(
            "The installed version of LangGraph makes the ids of checkpoints in a way that is not known here, so that "
            "after a change of the clock a turn could get another one's answer.",
            "Install the versions that requirements.lock names (langgraph-checkpoint among them).",
        )
    time = time_of(checkpoint_id) if checkpoint_id else None
    if time is not None and time < _HIGHEST and (known[_FLOOR] is None or known[_FLOOR] < time):
        setattr(maker, _FLOOR, time)
