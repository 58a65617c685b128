"""MCP over HTTP, at `/mcp` of the server."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from assistant.caller import Caller
from assistant.mcp.server import mcp_server
from assistant.service import Service

if TYPE_CHECKING:
    from fastapi import FastAPI
    from mcp.server.context import ServerRequestContext
    from starlette.requests import HTTPConnection, Request
    from starlette.types import Receive, Scope, Send

    Asked = ServerRequestContext[Any, Any]


PATH: Final = "/mcp"
_METHODS: Final = ("POST", "DELETE")
Identify = Callable[["HTTPConnection"], Caller]
"""Tells who sent a request."""


class _Endpoint:
    """Lets in who may, and hands over to whatever serves now."""

    def __init__(self, identify: Identify) -> None:
        self._identify = identify

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
        from mcp.server.auth.provider import AccessToken
        from starlette.exceptions import HTTPException
        from starlette.requests import HTTPConnection

        caller = self._identify(HTTPConnection(scope))
        if scope["method"] not in _METHODS:
            # A stream for what the server says unasked: there is nothing, and it would hold up the server's end.
            raise HTTPException(405, "This server sends nothing unasked.", {"Allow": ", ".join(_METHODS)})
        if caller.name:
            # The SDK then keeps each session to the caller who began it. How they were identified is nobody's business.
            scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=caller.name, scopes=[]))
        await scope["app"].state.mcp.handle_request(scope, receive, send)


def mount_mcp(app: FastAPI, identify: Identify) -> None:
    """Serve the tools of an application's deployment at `/mcp`, while `serving_mcp` is entered.

    As on every other path, `assistant/web/limits.py` first refuses foreign pages, false host names, and too large or
    too many requests.
    """
    from starlette.routing import Route

    app.router.routes.append(Route(PATH, endpoint=_Endpoint(identify), include_in_schema=False))


@asynccontextmanager
async def serving_mcp(app: FastAPI, identify: Identify) -> AsyncGenerator[None]:
    """Run the sessions; a turn that is running when this ends stays half-finished."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings

    def whose(request: Request | None) -> tuple[Service, Caller]:
        assert request is not None  # noqa: S101  # each message comes in one
        return app.state.service, identify(request)

    app.state.mcp = StreamableHTTPSessionManager(
        mcp_server(app.state.deployed, whose),
        # `OwnPages` sees to it, and knows where keys are used.
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    async with app.state.mcp.run():
        yield
