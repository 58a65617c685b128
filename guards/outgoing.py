"""The texts that may leave Guardian with a hand-off: the user's words without their secrets.

E-mail addresses and phone numbers stay, because a person may need them to reply; so do links. No role is excepted,
because a role's rights say nothing about who gets the ticket.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from language.privacy.personal_data import personal_data
from language.privacy.secrets import secrets
from language.privacy.spans import Span, replace_spans
from language.structured import with_strings
from language.words import tokens

_TO_REPLY: Final = frozenset({"email", "phone"})
_LEAST: Final = 6
"""Characters of a value that is recognised by itself, without the word for it."""

Known = dict[str, str]
"""Values, each with the rule that found it."""


def values_in(texts: Iterable[str]) -> Known:
    """Return the values in texts that must not leave Guardian."""
    return {text[start:end]: rule for text in texts for rule, start, end in _find(text)}


def redact_ticket_text(text: str, known: Known | None = None) -> str:
    """Return a text with every secret and every card or document number replaced by `[redacted: <rule id>]`.

    Values in `known` are found even without their context: queries are rephrased and cut, intents are paraphrased.
    """
    text = replace_spans(with_strings(text, lambda string: replace_spans(string, _find)[0]), _find)[0]
    for value, rule in (known or {}).items():
        if pattern := _again(value):
            text = pattern.sub(f"[redacted: {rule}]", text)
    return text


def fit_to_show(text: str) -> str:
    """Return a text of a user as others may see and keep it: masked as in a ticket; empty if that cannot be ensured."""
    try:
        return redact_ticket_text(text)
    except Exception:  # noqa: BLE001  # what broke may have left everything in it
        return ""


@dataclass(frozen=True, slots=True)
class TurnWords:
    """The words of a turn that a ticket quotes.

    Attributes:
        before: The user's earlier messages, oldest first.
        searched: The search queries, one for each trace.
    """

    question: str
    intent: str = ""
    queries: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    searched: tuple[str, ...] = ()


def redact_words(words: TurnWords) -> TurnWords:
    """Return the words of a turn without their secrets, however often repeated; none if that cannot be ensured."""
    said = (words.question, words.intent, *words.queries, *words.before)
    try:
        known = values_in(said)
        fit = {text: redact_ticket_text(text, known) for text in (*said, *words.searched)}
    except Exception:  # noqa: BLE001  # what broke may have left everything in them
        return TurnWords("", "", ("",) * len(words.queries), (), ("",) * len(words.searched))
    return TurnWords(
        fit[words.question],
        fit[words.intent],
        tuple(fit[query] for query in words.queries),
        tuple(fit[text] for text in words.before),
        tuple(fit[query] for query in words.searched),
    )


def _find(text: str) -> list[Span]:
    return [*secrets(text), *(span for span in personal_data(text) if span.rule not in _TO_REPLY)]


def _again(value: str) -> re.Pattern[str] | None:
    words = tokens(value)
    if len("".join(words)) < _LEAST or not any(map(str.isdigit, value)):
        return None
    apart = r"[\W_]{1,3}".join(map(re.escape, words))
    return re.compile(rf"{re.escape(value)}|(?<!\w){apart}(?!\w)", re.IGNORECASE)
