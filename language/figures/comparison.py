"""The values of a claim, and which of them a passage does not have.

Values are what a wrong answer gets wrong in a checkable way: numbers with their units, versions, dates, identifiers,
addresses and quoted names. Measured elsewhere: a number that is not in the cited snippet marks a wrong claim with a
precision of .84 to .97 once list markers and formats are normalised. A passage is read in every way it may be read, a
claim only as it stands: what is compared is a doubt, and doubts are the passage's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise, takewhile
from typing import Final

from language.blocks import split_code
from language.clean import fold
from language.figures.dates import DATE, TIME, Date, agrees, read, time_of
from language.figures.numbers import CARDINALS, NUMBER, SCALE, number, readings, scale_number, word_number
from language.figures.rates import SIZES, per_what
from language.figures.units import COUNTS, UNIT, Amount, amounts, read_unit
from language.memo import remember
from language.words import stem, stop_words, tokens

__all__ = ["Passage", "Values", "missing_from", "missing_values", "number", "passage", "values"]

_URL = re.compile(r"(?:https?|ftp|wss?)://[^\s<>()\[\]\"'`«»“”„…|]+", re.IGNORECASE)
_URL_END: Final = ".,;:!?*_~"
_SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1", re.DOTALL)
_FENCE = re.compile(r"\s*+(?:`{3,}+|~{3,}+)[^`\n]*+\n")
_PLAIN_NUMBER = re.compile(r"[1-9]\d{0,8}")
_STANDS_ALONE = re.compile(r"[^\W_][^\n]*[ \u00a0(]$")
"""What stands before a number that is none of a list or of a longer word."""
_QUOTED = re.compile(r"«([^»\n]{2,80})»|“([^”\n]{2,80})”|„([^“\n]{2,80})“|\"([^\"\n]{2,80})\"")
_FILE = (
    r"(?:py|toml|jsonl?|md|db|ya?ml|txt|ini|cfg|conf|exe|dll|xml|csv|sh|bat|ps1|jsx?|tsx?|html?|css|log|pdf|docx?|xlsx?|pptx?|zip|gz|"
    r"tar|jar|sql|lock|cs|java|go|rs|png|jpe?g|svg|env)"
)
_IDENTIFIER = re.compile(
    r"(?<![\w/.@-])(?:--[a-z][\w-]+|[A-Za-z_]\w*_\w+|[A-ZА-ЯЁ]{2}[A-ZА-ЯЁ0-9]*(?:-\d+)+"
    rf"|(?:[\w.-]+/)+[\w-]+\.{_FILE}|[\w-]+(?:\.[\w-]+)*\.{_FILE}"
    r"|[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+|(?:[a-z0-9-]+\.)+(?:com|org|net|ru|io|dev|local|internal)"
    r"|[a-z]+[A-Z]\w+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+|[A-Z][a-z]+[A-Z]{2,}[a-z]*)(?!\w)"
    r"|(?<![\w/.:<>)\]*%$€£₽°»”-])(?<![\w.][\"'])(?<![%$€£₽°\d][ \u00a0])(?:~|\.{1,2})?/(?:[\w.-]+/)*(?:[\w-]*\.)*[\d-]*+[^\W\d][\w-]*+/?(?![\w>-])|(?<!\w)[A-Za-z]:\\[\w\\.-]*\w"
)
_CODE: Final = re.compile(
    r"(?<![\w@/.+-])(?:0x[0-9A-Fa-f]+|[A-Z]{1,10}[-‐‑]\d[0-9A-Za-z]{0,20}|(?![vVxхX]\.?\d+\b)[A-Za-z]{1,24}\d[0-9A-Za-z]{0,30}"
    r"|[А-ЯЁ]{1,5}[-‐‑]?\d[0-9A-ZА-ЯЁ]{0,20})(?![\w@]|[.,]\d)|(?<!\w)x(?:32|64|86)(?!\w)"
)
"""A name of letters and digits: an error, a key, a model, an algorithm. What begins with a digit is a number and its unit."""
_KEY = (
    r"(?:ctrl|control|alt|shift|cmd|command|win|windows|option|fn|meta|super|esc|escape|tab|enter|return|del|delete|ins|insert|home|end|"
    r"backspace|space|pgup|pgdn|pageup|pagedown|f\d{1,2}|[a-zа-яё0-9])"
)
_KEYS: Final = re.compile(
    rf"(?<![\w+-])(?:ctrl|control|alt|shift|cmd|command|win|option|fn|meta|super)(?:[ \u00a0]?[+‐‑-][ \u00a0]?{_KEY}(?![\w])){{1,4}}",
    re.IGNORECASE,
)
_KEYS_APART: Final = re.compile(
    rf"(?<![\w+-])(?:ctrl|control|alt|shift|cmd|command|win|option|fn|meta|super)(?:(?:[ \u00a0]?[+‐‑-][ \u00a0]?|[ \u00a0](?:and|и)[ \u00a0]|"
    rf"[ \u00a0]){_KEY}(?![\w])){{1,4}}",
    re.IGNORECASE,
)
_KEY_NAMES: Final = {"control": "ctrl", "command": "cmd", "escape": "esc", "delete": "del", "insert": "ins"}
_ALIKE: Final = str.maketrans("авекмнорстухіё", "abekmhopctyxie")
"""Cyrillic letters for the Latin ones that look like them: a code is typed with either."""
_SUFFIX = r"(?:[-+.]?[A-Za-z]+\d*)?"
_FIGURE = re.compile(
    rf"(?<![\w.])(?P<version>v\.?\d+(?:\.\d+)*{_SUFFIX}|\d+(?:\.\d+){{2,}}{_SUFFIX})(?!\w|,\d)"
    r"|(?P<money>[$€£₽])?(?P<sign>(?:(?<![^\s(\[{=:<>≤≥~,;\"«|])[-−])|(?<!\w)(?:minus|минус)[ \u00a0])?"
    rf"(?<![\w.])(?P<number>{NUMBER})(?:[ \u00a0\u202f]?(?P<scale>{SCALE}))?",
    re.IGNORECASE,
)
_UNIT = re.compile(UNIT)
_WORD_FIGURE = re.compile(
    rf"(?<![\w-])(?:{'|'.join(sorted(CARDINALS, key=len, reverse=True)).replace('е', '[её]')})(?=[ \u00a0-][^\W\d_])",
    re.IGNORECASE,
)
_IN_SHORT = re.compile(r".{0,2}\b(?:в двух|in two|in a few)\s(?:словах|words)", re.IGNORECASE)
"""What counts no words."""
_EACH = re.compile(r"(?<!\w)each[ \u00a0][^\W\d_]+", re.IGNORECASE)
"""What happens once in a unit lasts none: "the newest of each day"."""
_NOUN = re.compile(r"[ \u00a0]([^\W\d_]{4,})")
_NUMBERED = re.compile(
    r"(?<!\w)(?:chapters?|steps?|sections?|pages?|parts?|items?|figures?|tables?|versions?|lines?|levels?|appendix|no|nr|p|ch|sec|fig|port|"
    r"глав[аеуы]|шаг[аеу]?|раздел[аеу]?|страниц[аеуы]|част[иья]|пункт[аеу]?|рисун(?:ок|ке)|таблиц[аеуы]|верси[яиюй]|строк[аеиу]|"
    r"уров(?:ень|не|ня)|приложени[ея]|порт[аеу]?|стр|п|гл|рис|табл|разд|№|#)\.?[ \u00a0#№]*$|[#№][ \u00a0]?$",
    re.IGNORECASE,
)
_COUNTED = re.compile(rf"\d[ \u00a0\u202f-]?(?:{SCALE}[ \u00a0])?[^\W\d_]+", re.IGNORECASE)
_NEXT_WORD = re.compile(r"[ \u00a0-]?([^\W\d_]+)")
_BETWEEN = re.compile(
    r"[ \u00a0\u202f]*(?:[-–—−‑]|\.{2,3}|…|to|up to|through|till|until|до|по)[ \u00a0\u202f]*", re.IGNORECASE
)
_TOGETHER = re.compile(r"[ \u00a0\u202f]*+(?:(?:,|and|и)[ \u00a0\u202f]*+)?", re.IGNORECASE)
_HALVES = re.compile(
    r"(?<!\w)(?:(?:полтора|полторы|полутора|one and a half|an? (?P<unit>[^\W\d_]+) and a half)(?:[ \u00a0](?P<more>[^\W\d_]+))?"
    r"|(?P<half>half an?|пол)[ \u00a0-]?(?P<one>[^\W\d_]+))",
    re.IGNORECASE,
)
_SHARES: Final = (
    (
        re.compile(
            r"(?<!\w)(?:half(?![ -]an?\b)|halves|halved|наполовину|вдвое|половин[аеуыо]й?)(?!\w)", re.IGNORECASE
        ),
        "50",
    ),
    (re.compile(r"(?<!\w)(?:(?:a|one) quarter of(?! an?\b)|четверть|четверти)(?!\w)", re.IGNORECASE), "25"),
)
"""Words for a share, which is written as a percentage as well."""
_VERSION_BEFORE = re.compile(
    r"(?:(?<!\w)(?:version|versions|ver\.?|release|верси[яюиейхм]+|релиз[а-яё]*|редакци[яюией]+)(?:[ \u00a0]+(?:№|no\.))?|(?<!\w)[A-Z][A-Za-z+#.]*[a-z])"
    r"[ \u00a0]+(?:v\.?)?$"
)
_VERSION_BEHIND = re.compile(
    r"\+|[ \u00a0]*(?:and|or|и|или)[ \u00a0]+(?:later|newer|higher|above|older|earlier|below|выше|новее|старше|ниже|позже)",
    re.IGNORECASE,
)
_DOTTED = re.compile(rf"(?<![\w.])v?\.?(\d+(?:\.\d+)+)({_SUFFIX})", re.IGNORECASE)
_ZEROS = re.compile(r"(?<!\.0)(?:\.0)++$")
_PIECES = re.compile(r"\d+(?:[.,]\d+)?")
_POINTED = re.compile(r"(?<![\w.])\.\d+")
_DAY_BEFORE = re.compile(r"(\d{1,2})[ \u00a0]*(?:[-–—]|по|до|to|and|и)[ \u00a0]*$", re.IGNORECASE)

_LIST_MARKER = re.compile(r"^[ \t]*(?:>[ \t]*)*(?:\d{1,3}[.)]|[-*+])[ \t]+", re.MULTILINE)
_CITATION = re.compile(r"(?<![ \t])[ \t]*+\[\d{1,3}\]")
_HEADING_MARK = re.compile(r"^#{1,6}[ \t]+", re.MULTILINE)
_LINK_TARGET = re.compile(r"\](?:\([^)\n]{0,1000}+\)|\[[^\]\n]{0,1000}+\])")
_TARGET = re.compile(r"\]\(([^()\s#]+)")
_TAG = re.compile(r"<[^<>\n]*>")
_TAG_BUT_ADDRESS = re.compile(r"<(?!https?://)[^<>\n]*>")

_COMMENT = re.compile(r"(?:^|(?<=\s))(?:#|//)[ \t].*$", re.MULTILINE)
_STRING = re.compile(r"\"[^\"\n]*\"|(?<!\w)'[^'\n]*'(?!\w)")
_PLACEHOLDER = re.compile(r"<[^<>\n]*>|\{\w*\}")
_CODE_WORD = re.compile(r"(?<!\w)\d+(?:[.,]\d+)+(?!\w)|[^\s\"'`=,;:(){}\[\]<>|&$\\*«»“”„]+")

_CLICKED = re.compile(
    r"(?:\b(?:click|press|select|choose|open|tap|button|menu|tab|field|checkbox)|(?<!\w)(?:нажм|нажат|выб[ие]р|откро|кнопк|меню|вкладк|пол[еяю]|"
    r"флажо?к)\w*)(?:[ \u00a0]+(?:on|the|на|в))*[ \u00a0]+$",
    re.IGNORECASE,
)
_BOLD = re.compile(r"(?<!\*)\*\*(?!\*|\s)([^*\n]{2,60}?)(?<!\s)\*\*(?!\*)")
_MENU = re.compile(
    r"([^\W_][\w-]{0,60}+)[*»”\"]{0,3}[ \u00a0]{0,3}(?:→|➔|⇒)[ \u00a0]{0,3}[*«“\"]{0,3}([^\W_][\w-]{0,60})"
)

_CYRILLIC = re.compile(r"[а-яё]", re.IGNORECASE)
_GONE: Final = " \ue000 "
_SPANNED: Final = "\ue001"
"""In the place of what is no prose, and of a code span: no number reaches over them."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, version, date or time as it stands in a text.

    Attributes:
        written: As it stands, its unit with it.
        start, end: Where, without the unit.
        normal: The normal forms that it may mean; of a date none.
        unit: What it may amount to in units; empty for a bare number.
        whole: What it amounts to together with its neighbours: "1 h 30 min".
        dates: What a date may mean.
        kind: `number`, `version`, `date`, `time`, or `word` for a number word without a unit.
        of: The stem of the word that is counted, where it has no unit.
        per: What it is a rate of: `month`, `gb`.
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


