from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.storage import Storage, open_storage

ENGINES = ("sqlite", "postgres")


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """Return the address of a server, or nothing for a file."""
    return request.getfixturevalue("postgres_server") if request.param == "postgres" else ""


@pytest.fixture
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of the test's own, whose name no other test of this session has."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture
async def storage(data: Path, engine: str) -> AsyncIterator[Storage]:
    """Open a storage of one of the engines, which is empty."""
    async with open_storage(data, engine) as opened:
        yield opened


@pytest.fixture
async def on_server(data: Path, postgres_server: str) -> AsyncIterator[Storage]:
    """Open a storage on a server, which is empty."""
    async with open_storage(data, postgres_server) as opened:
        yield opened
