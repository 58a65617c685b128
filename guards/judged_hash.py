"""What a verdict is about, as one short text: PASS belongs to one draft of one turn."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any


def judged_hash(state: Mapping[str, Any], verdict: str) -> str:
    """Return 64 hexadecimal digits (SHA-256) that change with the turn, the draft's kind or text, what it may cite, or the verdict.

    All of the evidence counts, cited or not: `[2]` is what stands second. It says that nothing was exchanged by a slip,
    in Studio or in a store; who may write the state can compute it as well.

    Args:
        state: Of a turn, with `question`, `draft_kind`, `draft_answer` and `evidence` as plain JSON; missing ones count as empty.
        verdict: A `Verdict`: the hash of a FAIL does for no PASS.
    """
    draft = [state.get("draft_kind", ""), state.get("draft_answer", "")]
    judged = [state.get("question", {}).get("id", ""), *draft, list(state.get("evidence", ())), verdict]
    return sha256(json.dumps(judged, ensure_ascii=True, sort_keys=True, default=str).encode()).hexdigest()
