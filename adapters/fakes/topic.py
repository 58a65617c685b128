"""A topic probe without an index: it says of each text what it was told."""

from __future__ import annotations

from collections.abc import Mapping

from contracts.calls import ModelCall
from contracts.errors import SourceUnavailable


class FakeTopicProbe:
    """Says how far texts are on topic.

    Args:
        otherwise: The confidence of every text that `known` does not name, 0 to 1; or the error to raise.
        known: Confidences by text.

    Attributes:
        seen: The texts it was asked about, in order.
    """

    def __init__(self, otherwise: float | SourceUnavailable = 1.0, known: Mapping[str, float] | None = None) -> None:
        self._otherwise = otherwise
        self._known = dict(known or {})
        self.seen: list[str] = []

    async def on_topic(self, text: str, made: list[ModelCall] | None = None) -> float:
        self.seen.append(text)
        if text in self._known:
            return self._known[text]
        if isinstance(self._otherwise, SourceUnavailable):
            raise self._otherwise
        return self._otherwise if any(c.isalnum() for c in text) else 0.0

    async def mend(self, text: str) -> str:
        return text
