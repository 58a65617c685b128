"""Faults of HTTP requests that got no reply, or none that can be read."""

from __future__ import annotations

import httpx

from contracts.enums import FaultKind


def fault_kind(error: Exception) -> tuple[FaultKind, str]:
    """Return the kind of a fault that httpx raised, and a description."""
    match error:
        case httpx.ConnectError() | httpx.ProxyError():
            return FaultKind.UNREACHABLE, "it cannot be reached"
        case httpx.TimeoutException():
            return FaultKind.UNREACHABLE, "there was no connection in time"
        case httpx.TransportError():
            return FaultKind.BROKEN_OFF, "the connection broke off"
        case _:
            # The words of a library may quote the reply; its class says enough.
            return FaultKind.UNREADABLE, f"the reply cannot be read ({type(error).__name__})"
