"""Who may ask `langgraph dev`: whoever has an API key, each for himself; where no keys are used, everybody."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, MutableMapping
from typing import Any, Final, cast

from langgraph_sdk import Auth
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from adapters.checkpoints.sqlite import open_saver
from assistant.keys import key_in, keys_of
from assistant.studio_storage import OWNER, threads_file
from assistant.wiring import deployment
from contracts.errors import ConfigError

Json = dict[str, Any]
_DEPLOYED: Final = deployment()
_KEYS: Final = keys_of(_DEPLOYED)
_NOBODY: Final = ""
"""The identity of callers where no keys are used: it counts as not authenticated (`graph/callers.py`)."""
_NEEDED: Final = "This server asks for an API key. Send it as `Authorization: Bearer KEY` or `X-API-Key: KEY`."
_FOR_DEVELOPERS: Final = ("/internal", "/deploy")
_CLOSED: Final = "This server uses API keys: it shows and deletes nobody's threads for its developers."
_SYSTEM: Final = {"created_by": "system"}
"""What the server notes of the assistant that it makes of each graph."""
_WRITING: Final = ("create", "update", "create_run")

auth = Auth()


# ------------------------------------------------------------------------------------------------------------ who asks


@auth.authenticate
async def authenticate(headers: dict[bytes, bytes]) -> Json:
    """Return who sent a request, with the role of the key; where no keys are used, nobody by name.

    Raises:
        HTTPException: 401, no key that counts; 503, the keys cannot be read.
    """
    try:
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
    """Asks for the key before anything else, for the server answers some pages of its own without asking.

    Where keys are used, nobody gets those for developers, which show anybody's thread and delete all of them.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = await _refusal(scope) if scope["type"] == "http" else None
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            await JSONResponse({"detail": refusal.detail}, refusal.status_code)(scope, receive, send)


async def _refusal(scope: Scope) -> Auth.exceptions.HTTPException | None:
    path: str = scope["path"]
    # Whether the server lives; a browser's question whether it may ask; what the server asks itself, which no request
    # can claim to be.
    if path == "/ok" or scope["method"] == "OPTIONS" or scope.get("root_path", "").startswith("/noauth"):
        return None
    try:
        user = await authenticate(dict(scope["headers"]))
    except Auth.exceptions.HTTPException as error:
        return error
    if user["identity"] != _NOBODY and path.startswith(_FOR_DEVELOPERS):
        return Auth.exceptions.HTTPException(status_code=403, detail=_CLOSED)
    return None


app = Starlette(middleware=[Middleware(KeyFirst)])


# -------------------------------------------------------------------------------------------------------- what is whose


@auth.on
async def only_ones_own(ctx: Auth.types.AuthContext, value: MutableMapping[str, Any]) -> Json | None:
    """Threads with their runs, and crons, are for whoever made them."""
    owner = await _owner(ctx)
    if owner is None:
        return None
    if ctx.action in _WRITING:
        _metadata(value)[OWNER] = owner
    if ctx.resource == "threads" and (ctx.action == "create" or value.get("if_not_exists") == "create"):
        await _deny_what_others_have(owner, str(value.get("thread_id") or ""))
    return {OWNER: owner}


@auth.on.assistants
async def own_assistants(ctx: Auth.types.AuthContext, value: MutableMapping[str, Any]) -> Json | None:
    """Everybody may use the graph as it is; an assistant with settings of its own is its maker's."""
    owner = await _owner(ctx)
    if owner is None:
        return None
    if ctx.action in ("read", "search"):
        return {"$or": [_SYSTEM, {OWNER: owner}]}
    if ctx.action in _WRITING:
        metadata = _metadata(value)
        metadata[OWNER] = owner
        for name in _SYSTEM:
            metadata.pop(name, None)
    return {OWNER: owner}


@auth.on.store
async def own_items(ctx: Auth.types.AuthContext, value: MutableMapping[str, Any]) -> None:
    """Every namespace of the store begins with the name of its owner's key."""
    owner = await _owner(ctx)
    if owner is not None:
        namespace = tuple(value.get("namespace") or ())
        value["namespace"] = namespace if namespace[:1] == (owner,) else (owner, *namespace)


async def _owner(ctx: Auth.types.AuthContext) -> str | None:
    """Return the name of the caller's key; `None` where no keys are used.

    Raises:
        HTTPException: 403, what was begun with a key that is gone, or before keys were used, goes no further.
    """
    known = await asyncio.to_thread(lambda: _KEYS.all() if _KEYS.wanted else None)
    if known is None:
        return None
    if ctx.user.identity not in known:
        raise Auth.exceptions.HTTPException(status_code=403, detail="The API key of this request is gone.")
    return ctx.user.identity


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
