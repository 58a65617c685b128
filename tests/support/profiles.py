"""Profiles for tests: one that says as little as it may, and what a test changes of it."""

from __future__ import annotations

from typing import Any, Final

from contracts.profile import Profile

LEAST: Final[dict[str, Any]] = {
    "name": "desk",
    "product": "Desk",
    "scope": {"description": {"en": "Questions about Desk.", "ru": "Вопросы о Desk."}},
}


def make_profile(**changes: Any) -> Profile:
    """Return a profile with the keys that it must have, and those named."""
    return Profile.model_validate({**LEAST, **changes})
