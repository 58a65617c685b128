"""Harmless edits: other formats, units, quotation marks, synonyms and word orders; none changes a fact.

Each has a name, which a case's note records. Code and quotations never change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Final

from contracts.enums import Language

_KEPT = re.compile(r"```.*?```|`[^`\n]+`|«[^»\n]*»|„[^“\n]*“|“[^”\n]*”|\"[^\"\n]*\"", re.DOTALL)
_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
_MONTHS: Final = {
    Language.EN: (
        *("January", "February", "March", "April", "May", "June"),
        *("July", "August", "September", "October", "November", "December"),
    ),
    Language.RU: (
        *("января", "февраля", "марта", "апреля", "мая", "июня"),
        *("июля", "августа", "сентября", "октября", "ноября", "декабря"),
    ),
}


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One harmless edit: its name, the text that it replaces, and its possible replacements."""

    name: str
    pattern: re.Pattern[str]
    by: tuple[str, ...]


def _of(name: str, pattern: str, *by: str) -> Rewrite:
    return Rewrite(name, re.compile(pattern), by)


_ALONE: Final = r"(?<![\d.,])(?<!\d[ \u00a0\u202f])"
"""Before a number that begins here."""
_BOTH: Final = (
    _of(
        "grouping",
        rf"{_ALONE}(\d{{1,3}})[ ,\u00a0](\d{{3}})(?![\d.,]\d|[ \u00a0\u202f]\d{{3}})\b",
        r"\1\2",
        "\\1\u00a0\\2",
        "\\1\u202f\\2",
    ),
    _of("percent", r"(\d) %", r"\1%"),
    _of("dash", r" — ", " – ", " - "),
)
REWRITES: Final[dict[Language, tuple[Rewrite, ...]]] = {
    Language.EN: (
        *_BOTH,
        _of("grouping", rf"{_ALONE}(\d{{1,3}}),(\d{{3}})(?!,)\b", r"\1 \2"),
        _of("units", r"(\d+) seconds\b", r"\1 s", r"\1 sec"),
        _of("units", r"(\d+) minutes\b", r"\1 min"),
        _of("units", r"(\d+) milliseconds\b", r"\1 ms"),
        _of("units", r"(\d+) hours\b", r"\1 h"),
        _of("range", r"\b[Ff]rom (\d[\d.]*) to (\d[\d.]*)\b", r"\1–\2", r"between \1 and \2"),
        _of("synonym", r"\bat most\b", "no more than", "a maximum of"),
        _of("synonym", r"\bat least\b", "no fewer than", "a minimum of"),
        _of("synonym", r"\bfor example\b", "for instance", "e.g."),
        _of("synonym", r"\btherefore\b", "so", "for this reason"),
        _of("synonym", r"\bFor this(?=,)", "To do this"),
        _of("synonym", r", so\b(?! that)", ", which is why"),
        _of("synonym", r"\bbecause\b", "since", "as"),
        _of("contraction", r"\bcannot\b", "can't", "can not"),
        _of("contraction", r"\bdoes not\b", "doesn't"),
        _of("contraction", r"\bdo not\b", "don't"),
        _of("contraction", r"\bis not\b", "isn't"),
        _of("contraction", r"\bare not\b", "aren't"),
        _of("synonym", r"\bmust be\b", "has to be", "needs to be"),
        _of("synonym", r"\bmay be\b", "can be"),
        _of("synonym", r"\bprints\b", "outputs", "displays"),
        _of("synonym", r"\bshows\b", "displays"),
        _of("synonym", r"\bneeds\b", "requires"),
        _of("synonym", r"\bbegins with\b", "starts with"),
        _of("synonym", r"\btogether with\b", "along with"),
        _of("synonym", r"\bas well\b", "too"),
        _of("synonym", r"\bonce only\b", "only once"),
        _of("synonym", r"\bTo see\b", "If you want to see"),
    ),
    Language.RU: (
        *_BOTH,
        _of("decimal", r"(?<![\d.,])(?<![A-Za-z] )(?!3\.1\d)(\d)\.(\d+)(?![\d.])", r"\1,\2"),
        _of("units", r"(\d+) секунд[ыуа]?\b", r"\1 с", r"\1 сек."),
        _of("units", r"(\d+) минут[ыуа]?\b", r"\1 мин"),
        _of("units", r"(\d+) миллисекунд[ыуа]?\b", r"\1 мс"),
        _of("range", r"\b[Оо]т (\d[\d.]*) до (\d[\d.]*)\b", r"\1–\2"),
        _of("synonym", r"\bне более\b", "не больше", "максимум"),
        _of("synonym", r"\bне менее\b", "не меньше", "минимум"),
        _of("synonym", r"\bнапример\b", "к примеру"),
        _of("synonym", r"\bпоэтому\b", "по этой причине"),
        _of("synonym", r"\bпечатает\b", "выводит"),
        _of("synonym", r"\bпоказывает\b", "выводит", "отображает"),
        _of("synonym", r"\bзадаёт\b", "определяет"),
        _of("synonym", r"\bто есть\b", "т. е."),
        _of("synonym", r"\bпотому что\b", "поскольку", "так как"),
        _of("synonym", r"\bа также\b", "и ещё"),
        _of("synonym", r"\bчтобы посмотреть\b", "чтобы увидеть"),
        _of("synonym", r"\bтолько\b", "лишь"),
        _of("synonym", r"(?<!все )(?<!всё )\bсразу\b", "тут же"),
        _of("synonym", r"\bсейчас\b", "в данный момент"),
        _of("yo", r"ё(?=\w)|(?<=\w)ё", "е"),
    ),
}


