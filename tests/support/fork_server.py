"""Processes of our own programs that need not import them: each is forked from one that has done so.

A command is two seconds of importing and a tenth of a second of work, and the suite starts hundreds. `Program` is
`subprocess.Popen` for `python -W error -m MODULE ...`: a process of its own, to be killed, signalled and waited for.
What it has from the others are imported modules, and nothing that a turn leaves behind.

Where starting itself is the point (what is imported, which flags, in what encoding), start an interpreter instead.

As a program: `python -m tests.support.fork_server FD`, where requests come over the socket FD.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import gc
import importlib
import io
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NoReturn, TypeVar

ROOT = Path(__file__).resolve().parents[2]

Text = TypeVar("Text", str, bytes)

# ------------------------------------------------------------------------------------------------- inside the server


def _serve(line: socket.socket) -> None:
    """Fork for each request until the other end is closed; in a child, become the program that was asked for."""
    line.send(b"ready")
    while True:
        data, descriptors, _, _ = socket.recv_fds(line, 1 << 20, 3)
        if not data:
            return
        if data == _ONE_WITH_PAGES:
            if not os.fork():
                line.close()
                line = socket.socket(fileno=descriptors.pop())
                _import_what_pages_need()
                line.send(b"ready")
            for descriptor in descriptors:
                os.close(descriptor)
            continue
        reading, writing = os.pipe()
        middle = os.fork()
        if middle:
            # A child whose parent has ended becomes one of whoever asked, and can be waited for there: not before.
            os.waitpid(middle, 0)
            line.send(os.read(reading, 16))
            for descriptor in (reading, writing, *descriptors):
                os.close(descriptor)
        elif child := os.fork():
            os.write(writing, str(child).encode())
            os._exit(0)
        else:
            for descriptor in (reading, writing):
                os.close(descriptor)
            line.close()
            _become(json.loads(data), descriptors)


_ONE_WITH_PAGES: Final = b"one with pages"
"""A request for another server, which has the chat page and MCP imported: longer than all the rest, and of few programs."""

_OF_PAGES: Final = (
    "assistant.web.app",
    "assistant.web.page.app",
    "assistant.mcp.endpoint",
    "mcp.server.streamable_http_manager",
)

_OF_ALL_TURNS: Final = ("assistant.indexing", "assistant.service")
"""What most of the others come with: imported once here, and not first in the process that is thrown away."""

_OF_SOME_TURNS: Final = (
    "langchain_openai",
    "fastapi",
    "uvicorn",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "adapters.checkpoints.postgres",
)
"""What is imported where a model is asked, turns are traced, a server runs, or PostgreSQL keeps the conversations."""


def _import_what_a_turn_needs() -> None:
    """Import what indexing and asking import, which a process that is thrown away does: nothing else of a turn stays."""
    # Nothing that is imported is garbage.
    gc.disable()
    for name in (*_OF_ALL_TURNS, *_OF_SOME_TURNS):
        importlib.import_module(name)
    _read_what_ships()
    reading, writing = os.pipe()
    if not os.fork():
        with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as nothing:  # noqa: PTH123  # no path
            os.environ["GUARDIAN_DATA_DIR"] = folder
            os.environ["GUARDIAN_PROFILE"] = str(ROOT / "tests" / "data" / "corpus.toml")
            from assistant.cli.main import main

            with contextlib.redirect_stdout(nothing), contextlib.redirect_stderr(nothing):
                main(["index"])
                main(["ask", "How do I restore the catalogue from a backup?"])
        os.write(writing, json.dumps(list(sys.modules)).encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as names:  # noqa: PTH123  # a pipe
        for name in json.loads(names.read()):
            # Some are made by their packages: no file has their name.
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
    os.wait()
    _share_with_children()


def _import_what_pages_need() -> None:
    gc.disable()
    # As the assistant has it, for Gradio reads it when it is imported.
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    for name in _OF_PAGES:
        importlib.import_module(name)
    _share_with_children()


def _share_with_children() -> None:
    # No child looks through all that for garbage, which it would on its way out.
    gc.collect()
    gc.freeze()
    gc.enable()
    _use_large_pages()


_COLLAPSE: Final = 25
"""madvise(2), MADV_COLLAPSE: small pages of memory become a large one, which Linux does from 6.1, and others refuse."""

_LARGE: Final = 2 << 20


def _use_large_pages() -> None:
    """Put what was imported into large pages: of small ones, each fork copies a table of 20,000 entries."""
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for line in Path("/proc/self/maps").read_text("utf-8").splitlines():
        place, rights, *_, inode, name = f"{line} -".split()[:6]
        if rights == "rw-p" and inode == "0" and name in ("-", "[heap]"):
            start, end = (int(address, 16) for address in place.split("-"))
            first, last = -(-start // _LARGE) * _LARGE, end // _LARGE * _LARGE
            if first < last:
                madvise(first, last - first, _COLLAPSE)


def _read_what_ships() -> None:
    """Read and compile what is the same in every process: words, rules, the command line."""
    from adapters.moderation.rules import RuleModerator
    from assistant.cli.parser import build_parser
    from assistant.wiring.ports import read_words
    from language.attacks.demands import question_asks_for_secrets
    from language.patterns import read_wording

    read_words()
    build_parser()
    # The expressions that any message is looked through with.
    RuleModerator().judge("How do I restore the catalogue from a backup?")
    question_asks_for_secrets("Which colour has your card?")
    # Those that any passage is looked through with: who indexes or searches would compile them for a third of a second.
    demands = read_wording("language.attacks.demands")
    for name, entry in demands.entries.items():
        if isinstance(entry, list):
            demands.patterns(name)


def _become(request: dict[str, Any], descriptors: list[int]) -> None:
    """Run a module as `python -W error -m` does, or code as with `-c`, with the streams, folder and variables of a request; do not return."""
    if request["new_session"]:
        os.setsid()
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), "utf-8")
    sys.stdout = sys.__stdout__ = _writer(1, "<stdout>", "strict", os.isatty(1))
    sys.stderr = sys.__stderr__ = _writer(2, "<stderr>", "backslashreplace", lines=True)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["variables"])
    sys.warnoptions[:] = ["error"]
    warnings.resetwarnings()
    warnings.simplefilter("error")
    sys.argv[1:] = request["arguments"]
    # A program that goes without a last look for garbage has it here, where there is little to look through: this is
    # how a resource that was left open is told.
    gc.freeze = gc.collect
    try:
        _run(request)
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        code = end.code or 0
    else:
        code = 0
    _end(code)


def _run(request: dict[str, Any]) -> None:
    if request["module"] == "-c":
        sys.argv[0:2] = ["-c"]
        main = sys.modules["__main__"] = ModuleType("__main__")
        code = compile(request["arguments"][0], "<string>", "exec", dont_inherit=True)
        exec(code, main.__dict__)  # noqa: S102  # as `-c` does
    else:
        # As in an interpreter that starts, where no module has imported the program yet.
        sys.modules.pop(request["module"], None)
        runpy.run_module(request["module"], run_name="__main__", alter_sys=True)


def _end(code: int) -> NoReturn:
    """End as an interpreter does: wait for threads, say goodbye, look for garbage, write what is held back.

    But do not take all modules apart: to touch what is shared with the server copies it, which takes as long as a
    whole command. What does not end as it should (in the hook of an exit, in a stream) ends in the usual way.
    """
    threading._shutdown()  # pyright: ignore[reportAttributeAccessIssue]  # what an interpreter calls
    atexit._run_exitfuncs()
    sys.modules.pop("__main__")
    gc.collect()
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (OSError, ValueError):
        sys.exit(code)
    os._exit(code & 0xFF)


def _writer(number: int, name: str, errors: str, lines: bool) -> io.TextIOWrapper:
    file = io.FileIO(number, "w", closefd=False)
    file.name = name
    return io.TextIOWrapper(io.BufferedWriter(file), "utf-8", errors, None, lines)


# ------------------------------------------------------------------------------------------------ outside the server

_SUBREAPER = 36
"""prctl(2), PR_SET_CHILD_SUBREAPER: descendants whose parent has ended become children of this process."""

_one_at_a_time = threading.Lock()


@functools.cache
def _server() -> socket.socket:
    """Start the server of this process, once."""
    if ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.fork_server", str(its.fileno())],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        pass_fds=[its.fileno()],
    )
    its.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    if ours.recv(16) != b"ready":
        raise RuntimeError("the fork server did not start; its standard error says why")
    return ours


@functools.cache
def _server_with_pages() -> socket.socket:
    """Have the server fork the one with pages, once; it ends with this process."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    socket.send_fds(_server(), [_ONE_WITH_PAGES], [its.fileno()])
    its.close()
    atexit.register(ours.close)
    if ours.recv(16) != b"ready":
        raise RuntimeError("the fork server with pages did not start; its standard error says why")
    return ours


