"""Connections to PostgreSQL: kept between questions, lent one at a time, and shut where the server takes too long."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

from adapters.index.remote.engine import EngineFault

if TYPE_CHECKING:
    import psycopg

_T = TypeVar("_T")

CONNECT_S: Final = 5.0
"""For reaching the server."""
_TOO_LATE: Final = "See that the server is not overloaded, and that nobody has locked its tables."
_WAY_OUT: Final = "See that the server runs and its address, user, password and database are right."


class PostgresPool:
    """The connections of one index.

    Args:
        url: `postgresql://user:password@host:port/database`.
        password: Where the address has none.
    """

    def __init__(self, url: str, password: str) -> None:
        self._url = url
        self._secrets = [secret for secret in (password, urlsplit(url).password) if secret]
        self._password = password
        self._idle: list[psycopg.Connection[Any]] = []

    def close(self) -> None:
        """Close what is not lent; the object may still be used."""
        while self._idle:
            self._idle.pop().close()

    def ask(self, ask: Callable[[psycopg.Connection[Any]], _T], seconds: float) -> _T:
        """Ask on a connection that is there; once more on a new one, where the server was started anew in between.

        Raises:
            EngineFault: The server cannot be asked, or not within these seconds.
        """
        end = time.monotonic() + seconds
        while self._idle:
            try:
                with self._connection(seconds) as connection:
                    return ask(connection)
            except EngineFault:
                if time.monotonic() >= end:
                    raise
                self.close()
        with self._connection(max(0.1, end - time.monotonic()), new=True) as connection:
            return ask(connection)

    @contextmanager
    def _connection(self, seconds: float, *, new: bool = False) -> Generator[psycopg.Connection[Any]]:
        """Lend a connection; whatever a server does, it is given back, or shut, in time."""
        with self.our_errors():
            try:
                connection = self.open(seconds) if new else self._idle.pop()
            except IndexError:
                connection = self.open(seconds)
            try:
                with _shut_after(connection, seconds):
                    yield connection
            except BaseException:
                connection.close()
                raise
            self._idle.append(connection)

    def open(self, seconds: float) -> psycopg.Connection[Any]:
        """Return a new connection, which the caller closes; the driver's errors are not turned into ours."""
        import psycopg

        more: Mapping[str, Any] = {"password": self._password} if self._password else {}
        connection = psycopg.connect(
            self._url,
            autocommit=True,
            # Statements that are kept would be lost behind a pool that lends one connection to many.
            prepare_threshold=None,
            # libpq counts in whole seconds, from two on.
            connect_timeout=max(2, round(min(seconds, CONNECT_S))),
            application_name="guardian",
            **more,
        )
        # To compile a query takes longer than the query.
        connection.execute(
            "SET jit = off; SET hnsw.ef_search = 200; SET hnsw.iterative_scan = strict_order; "
            "SET hnsw.max_scan_tuples = 200000"
        )
        return connection

    @contextmanager
    def our_errors(self) -> Generator[None]:
        """Turn the driver's errors into ours, without a password."""
        import psycopg

        try:
            yield
        except psycopg.Error as error:
            text = " ".join(str(error).split()) or type(error).__name__
            for secret in self._secrets:
                text = text.replace(secret, "***")
            raise EngineFault(text[:300].rstrip("."), _WAY_OUT) from None


@contextmanager
def _shut_after(connection: psycopg.Connection[Any], seconds: float) -> Generator[None]:
    """End the talk with a server that takes too long: also one that stands still answers no request to cancel.

    Raises:
        EngineFault: It took too long; the driver would say that the server had hung up.
    """
    import psycopg

    handle = socket.socket(fileno=connection.fileno())
    late = threading.Event()

    def shut() -> None:
        late.set()
        with contextlib.suppress(OSError):
            handle.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, shut)
    timer.daemon = True
    timer.start()
    try:
        yield
    except psycopg.Error as error:
        if not late.is_set():
            raise
        raise EngineFault(f"it took longer than {round(seconds, 1):g} s", _TOO_LATE) from error
    finally:
        timer.cancel()
        # The file is libpq's to close.
        handle.detach()
