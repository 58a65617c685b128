"""Access to `langgraph dev`: each API key sees only its owner's data; without keys, everybody may ask."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Mapping, MutableMapping
from typing import Any, Final, cast

from langgraph_sdk import Auth
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from adapters.checkpoints.sqlite import open_saver
from assistant.deployment import deployment
from assistant.keys import OPEN_SETTINGS, key_in
from assistant.studio.storage import OWNER, threads_file
from assistant.studio.views import sees_drafts
from assistant.wiring.access import keys_of
from contracts.errors import ConfigError

Json = dict[str, Any]
_DEPLOYED: Final = deployment()
_KEYS: Final = keys_of(_DEPLOYED)
_NOBODY: Final = ""
"""The identity of callers where no keys are used: it counts as not authenticated (`graph/callers.py`)."""
_NEEDED: Final = "This server asks for an API key. Send it as `Authorization: Bearer KEY` or `X-API-Key: KEY`."
_FOR_DEVELOPERS: Final = ("/internal", "/deploy")
_CLOSED: Final = "This server uses API keys: it shows and deletes nobody's threads for its developers."
_NOT_WRITTEN: Final = "The state of a thread is written with the key of a role that has operator_view."
_SYSTEM: Final = {"created_by": "system"}
"""What the server notes of the assistant that it makes of each graph."""
_OTHER_PAGE: Final = "This server answers the page of LangGraph Studio and pages of this machine, not {origin}."
_WRITING: Final = ("create", "update", "create_run")
_NO_WORDS_OF_OTHERS: Final = (
    "Send messages of the user alone, as `messages: [{role: user, content: ...}]`. What the assistant or the system "
    "said is written with the key of a role that has operator_view."
)
_USERS: Final = ("user", "human")

_USUAL: Final[Json] = _DEPLOYED.context_type().model_dump(mode="json")
"""The run settings of the deployment."""

auth = Auth()


# ------------------------------------------------------------------------------------------------------------ who asks


@auth.authenticate
async def authenticate(headers: dict[bytes, bytes]) -> Json:
    """Return the sender of a request, with the role of the key; if no keys are used, an anonymous one.

    Raises:
        HTTPException: 401 if there is no valid key; 503 if the keys cannot be read.
    """
    try:
        await _KEYS.refresh()
        return await asyncio.to_thread(
            _user, {name.decode("latin-1"): headers[name].decode("latin-1") for name in headers}
        )
    except ConfigError as error:
        raise Auth.exceptions.HTTPException(status_code=503, detail=str(error)) from None


def _user(headers: Mapping[str, str]) -> Json:
    if not _KEYS.wanted:
        return {"identity": _NOBODY, "is_authenticated": False, "display_name": ""}
    found = _KEYS.caller(key_in(headers))
    if found is None:
        raise Auth.exceptions.HTTPException(status_code=401, detail=_NEEDED)
    caller, _ = found
    return {"identity": caller.name, "role": caller.role}


class KeyFirst:
    """A check of the key before everything else, because the server answers some of its pages without one.

    If keys are used, the pages for developers are closed, because they show anybody's threads and can delete all of
    them.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = None if scope["type"] == "lifespan" else await _refusal(scope)
        if refusal is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await JSONResponse({"detail": refusal.detail}, refusal.status_code)(scope, receive, send)
        else:
            await WebSocketClose(1008, refusal.detail)(scope, receive, send)


async def _refusal(scope: Scope) -> Auth.exceptions.HTTPException | None:
    path: str = scope["path"]
    # Whether the server lives; a browser's question whether it may ask; what the server asks itself, which no request
    # can claim to be.
    if path == "/ok" or scope.get("method") == "OPTIONS" or scope.get("root_path", "").startswith("/noauth"):
        return None
    try:
        user = await authenticate(dict(scope["headers"]))
    except Auth.exceptions.HTTPException as error:
        return error
    if user["identity"] == _NOBODY:
        return _refused_page(dict(scope["headers"]).get(b"origin", b"").decode("latin-1"))
    if path.startswith(_FOR_DEVELOPERS):
        return Auth.exceptions.HTTPException(status_code=403, detail=_CLOSED)
    sees_drafts.set(_DEPLOYED.profile.sees_all(user["role"]))
    return None


