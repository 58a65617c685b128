"""Addresses for servers of tests."""

from __future__ import annotations

import socket


def free_port() -> int:
    """Return a port of the loopback address on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]
