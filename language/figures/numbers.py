"""Numbers in Russian and English: grouping, decimal marks, signs, scales and number words."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from language.clean import fold
from language.patterns import read_wording

_WORDING: Final = read_wording(__name__)


def _numbers(name: str) -> dict[str, int]:
    """Return the number that each word of an entry means."""
    return {word: int(number) for number, words in _WORDING.forms(name).items() for word in words.split()}


_GAP = " \u00a0\u202f"
_BLANK = re.compile("[ \u00a0\u202f\u2009'’]")

# Grouped by points only where a decimal comma follows: "1.500" alone is one and a half. No number has more groups.
NUMBER: Final = (
    rf"\d{{1,3}}(?:[{_GAP}]\d{{3}}){{1,12}}(?![\w])(?:[.,]\d+)?|\d{{1,3}}(?:['’]\d{{3}}){{1,12}}(?!\d)"
    r"|\d{1,3}(?:,\d{3}){1,12}(?![\d])(?:\.\d+)?|\d{1,3}(?:\.\d{3}){1,12},\d+|\d+(?:[.,]\d+)?"
)
"""A number without its sign, as part of a regular expression."""

SCALE: Final = _WORDING.piece("scale")
"""A word behind a number that multiplies it, as part of a regular expression."""
_SCALES: Final = _numbers("scales")


def number(text: str) -> str:
    """Return a number in normal form: "1 500,50", "1,500.50", "1.500,50" and "1500.5" are equal."""
    if text.isdecimal() and not text.startswith("0"):
        return text  # most numbers
    text = _BLANK.sub("", text).replace("−", "-")
    if re.fullmatch(r"-?(?!0)\d{1,3}(?:,\d{3})+(?:\.\d+)?", text):
        text = text.replace(",", "")
    elif re.fullmatch(r"-?\d{1,3}(?:\.\d{3})+,\d+", text):
        text = text.replace(".", "")
    text = text.replace(",", ".")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return re.sub(r"^(-?)0+(?=\d)", r"\1", text)


def readings(text: str, *, decimal_comma: bool = False) -> tuple[str, ...]:
    """Return every normal form that a written number may mean.

    Args:
        text: The number.
        decimal_comma: Whether the surrounding text writes fractions with a comma: then "1,500" is fifteen hundred or
            one and a half. "1,000" is always a thousand.
    """
    first = number(text)
    if decimal_comma and re.fullmatch(r"-?\d{1,3},(?!000)\d{3}", text):
        return first, number(text.replace(",", "."))
    return (first,)


def scale_number(text: str, scale: str) -> str:
    """Return a number times its scale word, normalised: "1,5" and "тыс." are 1500."""
    by = next((factor for begin, factor in _SCALES.items() if fold(scale).startswith(begin)), None)
    if by is None:
        by = 10**6 if fold(scale).startswith("m") else 10**9
    return decimal(Fraction(number(text)) * by)


def decimal(value: Fraction) -> str:
    """Return a fraction as a normal number; without a short decimal form it stays a fraction: `1/3`."""
    if value.denominator == 1:
        return str(value.numerator)
    rest = value.denominator
    for factor in (2, 5):
        while rest % factor == 0:
            rest //= factor
    if rest != 1:
        return f"{value.numerator}/{value.denominator}"
    digits = len(str(value.denominator)) * 4
    shown = f"{value.numerator * 10**digits // value.denominator:0{digits + 2}d}"
    return number(f"{shown[:-digits]}.{shown[-digits:]}")


ONE: Final = frozenset(_WORDING.words("one"))

CARDINALS: Final = _numbers("cardinals")

_ORDINALS: Final = _numbers("ordinals")
_ORDINAL = _WORDING.pattern("ordinal")
_ENGLISH_ORDINALS: Final = _numbers("english_ordinals")


def word_number(word: str) -> int | None:
    """Return the number that one folded word means, cardinal or ordinal; `None` if it means none."""
    if word in CARDINALS:
        return CARDINALS[word]
    if word in ONE:
        return 1
    if word in _ENGLISH_ORDINALS:
        return _ENGLISH_ORDINALS[word]
    match = _ORDINAL.fullmatch(word)
    return _ORDINALS[match[1]] if match else None
