"""Is this message valid as a question?

if fault := message_fault(text):
    raise fault
"""

from __future__ import annotations

from typing import Final

from contracts.errors import InputError
from language.clean import clean, fold

MAX_MESSAGE_CHARS: Final = 20_000
"""A longer text is a document, not a question: it belongs into the knowledge base."""


def message_fault(text: str) -> InputError | None:
    """Return what is wrong with a message, as an error to raise or show; `None` if it is valid."""
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers of `ask` need not be typed
        return InputError("The message is not text.", "Send it as a string.", key="empty")
    if len(text) > MAX_MESSAGE_CHARS:
        return InputError(
            f"The message has {len(text):,} characters; at most {MAX_MESSAGE_CHARS:,} are accepted.",
            "Send the question itself, and put long material into the knowledge base with `guardian index`.",
            key="too_long",
        )
    if not fold(clean(text)).strip():
        return InputError("The message is empty.", "Write your question in a sentence or two.", key="empty")
    return None
