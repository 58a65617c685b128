"""Programs with other streams than most have: those that an interpreter gives as it starts, and terminals.

An interpreter of its own imports for two seconds what a forked process has. It decides before any code of ours how its
streams are encoded, and that one which was closed is None: a fork is given the same by its first lines.
"""

from __future__ import annotations

import json
import os
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from io import BytesIO, TextIOWrapper
from threading import Thread
from typing import Literal

import pytest

from assistant.cli.main import main
from tests.support import fork_server
from tests.support.cli_helpers import Desk, Said, read_terminal, terminal

_FIRST_LINES = """
import io, json, locale, os, runpy, sys

told = json.loads(sys.argv.pop(1))
if told["locale"]:
    locale.setlocale(locale.LC_ALL, told["locale"])
for number, name in enumerate(("stdin", "stdout", "stderr")):
    if number in told["closed"]:
        os.close(number)
        setattr(sys, name, None)
        setattr(sys, f"__{name}__", None)
    elif told["encoding"]:
        getattr(sys, name).reconfigure(
            encoding=told["encoding"], errors="backslashreplace" if name == "stderr" else told["errors"]
        )
sys.modules.pop("assistant.cli.main", None)
try:
    runpy.run_module("assistant.cli.main", run_name="__main__", alter_sys=True)
finally:
    # What ends the process writes out what is held back.
    for name in ("stdout", "stderr"):
        setattr(sys, name, getattr(sys, name) or io.StringIO())
"""


def run_with_streams(
    desk: Desk,
    *arguments: str,
    stdin: bytes = b"",
    encoding: str = "",
    errors: str = "strict",
    locale: str = "",
    closed: tuple[int, ...] = (),
) -> Said:
    """Run a command whose streams have an encoding, or of which some were closed before it began.

    Args:
        desk: Where the command runs.
        arguments: Those of the command.
        stdin: What it can read.
        encoding: Of all three streams, as by PYTHONIOENCODING; empty for UTF-8.
        errors: What becomes of other characters: by PYTHONIOENCODING `strict`, in a plain C locale `surrogateescape`.
        locale: The one that files are read under if nothing else is said of them.
        closed: Numbers of the streams that are not there.
    """
    told = {"encoding": encoding, "errors": errors, "locale": locale, "closed": closed}
    command = ["-c", _FIRST_LINES, json.dumps(told), *arguments]
    done = fork_server.run(command, stdin, cwd=desk.cwd, env=desk.environment)
    said = Said(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))
    assert "Traceback" not in said.err, said.err
    return said


def here_on_terminal(desk: Desk, *arguments: str, stream: Literal["stdout", "stderr"]) -> Said:
    """Run a command in this process, one of whose streams is a terminal of 120 columns."""
    master, slave = terminal()
    shown = bytearray()

    def collect_output() -> None:
        for more in iter(partial(read_terminal, master), b""):
            shown.extend(more)

    reader = Thread(target=collect_output)
    reader.start()
    beside = TextIOWrapper(BytesIO(), "utf-8")
    try:
        with open(slave, "w", encoding="utf-8") as screen, pytest.MonkeyPatch.context() as patch:  # noqa: PTH123  # a terminal
            for name in [name for name in os.environ if name not in desk.environment]:
                patch.delenv(name)
            for name, value in desk.environment.items():
                patch.setenv(name, value)
            out, err = (screen, beside) if stream == "stdout" else (beside, screen)
            with redirect_stdout(out), redirect_stderr(err):
                code = main(arguments)
            beside.flush()
    finally:
        # Whoever reads a terminal that nobody has open any more is at its end.
        reader.join()
        os.close(master)
    assert isinstance(beside.buffer, BytesIO)
    texts = shown.decode(), beside.buffer.getvalue().decode()
    return Said(code, *(texts if stream == "stdout" else reversed(texts)))
