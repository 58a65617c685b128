"""Profiles for tests: one that says as little as it may, and what a test changes of it."""

from __future__ import annotations

from contracts.profile import Profile


def bare(**changes: object) -> Profile:
    """Return a profile with the keys that it must have, and those named."""
    least: dict[str, object] = {
        "name": "bare",
        "product": "Bare",
        "scope": {"description": {"en": "tests", "ru": "тесты"}},
    }
    return Profile.model_validate({**least, **changes})
