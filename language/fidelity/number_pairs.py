"""Pairs of numbers that a claim swaps."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import combinations
from typing import Final

from language.clean import fold
from language.fidelity.bindings import LEAST_WORDS, MOST_USES, WORD
from language.fidelity.tables import split_cells
from language.figures.nearest import pieces_in_order
from language.figures.passage import ReadPassage
from language.patterns import read_wording
from language.words import stem

_WORDING: Final = read_wording(__name__)


def swapped_numbers(claim: str, cited: Iterable[ReadPassage]) -> list[str]:
    """Return pairs of numbers that a claim swaps, each as "a <-> b".

    The function compares the words around each of two numbers that the other does not have. The numbers are swapped if
    the source has more of each number's words around the other number than around itself.
    """
    own = _numbers_with_words(claim)
    if len(own) < LEAST_WORDS:
        return []
    found: list[str] = []
    for there in cited:
        known: dict[str, list[frozenset[str]]] = {}
        for number, words in _numbers_of_passage(there.text):
            if number in own:
                known.setdefault(number, []).append(words)
        for one, other in combinations(sorted(known)[:_MOST_NUMBERS], 2):
            ours, theirs = own[one] - own[other], own[other] - own[one]
            if _more_around(ours, known[other], known[one]) and _more_around(theirs, known[one], known[other]):
                found.append(f"{one} <-> {other}")
    return found


def _more_around(words: frozenset[str], there: Iterable[frozenset[str]], here: Iterable[frozenset[str]]) -> bool:
    return max(len(words & around) for around in there) > max(len(words & around) for around in here)


_MOST_PARTS: Final = 100
"""Of one sentence."""
_MOST_NUMBERS: Final = 20
"""Of one part of a sentence, and of one claim that are compared with each other."""


@lru_cache(maxsize=256)
def _numbers_of_passage(text: str) -> tuple[tuple[str, frozenset[str]], ...]:
    pieces = [piece for piece, is_code in pieces_in_order(text) if not is_code][:MOST_USES]
    return tuple(pair for piece in pieces for pair in _numbers_with_words(piece).items())


def _numbers_with_words(text: str) -> dict[str, frozenset[str]]:
    """Return the numbers of a sentence, each with the words of its part; parts end at commas and joining words.

    Of a row, a number's words are those of its cell, its column's head and the row's first cell.
    """
    head, _, line = text.rpartition("\n")
    if cells := split_cells(line):
        heads = split_cells(head) or [""] * len(cells)
        parts = [
            (f"{title} {cells[0]} {cell}", cell)
            for at, (title, cell) in enumerate(zip(heads, cells, strict=False))
            if at  # the first says what the row is about
        ]
    else:
        parts = [(part, part) for part in _parts_with_numbers(text)]
    found: dict[str, frozenset[str]] = {}
    for around, part in parts[:_MOST_PARTS]:
        numbers = {re.sub(r"\s", "", written) for written in _NUMBERS.findall(part)}
        if 0 < len(numbers) <= _MOST_NUMBERS:
            words = _around_words(around)
            found |= {number: found.get(number, frozenset()) | words for number in numbers}
    return found


def _parts_with_numbers(text: str) -> list[str]:
    """Return the parts of a sentence; what has no number belongs to the part before it that has, or to the next."""
    found: list[str] = []
    waiting = ""
    for part in _PART.split(text):
        if _NUMBERS.search(part):
            found.append(f"{waiting} {part}")
            waiting = ""
        elif found:
            found[-1] += f" {part}"
        else:
            waiting += f" {part}"
    return found


def _around_words(part: str) -> frozenset[str]:
    said = (word for word in WORD.findall(fold(part)) if word not in _JOINS and not word.isdigit())
    return frozenset(map(stem, said))


_NUMBERS: Final = re.compile(
    r"(?<![\w-])[A-ZА-ЯЁ]+\d+(?:-\d+)+(?![\w-])|(?<![\w.,:/])(?<![^\W\d]-)\d+(?:[ \u00a0]\d{3}(?!\d))*(?:[.,:]\d+)*(?!\d)"
)
"""Codes that end with numbers, and numbers; the ends of a range are two."""
_PART: Final = _WORDING.pattern("part")
_JOINS: Final = frozenset(_WORDING.words("joins"))
