"""The lines of a PDF's pages with the type that they are set in, and which of them are headings.

A PDF does not say what a heading is. A heading is a line in larger type than most of the text, or one in bold type alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import hypot, isfinite
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from pypdf import PageObject

_BOLD: Final = re.compile(r"bold|black|heavy|demi|cmbx|cmssbx", re.IGNORECASE)
"""In the name of a font, its weight."""
_LARGER: Final = 1.15
"""How many times as high as most of the text a heading's type is at least."""
_MOST_LINES: Final = 3
"""Lines of one heading; more are a text in large type."""
_LONGEST: Final = 200
_LONGEST_BOLD: Final = 100
"""Characters of a heading in bold type of the text's own height."""
_MOST: Final = 0.3
"""The share of a document's characters in headings, from which its type says nothing."""
_LEADERS: Final = re.compile(r"(?:\. ?){4}|…")
"""The dots of a table of contents."""
_SENTENCE_END: Final = (".", ",", ";", ":")
_STEP: Final = re.compile(r"(\d{1,3})[.)]\s")
_WRAPPED: Final = 0.6
"""Share of the page's longest line from which a line may go on in the next one."""
_MOST_RANKS: Final = 3


class Line(NamedTuple):
    """A line of a page: its text, the height of its smallest type in half points (0 if not known), whether all is bold."""

    text: str
    height: int = 0
    bold: bool = False


@dataclass(frozen=True, slots=True)
class PageHeading:
    """A heading on a page: its first line and how many there are, its text, and its rank among all heights, from 0."""

    start: int
    count: int
    text: str
    rank: int


def read_lines(page: PageObject) -> tuple[str, list[Line]]:
    """Return the text of a page, and its lines without blank ones."""
    parts: list[tuple[str, int, bool]] = []

    def note(text: str, outer: Any, inner: Any, font: Any, size: Any) -> None:
        bold = bool(font) and bool(_BOLD.search(str(font.get("/BaseFont", ""))))
        parts.append((text, _height(size, outer, inner), bold))

    text = page.extract_text(visitor_text=note)
    if "".join(part for part, _, _ in parts) != text:
        # Where the library puts lines in another order, nobody knows what was set in which type.
        parts = [(text, 0, False)]
    return text, list(_lines(parts))


def _height(size: Any, outer: Any, inner: Any) -> int:
    """Return the height of type in half points; 0 if a damaged file says none."""
    try:
        points = abs(float(size)) * hypot(inner[2], inner[3]) * hypot(outer[2], outer[3])
    except (TypeError, ValueError, IndexError, OverflowError):
        return 0
    return round(2 * points) if isfinite(points) and points < 10_000 else 0


def _lines(parts: Sequence[tuple[str, int, bool]]) -> Iterator[Line]:
    texts, heights, weights = list[str](), list[int](), list[bool]()
    for part, height, bold in (*parts, ("\n", 0, False)):
        first, *others = part.split("\n")
        for number, text in enumerate((first, *others)):
            if number:
                if whole := "".join(texts).strip():
                    yield Line(whole, min(heights, default=0), all(weights))
                texts, heights, weights = [], [], []
            texts.append(text)
            if text.strip():
                heights.append(height)
                weights.append(bold)


def find_headings(pages: Sequence[Sequence[Line]]) -> list[list[PageHeading]]:
    """Return the headings of each page, in order; none where the type of a document says nothing."""
    signs = Counter[int]()
    for line in (line for page in pages for line in page):
        signs[line.height] += len(line.text)
    usual = signs.most_common(1)[0][0] if signs else 0
    found = [list(_find(page, usual)) if usual else [] for page in pages]
    within = sum(len(text) for headings in found for _, _, text, _ in headings)
    if within > _MOST * signs.total():
        return [[] for _ in pages]
    heights = sorted({height for headings in found for *_, height in headings}, reverse=True)
    ranks = {height: min(rank, _MOST_RANKS) for rank, height in enumerate(heights)}
    return [
        [PageHeading(start, count, text, ranks[height]) for start, count, text, height in headings]
        for headings in found
    ]


def _find(page: Sequence[Line], usual: int) -> Iterator[tuple[int, int, str, int]]:
    """Yield the headings of a page: first line, number of lines, text, height."""
    groups: list[tuple[int, list[Line]]] = []
    place = 0
    for _, lines in groupby(page, key=lambda line: (line.height, line.bold)):
        groups.append((place, list(lines)))
        place += len(groups[-1][1])
    # A heading has something below it: the last line of a page is a note, or belongs to the next one.
    for (start, lines), _ in pairwise(groups):
        text, height = " ".join(line.text for line in lines), lines[0].height
        larger = height >= _LARGER * usual and len(lines) <= _MOST_LINES and len(text) <= _LONGEST
        alone = lines[0].bold and height >= usual and len(lines) == 1 and len(text) <= _LONGEST_BOLD
        if not (larger or (alone and not text.endswith(_SENTENCE_END) and not text[0].islower())):
            continue
        if not larger and (_is_inside(page, start) or _is_step(page, start)):
            continue
        if any(map(str.isalpha, text)) and not _LEADERS.search(text):
            yield start, len(lines), text, height


def _is_inside(page: Sequence[Line], place: int) -> bool:
    """Whether a line stands within a sentence that goes on above and below it."""
    before = page[place - 1].text if place else ""
    wrapped = len(before) >= _WRAPPED * max(len(line.text) for line in page)
    return wrapped and before[-1] not in ".!?:;" and page[place + 1].text[0].islower()


def _is_step(page: Sequence[Line], place: int) -> bool:
    """Whether a line is a step of a list: the nearest numbered line of plain type is next to it, or `1.` follows a colon."""
    own = _STEP.match(page[place].text)
    if own is None:
        return False
    steps = [(int(found[1]), at) for at, line in enumerate(page) if (found := _STEP.match(line.text))]
    here = steps.index((int(own[1]), place))
    near = [steps[at] for at in (here - 1, here + 1) if 0 <= at < len(steps)]
    if any(abs(number - int(own[1])) == 1 and not page[at].bold for number, at in near):
        return True
    first = next((at for number, at in reversed(steps[: here + 1]) if number == 1), 0)
    return first > 0 and page[first - 1].text.endswith(":")
