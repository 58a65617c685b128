"""Figures of prose: numbers with their units, versions, dates and times, in digits and in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from language.clean import fold
from language.figures.dates import DATE, TIME, Date, read, time_of
from language.figures.numbers import CARDINALS, NUMBER, SCALE, number, readings, scale_number
from language.figures.rates import per_what
from language.figures.units import UNIT, Amount, amounts, read_unit
from language.patterns import read_wording
from language.words import stem, tokens

_WORDING: Final = read_wording(__name__)

SUFFIX = r"(?:[-+.]?[A-Za-z]+\d*)?"
FIGURE = _WORDING.pattern("figure", suffix=SUFFIX, number=NUMBER, scale=SCALE)
_UNIT = re.compile(UNIT)
_WORD_FIGURE = re.compile(
    rf"(?<![\w-])(?:{'|'.join(sorted(CARDINALS, key=len, reverse=True)).replace('е', '[её]')})(?=[ \u00a0-][^\W\d_])",
    re.IGNORECASE,
)
_IN_SHORT = _WORDING.pattern("in_short")
_NOUN = re.compile(r"[ \u00a0]([^\W\d_]{4,})")
NEXT_WORD = re.compile(r"[ \u00a0-]?([^\W\d_]+)")
_BETWEEN = _WORDING.pattern("between")
_TOGETHER = _WORDING.pattern("together")
_HALVES = _WORDING.pattern("halves")
_VERSION_BEFORE = _WORDING.pattern("version_before")
_VERSION_BEHIND = _WORDING.pattern("version_behind")
CYRILLIC = re.compile(r"[а-яё]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, version, date or time in a text.

    Attributes:
        written: As written, with its unit.
        start, end: Its place, without the unit.
        normal: The normal forms that it may mean; none for a date.
        unit: The amounts in units that it may mean; empty for a bare number.
        whole: The amount together with its neighbours: "1 h 30 min".
        dates: The dates that it may mean.
        kind: `number`, `version`, `date`, `time`, or `word` for a number word without a unit.
        of: The stem of the counted word, if it has no unit.
        per: The base of a rate: `month`, `gb`.
    """

    written: str
    start: int
    end: int
    normal: tuple[str, ...]
    unit: frozenset[Amount] = frozenset()
    whole: frozenset[Amount] = frozenset()
    dates: frozenset[Date] = frozenset()
    kind: str = "number"
    of: str = ""
    per: frozenset[str] = frozenset()


def figures_of(text: str) -> list[Figure]:
    """Return the numbers, versions, dates, times and counting number words of prose, in order."""
    found: list[Figure] = []
    if any(map(str.isdigit, text)):
        found += [
            Figure(match.group(), *match.span(), (), dates=dates, kind="date")
            for match in DATE.finditer(text)
            if (dates := read(match))
        ]
        text = _without(text, found)
        times = [Figure(m.group(), *m.span(), (time_of(m),), kind="time") for m in TIME.finditer(text) if _is_time(m)]
        found += times
        text = _without(text, times)
        found += _with_ranges(list(_numbers(text)), text)
    found += _words(text)
    found = [replace(f, per=per) if (per := per_what(text[f.end : f.end + 60])) else f for f in found]
    return sorted(found, key=lambda figure: figure.start)


def _is_time(match: re.Match[str]) -> bool:
    return bool(match["minute"] or match["half"])


def _without(text: str, figures: Iterable[Figure]) -> str:
    """Return a text with a mark in the place of each character of some figures, which stand in it in order."""
    parts: list[str] = []
    done = 0
    for figure in figures:
        parts += (text[done : figure.start], "\ue000" * (figure.end - figure.start))
        done = figure.end
    return "".join((*parts, text[done:]))


def _numbers(text: str) -> Iterator[Figure]:
    comma = bool(CYRILLIC.search(text))
    last = len(text.rstrip())
    for match in FIGURE.finditer(text):
        start, end = match.span()
        if version := match["version"]:
            yield Figure(version, start, end, (_version(version),), kind="version")
            continue
        said = match["number"]
        if re.fullmatch(r"\d+\.\d+", said) and not match["sign"] and not match["money"] and _is_version(text, match):
            yield Figure(said, start, end, (said,), kind="version")
            continue
        minus = "-" if match["sign"] else ""
        normal = tuple(number(minus + form) for form in readings(said, decimal_comma=comma))
        if match["scale"]:
            normal = (scale_number(minus + said, match["scale"]),)
        unit, behind = _unit(text, match, normal, last)
        yield Figure(
            text[start:behind],
            start,
            behind if unit else end,
            normal,
            frozenset(amount for form in normal for amount in amounts(form, unit)) if unit else frozenset(),
            of=counted_word(noun[1]) if not unit and (noun := _NOUN.match(text, end)) else "",
        )


