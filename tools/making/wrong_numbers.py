"""Drafts made wrong in a number, a version, a date or a unit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Final

from contracts.enums import Language
from tools.making.cited_drafts import CODE, CitedDraft, Found, without_quotes

_NUMBER = re.compile(
    r"(?<![\w.,/:+#@=-])(?:\d{1,3}(?:[ ,\u00a0\u202f]\d{3})+|\d+[.,]\d+|\d+)(?![\w/@]|:\d|[.,-]\d|[ \u00a0\u202f]\d{3}\b|-[a-zа-я])"
)
_ANY_NUMBER = re.compile(r"\d{1,3}(?:[ ,\u00a0\u202f]\d{3})+|\d+[.,]\d+|\d+")
_WORDS: Final = {
    Language.EN: {
        "2": "two",
        "3": "three",
        "4": "four",
        "5": "five",
        "6": "six",
        "7": "seven",
        "8": "eight",
        "10": "ten",
    },
    Language.RU: {"2": "дв", "3": "тр", "4": "четыр", "5": "пят", "6": "шест", "7": "сем", "8": "вос", "10": "десят"},
}
_UNITS: Final = {
    Language.EN: {
        "seconds": ("minutes", "hours"),
        "s": ("min", "ms"),
        "minutes": ("hours", "seconds"),
        "MB": ("GB", "KB"),
        "characters": ("words", "lines"),
        "milliseconds": ("seconds",),
        "days": ("weeks", "hours"),
        "lines": ("pages", "characters"),
        "passages": ("documents",),
        "bytes": ("megabytes",),
        "words": ("characters",),
        "rows": ("tables",),
        "%": (" seconds",),
    },
    Language.RU: {
        "секунд": ("минут", "часов"),
        "с": ("мин", "мс"),
        "минут": ("часов", "секунд"),
        "МБ": ("ГБ", "КБ"),
        "символов": ("слов", "строк"),
        "миллисекунд": ("секунд",),
        "дней": ("часов", "месяцев"),
        "строк": ("страниц", "символов"),
        "фрагментов": ("документов",),
        "байт": ("мегабайт",),
        "слов": ("символов",),
    },
}


def wrong_numbers(told: CitedDraft, dice: Random) -> Iterator[Found]:
    """Change a number, a version, a date or a unit into one that the cited passages do not have."""
    cited = told.cited()
    there = {_plain(number) for number in _ANY_NUMBER.findall(cited)}
    there |= {number for number, word in _WORDS[told.case.language].items() if word in cited.lower()}
    for start, part in told.claims():
        masked = CODE.sub(lambda found: "x" * len(found.group()), part)
        masked = without_quotes(masked)
        masked = re.sub(r"^\s*\d+[.)]|\[\d+\]", lambda found: "x" * len(found.group()), masked)
        for found in _NUMBER.finditer(masked):
            at = start + found.start()
            if (unit := _other_unit(found, masked, start, told, dice)) is not None:
                yield unit
            elsewhere = dice.random() < 0.3 and _from_elsewhere(found.group(), told, there, dice)
            new = elsewhere or _other_number(found.group(), there, dice)
            if new and (edit := told.edit(at, at + len(found.group()), new)):
                yield edit, "a number of another passage" if elsewhere else _kind_of(found.group(), masked)


def _kind_of(number: str, claim: str) -> str:
    if re.search(rf"(?:Python|version|верси\w+|SQLite|PostgreSQL) {re.escape(number)}", claim):
        return "version"
    if re.search(rf"{re.escape(number)} ?%", claim):
        return "percentage"
    if re.search(rf"{re.escape(number)}[–-]\d|\d[–-]{re.escape(number)}|(?:to|до|and|и) {re.escape(number)}", claim):
        return "range"
    return "decimal" if re.search(r"\d[.,]\d+$", number) else "number"


def _plain(number: str) -> str:
    text = re.sub(r"[ \u00a0\u202f]", "", number)
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+", text):
        text = text.replace(",", "")
    text = text.replace(",", ".")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.lstrip("0") or "0"


def _other_number(number: str, there: set[str], dice: Random) -> str:
    if re.fullmatch(r"\d+[.,]\d{1,2}", number):
        whole, sign, part = number.partition("." if "." in number else ",")
        if number.startswith("3.1"):
            # A version, not a share: of Python, mostly.
            news = [new for new in ("3.8", "3.9", "3.10", "3.14", "2.7") if _plain(new) not in there]
            return dice.choice(news) if news else ""
        step = 10 ** len(part)
        value = int(whole) * step + int(part)
        options = [value + change for change in (-3, -2, -1, 1, 2, 3, 5, step) if value + change > 0]
        news = [f"{option // step}{sign}{option % step:0{len(part)}}" for option in options]
    else:
        value = int(re.sub(r"\D", "", number))
        near = [value * 2, value * 3, value * 10, value // 2, value + value // 10 + 1]
        near += [value + 1, value + 2, value + 3, value - 1, value + 5] if value < 100 else []
        news = [_group_digits(option, number) for option in near if option > 1 and option != value]
    news = [new for new in news if _plain(new) not in there]
    return dice.choice(news) if news else ""


def _group_digits(value: int, like: str) -> str:
    sign = re.search(r"[ ,\u00a0\u202f]", like)
    return f"{value:,}".replace(",", sign.group()) if sign else str(value)


def _from_elsewhere(number: str, told: CitedDraft, there: set[str], dice: Random) -> str:
    others = [found for found in _ANY_NUMBER.findall(told.uncited()) if _plain(found) not in there]
    alike = [
        found
        for found in others
        if not re.match(r"0(?![.,])", found) and len(found) <= len(number) + 1 and ("." in found) == ("." in number)
    ]
    return dice.choice(alike) if alike and not number.startswith("0") else ""


def _other_unit(found: re.Match[str], claim: str, start: int, told: CitedDraft, dice: Random) -> Found | None:
    units = _UNITS[told.case.language]
    named = re.match(r"[ \u00a0]?(%|[A-Za-zА-Яа-я]+)\b", claim[found.end() :])
    unit = named.group(1) if named else ""
    if (
        named is None
        or unit not in units
        or (told.case.language is Language.RU and int(found.group()[-1]) in (1, 2, 3, 4))
    ):
        return None
    new = dice.choice(units[unit])
    if re.search(rf"\b{new.strip()}\b", told.cited()) and new in ("s", "с", "ms", "мс"):
        return None
    if dice.random() < 0.35:
        return None
    at = start + found.end() + named.start(1)
    edit = told.edit(at, at + len(unit), new)
    return (edit, "unit") if edit else None


def number_words(told: CitedDraft, dice: Random) -> Iterator[Found]:
    """Change a number that is written as a word."""
    words = {
        Language.EN: ("two", "three", "four", "five", "six", "seven", "ten", "twenty"),
        Language.RU: ("двух", "трёх", "четырёх", "пяти", "шести", "семи", "десяти"),
    }[told.case.language]
    cited = told.cited().lower()
    for start, part in told.claims():
        for found in re.finditer(r"\b(?:" + "|".join(words) + r")\b", part):
            free = [word for word in words if word not in cited]
            if free and (edit := told.edit(start + found.start(), start + found.end(), dice.choice(free))):
                yield edit, "number word"
