"""A model's thinking before its answer: it is neither shown to anybody nor sent back."""

from __future__ import annotations

import re
from typing import Final

_TAG: Final = re.compile(
    # Between backticks it is a text about such tags.
    r"(?<!`)(?:<(?P<a>/?)(?:think|thinking|reasoning|thought|reflection|seed:think)>"
    r"|\[(?P<b>/?)think\]|◁(?P<c>/?)think▷)(?!`)",
    re.IGNORECASE,
)
_FINAL: Final = "<|channel|>final<|message|>"
_CHANNEL: Final = "<|channel|>"
"""How models of the Harmony format mark which part of a reply is meant for the user."""


def without_thinking(text: str) -> str:
    """Return a reply without its reasoning.

    If a template opens the tag in the prompt, the reply has only the closing tag. If the token limit cut the reply, it
    may have only the opening tag.
    """
    if text.lstrip().startswith((_CHANNEL, "<|start|>")):
        text = text.rpartition(_FINAL)[2] if _FINAL in text else ""
    kept: list[str] = []
    position, thinks = 0, False
    for tag in _TAG.finditer(text):
        ends = bool(tag["a"] or tag["b"] or tag["c"])
        if ends and not thinks:
            kept.clear()
        elif not ends and not thinks:
            kept.append(text[position : tag.start()])
        thinks, position = not ends, tag.end()
    return "".join([*kept, "" if thinks else text[position:]]).strip()
