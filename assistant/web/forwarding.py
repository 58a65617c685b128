"""Requests that one worker of several has to answer, passed on to it over its own socket.

The chat page and MCP keep open sessions in the memory of a process, and whichever worker is free accepts a connection.
A client's requests to them therefore go to the worker that its address and browser choose. All other requests are
answered where they come in.
"""

from __future__ import annotations

import asyncio
import hmac
import zlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

import httpx
from starlette.requests import ClientDisconnect, HTTPConnection

from assistant.web.faults import TooLarge, WorkerGone, fault_response
from assistant.web.limits import check_declared_length
from assistant.web.turns import ClientGone, unless_gone

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from assistant.config.settings import ServerSettings
    from assistant.web.workers import Worker

CLIENT_HEADER: Final = b"x-guardian-client"
"""The workers' token, and address and port of the client and of this server, in a request that was passed on."""
_ANYWHERE: Final = ("/v1/", "/healthz", "/readyz", "/metrics", "/docs", "/openapi.json")
"""What begins the paths that every worker answers."""
_HOP_BY_HOP: Final = frozenset({b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade"})
_TRIES: Final = 50
_BETWEEN_TRIES_S: Final = 0.2
"""A worker that is being replaced answers after some seconds."""
_OTHERS_S: Final = 5.0
_FIRST_BYTE_S: Final = 30.0
_SOMEWHERE: Final = httpx.URL("http://worker")
_ONCE: Final = httpx.Limits(max_connections=None, max_keepalive_connections=0)
"""A connection that is kept may have been closed at its other end just now."""


class OwnWorker:
    """The application of one worker, which passes on what others have to answer.

    Args:
        app: The worker's application; its state has `callers`.
        worker: The worker.

    Attributes:
        index: The worker's number, from 0.
        relaying: How many requests are being passed on that have to be answered before this worker ends.
    """

    def __init__(self, app: FastAPI, worker: Worker) -> None:
        self.index = worker.index
        self._app: ASGIApp = app
        self._state = app.state
        self._worker = worker
        settings: ServerSettings = app.state.deployed.settings.server
        self._most_bytes = max(settings.max_upload_bytes, settings.max_request_bytes)
        self.relaying = 0
        self._transports: dict[int, httpx.AsyncHTTPTransport] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope.setdefault("state", {})["passed_on"] = passed_on = self._read_client(scope)
        here = passed_on or scope["path"].startswith(_ANYWHERE) or not _is_plain(_target(scope))
        if here or (owner := self._choose(scope)) == self.index:
            await self._app(scope, receive, send)
            return
        # A session's open stream of notifications ends when its owner does, and is not waited for.
        waited_for = scope["method"] != "GET" or not scope["path"].startswith("/mcp")
        self.relaying += waited_for
        try:
            # A body that is too long is refused before it is asked for.
            check_declared_length(scope, self._most_bytes)
            await self._pass_on(owner, scope, receive, send)
        except (WorkerGone, TooLarge) as error:
            response = fault_response(error)
            response.headers["Connection"] = "close"
            await response(scope, receive, send)
        finally:
            self.relaying -= waited_for

    async def ask_others(self, scope: Scope) -> dict[int, str]:
        """Return what the other workers answer to a request without a body, by their number, if they answer with 200."""

        async def ask(index: int) -> tuple[int, str]:
            request = self._request(scope["method"], scope["raw_path"], scope, None)
            try:
                async with asyncio.timeout(_OTHERS_S):
                    response = await self._transport(index).handle_async_request(request)
                    text = (await response.aread()).decode()
            except (httpx.TransportError, TimeoutError):
                return index, ""
            return index, text if response.status_code == 200 else ""

        others = [index for index in range(self._worker.count) if index != self.index]
        return {index: text for index, text in await asyncio.gather(*map(ask, others)) if text}

    def _choose(self, scope: Scope) -> int:
        connection = HTTPConnection(scope)
        who = f"{self._state.callers.address(connection)} {connection.headers.get('user-agent', '')}"
        return zlib.crc32(who.encode()) % self._worker.count

    def _read_client(self, scope: Scope) -> bool:
        """Whether another worker passed a request on; it says whose it is. Nobody else knows the token."""
        value = next((value for name, value in scope["headers"] if name == CLIENT_HEADER), b"")
        token, _, rest = value.partition(b" ")
        if not hmac.compare_digest(token, self._worker.token.encode()):
            return False
        host, port, own_host, own_port = rest.decode("latin-1").split(" ")
        scope["client"], scope["server"] = (host, int(port)), (own_host, int(own_port))
        scope["headers"] = [(name, value) for name, value in scope["headers"] if name != CLIENT_HEADER]
        return True

    def _request(self, method: str, target: bytes, scope: Scope, content: AsyncIterator[bytes] | None) -> httpx.Request:
        dropped = {*_HOP_BY_HOP, CLIENT_HEADER, *((b"content-length",) if content is None else ())}
        headers = [(name, value) for name, value in scope["headers"] if name not in dropped]
        (host, port), (own_host, own_port) = scope["client"] or ("", 0), scope["server"] or ("", 0)
        who = f"{self._worker.token} {host} {port} {own_host} {own_port}"
        headers.append((CLIENT_HEADER, who.encode("latin-1")))
        return httpx.Request(method, _SOMEWHERE.copy_with(raw_path=target), headers=headers, content=content)

    def _transport(self, index: int) -> httpx.AsyncHTTPTransport:
        if index not in self._transports:
            path = str(self._worker.socket_path(index))
            self._transports[index] = httpx.AsyncHTTPTransport(uds=path, limits=_ONCE, trust_env=False)
        return self._transports[index]

    async def _pass_on(self, owner: int, scope: Scope, receive: Receive, send: Send) -> None:
        has_body = any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])
        body = _Body(receive, whole=not has_body)
        content = body.parts() if has_body else None
        request = self._request(scope["method"], _target(scope), scope, content)
        reply = _Reply(send)
        try:
            await unless_gone(body.wait_for_disconnect, self._relay(owner, request, reply))
        except (ClientGone, ClientDisconnect):
            return
        except httpx.TransportError as error:
            if reply.begun:
                raise  # half an answer: the connection breaks
            raise WorkerGone from error

    async def _relay(self, owner: int, request: httpx.Request, reply: _Reply) -> None:
        response = await self._open(owner, request)
        try:
            await reply.begin(response)
            async for part in response.aiter_raw():
                await reply.go_on(part)
            await reply.end()
        finally:
            await response.aclose()

    async def _open(self, owner: int, request: httpx.Request) -> httpx.Response:
        """Return the beginning of an answer; what only reads is sent again if the worker ends before that."""
        reads = request.method in ("GET", "HEAD")
        again = (httpx.ConnectError, httpx.ReadError, httpx.RemoteProtocolError) if reads else httpx.ConnectError
        try:
            # What runs a turn may take any time until its first byte.
            async with asyncio.timeout(_FIRST_BYTE_S if reads else None):
                for _ in range(_TRIES):
                    try:
                        return await self._transport(owner).handle_async_request(request)
                    except again:
                        await asyncio.sleep(_BETWEEN_TRIES_S)
        except TimeoutError:
            pass
        raise WorkerGone


