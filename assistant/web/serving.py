"""A process that answers at a port, and that answers running turns before it ends.

At the first SIGTERM or Ctrl-C, the server accepts no more turns, and `/readyz` says so. Running turns have
GUARDIAN_DRAIN_SECONDS to end, and their callers get the answers. Only then does the port close. A second signal ends
the process at once. Turns are stored as they run, so even then nothing is lost.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

import uvicorn

from assistant.web.connections import MOST_HEADER_BYTES, HttpConnection, OpenConnections, make_connection_class
from assistant.web.forwarding import OwnWorker
from assistant.web.listening import BACKLOG

if TYPE_CHECKING:
    from fastapi import FastAPI

    from assistant.config.settings import ServerSettings
    from assistant.web.workers import Worker

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_INTERRUPTED: Final = 130
_LAST_BYTES_S: Final = 5
"""How long connections may take, once no turn runs any more, to have the rest of what was sent to them."""
_LOOK_S: Final = 0.05
_ALL_S: Final = 60
"""How long the first worker waits for the others before it says where the server listens."""
_PAUSE_S: Final = 0.002
_PAUSES: Final = 10
"""How often a worker with more connections than another waits before it takes the next one all the same."""
_IN_VAIN_S: Final = 0.5
"""How long it does not wait again after it has done so in vain: the other may be busy for long, or stopped."""
_FULL: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_LOG: Final = logging.getLogger(__name__)
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


class _WorkerPort:
    """The port of several workers, as one of them accepts connections there.

    Args:
        sock: The port's socket, which all workers have.
        worker: This worker.
        connection: The class of a connection.
    """

    def __init__(self, sock: socket.socket, worker: Worker, connection: type[HttpConnection]) -> None:
        self.worker = worker
        self._sock = sock
        self._connection = connection

    async def accept(self, server: uvicorn.Server) -> None:
        """Accept connections, but leave them to workers that have fewer, if those take them soon."""
        loop = asyncio.get_running_loop()

        def connect() -> HttpConnection:
            return self._connection(config=server.config, server_state=server.server_state, app_state={})

        no_wait_until = 0.0
        while True:
            await self._wait_for_connection()
            if loop.time() >= no_wait_until and not await self._leave_to_others():
                no_wait_until = loop.time() + _IN_VAIN_S
            try:
                accepted, _ = self._sock.accept()
                accepted.setblocking(False)
                await loop.connect_accepted_socket(connect, accepted)
            except BlockingIOError:
                continue  # another worker has taken it
            except OSError as error:
                if error.errno in _FULL:
                    _LOG.error("No connection can be accepted: %s.", error.strerror)  # no traceback
                    await asyncio.sleep(1)

    async def _wait_for_connection(self) -> None:
        loop = asyncio.get_running_loop()
        came = asyncio.Event()
        loop.add_reader(self._sock, came.set)
        try:
            await came.wait()
        finally:
            loop.remove_reader(self._sock)

    async def _leave_to_others(self) -> bool:
        """Wait while others have fewer connections; return whether they took some, or had no fewer."""
        for _ in range(_PAUSES):
            if not self.worker.has_more_than_others():
                return True
            await asyncio.sleep(_PAUSE_S)
        return False


class _HttpServer(uvicorn.Server):
    """Uvicorn's server, with our way of ending."""

    def __init__(
        self, config: uvicorn.Config, app: FastAPI, announce: Callable[[], None], port: _WorkerPort | None
    ) -> None:
        super().__init__(config)
        self._state = app.state
        self._announce = announce
        self._port = port
        self._accepting: asyncio.Task[None] | None = None
        self._telling: asyncio.Task[None] | None = None
        self._draining: asyncio.Task[None] | None = None
        self._signalled = False
        self._ending = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._port is not None:
            self._accepting = asyncio.create_task(self._port.accept(self))
            worker = self._port.worker
            asyncio.get_running_loop().add_reader(worker.parent, self._end_with_parent, worker.parent)
            worker.tell_ready()
            self._telling = asyncio.create_task(self._announce_when_all_answer(worker))
        else:
            self._announce()

    async def _announce_when_all_answer(self, worker: Worker) -> None:
        with suppress(TimeoutError):  # a worker that does not start is told of by the parent
            async with asyncio.timeout(_ALL_S):
                while not worker.all_answer():  # noqa: ASYNC110  # other processes write it
                    await asyncio.sleep(_LOOK_S)
        self._announce()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for task in (self._accepting, self._telling):
            if task is not None:
                task.cancel()
        await super().shutdown(sockets)

    def _end_with_parent(self, pipe: int) -> None:
        asyncio.get_running_loop().remove_reader(pipe)
        self._begin_to_end()

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
        if self._ending:
            return  # a worker is told by its parent's pipe, and maybe by a signal, too
        self._ending = True
        self._draining = asyncio.create_task(self._drain())

    async def _drain(self) -> None:
        seconds = self._state.deployed.settings.server.drain_s
        if (indexing := getattr(self._state, "indexing", None)) is not None:
            indexing.end()  # whoever waits for an upload gets an answer while turns end
        ends = asyncio.get_running_loop().time() + seconds
        try:
            left = await self._state.service.drain(seconds)
            # Other workers may still be answering what this one passes on.
            own: OwnWorker | None = self._state.own_worker
            while own is not None and own.relaying and asyncio.get_running_loop().time() < ends:  # noqa: ASYNC110  # as rarely
                await asyncio.sleep(_LOOK_S)
        finally:
            self.should_exit = True
        if left:
            turns = "1 turn is" if left == 1 else f"{left} turns are"
            print(
                f"guardian: {turns} left half-finished; `guardian threads list` shows where, and "
                "`guardian threads resume` finishes them.",
                file=sys.stderr,
            )


