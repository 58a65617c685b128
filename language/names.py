"""Proper names of a claim, as far as letters tell: capitals inside a sentence, and Latin words in Russian text."""

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
    """Return the words of a claim that look like proper names, in order: code, addresses and sentence starts are none."""
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
    """Return the names of a claim that stand in no cited passage, whatever their case and ending."""
    missing: list[str] = []
    for name in names(text):
        wanted = " ".join(map(stem, re.findall(r"[^\W_]+", fold(name))))
        if wanted and not any(f" {wanted} " in there.said_stems for there in cited):
            missing.append(name)
    return missing


_CYRILLIC: Final = re.compile("[а-яё]", re.IGNORECASE)


def names_of_nobody(text: str, known: list[ReadPassage], cited: list[ReadPassage]) -> list[str]:
    """Return the names of a claim that stand in none of the known passages; what is quoted is a value, and no name here.

    Of a translation, only what its sources could hold in the same letters is one: in Russian words in Latin letters, and in
    English over Russian those with a capital letter inside, for "Next Step" may be what a button says in Russian.
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
    """Whether a claim has Cyrillic letters and none of the passages that it cites has one."""
    return bool(_CYRILLIC.search(text)) and not any(_CYRILLIC.search(there.said) for there in cited)


def is_gloss(name: str, text: str) -> bool:
    """Whether a quoted name, folded, stands in a text in lower case: in a translation that is a word put in marks, and no label."""
    spans = _QUOTED.findall(text)
    return any(fold(span) == name and span == span.lower() and _CYRILLIC.search(span) for span in spans)
