"""Forbidden content of a text: literal phrases and regular expressions.

A phrase is literal: the same words in the same forms, on token boundaries, because "рак" is not in "характер" and "as
an AI" not in "it was an aid". Its notation does not matter: case, ё or е, spaces and line breaks, kinds of quotes and
dashes, emphasis, entities, citations between its words, invisible characters, look-alike letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from language.clean import skeleton
from language.memo import remember
from language.readings import as_seen
from language.structured import inside_json
from language.words import pattern_occurs

_ALIKE: Final = str.maketrans(dict.fromkeys("‐‑‒–—―−", "-") | dict.fromkeys("’‘‛ʼ", "'") | dict.fromkeys("“”„«»", '"'))
# One line break may stand between two words; a blank line ends what is said.
_BETWEEN: Final = r"(?: \n? ?|\n ?)"
_SPACES = re.compile(r"[^\S\n]+")


def forbidden_in(entries: Iterable[str], text: str) -> list[str]:
    """Return the entries that occur in a text, in order; `/.../` is an expression, any other entry a phrase.

    An expression is searched in any case, line by line, in the text as written and as a reader sees it. In JSON, or a
    text with a JSON block, the decoded keys and strings are searched.
    """
    wanted = list(entries)
    if not wanted:
        return []
    readings, said = _read(text)
    return [
        entry
        for entry in wanted
        if (
            any(pattern_occurs(entry[1:-1], reading, by_line=True) for reading in (text, *readings))
            if is_expression(entry)
            else any(map(_phrase(entry).search, said))
        )
    ]


def said_literally(phrases: Iterable[str], text: str) -> bool:
    """Whether a text has one of these phrases, matched as a forbidden phrase."""
    wanted = list(phrases)
    said = _read(text)[1] if wanted else ()
    return any(_phrase(phrase).search(reading) for phrase in wanted for reading in said)


@remember
def _read(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ways to read a text, as written and as a reader sees it, with what JSON says in it; and each as typed."""
    written = (text, *filter(None, inside_json(text)))
    readings = tuple(dict.fromkeys(skeleton(reading) for source in written for reading in (source, as_seen(source))))
    return readings, tuple(dict.fromkeys(_SPACES.sub(" ", reading.translate(_ALIKE)) for reading in readings))


def is_expression(entry: str) -> bool:
    """Whether an entry of forbidden content is a regular expression."""
    return len(entry) > 2 and entry.startswith("/") and entry.endswith("/")


@lru_cache(maxsize=512)
def _phrase(entry: str) -> re.Pattern[str]:
    words = skeleton(entry).translate(_ALIKE).split()
    if not words:
        return re.compile(r"(?!)")
    literal = _BETWEEN.join(map(re.escape, words))
    # Where a phrase begins or ends with a sign, as "C#" does, that end needs no boundary.
    before = r"(?<![^\W_])" if re.match(r"[^\W_]", literal) else ""
    behind = r"(?![^\W_])" if re.search(r"[^\W_]$", literal) else ""
    return re.compile(before + literal + behind)
