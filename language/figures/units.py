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
    ("pb пб petabyte petabytes петабайт*", (("size", _K**5), ("size", _KI**5))),
    ("kbps kbit/s kbits/s кбит/с кбит/сек", (("bit/s", _K),)),
    ("mbps mbit/s mbits/s мбит/с мбит/сек", (("bit/s", _K**2),)),
    ("gbps gbit/s gbits/s гбит/с гбит/сек", (("bit/s", _K**3),)),
    ("kb/s кб/с кб/сек", (("size/s", _K), ("size/s", _KI))),
    ("mb/s мб/с мб/сек", (("size/s", _K**2), ("size/s", _KI**2))),
    ("gb/s гб/с гб/сек", (("size/s", _K**3), ("size/s", _KI**3))),
    ("bps bit/s бит/с", (("bit/s", Fraction(1)),)),
    ("fps кадр/с к/с", (("frame/s", Fraction(1)),)),
    ("rpm об/мин", (("turn/min", Fraction(1)),)),
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
    ("м", (("length", Fraction(1)),)),
    ("nm нм nanometre nanometres nanometer nanometers нанометр*", (("length", Fraction(1, 10**9)),)),
    ("µm μm um мкм micrometre micrometres micron microns микрометр* микрон*", (("length", Fraction(1, 10**6)),)),
    ("inch inches дюйм*", (("length", Fraction(254, 10**4)),)),
    ("ft foot feet фут фута футов", (("length", Fraction(3048, 10**4)),)),
    ("yard yards ярд*", (("length", Fraction(9144, 10**4)),)),
    ("km/h kmh kph км/ч", (("speed", Fraction(1000, 3600)),)),
    ("m/s м/с", (("speed", Fraction(1)),)),
    ("mph", (("mph", Fraction(1)),)),
    ("km км kilometre kilometres kilometer kilometers километр*", (("length", _K),)),
    ("mile miles mi миля мили миль", (("mile", Fraction(1)),)),
    ("kg кг kilogram kilograms килограмм*", (("mass", _K),)),
    ("g г гр gram grams грамм*", (("mass", Fraction(1)),)),
    ("mg мг milligram milligrams миллиграмм*", (("mass", Fraction(1, 1000)),)),
    ("т tonne tonnes тонн*", (("mass", _K**2),)),
    ("lb lbs", (("mass", Fraction(45359237, 10**5)),)),
    ("oz ounce ounces унци*", (("mass", Fraction(45359237, 16 * 10**5)),)),
    ("l л litre litres liter liters литр*", (("volume", Fraction(1)),)),
    ("ml мл millilitre millilitres milliliter milliliters миллилитр*", (("volume", Fraction(1, 1000)),)),
    ("m³ м³ m3 м3", (("volume", _K),)),
    ("gallon gallons gal галлон*", (("gallon", Fraction(1)),)),
    ("w вт watt watts ватт*", (("power", Fraction(1)),)),
    ("kw квт kilowatt kilowatts киловатт*", (("power", _K),)),
    ("megawatt megawatts мегаватт*", (("power", _K**2),)),
    ("milliwatt milliwatts милливатт*", (("power", Fraction(1, 1000)),)),
    ("wh w·h вт·ч втч", (("energy", Fraction(3600)),)),
    ("kwh kw·h квт·ч квтч квт-ч", (("energy", _K * 3600),)),
    ("j дж joule joules джоул*", (("energy", Fraction(1)),)),
    ("kj кдж kilojoule kilojoules килоджоул*", (("energy", _K),)),
    ("cal кал calorie calories калори*", (("calorie", Fraction(1)),)),
    ("kcal ккал kilocalorie kilocalories килокалори*", (("calorie", _K),)),
    ("v volt volts вольт*", (("voltage", Fraction(1)),)),
    ("mv мв millivolt millivolts милливольт*", (("voltage", Fraction(1, 1000)),)),
    ("kv kilovolt kilovolts киловольт*", (("voltage", _K),)),
    ("amp amps ampere amperes ампер*", (("current", Fraction(1)),)),
    ("ma milliamp milliamps milliampere milliamperes миллиампер*", (("current", Fraction(1, 1000)),)),
    ("mah ma·h ма·ч мач", (("charge", Fraction(1, 1000)),)),
    ("ah a·h а·ч", (("charge", Fraction(1)),)),
    ("ohm ohms ω ом ома омов", (("resistance", Fraction(1)),)),
    ("kohm kohms kω ком", (("resistance", _K),)),
    ("db дб decibel decibels децибел*", (("decibel", Fraction(1)),)),
    ("pa па pascal pascals паскал*", (("pressure", Fraction(1)),)),
    ("kpa кпа", (("pressure", _K),)),
    ("mpa мпа", (("pressure", _K**2),)),
    ("bar bars бар бара", (("pressure", _K * 100),)),
    ("psi", (("psi", Fraction(1)),)),
    ("lm lumen lumens люмен*", (("lumen", Fraction(1)),)),
    ("lx lux люкс*", (("lux", Fraction(1)),)),
    ("dpi", (("dpi", Fraction(1)),)),
    ("kelvin kelvins кельвин*", (("kelvin", Fraction(1)),)),
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
    ("₽ rub rur руб р рубл* rouble roubles ruble rubles", (("rub", Fraction(1)),)),
    ("$ usd dollar dollars доллар*", (("usd", Fraction(1)),)),
    ("€ eur euro euros евро", (("eur", Fraction(1)),)),
    ("£ gbp pound pounds фунт*", (("gbp", Fraction(1)), ("mass", Fraction(45359237, 10**5)))),
    ("¢ cent cents цент цента центов", (("usd", Fraction(1, 100)), ("eur", Fraction(1, 100)))),
    ("копейка копейки копеек коп", (("rub", Fraction(1, 100)),)),
    ("квартал квартала кварталов", (("month", Fraction(3)),)),
)