@dataclass(frozen=True, slots=True)
class Values:
    """What was found, normalised for comparing: folded, numbers with a point and without grouping."""

    figures: tuple[Figure, ...] = ()
    identifiers: frozenset[str] = field(default_factory=frozenset[str])
    urls: frozenset[str] = field(default_factory=frozenset[str])
    quoted: frozenset[str] = field(default_factory=frozenset[str])

    @property
    def numbers(self) -> frozenset[str]:
        """Every figure as reasons show it, number words left out: they count things more often than they state them."""
        return frozenset(_write_figure(figure) for figure in self.figures if figure.kind != "word")

    def __bool__(self) -> bool:
        """Whether there is any, number words left out."""
        return bool(self.numbers or self.identifiers or self.urls or self.quoted)


def values(text: str, *, code: bool = False) -> Values:
    """Return the values of a claim; list markers, heading marks and citations are none.

    Args:
        text: Markdown.
        code: Whether its fenced blocks are quotations: then each word of them is a value, but for comments, strings
            and what stands in angle brackets for something else.
    """
    # Without a fence both read the same: one of the two is enough, and remembered once.
    return _with_code(text) if code and ("```" in text or "~~~" in text) else _without_code(text)


@remember
def _with_code(text: str) -> Values:
    return _values(text, code=True)