def _refused_page(origin: str) -> Auth.exceptions.HTTPException | None:
    """Refuse a page that CORS does not name: a browser keeps such a page from reading, but not from asking.

    Where keys are used there is no need: a page that has no key is refused, and one that has it may ask.
    """
    allowed = _cors()
    named: list[str] = allowed.get("allow_origins") or []
    if not origin or "*" in named or origin in named or re.fullmatch(allowed.get("allow_origin_regex") or "", origin):
        return None
    return Auth.exceptions.HTTPException(status_code=403, detail=_OTHER_PAGE.format(origin=origin))


def _cors() -> Json:
    """Return what the server lets pages of other origins do, as it is told by `langgraph.json`; else nothing.

    The server's own module has it, too, but its licence keeps it out of what we import.
    """
    if own := os.environ.get("CORS_CONFIG"):
        return cast("Json", json.loads(own))
    http: Json = json.loads(os.environ.get("LANGGRAPH_HTTP") or "{}")
    return cast("Json", http.get("cors") or {})


app = Starlette(middleware=[Middleware(KeyFirst)])


# -------------------------------------------------------------------------------------------------------- what is whose


@auth.on
async def only_ones_own(ctx: Auth.types.AuthContext, value: MutableMapping[str, Any]) -> Json | None:
    """Allow threads with their runs, and crons, only to their owner; writing a state needs the operator's view.

    A person who writes a state can turn a draft that did not pass into an answer, and so read it.
    """
    found = await _identify(ctx)
    if found is None:
        return None
    owner, role = found
    if not _DEPLOYED.profile.sees_all(role):
        if _writes_state(ctx, value):
            raise Auth.exceptions.HTTPException(status_code=403, detail=_NOT_WRITTEN)
        asked = _run_of(value)
        _deny_settings(role, asked)
        _take_words_of_the_user(asked)
    if ctx.action in _WRITING:
        _metadata(value)[OWNER] = owner
    if ctx.resource == "threads" and (ctx.action == "create" or value.get("if_not_exists") == "create"):
        await _deny_what_others_have(owner, str(value.get("thread_id") or ""))
    return {OWNER: owner}


@auth.on.assistants
async def own_assistants(ctx: Auth.types.AuthContext, value: MutableMapping[str, Any]) -> Json | None:
    """Allow everybody the unchanged graph, and an assistant with its own settings only to its owner."""
    found = await _identify(ctx)
    if found is None:
        return None
    owner, role = found
    if ctx.action in ("read", "search"):
        return {"$or": [_SYSTEM, {OWNER: owner}]}
    if ctx.action in _WRITING:
        if not _DEPLOYED.profile.sees_all(role):
            _deny_settings(role, value)
        metadata = _metadata(value)
        metadata[OWNER] = owner
        for name in _SYSTEM:
            metadata.pop(name, None)
    return {OWNER: owner}


@auth.on.store
async def own_items(ctx: Auth.types.AuthContext, value: MutableMapping[str, Any]) -> None:
    """Make every namespace of the store begin with the name of its owner's key."""
    found = await _identify(ctx)
    if found is not None:
        owner, _ = found
        namespace = tuple(value.get("namespace") or ())
        value["namespace"] = namespace if namespace[:1] == (owner,) else (owner, *namespace)


async def _identify(ctx: Auth.types.AuthContext) -> tuple[str, str] | None:
    """Return the name and the role of the caller's key; `None` where no keys are used.

    Raises:
        HTTPException: 403, what was begun with a key that is gone, or before keys were used, goes no further; 503 if the
            keys cannot be read.
    """
    try:
        await _KEYS.refresh()
        keys = await asyncio.to_thread(lambda: _KEYS.all() if _KEYS.wanted else None)
    except ConfigError as error:
        raise Auth.exceptions.HTTPException(status_code=503, detail=str(error)) from None
    if keys is None:
        return None
    key = keys.get(ctx.user.identity)
    if key is None:
        raise Auth.exceptions.HTTPException(status_code=403, detail="The API key of this request is gone.")
    return ctx.user.identity, key.role


