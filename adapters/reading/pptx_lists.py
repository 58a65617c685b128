"""The paragraphs of a shape of a presentation as Markdown: what has a bullet or a number is a list, by its levels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from adapters.reading.markdown import BULLET, STRUCTURE, write_line, write_lines

_DRAWING: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_DEEPEST: Final = 8
_NUMBER = re.compile(r"[1-9]\d{0,3}")


class _Mark(NamedTuple):
    """How a paragraph begins: with a number from `start` on, or with a bullet if that is 0."""

    start: int = 0


def write_paragraphs(shape: Any, *, listed: bool) -> Iterator[str]:
    """Yield the blocks of a shape's text.

    Args:
        shape: The shape's element.
        listed: Whether its paragraphs, if there are several, have bullets unless they say otherwise.
    """
    paragraphs = [(element, element.text.replace("\v", "\n")) for element in shape.xpath("./p:txBody/a:p")]
    filled = [(element, text) for element, text in paragraphs if text.strip()]
    styles = shape.find(f"{{*}}txBody/{_DRAWING}lstStyle")
    items = _ListItems()
    for element, text in filled:
        own = element.find(f"{_DRAWING}pPr")
        level = _level(own)
        general = styles.find(f"{_DRAWING}lvl{level + 1}pPr") if styles is not None else None
        mark = _find_mark(own, general, listed=level > 0 or (listed and len(filled) > 1))
        if mark is None and BULLET.match(text):
            mark = _Mark()
        if mark is not None:
            items.add(text, level, mark)
            continue
        yield from items.finish()
        yield write_lines(text)
    yield from items.finish()


def _level(properties: Any) -> int:
    said = properties.get("lvl", "") if properties is not None else ""
    return min(int(said), _DEEPEST) if said.isdecimal() and len(said) < 3 else 0


def _find_mark(*properties: Any, listed: bool) -> _Mark | None:
    """Return the mark that the first of the properties names which names any."""
    for said in properties:
        for child in said if said is not None else ():
            name = str(child.tag).removeprefix(f"{_DRAWING}bu")
            if name == "None":
                return None
            if name == "AutoNum":
                start = child.get("startAt", "1")
                return _Mark(int(start) if _NUMBER.fullmatch(start) else 1)
            if name in ("Char", "Blip"):
                return _Mark()
    return _Mark() if listed else None


class _ListItems:
    """The lines of a list that is not finished."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._above: list[tuple[int, int]] = []
        """Level, and where the text begins, of the item before and of those that it is below."""
        self._numbers: dict[int, int] = {}
        """The last number of each level."""

    def add(self, text: str, level: int, mark: _Mark) -> None:
        while self._above and self._above[-1][0] >= level:
            self._above.pop()
        self._numbers = {at: number for at, number in self._numbers.items() if at <= level}
        label = "- "
        if mark.start:
            self._numbers[level] = self._numbers[level] + 1 if level in self._numbers else mark.start
            label = f"{self._numbers[level]}. "
        else:
            self._numbers.pop(level, None)
        indent = self._above[-1][1] if self._above else 0
        self._lines.append(" " * indent + label + STRUCTURE.sub(r"\\", write_line(text)))
        self._above.append((level, indent + len(label)))

    def finish(self) -> Iterator[str]:
        """Yield the list, if there is one, and begin anew."""
        if self._lines:
            yield "\n".join(self._lines)
        self._lines.clear()
        self._above.clear()
        self._numbers.clear()
