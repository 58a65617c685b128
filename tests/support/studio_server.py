"""`langgraph dev` as a process, and what is said to it with langgraph-sdk."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any, BinaryIO, Final

from langgraph_sdk.client import LangGraphClient

from tests.support.fork_server import Program
from tests.support.sockets import free_port
from tests.support.wire.server_process import FakeServer

ROOT: Final = Path(__file__).resolve().parents[2]


LEND: Final = "How do I lend a book to a reader?"


NEXT: Final = "Where are backups kept, and for how long?"


NEVER_ENOUGH: Final = {"mean_confidence_enforced": 0.99}
"""Run settings under which every draft is sent back until no retry is left."""


CALLS: Final = """
import asyncio, gc, os, signal, sys, time

gc.set_threshold(100_000)

right, wrong_by_s = time.time_ns, int(os.environ.get("CLOCK_WRONG_BY", "0"))
time.time_ns = lambda: right() + wrong_by_s * 1_000_000_000

def move_clock(*_):
    global wrong_by_s
    wrong_by_s = -wrong_by_s

signal.signal(signal.SIGUSR1, move_clock)

def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        where = repr(arguments[1] if event == "socket.connect" else arguments[0])
        if "127.0.0.1" not in where and "localhost" not in where:
            with open(os.environ["CALLS_LOG"], "a") as log:
                log.write(where + "\\n")
            raise OSError("a test's server stays on this machine")

sys.addaudithook(refuse)

rest = asyncio.sleep

async def rest_shortly(delay, result=None):
    return await rest(0.03 if delay == 0.5 else delay, result)

asyncio.sleep = rest_shortly
"""
"""Python's `sitecustomize` for the server: whoever it would call outside this machine is noted, and not called.

The clock that ids of checkpoints are made of is wrong by as many seconds as the environment says, and after a signal by
as many the other way. For the next run the
server looks more often than twice a second: tests waited for that, and for nothing else, most of their time. And for
garbage it looks more rarely: what it imports is none, and looking through that is a sixth of its start.
"""


_AS_THE_COMMAND: Final = f"""
import sys, warnings

# A program of ours makes an error of every warning; this one is not ours.
warnings.resetwarnings()

{CALLS}

from langgraph_cli.cli import cli

sys.argv[0] = "langgraph"
sys.exit(cli())
"""
"""The command `langgraph` in a process that is forked."""


class Server:
    """One `langgraph dev` over the repository's own langgraph.json.

    The folder that it runs in is made of links to the repository's, for it writes into its working directory. Where it
    is watched, its peers are noted ten times a second. Where it is forked, its process comes from one that has imported most of what it needs, which is two
    of the three seconds of a start; where starting is the point, it is the command itself.
    """

    def __init__(self, place: Path, *, forked: bool = False, **more: str) -> None:
        self.place = place
        self.watched = False
        self.forked = forked
        self.more = more
        self.data = place / "data"
        self.log_file = place / "log"
        self.calls = place / "calls"
        self.peers: set[str] = set()
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._copy = place / "repository"
        if not self._copy.exists():
            self._copy.mkdir(parents=True)
            for entry in ROOT.iterdir():
                if not entry.name.startswith("."):
                    (self._copy / entry.name).symlink_to(entry)
            (place / "site").mkdir()
            (place / "site" / "sitecustomize.py").write_text(CALLS, encoding="utf-8")
            self._write_profile()

    def _write_profile(self) -> None:
        corpus = (ROOT / "tests/data/corpus.toml").read_text(encoding="utf-8")
        documents = json.dumps(str(ROOT / "tests/data/corpus"))
        settings = "\n[behaviour]\nmax_clarifications = 7\ntop_k = 5\n"
        corpus = corpus.replace('path = "corpus"', f"path = {documents}")
        corpus = corpus.replace("[thresholds]\n", "[thresholds]\nspam = 0.75\n")
        (self.place / "profile.toml").write_text(corpus + settings, encoding="utf-8")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.port = free_port()
        dev = ("dev", "--no-browser", "--no-reload", "--port", str(self.port), "--n-jobs-per-worker", "10")
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.place),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(self.place / "site"),
            "CALLS_LOG": str(self.calls),
            "GUARDIAN_DATA_DIR": str(self.data),
            "GUARDIAN_EMBEDDER": "off",
            "GUARDIAN_RERANKER": "off",
            "GUARDIAN_PROFILE": str(self.place / "profile.toml"),
            # The command reports its use before it has read langgraph.json, which sees to the rest.
            "LANGGRAPH_CLI_NO_ANALYTICS": "1",
            **self.more,
        }
        earlier = self.log()
        with self.log_file.open("ab") as log:
            process = self._process = self._open(dev, environment, log)
        if self.watched:
            threading.Thread(target=self._watch, args=(process,), daemon=True).start()
        deadline = time.monotonic() + 60
        while "Application started up" not in self.log().removeprefix(earlier):
            assert process.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.1)

    def _open(self, dev: Sequence[str], environment: dict[str, str], log: BinaryIO) -> subprocess.Popen[bytes]:
        with Path(os.devnull).open("rb") as nothing:
            more: dict[str, Any] = {
                "cwd": self._copy,
                "env": environment,
                "stdin": nothing,
                "stdout": log,
                "stderr": log,
            }
            if self.forked:
                return Program[bytes](["-c", _AS_THE_COMMAND, *dev], **more)
            return subprocess.Popen[bytes]([str(Path(sys.executable).with_name("langgraph")), *dev], **more)

    def log(self) -> str:
        if not self.log_file.exists():
            return ""
        return re.sub(r"\x1b\[[0-9;]*m", "", self.log_file.read_text(encoding="utf-8", errors="replace"))

    def move_clock(self) -> None:
        """Make its clock, which is wrong, as wrong the other way; it has moved before the next request is taken."""
        assert self._process is not None
        self._process.send_signal(signal.SIGUSR1)

    def kill(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        """Note the peers of the server's sockets; what its libraries in C open, Python does not report."""
        noted: set[str] = set()
        while process.poll() is None:
            self.peers |= _peers(process.pid, noted)
            time.sleep(0.1)


