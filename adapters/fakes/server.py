"""A language model that is none: an HTTP server on 127.0.0.1 that plays one, and every fault of one.

Start it with `guardian fake-model` or `python -m adapters.fakes.server`; it prints one line, `LISTENING` and its
address, and serves until Ctrl-C or SIGTERM. It answers

- `POST {any prefix}/chat/completions`, streamed or not, as a planner, a drafter and a guard model would;
- `POST {any prefix}/inference`, as a MOSEC moderator would;
- `POST {any prefix}/embeddings`, as an embedding model of OpenAI's form would (`adapters.fakes.ranking`);
- `POST {any prefix}/rerank`, as a reranker of Cohere's form would, or of TEI's where the field `texts` is sent;
- `POST {any prefix}/predict`, as a model of natural language inference behind TEI would;
- `GET {any prefix}/models` and `GET /healthz`.

Without a script it plays a model that behaves (`adapters.fakes.model`): a valid plan where the tool
`analyse_user_request` or a JSON schema comes with the request, a judge's answers where that schema is called
`entailment`, a quotation of the first two passages where evidence does, `Safety: Safe` where the model's name contains "guard". Tokens are a quarter of the UTF-8 bytes, rounded up.

A script says which request gets which other reply; its form is documented in `adapters.fakes.scripts`.

While it runs: `GET /__requests` lists every request, `DELETE /__requests` forgets them, `PUT /__script` begins a new
script, `PUT /__options` changes any of strict, delay_ms, window and api_key.

It is for rehearsals: whoever can reach the port on this machine can read what was asked and change what is replied.
"""

from __future__ import annotations

import argparse
import json
import signal
import socket
import socketserver
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from selectors import EVENT_READ, DefaultSelector
from typing import Any, Final, cast

from adapters.fakes.command import ABOUT, EXAMPLES, SCRIPT, add_arguments
from adapters.fakes.model import ModelRequest, Purpose
from adapters.fakes.options import FakeServerOptions, change_options
from adapters.fakes.playback import decide
from adapters.fakes.replies import SocketReply, json_answer, refusal
from adapters.fakes.scripts import Script, parse_script, read_script
from contracts.errors import ConfigError

HOST: Final = "127.0.0.1"
KEPT_REQUESTS: Final = 10_000
SECRETS: Final = ("api-key", "x-api-key", "cookie", "proxy-authorization")
"""Headers that are recorded by their length alone; of `authorization` the scheme is kept, too."""


@dataclass(slots=True)
class RecordedRequest:
    """A request as `GET /__requests` shows it.

    Attributes:
        number: From 1 on, in the order in which requests were read.
        step: The script's step that decided, from 1; `None` where none did.
        replied: The status that was sent, `reset`, or `gone` where the client or the server left before;
            `None` while nothing was sent.
        at: Seconds of this machine's monotonic clock.
    """

    number: int
    method: str
    path: str
    purpose: Purpose
    headers: dict[str, str]
    body: Any
    at: float
    step: int | None = None
    replied: int | str | None = None


class _Gone(Exception):
    """The client has left, or the server is about to."""


