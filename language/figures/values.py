"""The values of a claim: its figures, identifiers, addresses, quoted names and pieces of code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from language.blocks import split_code
from language.figures.figure import NEXT_WORD, Figure, figures_of, write_figure
from language.figures.identifiers import (
    CODE,
    CODE_WORD,
    IDENTIFIER,
    KEYS,
    PLACEHOLDER,
    URL,
    flatten,
    keys_of,
    normalise_address,
)
from language.figures.numbers import readings
from language.figures.units import read_unit
from language.memo import remember
from language.patterns import read_wording
from language.words import tokens

_WORDING: Final = read_wording(__name__)

_SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1", re.DOTALL)
_FENCE = re.compile(r"\s*+(?:`{3,}+|~{3,}+)[^`\n]*+\n")
_PLAIN_NUMBER = re.compile(r"[1-9]\d{0,8}")
_STANDS_ALONE = re.compile(r"[^\W_][^\n]*[ \u00a0(]$")
"""What stands before a number that is none of a list or of a longer word."""
_QUOTED = re.compile(r"«([^»\n]{2,80})»|“([^”\n]{2,80})”|„([^“\n]{2,80})“|\"([^\"\n]{2,80})\"")
LIST_MARKER = re.compile(r"^[ \t]*(?:>[ \t]*)*(?:\d{1,3}[.)]|[-*+])[ \t]+", re.MULTILINE)
CITATION = re.compile(r"(?<![ \t])[ \t]*+\[\d{1,3}\]")
_HEADING_MARK = re.compile(r"^#{1,6}[ \t]+", re.MULTILINE)
_TARGET = re.compile(r"\]\(([^()\s#]+)")
_COMMENT = re.compile(r"(?:^|(?<=\s))(?:#|//)[ \t].*$", re.MULTILINE)
_STRING = re.compile(r"\"[^\"\n]*\"|(?<!\w)'[^'\n]*'(?!\w)")
_CLICKED = _WORDING.pattern("clicked")
_BOLD = re.compile(r"(?<!\*)\*\*(?!\*|\s)([^*\n]{2,60}?)(?<!\s)\*\*(?!\*)")
_MENU = re.compile(
    r"([^\W_][\w-]{0,60}+)[*»”\"]{0,3}[ \u00a0]{0,3}(?:→|➔|⇒)[ \u00a0]{0,3}[*«“\"]{0,3}([^\W_][\w-]{0,60})"
)
GONE: Final = " \ue000 "
_SPANNED: Final = "\ue001"
"""In the place of what is no prose, and of a code span: no number reaches over them."""


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a text, normalised for comparing: folded, numbers with a point and without grouping."""

    figures: tuple[Figure, ...] = ()
    identifiers: frozenset[str] = field(default_factory=frozenset[str])
    urls: frozenset[str] = field(default_factory=frozenset[str])
    quoted: frozenset[str] = field(default_factory=frozenset[str])

    @property
    def numbers(self) -> frozenset[str]:
        """Every figure as reasons show it, without number words: they more often count things than state values."""
        return frozenset(write_figure(figure) for figure in self.figures if figure.kind != "word")

    def __bool__(self) -> bool:
        """Whether there is any, number words left out."""
        return bool(self.numbers or self.identifiers or self.urls or self.quoted)


def values(text: str, *, code: bool = False) -> Values:
    """Return the values of a claim, without list markers, heading marks and citations.

    Args:
        text: Markdown.
        code: Whether its fenced blocks are quotations: then each word in them is a value, except comments, strings and
            placeholders in angle brackets.
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
    marked = LIST_MARKER.sub("", _HEADING_MARK.sub("", prose))
    urls = {normalise_address(url) for url in URL.findall(marked)} | {
        normalise_address(url) for url in URL.findall(fenced)
    }
    urls |= {normalise_address(url) for span in spans for url in URL.findall(span)}
    plain = _restore_spans(marked, spans)
    quoted = {flatten(part) for groups in _QUOTED.findall(plain) for part in groups if part}
    quoted |= set(_find_interface_names(marked))
    masked = URL.sub(GONE, marked)
    targets = (target for target in _TARGET.findall(masked) if "\ue000" not in target)
    names, bare = _take_out(IDENTIFIER, masked)
    identifiers = {flatten(name.strip()) for name in (*names, *targets, *spans)} | named
    keys, bare = _take_out(KEYS, bare)
    codes, bare = _take_out(CODE, bare)
    identifiers |= {*map(keys_of, keys), *map(flatten, codes)}
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
    return [match.group() for match in found], GONE.join(beside)


@lru_cache(maxsize=1024)
def code_parts(text: str) -> tuple[str, ...]:
    """Return alternating prose and code, as `split_code`; cached, because a check reads texts several times."""
    return tuple(split_code(text))


def _split_code(text: str) -> tuple[str, list[str], str]:
    """Return prose with a mark in the place of each code span, the spans, and the lines of code blocks."""
    prose, spans, fenced = "", list[str](), list[str]()
    for i, part in enumerate(code_parts(text)):
        if i % 2 == 0:
            prose += CITATION.sub("", part)
        elif not _FENCE.match(part) and (match := _SPAN.fullmatch(part)):
            behind = NEXT_WORD.match(code_parts(text)[i + 1]) if i + 1 < len(code_parts(text)) else None
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
    code = URL.sub(" ", code)
    # Inside strings and comments are words of one's own, and values like anywhere else.
    prose = GONE.join(match.group() for way in (_STRING, _COMMENT) for match in way.finditer(code))
    code = PLACEHOLDER.sub(" ", _STRING.sub(" ", _COMMENT.sub("", code)))
    named = set(map(flatten, IDENTIFIER.findall(prose)))
    figures = figures_of(IDENTIFIER.sub(GONE, prose))
    for match in CODE_WORD.finditer(code):
        word = match.group().strip(".!?")
        if re.fullmatch(r"\d+(?:[.,]\d+)*", word) and word.count(".") < 2:
            figures.append(Figure(word, 0, 0, readings(word)))
        elif len(word) > 1 and re.search(r"\w", word):
            named.add(flatten(word))
    return named, figures


def _find_interface_names(text: str) -> Iterator[str]:
    """Return names of the interface in bold, where the words before say that they are such, and the steps of menu paths."""
    for match in _BOLD.finditer(text):
        if _CLICKED.search(text, max(0, match.start() - 40), match.start()):
            yield from (flatten(part) for part in re.split(r"[→➔⇒>]", match[1]) if tokens(part))
    for match in _MENU.finditer(text) if any(arrow in text for arrow in "→➔⇒") else ():
        yield from map(flatten, match.groups())
