"""Real databases: a file of SQLite's for each test, one server of PostgreSQL for all."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import psycopg
import pytest

from tests.support.database.tables import ROWS, SCHEMA, sqlite_file
from tests.support.wire.server_process import FakeServer, fake_server


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A file of SQLite's with four loans."""
    return sqlite_file(tmp_path / "library.db")


@pytest.fixture(scope="session")
def postgres(postgres_server: str) -> str:
    """The address of a database of PostgreSQL's with the same four loans; its user may do anything."""
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE library")
        connection.execute("CREATE ROLE reader LOGIN PASSWORD 'not-to-be-shown'")
    address = postgres_server.replace("@/postgres", "@/library")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(SCHEMA)
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO loans VALUES (%s, %s, %s)", ROWS)
    return address


@pytest.fixture(scope="session")
def _database_server() -> Generator[FakeServer]:
    with fake_server() as server:
        yield server


@pytest.fixture
def server(_database_server: FakeServer) -> FakeServer:
    """The scripted server without a script, and nothing asked yet."""
    _database_server.reset()
    return _database_server
