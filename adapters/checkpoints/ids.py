"""Ids of checkpoints that rise, whatever the wall clock says.

LangGraph makes an id of the time (a UUID of version 6) and takes a thread's highest id for its newest step. Within one
process it keeps its ids rising by the time of the last one made there; a process that starts after the clock was set
back knows none, and would put new steps below the old. So the saver tells it the highest id of a thread before a run of
that thread makes one.

Where a clock was ahead, the ids of all that such a process writes from then on are ahead, too. Nobody reads a time out of
them, and a thread's own order is all that they are for.
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
    """Return the time that an id was made of, in units of 100 ns since 1582; `None` where it is no UUID of version 6."""
    try:
        value = uuid.UUID(checkpoint_id)
    except ValueError:
        return None
    return (value.int >> 80) << 12 | (value.int >> 64) & 0xFFF if value.version == 6 else None


def raise_floor(checkpoint_id: str | None) -> None:
    """Have every id that this process makes from now on be above another; nothing to be above: `None`.

    Raises:
        ConfigError: The installed LangGraph makes its ids in another way than this knows.
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
