"""llama.cpp's own HTTP server, out of a wheel, in a process of its own: to be asked as any real server is.

As a program: `python -m tests.support.llama.server MODEL`; prints `LISTENING http://127.0.0.1:PORT` and serves until SIGTERM.
"""

from __future__ import annotations

import argparse
import importlib
import json
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.support.sockets import free_port

ROOT: Final = Path(__file__).resolve().parents[3]
GUARD: Final = Path(__file__).with_name("guard.gbnf")


def template(name: str) -> str:
    """Return a chat template of this folder, without `.jinja`."""
    return Path(__file__).with_name("templates").joinpath(f"{name}.jinja").read_text("utf-8")


# ------------------------------------------------------------------------------------------------ inside the process


def serve(options: argparse.Namespace) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    llama: Any = importlib.import_module("xllamacpp")
    parameters = llama.CommonParams()
    parameters.model.path = str(options.model)
    parameters.model_alias = {options.alias}
    parameters.port = options.port
    parameters.n_ctx = options.window
    parameters.n_parallel = options.slots
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    # Prompts of thousands of bytes are most of the work, and a third of that goes with pieces that stay in the
    # processor's cache, and with numbers that need no converting.
    parameters.n_ubatch = 128
    parameters.cache_type_k = parameters.cache_type_v = llama.ggml_type.GGML_TYPE_F32
    # With flash attention on a processor each token of a reply takes half as long again, for a head as small as this.
    parameters.flash_attn_type = llama.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    parameters.n_gpu_layers = 0
    parameters.warmup = False
    parameters.fit_params = False
    parameters.offline = True
    parameters.ui = False
    parameters.endpoint_props = True
    parameters.verbosity = 1
    parameters.prefill_assistant = options.prefill
    parameters.sampling.seed = options.seed
    if options.temp is not None:
        parameters.sampling.temp = options.temp
    if options.grammar:
        kind = llama.common_grammar_type.COMMON_GRAMMAR_TYPE_USER
        parameters.sampling.grammar = llama.CommonGrammar(kind, options.grammar.read_text("utf-8"))
    # Before the server starts, so that an early SIGTERM ends it as a late one does.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    server = llama.Server(parameters)
    sys.stdout.write(f"LISTENING {server.listening_address}\n")
    sys.stdout.flush()
    signal.sigwait({signal.SIGTERM, signal.SIGINT})


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve a model file with llama.cpp, on loopback only.")
    parser.add_argument("model", type=Path)
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--alias", default="tiny", help="the model's name on the wire")
    parser.add_argument(
        "--grammar", type=Path, help="GBNF file: the grammar of every reply that brings none of its own"
    )
    parser.add_argument("--temp", type=float, help="where a request names none")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--slots", type=int, default=2, help="requests at once; they share the window")
    parser.add_argument("--window", type=int, default=65_536, help="tokens (bytes), of all slots together")
    parser.add_argument(
        "--prefill",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="go on with a last message of the assistant, as llama.cpp does unless told otherwise",
    )
    serve(parser.parse_args())


# ----------------------------------------------------------------------------------------------- outside the process


class Refused(Exception):
    """The server's answer was no success.

    Args:
        status: HTTP status.
        body: the answer's text.
    """

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"HTTP {status}: {body}")
        self.status = status
        self.body = body


@dataclass(frozen=True)
class LlamaServer:
    """A running server: its root address, without a path."""

    root: str

    @property
    def url(self) -> str:
        """The address to give to clients of the OpenAI interface."""
        return f"{self.root}/v1"

    def get(self, path: str) -> dict[str, Any]:
        """Return the JSON at a path; raise Refused where the answer is no success."""
        return _answer(urllib.request.Request(self.root + path), 10.0)  # noqa: S310 - the address is loopback

    def post(self, path: str, body: dict[str, Any], timeout_s: float = 60.0) -> dict[str, Any]:
        """Return the answer to a JSON body; raise Refused where it is no success."""
        headers = {"Content-Type": "application/json"}
        data = json.dumps(body).encode()
        return _answer(urllib.request.Request(self.root + path, data, headers), timeout_s)  # noqa: S310 - the same

    def chat(self, messages: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        """Return the answer of /v1/chat/completions."""
        return self.post("/v1/chat/completions", {"messages": messages, **more})

    def apply_template(self, messages: list[dict[str, Any]], **more: Any) -> str:
        """Return the prompt that a chat request of these messages becomes; nothing is generated."""
        return self.post("/apply-template", {"messages": messages, **more})["prompt"]


def _answer(request: urllib.request.Request, timeout_s: float) -> dict[str, Any]:
    try:
        with urllib.request.urlopen(request, timeout=timeout_s) as response:  # noqa: S310 - the same
            return json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            raise Refused(error.code, error.read().decode("utf-8", "replace")) from None


@contextmanager
def llama_server(model: Path, **options: Any) -> Generator[LlamaServer]:
    """Serve a model file from another process; the options are the program's, `slots=4` for `--slots 4`.

    `True` and `False` become `--name` and `--no-name`. Raises RuntimeError with what the process printed where it is
    not up within 20 s.
    """
    arguments = [sys.executable, "-m", "tests.support.llama.server", str(model)]
    for name, value in options.items():
        if isinstance(value, bool):
            arguments.append(f"--{name}" if value else f"--no-{name}")
        else:
            arguments += [f"--{name}", str(value)]
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            yield LlamaServer(_wait_until_up(process))
        except _NotUp as error:
            log.seek(0)
            raise RuntimeError(f"the server did not start: {log.read().decode('utf-8', 'replace')}") from error
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                # llama.cpp, asked to end, was once seen to wait for itself on a busy machine: that is no fault of ours.
                process.kill()


@contextmanager
def llama_cpp_python(model: Path, python: str, window: int) -> Generator[LlamaServer]:
    """Serve a model file with llama-cpp-python's own server, a second wire over the same engine.

    Args:
        model: The file.
        python: The interpreter of an environment with `llama-cpp-python[server]`, which pip compiles.
        window: Tokens.
    """
    port = free_port()
    options = {"model": model, "model_alias": "SmolLM2", "n_ctx": window, "n_threads": 1, "port": port}
    arguments = [python, "-P", "-m", "llama_cpp.server"]
    arguments += [word for name, value in options.items() for word in (f"--{name}", str(value))]
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            server = LlamaServer(f"http://127.0.0.1:{port}")
            _wait_for(server, "/v1/models", 60.0)
            yield server
        finally:
            process.kill()


class _NotUp(Exception):
    pass


def _wait_until_up(process: subprocess.Popen[str], timeout_s: float = 20.0) -> str:
    """Return the address that the process announces, once its /health says that the model is loaded."""
    assert process.stdout is not None
    word, _, root = process.stdout.readline().strip().partition(" ")
    if word != "LISTENING":
        raise _NotUp
    _wait_for(LlamaServer(root), "/health", timeout_s)
    return root


def _wait_for(server: LlamaServer, path: str, timeout_s: float) -> None:
    until = time.monotonic() + timeout_s
    while time.monotonic() < until:
        try:
            server.get(path)
        except (Refused, OSError):
            time.sleep(0.02)
        else:
            return
    raise _NotUp


if __name__ == "__main__":
    main()
