"""The way in for owners of keys where browsers without a key are visitors: `/sign-in`, and the page that leads there."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from assistant.web.callers import Callers, presented_key
from assistant.web.faults import Unauthorized, fault_response
from assistant.web.page.look import Look, look_for
from assistant.web.page.markdown import words
from assistant.web.page.small_pages import STATIC_HEADERS, small_page

SIGN_IN: Final = "/sign-in"
_OPERATORS: Final = ("/review", "/documents")
"""Pages that only owners of keys may see."""
_LONGEST: Final = 2000
_HEADERS: Final = {
    **STATIC_HEADERS,
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    # No dialog of the browser: visitors see this page, too.
    "WWW-Authenticate": "Bearer",
}


def install_sign_in(app: FastAPI) -> None:
    """Add `/sign-in` to an application with visitors, and make operators' pages lead there whoever has no key.

    Args:
        app: The application, with the state of `assistant.web.app`.
    """
    callers: Callers = app.state.callers
    router = APIRouter(include_in_schema=False)

    @router.get(SIGN_IN)
    async def sign_in(request: Request, to: str = "/") -> Response:
        if callers.keys.caller(presented_key(request)) is None:
            raise Unauthorized(
                "This page is for the owners of API keys.", "Give the key as the password; any name will do."
            )
        # From here on, the browser sends the key with every request.
        return RedirectResponse(to if is_own_path(to) else "/", 303)

    async def show_refusal(request: Request, error: Exception) -> Response:
        assert isinstance(error, Unauthorized)  # noqa: S101  # it is installed for these alone
        if not _is_operators(request) or "text/html" not in request.headers.get("accept", ""):
            return fault_response(error, request.scope["path"])
        return HTMLResponse(_sign_in_html(request), 401, _HEADERS)

    app.include_router(router)
    app.add_exception_handler(Unauthorized, show_refusal)


def is_own_path(text: str) -> bool:
    """Whether an address leads to this server, wherever it is called: a path, with a query or without."""
    # Browsers read a backslash as a slash, and leave out line breaks and tabs.
    plain = text.isascii() and text.isprintable() and "\\" not in text and len(text) <= _LONGEST
    return plain and text.startswith("/") and not text.startswith("//")


def _is_operators(request: Request) -> bool:
    path: str = request.scope["path"]
    return any(path == page or path.startswith(f"{page}/") for page in _OPERATORS)


def _sign_in_html(request: Request) -> str:
    accepted = request.headers.get("accept-language", "")
    look = look_for(request.app.state.deployed.profile, "", request.query_params.get("lang", ""), accepted)
    back = f'<p><a href="/?lang={look.language}">{look.say("back")}</a></p>'
    body = f"<p>{look.say('sign_in_why')}</p>{sign_in_link(request, look)}{back}"
    return small_page(look.say("sign_in_title"), body, look)


def sign_in_link(request: Request, look: Look) -> str:
    """Return a link to `/sign-in` that leads back to where a request came from; empty where there is no such page."""
    callers: Callers = request.app.state.callers
    if not callers.visitors:
        return ""
    here = request.url.path if request.method in ("GET", "HEAD") else _page_of(request.url.path)
    asked = f"{here}?{request.url.query}" if request.url.query else here
    way = words(f"{SIGN_IN}?{urlencode({'to': asked})}" if is_own_path(asked) else SIGN_IN)
    return f'<p><a href="{way}">{look.say("sign_in")}</a></p><p class="dim">{look.say("sign_in_how")}</p>'


def _page_of(path: str) -> str:
    """Return the page that a form is on: the address of a form alone may take no other method."""
    return path if path == "/review/turn" else next(page for page in _OPERATORS if path.startswith(page))
