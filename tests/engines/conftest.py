from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.sources.markdown import ingest
from tests.engines.kinds import Servers
from tests.engines.qdrant_server import serving
from tests.ranking.shelves import embedder, filled
from tests.wire.server_process import FakeServer, fake_server

HANDBOOK = Path(__file__).resolve().parents[2] / "knowledge"


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Servers]:
    """Both kinds of servers; PostgreSQL is started where it is first asked for."""
    with serving(tmp_path_factory.mktemp("qdrant")) as qdrant:
        yield Servers(qdrant, lambda: request.getfixturevalue("postgres_server"))


@pytest.fixture(scope="session")
def model_server() -> Iterator[FakeServer]:
    """The scripted server, as an embedding model."""
    with fake_server() as server:
        yield server


@pytest.fixture(scope="session")
def handbook(tmp_path_factory: pytest.TempPathFactory, model_server: FakeServer) -> Path:
    """The handbook, read in, with the vectors of the scripted server for who wants them."""
    folder = tmp_path_factory.mktemp("handbook")
    ingest(HANDBOOK, directory=folder)
    assert filled(folder, embedder(model_server.url)).missing == 0
    return folder
