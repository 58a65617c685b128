"""As much of a Bolt 4.4 server as one reading transaction takes: it writes down what it is sent.

It stands in for a Neo4j server, which runs on no machine of the tests; it proves what goes over the wire, and not
that a server understands it.
"""

from __future__ import annotations

import socket
import struct
import threading
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, cast

HELLO, GOODBYE, RESET, RUN, BEGIN, COMMIT, ROLLBACK, PULL, DISCARD = (
    0x01,
    0x02,
    0x0F,
    0x10,
    0x11,
    0x12,
    0x13,
    0x3F,
    0x2F,
)
SUCCESS, RECORD, FAILURE = 0x70, 0x71, 0x7F


@dataclass
class BoltServer:
    """A server with one result for every statement, or one error.

    Attributes:
        columns, rows: The result.
        failure: The code of an error that RUN is answered with.
        seen: The messages that came, each its kind and its fields.
    """

    columns: list[str] = field(default_factory=list[str])
    rows: list[list[Any]] = field(default_factory=list[list[Any]])
    failure: str = ""
    seen: list[tuple[int, list[Any]]] = field(default_factory=list[tuple[int, list[Any]]])

    def __enter__(self) -> Self:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = [threading.Thread(target=self._accept)]
        self._threads[0].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Closing alone does not wake who waits in `accept`.
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for connection in self._open:
            connection.close()
        for thread in self._threads:
            thread.join(5)

    def of(self, kind: int) -> list[list[Any]]:
        """Return the fields of the messages of a kind."""
        return [fields for seen, fields in self.seen if seen == kind]

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self._open.append(connection)
            thread = threading.Thread(target=self._serve, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rb") as stream:
                stream.read(20)
                connection.sendall(b"\x00\x00\x04\x04")
                while message := _message(stream):
                    self.seen.append(message)
                    if message[0] == GOODBYE:
                        return
                    for reply in self._replies(*message):
                        connection.sendall(_chunked(reply))
        except OSError:
            return

    def _replies(self, kind: int, fields: list[Any]) -> list[bytes]:
        def success(**values: Any) -> bytes:
            return bytes((0xB1, SUCCESS)) + _packed(values)

        match kind:
            case 0x01:  # HELLO
                return [success(server="Neo4j/4.4.0", connection_id="bolt-1")]
            case 0x10 if self.failure:  # RUN
                return [bytes((0xB1, FAILURE)) + _packed({"code": self.failure, "message": "said the server"})]
            case 0x10:
                return [success(fields=self.columns, t_first=0)]
            case 0x3F:  # PULL
                wanted = fields[0]["n"]
                sent = self.rows if wanted < 0 else self.rows[:wanted]
                records = [bytes((0xB1, RECORD)) + _packed(row) for row in sent]
                return [*records, success(has_more=len(sent) < len(self.rows), type="r", t_last=0)]
            case _:
                return [success()]


def _message(stream: Any) -> tuple[int, list[Any]] | None:
    data = b""
    while True:
        head = stream.read(2)
        if len(head) < 2:
            return None
        size = struct.unpack(">H", head)[0]
        if not size and data:
            break
        data += stream.read(size)
    fields: list[Any] = []
    place = 2
    for _ in range(data[0] & 0x0F):
        value, place = _unpacked(data, place)
        fields.append(value)
    return data[1], fields


def _chunked(data: bytes) -> bytes:
    return struct.pack(">H", len(data)) + data + b"\x00\x00"


def _packed(value: object) -> bytes:
    match value:
        case None:
            return b"\xc0"
        case bool():
            return b"\xc3" if value else b"\xc2"
        case int():
            return b"\xcb" + struct.pack(">q", value)
        case str():
            data = value.encode()
            return b"\xd1" + struct.pack(">H", len(data)) + data
        case list():
            parts = cast("list[object]", value)
            return b"\xd5" + struct.pack(">H", len(parts)) + b"".join(map(_packed, parts))
        case dict():
            pairs = cast("dict[str, object]", value)
            return b"\xd9" + struct.pack(">H", len(pairs)) + b"".join(_packed(k) + _packed(v) for k, v in pairs.items())
        case _:
            raise TypeError(type(value).__name__)


def _unpacked(data: bytes, at: int) -> tuple[Any, int]:
    mark = data[at]
    if mark < 0x80 or mark >= 0xF0:
        return (mark if mark < 0x80 else mark - 256), at + 1
    if mark in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[mark], at + 1
    if mark == 0xC1:
        return struct.unpack_from(">d", data, at + 1)[0], at + 9
    if 0xC8 <= mark <= 0xCB:
        size = 1 << (mark - 0xC8)
        return int.from_bytes(data[at + 1 : at + 1 + size], "big", signed=True), at + 1 + size
    if mark in (0xD0, 0xD1) or mark >> 4 == 0x8:
        size, at = (mark & 0x0F, at + 1) if mark >> 4 == 0x8 else _size(data, at, 0xD0)
        return data[at : at + size].decode(), at + size
    if mark in (0xD4, 0xD5) or mark >> 4 == 0x9:
        size, at = (mark & 0x0F, at + 1) if mark >> 4 == 0x9 else _size(data, at, 0xD4)
        values: list[Any] = []
        for _ in range(size):
            value, at = _unpacked(data, at)
            values.append(value)
        return values, at
    size, at = (mark & 0x0F, at + 1) if mark >> 4 == 0xA else _size(data, at, 0xD8)
    pairs: dict[str, Any] = {}
    for _ in range(size):
        key, at = _unpacked(data, at)
        pairs[key], at = _unpacked(data, at)
    return pairs, at


def _size(data: bytes, at: int, short: int) -> tuple[int, int]:
    width = 1 << (data[at] - short)
    return int.from_bytes(data[at + 1 : at + 1 + width], "big"), at + 1 + width
