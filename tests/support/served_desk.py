"""`guardian serve` as a process of its own."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, Any

import httpx

from tests.support.cli_helpers import Desk
from tests.support.fork_server import PageProgram, Program
from tests.support.tls import TRUSTS_NOBODY

LONGEST_S = 20

BARE = (
    "import sys; sys.modules.update(dict.fromkeys(('gradio', 'mcp'))); "
    "from assistant.cli.main import main; sys.exit(main())"
)
"""The command as code, without the extras `ui` and `mcp`, which take a server seconds to begin."""


@dataclass(frozen=True)
class Serving:
    """A server that runs.

    Attributes:
        address: Where it says that it listens.
        said: All that it said before it answered requests.
    """

    process: Program[bytes]
    address: str
    said: str
    complaints: IO[bytes]

    def client(self, **headers: str) -> httpx.Client:
        return httpx.Client(
            base_url=self.address, timeout=LONGEST_S, trust_env=False, verify=TRUSTS_NOBODY, headers=headers
        )

    def signal(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)

    def ended(self) -> tuple[int, str]:
        """Wait for its end; return its exit code, and what it complained of."""
        code = self.process.wait(LONGEST_S)
        self.complaints.seek(0)
        return code, self.complaints.read().decode()


@contextmanager
def serve(desk: Desk, *arguments: str, bare: bool = True) -> Generator[Serving]:
    """Start a server at a free port; it is gone when the block ends.

    Args:
        desk: What is served.
        arguments: Further ones of the command.
        bare: Whether it is a server without the chat page and MCP.
    """
    program = ["-c", BARE] if bare else ["assistant.cli.main"]
    command = [*program, "serve", "--port", "0", *arguments]
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
    kind = Program[bytes] if bare else PageProgram[bytes]
    with (
        TemporaryFile() as complaints,
        kind(command, cwd=desk.cwd, env=desk.environment, stderr=complaints, **pipes) as process,
    ):
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline().decode() for _ in range(6)]
            complaints.seek(0)
            assert all(lines), complaints.read().decode()
            yield Serving(process, lines[0].split()[-1], "".join(lines), complaints)
        finally:
            process.kill()
