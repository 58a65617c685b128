"""Proper names of a claim, recognised by letters: capitals inside a sentence, and Latin words in Russian text."""

from __future__ import annotations

import re
from typing import Final

from contracts.enums import Language
from language.clean import fold
from language.figures.passage import ReadPassage
from language.figures.units import read_unit
from language.memo import remember
from language.patterns import read_wording
from language.words import detect, stem, stop_words

_WORDING: Final = read_wording(__name__)

_CODE = re.compile(r"`[^`]*`|https?://\S+")
_WORD = re.compile(r"[^\W_][\w'’]*")
_QUOTED: Final = re.compile(r"[«“„\"]([^«»“”„\"\n]{2,80})[»”“\"]")
_STARTS = re.compile(r"(?:^|[.!?:;…|»”\"—–(\n]|[*_]{2})[\s*_«“\"\[(]*$|^\s*(?:[-*+>#]+|\d+[.)])\s+[*_«“\"\[(]*$")
_NO_NAMES: Final = frozenset(_WORDING.words("no_names"))


_ENDING: Final = re.compile(r"['’]\w{1,3}$|(?<=[A-Z]{2})s$")
"""What a name is written with and has not: "I've", "Acme's", «Docker'ом», "APIs"."""


@remember
def names(text: str) -> tuple[str, ...]:
    """Return the words of a claim that look like proper names, in order; skip code, addresses and sentence starts."""
    prose = _CODE.sub(" \ue000 ", text)
    russian = detect(prose) is Language.RU
    found: list[str] = []
    for match in _WORD.finditer(prose):
        word = _ENDING.sub("", match.group())
        if len(word) < 2 or _names_nothing(fold(word)) or any(map(str.isdigit, word)) or read_unit(f" {word}"):
            continue
        inside = word[0].isupper() and not _STARTS.search(prose, max(0, match.start() - 40), match.start())
        if inside or (word.isascii() and russian and word[0].isupper()):
            found.append(word)
    return tuple(dict.fromkeys(found))


def _names_nothing(word: str) -> bool:
    # Capitals also stress a word, and are polite to the reader: "do NOT", «Вашем».
    return word in _NO_NAMES or not stop_words().isdisjoint((word, stem(word)))


def names_missing(text: str, cited: list[ReadPassage]) -> list[str]:
    """Return the names of a claim that no cited passage has, in any case and with any ending."""
    missing: list[str] = []
    for name in names(text):
        wanted = " ".join(map(stem, re.findall(r"[^\W_]+", fold(name))))
        if wanted and not any(f" {wanted} " in there.said_stems for there in cited):
            missing.append(name)
    return missing


_CYRILLIC: Final = re.compile("[а-яё]", re.IGNORECASE)


def names_of_nobody(text: str, known: list[ReadPassage], cited: list[ReadPassage]) -> list[str]:
    """Return the names of a claim that no known passage has; quoted text is a value, not a name.

    In a translation, only names that the sources could have in the same letters count. In Russian these are words in
    Latin letters. In English with Russian sources they are names with a capital letter inside, because "Next Step" may
    translate a Russian button.
    """
    found = [name for name in names_missing(_QUOTED.sub(" ", text), known) if not _is_shortened(name, known)]
    if not found or not cited:
        return found
    if is_translated(text, cited):
        return [name for name in found if name.isascii()]
    if detect(text) is Language.EN and all(detect(there.text) is Language.RU for there in cited):
        return [name for name in found if not name[1:].islower()]
    return found


_LEAST_SHORTENED: Final = 6


def _is_shortened(name: str, known: list[ReadPassage]) -> bool:
    """Whether a longer name begins so: "Postgres" is PostgreSQL."""
    return len(name) >= _LEAST_SHORTENED and any(f" {fold(name)}" in there.said for there in known)


def is_translated(text: str, cited: list[ReadPassage]) -> bool:
    """Whether a claim has Cyrillic letters and its cited passages have none."""
    return bool(_CYRILLIC.search(text)) and not any(_CYRILLIC.search(there.said) for there in cited)


def is_gloss(name: str, text: str) -> bool:
    """Whether a text has a folded, quoted name in lower case: in a translation that is a quoted word, not a label."""
    spans = _QUOTED.findall(text)
    return any(fold(span) == name and span == span.lower() and _CYRILLIC.search(span) for span in spans)
