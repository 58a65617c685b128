"""Cleaning incoming text, to store it safely and to compare it.

There are two levels: `clean` changes nothing visible; `skeleton` is only for matching and is never shown.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from html import unescape
from typing import Final, Literal

import regex

_LINE_BREAKS = re.compile(r"\r\n?|[\u0085\u2028\u2029]")
INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
# Categories Cc, but for line breaks and tabs, and Cs.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_COMBINES = regex.compile(r"\p{M}")
_DOTTED = re.compile("i\u0307+")
_YO = regex.compile(r"ё(\p{M}*)")
_MOST_MARKS: Final = 30
_MARKS_IN_A_ROW = regex.compile(rf"([\p{{M}}\uff9e\uff9f]{{{_MOST_MARKS}}})[\p{{M}}\uff9e\uff9f]+")
"""Marks, and the two halfwidth letters of Japanese that are marks in another width."""
_HUGE = re.compile("&#(?:0{8,}([0-9]{0,20}(?![0-9]))|0*[0-9]{20,})")
_MOST_ROUNDS: Final = 16
"""Of joining a letter with the accent behind it, and its word with the next: no word has as many."""
_WORD = re.compile(r"\w+", re.UNICODE)


def clean(text: str) -> str:
    r"""Return text that is safe to store and show: NFC, line breaks as `\n`, no control characters.

    Lone surrogates, which no encoder accepts, become U+FFFD. Zero-width characters stay, because some scripts and emoji
    need them; only `skeleton` ignores them.
    """
    text = _LINE_BREAKS.sub("\n", text)
    return normalize("NFC", _CONTROLS.sub(lambda found: "\ufffd" if found[0] >= "\ud800" else "", text))


def normalize(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """Return a text in one of Unicode's normal forms, with at most 30 marks on one letter, in linear time.

    Marks in a row are sorted by their classes, which takes the square of their number. No word of any language has more
    than 30 of them (Unicode Standard Annex #15, section 13, "Stream-Safe Text Format"); the rest are left out.
    """
    if text.isascii():
        return text
    if len(text) > _MOST_MARKS:
        text = _MARKS_IN_A_ROW.sub(r"\1", text)
    return unicodedata.normalize(form, text)


def holds_any(text: str, parts: Iterable[str]) -> bool:
    """Whether a text has one of the parts. The loop runs in C: there are many parts, and most texts have none."""
    return any(map(text.__contains__, parts))


def unescape_entities(text: str) -> str:
    """Return text with its HTML entities decoded; numeric entities may have any length."""
    # Python refuses to read a number of thousands of digits.
    return unescape(_HUGE.sub(lambda number: f"&#{number[1] or 0}" if number[1] is not None else "\ufffd", text))


def fold(text: str) -> str:
    """Return text for comparing: NFKC, lower case, ё as е, without invisible characters. The function is idempotent."""
    if text.isascii():
        return text.lower()
    folded = _fold_yo(text)
    # What is taken out may have stood between a letter and its accent, which then make another letter.
    while _COMBINES.search(folded) and (again := _fold_yo(folded)) != folded:
        folded = again
    return folded


def _fold_yo(text: str) -> str:
    text = normalize("NFKC", INVISIBLE.sub("", text))
    text = INVISIBLE.sub("", text).casefold()
    return _YO.sub(_without_dots, text) if "ё" in text else text


def _without_dots(yo: regex.Match[str]) -> str:
    """Return an ё as е without any dots behind it: each of them would make an ё of it again, one in a round."""
    marks = yo[1]
    if "\u0308" not in marks:
        return f"е{marks}"
    # Only another mark above the letter keeps the dots behind it from the letter.
    end = next(
        (i for i, mark in enumerate(marks) if mark != "\u0308" and unicodedata.combining(mark) == 230), len(marks)
    )
    return "е" + marks[:end].replace("\u0308", "") + marks[end:]


def skeleton(text: str) -> str:
    """Return folded text with look-alike letters of a mixed word changed to the word's main script.

    "ignоre" with a Cyrillic о becomes "ignore"; a word of one script is not changed, so "сор" stays Russian. Latin
    letters that look like one of a to z ("ı", "ɡ", "ɪ") become that letter.
    """
    now = fold(text)
    # A letter of the main script may join the accent behind it, and its word the next one.
    for _ in range(_MOST_ROUNDS):
        if now.isascii():
            break
        before, now = now, fold(_WORD.sub(lambda match: _unmix_scripts(match.group()), _DOTTED.sub("i", now)))
        if now == before:
            break
    return now


@lru_cache(maxsize=8192)
def _unmix_scripts(word: str) -> str:
    latin = sum("a" <= c <= "z" for c in word)
    cyrillic = sum("а" <= c <= "я" for c in word)
    letters = sum(c.isalpha() for c in word)
    if letters in (latin, cyrillic):
        return word
    main, other = ("LATIN", "CYRILLIC") if latin >= cyrillic else ("CYRILLIC", "LATIN")
    # Letters that have no look-alike in the main script tell that the other one is meant: "пapoль".
    read = ["".join(_look_alike(c, script) for c in word) for script in (main, other)]
    return next((one for one in read if _is_of_one_script(one)), read[0])


def _is_of_one_script(word: str) -> bool:
    letters = [c for c in word if c.isalpha()]
    return all("a" <= c <= "z" for c in letters) or all("а" <= c <= "я" for c in letters)


@lru_cache(maxsize=4096)
def _look_alike(character: str, script: str) -> str:
    of_script = script in unicodedata.name(character, "")
    if not character.isalpha() or (of_script and (character.isascii() or script != "LATIN")):
        return character
    # Imported here: the data of the library is read on import, and most words are of one script.
    from confusable_homoglyphs import confusables

    found = confusables.is_confusable(character, greedy=True) or []
    for entry in found:
        for glyph in entry["homoglyphs"]:
            if len(glyph["c"]) == 1 and script in glyph["n"] and (glyph["c"].isascii() or not of_script):
                return glyph["c"].casefold()
    return character
