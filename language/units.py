"""Units of measure in Russian and English, and when two amounts are one.

Exact conversions count: 60 s are a minute, 1.5 kB are 1500 bytes. What a word leaves open matches either way: KB, MB
and GB are read by thousands and by 1024 ("1024 MB" is "1 GB", and so is "1000 MB"); degrees without a scale are those
of either. A month is no number of days, and no currency is another. What is counted in manuals is a unit, too: 8
characters are not 8 lines; a Russian "строка" is a line or a row.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Final

from language.clean import fold

Amount = tuple[str, Fraction]
"""A dimension and how much of its smallest unit."""

_K, _KI = Fraction(1000), Fraction(1024)

_TABLE: Final[tuple[tuple[str, tuple[tuple[str, Fraction], ...]], ...]] = (
    ("us usec µs μs мкс microsecond microseconds микросекунд*", (("time", Fraction(1, 10**6)),)),
    ("ms msec мс мсек millisecond milliseconds миллисекунд*", (("time", Fraction(1, 1000)),)),
    ("s sec secs second seconds с сек секунд*", (("time", Fraction(1)),)),
    ("min mins minute minutes мин минут*", (("time", Fraction(60)),)),
    (
        "h hr hrs hour hours hourly ч час часа часов часу часам часами часах часовой часового часовая",
        (("time", Fraction(3600)),),
    ),
    (
        "day days daily дн день дня дней дню днем дням днями днях дневн* сут сутки суток суткам сутках",
        (("time", Fraction(86400)),),
    ),
    ("week weeks нед недел*", (("time", Fraction(604800)),)),
    ("month months мес месяц*", (("month", Fraction(1)),)),
    ("year years yr yrs год года году годом годы лет летн*", (("month", Fraction(12)),)),
    ("byte bytes байт*", (("size", Fraction(1)),)),
    ("kb кб кбайт* kilobyte kilobytes килобайт*", (("size", _K), ("size", _KI))),
    ("mb мб мбайт* megabyte megabytes мегабайт*", (("size", _K**2), ("size", _KI**2))),
    ("gb гб гбайт* gigabyte gigabytes гигабайт*", (("size", _K**3), ("size", _KI**3))),
    ("tb тб тбайт* terabyte terabytes терабайт*", (("size", _K**4), ("size", _KI**4))),
    ("kib киб кибайт* kibibyte kibibytes кибибайт*", (("size", _KI),)),
    ("mib миб мибайт* mebibyte mebibytes мебибайт*", (("size", _KI**2),)),
    ("gib гиб гибайт* gibibyte gibibytes гибибайт*", (("size", _KI**3),)),
    ("tib тиб tebibyte tebibytes тебибайт*", (("size", _KI**4),)),
    ("bit bits бит бита битов битный битн*", (("bit", Fraction(1)),)),
    ("kbit kbits кбит kilobit kilobits килобит*", (("bit", _K),)),
    ("mbit mbits мбит megabit megabits мегабит*", (("bit", _K**2),)),
    ("gbit gbits гбит gigabit gigabits гигабит*", (("bit", _K**3),)),
    ("kbps kbit/s кбит/с", (("bit/s", _K),)),
    ("mbps mbit/s мбит/с", (("bit/s", _K**2),)),
    ("gbps gbit/s гбит/с", (("bit/s", _K**3),)),
    ("kb/s кб/с", (("size/s", _K),)),
    ("mb/s мб/с", (("size/s", _K**2),)),
    ("gb/s гб/с", (("size/s", _K**3),)),
    ("% percent pct процент*", (("percent", Fraction(1)),)),
    ("hz гц герц*", (("hz", Fraction(1)),)),
    ("khz кгц килогерц*", (("hz", _K),)),
    ("mhz мгц мегагерц*", (("hz", _K**2),)),
    ("ghz ггц гигагерц*", (("hz", _K**3),)),
    ("px pixel pixels пиксел* пикс", (("px", Fraction(1)),)),
    ("pt pts пт", (("pt", Fraction(1)),)),
    ("mm мм millimetre millimetres millimeter millimeters миллиметр*", (("length", Fraction(1, 1000)),)),
    ("cm см centimetre centimetres centimeter centimeters сантиметр*", (("length", Fraction(1, 100)),)),
    ("metre metres meter meters метр*", (("length", Fraction(1)),)),
    ("km км kilometre kilometres kilometer kilometers километр*", (("length", _K),)),
    ("mile miles миля мили миль", (("mile", Fraction(1)),)),
    ("kg кг kilogram kilograms килограмм*", (("mass", _K),)),
    ("gram grams грамм*", (("mass", Fraction(1)),)),
    ("°c celsius", (("degc", Fraction(1)),)),
    ("°f fahrenheit", (("degf", Fraction(1)),)),
    ("° degree degrees градус*", (("degc", Fraction(1)), ("degf", Fraction(1)), ("deg", Fraction(1)))),
    ("character characters char chars символ* знака знаков знаки", (("character", Fraction(1)),)),
    ("line lines", (("line", Fraction(1)),)),
    ("row rows", (("row", Fraction(1)),)),
    ("строка строки строк строкам строками строках", (("line", Fraction(1)), ("row", Fraction(1)))),
    ("word words слово слова слов словам словами словах", (("word", Fraction(1)),)),
    ("token tokens токен*", (("token", Fraction(1)),)),
    ("passage passages фрагмент*", (("passage", Fraction(1)),)),
    ("document documents документ*", (("document", Fraction(1)),)),
    ("page pages страниц*", (("page", Fraction(1)),)),
    ("file files файл*", (("file", Fraction(1)),)),
    ("₽ rub rur руб рубл* rouble roubles ruble rubles", (("rub", Fraction(1)),)),
    ("$ usd dollar dollars доллар*", (("usd", Fraction(1)),)),
    ("€ eur euro euros евро", (("eur", Fraction(1)),)),
    ("£ gbp pound pounds фунт*", (("gbp", Fraction(1)),)),
)

_WORDS: Final = {form: meant for forms, meant in _TABLE for form in fold(forms).split() if not form.endswith("*")}
_BEGINNINGS: Final = tuple(
    (form[:-1], meant) for forms, meant in _TABLE for form in fold(forms).split() if form.endswith("*")
)
# One letter is as often a word as a unit ("5 с половиной"): it counts where what follows lets it end something. Some are
# no unit at all here, for they are several: 5m are minutes, metres or millions.
_ENDS = re.compile(r"\s*(?:$|[.,;:)\]|!?(—–\n*]|(?:и|или|на|в)\s)")

UNIT: Final = (
    r"(?:[ \u00a0\u202f]?(?:%|[$€£₽](?!\d)|°[ \u00a0]?[CFСcfс]?(?![^\W\d]))"
    r"|[ \u00a0\u202f]?-?(?:[KMGkmgкмгКМГ](?:бит|bit)/[sс]|[KMGkmgкмгКМГ][BбБ]/[sс]|[^\W\d_]+)(?![\w])\.?)"
)
"""What may be a unit behind a number, as part of a regular expression; `meaning` says whether it is one."""


@lru_cache(maxsize=4096)
def meaning(written: str, behind: str = "") -> tuple[tuple[str, Fraction], ...]:
    """Return the readings of a unit, each a dimension and its size; none where the word is no unit.

    Args:
        written: What stands behind the number (or before it: a currency), with its space or hyphen.
        behind: The characters behind it.
    """
    bare = written.strip(" \u00a0\u202f-")
    word = fold(bare).rstrip(".").replace(" ", "").replace("\u00a0", "")
    if word.startswith("°"):
        word = word.replace("с", "c")
    attached = written[:1] not in (" ", "\u00a0", "\u202f")
    if word == "с" and not attached and not _ENDS.match(behind):
        return ()
    if word in _WORDS:
        return _WORDS[word]
    if len(word) >= 4 and not word.isascii():
        return next((meant for beginning, meant in _BEGINNINGS if word.startswith(beginning)), ())
    return ()


def amounts(value: str, unit: tuple[tuple[str, Fraction], ...]) -> frozenset[Amount]:
    """Return what a normal number of a unit may amount to."""
    by = Fraction(value)
    return frozenset((dimension, by * size) for dimension, size in unit)
