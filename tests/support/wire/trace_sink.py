"""A real HTTP server that stands for LangSmith's API and for an OpenTelemetry collector, and keeps what it is sent.

Of LangSmith's API it knows what the tracing client uses: `GET /info`, which tells the client how to send, and any
`POST`, taken with 202. Of a collector, `POST /v1/traces`. It may be slow, or answer with an error that repeats what
it was sent, keys and all, as careless servers do.
"""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

import zstandard

INFO = {
    "version": "0.13.0",
    "instance_flags": {"zstd_compression_enabled": True},
    "batch_ingest_config": {
        "use_multipart_endpoint": True,
        "size_limit": 100,
        "size_limit_bytes": 20_971_520,
        "scale_up_nthreads_limit": 4,
        "scale_up_qsize_trigger": 1000,
        "scale_down_nempty_trigger": 4,
    },
}
"""What LangSmith says of itself: zstd-compressed multipart bodies, as the hosted service takes them."""


@dataclass(frozen=True)
class Request:
    """One request with a body: its head as it came, with lower-case names, and the body decompressed."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class TraceSink:
    """What was sent, and how the server behaves.

    Attributes:
        wait_s: How long each answer is held back, in seconds.
        status: Of each answer to what is sent.
    """

    url: str
    wait_s: float = 0.0
    status: int = 202
    requests: list[Request] = field(default_factory=list[Request])
    closing: threading.Event = field(default_factory=threading.Event)

    @property
    def sent(self) -> bytes:
        """Every byte of every body, one after the other."""
        return b"\n".join(request.body for request in self.requests)

    def environment(self) -> dict[str, str]:
        """Return what makes a process trace to this server, in LangSmith's own variables."""
        return {"LANGSMITH_TRACING": "true", "LANGSMITH_ENDPOINT": self.url}

    def holds(self, *words: str) -> list[str]:
        """Return those of the words that were sent, in whatever case and in whichever form JSON gives them."""
        text = self.sent.decode("utf-8", "replace").casefold()
        return [word for word in words if word.casefold() in text or json.dumps(word)[1:-1].casefold() in text]


@contextmanager
def trace_sink(*, wait_s: float = 0.0, status: int = 202) -> Generator[TraceSink]:
    """Run the server in a thread of its own, on a free port of loopback."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.sink = TraceSink(f"http://127.0.0.1:{server.server_port}", wait_s, status)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.sink
    finally:
        server.sink.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    sink: TraceSink
    daemon_threads = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that was killed leaves its connection as it is."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 5

    def do_GET(self) -> None:
        self._answer(200, json.dumps(INFO).encode())

    def do_POST(self) -> None:
        sink = cast("_Server", self.server).sink
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self._body(headers)
        sink.requests.append(Request(self.path, headers, _plain(body, headers)))
        self._answer(sink.status, b"{}" if sink.status < 400 else json.dumps(headers).encode())

    def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(headers.get("content-length", 0)))
        parts: list[bytes] = []
        while size := int(self.rfile.readline().strip() or b"0", 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _answer(self, status: int, body: bytes) -> None:
        sink = cast("_Server", self.server).sink
        sink.closing.wait(sink.wait_s)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class names it
        """Say nothing."""


def _plain(body: bytes, headers: dict[str, str]) -> bytes:
    """Return a body without its compression."""
    match headers.get("content-encoding"):
        case "zstd":
            with zstandard.ZstdDecompressor().stream_reader(body, read_across_frames=True) as reader:
                return reader.read()
        case "gzip":
            return gzip.decompress(body)
        case _:
            return body
