"""The scripted server as a process of its own, and what a test says to it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class FakeServer:
    """A server that runs.

    Attributes:
        root: Its address without a path.
        pid: Of its process.
    """

    root: str
    pid: int

    @property
    def url(self) -> str:
        """The base URL for a client of OpenAI."""
        return f"{self.root}/v1"

    @property
    def port(self) -> int:
        return int(self.root.rpartition(":")[2])

    def script(self, steps: Sequence[Mapping[str, Any]]) -> None:
        """Begin a new script, from its first step.

        Raises:
            AssertionError: The script is wrong.
        """
        self._ask("PUT", "/__script", list(steps))

    def options(self, **changes: Any) -> None:
        """Change `strict`, `delay_ms`, `window` or `api_key`.

        Raises:
            AssertionError: A name or a value is wrong.
        """
        self._ask("PUT", "/__options", changes)

    def requests(self) -> list[dict[str, Any]]:
        """Return what was asked since the last `clear`, in order."""
        return json.loads(self._ask("GET", "/__requests"))

    @contextmanager
    def held(self) -> Generator[None]:
        """Keep every reply back while the block runs: nothing that asks this server goes on, however long it takes."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def clear(self) -> None:
        """Forget what was asked; the script and the options stay."""
        self._ask("DELETE", "/__requests")

    def reset(self) -> None:
        """Be as new: no script, no options, nothing asked."""
        options = {"strict": False, "delay_ms": 0, "window": None, "api_key": None}
        with closing(self._connected()) as line:
            _ask(line, "PUT", "/__script", [])
            _ask(line, "PUT", "/__options", options)
            _ask(line, "DELETE", "/__requests")

    def _ask(self, method: str, path: str, body: object = None) -> str:
        with closing(self._connected()) as line:
            return _ask(line, method, path, body)

    def _connected(self) -> HTTPConnection:
        return HTTPConnection("127.0.0.1", self.port, timeout=10)


def _ask(line: HTTPConnection, method: str, path: str, body: object = None) -> str:
    line.request(method, path, None if body is None else json.dumps(body).encode())
    reply = line.getresponse()
    said = reply.read().decode()
    if reply.status >= HTTPStatus.BAD_REQUEST:
        raise AssertionError(said)
    return said


@contextmanager
def fake_server(*arguments: str) -> Generator[FakeServer]:
    """Start the server as another process; it is gone, and its pipe closed, when the block ends.

    Raises:
        AssertionError: It did not start, or something went wrong in it that it wrote to standard error.
    """
    command = [sys.executable, "-W", "error", "-m", "adapters.fakes.server", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with (
        TemporaryFile("w+", encoding="utf-8") as complaints,
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=complaints, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            word, _, url = process.stdout.readline().strip().partition(" ")
            if word == "LISTENING":
                yield FakeServer(url.removesuffix("/v1"), process.pid)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        complaints.seek(0)
        said = complaints.read()
        assert (word, said) == ("LISTENING", ""), said