def run(
    make: Callable[[], FastAPI], sock: socket.socket, announce: Callable[[], None], worker: Worker | None = None
) -> None:
    """Serve until a signal comes, or, in a worker, until its parent is gone.

    Args:
        make: Builds the application, which lives as long as the server. It is called inside the server's event loop.
            Without a loop, Gradio would make its own on import and never close them.
        sock: The socket to listen on; closed at the end.
        announce: Called when the server begins to answer requests.
        worker: This process, if it is one of several at the port.

    Raises:
        GuardianError: The deployment cannot be opened; the error says why.
    """

    async def serve() -> None:
        app = make()
        settings: ServerSettings = app.state.deployed.settings.server
        proxies = (*settings.proxies, *app.state.deployed.settings.callers.trusted_proxies)
        told = None if worker is None else worker.tell_connections
        bounded = make_connection_class(OpenConnections(settings.connections_per_address, proxies, on_change=told))
        if worker is not None:
            app.state.own_worker = OwnWorker(app, worker)
        config = uvicorn.Config(
            app.state.own_worker or app,
            lifespan="off",
            ws="none",
            access_log=False,
            log_config=_LOGGING,
            # A worker's own socket is for the other workers, which have counted the connection.
            http=bounded if worker is None else HttpConnection,
            h11_max_incomplete_event_size=MOST_HEADER_BYTES,
            server_header=False,
            # Who asked is told from the connection: a header says what its sender likes.
            proxy_headers=False,
            timeout_graceful_shutdown=_LAST_BYTES_S,
            backlog=BACKLOG,
        )
        # Opened here, and not by uvicorn, which would print a traceback where the way out should stand.
        async with app.router.lifespan_context(app):
            port = None if worker is None else _WorkerPort(sock, worker, bounded)
            server = _HttpServer(config, app, announce, port)
            await server.serve([sock] if worker is None else [_open_own_socket(worker)])

    try:
        with sock:
            asyncio.run(serve())
    finally:
        if worker is not None:
            worker.remove_folder()


def _open_own_socket(worker: Worker) -> socket.socket:
    path = worker.socket_path(worker.index)
    path.unlink(missing_ok=True)  # of the worker that this one replaces
    own = socket.socket(socket.AF_UNIX)
    own.bind(str(path))
    own.setblocking(False)
    return own
