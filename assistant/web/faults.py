"""Errors over HTTP: one shape, that of OpenAI's protocol, which also says how to fix the problem."""

from __future__ import annotations

from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from assistant.caller_faults import InsideFault, hidden
from contracts.enums import Language
from contracts.errors import (
    BudgetSpent,
    ConfigError,
    GuardianError,
    InputError,
    KnowledgeError,
    PortError,
    ServerClosing,
    ThreadBusy,
    ThreadError,
    TurnStopped,
    UnknownArticle,
    UnknownThread,
)


class Unauthorized(GuardianError):
    """The error for a request that does not say who sends it, or says it wrongly.

    Args:
        dialog: Whether a browser shall ask its user for a key, in its dialog for passwords.
    """

    def __init__(self, message: str, way_out: str, *, dialog: bool = True) -> None:
        super().__init__(message, way_out)
        self.dialog = dialog


class Forbidden(GuardianError):
    """The error for a request that the caller's role does not allow."""


class TooMany(GuardianError):
    """The error for a caller or an address that exceeds its requests per minute.

    Args:
        retry_after_s: The wait until the next request, in whole seconds; at least 1.
    """

    def __init__(self, message: str, way_out: str, retry_after_s: int) -> None:
        super().__init__(message, way_out)
        self.retry_after_s = retry_after_s


class UnknownModel(GuardianError):
    """The error for a request that names a model that is not served."""


class TooLarge(GuardianError):
    """The error for a request body over the size limit."""


class WorkerGone(GuardianError):
    """The error for a request to a worker process that does not answer."""

    def __init__(self) -> None:
        super().__init__(
            "The process that keeps this page or session has ended.", "Load the page again, or begin another session."
        )


_STATUS: Final[dict[type, tuple[int, str]]] = {
    Unauthorized: (401, "authentication_error"),
    Forbidden: (403, "permission_error"),
    UnknownThread: (404, "not_found_error"),
    UnknownModel: (404, "not_found_error"),
    UnknownArticle: (404, "not_found_error"),
    ThreadBusy: (409, "conflict_error"),
    TurnStopped: (409, "conflict_error"),
    TooLarge: (413, "invalid_request_error"),
    WorkerGone: (503, "service_unavailable_error"),
    InputError: (400, "invalid_request_error"),
    TooMany: (429, "rate_limit_error"),
    BudgetSpent: (429, "insufficient_quota"),
    ServerClosing: (503, "service_unavailable_error"),
    KnowledgeError: (503, "service_unavailable_error"),
    PortError: (503, "service_unavailable_error"),
    ThreadError: (503, "service_unavailable_error"),
    ConfigError: (503, "service_unavailable_error"),
    GuardianError: (500, "server_error"),
}
"""What an error is over HTTP; of a class that is not here it is what its nearest ancestor is."""


_MOST_FAULTS: Final = 5
"""How many of the faults of a request are listed."""
_BACK_S: Final = "5"
"""When a server that is started anew may be there again, in seconds."""


_FOR_PROGRAMS: Final = ("/v1", "/mcp")


def is_for_programs(path: str) -> bool:
    """Whether a path is for programs, not for people with a browser."""
    return any(path == part or path.startswith(f"{part}/") for part in _FOR_PROGRAMS)


class Fault(BaseModel):
    """One error: what went wrong, how to fix it, and its kind."""

    message: str
    way_out: str = ""
    type: str
    code: str | None = None


class FaultBody(BaseModel):
    """The body of every error response."""

    error: Fault


def fault_of(error: GuardianError) -> tuple[int, FaultBody]:
    """Return the status and the body of an error; an internal error shows only its kind."""
    told = hidden(error, Language.EN)
    sort = told.kind if isinstance(told, InsideFault) else type(told)
    status, kind = next(_STATUS[known] for known in sort.__mro__ if known in _STATUS)
    # Clients of OpenAI show `message` alone.
    return status, FaultBody(error=Fault(message=str(told), way_out=told.way_out, type=kind, code=sort.__name__))


def _is_json(request: Request) -> bool:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))


def install_fault_handlers(app: FastAPI) -> None:
    """Make an application answer every error in one shape."""

    async def ours(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, GuardianError)  # noqa: S101  # it is installed for these alone
        if isinstance(error, BudgetSpent) and (metrics := getattr(app.state, "metrics", None)):
            metrics.limited("budget")
        return fault_response(error, request.scope["path"])

    async def invalid(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)  # noqa: S101  # the same
        errors: list[Any] = list(error.errors())
        if any(one["loc"] == ("body",) for one in errors) and not _is_json(request):
            given = request.headers.get("content-type", "")
            said = f"has the Content-Type {given[:100]!r}" if given else "has no Content-Type"
            return fault_response(InputError(f"The request {said}.", "Send `Content-Type: application/json`."))
        # What was sent is not repeated: it may be long, or a secret.
        told = [f"{'.'.join(map(str, e['loc'][1:]))[:100]}: {e['msg'][:200]}" for e in errors[:_MOST_FAULTS]]
        more = [f"and {len(errors) - len(told)} more"] if len(errors) > len(told) else []
        faults = "; ".join([*told, *more])
        return fault_response(InputError(f"The request cannot be taken: {faults}.", "`/docs` shows what is."))

    async def other(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)  # noqa: S101  # the same
        body = FaultBody(error=Fault(message=str(error.detail), type="invalid_request_error"))
        return JSONResponse(body.model_dump(), error.status_code, headers=error.headers)

    async def unforeseen(_: Request, _error: Exception) -> JSONResponse:
        # It is logged by the server, which gets it, too; what it says may be anything.
        return fault_response(unforeseen_fault())

    app.add_exception_handler(GuardianError, ours)
    app.add_exception_handler(Exception, unforeseen)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, other)


def unforeseen_fault() -> GuardianError:
    """Return what a client gets for an unexpected error."""
    return GuardianError("Something unforeseen went wrong.", "Look into the server's log.")


def fault_response(error: GuardianError, path: str = "/") -> JSONResponse:
    """Return the response for an error.

    Args:
        error: The error.
        path: The request's path; on paths for programs, the response does not make a browser ask for a name and a
            password.
    """
    status, body = fault_of(error)
    silent = is_for_programs(path) or (isinstance(error, Unauthorized) and not error.dialog)
    challenge = "Bearer" if silent else 'Basic realm="Guardian", charset="UTF-8"'
    headers = {
        **({"WWW-Authenticate": challenge} if status == 401 else {}),
        **({"Retry-After": str(error.retry_after_s)} if isinstance(error, TooMany | BudgetSpent) else {}),
        **({"Retry-After": _BACK_S} if isinstance(error, ServerClosing) else {}),
    }
    return JSONResponse(body.model_dump(), status, headers=headers)
