"""`retry_bump`: count the retry. The actions define what it changes (`contracts/decisions/effects.py`)."""

from __future__ import annotations

from langgraph.runtime import Runtime

from contracts.context import Context
from contracts.state import Json
from contracts.views import RetryView


async def retry_bump(state: RetryView, runtime: Runtime[Context]) -> Json:
    """Add one to the retries of this turn."""
    return {"retry_count": state["retry_count"] + 1}
