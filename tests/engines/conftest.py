from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.sources.markdown import ingest
from tests.engines.kinds import Servers
from tests.engines.qdrant_server import serving

HANDBOOK = Path(__file__).resolve().parents[2] / "knowledge"


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Servers]:
    """Both kinds of servers; PostgreSQL is started where it is first asked for."""
    with serving(tmp_path_factory.mktemp("qdrant")) as qdrant:
        yield Servers(qdrant, lambda: request.getfixturevalue("postgres_server"))


@pytest.fixture(scope="session")
def handbook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The handbook, read in."""
    folder = tmp_path_factory.mktemp("handbook")
    ingest(HANDBOOK, directory=folder)
    return folder
