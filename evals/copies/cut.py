"""Sentence splitting as it was when the cases were labelled; the product's own splitting has changed since."""

from __future__ import annotations

import re

from razdel import sentenize

_WHOLE = re.compile(r"`[^`\n]+`|\[[^\]\n]*\]\([^)\n]*\)|https?://\S+|&(?:#\w{1,7}|[A-Za-z]\w+);")


def sentences(text: str) -> list[str]:
    """Split one paragraph into sentences; code, links, addresses and entities stay whole."""
    kept: list[str] = []

    def keep(match: re.Match[str]) -> str:
        kept.append(match.group())
        return f"\ue000{len(kept) - 1}\ue001"

    found = (part.text.strip() for part in sentenize(_WHOLE.sub(keep, " ".join(text.split()))))
    return [re.sub("\ue000(\\d+)\ue001", lambda match: kept[int(match[1])], one) for one in found if one]
