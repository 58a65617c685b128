"""Probes that say what they are told to say."""

from __future__ import annotations

from contracts.calls import ModelCall
from contracts.errors import SourceUnavailable


class Probe:
    """Says of every text what it was told to say."""

    def __init__(self, topic: float = 0.8) -> None:
        self.topic = topic
        self.texts: list[str] = []

    async def on_topic(self, text: str, made: list[ModelCall] | None = None) -> float:
        self.texts.append(text)
        return self.topic

    async def mend(self, text: str) -> str:
        return text


class BrokenProbe:
    """One whose index is away."""

    async def on_topic(self, text: str, made: list[ModelCall] | None = None) -> float:
        raise SourceUnavailable("The index is away.", "Index again.")

    async def mend(self, text: str) -> str:
        return text
