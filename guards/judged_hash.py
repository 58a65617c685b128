"""What a verdict is about, as one short text: it belongs to one draft of one turn, and to the report that gives it."""

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
    """Return 64 hexadecimal digits (SHA-256) that change with the turn, its plan and contract, the draft, the evidence, or the report.

    All of the evidence counts, cited or not: `[2]` is what stands second. All of the report counts, too: its actions and
    checks decide whether pages are shown, a person is called or the user refused. It says that nothing was exchanged
    by a slip, in Studio or in a store; who may write the state can compute it as well.

    Args:
        state: Of a turn, as plain JSON; keys that are missing or empty are alike.
        report: A `GuardianReport` as plain JSON, whose own `judged_hash` counts for nothing.
    """
    given = {name: value for name, value in report.items() if name != "judged_hash"}
    judged = [*(state.get(key) or None for key in _JUDGED), given]
    return sha256(json.dumps(judged, ensure_ascii=True, sort_keys=True, default=str).encode()).hexdigest()