def _target(scope: Scope) -> bytes:
    query = b"?" + scope["query_string"] if scope["query_string"] else b""
    return scope["raw_path"] + query


def _is_plain(target: bytes) -> bool:
    """Whether a request's target can be passed on as it is: no `*`, no whole address, no dots that a client would take out."""
    try:
        return target.startswith(b"/") and _SOMEWHERE.copy_with(raw_path=target).raw_path == target
    except httpx.InvalidURL:
        return False


class _Body:
    """A request's body as it comes, and, after it, the end of the client's connection.

    Args:
        receive: Of the request.
        whole: Whether there is no body.
    """

    def __init__(self, receive: Receive, *, whole: bool) -> None:
        self._receive = receive
        self._whole = asyncio.Event()
        if whole:
            self._whole.set()

    async def parts(self) -> AsyncIterator[bytes]:
        """Yield the parts.

        Raises:
            ClientDisconnect: The client went away.
        """
        more = True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            more = message.get("more_body", False)
            yield message.get("body", b"")
        self._whole.set()

    async def wait_for_disconnect(self) -> Message:
        """Return the next message after the body."""
        await self._whole.wait()
        return await self._receive()


class _Reply:
    """An answer on its way to the client.

    Attributes:
        begun: Whether the client has got some of it.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = False

    async def begin(self, response: httpx.Response) -> None:
        """Send status and headers."""
        self.begun = True
        raw = [(name.lower(), value) for name, value in response.headers.raw]
        headers = [(name, value) for name, value in raw if name not in (*_HOP_BY_HOP, b"date")]
        await self._send({"type": "http.response.start", "status": response.status_code, "headers": headers})

    async def go_on(self, part: bytes) -> None:
        """Send a part of the body."""
        await self._send({"type": "http.response.body", "body": part, "more_body": True})

    async def end(self) -> None:
        """Send the end."""
        await self._send({"type": "http.response.body", "body": b""})
