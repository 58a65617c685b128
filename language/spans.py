"""Places in a text that hold what may not be said, and how they are replaced by a name.

A value is looked for in a plain reading of the text: full-width letters and digits, the many dashes and spaces of
typesetting are as a keyboard writes them, and invisible characters are gone. A place always is one of the text itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from language.clean import INVISIBLE

MARK: Final = re.compile(r"\[redacted: [a-z]+(?:-[a-z]+)*\]")
"""What stands in the place of a value: no link, no citation, and nothing is looked for in it."""

_PLAIN: Final = {
    **{chr(0xFF01 + offset): chr(0x21 + offset) for offset in range(94)},
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212\ufe63", "-"),
    **dict.fromkeys("\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u3000", " "),
}
_ODD: Final = re.compile(f"[{''.join(map(re.escape, _PLAIN))}]")


class Span(NamedTuple):
    """One value: the rule that found it, and its place, `end` exclusive."""

    rule: str
    start: int
    end: int


class Reading(NamedTuple):
    """A text as it is searched.

    Attributes:
        plain: The text to search; a mark of an earlier replacement is a run of NUL in it.
        places: Of each of its characters, the place in the text; `None` where both agree.
    """

    plain: str
    places: Sequence[int] | None

    def spans(self, found: Iterable[Span]) -> list[Span]:
        """Return places of the plain reading as places of the text."""
        if self.places is None:
            return list(found)
        return [Span(rule, self.places[start], self.places[end - 1] + 1) for rule, start, end in found]


def reading(text: str) -> Reading:
    """Return the plain reading of a text."""
    places: list[int] | None = None
    plain = text
    if not text.isascii():
        plain = _ODD.sub(lambda odd: _PLAIN[odd.group()], text)
        if INVISIBLE.search(plain):
            places = [place for place, character in enumerate(plain) if not INVISIBLE.match(character)]
            plain = INVISIBLE.sub("", plain)
    if "[redacted: " in plain:
        plain = MARK.sub(lambda mark: "\0" * len(mark.group()), plain)
    return Reading(plain, places)


def lowered(plain: str) -> str:
    """Return a text in lower case in which every character stands where it stood."""
    return plain.replace("\u0130", "i").lower()


def merged(spans: Iterable[Span]) -> list[Span]:
    """Return spans in order of place, of which no two overlap; of two that did, the first one's rule stays."""
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if kept and span.start < kept[-1].end:
            kept[-1] = kept[-1]._replace(end=max(kept[-1].end, span.end))
        else:
            kept.append(span)
    return kept


def replaced(text: str, find: Callable[[str], Iterable[Span]]) -> tuple[str, tuple[str, ...]]:
    """Return a text without the values that are found in it, and the rules that found them, each once.

    What is left is looked through again, until nothing is found: a value may begin where another one ended.
    """
    rules: dict[str, None] = {}
    while spans := merged(find(text)):
        rules.update((span.rule, None) for span in spans)
        parts: list[str] = []
        done = 0
        for rule, start, end in spans:
            # Behind a bracket, these would make a link of it.
            space = " " if text[end : end + 1] in ("(", "[", ":") else ""
            parts += (text[done:start], f"[redacted: {rule}]{space}")
            done = end
        text = "".join((*parts, text[done:]))
    return text, tuple(rules)
