"""What may leave the house with a hand-off: the user's words without the secrets in them.

E-mail addresses and phone numbers stay, for a person may need them to reply; so do links. No role is excepted: what a
role may read is one thing, who gets a ticket another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from language.personal_data import personal_data
from language.secrets import secrets
from language.spans import Span, replaced
from language.structured import with_strings
from language.words import tokens

_TO_REPLY: Final = frozenset({"email", "phone"})
_LEAST: Final = 6
"""Characters of a value that is recognised by itself, without the word for it."""

Known = dict[str, str]
"""Values, each with the rule that found it."""


def values_in(texts: Iterable[str]) -> Known:
    """Return the values of texts that do not leave the house."""
    return {text[start:end]: rule for text in texts for rule, start, end in _found(text)}


def fit_to_leave(text: str, known: Known | None = None) -> str:
    """Return a text in which every secret and every number of a card or document is replaced by `[redacted: <rule id>]`.

    What is `known` is found where its own context is gone, too: a query is rephrased and cut, an intent retold.
    """
    text = replaced(with_strings(text, lambda string: replaced(string, _found)[0]), _found)[0]
    for value, rule in (known or {}).items():
        if pattern := _again(value):
            text = pattern.sub(f"[redacted: {rule}]", text)
    return text


def _found(text: str) -> list[Span]:
    return [*secrets(text), *(span for span in personal_data(text) if span.rule not in _TO_REPLY)]


def _again(value: str) -> re.Pattern[str] | None:
    words = tokens(value)
    if len("".join(words)) < _LEAST or not any(map(str.isdigit, value)):
        return None
    apart = r"[\W_]{1,3}".join(map(re.escape, words))
    return re.compile(rf"{re.escape(value)}|(?<!\w){apart}(?!\w)", re.IGNORECASE)
