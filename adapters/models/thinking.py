"""What a model writes before it answers: neither shown to anybody nor sent back."""

from __future__ import annotations

import re
from typing import Final

_CLOSED: Final = re.compile(r"<(think|thinking|reasoning|thought)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_END_ONLY: Final = re.compile(r"^.*</(?:think|thinking|reasoning|thought)>", re.DOTALL | re.IGNORECASE)
_OPEN: Final = re.compile(r"<(?:think|thinking|reasoning|thought)>.*\Z", re.DOTALL | re.IGNORECASE)


def without_thinking(text: str) -> str:
    """Return a reply without its reasoning.

    Templates that open the tag in the prompt leave only its end in the reply; a reply that the token limit cut may
    have only the beginning.
    """
    return _OPEN.sub("", _END_ONLY.sub("", _CLOSED.sub("", text))).strip()
