"""Hidden text of a Markdown page: comments, elements that are not shown, and runs of invisible characters.

Hidden text is neither searched nor quoted nor sent to a model. Line numbers stay the same, because citations name them.
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
_QUOTED: Final = re.compile(r"\"[^\"]*\"|'[^']*'")
_HIDDEN: Final = re.compile(r"\shidden(?=[\s=/]|$)", re.IGNORECASE)
_STYLE: Final = re.compile(r"\sstyle\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>]+))", re.IGNORECASE)
_NOT_SHOWN: Final = re.compile(
    r"(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|font-size\s*:\s*(?:0(?:\.0+)?(?![.\d])|1px)|opacity\s*:\s*0(?:\.0+)?(?![.\d])"
    r"|text-indent\s*:\s*-\d{3}|(?:left|top)\s*:\s*-\d{4}|clip\s*:\s*rect\(\s*0)",
    re.IGNORECASE,
)
_NO_SIZE: Final = re.compile(r"(?:^|[;\s])(?:max-)?(?:width|height)\s*:\s*0(?![.\d])", re.IGNORECASE)
_CUT_OFF: Final = re.compile(r"overflow(?:-[xy])?\s*:\s*hidden", re.IGNORECASE)
_IN_WHITE: Final = re.compile(rf"(?:^|[;\s])color\s*:\s*{_WHITE}", re.IGNORECASE)
_WHITE_FONT: Final = re.compile(rf"\scolor\s*=\s*[\"']?{_WHITE}", re.IGNORECASE)
_GROUND: Final = re.compile(r"background|bgcolor", re.IGNORECASE)
_GROUND_REACH: Final = 1_000
"""Characters in front of white letters in which what they stand on may be said: on another ground they are seen."""
_COMMENT: Final = re.compile(r"<!--")
_COMMENT_END: Final = "-->"
_LINE_COMMENT: Final = re.compile(
    r"^ {0,3}\[[^\[\]\n]{1,40}\]:[ \t]*(?:#|<>)[ \t]*(?:\([^\n]*\)|\"[^\n]*\"|'[^\n]*')[ \t]*$", re.MULTILINE
)
"""A definition of a link to nowhere, which people use as a comment: `[//]: # (...)`."""
_RUN: Final = re.compile(
    rf"(?:{INVISIBLE.pattern}){{4,}}|(?<![\U0001f3f4\U000e0000-\U000e007f])[\U000e0000-\U000e007f]+"
)
"""More invisible characters than any script joins letters with; and letters that are tags."""
_INK: Final = re.compile(r"[^\n]+")


def without_hidden(markdown: str) -> str:
    """Return a page without its hidden text; code is visible, and each line keeps its number."""
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
    if not _may_hide(text):
        return
    in_code = _code_ranges(text)
    comments = list(_comments(text, in_code))
    starts = [start for start, _ in comments]

    def is_no_tag(place: int) -> bool:
        at = bisect_right(starts, place) - 1
        return in_code(place) or (at >= 0 and place < comments[at][1])

    lines = (match.span() for match in _LINE_COMMENT.finditer(text) if not in_code(match.start()))
    done = 0
    for start, end in sorted((*comments, *_elements(text, is_no_tag), *lines)):
        if start >= done:
            yield start, end
            done = end


def _may_hide(text: str) -> bool:
    """Whether a text has what hides, be it in code: to know what is code takes far longer."""
    return (
        "<!--" in text
        or _LINE_COMMENT.search(text) is not None
        or any(tag["name"].lower() in _NEVER_SHOWN or _is_hidden(tag, text) for tag in _TAG.finditer(text))
    )


def _comments(text: str, in_code: Callable[[int], bool]) -> Iterator[tuple[int, int]]:
    done = end = 0
    for match in _COMMENT.finditer(text):
        if match.start() >= done and not in_code(match.start()):
            # Where no more of them ends, that is not looked for again.
            end = text.find(_COMMENT_END, match.end()) if end >= 0 else end
            done = end + len(_COMMENT_END) if end >= 0 else _block_end(text, match.end())
            yield match.start(), done


def _elements(text: str, is_no_tag: Callable[[int], bool]) -> Iterator[tuple[int, int]]:
    tags = [tag for tag in _TAG.finditer(text) if not is_no_tag(tag.start())]
    last = {tag["name"].lower(): tag.start() for tag in tags if tag["closes"]}
    name = ""
    start = behind = depth = 0
    for tag in tags:
        said = tag["name"].lower()
        if name:
            if said == name and not tag.group().endswith("/>"):
                depth += -1 if tag["closes"] else 1
            if depth == 0:
                yield start, tag.end()
                name = ""
        elif tag.start() >= behind and not tag["closes"] and said not in _VOID:
            never = said in _NEVER_SHOWN
            if not never and not _is_hidden(tag, text):
                continue
            if last.get(said, -1) > tag.start():
                name, start, depth = said, tag.start(), 1
            elif not never:
                # Nothing closes it: a browser would hide all the rest, which no page means.
                behind = _block_end(text, tag.end())
                yield tag.start(), behind
    if name:
        yield start, _block_end(text, start)


def _is_hidden(tag: re.Match[str], text: str) -> bool:
    rest = tag["rest"]
    if not rest:
        return False
    style = next((next(filter(None, found.groups()), "") for found in _STYLE.finditer(rest)), "")
    if _HIDDEN.search(_QUOTED.sub('""', rest)) or _NOT_SHOWN.search(style):
        return True
    if _NO_SIZE.search(style) and _CUT_OFF.search(style):
        return True
    white = _IN_WHITE.search(style) or _WHITE_FONT.search(rest)
    return bool(white) and not _GROUND.search(text, max(0, tag.start() - _GROUND_REACH), tag.end())


def _block_end(text: str, at: int) -> int:
    end = text.find("\n\n", at)
    return end if end >= 0 else len(text)


def _code_ranges(text: str) -> Callable[[int], bool]:
    """Return what tells whether a place of a text stands in code."""
    starts = list(accumulate(map(len, split_code(text)), initial=0))
    return lambda place: bisect_right(starts, place) % 2 == 0
