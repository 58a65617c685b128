"""A fake moderator: it returns scripted verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contracts.enums import HarmCategory, ModerationState, SafetyLevel
from contracts.errors import ModerationUnavailable
from contracts.report import ModerationResult

PROVIDER = "fake"

ScriptedModeration = ModerationResult | ModerationUnavailable
Script = ScriptedModeration | Sequence[ScriptedModeration] | Mapping[str, ScriptedModeration]


def make_result(level: SafetyLevel, *categories: HarmCategory) -> ModerationResult:
    """Return a result of that level; N/A has the state `unavailable`, like the result of a provider that failed."""
    unknown = level is SafetyLevel.NOT_AVAILABLE
    return ModerationResult(
        safety_level=level,
        state=ModerationState.UNAVAILABLE if unknown else ModerationState(level.value),
        categories=list(categories),
        raw_output=f"said: {level}",
        provider=PROVIDER,
    )


class FakeModerator:
    """A moderator that returns scripted results.

    Args:
        script: One result for every message; or a sequence, one for each call and the last for all calls after it;
            or a mapping from message to result. An exception is raised in its turn.
        otherwise: The result for a message that a mapping does not name.

    Attributes:
        seen: The messages it was asked about, in order.

    Raises:
        ValueError: The sequence is empty.
    """

    def __init__(self, script: Script | None = None, otherwise: ScriptedModeration | None = None) -> None:
        safe = make_result(SafetyLevel.SAFE)
        self._by_text: dict[str, ScriptedModeration] = dict(script) if isinstance(script, Mapping) else {}
        self._by_call: list[ScriptedModeration] = list(script) if isinstance(script, Sequence) else []
        self._otherwise = otherwise or safe
        if isinstance(script, ModerationResult | ModerationUnavailable):
            self._otherwise = script
        elif isinstance(script, Sequence) and not script:
            raise ValueError("a script by call needs at least one result")
        self.seen: list[str] = []

    async def moderate(self, text: str) -> ModerationResult:
        """Return the scripted result.

        Raises:
            ModerationUnavailable: The script says so.
        """
        self.seen.append(text)
        said = self._next(text)
        if isinstance(said, ModerationUnavailable):
            raise said
        return said

    def _next(self, text: str) -> ScriptedModeration:
        if self._by_call:
            return self._by_call[min(len(self.seen), len(self._by_call)) - 1]
        return self._by_text.get(text, self._otherwise)
