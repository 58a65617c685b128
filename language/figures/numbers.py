"""Numbers as they are written in Russian and English: grouping, decimal marks, signs, scales and number words."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from language.clean import fold

_GAP = " \u00a0\u202f"
_BLANK = re.compile("[ \u00a0\u202f\u2009'’]")

# Grouped by points only where a decimal comma follows: "1.500" alone is one and a half. No number has more groups.
NUMBER: Final = (
    rf"\d{{1,3}}(?:[{_GAP}]\d{{3}}){{1,12}}(?![\w])(?:[.,]\d+)?|\d{{1,3}}(?:['’]\d{{3}}){{1,12}}(?!\d)"
    r"|\d{1,3}(?:,\d{3}){1,12}(?![\d])(?:\.\d+)?|\d{1,3}(?:\.\d{3}){1,12},\d+|\d+(?:[.,]\d+)?"
)
"""A number without its sign, as part of a regular expression."""

SCALE: Final = r"(?:тыс(?:яч[аиу]?|\.)?|млн\.?|миллион(?:а|ов)?|млрд\.?|миллиард(?:а|ов)?|thousand|million|billion)(?![^\W\d])|(?<=\d)[kк](?![^\W_])"
"""A word behind a number that multiplies it."""
_SCALES: Final = {"ты": 10**3, "th": 10**3, "k": 10**3, "к": 10**3, "млн": 10**6, "милли": 10**6, "млр": 10**9}


def number(text: str) -> str:
    """Normalise a number's format: "1 500,50", "1,500.50", "1.500,50" and "1500.5" are one."""
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
        decimal_comma: Whether the text around is one that writes fractions with a comma: there, "1,500" is fifteen
            hundred or one and a half. "1,000" is a thousand anywhere.
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
    """Write a fraction as a normal number; what has no short decimal form stays a fraction: `1/3`."""
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


def _forms(table: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for line in table.strip().splitlines():
        value, *words = line.split()
        found |= dict.fromkeys(words, int(value))
    return found


ONE: Final = frozenset(
    ("one", "a", "an", "single", "один", "одна", "одно", "одну", "одного", "одной", "одному", "одним", "единственный")
)
"""Words that may mean 1, and mostly mean nothing of the kind: they support a 1, and never claim it."""

CARDINALS: Final = _forms("""
2 two два две двух двум двумя двое both оба обе twice дважды двойной double
3 three три трех трем тремя трое thrice трижды
4 four четыре четырех четырем четырьмя четверо
5 five пять пяти пятью
6 six шесть шести шестью
7 seven семь семи семью
8 eight восемь восьми восемью
9 nine девять девяти девятью
10 ten десять десяти десятью
11 eleven одиннадцать одиннадцати
12 twelve двенадцать двенадцати dozen дюжина
13 thirteen тринадцать тринадцати
14 fourteen четырнадцать четырнадцати
15 fifteen пятнадцать пятнадцати
16 sixteen шестнадцать шестнадцати
17 seventeen семнадцать семнадцати
18 eighteen восемнадцать восемнадцати
19 nineteen девятнадцать девятнадцати
20 twenty двадцать двадцати
30 thirty тридцать тридцати
40 forty сорок сорока
50 fifty пятьдесят пятидесяти
60 sixty шестьдесят шестидесяти
90 ninety девяносто девяноста
100 hundred сто ста
1000 thousand тысяча тысячи тысячу тысяч
1000000 million миллион миллиона миллионов
""")
"""Number words with the number that they mean."""

# By their beginnings: Russian ordinals have a dozen endings each.
_ORDINALS: Final = {
    "перв": 1,
    "втор": 2,
    "трет": 3,
    "четверт": 4,
    "пят": 5,
    "шест": 6,
    "седьм": 7,
    "восьм": 8,
    "девят": 9,
    "десят": 10,
}
_ENDING = r"(?:ый|ой|ий|ая|ое|ье|ья|ые|ьи|ого|ьего|ому|ьему|ым|ьим|ом|ьем|ую|ью|их|ых|ьих|ей|ьей|ими|ыми|ым)"
_ORDINAL = re.compile(rf"(перв|втор|трет|четверт|пят|шест|седьм|восьм|девят|десят){_ENDING}")
_ENGLISH_ORDINALS: Final = {
    "first": 1,
    "second": 2,
    "third": 3,
    "fourth": 4,
    "fifth": 5,
    "sixth": 6,
    "seventh": 7,
    "eighth": 8,
    "ninth": 9,
    "tenth": 10,
}


def word_number(word: str) -> int | None:
    """Return the number that one folded word means, cardinal or ordinal; `None` where it means none."""
    if word in CARDINALS:
        return CARDINALS[word]
    if word in ONE:
        return 1
    if word in _ENGLISH_ORDINALS:
        return _ENGLISH_ORDINALS[word]
    match = _ORDINAL.fullmatch(word)
    return _ORDINALS[match[1]] if match else None
