"""The number in a short message: "2", "the second one", «второе», «номер 2»."""

from __future__ import annotations

import re
from typing import Final

from language.clean import fold
from language.patterns import read_wording

_WORDING: Final = read_wording(__name__)

_CARDINALS: Final = tuple(tuple(words.split()) for words in _WORDING.forms("cardinals").values())
_ORDINALS_EN: Final = _WORDING.words("ordinals_en")
_ORDINALS_RU: Final = _WORDING.words("ordinals_ru")
_ENDINGS_RU: Final = _WORDING.piece("endings_ru")
_SAID: Final = _WORDING.pattern("said")
_LONGEST: Final = 60

LAST: Final = -1


def number_named(message: str) -> int | None:
    """Return the number that is a message's whole content; `LAST` for "the last one"; `None` for other messages."""
    if len(message) > _LONGEST or not (said := _SAID.match(" ".join(fold(message).split()))):
        return None
    if said["last"]:
        return LAST
    return int(said["figures"]) if said["figures"] else _in_words(said["word"])


def _in_words(word: str) -> int | None:
    for number, (names, english, russian) in enumerate(zip(_CARDINALS, _ORDINALS_EN, _ORDINALS_RU, strict=True), 1):
        if word in (*names, english) or re.fullmatch(f"{russian}{_ENDINGS_RU}", word):
            return number
    return None
