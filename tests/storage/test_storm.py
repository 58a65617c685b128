from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.storm import Storm, rage


@pytest.mark.slow
def test_no_message_is_lost_doubled_or_mixed_in_a_storm(data: Path, engine: str) -> None:
    """Processes are killed and stopped at random, and some messages sent twice: each is answered once, in its place."""
    told = rage(Storm(processes=4, conversations=10, messages=120, url=engine), data)
    assert told.well, told
    assert told.kills + told.stops > 0
