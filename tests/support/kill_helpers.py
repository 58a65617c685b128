"""Real processes that run turns of any graph, to be killed and followed up.

A graph is named as `module:function`. The function takes the folder of the test's data and a saver, and returns the
compiled graph; its nodes are wrapped by `logged`, so that a file tells which began and which finished, in which process.

As a program: `python -m tests.support.kill_helpers ACTION ...`, one turn or one resumption (or a chat that never ends
by itself, `message 1`, `message 2`, ... with the numbers as turn ids), result as JSON on standard output, an error of ours as one line `Name: message` on standard error and exit code 3.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import functools
import importlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.fork_server import Program
from tests.support.storage import open_storage

ROOT = Path(__file__).resolve().parents[2]
CLOCK_WRONG_BY = "KILL_CLOCK_WRONG_BY"
"""Environment variable: by how many seconds the wall clock of such a process is wrong."""
NETWORK = "KILL_NETWORK"
"""Environment variable: the name of the network (`ip netns`) that such a process is in."""

# ------------------------------------------------------------------------------------------------ inside the process


def log_node(
    name: str,
    node: Callable[..., Awaitable[dict]],
    log: Path,
    pause_s: float = 0.0,
    trouble: Callable[[str], None] | None = None,
) -> Callable[..., Any]:
    """Return the node, writing `begin NAME PID` and `end NAME PID` to the log, with a pause in between to be killed in.

    `trouble`, called with the node's name after the pause, may raise. The node's signature stays visible, so that
    LangGraph finds its view and whether it takes a runtime.
    """

    @functools.wraps(node)
    async def wrapped(*args: Any, **kwargs: Any) -> dict:
        note(log, f"begin {name} {os.getpid()}")
        await asyncio.sleep(pause_s)
        if trouble is not None:
            trouble(name)
        update = await node(*args, **kwargs)
        note(log, f"end {name} {os.getpid()}")
        return update

    return wrapped


def note(log: Path, line: str) -> None:
    with log.open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def log_of(data: Path) -> Path:
    return data / "nodes.log"


def _named(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


async def _act(options: argparse.Namespace) -> Any:
    from assistant.turns.runner import TurnRunner

    context_type = _named(options.context_type) if options.context_type else None
    context = context_type() if context_type else None
    timing = {} if options.silent_s is None else {"beat_s": options.silent_s / 4, "silent_s": options.silent_s}
    async with open_storage(options.data, options.database, **timing) as storage:
        graph = _named(options.graph)(options.data, storage.saver)
        runner = TurnRunner(graph, storage.store, storage.claims, wait_s=options.wait_s, context_type=context_type)
        note(log_of(options.data), f"ready {options.action} {os.getpid()}")
        if options.action == "chat":
            for number in itertools.count(options.first):
                await runner.run(options.thread, f"message {number}", turn_id=str(number), context=context)
                note(log_of(options.data), f"answered {number} {os.getpid()}")
        if options.action == "resume":
            return await runner.resume(options.thread, context=context)
        return await runner.run(options.thread, options.text, turn_id=options.turn, context=context)


def _move_clock(seconds: int) -> None:
    right = time.time_ns
    time.time_ns = lambda: right() + seconds * 1_000_000_000


def _enter_network(name: str) -> None:
    with Path("/run/netns", name).open("rb") as network:
        assert ctypes.CDLL(None, use_errno=True).setns(network.fileno(), 0) == 0, os.strerror(ctypes.get_errno())


def main() -> int:
    from contracts.errors import GuardianError

    _move_clock(int(os.environ.get(CLOCK_WRONG_BY, "0")))
    if network := os.environ.get(NETWORK):
        _enter_network(network)

    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=("run", "resume", "chat"))
    parser.add_argument("--graph", required=True)
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--thread", required=True)
    parser.add_argument("--turn")
    parser.add_argument("--text")
    parser.add_argument("--first", type=int, default=1, help="number of a chat's first message")
    parser.add_argument("--context-type", help="module:Class of the settings")
    parser.add_argument("--wait-s", type=float, default=30.0)
    parser.add_argument("--database", default="", help="address of a PostgreSQL server")
    parser.add_argument("--silent-s", type=float, help="after how long another's claims are taken over")
    options = parser.parse_args()
    try:
        result = asyncio.run(_act(options))
    except GuardianError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 3
    sys.stdout.write(json.dumps(result))
    return 0


# ----------------------------------------------------------------------------------------------- outside the process


@dataclass
class Turns:
    """Starts processes that run turns of one graph over one folder of data.

    Args:
        data: A folder of the test's own.
        graph: `module:function`, as above.
        context_type: `module:Class` of the graph's settings, if it wants any.
        database: The address of a PostgreSQL server; empty for a file in the folder.
        silent_s: After how long a process that says nothing loses its claims; for a server.
    """

    data: Path
    graph: str = "tests.support.kill_helpers_graph:slow_graph"
    context_type: str | None = None
    database: str = ""
    silent_s: float | None = None

    def start(self, action: str, thread: str, *arguments: str) -> Program[str]:
        self.data.mkdir(parents=True, exist_ok=True)
        more = ["--context-type", self.context_type] if self.context_type else []
        more += ["--database", self.database] if self.database else []
        more += ["--silent-s", str(self.silent_s)] if self.silent_s is not None else []
        return Program[str](
            [
                *("tests.support.kill_helpers", action, "--graph", self.graph),
                *("--data", str(self.data), "--thread", thread, *more, *arguments),
            ],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, thread: str, turn: str, text: str, *arguments: str) -> Program[str]:
        return self.start("run", thread, "--turn", turn, "--text", text, *arguments)

    def resume(self, thread: str) -> Program[str]:
        return self.start("resume", thread)

    def chat(self, thread: str, first: int) -> Program[str]:
        return self.start("chat", thread, "--first", str(first))

    def log(self) -> list[str]:
        log = log_of(self.data)
        return log.read_text(encoding="utf-8").splitlines() if log.exists() else []

    def nodes(self, event: str) -> list[str]:
        """Return the names of the nodes that had this event (`begin` or `end`), in order."""
        return [line.split()[1] for line in self.log() if line.startswith(event + " ")]

    def wait_for(self, line: str, process: Program[str], timeout_s: float = 30.0) -> None:
        """Wait until the process has logged a line, say `begin search`."""
        deadline = time.monotonic() + timeout_s
        while f"{line} {process.pid}" not in self.log():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline, f"{line!r} never came: {self.log()}"
            time.sleep(0.01)

    def run_and_kill(self, thread: str, turn: str, text: str, in_node: str) -> None:
        """Run a turn in a process and kill -9 it in the middle of a node."""
        process = self.run(thread, turn, text)
        self.wait_for(f"begin {in_node}", process)
        kill(process)


def kill(process: Program[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def outcome_of(process: Program[str], timeout_s: float = 60.0) -> Any:
    """Return what a process printed, when it has ended well."""
    out, err = process.communicate(timeout=timeout_s)
    assert process.returncode == 0, err
    assert err == "", err
    return json.loads(out)


if __name__ == "__main__":
    sys.exit(main())
