"""The command `guardian` as people run it: a process of its own, over a small library's documents."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from functools import partial
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, cast

from assistant.cli.main import main
from assistant.client import Assistant
from assistant.deployment import deployment
from assistant.service import open_service
from assistant.turns.transcript import TurnStore
from tests.support import fork_server
from tests.support.fork_server import Program

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests" / "data" / "corpus"
PROFILE = ROOT / "tests" / "data" / "corpus.toml"
NAME = "shelf"
"""Of that profile: its folder under the data directory."""

QUESTION = "How do I restore the catalogue from a backup?"
ANSWER = "shelfctl restore --from /srv/backup"
"""A question that the documents answer, and words of the answer."""


OURS = ("GUARDIAN_", "GUARD_", "OPENAI_", "LANGSMITH_", "LANGCHAIN_", "OTEL_")
"""What the beginnings of variables are that would change a turn: none of the developer's own reaches a test."""


@dataclass(frozen=True)
class Said:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def complains(self, code: int, *words: str) -> None:
        """Assert that a command failed as it should: the words on standard error, with a way out, and nothing else."""
        assert self.code == code, (self.out, self.err)
        assert self.out == ""
        assert "Traceback" not in self.err
        assert "→" in self.err
        for word in words:
            assert word in self.err


@dataclass(frozen=True)
class Desk:
    """One data directory, one profile, one environment."""

    data: Path
    cwd: Path
    profile: Path | str = PROFILE
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Where the profile keeps everything of its own."""
        return self.data / NAME

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        # A folder may have no other way to the code than PYTHONPATH: commands run from anywhere.
        own = {"GUARDIAN_DATA_DIR": str(self.data), "GUARDIAN_PROFILE": str(self.profile), "PYTHONPATH": str(ROOT)}
        # Search by meaning is switched on where it is the point: to make vectors of every test's documents takes long.
        own |= {"GUARDIAN_EMBEDDER": "off", "GUARDIAN_RERANKER": "off"}
        return {**kept, **own, **self.more}

    def having(self, **more: str) -> Desk:
        """Return this desk with further environment variables."""
        return replace(self, more={**self.more, **more})

    def command(self, *arguments: str | bytes) -> Sequence[str | bytes]:
        """Return what starts the command in an interpreter of its own; a warning is an error in it, too."""
        return [sys.executable, "-W", "error", "-m", *self._program(*arguments)]

    def _program(self, *arguments: str | bytes) -> Sequence[str | bytes]:
        return ["assistant.cli.main", *arguments]

    @property
    def _own_interpreter(self) -> bool:
        """Whether variables are set that only an interpreter reads which starts."""
        return any(name.startswith(("PYTHON", "LC_")) or name == "LANG" for name in self.more)

    def run(self, *arguments: str | bytes, stdin: str | bytes = b"") -> Said:
        """Run the command in a process of its own; it may fail, but never with a traceback."""
        given = stdin if isinstance(stdin, bytes) else stdin.encode()
        where: dict[str, Any] = {"cwd": self.cwd, "env": self.environment}
        if self._own_interpreter:
            done = subprocess.run(
                self.command(*arguments), input=given, capture_output=True, check=False, timeout=240, **where
            )
        else:
            done = fork_server.run(self._program(*arguments), given, **where)
        said = Said(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))
        assert "Traceback" not in said.err, said.err
        return said

    def start(self, *arguments: str, **options: Any) -> Program[bytes]:
        """Start the command with pipes for all three streams, unless told otherwise."""
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        options = {**pipes, "cwd": self.cwd, "env": self.environment, **options}
        return Program[bytes](self._program(*arguments), **options)

    def on_terminal(self, *arguments: str) -> Said:
        """Run the command with a terminal of 120 columns as its standard error."""
        master, slave = terminal()
        try:
            with self.start(*arguments, stdin=None, stderr=slave) as process:
                os.close(slave)
                shown = b"".join(iter(partial(read_terminal, master), b"")).decode()
                out = cast("BinaryIO", process.stdout).read().decode()
        finally:
            os.close(master)
        return Said(process.returncode, out, shown)

    def here(self, *arguments: str) -> Said:
        """Run the command in this process, where the process is not the point: a second less."""
        before = dict(os.environ)
        out, err = TextIOWrapper(BytesIO(), "utf-8"), TextIOWrapper(BytesIO(), "utf-8")
        os.environ.update(self.environment)
        try:
            with redirect_stdout(out), redirect_stderr(err):
                try:
                    code = main(arguments)
                except SystemExit as end:
                    code = int(end.code or 0)
        finally:
            os.environ.clear()
            os.environ.update(before)
        return Said(code, *(_text(stream) for stream in (out, err)))

    def index(self, *arguments: str) -> Said:
        """Index in this process, which must succeed."""
        said = self.here("index", *arguments)
        assert said.code == 0, said.err
        return said

    def result(self, *arguments: str) -> dict[str, Any]:
        """Ask in this process; return the whole result."""
        return self.here("ask", *arguments, "--json", "--quiet").json

    @contextmanager
    def open(self) -> Generator[Callable[[str], dict[str, Any]]]:
        """Open this desk's assistant for many questions; yield what asks one in a conversation of its own.

        It returns what `result` does, for a third of the time: index, graph and database are opened once.
        """
        with asyncio.Runner() as runner:
            opened = open_service(deployment(environment=self.environment))
            assistant = Assistant(runner.run(opened.__aenter__()))
            try:
                yield lambda message: runner.run(assistant.ask_structured(message)).model_dump(mode="json")
            finally:
                runner.run(opened.__aexit__(None, None, None))

    def copied(self, data: Path) -> Desk:
        """Return a desk over a copy of all this one has."""
        shutil.copytree(self.data, data)
        return replace(self, data=data)


@contextmanager
def interruptible() -> Generator[None]:
    """Start processes in this that Ctrl-C ends, also where the suite itself runs in the background of a script.

    Such a shell has SIGINT ignored, which a process hands on to those it starts; a handler it does not.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _text(stream: TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, BytesIO)
    return buffer.getvalue().decode()


def profile_of(folder: Path, name: str = NAME, **lines: str) -> Path:
    """Write a profile for a folder of documents; `lines` are TOML for its top, or a table under its name."""
    head = f'name = "{name}"\nproduct = "Shelf"\n'
    own = "".join(f"{line}\n" for line in lines.values())
    rest = (
        '[scope]\nwords = ["shelf"]\n[scope.description]\nen = "lending"\nru = "выдача"\n'
        f"[[knowledge]]\npath = {json.dumps(str(folder))}\n"
    )
    path = folder.parent / f"{folder.name}.toml"
    path.write_text(head + own + rest, "utf-8")
    return path


def list_decisions(result: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return the decisions of a turn: table, row, outcome."""
    return [(line["table"], line["row"], line["outcome"]) for line in result["decisions"]]


def terminal() -> tuple[int, int]:
    """Return both ends of a new terminal of 120 columns: a bar is as wide as that, and a new one has no width."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 120))
    return master, slave


def read_terminal(master: int) -> bytes:
    """Return what was written to a terminal; nothing at its end."""
    try:
        return os.read(master, 65536)
    except OSError:
        # That is how Linux says that nobody writes there any more.
        return b""


async def leave_half_finished(desk: Desk, thread: str, turn: str, question: str) -> None:
    """Record a question as a process does that is killed right after."""
    async with await TurnStore.open(desk.folder / "threads.db") as store:
        await store.begin(thread, turn, question, None)
