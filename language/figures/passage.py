"""A citable text in all its possible readings: in case of doubt, the passage supports the claim."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Final

from language.clean import fold
from language.figures.dates import DATE, Date, read
from language.figures.figure import (
    CYRILLIC,
    FIGURE,
    NEXT_WORD,
    SUFFIX,
    TIMES,
    Figure,
    counted_word,
    figures_of,
    half_amounts,
)
from language.figures.identifiers import ALIKE, KEYS_APART, URL, flatten, keys_of, normalise_address
from language.figures.numbers import NUMBER, SCALE, number, readings, word_number
from language.figures.units import COUNTS, Amount, amounts, read_unit
from language.figures.values import CITATION, GONE, LIST_MARKER, code_parts
from language.memo import remember
from language.patterns import read_wording
from language.words import stem, stop_words, tokens

_WORDING: Final = read_wording(__name__)

_EACH = _WORDING.pattern("each")
_NUMBERED = _WORDING.pattern("numbered")
_COUNTED = re.compile(rf"\d[ \u00a0\u202f-]?(?:{SCALE}[ \u00a0])?[^\W\d_]+", re.IGNORECASE)
_SHARES: Final = ((_WORDING.pattern("half"), "50"), (_WORDING.pattern("quarter"), "25"))
"""Words for a share, which is written as a percentage as well."""
_DOTTED = re.compile(rf"(?<![\w.])v?\.?(\d+(?:\.\d+)+)({SUFFIX})", re.IGNORECASE)
_PIECES = re.compile(r"\d+(?:[.,]\d+)?")
_POINTED = re.compile(r"(?<![\w.])\.\d+")
_DAY_BEFORE = _WORDING.pattern("day_before")
_LINK_TARGET = re.compile(r"\](?:\([^)\n]{0,1000}+\)|\[[^\]\n]{0,1000}+\])")
_TAG = re.compile(r"<[^<>\n]*>")
_TAG_BUT_ADDRESS = re.compile(r"<(?!https?://)[^<>\n]*>")
_ONCE: Final = _WORDING.pattern("once")


@dataclass(frozen=True, slots=True)
class _UnitlessNumber:
    """A number without a unit, and the units that are said around it.

    Attributes:
        normal: The normal forms.
        near: What follows it, or else what its sentence or cell says.
        line: What its line says.
        counts: Whether it counts something that is no unit.
        loose: Whether its line is a row or has code, so that it may be of any unit.
    """

    normal: tuple[str, ...]
    near: tuple[tuple[str, Fraction], ...]
    line: tuple[tuple[str, Fraction], ...]
    counts: bool
    loose: bool


_SENTENCE_ENDS: Final = re.compile(r"[.;!?](?=\s)|\|")
_CLAUSE_ENDS: Final = re.compile(r"[.;:!?](?:\s|$)|[()|]")
_RATE: Final = _WORDING.pattern("rate")
_IN_UNIT: Final = _WORDING.pattern("in_unit")


def _units_said(text: str) -> tuple[tuple[str, Fraction], ...]:
    """Return the units that a text names without a number, and not as a rate: "in seconds", not "per second"."""
    bare = _RATE.sub(GONE, _COUNTED.sub(GONE, text))
    return tuple(dict.fromkeys(unit for word in re.findall(r"[^\W\d_]+|%", bare) for unit in read_unit(f" {word}")))


def _unit_of_sentence(text: str) -> tuple[tuple[str, Fraction], ...]:
    """Return the units that a sentence or a cell says its numbers are in."""
    said = _IN_UNIT.findall(_RATE.sub(GONE, text))
    return tuple(dict.fromkeys(unit for word in said for unit in read_unit(f" {word}")))


class ReadPassage:
    """A text that may be cited, read in every way in which somebody may have read it."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def flat(self) -> str:
        """The text in one line, folded, without marks; twice, as "`Item`s" may be one word or a name with an ending."""
        return f"{flatten(self.text)}\n{flatten(self.text.replace('`', ' '))}"

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The text in one line, with and without tags: without them, separated words may join."""
        readings = dict.fromkeys((self.text, *(_TAG.sub(gap, self.text) for gap in ("", " ") if "<" in self.text)))
        return tuple(" ".join(reading.split()) for reading in readings)

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """The figures of every reading: by lines, to exclude list markers, and in one line."""
        found = dict.fromkeys(figures_of(self._unmarked))
        for line in (*self.lines, re.sub(r"[*_`]", "", self.lines[0])):
            found |= dict.fromkeys(figure for figure in figures_of(line) if figure.unit or figure.kind != "number")
        return tuple(found)

    @cached_property
    def _code(self) -> tuple[str, ...]:
        return tuple(flatten(part.strip("`~")) for part in code_parts(self.text)[1::2])

    @cached_property
    def code_without_blanks(self) -> str:
        """Its code, without blanks."""
        return "\n".join(map(without_blanks, self._code))

    @cached_property
    def calls(self) -> frozenset[str]:
        """The names of the functions that its code calls."""
        return frozenset(name for part in self._code for name in re.findall(r"(?<![\w.])([\w.]{2,60})\(", part))

    @cached_property
    def alike(self) -> str:
        """The text as `flat`, with look-alike letters made equal."""
        return self.flat.translate(ALIKE)

    @cached_property
    def keys(self) -> frozenset[str]:
        """Its key combinations, in any notation."""
        text = re.sub(r"</?kbd>|[*`]", "", self.text)
        return frozenset(keys_of(match.group()) for match in KEYS_APART.finditer(text))

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Every number that it may contain, including those inside code, names and versions."""
        found = {number(piece) for piece in _PIECES.findall(self.text)}
        found |= {number(f"0{piece}") for piece in _POINTED.findall(self.text)}
        for line in self.lines:
            comma = bool(CYRILLIC.search(line))
            for match in FIGURE.finditer(line):
                if match["number"]:
                    minus = "-" if match["sign"] else ""
                    forms = readings(match["number"], decimal_comma=comma)
                    found.update(number(minus + form) for form in forms)
        found.update(form for figure in self.figures if figure.kind == "number" for form in figure.normal)
        words = (_word_number(word) for word in tokens(self.text))
        found.update(str(value) for value in words if value is not None)
        found.update(
            number(str(int(a) / int(b))) for a, b in re.findall(r"(?<![\d/])(\d{1,3})/([2-9]|10)(?![\d/])", self.text)
        )
        return frozenset(found)

    @cached_property
    def _unmarked(self) -> str:
        return _LINK_TARGET.sub("] ", LIST_MARKER.sub("", self.text))

    @cached_property
    def dimensions(self) -> frozenset[str]:
        """The dimensions that its numbers measure."""
        return frozenset(dimension for figure in self.figures for dimension, _ in figure.unit)

    def may_amount(self, wanted: frozenset[Amount], forms: Iterable[str]) -> bool:
        """Whether a number without a unit may mean an amount: the words around it give the unit, or none does.

        Args:
            wanted: The amounts to look for.
            forms: The number in the claim. Another number counts only if its own sentence gives its unit.
        """
        if not wanted.isdisjoint(self._amounts_in_words):
            return True
        dimensions = frozenset(dimension for dimension, _ in wanted)
        for bare in dict.fromkeys(bare for form in forms for bare in self._bare_figures.get(form, ())):
            if bare.counts or any(dimension in dimensions for dimension, _ in bare.near):
                continue
            line = tuple(unit for unit in bare.line if unit[0] in dimensions)
            if line:
                if any(amounts(form, line) & wanted for form in bare.normal):
                    return True
            elif bare.loose or not dimensions & self.dimensions:
                return True
        return False

    @cached_property
    def _amounts_in_words(self) -> frozenset[Amount]:
        every = {bare for bares in self._bare_figures.values() for bare in bares}
        return frozenset(amount for bare in every for form in bare.normal for amount in amounts(form, bare.near))

    @cached_property
    def _bare_figures(self) -> dict[str, list[_UnitlessNumber]]:
        found: dict[str, list[_UnitlessNumber]] = {}
        for line in self._unmarked.splitlines():
            figures = [one for one in figures_of(line) if one.kind in ("number", "word") and not one.unit]
            if not figures:
                continue
            of_line = _units_said(line)
            cuts = [0, *(match.end() for match in _SENTENCE_ENDS.finditer(line)), len(line)]
            parts = [(start, end, _unit_of_sentence(line[start:end])) for start, end in pairwise(cuts)]
            loose = any(mark in line for mark in ("|", "`", "=", "_"))
            for figure in figures:
                if _NUMBERED.search(line, max(0, figure.start - 40), figure.start):
                    continue
                around = next((units for start, end, units in parts if start <= figure.start < end), ())
                noun = NEXT_WORD.match(line, figure.end)
                clause = _CLAUSE_ENDS.split(line[figure.end : figure.end + 80], maxsplit=1)[0]
                words = _words_of_number(_RATE.sub(GONE, clause))
                follows = [unit for word in words for unit in read_unit(f" {word}")]
                counts = bool(noun) and fold(noun[1]) not in stop_words() and not follows
                near = tuple(follows) if follows else () if counts else around
                bare = _UnitlessNumber(figure.normal, near, of_line, counts, loose)
                for form in figure.normal:
                    found.setdefault(form, []).append(bare)
        return found

    def may_count(self, forms: Iterable[str], dimensions: frozenset[str]) -> bool:
        """Whether a line with a bare number counts such things, or names no other counted things."""
        wanted = frozenset(forms)
        lines = [line for line in self._unmarked.splitlines() if not wanted.isdisjoint(_numbers_of_line(line))]
        counted = [{d for word in tokens(line) for d, _ in read_unit(f" {word}")} & COUNTS for line in lines]
        return not lines or any(not there or there & dimensions for there in counted)

    @cached_property
    def bare(self) -> frozenset[str]:
        """The numbers that occur without a unit."""
        return frozenset(form for f in self.figures if f.kind in ("number", "word") and not f.unit for form in f.normal)

    @cached_property
    def measured(self) -> frozenset[str]:
        """The numbers that occur with a unit."""
        return frozenset(form for figure in self.figures if figure.unit for form in figure.normal)

    @cached_property
    def amounts(self) -> frozenset[Amount]:
        """The amounts of its numbers in their units; a unit without a number means one, except in "each day"."""
        found = {amount for figure in self.figures for amount in (*figure.unit, *figure.whole)}
        for word in set(tokens(_EACH.sub(GONE, _COUNTED.sub(GONE, self.text)))):
            if len(word) > 2 and not (word.isascii() and word.endswith("s") and len(word) > 3):
                found |= amounts("1", read_unit(f" {word}"))
        found |= {amount for figure in half_amounts(self.text) for amount in figure.unit}
        found |= {
            amount for words, share in _SHARES if words.search(self.text) for amount in amounts(share, read_unit("%"))
        }
        return frozenset(found)

    @cached_property
    def versions(self) -> frozenset[str]:
        """All dotted numbers, without a suffix, and with it if they have three parts."""
        found: set[str] = set()
        for digits, suffix in _DOTTED.findall(self.text):
            found.add(fold(digits + suffix) if digits.count(".") > 1 else digits)
        return frozenset(found | {form for f in self.figures if f.kind == "version" for form in f.normal})

    @cached_property
    def dates(self) -> frozenset[Date]:
        """Every reading of every date; for a range, also its first day."""
        found = {date for figure in self.figures for date in figure.dates}
        for line in self.lines:
            for match in DATE.finditer(line):
                if before := _DAY_BEFORE.search(line, max(0, match.start() - 12), match.start()):
                    found |= {(year, month, int(before[1])) for year, month, _ in read(match)}
        return frozenset(found)

    @cached_property
    def times(self) -> frozenset[str]:
        """Every time of day."""
        return frozenset(form for figure in self.figures if figure.kind == "time" for form in figure.normal)

    @cached_property
    def counted(self) -> dict[str, set[str]]:
        """Counts of things, by the stem of the word after the number."""
        found: dict[str, set[str]] = {}
        for figure in self.figures:
            if figure.kind == "word":
                found.setdefault(figure.of, set()).update(figure.normal)
        for said, noun in re.findall(rf"(?<![\w.])({NUMBER})[ \u00a0]([^\W\d_]+)", self.lines[0]):
            found.setdefault(counted_word(noun), set()).add(number(said))
        if TIMES in found and _ONCE.search(self.lines[0]):
            found[TIMES].add("1")
        return found

    def near(self, counted: str) -> frozenset[str]:
        """The numbers near a word, given by its stem: in the same line, or in a table or code."""
        by_word, anywhere = self._numbers_by_word
        return by_word.get(counted, frozenset()) | anywhere | frozenset(self.counted.get(counted, ()))

    @cached_property
    def _numbers_by_word(self) -> tuple[dict[str, frozenset[str]], frozenset[str]]:
        by_word: dict[str, frozenset[str]] = {}
        anywhere = frozenset[str]()
        for line in self._unmarked.splitlines():
            if not (numbers := _numbers_of_line(line)):
                continue
            if "|" in line or "=" in line:
                anywhere |= numbers
            else:
                by_word |= {word: by_word.get(word, frozenset()) | numbers for word in set(map(stem, tokens(line)))}
        return by_word, anywhere

    @cached_property
    def urls(self) -> frozenset[str]:
        """Every address."""
        return frozenset(normalise_address(url) for url in URL.findall(self.text))

    @cached_property
    def said(self) -> str:
        """Its words in order, in every reading."""
        said = _pad_tokens(self.text)
        if "[" in self.text and (bare := CITATION.sub("", self.text)) != self.text:
            said += _pad_tokens(bare)  # a claim is read without what looks like a citation
        if not any(mark in self.text for mark in ("<", "](", "][")):
            return said
        parts = code_parts(self.text)
        return said + "".join(_pad_tokens(_as_read(parts, tag)) for tag in (_TAG, _TAG_BUT_ADDRESS))

    @cached_property
    def said_stems(self) -> str:
        """The stems of its words in order."""
        return f" {' '.join(map(stem, self.said.split()))} "

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The stems of its words."""
        return frozenset(self.said_stems.split())

    @cached_property
    def folded(self) -> tuple[str, ...]:
        """Its readings in one line, folded."""
        return tuple(map(fold, self.lines))


def _words_of_number(behind: str) -> Iterator[str]:
    """Yield the next words behind a number that may be its unit: of "2 or 4 GB" that of the next number, not of "2 CPU, 4 GB"."""
    counts, left = False, 4
    for word in re.findall(r"\d+|[^\W\d_]+|%", behind):
        if word.isdigit():
            if counts:
                return
            continue
        if not left:
            return
        yield word
        left -= 1
        counts = counts or fold(word) not in stop_words()


@lru_cache(maxsize=256)
def passage(text: str) -> ReadPassage:
    """Return a text ready for comparing. Results are cached, because each claim and each retry needs them again."""
    return ReadPassage(text)


@remember
def _numbers_of_line(line: str) -> frozenset[str]:
    return ReadPassage(line).numbers


_word_number = lru_cache(maxsize=20_000)(word_number)


def without_blanks(code: str) -> str:
    """Return code without blanks, because its line breaks may differ."""
    return re.sub(r"\s+", "", code)


def _as_read(parts: Sequence[str], tag: re.Pattern[str]) -> str:
    """Return a text without tags and targets of links, but for those inside code."""
    return "".join(part if i % 2 else _LINK_TARGET.sub("]", tag.sub("", part)) for i, part in enumerate(parts))


def _pad_tokens(text: str) -> str:
    # Folded, "№" would be the letters "no", and one word with the name behind it.
    return f" {' '.join(tokens(text.replace('№', '# ')))} "
