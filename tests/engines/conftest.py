from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.support.engines.kinds import Servers
from tests.support.memory import memory
from tests.support.shelves import embedder, fill_vectors
from tests.support.wire.server_process import FakeServer, fake_server


@pytest.fixture(scope="session")
def servers(request: pytest.FixtureRequest) -> Iterator[Servers]:
    """Both kinds of servers; PostgreSQL is started where it is first asked for.

    To make a collection takes Qdrant most of a second on a busy disk.
    """
    from tests.support.engines.qdrant_server import serve_qdrant

    with TemporaryDirectory(dir=memory()) as folder, serve_qdrant(Path(folder)) as qdrant:
        yield Servers(qdrant, lambda: request.getfixturevalue("postgres_server"))


@pytest.fixture(scope="session")
def model_server() -> Iterator[FakeServer]:
    """The scripted server, as an embedding model."""
    with fake_server() as server:
        yield server


@pytest.fixture(scope="session")
def handbook(handbook_index: Path, tmp_path_factory: pytest.TempPathFactory, model_server: FakeServer) -> Path:
    """The handbook, read in, with the vectors of the scripted server for who wants them."""
    folder = Path(shutil.copytree(handbook_index, tmp_path_factory.mktemp("handbook") / "kb"))
    assert fill_vectors(folder, embedder(model_server.url)).missing == 0
    return folder
