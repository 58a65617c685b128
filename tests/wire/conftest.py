"""One scripted server for all tests of the wire: each test begins with it as new."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.wire.server_process import FakeServer, fake_server


@pytest.fixture(scope="session")
def _shared_server() -> Generator[FakeServer]:
    with fake_server() as server:
        yield server


@pytest.fixture
def server(_shared_server: FakeServer) -> FakeServer:
    """The scripted server without a script, and nothing asked yet."""
    _shared_server.reset()
    return _shared_server
