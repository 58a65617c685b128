"""The paths of an application, without their handlers: for metrics of refused requests, and for wrong methods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.routing import Route

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


class Paths:
    """The routes of an application, by their templates, as in the documentation.

    Args:
        routers: The routers, in matching order.
        others: Further paths, which are their own templates.
    """

    def __init__(self, routers: Iterable[APIRouter], others: Sequence[str] = ()) -> None:
        self.routes: Final = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]
        self._others = frozenset(others)

    def template(self, path: str, method: str) -> str | None:
        """Return the template of a path, preferably one with this method; `None` if there is no such path."""
        fitting = [route for route in self.routes if route.path_regex.match(path)]
        taking = [route for route in fitting if method in (route.methods or ())]
        for route in (*taking, *fitting):
            return route.path_format
        return path if path in self._others else None

    def refuse_wrong_methods(self, app: FastAPI) -> None:
        """Answer all other methods at these paths with 405; routes that are added later are not asked."""
        methods: dict[str, set[str]] = {}
        for route in self.routes:
            methods.setdefault(route.path, set()).update(route.methods or ())
        for path, taken in methods.items():
            app.router.routes.append(Route(path, endpoint=_WrongMethod(taken), include_in_schema=False))


class _WrongMethod:
    def __init__(self, methods: Iterable[str]) -> None:
        self._allowed = ", ".join(sorted(methods))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raise wrong_method(self._allowed)


def wrong_method(allowed: str) -> HTTPException:
    """Return the error for a method that a path does not allow.

    Args:
        allowed: The allowed methods, separated by commas.
    """
    return HTTPException(405, f"This path takes {allowed} alone.", {"Allow": allowed})
