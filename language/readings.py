"""The readings of a text: as written, and with obfuscated words decoded.

A word may have signs between its letters, or tags, entities or marks inside. It may have digits for letters or Latin
letters for Russian ones, or be backwards or encoded. Rules and topics are searched in each reading. No reading replaces
the text, so a wrong reading loses nothing.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Final
from urllib.parse import unquote

from language.clean import clean, skeleton, unescape_entities
from language.memo import remember
from language.words import stop_words, tokens

_LONGEST: Final = 4_000
"""Characters of a text that is read backwards, of a piece that is decoded, and of what comes of it."""
_SHORT: Final = 80
"""Characters of a text that is read backwards, whatever it says."""
_MOST_PIECES: Final = 8
"""Pieces of a text that are decoded."""
_LEAST_WORDS: Final = 2
"""Common words that a text must have, read backwards or decoded, to be taken for one."""
_TAG: Final = re.compile(r"<!--.{0,500}?-->|</?[A-Za-z][^<>]{0,300}>|<[!?][^<>]{0,300}>", re.DOTALL)
_LINK: Final = re.compile(r"!?\[([^\[\]\n]*)\](?:\([^()\n]*\)|\[[^\[\]\n]*\])")
_CITATION: Final = re.compile(r"\[\d{1,3}\]")
_MARKS: Final = re.compile(r"[*`]|~~|^[ \t]*(?:>[ \t]?)+|(?<![^\W_])_+|_+(?![^\W_])|\\(?=[^\w\s])", re.MULTILINE)
"""What a reader of Markdown does not see; an underscore inside a word is a part of a name."""
_APART: Final = re.compile(
    r"(?:(?>(?<![^\W_])[^\W\d_](?![^\W_])(?!, | -)(?:[^\w\n]{1,3}|_{1,3}|[^\S\n]{0,2}[-–—._/|,·•*+~:;'’][^\S\n]{0,2})(?=[^\W\d_](?![^\W_])))){2,}+"
)
"""Letters that stand alone, two or more, each with what stands between it and the next that does; the last stands behind."""
SIGNS_INSIDE: Final = re.compile(
    r"[-–—._/\\|,·•*+~:;'’`^=#!?](?<=[^\W\d_].)[-–—._/\\|,·•*+~:;'’`^=#!?]{0,2}(?=[^\W\d_])"
)
"""Signs between two letters of what may be one word. A sign is looked for first: most characters of most texts are none."""
_REPEATED: Final = re.compile(r"([^\W\d_])\1{2,}")
DIGITS_FOR_LETTERS: Final = (
    str.maketrans("013456789@$!|", "oieasgtbgasil"),
    str.maketrans("013456789@$!|", "oleasgtbgasll"),
    str.maketrans("0346@", "озаба"),
)
"""Of Latin words in two ways, and of Cyrillic ones."""
MIXED_WORD: Final = re.compile(
    r"(?<![^\W_])(?=[\w@$!|]{0,40}?[^\W\d_])(?=[\w@$!|]{0,40}?[\d@$!|])[\w@$!|]{3,40}(?![\w@$|])"
)
"""A word of letters and of signs that may stand for some."""
_CODED: Final = re.compile(r"(?<![\w+/=-])(?:[A-Za-z0-9+/]{8,4000}={0,2}|[A-Za-z0-9_-]{8,4000}={0,2})(?![\w+/=-])")
_HEX: Final = re.compile(r"(?<!\w)(?:0x)?(?:[0-9A-Fa-f]{2}[ :]?){5,2000}(?!\w)")
_PERCENT: Final = re.compile(r"(?:%[0-9A-Fa-f]{2}){3}")
_LATIN_OF: Final = (
    *(
        ("shch", "щ"),
        ("sch", "щ"),
        ("yo", "ё"),
        ("zh", "ж"),
        ("kh", "х"),
        ("ts", "ц"),
        ("ch", "ч"),
        ("sh", "ш"),
        ("yu", "ю"),
        ("ya", "я"),
    ),
    *(
        ("ju", "ю"),
        ("ja", "я"),
        ("a", "а"),
        ("b", "б"),
        ("v", "в"),
        ("g", "г"),
        ("d", "д"),
        ("e", "е"),
        ("z", "з"),
        ("i", "и"),
        ("j", "й"),
    ),
    *(
        ("k", "к"),
        ("l", "л"),
        ("m", "м"),
        ("n", "н"),
        ("o", "о"),
        ("p", "п"),
        ("r", "р"),
        ("s", "с"),
        ("t", "т"),
        ("u", "у"),
        ("f", "ф"),
    ),
    *(("h", "х"), ("c", "ц"), ("y", "ы"), ("w", "в"), ("q", "к"), ("x", "кс"), ("'", "ь")),
)
_LATIN_LETTER: Final = re.compile("[a-z]")
_LATIN: Final = re.compile("|".join(re.escape(latin) for latin, _ in _LATIN_OF))
_TO_CYRILLIC: Final = dict(_LATIN_OF)


def as_seen(text: str) -> str:
    """Return a text approximately as its reader sees it: without tags, entities and Markdown marks."""
    bare = _TAG.sub("", unescape_entities(text)) if "<" in text or "&" in text else text
    return _MARKS.sub("", _CITATION.sub(" ", _LINK.sub(r"\1", bare)))


@remember
def readings(text: str) -> tuple[str, ...]:
    """Return the readings of a text in lower case, with look-alike letters made equal; the text comes first."""
    first = skeleton(clean(text))
    found = [first, *_without_signs(first)]
    if (seen := skeleton(as_seen(clean(text)))) != first:
        found += [seen, *_without_signs(seen)]
    for hidden in decode(text):
        found += (skeleton(clean(hidden)),)
    return tuple(dict.fromkeys(found))


def _without_signs(text: str) -> Iterator[str]:
    """Yield a text with its spelt words closed up, with digits read as letters, words joined in pairs, and in Cyrillic."""
    runs = _spelt_runs(text)
    closed = _closed_up(_join_letters(text, runs))
    yield closed
    if runs:
        # The first or the last letter may be a word of its own: "у", "a", "I".
        yield _join_letters(text, runs, before=1)
        yield _join_letters(text, runs, behind=1)
    yield from (_closed_up(_join_letters(read, _spelt_runs(read))) for read in _with_letters_for_digits(text))
    yield _in_pairs(closed)
    if _LATIN_LETTER.search(closed) and _common(closed) < _LEAST_WORDS:
        # A text of English words is no Russian in Latin letters.
        yield _LATIN.sub(lambda match: _TO_CYRILLIC[match.group()], closed)


def _closed_up(text: str) -> str:
    return _REPEATED.sub(r"\1", SIGNS_INSIDE.sub("", text))


def _with_letters_for_digits(text: str) -> list[str]:
    """Return what a text says where digits and signs in its words stand for letters, each reading once."""
    mixed = list(MIXED_WORD.finditer(text))
    if not mixed:
        return []
    ends = [0, *(end for word in mixed for end in word.span()), len(text)]
    parts = [text[start:end] for start, end in pairwise(ends)]  # every other one is such a word
    read = (
        "".join(part.translate(letters) if number % 2 else part for number, part in enumerate(parts))
        for letters in DIGITS_FOR_LETTERS
    )
    return [one for one in dict.fromkeys(read) if one != text]


def _spelt_runs(text: str) -> list[tuple[int, int]]:
    """Return where a text has three letters or more that stand alone, one after the other."""
    return [(match.start(), match.end() + 1) for match in _APART.finditer(text)]


def _join_letters(text: str, runs: list[tuple[int, int]], *, before: int = 0, behind: int = 0) -> str:
    """Return a text with no gap between letters that stand alone, three at least: "p a s s", "п.а.р".

    Args:
        text: Any.
        runs: Where it has such letters.
        before: How many letters at the beginning of each run stay apart.
        behind: How many at its end.
    """
    parts: list[str] = []
    done = 0
    for start, end in runs:
        word = re.sub(r"[\W_]+", "", text[start:end])
        last = len(word) - behind
        parts += (text[done:start], f"{word[:before]} {word[before:last]} {word[last:]}" if before + behind else word)
        done = end
    return "".join((*parts, text[done:]))


def _in_pairs(text: str) -> str:
    """Return the words of each sentence joined with the next one each: "sal ary" is a word in two. Words of their own stay apart."""
    stop = stop_words()
    pairs = (pair for sentence in re.split(r"[.!?;:,\n]", text) for pair in pairwise(tokens(sentence)))
    return " ".join(f"{one}{other}" for one, other in pairs if one not in stop and other not in stop)


def decode(text: str) -> Iterator[str]:
    """Yield the words that pieces of a text encode in base64, in hexadecimal, in an address or backwards."""
    pieces = [piece for pattern in (_CODED, _HEX) for piece in islice(pattern.finditer(text), _MOST_PIECES)]
    for match in pieces:
        for said in _decode(match.group()):
            if _is_words(said):
                yield said
    if _PERCENT.search(text) and _is_words(said := unquote(text)):
        yield said
    backwards = text[::-1]
    if len(text) <= _SHORT or (len(text) <= _LONGEST and _common(backwards) > max(_LEAST_WORDS, _common(text))):
        yield backwards


def _decode(piece: str) -> Iterator[str]:
    bare = piece.removeprefix("0x").translate(_NO_GAPS)
    ways = (
        lambda: bytes.fromhex(bare),
        lambda: base64.b64decode(piece + "=" * (-len(piece) % 4), validate=True),
        lambda: base64.urlsafe_b64decode(piece + "=" * (-len(piece) % 4)),
    )
    for way in ways:
        try:
            yield way().decode("utf-8")
        except (ValueError, binascii.Error):
            continue


_NO_GAPS: Final = str.maketrans("", "", " :")


def _is_words(said: str) -> bool:
    """Whether a text is written for people: letters and blanks for the most part, and two words of them, or one in one case."""
    plain = sum(letter.isalpha() or letter.isspace() for letter in said)
    one_word = said.isalpha() and len(said) >= _LONG_WORD and said[1:] == said[1:].lower()
    return plain >= 0.8 * len(said) > 0 and (one_word or len(tokens(said)) >= _LEAST_WORDS)


_LONG_WORD: Final = 5


def _common(text: str) -> int:
    return sum(word in stop_words() for word in tokens(text))
