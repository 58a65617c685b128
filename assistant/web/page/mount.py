"""The chat page at `/` of the server, behind a guard that admits allowed callers and only what the page needs."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from typing import Annotated, Final, Protocol
from urllib.parse import quote

from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import BaseModel
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.routing import Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assistant.caller import Caller
from assistant.turns.views import cited_of, said_by
from assistant.web.callers import Asker, Callers, Kind, Served
from assistant.web.faults import TooMany, fault_response
from assistant.web.limits import replay_body
from assistant.web.page.documents import document_routes
from assistant.web.page.look import Look, look_for
from assistant.web.page.queue import own_session, read_cancel, read_event, unknown_session
from assistant.web.page.review import install_review
from assistant.web.page.sign_in import install_sign_in
from assistant.web.page.small_pages import (
    STATIC_HEADERS,
    export_conversation,
    no_export_html,
    passages_html,
    shared_html,
)
from assistant.web.paths import wrong_method
from contracts.errors import GuardianError, InputError, UnknownThread
from contracts.evidence import EvidenceItem
from contracts.result import StructuredAgentResult

CSS: Final = files("assistant.web.page").joinpath("static", "page.css").read_text("utf-8")
"""How the page looks. Fonts are the system's: nothing is loaded from anywhere."""
_JOIN: Final = "/gradio_api/queue/join"
_DATA: Final = "/gradio_api/queue/data"
_CANCEL: Final = "/gradio_api/cancel"
_RESET: Final = "/gradio_api/reset"
_SENT: Final = (_JOIN, _CANCEL, _RESET)
_NEEDED: Final = (
    *("/assets/", "/static/", "/svelte/"),
    *(*_SENT, _DATA),
    *("/theme.css", "/gradio_api/theme.css", "/gradio_api/startup-events", "/config"),
)
"""What of Gradio's the page uses; nothing else of it is served: no uploads, no files, no proxy, no API."""
_CODE: Final = ("/assets/", "/static/", "/svelte/", "/theme.css", "/gradio_api/theme.css")
"""What of it is the same for everybody."""
_LONGEST_PATH: Final = 255
_OF_COOKIES: Final = (b"cookie", b"x-forwarded-proto")
"""The headers that say which cookie came: its name hangs on whether the browser came by https."""
_POLICY: Final = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; "
    "object-src 'none'; frame-src 'none'; frame-ancestors {ancestors}; base-uri 'self'; form-action 'none'"
)
_STATIC_POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_ICON: Final = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Cpath fill='%231f5fbf' "
    "d='M16 2 4 7v9c0 7 5 12 12 14 7-2 12-7 12-14V7z'/%3E%3Cpath fill='none' stroke='white' stroke-width='3' "
    "d='m10 16 4 4 8-9'/%3E%3C/svg%3E"
)


WIDGET: Final = files("assistant.web.page").joinpath("static", "widget.js").read_bytes()
"""The button that other sites load; it has no words of the server's in it."""
_WIDGET_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Cache-Control": "public, max-age=3600, must-revalidate",
    "ETag": f'"{hashlib.sha256(WIDGET).hexdigest()[:32]}"',
}


def mount_page(app: FastAPI) -> None:
    """Mount the chat page of an application as its last route, which gets every path that no other route has.

    Args:
        app: The application, with the state of `assistant.web.app`.
    """
    # Nothing is reported to anybody: Gradio reads this when it is imported, and later.
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    import gradio as gr
    from gradio.themes import Default

    from assistant.web.page.app import ChatPage
    from assistant.web.page.script import head

    callers: Callers = app.state.callers
    app.include_router(page_routes(app))
    app.include_router(_introduction(app))
    app.include_router(document_routes(app.state.deployed, app.state.indexing))
    app.include_router(_widget())
    if callers.visitors:
        install_sign_in(app)
    install_review(app)
    page = ChatPage(app)
    gr.mount_gradio_app(
        app,
        page.blocks,
        path="/",
        footer_links=[],
        run_history=False,
        show_error=False,
        ssr_mode=False,
        enable_monitoring=False,
        pwa=False,
        mcp_server=False,
        theme=Default(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]),
        # Gradio would rewrite the selectors of what it is given as `css`.
        head=f'<link rel="icon" href="{_ICON}"><link rel="stylesheet" href="/page/style.css">{head(page.languages, visitors=callers.visitors)}',
    )
    mounted = app.router.routes[-1]
    assert isinstance(mounted, Mount)  # noqa: S101  # that is what it has just done
    mounted.app = Guard(app, mounted.app, page)


