"""The role of the caller, as the server knows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

LEAST_ROLE: Final = "user"
"""The role of an authenticated user of whom the server knows no role."""

_USER: Final = "langgraph_auth_user"
_USER_ID: Final = "langgraph_auth_user_id"


def settled_role(configurable: Mapping[str, object], asked: str) -> str:
    """Return the role of a run.

    If a server authenticated the caller, it is the `role` of the authenticated user, or `user` if that has none; the
    role in the run's context is ignored. Only the server can set these entries: it removes them from what a caller
    sends. Without authentication, the context's role applies.

    Args:
        configurable: The run's `config["configurable"]`, with the authentication entries of LangGraph's server.
        asked: The role that the run's context names.
    """
    user = configurable.get(_USER)
    if not (_entry(user, "identity") or configurable.get(_USER_ID)):
        return asked
    role = _entry(user, "role")
    return role if isinstance(role, str) and role else LEAST_ROLE


def _entry(user: object, name: str) -> object:
    """Return an entry of a user, which may be a mapping, an object, or one that looks like both."""
    if isinstance(user, Mapping):
        return user.get(name)  # pyright: ignore[reportUnknownVariableType]
    return getattr(user, name, None)
