"""What the graph does if a node fails, hangs or has failed for the last time."""

from __future__ import annotations

from typing import Final

from langgraph.errors import NodeError
from langgraph.types import Command, RetryPolicy

from contracts.errors import GuardianError, InputError, PortError
from contracts.state import ChatState, Json, fresh_turn

SECONDS_PER_NODE: Final = 120.0
"""No node may take longer unless a slow model needs it; a turn therefore always ends."""
MARGIN_S: Final = 10.0
"""What a node is given beyond its slowest port."""


def worth_another_try(error: Exception) -> bool:
    """Whether a port failed and its adapter has not retried. Retrying our own errors would fail again."""
    return isinstance(error, PortError) and not error.tried


TRY_AGAIN: Final = RetryPolicy(max_attempts=2, initial_interval=0.05, jitter=False, retry_on=worth_another_try)
"""What is outside may fail once."""


async def to_safe_exit(state: ChatState, error: NodeError) -> Command[str]:
    """Lead the last error of a node to `safe_exit`, which reports it to the user."""
    cause = error.error
    what: Json = {
        "node": error.node,
        "kind": type(cause).__name__,
        # Only our own errors are written for readers; a library's may quote what must not be shown.
        "message": str(cause) if isinstance(cause, GuardianError) else type(cause).__name__,
        "key": cause.key if isinstance(cause, InputError) else "",
    }
    # Where moderation itself failed, the keys still hold the turn before.
    clean = fresh_turn() if error.node == "moderation" else {}
    made = [call.model_dump(mode="json") for call in cause.calls] if isinstance(cause, PortError) else []
    known = state.get("model_calls")
    # After an edit in Studio it may be anything.
    before = known if isinstance(known, list) and not clean else []
    return Command(goto="safe_exit", update={**clean, "error": what, "model_calls": [*before, *made]})
