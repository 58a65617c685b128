"""A proxy that stands between a client and a server, changes nothing, and remembers every byte of both bodies."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Exchange:
    """One request and its answer; what was cut off is as short as it was."""

    method: str
    path: str
    headers: dict[str, str]
    request: bytes
    status: int
    response: bytes

    @property
    def asked(self) -> Any:
        """The request's body, read as JSON."""
        return json.loads(self.request)

    @property
    def answered(self) -> Any:
        """The answer's body, read as JSON; a stream of events is the list of its events' data, without `[DONE]`."""
        if not self.response.startswith(b"data:"):
            return json.loads(self.response)
        events = [
            line.removeprefix(b"data:").strip() for line in self.response.split(b"\n") if line.startswith(b"data:")
        ]
        return [json.loads(event) for event in events if event != b"[DONE]"]


@dataclass(frozen=True)
class Proxy:
    """A running proxy: its address, and what went through it, in the order in which the answers ended."""

    root: str
    records: list[Exchange] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The address to give to clients of the OpenAI interface."""
        return f"{self.root}/v1"

    def asked(self, path: str) -> list[Any]:
        """Return the bodies of the requests to a path's end, such as `/chat/completions`."""
        return [exchange.asked for exchange in self.records if exchange.path.endswith(path)]


@contextmanager
def recording_proxy(target_root: str, timeout_s: float = 120.0) -> Generator[Proxy]:
    """Forward each request to the target, from threads of this process, until the block ends.

    Each connection serves one request, so that none is left open at the end. A target that does not answer is a 502.
    """
    target = urlsplit(target_root).netloc
    records: list[Exchange] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _forward(self) -> None:
            self.close_connection = True
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, answer = 502, bytearray()
            connection = http.client.HTTPConnection(target, timeout=timeout_s)
            try:
                headers = {name: value for name, value in self.headers.items() if name.lower() not in _OWN_HEADERS}
                connection.request(self.command, self.path, body or None, headers)
                with connection.getresponse() as response:
                    status = response.status
                    self._begin(response)
                    while piece := response.read1(65_536):
                        answer += piece
                        self.wfile.write(piece)
                        self.wfile.flush()
            # The client left, or the target did: either way this connection ends, and the record says how far it got.
            except (OSError, http.client.HTTPException):
                if status == 502:
                    with contextlib.suppress(OSError):
                        self.send_error(502)
            finally:
                connection.close()
                records.append(
                    Exchange(self.command, self.path, dict(self.headers.items()), body, status, bytes(answer))
                )

        def _begin(self, response: http.client.HTTPResponse) -> None:
            self.send_response(response.status)
            for name, value in response.getheaders():
                if name.lower() not in ("connection", "keep-alive", "transfer-encoding"):
                    self.send_header(name, value)
            self.send_header("Connection", "close")
            self.end_headers()

        do_GET = do_POST = _forward  # noqa: N815 - their names in the standard library

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the standard library
            """Print nothing: the records are the log."""

    class Server(ThreadingHTTPServer):
        # Their end is waited for, so that no record comes after the block.
        daemon_threads = False
        request_queue_size = 64

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield Proxy(f"http://127.0.0.1:{server.server_port}", records)
        finally:
            server.shutdown()
            thread.join()


_OWN_HEADERS = ("connection", "keep-alive", "host", "content-length", "transfer-encoding")
"""Of one connection, not of the message."""
