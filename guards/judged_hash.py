"""What a verdict is about, as one short text: PASS belongs to one draft of one turn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any


def judged_hash(turn_id: str, kind: str, draft: str, evidence: Sequence[Mapping[str, Any]]) -> str:
    """Return 64 hexadecimal digits (SHA-256) that change with the turn, the draft's kind or text, or what it may cite.

    All of the evidence counts, cited or not: `[2]` is what stands second. It says that nothing was exchanged by a slip,
    in Studio or in a store; who may write the state can compute it as well.

    Args:
        turn_id: Of the message that is answered.
        kind: A `DraftKind`.
        draft: As it was judged.
        evidence: The items as the state keeps them: plain JSON.
    """
    judged = json.dumps([turn_id, kind, draft, list(evidence)], ensure_ascii=True, sort_keys=True, default=str)
    return sha256(judged.encode()).hexdigest()