_INODE: Final = {"tcp": 9, "tcp6": 9, "unix": 6}
"""The column of a socket's inode in the tables of those that have their peer for good, or none, once they are listed."""


def _peers(pid: int, noted: set[str]) -> set[str]:
    """Return the addresses at the other ends of a process's sockets but those noted before (Linux; elsewhere none).

    The tables are read for new sockets alone: for each reading the kernel looks through all there could be, 10 ms.
    """
    inodes: set[str] = set()
    try:
        for link in Path(f"/proc/{pid}/fd").iterdir():
            if match := re.fullmatch(r"socket:\[(\d+)\]", str(link.readlink())):
                inodes.add(match[1])
    except OSError:
        pass  # it ends, or there is no /proc
    inodes -= noted
    peers: set[str] = set()
    for table in ("unix", "tcp", "tcp6", "udp", "udp6") if inodes else ():
        path = Path("/proc/net", table)
        lines = path.read_text().splitlines()[1:] if path.exists() else []
        listed = [fields for line in lines if (fields := line.split())[_INODE.get(table, 9)] in inodes]
        if table != "unix":
            peers |= {_address(fields[2]) for fields in listed}
        if table in _INODE:
            noted |= {fields[_INODE[table]] for fields in listed}
    return peers


def _address(text: str) -> str:
    """Read an address of /proc/net: words of four bytes in the machine's order, a colon, the port."""
    words = bytes.fromhex(text.partition(":")[0])
    return str(ip_address(b"".join(words[at : at + 4][::-1] for at in range(0, len(words), 4))))


def ask(text: object) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


async def create_thread(studio: LangGraphClient) -> str:
    return (await studio.threads.create())["thread_id"]


async def run(studio: LangGraphClient, thread: str, given: Any, **options: Any) -> dict[str, Any]:
    values = await studio.runs.wait(thread, "guardian", input=given, **options)
    assert isinstance(values, dict)
    return values


def list_messages(values: dict[str, Any]) -> list[tuple[str, str]]:
    return [(message["type"], message["content"]) for message in values["messages"]]


def name_models(models: FakeServer, provider: str) -> dict[str, str]:
    """Return the variables under which every part asks a server, and planning begins beside moderation."""
    return {
        "GUARDIAN_MODEL": "fake-model",
        "OPENAI_BASE_URL": models.url,
        "GUARD_PROVIDER_TYPE": provider,
        "GUARD_VLLM_URL": models.url,
        "GUARD_VLLM_MODEL": "fake-guard",
        "GUARD_MOSEC_URL": models.root,
        "GUARDIAN_PLAN_AHEAD": "true",
    }
