"""What a client may do with a connection: send a request in time, with headers of a size."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
import uvicorn
from fastapi import FastAPI

from assistant.web import connections
from assistant.web.serving import listening


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    """A server of one page whose requests must come within half a second."""
    monkeypatch.setattr(connections, "REQUEST_S", 0.5)
    app = FastAPI()
    app.get("/")(lambda: "here")
    config = uvicorn.Config(
        app,
        http=connections.Connection,
        h11_max_incomplete_event_size=connections.MOST_HEADER_BYTES,
        lifespan="off",
        ws="none",
        log_config=None,
    )
    server = uvicorn.Server(config)
    with listening("127.0.0.1", 0) as sock:
        thread = threading.Thread(target=lambda: server.run([sock]))
        thread.start()
        yield sock.getsockname()
        server.should_exit = True
        thread.join(20)


def answer(place: tuple[str, int], *sent: bytes) -> bytes:
    """Send bytes, and return what comes until the server closes the connection."""
    with socket.create_connection(place, timeout=20) as client:
        for part in sent:
            client.sendall(part)
        got = b""
        while part := client.recv(65_536):
            got += part
        return got


def test_a_request_that_never_ends_is_closed(address: tuple[str, int]) -> None:
    """Nothing, half a line, headers without their end, and a body that is too short."""
    for sent in (
        b"",
        b"GET / HT",
        b"GET / HTTP/1.1\r\nHost: a\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab",
    ):
        got = answer(address, *([sent] if sent else []))
        assert b"here" not in got


def test_headers_have_a_size(address: tuple[str, int]) -> None:
    """A header of a megabyte is refused, or the connection closed, before all of it was read."""
    try:
        got = answer(address, b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: " + b"x" * 1_000_000 + b"\r\n\r\n")
    except ConnectionError:
        got = b""
    assert b"here" not in got


def test_a_whole_request_is_answered(address: tuple[str, int]) -> None:
    """The same server answers whoever sends a request."""
    assert b"here" in answer(address, b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
