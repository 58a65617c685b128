"""Tokens and stems: the one analyser, for the index and its queries, the lexicon and the contract.

Measured on product documentation in both languages: splitting on everything but letters and digits, lower
case, ё as е, stop words of both languages, Snowball stems of both (facts.md, "Retrieval").
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files

import Stemmer

from contracts.values import Language
from language.clean import fold

_TOKEN = re.compile(r"[^\W_]+", re.UNICODE)
_WORD = re.compile(r"\w*[^\W\d]\w*", re.UNICODE)
_LONGEST_TOKEN = 64
_local = threading.local()


def tokens(text: str) -> list[str]:
    """Return the words and numbers of a text, folded, in order; over-long runs are cut to 64 characters."""
    return [word[:_LONGEST_TOKEN] for word in _TOKEN.findall(fold(text))]


def stems(text: str) -> list[str]:
    """Return the stems of a text's content words, in order, with repeats; stop words are left out."""
    stop = stop_words()
    return [stem(word) for word in tokens(text) if word not in stop]


def all_stems(text: str) -> list[str]:
    """Return the stems of every word, stop words included: for matching phrases."""
    return [stem(word) for word in tokens(text)]


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """Return the Snowball stem of one folded word: Russian for Cyrillic words, English for all others."""
    russian, english = _stemmers()
    return russian.stemWord(word) if _is_cyrillic(word) else english.stemWord(word)


@cache
def stop_words() -> frozenset[str]:
    """Return the words that carry no subject, of both languages: `language/stopwords.txt`."""
    text = files("language").joinpath("stopwords.txt").read_text("utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


class Phrases:
    """Phrases that are found in a text by their stems, on token boundaries: "роль" is not in "пароль".

    Args:
        phrases: Each a word or several; several must follow one another.
    """

    def __init__(self, phrases: Iterator[str] | tuple[str, ...] | list[str]) -> None:
        self._by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        for phrase in phrases:
            key = tuple(all_stems(phrase))
            if key:
                self._by_first.setdefault(key[0], []).append((key, phrase))

    def find(self, text: str) -> list[str]:
        """Return the phrases that occur, in order of occurrence, with repeats."""
        return self.find_in(all_stems(text))

    def find_in(self, stemmed: list[str]) -> list[str]:
        """Like `find`, for a text that has been through `all_stems`."""
        return [
            phrase
            for start, first in enumerate(stemmed)
            for key, phrase in self._by_first.get(first, ())
            if tuple(stemmed[start : start + len(key)]) == key
        ]

    def __bool__(self) -> bool:
        return bool(self._by_first)


def detect(text: str, default: Language = Language.EN) -> Language:
    """Return the language of a text by its words; the default where it has none.

    A Russian sentence full of English names is Russian: a fifth of Cyrillic words decides.
    """
    words = _WORD.findall(fold(text))
    cyrillic = sum(map(_is_cyrillic, words))
    if not any(c.isalpha() for word in words for c in word):
        return default
    return Language.RU if cyrillic >= 0.2 * len(words) else Language.EN


def _is_cyrillic(word: str) -> bool:
    return any("а" <= c <= "я" for c in word)


def _stemmers() -> tuple[Stemmer.Stemmer, Stemmer.Stemmer]:
    # A Snowball stemmer keeps its word in a buffer of its own, so each thread has its pair.
    if not hasattr(_local, "pair"):
        _local.pair = (Stemmer.Stemmer("russian"), Stemmer.Stemmer("english"))
    return _local.pair
