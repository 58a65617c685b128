"""Limits on connections: idle and endless ones are closed, and each address may have only so many.

Without limits, such connections would stay open for ever, and a server can hold only so many.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Collection
from ipaddress import IPv4Network, IPv6Network
from typing import Final, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from assistant.web.addresses import is_within, network_of
from assistant.web.faults import fault_response
from contracts.errors import GuardianError

_LOG: Final = logging.getLogger(__name__)

REQUEST_S: Final = 60
"""Seconds in which a request, with all of its body, must have come from its first byte on; an answer may take any time."""
MOST_HEADER_BYTES: Final = 65_536


_TOLD_EVERY_S: Final = 60.0
_REFUSAL: Final = fault_response(
    GuardianError("This address has too many connections open.", "Close some, or try again later.")
).body
_REFUSED: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 5\r\nConnection: close\r\n"
    + f"Content-Length: {len(_REFUSAL)}\r\n\r\n".encode()
    + bytes(_REFUSAL)
)


class OpenConnections:
    """The number of open connections of each address.

    Args:
        most: The most connections of one address.
        proxies: Networks without a limit, because all callers come through them.
        clock: Seconds, monotonic.
        on_change: Called with the number of all open connections when it changes.
    """

    def __init__(
        self,
        most: int,
        proxies: Collection[IPv4Network | IPv6Network] = (),
        clock: Callable[[], float] = time.monotonic,
        on_change: Callable[[int], None] | None = None,
    ) -> None:
        self._most = most
        self._proxies = proxies
        self._clock = clock
        self._on_change = on_change
        self._open: Counter[str] = Counter()
        self._told = -math.inf

    def enter(self, host: str) -> bool:
        """Count one more connection of an address, unless it has reached the limit; return whether it was counted."""
        network = network_of(host)
        if self._open[network] >= self._most and not is_within(host, self._proxies):
            self._tell(host)
            return False
        self._open[network] += 1
        self._tell_change()
        return True

    def leave(self, host: str) -> None:
        """Count one connection less."""
        network = network_of(host)
        self._open[network] -= 1
        if self._open[network] <= 0:
            del self._open[network]
        self._tell_change()

    def _tell_change(self) -> None:
        if self._on_change is not None:
            self._on_change(self._open.total())

    def _tell(self, host: str) -> None:
        # Once a minute: whoever opens thousands must not fill the log, too.
        now = self._clock()
        if now - self._told >= _TOLD_EVERY_S:
            self._told = now
            _LOG.error(
                "Connections from %s are refused: it has %d open. If that is a proxy, name it in GUARDIAN_PROXIES; "
                "GUARDIAN_CONNECTIONS_PER_ADDRESS is how many an address may have.",
                host,
                self._most,
            )


def make_connection_class(connections: OpenConnections) -> type[HttpConnection]:
    """Return a class for one server's connections, which share one count.

    Args:
        connections: The open connections.
    """
    return type("BoundedConnection", (HttpConnection,), {"counts": connections})


class HttpConnection(H11Protocol):
    """Uvicorn's connection, with a time limit for each request.

    Attributes:
        counts: The server's open connections, including this one; `None` if any number may be open.
    """

    counts: OpenConnections | None = None
    _host = ""
    _refused = False
    _waiting: asyncio.TimerHandle | None = None
    _begun = False

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Start waiting for the first byte, unless the address has too many connections."""
        peer = transport.get_extra_info("peername")
        self._host = str(cast("tuple[object, ...]", peer)[0]) if isinstance(peer, tuple) else ""
        if self.counts is not None and not self.counts.enter(self._host):
            self._refused = True
            transport.write(_REFUSED)
            transport.close()
            return
        super().connection_made(transport)
        self._wait()

    def eof_received(self) -> None:
        """Ignore the end of a connection that was refused."""
        if not self._refused:
            super().eof_received()

    def data_received(self, data: bytes) -> None:
        """Start a request's time at its first byte, not at the start of its connection."""
        if self._refused:
            return
        if self.conn.their_state is h11.IDLE and not self._begun:
            self._stop_waiting()
            self._begun = True
        super().data_received(data)

    def handle_events(self) -> None:
        """Wait for the rest of a request if it is not complete, also for one that came right after another."""
        super().handle_events()
        if self.conn.their_state is h11.SEND_BODY or (self._begun and self.conn.their_state is h11.IDLE):
            self._wait()
        else:
            self._stop_waiting()
            self._begun = False

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting, and make room for another connection."""
        if self._refused:
            return
        if self.counts is not None:
            self.counts.leave(self._host)
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._waiting is None:
            self._waiting = self.loop.call_later(REQUEST_S, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if self.flow.read_paused:
            self._wait()  # the application has not read what came
        else:
            self.transport.close()
