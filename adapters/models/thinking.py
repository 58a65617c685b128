"""What a model writes before it answers: neither shown to anybody nor sent back."""

from __future__ import annotations

import re
from typing import Final

_TAG: Final = re.compile(r"<(/?)(?:think|thinking|reasoning|thought)>", re.IGNORECASE)


def without_thinking(text: str) -> str:
    """Return a reply without its reasoning.

    Templates that open the tag in the prompt leave only its end in the reply; a reply that the token limit cut may
    have only the beginning.
    """
    kept: list[str] = []
    position, thinks = 0, False
    for tag in _TAG.finditer(text):
        ends = bool(tag[1])
        if ends and not thinks:
            kept.clear()
        elif not ends and not thinks:
            kept.append(text[position : tag.start()])
        thinks, position = not ends, tag.end()
    return "".join([*kept, "" if thinks else text[position:]]).strip()
