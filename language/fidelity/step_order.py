"""The order of steps: those that a draft numbers or lists in sequence, and the numbered steps of its source.

A draft's step is matched with the list's step that has most of its words, if no other has nearly as many. A step with
several possible matches has no place, and neither has a step in no list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from language.clean import fold
from language.figures.passage import ReadPassage
from language.patterns import read_wording
from language.truncation import in_short
from language.words import stem, stop_words

_WORDING: Final = read_wording(__name__)

_SAME: Final = 0.5
"""Share of a step's words that a step of the source must have to be it."""
_APART: Final = 0.15
"""By how much this share must exceed that of any other step of the list."""
_LEAST_WORDS: Final = 2
_NO_NUMBER: Final = 1000
"""Behind which no step goes on."""
_MOST_STEPS: Final = 200
"""Of one passage."""
_NUMBERED: Final = re.compile(r"\s*(?:>\s*)*(\d{1,3})[.)]\s+")
_STEP: Final = re.compile(r"^([ \t]*)(\d{1,3})[.)][ \t]+(?=\S)", re.MULTILINE)
_HEADING: Final = _WORDING.pattern("heading")
_WORD: Final = re.compile(r"[^\W_]+")
_CITATION: Final = re.compile(r"\[\d{1,3}\]")
_GOES_ON: Final = _WORDING.pattern("goes_on")
_THEN: Final = _WORDING.pattern("then")
_BEFORE: Final = _WORDING.pattern("before")


_DENIED: Final = _WORDING.pattern("denied")


@dataclass(frozen=True, slots=True)
class _SourceStep:
    """A step of a source: of which list, its place there, and its words."""

    of: tuple[str, int]
    place: int
    words: frozenset[str]


def misordered_steps(told: Iterable[tuple[str, Sequence[ReadPassage]]]) -> list[str]:
    """Return pairs of steps that a draft has in the reverse order of its source, each as "later -> earlier".

    Args:
        told: The draft's claims in order, each with the passages that it cites.
    """
    found: list[str] = []
    before: tuple[_SourceStep, str] | None = None
    last = 0
    for text, cited in told:
        numbered = _NUMBERED.match(text)
        number = int(numbered[1]) if numbered else 0
        goes_on = number > last > 0 if numbered else last == 0 and _GOES_ON.match(text)
        if not goes_on:
            before = None
        last = number
        for part in _in_turn(text[numbered.end() :] if numbered else text):
            step = _step_of(part, cited)
            if step is None:
                continue
            if before and before[0].of == step.of and before[0].place > step.place:
                found.append(f"{in_short(before[1])} -> {in_short(part)}")
            before = step, part
    return found


def _in_turn(text: str) -> Iterator[str]:
    """Yield what a sentence says is done, in the order in which it says so."""
    bare = _CITATION.sub("", text).strip()
    parts = [part for part in _THEN.split(bare) if part.strip()]
    if len(parts) > 1:
        yield from parts
    elif _DENIED.search(bare):
        yield bare  # "do not start before ..." says the reverse
    elif match := _BEFORE.match(bare):
        pairs = (match["soon"], match["late"]), (match["one"], match["other"]), (match["early"], match["next"])
        yield from next((pair for pair in pairs if pair[0]), (bare,))
    else:
        yield bare


def _step_of(part: str, cited: Sequence[ReadPassage]) -> _SourceStep | None:
    """Return the step of a source that a part of a draft tells; where several may be meant, none."""
    words = _words(part)
    if len(words) < _LEAST_WORDS:
        return None
    steps = [step for there in cited for step in _steps(there.text)]
    shares = sorted(((len(words & step.words) / len(words), step) for step in steps), key=lambda one: -one[0])
    if not shares or shares[0][0] < _SAME:
        return None
    best, step = shares[0]
    if any(best - share < _APART for share, _ in shares[1:2]):
        return None
    return step


@lru_cache(maxsize=256)
def _steps(text: str) -> tuple[_SourceStep, ...]:
    """Return the steps of the outermost lists of a text; what stands inside of a step is a part of it."""
    starts = list(_STEP.finditer(text))[:_MOST_STEPS]
    found: list[_SourceStep] = []
    lists = last = place = 0
    goes_on = False
    least = min((len(match[1]) for match in starts), default=0)
    outer = [match for match in starts if len(match[1]) <= least + 1]
    for match, behind in zip(outer, [*outer[1:], None], strict=False):
        end = behind.start() if behind else len(text)
        heading = _HEADING.search(text, match.end(), end)
        number = int(match[2])
        if not (number > last or number == last == 1 or goes_on):
            lists, place = lists + 1, 0
        place += 1
        goes_on = bool(heading and heading["next"])
        found.append(_SourceStep((text, lists), place, _words(text[match.end() : heading.start() if heading else end])))
        last = _NO_NUMBER if heading else number
    return tuple(found)


def _words(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in _WORD.findall(fold(text)) if word not in stop_words())
