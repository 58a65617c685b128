"""What a page of Markdown holds and its reader never sees: comments, elements that are not shown, and runs of invisible characters.

What nobody sees is neither searched nor quoted nor sent to a model. Lines stay where they are, for citations name them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Final

from language.blocks import split_code
from language.clean import INVISIBLE

_TAG: Final = re.compile(r"<(?P<closes>/?)(?P<name>[A-Za-z][A-Za-z0-9-]{0,20})(?P<rest>(?:\s[^<>]{0,2000})?)/?>")
_NEVER_SHOWN: Final = frozenset(("script", "style", "template"))
_VOID: Final = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
_WHITE: Final = r"(?:white|#f{3}\b|#f{6}\b|rgba?\(\s*255\s*,\s*255\s*,\s*255[^)]*\)|transparent)"
_HIDES: Final = re.compile(
    r"\shidden(?=[\s=]|$)|\scolor\s*=\s*[\"']?"
    + _WHITE
    + r"|\sstyle\s*=\s*[\"'](?:[^\"']*[;\s])?(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)"
    r"|font-size\s*:\s*0(?![.\d])|opacity\s*:\s*0(?![.\d])|text-indent\s*:\s*-\d{3}|(?:left|top)\s*:\s*-\d{4}"
    r"|(?:max-)?(?:width|height)\s*:\s*0(?![.\d])|color\s*:\s*" + _WHITE + r")",
    re.IGNORECASE,
)
_BACKGROUND: Final = re.compile(r"background(?:-color)?\s*:\s*(?!\s*" + _WHITE + ")", re.IGNORECASE)
"""On another ground white letters are seen."""
_COMMENT: Final = re.compile(r"<!--")
_COMMENT_END: Final = "-->"
_LINE_COMMENT: Final = re.compile(
    r"^ {0,3}\[[^\[\]\n]{1,40}\]:[ \t]*(?:#|<>)[ \t]*(?:\([^\n]*\)|\"[^\n]*\"|'[^\n]*')[ \t]*$", re.MULTILINE
)
"""A definition of a link to nowhere, which people use as a comment: `[//]: # (...)`."""
_RUN: Final = re.compile(rf"(?:{INVISIBLE.pattern}){{4,}}|[\U000e0000-\U000e007f]+")
"""More invisible characters than any script joins letters with; and letters that are tags."""
_INK: Final = re.compile(r"[^\n]+")


def without_hidden(markdown: str) -> str:
    """Return a page without what its reader does not see; code is seen, and each line stays in its place."""
    if "<" not in markdown and "]:" not in markdown and markdown.isascii():
        return markdown
    seen = _RUN.sub("", markdown) if not markdown.isascii() else markdown
    spans = list(_hidden(seen))
    if not spans:
        return seen
    parts: list[str] = []
    done = 0
    for start, end in spans:
        parts += (seen[done:start], _INK.sub("", seen[start:end]))
        done = max(done, end)
    return "".join((*parts, seen[done:]))


def _hidden(text: str) -> Iterator[tuple[int, int]]:
    """Yield where something is hidden, in order; nothing within another."""
    found = sorted((*_comments(text), *_elements(text), *(match.span() for match in _LINE_COMMENT.finditer(text))))
    if not found:
        return
    in_code = _code_ranges(text)
    done = 0
    for start, end in found:
        if start >= done and not in_code(start):
            yield start, end
            done = end


def _comments(text: str) -> Iterator[tuple[int, int]]:
    done = end = 0
    for match in _COMMENT.finditer(text):
        if match.start() >= done:
            # Where no more of them ends, that is not looked for again.
            end = text.find(_COMMENT_END, match.end()) if end >= 0 else end
            done = end + len(_COMMENT_END) if end >= 0 else _block_end(text, match.end())
            yield match.start(), done


def _elements(text: str) -> Iterator[tuple[int, int]]:
    hides = name = ""
    start = depth = 0
    for tag in _TAG.finditer(text):
        said = tag["name"].lower()
        if hides:
            if said == name and not tag.group().endswith("/>"):
                depth += -1 if tag["closes"] else 1
            if depth == 0:
                yield start, tag.end()
                hides = ""
        elif not tag["closes"] and said not in _VOID and (said in _NEVER_SHOWN or _is_hidden(tag["rest"])):
            hides, name, start, depth = tag.group(), said, tag.start(), 1
    if hides:
        # Nothing closes it: a browser would hide all the rest, which no page means.
        yield start, _block_end(text, start + len(hides))


def _is_hidden(attributes: str) -> bool:
    found = _HIDES.search(attributes)
    return found is not None and not ("color" in found.group().lower() and _BACKGROUND.search(attributes))


def _block_end(text: str, at: int) -> int:
    end = text.find("\n\n", at)
    return end if end >= 0 else len(text)


def _code_ranges(text: str) -> Callable[[int], bool]:
    """Return what tells whether a place of a text stands in code."""
    starts = list(accumulate(map(len, split_code(text)), initial=0))
    return lambda place: bisect_right(starts, place) % 2 == 0