@remember
def _without_code(text: str) -> Values:
    return _values(text, code=False)


def _values(text: str, *, code: bool) -> Values:
    prose, spans, fenced = _split_code(text)
    named, figures = _of_code(fenced) if code else (set[str](), list[Figure]())
    if fenced and not code:
        prose += "\n" + fenced
    marked = _LIST_MARKER.sub("", _HEADING_MARK.sub("", prose))
    urls = {_address(url) for url in _URL.findall(marked)} | {_address(url) for url in _URL.findall(fenced)}
    urls |= {_address(url) for span in spans for url in _URL.findall(span)}
    plain = _restore_spans(marked, spans)
    quoted = {_flat(part) for groups in _QUOTED.findall(plain) for part in groups if part}
    quoted |= set(_find_interface_names(marked))
    masked = _URL.sub(_GONE, marked)
    targets = (target for target in _TARGET.findall(masked) if "\ue000" not in target)
    names, bare = _take_out(_IDENTIFIER, masked)
    identifiers = {_flat(name.strip()) for name in (*names, *targets, *spans)} | named
    keys, bare = _take_out(_KEYS, bare)
    codes, bare = _take_out(_CODE, bare)
    identifiers |= {*map(_keys, keys), *map(_flat, codes)}
    figures += figures_of(bare)
    return Values(
        tuple(figures),
        frozenset(filter(None, identifiers)),
        frozenset(urls),
        frozenset(name for name in quoted if tokens(name)),
    )


