"""A fake topic probe without an index: it returns scripted values."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from contracts.calls import ModelCall
from contracts.enums import Source
from contracts.errors import SourceUnavailable


class FakeTopicProbe:
    """A topic probe that returns scripted confidences.

    Args:
        otherwise: The confidence of every text that `known` does not name, 0 to 1; or the error to raise.
        known: Confidences by text.
        missing: The words that no document has.

    Attributes:
        seen: The texts it was asked about, in order.
    """

    def __init__(
        self,
        otherwise: float | SourceUnavailable = 1.0,
        known: Mapping[str, float] | None = None,
        missing: Collection[str] = (),
    ) -> None:
        self._otherwise = otherwise
        self._known = dict(known or {})
        self._missing = frozenset(missing)
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

    async def unknown(self, text: str, kinds: frozenset[Source]) -> tuple[str, ...]:
        if isinstance(self._otherwise, SourceUnavailable):
            raise self._otherwise
        words = dict.fromkeys(re.findall(r"\w+", text))
        return tuple(word for word in words if word in self._missing) if kinds else ()
