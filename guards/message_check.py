"""Is this message valid as a question, and in which language is it answered?

if fault := message_fault(text):
    raise fault
"""

from __future__ import annotations

from typing import Final

from contracts.enums import Language
from contracts.errors import InputError
from contracts.profile import Profile
from language.clean import clean, fold
from language.words import detect

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


def message_language(text: str, profile: Profile, named: str | None = None) -> Language:
    """Return the language in which the user of a message is spoken to: one of the profile's.

    Args:
        text: The message.
        profile: Its first language is for messages without words, and for those in a language that it lacks.
        named: The language that the caller names.
    """
    wanted = Language(named) if named in tuple(Language) else detect(text, default=profile.languages[0])
    return wanted if wanted in profile.languages else profile.languages[0]
