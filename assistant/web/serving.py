"""One process that listens, and that answers running turns before it ends.

At the first SIGTERM or Ctrl-C, the server accepts no more turns, and `/readyz` says so. Running turns have
GUARDIAN_DRAIN_SECONDS to end, and their callers get the answers. Only then does the port close. A second signal ends
the process at once. Turns are stored as they run, so even then nothing is lost.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

import uvicorn

from assistant.web.connections import MOST_HEADER_BYTES, OpenConnections, make_connection_class
from contracts.errors import ConfigError

if TYPE_CHECKING:
    from fastapi import FastAPI

    from assistant.config.settings import ServerSettings

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_INTERRUPTED: Final = 130
_LAST_PORT: Final = 65535
_BACKLOG: Final = 2048
_LAST_BYTES_S: Final = 5
"""How long connections may take, once no turn runs any more, to have the rest of what was sent to them."""
_LOGGING: Final[dict[str, Any]] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "guardian: %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "loggers": {
        **{name: {"handlers": ["stderr"], "level": "ERROR", "propagate": False} for name in ("uvicorn", "assistant")},
        # What is deleted is told, too.
        "assistant.web.expiry": {"level": "INFO"},
    },
}


def open_socket(host: str, port: int) -> socket.socket:
    """Open a port before the server can answer requests there.

    Args:
        host: An address or a host name.
        port: 0 to 65535; 0 means any free port.

    Raises:
        ConfigError: The port cannot be opened.
    """
    if not 0 <= port <= _LAST_PORT:
        raise ConfigError(f"{port} is no port.", f"Choose one from 1 to {_LAST_PORT}, or 0 for any free one.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise ConfigError(
            f"{host!r} is no address to listen on.", "Leave --host out, or give an IP address."
        ) from error
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        # At once: another process can take a port that is only bound.
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        raise ConfigError(
            f"Nothing can listen on {host} port {port}: {error.strerror}.",
            "Choose another port with --port, 0 for any free one, or stop the program that uses it.",
        ) from error
    sock.setblocking(False)
    return sock


class _HttpServer(uvicorn.Server):
    """Uvicorn's server, with our way of ending."""

    def __init__(self, config: uvicorn.Config, app: FastAPI, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._state = app.state
        self._announce = announce
        self._draining: asyncio.Task[None] | None = None
        self._signalled = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._announce()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        # Uvicorn's own raises the signal again at the end, and so the process would not end with 0.
        loop = asyncio.get_running_loop()

        def handle(_: int, __: FrameType | None) -> None:
            if self._signalled:
                # Not by an exception: what waits in a thread would keep the process.
                os._exit(_INTERRUPTED)
            self._signalled = True
            loop.call_soon_threadsafe(self._begin_to_end)

        before = {number: signal.signal(number, handle) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _begin_to_end(self) -> None:
        self._draining = asyncio.create_task(self._drain())

    async def _drain(self) -> None:
        seconds = self._state.deployed.settings.server.drain_s
        if (indexing := getattr(self._state, "indexing", None)) is not None:
            indexing.end()  # whoever waits for an upload gets an answer while turns end
        try:
            left = await self._state.service.drain(seconds)
        finally:
            self.should_exit = True
        if left:
            turns = "1 turn is" if left == 1 else f"{left} turns are"
            print(
                f"guardian: {turns} left half-finished; `guardian threads list` shows where, and "
                "`guardian threads resume` finishes them.",
                file=sys.stderr,
            )


def run(make: Callable[[], FastAPI], sock: socket.socket, announce: Callable[[], None]) -> None:
    """Serve until a signal comes.

    Args:
        make: Builds the application, which lives as long as the server. It is called inside the server's event loop.
            Without a loop, Gradio would make its own on import and never close them.
        sock: The socket to listen on; closed at the end.
        announce: Called when the server begins to answer requests.

    Raises:
        GuardianError: The deployment cannot be opened; the error says why.
    """

    async def serve() -> None:
        app = make()
        settings: ServerSettings = app.state.deployed.settings.server
        proxies = (*settings.proxies, *app.state.deployed.settings.callers.trusted_proxies)
        config = uvicorn.Config(
            app,
            lifespan="off",
            ws="none",
            access_log=False,
            log_config=_LOGGING,
            http=make_connection_class(OpenConnections(settings.connections_per_address, proxies)),
            h11_max_incomplete_event_size=MOST_HEADER_BYTES,
            server_header=False,
            # Who asked is told from the connection: a header says what its sender likes.
            proxy_headers=False,
            timeout_graceful_shutdown=_LAST_BYTES_S,
        )
        # Opened here, and not by uvicorn, which would print a traceback where the way out should stand.
        async with app.router.lifespan_context(app):
            await _HttpServer(config, app, announce).serve([sock])

    with sock:
        asyncio.run(serve())
