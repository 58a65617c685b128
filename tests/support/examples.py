"""How many examples a property is tried with: a share of what the profile in `tests/conftest.py` says."""

from __future__ import annotations

from hypothesis import settings


def examples(share: float) -> settings:
    """Return settings with so many times as many examples as other properties have."""
    return settings(max_examples=max(1, round(share * settings().max_examples)))
