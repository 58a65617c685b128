"""What a model says before its answer and proves by nothing: "Good news!", "That is easy to set up!"."""

from __future__ import annotations

import re
from typing import Final

from language.blocks import split_code
from language.claims import opener, strip_label
from language.figures.values import values
from language.privacy.links import has_link

_EXCLAIMED: Final = re.compile(r"(?m)^(?P<said>[^\W\d_][^\n!?.:\[\]`|#*_]{0,160}!)[ \t]+(?=\S[^\n]*\[\d{1,3}\])")
"""A sentence with an exclamation mark at the beginning of a paragraph that cites something later on."""


def without_small_talk(draft: str) -> str:
    """Return a draft without the exclamations that open its paragraphs: they cite nothing, and say nothing of the matter.

    One with a value, a link or a citation stays, and so do "Yes!" and labels as "Note!", which belong to what follows.
    Only whole sentences go, so that each that stays says what it said.
    """
    parts = split_code(draft)
    return "".join(part if place % 2 else _EXCLAIMED.sub(_drop, part) for place, part in enumerate(parts))


def _drop(match: re.Match[str]) -> str:
    said = match["said"]
    belongs = opener(said) or not strip_label(f"{said} ").strip()
    return match.group() if belongs or values(said) or has_link(said) else ""