class Guard:
    """A guard in front of the page: it hides paths that the page does not need, and refuses callers whom it does not know.

    A browser that asks for the page becomes a visitor where there are any; the response sets its cookie.

    It reads a request's body and query before Gradio, which would trust them. From the body it passes on what the
    page's queue needs, and from the query only the session, under a name of the caller's own.

    Args:
        app: The application whose callers count.
        page: The guarded page.
        queue: The page's queue, for its sessions and events.
    """

    def __init__(self, app: FastAPI, page: ASGIApp, queue: Queue) -> None:
        self._app = app
        self._page = page
        self._queue = queue
        self._callers: Callers = app.state.callers
        self._policy = _POLICY.format(ancestors=" ".join(self._callers.settings.frame_ancestors) or "'none'")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._page(scope, receive, send)
            return
        set_cookie = ""
        try:
            if not self._is_open(scope):
                set_cookie = await self._identify(scope)
            answer = self._refuse(scope) or await self._read(scope, receive)
        except GuardianError as error:
            answer = fault_response(error)
        if isinstance(answer, Response):
            await answer(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update({**STATIC_HEADERS, "Content-Security-Policy": self._policy})
                if set_cookie:
                    headers.append("Set-Cookie", set_cookie)
                if self._callers.visitors and scope["path"] == "/":
                    # No cache may hand a visitor's cookie to another one, or the page without a cookie to a new one.
                    headers["Cache-Control"] = "no-store"
            await send(message)

        await self._page(scope, answer, sending)

    def _is_open(self, scope: Scope) -> bool:
        """Whether anybody may have this: before a browser is a visitor, it may load the page's code."""
        open_paths = scope["method"] == "HEAD" and scope["path"] == "/"
        return self._callers.visitors and (open_paths or _is_among(scope["path"], _CODE))

    async def _identify(self, scope: Scope) -> str:
        """Note whose request it is, and return the cookie that its response sets; empty if it sets none."""
        connection = HTTPConnection({**scope, "app": self._app})
        presence = None
        try:
            if scope["path"] == "/" and scope["method"] == "GET":
                identity, presence = await self._callers.receive(connection, self._app.state.rates)
            else:
                identity = self._callers.identify(connection)
        except TooMany:
            self._app.state.metrics.limited("new_visitor")
            raise
        scope.setdefault("state", {})["caller"] = identity.caller
        return presence.header() if presence is not None else ""

    def _refuse(self, scope: Scope) -> Response | None:
        path = scope["path"]
        if path.startswith("/gradio_api/heartbeat/"):
            # It would hold a connection for each tab, which a server that is to end waits for; no state hangs on it.
            return Response(status_code=204)
        if not _is_needed(path):
            raise UnknownThread("There is nothing at this address.", "`/` is the chat page.")
        taken = ("POST",) if path in _SENT else ("GET", "HEAD")
        if scope["method"] not in taken:
            raise wrong_method(", ".join(taken))
        if path == _RESET:
            # Gradio answers it so, whatever it says, and does nothing.
            return JSONResponse({"success": True})
        return None

    async def _read(self, scope: Scope, receive: Receive) -> Receive:
        """Put what Gradio shall know of a request in the place of what it says, and return what hands its body over."""
        session = HTTPConnection(scope).query_params.get("session_hash", "")
        scope["query_string"] = b""
        if scope["path"] not in (_JOIN, _CANCEL, _DATA):
            return receive
        caller: Caller = scope["state"]["caller"]
        if scope["path"] == _JOIN:
            event = read_event(await Request(scope, receive).body(), self._queue.inputs)
            said = event.model_copy(update={"session_hash": own_session(caller, event.session_hash)})
            return _replay(scope, said, receive)
        if scope["path"] == _CANCEL:
            unwanted = read_cancel(await Request(scope, receive).body())
            own = own_session(caller, unwanted.session_hash)
            if not self._queue.has(own, unwanted.event_id):
                raise UnknownThread("There is no such event in this session.", "It may have ended: reload the page.")
            return _replay(scope, unwanted.model_copy(update={"session_hash": own}), receive)
        own = own_session(caller, session)
        if not self._queue.has(own):
            # Gradio would begin a stream, and break it off with a traceback in the log.
            raise unknown_session()
        scope["query_string"] = f"session_hash={own}".encode()
        return receive


class Queue(Protocol):
    """The state of Gradio's queue."""

    @property
    def inputs(self) -> Mapping[int, int]:
        """The number of inputs of each event of the page, by its `fn_index`."""
        ...

    def has(self, session: str, event: str = "") -> bool:
        """Whether a session has asked for something that it may listen to; with an event, whether the event is its own."""
        ...


def _is_needed(path: str) -> bool:
    # No file has a longer name, and Gradio fails at one.
    named = len(path) <= _LONGEST_PATH
    return path == "/" or (named and _is_among(path, _NEEDED))


def _is_among(path: str, places: tuple[str, ...]) -> bool:
    return any(path == one or (one[-1] == "/" and path.startswith(one)) for one in places)


def _replay(scope: Scope, said: BaseModel, receive: Receive) -> Receive:
    body = said.model_dump_json().encode()
    headers = MutableHeaders(scope=scope)
    headers["content-type"], headers["content-length"] = "application/json", str(len(body))
    return replay_body(body, receive)


def page_routes(app: FastAPI) -> APIRouter:
    """Return the routes of an application beside the chat: its style, passages, shared conversations and exports."""
    router = APIRouter(prefix="/page", include_in_schema=False)
    profile = app.state.deployed.profile

    def look_of(request: Request, role: str, chosen: str) -> Look:
        return look_for(profile, role, chosen, request.headers.get("accept-language", ""))

    @router.get("/style.css")
    async def style() -> Response:
        return Response(CSS, media_type="text/css", headers=STATIC_HEADERS)

    @router.get("/passage")
    async def passage(
        request: Request,
        service: Served,
        caller: Asker,
        c: Annotated[str, Query()] = "",
        t: Annotated[str, Query()] = "",
        n: Annotated[int, Query()] = 0,
        r: Annotated[int, Query()] = 0,
        lang: str = "",
    ) -> HTMLResponse:
        look = look_of(request, caller.role, lang)
        try:
            turns = await service.turns(caller, c)
        except UnknownThread:
            turns = []
        raw = next((turn.result for turn in turns if turn.turn_id == t), None)
        result = StructuredAgentResult.model_validate(raw) if raw else None
        items = _items(result, look, n, r) if result else []
        headers = {**STATIC_HEADERS, "Content-Security-Policy": _STATIC_POLICY}
        html = passages_html(items, look, said_by(result) if result else None)
        return HTMLResponse(html, 200 if items else 404, headers)

    @router.get("/shared")
    async def shared(request: Request, service: Served, s: Annotated[str, Query()] = "") -> HTMLResponse:
        role = app.state.callers.reader_role(request)
        look = replace(look_of(request, role, ""), operator=False)
        turns, until = await service.find_shared(s, role)
        html = await asyncio.to_thread(shared_html, turns, look, until)
        headers = {**STATIC_HEADERS, "Content-Security-Policy": _STATIC_POLICY, "X-Robots-Tag": "noindex"}
        # A link that has ended shows nothing, nor does a copy of its page.
        headers |= {"Cache-Control": "no-store"}
        return HTMLResponse(html, 200 if turns else 404, headers)

    @router.get("/export/{thread:path}.md")
    async def export(request: Request, service: Served, caller: Asker, thread: str, lang: str = "") -> Response:
        look = look_of(request, caller.role, lang)
        try:
            text = export_conversation(await service.turns(caller, thread), look)
        except (UnknownThread, InputError):
            return HTMLResponse(
                no_export_html(look), 404, {**STATIC_HEADERS, "Content-Security-Policy": _STATIC_POLICY}
            )
        name = quote(f"{profile.name}-{thread[:12]}.md", safe="")
        headers = {**STATIC_HEADERS, "Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
        return Response(text, media_type="text/markdown; charset=utf-8", headers=headers)

    return router


def _introduction(app: FastAPI) -> APIRouter:
    """Return the way for pages whose browsers keep no cookie, as in a frame of another site, to be a visitor."""
    router = APIRouter(prefix="/page", include_in_schema=False)

    @router.post("/visitor")
    async def visitor(request: Request) -> dict[str, str]:
        callers: Callers = app.state.callers
        if _has_cookie(callers, request):
            # No script may read what the cookie holds, and the page does not need it.
            return {"token": ""}
        try:
            return {"token": await callers.begin_without_cookie(request, app.state.rates)}
        except TooMany:
            app.state.metrics.limited("new_visitor")
            raise

    return router


def _has_cookie(callers: Callers, request: Request) -> bool:
    """Whether the browser sent the cookie of a visitor, whatever else says who sends the request."""
    headers = [pair for pair in request.scope["headers"] if pair[0] in _OF_COOKIES]
    try:
        return callers.identify(HTTPConnection({**request.scope, "headers": headers})).kind is Kind.VISITOR
    except GuardianError:
        return False


def _widget() -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get("/widget.js")
    async def widget(request: Request) -> Response:
        if _WIDGET_HEADERS["ETag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=_WIDGET_HEADERS)
        return Response(WIDGET, media_type="text/javascript; charset=utf-8", headers=_WIDGET_HEADERS)

    return router


def _items(result: StructuredAgentResult, look: Look, number: int, rank: int) -> list[EvidenceItem]:
    """Return the passages that may be shown: what an answer cites; to operators, whatever a turn had found."""
    if rank:
        return result.evidence[rank - 1 : rank] if look.operator and rank > 0 else []
    return cited_of(result, look.profile, number)