def _run_of(value: Mapping[str, Any]) -> Json:
    """Return the run that a request asks for, at once or, as a cron, later; an empty one where it asks for none."""
    return value.get("kwargs") or value.get("payload") or {}


def _take_words_of_the_user(run: Json) -> None:
    """Leave of the input what the user says now: role and content.

    An id would put a message in the place of one that stands in the thread, a verified answer among them.

    Raises:
        HTTPException: 403, the input has messages of others, or none that can be told to be the user's.
    """
    given = run.get("input")
    if given is None:
        return
    if not isinstance(given, dict):
        raise Auth.exceptions.HTTPException(status_code=403, detail=_NO_WORDS_OF_OTHERS)
    entries = cast("Json", given)
    messages: object = entries.get("messages") or []
    several = cast("list[object]", messages) if isinstance(messages, list) else [messages]
    entries["messages"] = [_of_the_user(message) for message in several]


def _of_the_user(message: object) -> Json:
    if isinstance(message, str):
        return {"role": "user", "content": message}
    entries: Json = cast("Json", message) if isinstance(message, dict) else {}
    # Each alone can say whose a message is, and which of them counts is the library's business.
    kinds = [entries[name] for name in ("role", "type") if name in entries]
    if not kinds or any(kind not in _USERS for kind in kinds):
        raise Auth.exceptions.HTTPException(status_code=403, detail=_NO_WORDS_OF_OTHERS)
    return {"role": "user", "content": entries.get("content")}


def _writes_state(ctx: Auth.types.AuthContext, value: Mapping[str, Any]) -> bool:
    """Return whether a request puts something of its own into the state of a thread, rather than a new message."""
    if ctx.action == "create_run" or ctx.resource == "crons":
        command: Json = _run_of(value).get("command") or {}
        return bool(command.get("update") or command.get("goto"))
    # The server says of other changes, to a thread's metadata or its runs, which metadata they are about.
    return ctx.resource == "threads" and ctx.action == "update" and "metadata" not in value


def _deny_settings(role: str, asked: Mapping[str, Any]) -> None:
    """Refuse run settings that are the operators', moderation among them; a form sends all, as the deployment has them.

    Args:
        role: A role without the operator's view.
        asked: A run, a cron or an assistant, with its context and configuration.

    Raises:
        HTTPException: 403.
    """
    given: Json = {**((asked.get("config") or {}).get("configurable") or {}), **(asked.get("context") or {})}
    changed = {name for name, usual in _USUAL.items() if name in given and given[name] != usual}
    if names := sorted(changed - OPEN_SETTINGS - {"role"}):  # the role is the key's, whatever is asked
        detail = f"The role {role!r} may not set {', '.join(names)}. It may set {' and '.join(sorted(OPEN_SETTINGS))}."
        raise Auth.exceptions.HTTPException(status_code=403, detail=detail)


def _metadata(value: MutableMapping[str, Any]) -> Json:
    if value.get("metadata") is None:
        value["metadata"] = {}
    return cast("Json", value["metadata"])


async def _deny_what_others_have(owner: str, thread_id: str) -> None:
    """Refuse an id under which somebody else's thread is stored.

    After a crash the server may not know that thread, and would hand it to whoever asks for its id first.

    Raises:
        HTTPException: 409.
    """
    async with open_saver(threads_file(_DEPLOYED)) as saver:
        steps = [step async for step in saver.alist({"configurable": {"thread_id": thread_id}})]
    if steps and {step.metadata[OWNER] for step in steps if OWNER in step.metadata} != {owner}:
        raise Auth.exceptions.HTTPException(status_code=409, detail=f"Thread {thread_id} exists already.")
