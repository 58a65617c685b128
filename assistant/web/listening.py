"""The port that a server listens on, opened before anything that takes time is imported."""

from __future__ import annotations

import socket
from typing import Final

from contracts.errors import ConfigError

BACKLOG: Final = 2048
"""Connections that may wait to be accepted."""
_LAST_PORT: Final = 65535


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
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise ConfigError(
            f"Nothing can listen on {host} port {port}: {error.strerror}.",
            "Choose another port with --port, 0 for any free one, or stop the program that uses it.",
        ) from error
    sock.setblocking(False)
    return sock
