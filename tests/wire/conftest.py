"""One scripted server for all tests of the wire: each test begins with it as new."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.support.cli_helpers import Desk
from tests.support.wire.server_process import FakeServer, fake_server


@pytest.fixture(scope="session")
def _shared_server() -> Generator[FakeServer]:
    with fake_server() as server:
        yield server


@pytest.fixture
def server(_shared_server: FakeServer) -> FakeServer:
    """The scripted server without a script, and nothing asked yet."""
    _shared_server.reset()
    return _shared_server


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk whose documents are indexed, for copying only."""
    place = tmp_path_factory.mktemp("shelf")
    desk = Desk(place / "data", place)
    desk.index()
    return desk


@pytest.fixture
def desk(shelf: Desk, tmp_path: Path) -> Desk:
    """A desk of the test's own, with the library's documents indexed."""
    return shelf.copied(tmp_path / "data")