def rewrite(text: str, language: Language, dice: Random, *, share: float = 0.5) -> tuple[str, list[str]]:
    """Return a sentence with some of the applicable edits, and their names."""
    names: list[str] = []
    for one in REWRITES[language]:
        by = dice.choice(one.by)
        if dice.random() < share and (changed := outside_quotes(text, lambda part: one.pattern.sub(by, part))) != text:  # noqa: B023  # called at once
            text = changed
            names.append(one.name)
    for name, turn in _TURNS:
        if dice.random() < share / 2 and (changed := turn(text, language, dice)) != text:
            text = changed
            names.append(name)
    return text, names


def outside_quotes(text: str, change: Callable[[str], str]) -> str:
    """Change only the text outside code and quotations."""
    return _outside(_KEPT, text, change)


def _outside(kept: re.Pattern[str], text: str, change: Callable[[str], str]) -> str:
    done, made = 0, ""
    for found in kept.finditer(text):
        made += change(text[done : found.start()]) + found.group()
        done = found.end()
    return made + change(text[done:])


_CLAUSES: Final = {
    Language.EN: re.compile(r"(If|When) ([^,;:—]+), ([^,;:]+)\."),
    Language.RU: re.compile(r"(Если|Когда) ([^,;:—]+), (?:то )?([^,;:]+)\."),
}


def _turn_condition(text: str, language: Language, _: Random) -> str:
    """Put the clause of a condition behind the main one."""
    found = _CLAUSES[language].fullmatch(text)
    if not found:
        return text
    word, condition, main = found.groups()
    comma = "," if language is Language.RU else ""
    return f"{main[0].upper()}{main[1:]}{comma} {word.lower()} {condition}."


def _rewrite_dates(text: str, language: Language, _: Random) -> str:
    def spelt(found: re.Match[str]) -> str:
        year, month, day = found.groups()
        name = _MONTHS[language][int(month) - 1]
        return f"{int(day)} {name} {year}" + (" г." if language is Language.RU else "")

    return outside_quotes(text, lambda part: re.sub(r"\b(20\d\d)-(0[1-9]|1[0-2])-(\d\d)\b", spelt, part))


def _rewrite_quotes(text: str, language: Language, dice: Random) -> str:
    """Put other quotation marks, but for those of code."""
    if language is Language.RU:
        left, right = dice.choice((('"', '"'), ("“", "”"), ("„", "“")))
        return _outside(_CODE, text, lambda part: re.sub(r"«([^«»]+)»", rf"{left}\1{right}", part))
    return _outside(_CODE, text, lambda part: re.sub(r"(?<!\w)\"([^\"]+)\"(?!\w)", "“\\1”", part))


def _bare(text: str, _: Language, __: Random) -> str:
    """Take the marks of code from names that need none."""
    return re.sub(r"`([a-zA-Z][\w]*_[\w]+|[A-Z]{4,}[A-Z_]*)`", r"\1", text)


_TURNS: Final = (
    ("order", _turn_condition),
    ("date", _rewrite_dates),
    ("marks", _rewrite_quotes),
    ("bare names", _bare),
)


def reshape(text: str, language: Language, dice: Random) -> Iterator[tuple[str, str]]:
    """Yield a sentence in each other possible shape, with the name of the change."""
    for name, turn in _TURNS:
        if (changed := turn(text, language, dice)) != text:
            yield name, changed
