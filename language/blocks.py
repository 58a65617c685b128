"""The blocks of a Markdown text: headings, paragraphs, lists, tables and code blocks, with their places."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Final

from language.memo import remember_items

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


class BlockKind(StrEnum):
    """The kind of a top-level block."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    BULLETS = "bullets"
    STEPS = "steps"
    TABLE = "table"
    CODE = "code"
    QUOTE = "quote"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Block:
    """One top-level block.

    Attributes:
        text: Its source, without the trailing line break.
        parts: A list's items and a table's rows (head row first, without the delimiter row), as source.
        level: A heading's level, 1 to 6; else 0.
        line: Its first line in the text, counted from 0.
    """

    kind: BlockKind
    text: str
    parts: tuple[str, ...] = ()
    level: int = 0
    line: int = 0


_KINDS = {
    "heading_open": BlockKind.HEADING,
    "paragraph_open": BlockKind.PARAGRAPH,
    "bullet_list_open": BlockKind.BULLETS,
    "ordered_list_open": BlockKind.STEPS,
    "table_open": BlockKind.TABLE,
    "fence": BlockKind.CODE,
    "code_block": BlockKind.CODE,
    "blockquote_open": BlockKind.QUOTE,
}
_PARTS = {BlockKind.BULLETS: "list_item_open", BlockKind.STEPS: "list_item_open", BlockKind.TABLE: "tr_open"}

HEADING_ATTRIBUTES: Final = re.compile(r"(?<!\s)\s*+\{[:\s]*+[.#][^{}]*+\}\s*$")
"""What stands behind the words of a heading and is not shown: `{#anchor}`, `{: .class }`."""
# The marks that may close a heading; those of "Using C#" belong to the word.
_CLOSING_MARKS = re.compile(r"(?:^|(?<![ \t])[ \t]++)#+$")
# Spaces of other alphabets end a line for `str.splitlines`, not for Markdown.
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
# An escaped mark, or a run of backticks, which may open or close a span of code.
_TICKS = re.compile(r"\\.|`+", re.DOTALL)
_RUN = re.compile(r"`+")

_MAY_HOLD_CODE = re.compile(r"`|~~~|^ {0,3}\t|^ {4}|[-+*.)>][ \t]{5}|[-+*.)>] {0,4}\t", re.MULTILINE)


@remember_items
def blocks(markdown: str) -> list[Block]:
    """Return the top-level blocks of a text, in order."""
    lines = _lines(markdown)
    found = _parser().parse(markdown + "\n" * (markdown[-1:] != "\n"))  # see `split_code`
    return [
        _block(found, position, lines)
        for position, token in enumerate(found)
        if token.level == 0 and token.nesting >= 0 and token.map and token.type != "inline"
    ]


def line_starts(markdown: str) -> list[int]:
    """Return the offset of each line of a text, as blocks count lines."""
    places = [0]
    for line in _lines(markdown):
        places.append(places[-1] + len(line))
    return places


@remember_items
def paragraph_lines(markdown: str) -> list[tuple[int, int]]:
    """Return the first line of each paragraph and the line after it, including paragraphs in lists and quotes."""
    found = _parser().parse(markdown + "\n" * (markdown[-1:] != "\n"))  # see `split_code`
    return [(token.map[0], token.map[1]) for token in found if token.type == "paragraph_open" and token.map]


@remember_items
def split_code(markdown: str) -> list[str]:
    """Split a text into alternating prose and code, prose first; joined, the parts are the text.

    Code is what Markdown shows as code: an unclosed fence runs to the end, and a span ends with its block.
    """
    if not _MAY_HOLD_CODE.search(markdown):
        return [markdown]  # most texts; parsing them was a quarter of a turn
    starts: set[int] = set()
    code: set[int] = set()
    # Without a line break at its end, the library breaks over "- \n> - <?x\n\t>".
    for token in _parser().parse(markdown + "\n" * (markdown[-1:] != "\n")):
        starts.update(token.map or ())
        if token.map and token.type in ("fence", "code_block"):
            code.update(range(*token.map))
    parts = [[""]]
    block: list[str] = []
    for number, line in enumerate(_lines(markdown)):
        if number in code or number in starts:
            _add_prose(parts, "".join(block))
            block = []
        if number in code:
            _join(parts, line, prose=False)
        else:
            block.append(line)
    _add_prose(parts, "".join(block))
    return ["".join(part) for part in parts]


def without_code(markdown: str) -> str:
    """Return the prose of a text, with a space for each piece of code."""
    return " ".join(split_code(markdown)[::2])


def code_spans(text: str) -> Iterator[tuple[int, int]]:
    """Return the places of the code spans of a text: each ends at the next run of as many backticks.

    The runs are found once; otherwise each unclosed run would cost another search to the end.
    """
    if "`" not in text:
        return
    runs: dict[int, list[int]] = {}
    for run in _RUN.finditer(text):
        runs.setdefault(run.end() - run.start(), []).append(run.start())
    place = 0
    while mark := _TICKS.search(text, place):
        place = mark.end()
        size = mark.end() - mark.start()
        closing = runs.get(size, []) if text[mark.start()] == "`" else []
        if (at := bisect_right(closing, mark.start())) < len(closing):
            place = closing[at] + size
            yield mark.start(), place


def _add_prose(parts: list[list[str]], block: str) -> None:
    done = 0
    for start, end in code_spans(block):
        _join(parts, block[done:start], prose=True)
        _join(parts, block[start:end], prose=False)
        done = end
    _join(parts, block[done:], prose=True)


def _join(parts: list[list[str]], text: str, *, prose: bool) -> None:
    if not text:
        return
    if prose is (len(parts) % 2 == 1):
        parts[-1].append(text)
    else:
        parts.append([text])


def has_steps(markdown: str) -> bool:
    """Whether a text has steps: a numbered list or a code block."""
    return any(block.kind in (BlockKind.STEPS, BlockKind.CODE) for block in blocks(markdown))


def heading_text(markdown: str) -> str:
    """Return the words of a heading, without marks and without the anchor or attributes behind them (`{#id}`)."""
    first = markdown.strip().split("\n", 1)[0].strip()
    return _CLOSING_MARKS.sub("", HEADING_ATTRIBUTES.sub("", first.lstrip("#")).strip())


def _block(found: list[Token], position: int, lines: list[str]) -> Block:
    token = found[position]
    kind = _KINDS.get(token.type, BlockKind.OTHER)
    level = int(token.tag[1]) if kind is BlockKind.HEADING else 0
    start, end = token.map or (0, 0)
    parts: list[str] = []
    if kind in _PARTS:
        depth = 1 if _PARTS[kind] == "list_item_open" else 2
        for place in range(position + 1, len(found)):
            inner = found[place]
            if inner.level == 0:
                break
            if inner.type == _PARTS[kind] and inner.level == depth and inner.map:
                parts.append(_source(lines, inner.map[0], inner.map[1]))
    return Block(kind, _source(lines, start, end), tuple(parts), level, start)


def _source(lines: list[str], start: int, end: int) -> str:
    return "".join(lines[start:end]).rstrip()


def _lines(markdown: str) -> list[str]:
    """Split a text into its lines as Markdown counts them, with their ends: a form feed does not end one."""
    return _LINE.findall(markdown)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # Only blocks are wanted here: what is inside a line took half of the time.
    return MarkdownIt("commonmark").enable("table").disable("inline")