def _take_out(pattern: re.Pattern[str], text: str) -> tuple[list[str], str]:
    """Return what a pattern finds, and the text with a mark in the place of each: one look for both."""
    found = list(pattern.finditer(text))
    if not found:
        return [], text
    ends = [0, *(end for match in found for end in match.span()), len(text)]
    beside = [text[start:end] for start, end in zip(ends[::2], ends[1::2], strict=True)]
    return [match.group() for match in found], _GONE.join(beside)


@lru_cache(maxsize=1024)
def code_parts(text: str) -> tuple[str, ...]:
    """Return prose and code in turns, as `split_code`; the same texts are asked of several times in one check."""
    return tuple(split_code(text))


def _split_code(text: str) -> tuple[str, list[str], str]:
    """Return prose with a mark in the place of each code span, the spans, and the lines of code blocks."""
    prose, spans, fenced = "", list[str](), list[str]()
    for i, part in enumerate(code_parts(text)):
        if i % 2 == 0:
            prose += _CITATION.sub("", part)
        elif not _FENCE.match(part) and (match := _SPAN.fullmatch(part)):
            behind = _NEXT_WORD.match(code_parts(text)[i + 1]) if i + 1 < len(code_parts(text)) else None
            if (
                _PLAIN_NUMBER.fullmatch(match[2])
                and _STANDS_ALONE.search(prose)
                and behind
                and read_unit(f" {behind[1]}")
            ):
                prose += match[2]  # "of `500` bytes" is an amount
            else:
                spans.append(match[2])
                prose += _SPANNED
        elif _FENCE.match(part):
            lines = part.strip("\n").split("\n")[1:]
            fenced.append("\n".join(line for line in lines if not re.fullmatch(r"\s*(?:`{3,}|~{3,})\s*", line)))
            prose += "\n"
        else:
            prose += part  # indented: as often a quotation as code
    return prose, spans, "\n".join(fenced)


def _restore_spans(text: str, spans: Sequence[str]) -> str:
    inside = iter(spans)
    return re.sub(_SPANNED, lambda _: f"`{next(inside, '')}`", text) if spans else text


def _of_code(code: str) -> tuple[set[str], list[Figure]]:
    code = _URL.sub(" ", code)
    # Inside strings and comments are words of one's own, and values like anywhere else.
    prose = _GONE.join(match.group() for way in (_STRING, _COMMENT) for match in way.finditer(code))
    code = _PLACEHOLDER.sub(" ", _STRING.sub(" ", _COMMENT.sub("", code)))
    named = set(map(_flat, _IDENTIFIER.findall(prose)))
    figures = figures_of(_IDENTIFIER.sub(_GONE, prose))
    for match in _CODE_WORD.finditer(code):
        word = match.group().strip(".!?")
        if re.fullmatch(r"\d+(?:[.,]\d+)*", word) and word.count(".") < 2:
            figures.append(Figure(word, 0, 0, readings(word)))
        elif len(word) > 1 and re.search(r"\w", word):
            named.add(_flat(word))
    return named, figures


def _keys(pressed: str) -> str:
    """Return keys that are pressed together as `ctrl+f5`."""
    keys = re.split(r"[ \u00a0]*[+‐‑-][ \u00a0]*|[ \u00a0]+(?:and|и)[ \u00a0]+|[ \u00a0]+", fold(pressed))
    return "+".join(_KEY_NAMES.get(key, key) for key in keys).translate(_ALIKE)


def _find_interface_names(text: str) -> Iterator[str]:
    """Return names of the interface in bold, where the words before say that they are such, and the steps of menu paths."""
    for match in _BOLD.finditer(text):
        if _CLICKED.search(text, max(0, match.start() - 40), match.start()):
            yield from (_flat(part) for part in re.split(r"[→➔⇒>]", match[1]) if tokens(part))
    for match in _MENU.finditer(text) if any(arrow in text for arrow in "→➔⇒") else ():
        yield from map(_flat, match.groups())


# ---------------------------------------------------------------------------------------------------------- figures


