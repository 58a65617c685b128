"""Tokens and stems: the only analyser, for the index and its queries, the lexicon and the contract.

Measured on product documentation in both languages: splitting on everything but letters and digits, lower
case, ё as е, stop words of both languages, Snowball stems of both (docs/evaluation.md).
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

import Stemmer

from contracts.enums import Language
from contracts.errors import PatternTooSlow
from language.clean import fold, normalize
from language.memo import remember, remember_items
from language.patterns import read_toml

_TOKEN = re.compile(r"[^\W_]+", re.UNICODE)
# Tried where a word begins, and nowhere inside it: a run of digits is no word from any of them.
_WORD = re.compile(r"(?<!\w)\d*+[^\W\d]\w*", re.UNICODE)
_LONGEST_TOKEN = 64
_FLEETING: Final = ("ок", "ек", "ец")
_FLEETING_FROM: Final = 5
"""Letters of a stem; in shorter ones (срок, блок, чек) the vowel stays."""
_VOWELS: Final = frozenset("аеиоуыэюя")
_YO = str.maketrans("ёЁ", "еЕ")
_local = threading.local()


@remember_items
def tokens(text: str) -> list[str]:
    """Return the words and numbers of a text, folded, in order; longer runs are cut to 64 characters."""
    return [word[:_LONGEST_TOKEN] for word in _TOKEN.findall(fold(text))]


@remember_items
def stems(text: str) -> list[str]:
    """Return the stems of a text's content words, in order, with repeats; stop words are left out."""
    stop = stop_words()
    return [stem(word) for word in tokens(text) if word not in stop]


def all_stems(text: str) -> list[str]:
    """Return the stems of every word, stop words included: for matching phrases."""
    return [stem(word) for word in tokens(text)]


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """Return the Snowball stem of one folded word: Russian for Cyrillic words, English for all others.

    Words in `language/stems.toml` have the stem given there. Russian stems have no fleeting vowel: "список" has the
    stem of "списки", "ячеек" that of "ячейка". Snowball has no step for either.
    """
    if (ours := own_stems().get(word)) is not None:
        return ours
    russian, english = _stemmers()
    return _without_fleeting_vowel(russian.stemWord(word)) if _is_cyrillic(word) else english.stemWord(word)


def _without_fleeting_vowel(stemmed: str) -> str:
    if len(stemmed) < _FLEETING_FROM or not stemmed.endswith(_FLEETING):
        return stemmed
    before, last = stemmed[-3], stemmed[-1]
    if before in _VOWELS:
        return f"{stemmed[:-2]}й{last}" if stemmed[-2] == "е" else stemmed
    soft = "ь" if last == "ц" and before == "л" else ""
    return f"{stemmed[:-2]}{soft}{last}"


@cache
def own_stems() -> dict[str, str]:
    """Return the stems that are not Snowball's, by word: `language/stems.toml`."""
    lines = read_toml("language", "stems.toml")
    return {word: ours for forms in lines.values() for ours, words in forms.items() for word in words.split()}


@cache
def stop_words() -> frozenset[str]:
    """Return the stop words of both languages, from `language/stopwords.txt`."""
    text = files("language").joinpath("stopwords.txt").read_text("utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


class Phrases:
    """Phrases to find in a text by stems, on token boundaries: "роль" is not in "пароль".

    Args:
        phrases: Each is a word, or several that must follow one another.
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
        if self._by_first.keys().isdisjoint(stemmed):
            return []
        return [
            phrase
            for start, first in enumerate(stemmed)
            for key, phrase in self._by_first.get(first, ())
            if tuple(stemmed[start : start + len(key)]) == key
        ]

    def __bool__(self) -> bool:
        return bool(self._by_first)


class Thesaurus:
    """Synonyms of a deployment; the first of each group is the word that its documents use.

    Args:
        groups: Each has at least two words or phrases. They match by stems.
    """

    def __init__(self, groups: Sequence[Sequence[str]]) -> None:
        pairs = [(tuple(all_stems(word)), group[0]) for group in groups for word in group[1:]]
        # Longer phrases first: "language model" is one thing, not a language and a model.
        self._by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        for pair in sorted((pair for pair in pairs if pair[0]), key=lambda pair: -len(pair[0])):
            self._by_first.setdefault(pair[0][0], []).append(pair)

    def rephrase(self, text: str) -> str:
        """Return the text with every word of a group replaced by the group's first; else unchanged."""
        words = tokens(text)
        stemmed = [stem(word) for word in words]
        said: list[str] = []
        changed = False
        place = 0
        while place < len(words):
            for key, instead in self._by_first.get(stemmed[place], ()):
                if tuple(stemmed[place : place + len(key)]) == key:
                    said.append(instead)
                    place += len(key)
                    changed = True
                    break
            else:
                said.append(words[place])
                place += 1
        return " ".join(said) if changed else text


def rephrase(texts: Sequence[str], groups: Sequence[tuple[str, ...]]) -> list[str]:
    """Return texts in the words of the documents; unchanged if they have no other words."""
    thesaurus = _thesaurus(tuple(groups))
    return [thesaurus.rephrase(text) for text in texts]


@lru_cache(maxsize=8)
def _thesaurus(groups: tuple[tuple[str, ...], ...]) -> Thesaurus:
    return Thesaurus(groups)


PATTERN_SECONDS: Final = 0.25
"""How long one expression of a profile may look through one text: one that is linear takes milliseconds of it."""


def pattern_occurs(pattern: str, text: str, *, by_line: bool = False) -> bool:
    """Whether a regular expression matches anywhere in a text, in any case; ё and е are one letter in both.

    By line, `^` and `$` match at each line, not only at the ends of the text.

    Raises:
        PatternTooSlow: The search takes longer than `PATTERN_SECONDS`, so the result is unknown.
    """
    # Python's own matching cannot be ended from outside. Google's RE2 needs no end, but knows neither `\w` nor `\b` of Cyrillic.
    import regex

    flags = regex.VERSION0 | regex.IGNORECASE | (regex.MULTILINE if by_line else 0)
    try:
        return bool(regex.search(_one_e(pattern), _one_e(text), flags, timeout=PATTERN_SECONDS))
    except TimeoutError:
        raise PatternTooSlow(
            f"The expression {pattern!r} of the profile took too long on a text of {len(text)} characters.",
            "Write it with bounded repetitions, as in [a-z]{1,40}, and no two of them that take the same characters in a row.",
        ) from None


def _one_e(text: str) -> str:
    return normalize("NFC", text).translate(_YO)


def detect(text: str, default: Language = Language.EN) -> Language:
    """Return the language of a text by its words; the default if it has none.

    A Russian sentence with many English names is Russian: a fifth of Cyrillic words is enough.
    """
    return _language_of(text) or default


@remember
def _language_of(text: str) -> Language | None:
    words = _WORD.findall(fold(text))
    if not any(c.isalpha() for word in words for c in word):
        return None
    cyrillic = sum(map(_is_cyrillic, words))
    return Language.RU if cyrillic >= 0.2 * len(words) else Language.EN


def _is_cyrillic(word: str) -> bool:
    return _CYRILLIC.search(word) is not None


_CYRILLIC: Final = re.compile("[а-я]")


def _stemmers() -> tuple[Stemmer.Stemmer, Stemmer.Stemmer]:
    # A Snowball stemmer keeps its word in a buffer of its own, so each thread has its pair.
    if not hasattr(_local, "pair"):
        _local.pair = (Stemmer.Stemmer("russian"), Stemmer.Stemmer("english"))
    return _local.pair
