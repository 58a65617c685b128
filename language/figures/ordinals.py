"""Which number a short message names: "2", "the second one", «второе», «номер 2»."""

from __future__ import annotations

import re
from typing import Final

from language.clean import fold

_CARDINALS: Final = (
    ("one", "один", "одно", "одну", "одна"),
    ("two", "два", "две"),
    ("three", "три"),
    ("four", "четыре"),
    ("five", "пять"),
    ("six", "шесть"),
    ("seven", "семь"),
    ("eight", "восемь"),
    ("nine", "девять"),
    ("ten", "десять"),
)
_ORDINALS_EN: Final = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_ORDINALS_RU: Final = ("перв", "втор", "трет", "четверт", "пят", "шест", "седьм", "восьм", "девят", "десят")
_ENDINGS_RU: Final = r"(?:ый|ой|ий|ая|ое|ые|ую|ого|ому|ым|ом|ей|ья|ье|ьи|ью|ьего|ьему|ьим|ьем|ьей)"
_BEFORE: Final = (
    r"(?:(?:ok|okay|well|please|i\s+mean|i\s+choose|i\s+want|let\s+it\s+be|take|choose|that\s+is|it\s+is|number|no|option|choice|variant|item|the"
    r"|ну|да|давай(?:те)?|пожалуйста|пусть|будет|выбираю|хочу|беру|номер|пункт|вариант|выбор|под\s+номером)[\s,.:]+){0,4}"
)
_BEHIND: Final = (
    r"(?:[\s,]+(?:one|option|choice|variant|item|please|thanks|thank\s+you"
    r"|вариант\w{0,3}|пункт\w{0,3}|пожалуйста|спасибо)){0,3}"
)
_SAID: Final = re.compile(
    rf"^\W{{0,5}}{_BEFORE}(?:no|[#(\[]){{0,2}}\s?(?:(?P<figures>\d{{1,3}})(?:-?(?:st|nd|rd|th|й|е|я|ый|ое|ая|ую))?"
    rf"|(?P<last>last|последн(?:ий|ее|яя|юю))|(?P<word>[a-zа-я]{{3,12}})){_BEHIND}\W{{0,5}}$"
)
_LONGEST: Final = 60

LAST: Final = -1


def number_named(message: str) -> int | None:
    """Return the number that a message names and says nothing beside; `LAST` for "the last one"; `None` for any other."""
    if len(message) > _LONGEST or not (said := _SAID.match(" ".join(fold(message).split()))):
        return None
    if said["last"]:
        return LAST
    return int(said["figures"]) if said["figures"] else _in_words(said["word"])


def _in_words(word: str) -> int | None:
    for number, (names, english, russian) in enumerate(zip(_CARDINALS, _ORDINALS_EN, _ORDINALS_RU, strict=True), 1):
        if word in (*names, english) or re.fullmatch(f"{russian}{_ENDINGS_RU}", word):
            return number
    return None