COUNTS: Final = frozenset(("character", "line", "row", "word", "token", "passage", "document", "page", "file"))
"""Dimensions of what is counted and not measured: a text counts them under many names."""
_CASED: Final[dict[str, tuple[tuple[str, Fraction], ...]]] = {
    "mW": (("power", Fraction(1, 1000)),),
    "MW": (("power", _K**2),),
    "мВт": (("power", Fraction(1, 1000)),),
    "МВт": (("power", _K**2),),
    "GW": (("power", _K**3),),
    "ГВт": (("power", _K**3),),
    "В": (("voltage", Fraction(1)),),
    "кВ": (("voltage", _K),),
    "A": (("current", Fraction(1)),),
    "А": (("current", Fraction(1)),),
    "мА": (("current", Fraction(1, 1000)),),
}
"""Units that another case makes another unit, or a word."""
_WORDS: Final = {form: meant for forms, meant in _TABLE for form in fold(forms).split() if not form.endswith("*")}
_BEGINNINGS: Final = tuple(
    (form[:-1], meant) for forms, meant in _TABLE for form in fold(forms).split() if form.endswith("*")
)
# One letter is as often a word as a unit ("5 с половиной"): it counts where what follows lets it end something. Some are
# no unit at all here, for they are several: 5m are minutes, metres or millions.
_ENDS = re.compile(r"\s*(?:$|[.,;:)\]|!?(—–\n*]|(?:и|или|на|в)\s)")
_ENDS_LETTER = re.compile(r"\s*(?:$|[.,;:)\]|!?(—–\n*/]|(?:и|или|на|в|at|in|of|or|to|an?d?|per|is|for)(?:\s|$))")
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
    """Return the readings of a unit, each a dimension and its size; none where the word is no unit.

    Args:
        written: What stands behind the number (or before it: a currency), with its space or hyphen.
        behind: The characters behind it.
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
    """Return what a normal number of a unit may amount to."""
    by = Fraction(value)
    return frozenset((dimension, by * size) for dimension, size in unit)
