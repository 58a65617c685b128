"""Callers over HTTP: an API key identifies its owner; if no keys are used, everybody is the same caller."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from fastapi import Depends, Request
from starlette.requests import HTTPConnection

from assistant.keys import Key, Keys, key_in
from assistant.service import Caller, Service
from assistant.web.faults import Unauthorized


def presented_key(connection: HTTPConnection) -> str:
    """Return the key that a request carries; empty if it carries none."""
    return key_in(connection.headers)


def identify(connection: HTTPConnection) -> tuple[Caller, Key | None]:
    """Return the caller of a request and the caller's key; the key is `None` if no keys are used.

    Raises:
        Unauthorized: Keys are used, and the request has no valid one.
        ConfigError: The keys cannot be read.
    """
    keys: Keys = connection.app.state.keys
    if not keys.wanted:
        return Caller(role=connection.app.state.options.role), None
    found = keys.caller(presented_key(connection))
    if found is None:
        raise Unauthorized("This server asks for an API key.", "Send it as `Authorization: Bearer KEY`.")
    return found


def caller_of(request: Request) -> Caller:
    """Return the caller of a request.

    Raises:
        Unauthorized: Keys are used, and the request has no valid one.
    """
    return identify(request)[0]


def service_of(request: Request) -> Service:
    """Return the open deployment."""
    return request.app.state.service


Asker: TypeAlias = Annotated[Caller, Depends(caller_of)]
Served: TypeAlias = Annotated[Service, Depends(service_of)]
