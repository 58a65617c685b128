"""A webhook's receiver on a real socket, which answers as it is told, and tickets to send to it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from contracts.enums import HandOffOutcome, Language
from contracts.report import HandOff, Ticket

NEVER = b""
"""A reply that does not come: the connection stays open until the receiver ends."""
GARBAGE = b"\x00\xff neither HTTP nor anything else \r\n\r\n"
CUT = b"HTTP/1.1 2"
"""A reply that breaks off."""


def reply(status: int, *headers: str, body: bytes = b"") -> bytes:
    lines = (f"HTTP/1.1 {status} Some", *headers, f"Content-Length: {len(body)}", "Connection: close")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@dataclass
class Request:
    """What arrived: first line, headers by their names in small letters, body."""

    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def key(self) -> str:
        return self.headers["idempotency-key"]


@dataclass
class Receiver:
    """A receiver that runs.

    Attributes:
        replies: Given one after another, the last one again and again.
        requests: Those that arrived whole, in order.
    """

    port: int
    replies: list[bytes] = field(default_factory=lambda: [reply(200)])
    requests: list[Request] = field(default_factory=list)
    arrived: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hooks/guardian"

    @property
    def keys(self) -> list[str]:
        return [request.key for request in self.requests]

    def wait(self) -> None:
        """Wait until one more request has arrived."""
        assert self.arrived.acquire(timeout=30)


@contextmanager
def receiver(*replies: bytes, port: int = 0) -> Generator[Receiver]:
    """Receive on loopback, each connection in a thread of its own, until the block ends."""
    with socket.create_server(("127.0.0.1", port)) as server:
        running = Receiver(server.getsockname()[1])
        if replies:
            running.replies = list(replies)
        over, lock, threads = threading.Event(), threading.Lock(), []
        server.settimeout(0.05)

        def serve(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                connection.settimeout(30)
                request = _read(connection)
                if request is None:
                    return
                with lock:
                    running.requests.append(request)
                    answer = running.replies.pop(0) if len(running.replies) > 1 else running.replies[0]
                running.arrived.release()
                if answer == NEVER:
                    over.wait(60)
                connection.sendall(answer)

        def accept() -> None:
            while not over.is_set():
                try:
                    connection, _ = server.accept()
                except TimeoutError:
                    continue
                threads.append(threading.Thread(target=serve, args=(connection,)))
                threads[-1].start()

        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield running
        finally:
            over.set()
            accepting.join()
            for thread in threads:
                thread.join()


def _read(connection: socket.socket) -> Request | None:
    read = b""
    while b"\r\n\r\n" not in read:
        piece = connection.recv(65536)
        if not piece:
            return None
        read += piece
    head, _, body = read.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers.get("content-length", 0)):
        piece = connection.recv(65536)
        if not piece:
            return None
        body += piece
    return Request(first, headers, body)


def ticket(thread: str = "support-17", turn: str = "1", **changes: Any) -> Ticket:
    made = Ticket(
        thread_id=thread,
        turn_id=turn,
        language=Language.RU,
        role="user",
        question="Почему чайник не кипит?",
        answer="Здесь нужен человек.",
        record=HandOff(
            engineer_intervention_needed=True,
            issue_summary="Чайник не кипит",
            steps_completed=["запрос понят"],
            next_steps=["Ответить лично."],
            outcome=HandOffOutcome.ESCALATION_REQUIRED,
        ),
        text="# Обращение: чайник не кипит\n",
        verdict="FAIL",
        reasons=("abstained",),
    )
    return made.model_copy(update=changes)


def tickets(number: int) -> Iterable[Ticket]:
    return [ticket(f"thread-{i}") for i in range(number)]
