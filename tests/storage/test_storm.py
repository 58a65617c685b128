from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.storm import Storm, rage


@pytest.mark.slow
def test_no_message_is_lost_doubled_or_mixed_in_a_storm(data: Path, engine: str) -> None:
    """Processes are killed and stopped at random, and some messages sent twice: each is answered once, in its place.

    Nobody is taken over here, which on a busy machine would never end; `make storm` does it.
    """
    told = rage(Storm(processes=3, conversations=8, messages=60, url=engine, silent_s=60.0, stop_s=0.3), data)
    assert told.well, told
    assert told.kills + told.stops > 0