def figures_of(text: str) -> list[Figure]:
    """Return the numbers, versions, dates and times of a prose in order, and number words that count something."""
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
    comma = bool(_CYRILLIC.search(text))
    last = len(text.rstrip())
    for match in _FIGURE.finditer(text):
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
            of=_counted_word(noun[1]) if not unit and (noun := _NOUN.match(text, end)) else "",
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


def _halves(text: str) -> Iterator[Figure]:
    """Yield "half an hour", "полтора часа": halves of a unit, which are written without a figure."""
    for match in _HALVES.finditer(text):
        value, word = ("0.5", match["one"]) if match["half"] else ("1.5", match["unit"] or match["more"])
        if word and (unit := read_unit(f" {word}")):
            yield Figure(match.group(), *match.span(), (), amounts(value, unit))


def _words(text: str) -> Iterator[Figure]:
    yield from _halves(text)
    for match in _MULTIPLE.finditer(text):
        yield Figure(
            match.group(),
            *match.span(),
            ("1" if match["once"] else "2" if match["twice"] else "3",),
            kind="word",
            of=_TIMES,
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
        elif noun := _NEXT_WORD.match(text, match.end()):
            yield Figure(match.group(), *match.span(), (value,), kind="word", of=_counted_word(noun[1]))


def _counted_word(word: str) -> str:
    return _TIMES if fold(word) in ("time", "times", "раз", "раза") else stem(fold(word))


_TIMES: Final = "times"
_ONCE: Final = re.compile(r"(?<!\w)(?:once|однажды|единожды|один раз|(?:one|a single) time)(?!\w)", re.IGNORECASE)
_MULTIPLE: Final = re.compile(
    r"(?<!\w)(?:(?P<once>(?:given|used|specified|set|typed|passed)\s+once|(?:указан\w?|задан\w?)\s+(?:один раз|однажды))|(?P<twice>twice|doubl(?:es|ed|ing)|twofold|вдвое|дважды|двукратно|удв(?:аива|о[ие])\w*+)"
    r"|thrice|tripl(?:es|ed|ing)|threefold|втрое|трижды|тр[её]хкратно|утр(?:аива|о[ие])\w*+)(?!\w)",
    re.IGNORECASE,
)
"""How many times, in a word."""


def _version(written: str) -> str:
    return re.sub(r"^v\.?", "", fold(written))


def _write_figure(figure: Figure) -> str:
    return figure.normal[0] if figure.normal else " ".join(figure.written.split())


# ----------------------------------------------------------------------------------------------------- the passages


@dataclass(frozen=True, slots=True)
class _Bare:
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
_RATE: Final = re.compile(
    r"(?:/|(?<!\w)(?:per|an?|every|each|кажд\w{2,3}))[ \u00a0]*[^\W\d_]+|(?<!\w)(?:в|за)[ \u00a0](?:секунду|минуту|час|сутки|день|неделю|месяц|год)(?!\w)",
    re.IGNORECASE,
)
_IN_UNIT: Final = re.compile(r"(?:(?<!\w)(?:in|в)[ \u00a0]|\()[ \u00a0]?([^\W\d_]+|%)", re.IGNORECASE)
"""What a sentence says that its numbers are in: "in seconds", "(MB)"."""


def _units_said(text: str) -> tuple[tuple[str, Fraction], ...]:
    """Return the units that a text names without a number, and not as a rate: "in seconds", not "per second"."""
    bare = _RATE.sub(_GONE, _COUNTED.sub(_GONE, text))
    return tuple(dict.fromkeys(unit for word in re.findall(r"[^\W\d_]+|%", bare) for unit in read_unit(f" {word}")))


def _unit_of_sentence(text: str) -> tuple[tuple[str, Fraction], ...]:
    """Return the units that a sentence or a cell says its numbers are in."""
    said = _IN_UNIT.findall(_RATE.sub(_GONE, text))
    return tuple(dict.fromkeys(unit for word in said for unit in read_unit(f" {word}")))


class Passage:
    """A text that may be cited, read in every way in which somebody may have read it."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def flat(self) -> str:
        """The text in one line, folded and without marks; twice, for "`Item`s" is one word or a name with an ending."""
        return f"{_flat(self.text)}\n{_flat(self.text.replace('`', ' '))}"

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The text in one line, as it is and without tags: what they held apart may then stand together."""
        readings = dict.fromkeys((self.text, *(_TAG.sub(gap, self.text) for gap in ("", " ") if "<" in self.text)))
        return tuple(" ".join(reading.split()) for reading in readings)

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """Of every reading: by lines, so that list markers are none, and in one line."""
        found = dict.fromkeys(figures_of(self._unmarked))
        for line in (*self.lines, re.sub(r"[*_`]", "", self.lines[0])):
            found |= dict.fromkeys(figure for figure in figures_of(line) if figure.unit or figure.kind != "number")
        return tuple(found)

    @cached_property
    def _code(self) -> tuple[str, ...]:
        return tuple(_flat(part.strip("`~")) for part in code_parts(self.text)[1::2])

    @cached_property
    def code_without_blanks(self) -> str:
        """What stands in it as code, without blanks."""
        return "\n".join(map(_without_blanks, self._code))

    @cached_property
    def calls(self) -> frozenset[str]:
        """The names that its code calls."""
        return frozenset(name for part in self._code for name in re.findall(r"(?<![\w.])([\w.]{2,60})\(", part))

    @cached_property
    def alike(self) -> str:
        """The text as `flat`, its letters of one look made one."""
        return self.flat.translate(_ALIKE)

    @cached_property
    def keys(self) -> frozenset[str]:
        """Keys that are pressed together, however they are written."""
        text = re.sub(r"</?kbd>|[*`]", "", self.text)
        return frozenset(_keys(match.group()) for match in _KEYS_APART.finditer(text))

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Every number that may be read in it, those inside code, names and versions among them."""
        found = {number(piece) for piece in _PIECES.findall(self.text)}
        found |= {number(f"0{piece}") for piece in _POINTED.findall(self.text)}
        for line in self.lines:
            comma = bool(_CYRILLIC.search(line))
            for match in _FIGURE.finditer(line):
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
        return _LINK_TARGET.sub("] ", _LIST_MARKER.sub("", self.text))

    @cached_property
    def dimensions(self) -> frozenset[str]:
        """What its numbers measure."""
        return frozenset(dimension for figure in self.figures for dimension, _ in figure.unit)

    def may_amount(self, wanted: frozenset[Amount], forms: Iterable[str]) -> bool:
        """Whether a number without a unit may amount to something: what stands around it says in what, or nothing does.

        Args:
            wanted: What is asked for.
            forms: The number that says so in the claim. Another one counts only where its own sentence says in which unit it is.
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
    def _bare_figures(self) -> dict[str, list[_Bare]]:
        found: dict[str, list[_Bare]] = {}
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
                noun = _NEXT_WORD.match(line, figure.end)
                clause = _CLAUSE_ENDS.split(line[figure.end : figure.end + 80], maxsplit=1)[0]
                words = _words_of_number(_RATE.sub(_GONE, clause))
                follows = [unit for word in words for unit in read_unit(f" {word}")]
                counts = bool(noun) and fold(noun[1]) not in stop_words() and not follows
                near = tuple(follows) if follows else () if counts else around
                bare = _Bare(figure.normal, near, of_line, counts, loose)
                for form in figure.normal:
                    found.setdefault(form, []).append(bare)
        return found

    def may_count(self, forms: Iterable[str], dimensions: frozenset[str]) -> bool:
        """Whether a bare number stands in a line that counts such things, or says of nothing else that it counts it."""
        wanted = frozenset(forms)
        lines = [line for line in self._unmarked.splitlines() if not wanted.isdisjoint(_numbers_of_line(line))]
        counted = [{d for word in tokens(line) for d, _ in read_unit(f" {word}")} & COUNTS for line in lines]
        return not lines or any(not there or there & dimensions for there in counted)

    @cached_property
    def bare(self) -> frozenset[str]:
        """The numbers that stand somewhere without a unit."""
        return frozenset(form for f in self.figures if f.kind in ("number", "word") and not f.unit for form in f.normal)

    @cached_property
    def measured(self) -> frozenset[str]:
        """The numbers that stand somewhere with a unit."""
        return frozenset(form for figure in self.figures if figure.unit for form in figure.normal)

    @cached_property
    def amounts(self) -> frozenset[Amount]:
        """What its numbers amount to in their units; a unit without a number is one of it, but for "each day"."""
        found = {amount for figure in self.figures for amount in (*figure.unit, *figure.whole)}
        for word in set(tokens(_EACH.sub(_GONE, _COUNTED.sub(_GONE, self.text)))):
            if len(word) > 2 and not (word.isascii() and word.endswith("s") and len(word) > 3):
                found |= amounts("1", read_unit(f" {word}"))
        found |= {amount for figure in _halves(self.text) for amount in figure.unit}
        found |= {
            amount for words, share in _SHARES if words.search(self.text) for amount in amounts(share, read_unit("%"))
        }
        return frozenset(found)

    @cached_property
    def versions(self) -> frozenset[str]:
        """Everything dotted, with its suffix where it has three parts, and without."""
        found: set[str] = set()
        for digits, suffix in _DOTTED.findall(self.text):
            found.add(fold(digits + suffix) if digits.count(".") > 1 else digits)
        return frozenset(found | {form for f in self.figures if f.kind == "version" for form in f.normal})

    @cached_property
    def dates(self) -> frozenset[Date]:
        """Every reading of every date; of a range, its first day also."""
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
        """How many there are of what, by the stem of the word behind the number."""
        found: dict[str, set[str]] = {}
        for figure in self.figures:
            if figure.kind == "word":
                found.setdefault(figure.of, set()).update(figure.normal)
        for said, noun in re.findall(rf"(?<![\w.])({NUMBER})[ \u00a0]([^\W\d_]+)", self.lines[0]):
            found.setdefault(_counted_word(noun), set()).add(number(said))
        if _TIMES in found and _ONCE.search(self.lines[0]):
            found[_TIMES].add("1")
        return found

    def near(self, counted: str) -> frozenset[str]:
        """The numbers that stand near a word, given by its stem: in one line with it, or in a table or code."""
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
        return frozenset(_address(url) for url in _URL.findall(self.text))

    @cached_property
    def said(self) -> str:
        """Its words in order, in every reading."""
        said = _pad_tokens(self.text)
        if "[" in self.text and (bare := _CITATION.sub("", self.text)) != self.text:
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
def passage(text: str) -> Passage:
    """Return a text ready for comparing; the passages of a turn are asked of again for each claim and each retry."""
    return Passage(text)


@remember
def _numbers_of_line(line: str) -> frozenset[str]:
    return Passage(line).numbers


_word_number = lru_cache(maxsize=20_000)(word_number)


# ------------------------------------------------------------------------------------------------------- comparing


def missing_from(claim: str, snippet: str) -> list[str]:
    """Return the values of a claim that do not occur in a snippet, in a fixed order."""
    return missing_values(values(claim), [passage(snippet)])


def missing_values(wanted: Values, cited: Sequence[Passage]) -> list[str]:
    """Return the values that no cited passage has: figures first, then identifiers, addresses and names, each sorted.

    Identifiers and addresses must occur as they are written, quoted names word by word; none as a part of a longer
    word. A number with a unit is named with it where the passages have that number with another unit only.
    """
    absent = sorted({shown for figure in wanted.figures if (shown := _describe_lack(figure, cited))})
    absent += sorted(name for name in wanted.identifiers if not any(_is_named(name, there) for there in cited))
    absent += sorted(url for url in wanted.urls if not any(_leads(url, there) for there in cited))
    return absent + sorted(name for name in wanted.quoted if not any(_is_quoted(name, there) for there in cited))


def _describe_lack(figure: Figure, cited: Sequence[Passage]) -> str:
    """Return how a figure that no passage has is shown; nothing where one has it."""
    shown = _write_figure(figure)
    match figure.kind:
        case "date":
            there = any(agrees(d, known) for d in figure.dates for text in cited for known in text.dates)
        case "time":
            there = any(form in text.times for form in figure.normal for text in cited)
        case "version":
            there = any(_has_version(figure.normal[0], text) for text in cited)
        case "word":
            there = _may_count(figure, cited)
            shown = figure.written
        case _ if figure.per and (rate := _other_rate(figure, cited)):
            return rate
        case _ if figure.unit:
            amounts_of = figure.unit | figure.whole
            there = any(amounts_of & text.amounts or _has_bare_number(figure, text) for text in cited)
            if any(not text.measured.isdisjoint(figure.normal) for text in cited):
                shown = " ".join(figure.written.split())
        case _:
            if figure.of and not _may_count(figure, cited):
                return shown
            there = any(not text.numbers.isdisjoint(figure.normal) for text in cited) or (
                figure.of == _TIMES
                and any(not text.counted.get(_TIMES, set()).isdisjoint(figure.normal) for text in cited)
            )
    if there or any(_stands(figure.written, text) for text in cited):
        return ""
    return shown


def _may_count(figure: Figure, cited: Sequence[Passage]) -> bool:
    """Whether passages do not count what a figure counts, or may do so with its number."""
    if not any(text.counted.get(figure.of) for text in cited):
        return True
    return any(not text.near(figure.of).isdisjoint(figure.normal) for text in cited)


def _other_rate(figure: Figure, cited: Sequence[Passage]) -> str:
    """Return a figure with what it is a rate of, where the passages have it as a rate of something else only."""
    rates = [
        known.per
        for text in cited
        for known in text.figures
        if known.per and (figure.unit & known.unit or set(figure.normal) & set(known.normal))
    ]
    for kind in (figure.per - SIZES, figure.per & SIZES):
        there = [same for rate in rates if (same := rate & SIZES if kind & SIZES else rate - SIZES)]
        if kind and there and not any(kind & rate for rate in there):
            return f"{' '.join(figure.written.split())} per {', '.join(sorted(kind))}"
    return ""


def _has_bare_number(figure: Figure, text: Passage) -> bool:
    """Whether a text has the number of an amount without any unit, where it may be one of that amount's."""
    dimensions = frozenset(dimension for dimension, _ in figure.unit)
    if dimensions & COUNTS:
        return not text.bare.isdisjoint(figure.normal) and text.may_count(figure.normal, dimensions)
    return text.may_amount(figure.unit | figure.whole, figure.normal)


def _has_version(wanted: str, text: Passage) -> bool:
    if "." not in wanted and wanted in text.numbers:
        return True
    short = _ZEROS.sub("", wanted)
    return any(
        known == wanted or known.startswith(f"{wanted}.") or _ZEROS.sub("", known) == short for known in text.versions
    ) or ("." in wanted and "." not in short and short in text.bare)


def _stands(written: str, text: Passage) -> bool:
    """Whether something stands in a text as it is written, bounded by what cannot belong to it."""
    wanted = fold(" ".join(written.split()))
    for line in text.folded:
        at = line.find(wanted)
        while at >= 0:
            before, behind = line[max(0, at - 2) : at], line[at + len(wanted) : at + len(wanted) + 2]
            if _is_bounded(before, behind):
                return True
            at = line.find(wanted, at + 1)
    return False


def _is_bounded(before: str, behind: str) -> bool:
    if before[-1:].isalnum() or before[-1:] == "_" or behind[:1].isalnum() or behind[:1] == "_":
        return False
    if before[-1:] in ("-", "−") and not before[:-1].strip():
        return False  # a minus
    if behind[:1] in ("-", "+") and behind[1:].isalpha():
        return False  # "1.2.3" is not "1.2.3-rc1"
    return not (before[-1:] in (".", ",", ":") and before[:1].isdigit()) and not (
        behind[:1] in (".", ",", ":") and behind[1:].isdigit()
    )


def _is_named(name: str, there: Passage) -> bool:
    if any(map(str.isdigit, name)) and _is_code(name):
        return _has_code(name, there)
    if _occurs(name, there.flat) or ("+" in name and name in there.keys):
        return True
    # A command may be put together of what the passage names: its words must be there, each as it is written.
    words = name.split()
    if len(words) > 1 and all(_occurs(word, there.flat) for word in words):
        return True
    shown = list(takewhile(lambda word: not _STANDS_FOR.fullmatch(word), words))
    if 1 < len(shown) < len(words) and all(map(_STANDS_FOR.fullmatch, words[len(shown) :])):
        return _occurs(" ".join(shown), there.flat)
    if call := _CALL_IN_SHORT.fullmatch(name):
        return call[1] in there.calls
    return bool(_MARKED_UP.search(name)) and _occurs(_without_blanks(name), there.code_without_blanks)


_STANDS_FOR: Final = re.compile(
    r"<[^\W\d_][^\W\d_ -]*(?:[ _-][^\W\d_]+)*>|\{[^\W\d_]+(?:[ _-][^\W\d_]+)*\}|\.\.\.|…|/path/to/[^\W\d_]+/?"
)
"""What a draft writes in a command for something of the user's."""
_CALL_IN_SHORT: Final = re.compile(r"([\w.]{2,60})\((?:\.\.\.|…)\)")
"""A call whose arguments are left out: `crontab(...)`."""
_MARKED_UP: Final = re.compile(r"[={}\[\]()]")


def _without_blanks(code: str) -> str:
    """Return code without blanks: it may be broken into lines otherwise."""
    return re.sub(r"\s+", "", code)


def _is_code(name: str) -> bool:
    return bool(re.fullmatch(r"(?:[^\W\d_]+[-‐‑]?\d+)+[^\W\d_]*", name))


def _has_code(name: str, there: Passage) -> bool:
    """Whether a code stands in a text; "SHA-256", "SHA 256" and "SHA256" are one, "GPT-4" and "GPT-4.5" are not."""
    parts = [re.escape(part) for part in re.findall(r"[^\W\d_]+|\d+", name.translate(_ALIKE))]
    between = r"[ \u00a0\u202f_‐‑–-]?"
    # "Python3" is a Python 3.11 where a space says that a version follows.
    joined = rf"(?<![^\W_]){between.join(parts)}(?![^\W_])"
    return any(
        re.match(r"[.,]\d", there.alike[match.end() :][:2]) is None or " " in match.group()
        for match in re.finditer(joined, there.alike)
    )


def _occurs(name: str, flat: str) -> bool:
    if name not in flat:
        return False
    before, after = r"(?<!\w)" if name[:1].isalnum() else "", r"(?!\w)" if name[-1:].isalnum() else ""
    return bool(re.search(before + re.escape(name) + after, flat))


def _leads(url: str, there: Passage) -> bool:
    if url in there.urls:
        return True
    # The site of an address that is there; whatever stands behind the host must be there as it is.
    is_site = url.count("/") == 2
    return is_site and any(known.startswith((f"{url}/", f"{url}?")) for known in there.urls)


def _is_quoted(name: str, there: Passage) -> bool:
    words = tokens(name)
    if f" {' '.join(words)} " in there.said:
        return True
    # Russian names are declined; of an English one, "Save" is not "Saved".
    return not name.isascii() and f" {' '.join(map(stem, words))} " in there.said_stems


def _as_read(parts: Sequence[str], tag: re.Pattern[str]) -> str:
    """Return a text without tags and targets of links, but for those inside code."""
    return "".join(part if i % 2 else _LINK_TARGET.sub("]", tag.sub("", part)) for i, part in enumerate(parts))


def _pad_tokens(text: str) -> str:
    # Folded, "№" would be the letters "no", and one word with the name behind it.
    return f" {' '.join(tokens(text.replace('№', '# ')))} "


def _address(url: str) -> str:
    """Normalise an address: scheme and host folded, no slash and no punctuation at its end."""
    url = url.rstrip(_URL_END)
    match = re.match(r"([a-z]+://[^/?#]*)(.*)", url, re.IGNORECASE | re.DOTALL)
    return (fold(match[1]) + match[2] if match else url).rstrip("/")


def _flat(text: str) -> str:
    return " ".join(re.sub(r"[*`«»“”„\"]", "", fold(text.replace("№", "# "))).split())
