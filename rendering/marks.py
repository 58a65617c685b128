"""Readable citations: one `[1]` at the end of a block with one source.

The Guardian judges a draft with a citation for each claim. Merging comes after the verdict, and only for drafts that
passed, so that it cannot weaken a check.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

from language.blocks import Block, BlockKind, blocks, line_starts, split_code
from language.words import tokens

_MARK = re.compile(r"\[(\d{1,3})\]")
_MARKER = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$))*")
_REST_IS_BLANK = re.compile(r"[ \t]*(?:\n|\Z)")
_REMARK = re.compile(r"\([^()\n]*\)")
_COLUMN_OF_MARKS = re.compile(r"\|[ \t]*\[\d{1,3}\][ \t]*(?:\||$)", re.MULTILINE)
_LISTS: Final = (BlockKind.BULLETS, BlockKind.STEPS)
_MERGED: Final = (BlockKind.PARAGRAPH, BlockKind.TABLE, *_LISTS)


def merge_citations(markdown: str, sources: int = 999) -> str:
    """Return an answer with one citation, at the end, in each block that cites only one source.

    A block is a paragraph, a list, a table, or a line with a colon and its list. A block that cites several sources, or
    that continues after its last citation, keeps all citations. So does an answer if removing them would change its
    blocks or code.

    Args:
        markdown: The answer, with citations as `[1]`.
        sources: The number of sources; a higher number is not a citation and stays.
    """
    found = blocks(markdown)
    starts = line_starts(markdown)
    prose = deque(_prose(markdown))
    gone: list[tuple[int, int]] = []
    for begin, end in _group_blocks(found, starts):
        while prose and prose[0][1] <= begin:
            prose.popleft()
        inside: list[tuple[int, int]] = []
        while prose and prose[0][0] < end:
            inside.append((max(prose[0][0], begin), min(prose[0][1], end)))
            if prose[0][1] > end:
                break
            prose.popleft()
        gone += _needless(markdown, inside, starts, sources)
    if not gone:
        return markdown
    text, done = "", 0
    for begin, end in gone:
        text += markdown[done:begin]
        done = end
    text += markdown[done:]
    same = [block.kind for block in found] == [block.kind for block in blocks(text)]
    return text if same and split_code(markdown)[1::2] == split_code(text)[1::2] else markdown


def _prose(markdown: str) -> Iterator[tuple[int, int]]:
    place = 0
    for i, part in enumerate(split_code(markdown)):
        if i % 2 == 0:
            yield place, place + len(part)
        place += len(part)


def _group_blocks(found: Sequence[Block], starts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Return where each block that may cite once begins and ends."""
    position = 0
    while position < len(found):
        block = found[position]
        position += 1
        if block.kind not in _MERGED or (block.kind is BlockKind.TABLE and _COLUMN_OF_MARKS.search(block.text)):
            continue
        begin, last = starts[block.line], block
        behind = found[position] if position < len(found) else None
        leads = block.kind is BlockKind.PARAGRAPH and _MARK.sub("", block.text).rstrip(" *_").endswith(":")
        if leads and behind is not None and behind.kind in _LISTS:
            last = behind
            position += 1
        yield begin, starts[last.line] + len(last.text)


def _needless(
    markdown: str, prose: Sequence[tuple[int, int]], starts: Sequence[int], sources: int
) -> list[tuple[int, int]]:
    """Return what may go of the prose of one block: nothing, or its citations but for the last one."""
    marks = [match for begin, end in prose for match in _MARK.finditer(markdown, begin, end)]
    if len({match[1] for match in marks}) != 1 or int(marks[0][1]) > sources:
        return []
    last = marks[-1].end()
    behind = " ".join(markdown[max(begin, last) : end] for begin, end in prose if end > last)
    if tokens(_REMARK.sub("", behind)):
        return []
    gone: list[tuple[int, int]] = []
    line = words_from = -1
    for match in marks[:-1]:
        start, end = match.span()
        if (number := bisect_right(starts, start)) != line:
            line = number
            marker = _MARKER.match(markdown, starts[line - 1])
            words_from = marker.end() if marker else starts[line - 1]
        if start <= words_from:
            # Behind the marker of a list alone, with code on the next line.
            free = _REST_IS_BLANK.match(markdown, end) is not None
        else:
            around = (markdown[start - 1], markdown[end : end + 1])
            free = (
                around[1] not in ("(", "[")
                and not around[1].isalnum()
                and not (around[0] in "([*_" and around[1] in (")", "]", "*", "_"))
            )
            while start > words_from and markdown[start - 1] in " \t":
                start -= 1
            free = free and markdown[start - 1] != "]"
        if free:
            gone.append((start, end))
    return gone
