"""Prompts that a chat client sends by itself, for a title or tags of a conversation: recognised by their form.

Open WebUI (0.5 to 0.12) and LibreChat (`@librechat/agents` 3.2) send them as a user's message. They ask nothing of the
documents, so no turn runs for them. A prompt is recognised only as a whole: of Open WebUI its headings in their order,
the key of its JSON, and the conversation in tags; of the others the beginning, and what they are about behind its mark.
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
_USER: Final = re.compile(r"^(?:USER|User): (.{1,400})", re.MULTILINE)
_EMOJI, _ABOUT = "Your task is to reflect the speaker's likely facial expression", "\n\nMessage: ```"
_TOOLS, _NO_TOOL, _QUERIES = "Available Tools: ", '"tool_calls": []', ("Query: ", "History:\n")
_LIBRECHAT, _CONVERSATION, _REPLY = (
    "Provide a concise, 5-word-or-less title for the conversation",
    "\n\nConversation:\nUser: ",
    "\nAI: ",
)
_TITLE_CHARS: Final = 40


class BackgroundPrompt(StrEnum):
    """What a background prompt asks for: the key of the JSON that it expects, or a name where it expects plain text."""

    TITLE = "title"
    TAGS = "tags"
    FOLLOW_UPS = "follow_ups"
    SEARCH_QUERIES = "queries"
    IMAGE_PROMPT = "prompt"
    COMPLETION = "text"
    TOOL_CALLS = "tool_calls"
    PLAIN_TITLE = "plain title"
    EMOJI = "emoji"


_PLAIN: Final = frozenset({BackgroundPrompt.PLAIN_TITLE, BackgroundPrompt.EMOJI})


def recognise_background_prompt(message: str, instructions: str = "") -> BackgroundPrompt | None:
    """Return what a message asks for if it is a background prompt; `None` for a message of a person.

    Args:
        message: The last message of a request.
        instructions: The system's message of the request. Open WebUI sends a choice of tools in it if an administrator
            has switched its models to the legacy way of calling functions.
    """
    text = message.strip()
    if text.startswith(_EMOJI):
        return BackgroundPrompt.EMOJI if _ABOUT in text[:_LONGEST_TEMPLATE] and text.endswith("```") else None
    if text.startswith(_LIBRECHAT):
        before, opened, conversation = text.partition(_CONVERSATION)
        whole = opened and len(before) <= _LONGEST_TEMPLATE and _REPLY in conversation
        return BackgroundPrompt.PLAIN_TITLE if whole else None
    if text.startswith(_QUERIES):
        chooses = instructions.startswith(_TOOLS) and _NO_TOOL in instructions
        return BackgroundPrompt.TOOL_CALLS if chooses else None
    return _recognise_task(text) if text.startswith(_TASK) else None


def _recognise_task(text: str) -> BackgroundPrompt | None:
    before, opened, _ = text.partition(_OPEN)
    if not (opened and len(before) <= _LONGEST_TEMPLATE and _CLOSE in text):
        return None
    output = _OUTPUT.search(before)
    key = _KEY.search(before, output.end()) if output else None
    return BackgroundPrompt(key.group(1)) if key else None


def answer_background_prompt(kind: BackgroundPrompt, message: str) -> str:
    """Return the smallest valid answer: the title is the user's own first line, all else is empty.

    Args:
        kind: What is asked for.
        message: The prompt, which holds the conversation.
    """
    answer = _ANSWERS[kind](message)
    return str(answer) if kind in _PLAIN else json.dumps({str(kind): answer}, ensure_ascii=False)


def _title(message: str) -> str:
    """Return the beginning of the first line that the user wrote, cut between words."""
    first = _USER.search(message, max(message.find(_OPEN), 0))
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
    BackgroundPrompt.TOOL_CALLS: lambda _: [],
    BackgroundPrompt.PLAIN_TITLE: _title,
    BackgroundPrompt.EMOJI: lambda _: "",
}
