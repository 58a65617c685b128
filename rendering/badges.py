"""Scores as words: spam under .3 low, under .6 medium; confidence over .7 high, over .4 medium (specification, 4)."""

from __future__ import annotations

from contracts.enums import Language
from rendering.texts import texts


def spam_badge(score: float, language: Language) -> str:
    """Return low, medium or high for a spam score from 0 to 1."""
    return texts(language)["badge_low" if score < 0.3 else "badge_medium" if score < 0.6 else "badge_high"]


def confidence_badge(score: float | None, language: Language) -> str:
    """Return high, medium or low for a confidence from 0 to 1; N/A if there is none."""
    if score is None:
        return texts(language)["badge_none"]
    return texts(language)["badge_high" if score > 0.7 else "badge_medium" if score > 0.4 else "badge_low"]
