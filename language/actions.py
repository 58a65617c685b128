"""The action that a question asks for, and texts that speak of the opposite one: who wants to delete is not helped by "Add"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from language.clean import fold
from language.patterns import read_wording
from language.words import stem

_WORDING: Final = read_wording(__name__)

_ASKS: Final = (_WORDING.pattern("asks_en"), _WORDING.pattern("asks_ru"))
_LIGHT: Final = frozenset(map(stem, _WORDING.words("light")))
_EVERYDAY: Final = frozenset(_WORDING.words("everyday"))
_MAKES_COPY: Final = _WORDING.pattern("makes_copy")
_COPY: Final = re.compile(
    r"\b(?:back-?ups?|snapshots?|копи[июейя]\w{0,3}|бэкап\w{0,3}|сним(?:ок|к)\w{0,3})\b", re.IGNORECASE
)
_LABEL: Final = re.compile(r"\*\*[^*\n]{1,80}\*\*|«[^»\n]{1,80}»|“[^”\n]{1,80}”|`[^`\n]{1,80}`")
_LEAST_SHARED: Final = 5
"""Letters that a verb and its noun begin with."""
_WORDS: Final = re.compile(r"[^\W\d_]+")
_PHRASAL: Final = re.compile(
    r"\b(turn|switch)(?:ed|ing|s)?(?: \w{1,12}){0,3}? (on|off)\b(?:(?: and | or |/)(on|off)\b)?"
)


def action_in(question: str) -> str | None:
    """Return the verb of the action that a question asks for, folded and with its particle; `None` if it names none.

    Example: `delete` in "How do I delete a conversation?", `turn-off` in "can I turn off the alarm".
    """
    for asks in _ASKS:
        if match := asks.search(question):
            verb = fold(match["verb"])
            particle = match.groupdict().get("particle")
            if stem(verb) not in _LIGHT:
                return f"{verb}-{fold(particle)}" if particle and verb in ("turn", "switch") else verb
    return None


def is_opposed(question: str, text: str) -> bool:
    """Whether a text speaks of the opposite of the action that a question asks for, and never of this one."""
    copies = _MAKES_COPY.search(question)
    action = action_in(question) or (fold(copies.group().split()[0]) if copies else None)
    if action is None:
        return False
    words, told = _words_of(text), _words_of(_LABEL.sub(" ", text)).difference(_EVERYDAY)
    asked = _words_of(question)
    sides_here = (*_SIDES, *(_OF_COPIES if _COPY.search(question) else ()))
    return any(
        _among([action], own) and not _among(asked, other) and _among(told, other) and not _among(words, own)
        for sides in sides_here
        for own, other in (sides, sides[::-1])
    )


def names_action(action: str, text: str) -> bool:
    """Whether a text has an action's verb, or another one for the same: "reduce" for "lower"."""
    words = _words_of(text)
    same = [side for side in (*(side for sides in _SIDES for side in sides), *_SAME) if _among([action], side)]
    return any(_same_action(action, word) for word in words) or any(_among(words, side) for side in same)


def _same_action(action: str, word: str) -> bool:
    """Whether a word has the stem of an action, or is a noun of it: "payment", "удаление"."""
    one, other = stem(action), stem(word)
    shared = max(_LEAST_SHARED, len(one) - 2)
    return (
        one == other
        or (len(one) > 2 and word.startswith(one))
        or (len(one) >= shared and one[:shared] == other[:shared])
    )


def _words_of(text: str) -> frozenset[str]:
    """Return the folded words of a text, and its phrasal verbs as one word each: `turn-off` of "turn it on and off"."""
    folded = fold(text)
    phrasal = (f"{verb}-{particle}" for verb, *found in _PHRASAL.findall(folded) for particle in found if particle)
    return frozenset((*_WORDS.findall(folded), *phrasal))


def _among(words: Iterable[str], side: re.Pattern[str]) -> bool:
    return any(map(side.fullmatch, words))


def _side(words: str) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(word).replace(r"\*", r"\w*") for word in words.split()))


_SIDES: Final = tuple((_side(one), _side(other)) for one, other in _WORDING.rows("opposites"))
_OF_COPIES: Final = tuple((_side(one), _side(other)) for one, other in _WORDING.rows("opposites_of_copies"))
_SAME: Final = tuple(_side(words) for (words,) in _WORDING.rows("same"))
