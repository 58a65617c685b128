"""Units of measure in Russian and English, and the equality of amounts.

Exact conversions count: 60 s are a minute, 1.5 kB are 1500 bytes. Ambiguous units match either way. KB, MB and GB are
multiples of 1000 and of 1024 ("1024 MB" is "1 GB", and so is "1000 MB"); degrees without a scale match both scales. A
month is not a number of days, and currencies are never equal. Things counted in manuals are units, too: 8 characters
are not 8 lines; a Russian "строка" is a line or a row.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Final

from language.clean import fold
from language.patterns import read_wording

_WORDING: Final = read_wording(__name__)

Amount = tuple[str, Fraction]
"""A dimension and how much of its smallest unit."""


def _size(said: str) -> Amount:
    """Return what "size 1024^2" or "mass 1/1000" says."""
    dimension, _, size = said.partition(" ")
    base, _, power = size.partition("^")
    return dimension, Fraction(base) ** int(power or 1)


_TABLE: Final = tuple((words, tuple(map(_size, meant))) for words, *meant in _WORDING.rows("table"))

COUNTS: Final = frozenset(_WORDING.words("counts"))
_CASED: Final = {word: tuple(map(_size, meant)) for word, *meant in _WORDING.rows("cased")}
_WORDS: Final = {form: meant for forms, meant in _TABLE for form in fold(forms).split() if not form.endswith("*")}
_BEGINNINGS: Final = tuple(
    (form[:-1], meant) for forms, meant in _TABLE for form in fold(forms).split() if form.endswith("*")
)
_ENDS = _WORDING.pattern("ends")
_ENDS_LETTER = _WORDING.pattern("ends_letter")
_JOINED: Final = "|".join(
    re.escape(form)
    for form in sorted((f for forms, _ in _TABLE for f in fold(forms).split() if re.search(r"[^\w*]|\d", f)), key=len)[
        ::-1
    ]
    if form.strip("%$€£₽¢°*").isalnum() is False and len(form) > 2
)

UNIT: Final = (
    r"(?:[ \u00a0\u202f]?(?:%|[$€£₽¢](?!\d)|°[ \u00a0]?[CFСcfс]?(?![^\W\d]))"
    r"|[ \u00a0\u202f]?-?(?:(?i:" + _JOINED + r")|[^\W\d_]+[³]?)(?![\w])\.?)"
)
"""What may be a unit behind a number, as part of a regular expression; `read_unit` says whether it is one."""


@lru_cache(maxsize=4096)
def read_unit(written: str, behind: str = "") -> tuple[tuple[str, Fraction], ...]:
    """Return the readings of a unit, each a dimension and its size; none if the word is not a unit.

    Args:
        written: The text after the number (or before it: a currency), with its space or hyphen.
        behind: The characters after it.
    """
    bare = written.strip(" \u00a0\u202f-")
    word = fold(bare).rstrip(".").replace(" ", "").replace("\u00a0", "")
    if word.startswith("°"):
        word = word.replace("с", "c")
    if bare.rstrip(".") in _CASED:
        # "220 В" is a voltage; what goes on may be a sentence: "5 А потом".
        return _CASED[bare.rstrip(".")] if len(bare) > 1 or _ENDS_LETTER.match(behind) else ()
    attached = written[:1] not in (" ", "\u00a0", "\u202f")
    if word == "с" and not attached and not _ENDS.match(behind):
        return ()
    if word in _WORDS:
        return _WORDS[word]
    if len(word) >= 4 and not word.isascii():
        return next((meant for beginning, meant in _BEGINNINGS if word.startswith(beginning)), ())
    return ()


def amounts(value: str, unit: tuple[tuple[str, Fraction], ...]) -> frozenset[Amount]:
    """Return the amounts that a normal number of a unit may mean."""
    by = Fraction(value)
    return frozenset((dimension, by * size) for dimension, size in unit)