class Program(subprocess.Popen[Text]):
    """`subprocess.Popen` of `python -W error -m MODULE ARGUMENTS`, by way of the server.

    The command is the module's name and its arguments, or `-c`, code and its arguments. Of Popen's options those for streams, `cwd`, `env`,
    `text` and `start_new_session` are heeded.
    """

    _find_server = staticmethod(_server)

    def _execute_child(self, args: Sequence[str | bytes], *rest: Any) -> None:
        cwd, env, new_session = rest[4], rest[5], rest[20]
        pipes = rest[9:15]
        given = pipes[0], pipes[3], pipes[5]
        request = {
            "module": args[0],
            "arguments": [os.fsdecode(argument) for argument in args[1:]],
            "folder": str(cwd or Path.cwd()),
            "variables": dict(os.environ if env is None else env),
            "new_session": new_session,
        }
        streams = [number if stream == -1 else stream for number, stream in enumerate(given)]
        with _one_at_a_time:
            line = self._find_server()
            socket.send_fds(line, [json.dumps(request).encode()], streams)
            self.pid = int(line.recv(16))
        self._child_created = True
        self._close_pipe_fds(*pipes)  # pyright: ignore[reportAttributeAccessIssue]  # Popen's own


class PageProgram(Program[Text]):
    """A program with the chat page, or with MCP at an address: neither is imported anew, which takes seconds."""

    _find_server = staticmethod(_server_with_pages)


def run(
    command: Sequence[str | bytes], stdin: Any = None, timeout_s: float = 240.0, **options: Any
) -> subprocess.CompletedProcess[Any]:
    """Run a program to its end, as `subprocess.run` does with `capture_output`."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Program[Any](command, **pipes, **options) as process:
        try:
            out, err = process.communicate(stdin, timeout=timeout_s)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


if __name__ == "__main__":
    _import_what_a_turn_needs()
    _serve(socket.socket(fileno=int(sys.argv[1])))
    # Nothing is taken apart, which takes as long as a command: and what was forked has no threads that end.
    os._exit(0)
