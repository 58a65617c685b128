"""The hash that binds a verdict to one draft of one turn and to the report that gives it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

_JUDGED: Final = (
    "question",
    "sgr_plan",
    "request_type",
    "track",
    "architect_spec",
    "request_policy",
    "query_traces",
    "evidence",
    "draft_kind",
    "draft_answer",
)
"""What was judged, and what either end of the turn reads beside it to decide what leaves."""


def judged_hash(state: Mapping[str, Any], report: Mapping[str, Any]) -> str:
    """Return 64 hexadecimal digits: a SHA-256 over the turn, its plan and contract, the draft, evidence and report.

    All evidence counts, cited or not, because `[2]` is the second item. The whole report counts, because its actions
    and checks decide whether Guardian shows pages, calls a person or refuses. The hash proves that nothing was
    exchanged by mistake, in Studio or in a store. It is no protection against those who may write the state: they can
    compute it, too.

    Args:
        state: Of a turn, as plain JSON; keys that are missing or empty are alike.
        report: A `GuardianReport` as plain JSON; its own `judged_hash` is ignored.
    """
    given = {name: value for name, value in report.items() if name != "judged_hash"}
    judged = [*(state.get(key) or None for key in _JUDGED), given]
    return sha256(json.dumps(judged, ensure_ascii=True, sort_keys=True, default=str).encode()).hexdigest()
