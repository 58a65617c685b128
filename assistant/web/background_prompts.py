"""Prompts that a chat client sends by itself, for a title or tags of a conversation: recognised by their form.

Open WebUI (0.5 to 0.12) sends them as a user's message. They ask nothing of the documents, so no turn runs for them. A
prompt is recognised only as a whole: its headings in their order, the key of its JSON, and the conversation in tags.
The module is pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

_OPEN, _CLOSE = "<chat_history>", "</chat_history>"
_TASK: Final = "### Task:"
_OUTPUT: Final = re.compile(r"^### (?:\*\*)?Output(?: Rules)?(?:\*\*)?:", re.MULTILINE)
_KEY: Final = re.compile(r'\{\s{0,8}"(title|tags|follow_ups|queries|prompt|text)"\s{0,8}:')
_LONGEST_TEMPLATE: Final = 20_000
"""Characters before the conversation; Open WebUI's longest has 1,700, and an administrator may lengthen it."""
_USER: Final = re.compile(r"^USER: (.{1,400})", re.MULTILINE)
_TITLE_CHARS: Final = 40


class BackgroundPrompt(StrEnum):
    """What a background prompt asks for, by the key of the JSON that it expects."""

    TITLE = "title"
    TAGS = "tags"
    FOLLOW_UPS = "follow_ups"
    SEARCH_QUERIES = "queries"
    IMAGE_PROMPT = "prompt"
    COMPLETION = "text"


def recognise_background_prompt(message: str) -> BackgroundPrompt | None:
    """Return what a message asks for if it is a background prompt; `None` for a message of a person.

    Args:
        message: The last message of a request.
    """
    text = message.strip()
    before, opened, _ = text.partition(_OPEN)
    if not (text.startswith(_TASK) and opened and len(before) <= _LONGEST_TEMPLATE and _CLOSE in text):
        return None
    output = _OUTPUT.search(before)
    key = _KEY.search(before, output.end()) if output else None
    return BackgroundPrompt(key.group(1)) if key else None


def answer_background_prompt(kind: BackgroundPrompt, message: str) -> str:
    """Return the smallest valid answer as JSON: the title is the user's own first line, all else is empty.

    Args:
        kind: What is asked for.
        message: The prompt, which holds the conversation.
    """
    return json.dumps({str(kind): _ANSWERS[kind](message)}, ensure_ascii=False)


def _title(message: str) -> str:
    """Return the beginning of the first line that the user wrote, cut between words."""
    first = _USER.search(message, message.find(_OPEN))
    line = " ".join(first.group(1).split()) if first else ""
    if len(line) <= _TITLE_CHARS:
        return line
    cut = line[:_TITLE_CHARS].rpartition(" ")[0] or line[:_TITLE_CHARS]
    return f"{cut.rstrip(' ,.;:')}…"


_ANSWERS: Final[Mapping[BackgroundPrompt, Callable[[str], object]]] = {
    BackgroundPrompt.TITLE: _title,
    BackgroundPrompt.TAGS: lambda _: [],
    BackgroundPrompt.FOLLOW_UPS: lambda _: [],
    BackgroundPrompt.SEARCH_QUERIES: lambda _: [],
    BackgroundPrompt.IMAGE_PROMPT: lambda _: "",
    BackgroundPrompt.COMPLETION: lambda _: "",
}
