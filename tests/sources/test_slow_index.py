"""An index in a server that answers nothing: `source_seconds` bounds every wait, and the end of the process."""

from __future__ import annotations

import json
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.cli_helpers import CORPUS, PROFILE, QUESTION, Desk
from tests.support.timed import measure, soonest

SECONDS = 1.0
"""Allowed for a source. An index in a server gives up by itself after 10."""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A desk whose profile allows a source little time."""
    text = PROFILE.read_text("utf-8").replace('"corpus"', json.dumps(str(CORPUS)))
    assert "[behaviour]" not in text
    (tmp_path / "hasty.toml").write_text(f"{text}\n[behaviour]\nsource_seconds = {SECONDS}\n", "utf-8")
    return replace(Desk(tmp_path / "data", tmp_path), profile=tmp_path / "hasty.toml")


def test_a_server_that_hangs_holds_neither_the_plan_nor_the_end_up(desk: Desk) -> None:
    """Neither whether the question is on topic nor what there is on it takes longer than a source may, and then it ends."""
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        hanging_desk = desk.having(GUARDIAN_INDEX_URL=f"qdrant://127.0.0.1:{hanging.getsockname()[1]}")
        said, took = soonest(
            lambda: measure(lambda: hanging_desk.run("ask", QUESTION, "--json", "--quiet")), lambda found: found[1] < 9
        )
    degraded = said.json["diagnostics"]["degraded"]
    assert any(line.startswith("plan: ") and f"timed out after {SECONDS:g} s" in line for line in degraded), degraded
    assert any(line.startswith("doc: ") and f"timed out after {SECONDS:g} s" in line for line in degraded), degraded
    assert took < 9, took
