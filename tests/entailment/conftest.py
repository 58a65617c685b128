"""The scripted server in another process."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.support.wire.server_process import FakeServer, fake_server


@pytest.fixture(scope="session")
def _entailment_server() -> Generator[FakeServer]:
    with fake_server() as server:
        yield server


@pytest.fixture
def server(_entailment_server: FakeServer) -> FakeServer:
    """The scripted server without a script, and nothing asked yet."""
    _entailment_server.reset()
    return _entailment_server