def _is_version(text: str, match: re.Match[str]) -> bool:
    start, end = match.span("number")
    return bool(_VERSION_BEFORE.search(text, max(0, start - 40), start) or _VERSION_BEHIND.match(text, end))


def _unit(
    text: str, match: re.Match[str], normal: Sequence[str], last: int
) -> tuple[tuple[tuple[str, Fraction], ...], int]:
    """Return the unit of a number, and where it ends; the last word of the text ends at `last`."""
    end = match.end()
    if match["money"]:
        return read_unit(match["money"]), end
    found = _UNIT.match(text, end)
    if not found:
        return (), end
    word = fold(found.group()).strip(" -.")
    if re.fullmatch(r"(?:19|20)\d\d", normal[0]) and (word.startswith("год") or word in ("г", "гг", "year")):
        return (), end  # "2026 год" is a year, not a span of time
    stop = found.end() - (found.group().endswith(".") and found.end() == last)
    unit = read_unit(found.group(), text[found.end() : found.end() + 5])
    return unit, stop if unit else end


def _with_ranges(found: list[Figure], text: str) -> list[Figure]:
    """Give the first end of a range the unit of the second, and amounts of several units their sum."""
    for i in range(len(found) - 2, -1, -1):
        one, two = found[i], found[i + 1]
        if one.kind != "number" or not two.unit:
            continue
        gap = text[one.end : two.start]
        if not one.unit and two.normal and _BETWEEN.fullmatch(gap):
            size = [(dimension, amount / Fraction(form)) for form in two.normal[:1] if Fraction(form)
                    for dimension, amount in two.unit]  # fmt: skip
            unit = tuple(dict.fromkeys(size))
            own = frozenset(amount for form in one.normal for amount in amounts(form, unit))
            found[i] = Figure(text[one.start : two.end], one.start, one.end, one.normal, own)
        elif one.unit and _TOGETHER.fullmatch(gap):
            others = two.whole or two.unit
            whole = frozenset((d, a + b) for d, a in one.unit for e, b in others if d == e and b < a)
            if whole:
                found[i] = Figure(one.written, one.start, one.end, one.normal, one.unit, whole)
                found[i + 1] = Figure(two.written, two.start, two.end, two.normal, two.unit, whole)
    return found


def half_amounts(text: str) -> Iterator[Figure]:
    """Yield halves of a unit that are written without a digit: "half an hour", "полтора часа"."""
    for match in _HALVES.finditer(text):
        value, word = ("0.5", match["one"]) if match["half"] else ("1.5", match["unit"] or match["more"])
        if word and (unit := read_unit(f" {word}")):
            yield Figure(match.group(), *match.span(), (), amounts(value, unit))


def _words(text: str) -> Iterator[Figure]:
    yield from half_amounts(text)
    for match in _MULTIPLE.finditer(text):
        yield Figure(
            match.group(),
            *match.span(),
            ("1" if match["once"] else "2" if match["twice"] else "3",),
            kind="word",
            of=TIMES,
        )
    if CARDINALS.keys().isdisjoint(tokens(text)):
        return  # as mostly; the expression takes long
    for match in _WORD_FIGURE.finditer(text):
        value = str(CARDINALS[fold(match.group())])
        following = _UNIT.match(text, match.end())
        unit = read_unit(following.group(), text[following.end() : following.end() + 5]) if following else ()
        if _IN_SHORT.match(text, max(0, match.start() - 3)):
            continue
        if following and unit:
            yield Figure(text[match.start() : following.end()], *match.span(), (value,), amounts(value, unit))
        elif noun := NEXT_WORD.match(text, match.end()):
            yield Figure(match.group(), *match.span(), (value,), kind="word", of=counted_word(noun[1]))


def counted_word(word: str) -> str:
    return TIMES if fold(word) in ("time", "times", "раз", "раза") else stem(fold(word))


TIMES: Final = "times"
_MULTIPLE: Final = _WORDING.pattern("multiple")


def _version(written: str) -> str:
    return re.sub(r"^v\.?", "", fold(written))


def write_figure(figure: Figure) -> str:
    return figure.normal[0] if figure.normal else " ".join(figure.written.split())
