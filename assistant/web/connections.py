"""Connections that send no request, or never end one, are closed: each of them would be kept for ever."""

from __future__ import annotations

import asyncio
from typing import Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S: Final = 60
"""Seconds in which a request, with all of its body, must have come from its first byte on; an answer may take any time."""
MOST_HEADER_BYTES: Final = 65_536


class Connection(H11Protocol):
    """Uvicorn's connection, with a time for each request."""

    _waiting: asyncio.TimerHandle | None = None
    _begun = False

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Wait for a first byte from now on."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Begin the time of a request with its first byte, not with that of its connection."""
        if self.conn.their_state is h11.IDLE and not self._begun:
            self._stop_waiting()
            self._begun = True
        super().data_received(data)

    def handle_events(self) -> None:
        """Wait for the rest of a request, if this was not all of it: what came behind another's end is read here, too."""
        super().handle_events()
        if self.conn.their_state is h11.SEND_BODY or (self._begun and self.conn.their_state is h11.IDLE):
            self._wait()
        else:
            self._stop_waiting()
            self._begun = False

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
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
