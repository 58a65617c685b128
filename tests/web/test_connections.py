"""What a client may do with a connection: send a request in time, with headers of a size."""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from ipaddress import ip_network

import pytest
import uvicorn
from fastapi import FastAPI

from assistant.web import connections
from assistant.web.listening import open_socket


@contextmanager
def served(kind: type[connections.HttpConnection]) -> Generator[tuple[str, int]]:
    """Serve one page."""
    app = FastAPI()
    app.get("/")(lambda: "here")
    config = uvicorn.Config(
        app,
        http=kind,
        h11_max_incomplete_event_size=connections.MOST_HEADER_BYTES,
        lifespan="off",
        ws="none",
        log_config=None,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    with open_socket("127.0.0.1", 0) as sock:
        thread = threading.Thread(target=lambda: server.run([sock]))
        thread.start()
        try:
            yield sock.getsockname()
        finally:
            server.should_exit = True
            thread.join(20)


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    """A server of one page whose requests must come within half a second."""
    monkeypatch.setattr(connections, "REQUEST_S", 0.5)
    with served(connections.HttpConnection) as place:
        yield place


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


ASKED = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


def answered(place: tuple[str, int]) -> bool:
    """Whether a request has its answer; a connection that is refused may be gone before the request is sent."""
    try:
        return b"here" in answer(place, ASKED)
    except ConnectionError:
        return False


def test_an_address_has_only_so_many_connections_open(caplog: pytest.LogCaptureFixture) -> None:
    """One more is refused with a sentence and closed, and there is room again when another one ends."""
    with served(connections.make_connection_class(connections.OpenConnections(2))) as place, ExitStack() as opened:
        first, _ = (opened.enter_context(socket.create_connection(place, timeout=20)) for _ in range(2))
        for _ in range(3):
            refused = answer(place)
            assert refused.startswith(b"HTTP/1.1 503 ")
            assert b"Connection: close" in refused
            assert b"too many connections open" in refused
        first.close()
        # The server learns of the end when it comes to it.
        assert any(answered(place) for _ in range(1000))
    assert len([line for line in caplog.messages if "GUARDIAN_PROXIES" in line]) == 1


def test_a_proxy_that_is_named_may_have_any_number() -> None:
    """Everybody comes by it."""
    kind = connections.make_connection_class(connections.OpenConnections(1, [ip_network("127.0.0.0/8")]))
    with (
        served(kind) as place,
        socket.create_connection(place, timeout=20),
        socket.create_connection(place, timeout=20),
    ):
        assert answered(place)


def test_refusals_are_told_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    """By the clock, whichever address it is; a host of IPv6 is counted with all the addresses it can have."""
    now = [0.0]
    counted = connections.OpenConnections(1, [ip_network("10.0.0.1")], lambda: now[0])
    assert counted.enter("2001:db8::1")
    for second in (0.0, 30.0, 59.0, 60.0, 61.0):
        now[0] = second
        assert not counted.enter("2001:db8::2")
    assert len(caplog.messages) == 2
    assert counted.enter("2001:db8:1::1")
    assert counted.enter("::ffff:10.0.0.1")
    assert counted.enter("::ffff:10.0.0.1")
    counted.leave("2001:db8::1")
    assert counted.enter("2001:db8::2")


def test_addresses_of_ipv4_are_counted_each_where_the_server_listens_on_ipv6() -> None:
    """There all of them come as `::ffff:...`, in the one network that the loopback of IPv6 is in, too."""
    counted = connections.OpenConnections(1)
    assert all(map(counted.enter, ("::ffff:192.0.2.1", "::ffff:192.0.2.2", "::1")))
    assert not counted.enter("::ffff:192.0.2.1")
    assert not counted.enter("192.0.2.2")
    counted.leave("::ffff:192.0.2.1")
    assert counted.enter("192.0.2.1")
