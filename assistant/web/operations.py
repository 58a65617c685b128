"""Routes for the people who run the server: liveness, readiness and metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import ceil
from typing import TYPE_CHECKING, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import HTTPConnection

from assistant.web.callers import Served, identify
from assistant.web.faults import Forbidden
from assistant.web.limits import FreshKeys, OwnPages, RateLimits, SizeLimit
from assistant.web.metrics import Measured, Metrics, merge_texts
from assistant.web.paths import Paths
from assistant.web.rates import LocalRates
from contracts.errors import GuardianError

if TYPE_CHECKING:
    from fastapi import FastAPI

    from assistant.config.settings import ServerSettings
    from assistant.keys import Keys
    from assistant.web.forwarding import OwnWorker

_READ_S: Final = 2.0
"""How long readiness waits for the keys, in seconds."""

router = APIRouter(tags=["operations"])


class Health(BaseModel):
    """The reply that the process is alive."""

    status: str = "ok"


class Readiness(BaseModel):
    """Whether questions can be answered and, if not, what is missing.

    Attributes:
        resting: Models that missed too many deadlines, by purpose, with the seconds until they are asked again. Turns
            go on without them. Left out if there is none.
    """

    ready: bool
    missing: list[str] = []
    resting: dict[str, int] = {}


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz")
async def healthz() -> Health:
    """Report that the process is alive. Needs no key."""
    return Health()


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", response_model=Readiness, responses={503: {"model": Readiness}})
async def readyz(request: Request, service: Served) -> JSONResponse:
    """Report whether questions can be answered: 200, or 503 with what is missing. Needs no key."""
    missing = await service.missing()
    keys: Keys = request.app.state.callers.keys
    try:
        async with asyncio.timeout(_READ_S):
            await keys.refresh()
        if keys.wanted:
            keys.all()
    except (GuardianError, TimeoutError):
        missing.append("the API keys cannot be read: `guardian keys list` says why")
    resting = {purpose: ceil(seconds) for purpose, seconds in service.list_resting().items()}
    told = Readiness(ready=not missing, missing=missing, resting=resting)
    return JSONResponse(told.model_dump(exclude=None if resting else {"resting"}), 503 if missing else 200)


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(request: Request) -> Response:
    """Return this server's metrics for Prometheus, to everybody only if nobody has to say who they are, else to operators.

    Of several workers, each has a label `worker`.
    """
    caller = identify(request)
    if caller.name and not request.app.state.deployed.profile.sees_all(caller.role):
        raise Forbidden("The role of this caller may not read the metrics.", "Use a key of a role with operator_view.")
    text, kind = request.app.state.metrics.text()
    own: OwnWorker | None = request.app.state.own_worker
    if own is not None and not request.state.passed_on:
        others = await own.ask_others(request.scope)
        text = merge_texts({own.index: text.decode(), **others})
    return Response(text, media_type=kind)


def install_operations(
    app: FastAPI, paths: Paths, *, loopback: bool, may_upload: Callable[[HTTPConnection], bool] | None = None
) -> None:
    """Add these routes to an application, count its requests, and apply its limits.

    Args:
        app: The application, with `deployed` and `callers` in its state; `metrics` is added there.
        paths: All paths of the application.
        loopback: Whether it is served only on loopback.
        may_upload: Whether a request is an upload of documents, from somebody who may send one.
    """
    settings: ServerSettings = app.state.deployed.settings.server
    callers = app.state.callers
    counted = app.state.metrics = Metrics()
    app.include_router(router)
    # What is added last is around all that was added before.
    app.add_middleware(
        SizeLimit,
        most=settings.max_request_bytes,
        most_upload=max(settings.max_upload_bytes, settings.max_request_bytes),
        may_upload=may_upload,
    )
    app.state.rates = LocalRates()
    app.add_middleware(RateLimits, callers=callers, refused=counted.limited, rates=lambda: app.state.rates)
    app.add_middleware(OwnPages, callers=callers, origins=settings.origins, loopback=loopback)
    app.add_middleware(FreshKeys, keys=callers.keys)
    if settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.origins,
            allow_methods=["GET", "POST", "PUT", "DELETE"],
            allow_headers=["*"],
            expose_headers=["*"],
        )
    app.add_middleware(Measured, metrics=counted, paths=paths)
