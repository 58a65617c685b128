"""The scripted server in another process, and small knowledge bases whose passages have its vectors."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.support.wire.server_process import FakeServer, fake_server


@pytest.fixture(scope="session")
def _ranking_server() -> Generator[FakeServer]:
    with fake_server() as server:
        yield server


@pytest.fixture
def server(_ranking_server: FakeServer) -> FakeServer:
    """The scripted server without a script, and nothing asked yet."""
    _ranking_server.reset()
    return _ranking_server
