"""A passage that a search found, with its scores by words and by meaning."""

from __future__ import annotations

from dataclasses import dataclass

from adapters.index.records import StoredPassage


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found."""

    passage: StoredPassage
    score: float
    confidence: float
    similarity: float | None = None
    """To the query, -1 to 1; `None` where it was not looked at."""
    fused: float | None = None
    """What words and meaning say together, 0 to 1; `None` where the words speak alone."""
