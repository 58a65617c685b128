"""The texts that may leave Guardian with a hand-off: the user's words without their secrets.

E-mail addresses and phone numbers stay, because a person may need them to reply; so do links. No role is excepted,
because a role's rights say nothing about who gets the ticket.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from language.clean import fold
from language.occurrences import Occurrences
from language.privacy.personal_data import personal_data
from language.privacy.secrets import secrets
from language.privacy.spans import Span, lower_in_place, replace_spans
from language.structured import with_strings

_TO_REPLY: Final = frozenset({"email", "phone"})
_LEAST: Final = 6
"""Characters of a value that is recognised by itself, without the word for it."""
_MOST_BETWEEN: Final = 3
_WORD: Final = re.compile(r"[^\W_]+")


class Known:
    """Values to be found again, all at once: a message may hold hundreds, and each text of the turn is looked through.

    A value is found as it was written, in any case, and as its words with up to three other characters between them. It
    needs a digit and some length, because words would be taken away from texts that only share them.
    """

    def __init__(self, known: dict[str, str]) -> None:
        """Take values, each with the rule that found it."""
        fit = {
            form: rule
            for value, rule in known.items()
            if any(map(str.isdigit, value))
            for form in (lower_in_place(value), fold(value))
            if sum(map(len, _WORD.findall(form))) >= _LEAST
        }
        self._written = Occurrences(fit.items())
        self._apart = Occurrences((_WORD.findall(form), rule) for form, rule in fit.items())

    def find(self, text: str) -> list[Span]:
        """Return the places of the values in a text."""
        found = [Span(rule, start, end) for start, end, rule in self._written.find_in(lower_in_place(text))]
        words = _words(text)
        said = [word for word, _, _ in words]
        found += (Span(rule, words[first][1], words[end - 1][2]) for first, end, rule in self._apart.find_in(said))
        return found


def values_in(texts: Iterable[str]) -> Known:
    """Return the values in texts that must not leave Guardian."""
    return Known({text[start:end]: rule for text in texts for rule, start, end in _find(text)})


def redact_ticket_text(text: str, known: Known | None = None) -> str:
    """Return a text with every secret and every card or document number replaced by `[redacted: <rule id>]`.

    Values in `known` are found even without their context: queries are rephrased and cut, intents are paraphrased.
    """
    text = replace_spans(with_strings(text, lambda string: replace_spans(string, _find)[0]), _find)[0]
    return replace_spans(text, known.find)[0] if known else text


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
        fit = {text: redact_ticket_text(text, known) for text in dict.fromkeys((*said, *words.searched))}
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


def _words(text: str) -> list[tuple[str, int, int]]:
    """Return the words of a text with their places, and an empty one where more than three other characters part two."""
    words: list[tuple[str, int, int]] = []
    done = 0
    for match in _WORD.finditer(lower_in_place(text)):
        if words and match.start() - done > _MOST_BETWEEN:
            words.append(("", done, match.start()))
        words.append((match.group(), *match.span()))
        done = match.end()
    return words