class ScriptedServer(ThreadingHTTPServer):
    """The server; `serve_forever` runs it, `stop` ends it with every connection and thread of it.

    Args:
        port: On 127.0.0.1; 0 for a free one.

    Raises:
        OSError: The port is taken.
    """

    # Threads are waited for when the server is closed: `stop` has woken them before.
    daemon_threads = False
    request_queue_size = 128

    def __init__(self, port: int = 0, script: Script | None = None, options: FakeServerOptions | None = None) -> None:
        self.script = script or Script()
        self.options = options or FakeServerOptions()
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        self._requests: deque[RecordedRequest] = deque(maxlen=KEPT_REQUESTS)
        self._count = 0
        super().__init__((HOST, port), _Handler)

    @property
    def root(self) -> str:
        return f"http://{HOST}:{self.server_port}"

    @property
    def url(self) -> str:
        """The base URL for a client of OpenAI."""
        return f"{self.root}/v1"

    def server_bind(self) -> None:
        """Bind without asking for this machine's name, as the standard library's server does: that may take seconds."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, int(self.server_address[1])

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing where a client went away: that is what clients do."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(cast("socket.socket", request), client_address)

    def stop(self) -> None:
        """Close every connection, wait for the threads, close the port; `serve_forever` must have ended."""
        with self._lock:
            self.stopping.set()
            for connection in self._connections:
                _shut(connection)
        self.server_close()

    def opened(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.add(connection)
            if self.stopping.is_set():
                _shut(connection)

    def closed(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.discard(connection)

    def record(self, asked: ModelRequest, headers: dict[str, str]) -> RecordedRequest:
        """Note a request down; its reply is filled in as it happens."""
        body = asked.body if asked.body is not None else asked.text
        with self._lock:
            self._count += 1
            noted = RecordedRequest(
                self._count, asked.method, asked.path, asked.purpose, headers, body, round(time.monotonic(), 6)
            )
            self._requests.append(noted)
        return noted

    def recorded(self) -> list[dict[str, Any]]:
        with self._lock:
            return [asdict(noted) for noted in self._requests]

    def forget(self) -> None:
        with self._lock:
            self._requests.clear()
            self._count = 0


def _shut(connection: socket.socket) -> None:
    """Wake whoever reads from or writes to a connection."""
    with suppress(OSError):  # the client was faster
        connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def _server(self) -> ScriptedServer:
        return cast("ScriptedServer", self.server)

    def setup(self) -> None:
        super().setup()
        self._server.opened(self.connection)

    def finish(self) -> None:
        self._server.closed(self.connection)
        super().finish()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the standard library's name
        """Print nothing: the one line on standard output is the address, and `GET /__requests` tells the rest."""

    def do_GET(self) -> None:
        self._handle()

    def do_POST(self) -> None:
        self._handle()

    def do_PUT(self) -> None:
        self._handle()

    def do_DELETE(self) -> None:
        self._handle()

    def _handle(self) -> None:
        try:
            asked = self._read()
            if asked is None:
                # Nobody knows where the next request begins.
                self.close_connection = True
                self._send(refusal(400, "The length of the request's body makes no sense.", code="no_length"))
            elif asked.path.startswith("/__"):
                self._send(self._control(asked))
            else:
                self._play(asked)
        except (_Gone, ConnectionError):
            self.close_connection = True

    def _read(self) -> ModelRequest | None:
        """Read the request's body; `None` where its length makes no sense."""
        try:
            raw = self._chunks() if "Transfer-Encoding" in self.headers else self._read_counted()
        except ValueError:
            return None
        text = raw.decode("utf-8", "replace")
        return ModelRequest(self.command, self.path.partition("?")[0], text, _parse_json(text))

    def _read_counted(self) -> bytes:
        return self._exactly(int(self.headers.get("Content-Length", "0")))

    def _chunks(self) -> bytes:
        parts: list[bytes] = []
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            parts.append(self._exactly(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass  # trailers say nothing that is needed here
        return b"".join(parts)

    def _exactly(self, size: int) -> bytes:
        """Read so many bytes.

        Raises:
            ValueError: No such number of bytes can be read.
            _Gone: The client left before it sent them.
        """
        if size < 0:
            raise ValueError("less than nothing")
        raw = self.rfile.read(size)
        if len(raw) < size:
            raise _Gone
        return raw

    def _play(self, asked: ModelRequest) -> None:
        given = self.headers.get("Authorization", "")
        headers = {name.lower(): _mask_header(name, value) for name, value in self.headers.items()}
        noted = self._server.record(asked, headers)
        key = given.partition(" ")[2].strip() if given.lower().startswith("bearer ") else ""
        try:
            noted.step, answer = decide(self._server.script, self._server.options, asked, key, noted.number)
            self._send(answer, noted)
        except (_Gone, ConnectionError):
            if noted.replied is None:
                noted.replied = "gone"
            raise

    def _control(self, asked: ModelRequest) -> SocketReply:
        """Answer what steers the server itself."""
        match asked.method, asked.path:
            case "GET", "/__requests":
                return json_answer(self._server.recorded())
            case "DELETE", "/__requests":
                self._server.forget()
            case "PUT", "/__script" | "/__options" as path:
                try:
                    self._change(path, asked.body)
                except ConfigError as error:
                    return refusal(400, str(error), code="wrong")
            case method, path:
                return refusal(404, f"Invalid URL ({method} {path})", code="unknown_url")
        return SocketReply(204)

    def _change(self, path: str, body: object) -> None:
        if path == "/__script":
            self._server.script = parse_script(body)
        else:
            self._server.options = change_options(self._server.options, body)

    # ------------------------------------------------------------------------------------------------------ replying

    def _send(self, answer: SocketReply, noted: RecordedRequest | None = None) -> None:
        self._wait(answer.delay_headers_s or 0.0)
        if answer.hang:
            self._wait(None)
        reset_now = answer.reset and answer.cut_at is None
        if noted is not None:
            # Before the first byte is sent: who has read the reply may look at the record at once.
            noted.replied = "reset" if reset_now else answer.status
        if not reset_now:
            self._write(answer)
        if answer.reset:
            self._reset()
        elif answer.cut_at is not None:
            self.close_connection = True

    def _write(self, answer: SocketReply) -> None:
        chunked = answer.streamed and self.request_version != "HTTP/1.0"
        whole = b"".join(answer.pieces)
        head = self._head(answer, len(whole), chunked=chunked)
        cut = answer.cut_at is not None
        pieces = _cut(answer.pieces if answer.streamed else (whole,), answer.cut_at)
        if answer.drip_s:
            pieces = [bytes([byte]) for piece in pieces for byte in piece]
        if chunked:
            pieces = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces] + ([] if cut else [b"0\r\n\r\n"])
        if answer.delay_body_s or answer.drip_s or answer.streamed:
            self.connection.sendall(head)
            self._wait(answer.delay_body_s)
            for piece in pieces:
                self.connection.sendall(piece)
                self._wait(answer.drip_s)
        else:
            self.connection.sendall(head + b"".join(pieces))

    def _head(self, answer: SocketReply, length: int, *, chunked: bool) -> bytes:
        headers = dict(answer.headers)
        given = {name.lower() for name in headers}
        if chunked:
            headers.setdefault("Transfer-Encoding", "chunked")
        elif answer.streamed:
            self.close_connection = True
        elif "content-length" not in given and answer.status != HTTPStatus.NO_CONTENT:
            headers["Content-Length"] = str(length)
        if self.close_connection:
            headers.setdefault("Connection", "close")
        phrase = self.responses.get(HTTPStatus(answer.status), ("",))[0] if answer.status in _STATUSES else "Unknown"
        lines = [f"HTTP/1.1 {answer.status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def _wait(self, seconds: float | None) -> None:
        """Wait so long, for ever with `None`, as long as the client is there and the server goes on.

        Raises:
            _Gone: One of them is not.
        """
        ends = None if seconds is None else time.monotonic() + seconds
        while ends is None or ends > time.monotonic():
            left = None if ends is None else max(ends - time.monotonic(), 0.0)
            if not _readable(self.connection, left):
                continue
            if not self.connection.recv(1, socket.MSG_PEEK):
                raise _Gone
            # The next request is here before this one is answered: nothing more can be seen of the client.
            if self._server.stopping.wait(left):
                raise _Gone

    def _reset(self) -> None:
        """Close so that the client's machine is told of a reset: no last data, no orderly end."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # Both: the socket is closed only when the file on it is.
        self._server.closed(self.connection)
        self.rfile.close()
        self.connection.close()


_STATUSES: Final = frozenset(int(status) for status in HTTPStatus)


def _readable(connection: socket.socket, seconds: float | None) -> bool:
    with DefaultSelector() as selector:
        selector.register(connection, EVENT_READ)
        return bool(selector.select(seconds))


def _cut(pieces: Sequence[bytes], at: int | None) -> list[bytes]:
    """Return the pieces up to a number of bytes."""
    if at is None:
        return list(pieces)
    kept: list[bytes] = []
    for piece in pieces:
        kept.append(piece[:at])
        at -= len(kept[-1])
    return [piece for piece in kept if piece]


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _mask_header(name: str, value: str) -> str:
    """Return a header's value, a secret by its length."""
    if name.lower() == "authorization":
        scheme, space, secret = value.partition(" ")
        return f"{scheme} <{len(secret)} characters>" if space else f"<{len(value)} characters>"
    return f"<{len(value)} characters>" if name.lower() in SECRETS else value


# ------------------------------------------------------------------------------------------------------------- running


def run(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM, and return 0.

    Raises:
        ConfigError: The script is wrong, or the port is taken.
    """
    script = read_script(options.script) if options.script else Script()
    playing = FakeServerOptions(options.strict, options.delay_ms, options.window, options.api_key)
    try:
        server = ScriptedServer(options.port, script, playing)
    except OSError as error:
        raise ConfigError(
            f"Port {options.port} of {HOST} cannot be had: {error.strerror}.", "Take another one; 0 finds a free one."
        ) from None
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.stdout.write(f"LISTENING {server.url}\n")
        sys.stdout.flush()
        # A signal that comes just before the wait does not end it: it is seen when the wait is over.
        server.serve_forever(poll_interval=0.5)
    except KeyboardInterrupt:
        pass  # how both signals arrive
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        server.stop()
        signal.signal(signal.SIGTERM, before)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the server from the command line; exit code 2 where the command line or the script is wrong."""
    shown = "examples:\n" + "\n".join(
        f"  {line.replace('guardian fake-model', 'python -m adapters.fakes.server')}" for line in EXAMPLES
    )
    parser = argparse.ArgumentParser(
        prog="fake-model",
        description=ABOUT,
        epilog=f"{shown}\n\n{SCRIPT}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_arguments(parser)
    try:
        return run(parser.parse_args(arguments))
    except ConfigError as error:
        sys.stderr.write(f"fake-model: {error.message}\n  → {error.way_out}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main())
