"""A real MOSEC server as a process of its own, whose worker judges by the words of a message.

As a program, `python -m tests.support.wire.mosec_worker` with MOSEC's own options, it serves until SIGTERM.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosec import Server, ValidationError, Worker

from tests.support.sockets import free_port

ROOT = Path(__file__).resolve().parents[3]
REQUEST_MS = 700
"""How long the server lets a worker work on a request."""
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Judge(Worker):
    """Says of a message what its words ask for."""

    def forward(self, data: Any) -> Any:
        if data.get("moderation_type") != "prompt":
            raise ValidationError("moderation_type must be 'prompt'")
        text = data["content"]
        if "bad" in text:
            raise ValidationError("this text cannot be judged")
        if "boom" in text:
            raise RuntimeError("the worker has an error")
        if "sleep" in text:
            time.sleep(60)
        if "die" in text:
            os._exit(1)
        if "attack" in text:
            return _verdict("Unsafe", "Jailbreak", refusal="No")
        if "maybe" in text:
            return _verdict("Controversial", "Politically Sensitive Topics")
        if "lines" in text:
            return "Safety: Unsafe\nCategories: PII\nRefusal: Yes"
        if "unsure" in text:
            return _verdict("Unsure")
        return _verdict("Safe")


def _verdict(level: str, *categories: str, refusal: str | None = None) -> dict[str, Any]:
    return {"safety_level": level, "categories": list(categories), "refusal": refusal}


@dataclass(frozen=True)
class MosecServer:
    """A server that runs."""

    url: str
    process: subprocess.Popen[bytes]


@contextmanager
def mosec_server() -> Generator[MosecServer]:
    """Start the server on a free port of 127.0.0.1, wait for its worker, and end it with all its processes."""
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        options = ("--address", "127.0.0.1", "--port", str(port), "--timeout", str(REQUEST_MS), "--path", f"{folder}/m")
        log = Path(folder, "log")
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.wire.mosec_worker", *options],
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdout=output,
                stderr=output,
                start_new_session=True,  # so that its children can be ended with it
            )
        server = MosecServer(f"http://127.0.0.1:{port}/inference", process)
        try:
            _wait_for(server, log)
            yield server
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait_for(server: MosecServer, log: Path) -> None:
    request = urllib.request.Request(  # noqa: S310  # loopback
        server.url, b'{"content": "ready?", "moderation_type": "prompt"}', {"Content-Type": "application/json"}
    )
    ends = time.monotonic() + 60
    while time.monotonic() < ends and server.process.poll() is None:
        with suppress(urllib.error.URLError, ConnectionError), _DIRECT.open(request, timeout=5) as reply:
            reply.read()
            return
        time.sleep(0.05)
    raise AssertionError(f"MOSEC did not start:\n{log.read_text('utf-8', 'replace')}")


def main() -> None:
    server = Server()
    server.append_worker(Judge)
    server.run()


if __name__ == "__main__":
    main()
