"""No moderation: every message is passed on, and the result says that nobody looked."""

from __future__ import annotations

from contracts.enums import ModerationState, SafetyLevel
from contracts.report import ModerationResult


class NoModerator:
    """A moderator that answers N/A with the state `off`: DT-001 passes the message on, and nothing calls it Safe."""

    async def moderate(self, text: str) -> ModerationResult:
        return ModerationResult(
            safety_level=SafetyLevel.NOT_AVAILABLE,
            state=ModerationState.OFF,
            provider="off",
        )
