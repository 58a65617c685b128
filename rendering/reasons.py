"""The Guardian's reasons for readers."""

from __future__ import annotations

import re
from collections.abc import Iterable


def reason_names(reasons: Iterable[str]) -> list[str]:
    """Return the names of reasons, each once: what stands behind a name may quote a draft that did not pass."""
    return list(dict.fromkeys(re.split(r"[=(]", reason, maxsplit=1)[0] for reason in reasons))
