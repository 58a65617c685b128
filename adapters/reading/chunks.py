"""A page cut into chunks: sections of about the same size, never cut inside a list, a table or a code block.

A chunk is a section under its headings. A short section is joined with the next ones under the same parent, a long one
is cut between blocks. Measured on product documentation, sizes from 600 to 3,000 characters work equally well. Results
get worse with passages without their headings, and with half tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from adapters.reading.pdf import PAGE_HEADING
from adapters.reading.plain import plain
from language.blocks import HEADING_ATTRIBUTES
from language.markup import is_navigation

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

SHORT = 800
"""Characters below which a section is joined with the following ones."""
LONG = 2000
"""Characters at which a section is cut, between blocks."""
HUGE = 6000
"""Characters from which a single list, table, code block or paragraph is cut, too."""

_ANCHOR = re.compile(r"\{[:\s]*+#([^\s{}]++)[^{}]*+\}\s*$")
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[ \t]*$")
_KINDS = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "table_open": "table",
    "fence": "fence",
    "code_block": "code",
}


@dataclass(frozen=True, slots=True)
class Chunk:
    """One passage.

    Attributes:
        ordinal: Its place in the page, from 0.
        path: The headings above it, outermost first; the page's own title is not among them.
        anchor: The fragment of a link to its heading; empty before the first heading.
        first_line, last_line: Its lines in the file, from 1.
        text: Its lines as they are written, with link targets.
        headings: Every heading above and inside it, indexed as heading.
        body: Its words without headings, targets, tags and lists of links, indexed as body.
    """

    ordinal: int
    path: tuple[str, ...]
    anchor: str
    first_line: int
    last_line: int
    text: str
    headings: str
    body: str

    @property
    def hash(self) -> str:
        return sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ChunkedPage:
    """The chunks of a page, the text of its first heading (may be empty), and its prose, a block a line."""

    chunks: tuple[Chunk, ...]
    heading: str
    prose: str


@dataclass(frozen=True, slots=True)
class _MarkdownBlock:
    kind: str
    start: int
    end: int
    """One past its last line, counted from 0 like `start`."""
    level: int = 0
    title: str = ""
    anchor: str = ""
    breaks: tuple[int, ...] = ()
    """Lines where its parts begin: the items of a list."""


@dataclass(slots=True)
class _ChunkSection:
    trail: tuple[_MarkdownBlock, ...]
    """The headings above its text, its own last."""
    start: int
    end: int
    blocks: list[_MarkdownBlock] = field(default_factory=list[_MarkdownBlock])

    @property
    def empty(self) -> bool:
        return not self.blocks


def read(text: str, *, title: str | None = None, skip: int = 0) -> ChunkedPage:
    r"""Cut a page into chunks.

    Args:
        text: The whole file, line breaks as `\n`.
        title: The page's title if its front matter has one; else the first heading is the title.
        skip: How many lines at the top are front matter.
    """
    lines = text.split("\n")
    blocks = list(_blocks("\n".join([*([""] * skip), *lines[skip:]]), lines))
    heading = next((block.title for block in blocks if block.kind == "heading"), "")
    sections = _sections(blocks, len(lines))
    pieces = [piece for group in _join_short_sections(sections, lines) for piece in _cut(group, lines)]
    if not pieces and heading:
        # A page of headings alone can still be found by them.
        pieces = [_ChunkPiece((), tuple(blocks), blocks[0].start, blocks[-1].end)]
    name = title or heading
    chunks = tuple(_chunk(number, piece, lines, name) for number, piece in enumerate(pieces))
    prose = "\n".join(plain(_slice(lines, block)) for block in blocks if block.kind not in ("fence", "code"))
    return ChunkedPage(chunks, heading, prose)


# --------------------------------------------------------------------------------------------------------- blocks


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    # Inline mark-up is not needed for cutting, and is most of the work.
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _blocks(source: str, lines: list[str]) -> Iterator[_MarkdownBlock]:
    tokens = _parser().parse(source)
    for number, token in enumerate(tokens):
        if token.level or token.nesting < 0 or token.map is None:
            continue
        start, end = token.map
        while end > start + 1 and not lines[end - 1].strip():
            end -= 1
        kind = _KINDS.get(token.type, "other")
        if kind == "heading":
            written = tokens[number + 1].content
            found = _ANCHOR.search(written)
            title = heading_text(written)
            anchor = found.group(1) if found else slug(title)
            yield _MarkdownBlock(kind, start, end, int(token.tag[1:]), title, anchor)
        elif kind == "list":
            yield _MarkdownBlock(kind, start, end, breaks=_items(tokens, number))
        else:
            yield _MarkdownBlock(kind, start, end)


def _items(tokens: Sequence[Token], opening: int) -> tuple[int, ...]:
    starts: list[int] = []
    for place in range(opening + 1, len(tokens)):
        token = tokens[place]
        if not token.level:
            break
        if token.type == "list_item_open" and token.level == 1 and token.map:
            starts.append(token.map[0])
    return tuple(starts)


class Heading(NamedTuple):
    """A heading of a text: 1 for the highest level to 6, its words, and the line that it begins on, from 0."""

    level: int
    title: str
    line: int


def headings(text: str) -> list[Heading]:
    """Return the headings of a Markdown text in order, without lookalikes inside a list, a table or code."""
    found = _blocks(text, text.split("\n"))
    return [Heading(block.level, block.title, block.start) for block in found if block.kind == "heading"]


def heading_text(written: str) -> str:
    """Return a heading's words: without its anchor, attributes, links and emphasis."""
    bare = HEADING_ATTRIBUTES.sub("", written)
    return " ".join(plain(bare).replace("`", "").replace("*", "").split())


def slug(title: str) -> str:
    """Return the anchor that the usual renderers give a heading."""
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", title.casefold()).strip())


# ------------------------------------------------------------------------------------------------------- sections


def _sections(blocks: Iterable[_MarkdownBlock], end: int) -> list[_ChunkSection]:
    """Return a page's sections in order; each ends where the next begins."""
    sections = [_ChunkSection((), 0, end)]
    for block in blocks:
        if block.kind != "heading":
            sections[-1].blocks.append(block)
            continue
        sections[-1].end = block.start
        above = tuple(heading for heading in sections[-1].trail if heading.level < block.level)
        sections.append(_ChunkSection((*above, block), block.start, end))
    before = sections[0]
    if before.empty:
        return sections[1:]
    before.start = before.blocks[0].start
    return sections


@dataclass(frozen=True, slots=True)
class _ChunkPiece:
    """What becomes a chunk: blocks in a row, or a part of one (then with the text that stands for it)."""

    trail: tuple[_MarkdownBlock, ...]
    blocks: tuple[_MarkdownBlock, ...]
    start: int
    end: int
    text: str | None = None


def _join_short_sections(sections: list[_ChunkSection], lines: list[str]) -> Iterator[list[_ChunkSection]]:
    """Yield groups of sections: a short one with those that follow under the same parent, up to a chunk's size."""
    group: list[_ChunkSection] = []
    size = 0
    for section in sections:
        more = sum(len(line) + 1 for line in lines[section.start : section.end])
        # A passage of a PDF is of one page, which its citation names.
        if group and not _is_page(group[-1]) and size < SHORT and _belongs(section, group[0]) and size + more <= LONG:
            group.append(section)
            size += more
            continue
        if group:
            yield group
        group, size = [section], more
    if group:
        yield group


def _is_page(section: _ChunkSection) -> bool:
    return bool(section.trail and PAGE_HEADING.fullmatch(section.trail[-1].title)) and section.trail[-1].level == 6


def _belongs(section: _ChunkSection, first: _ChunkSection) -> bool:
    """Tell whether a section is below the first of a group, or beside it."""
    return section.trail[: len(first.trail)] == first.trail or section.trail[:-1] == first.trail[:-1]


def _cut(group: list[_ChunkSection], lines: list[str]) -> Iterator[_ChunkPiece]:
    if all(section.empty for section in group):
        # Headings without a text of their own stand in the path of what follows.
        return
    trail = group[0].trail if len(group) == 1 else _common([section.trail for section in group])
    blocks = [block for section in group for block in _with_heading(section)]
    if len(group) > 1 or _span(blocks, lines) <= LONG:
        yield _ChunkPiece(trail, tuple(blocks), blocks[0].start, blocks[-1].end)
        return
    row: list[_MarkdownBlock] = []
    for block in blocks:
        if _span([block], lines) > HUGE:
            yield from _whole(trail, row)
            row = []
            yield from (_ChunkPiece(trail, (block,), *part) for part in _parts(block, lines))
            continue
        if row and _span([*row, block], lines) > LONG:
            kept = _lead_in(row, lines)
            yield from _whole(trail, row[: len(row) - kept])
            row = row[len(row) - kept :]
        row.append(block)
    yield from _whole(trail, row)


def _with_heading(section: _ChunkSection) -> list[_MarkdownBlock]:
    return [*section.trail[-1:], *section.blocks]


def _common(trails: list[tuple[_MarkdownBlock, ...]]) -> tuple[_MarkdownBlock, ...]:
    shared: list[_MarkdownBlock] = []
    for level in zip(*trails, strict=False):
        if any(heading is not level[0] for heading in level):
            break
        shared.append(level[0])
    return tuple(shared)


def _whole(trail: tuple[_MarkdownBlock, ...], row: list[_MarkdownBlock]) -> Iterator[_ChunkPiece]:
    if row:
        yield _ChunkPiece(trail, tuple(row), row[0].start, row[-1].end)


def _lead_in(row: list[_MarkdownBlock], lines: list[str]) -> int:
    """Return how many blocks at the end of a row announce what follows: a heading, a paragraph that ends on a colon."""
    count = 0
    while count < len(row) - 1:
        block = row[-1 - count]
        announces = block.kind == "paragraph" and lines[block.end - 1].rstrip().endswith(":")
        if block.kind != "heading" and not announces:
            break
        count += 1
    return count


def _span(blocks: Sequence[_MarkdownBlock], lines: list[str]) -> int:
    return sum(len(line) + 1 for line in lines[blocks[0].start : blocks[-1].end])


# ------------------------------------------------------------------------------------------------- oversized blocks


def _parts(block: _MarkdownBlock, lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """Cut one block that is too large by itself; each part can be read alone (a table keeps its head)."""
    head, start, end, foot = "", block.start, block.end, ""
    if block.kind == "fence":
        head, start = lines[start] + "\n", start + 1
        if end > start and _FENCE.match(lines[end - 1]):
            end -= 1
        foot = "\n" + (re.match(r"[ \t]*(`{3,}|~{3,})", head) or [head.strip()])[0].strip()
    elif block.kind == "table":
        head, start = "\n".join(lines[start : start + 2]) + "\n", start + 2
    if start >= end:  # all of it is the line that opens a fence
        head, start, foot = "", block.start, ""
    starts = [line for line in block.breaks if start <= line < end] or list(range(start, end))
    for first, last in _pack_lines(starts, end, lines):
        text = "\n".join(lines[first:last])
        if len(text) <= HUGE:
            yield first, last, head + text + foot
            continue
        inner = [(first, last)] if last == first + 1 else _pack_lines(list(range(first, last)), last, lines)
        for line, stop in inner:
            for part in _slices("\n".join(lines[line:stop])):
                yield line, stop, head + part + foot


def _pack_lines(starts: list[int], end: int, lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield ranges of lines that begin at some of the given ones and hold about a chunk's size."""
    first, size = starts[0], 0
    for start, stop in zip(starts, [*starts[1:], end], strict=True):
        more = sum(len(line) + 1 for line in lines[start:stop])
        if start > first and size + more > LONG:
            yield first, start
            first, size = start, 0
        size += more
    yield first, end


def _slices(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > HUGE:
        at = text.rfind(" ", start + LONG // 2, start + LONG)
        at = start + LONG if at < 0 else at
        yield text[start:at]
        start = at
        while text.startswith(" ", start):
            start += 1
    yield text[start:]


# --------------------------------------------------------------------------------------------------------- chunks


def _chunk(ordinal: int, piece: _ChunkPiece, lines: list[str], title: str) -> Chunk:
    path = [heading.title for heading in piece.trail if heading.title]
    if path and path[0] == title:
        path = path[1:]
    inside = [block for block in piece.blocks if block.kind == "heading"]
    named = [heading.title for heading in piece.trail if heading not in inside]
    named += [heading.title for heading in inside]
    if named and named[0] == title:
        # The title is a field of its own; counted twice it would outweigh the text.
        named = named[1:]
    nearest = inside[0] if inside and inside[0].start == piece.start else (piece.trail[-1] if piece.trail else None)
    text = piece.text if piece.text is not None else "\n".join(lines[piece.start : piece.end])
    return Chunk(
        ordinal=ordinal,
        path=tuple(path),
        anchor=nearest.anchor if nearest else "",
        first_line=piece.start + 1,
        last_line=piece.end,
        text=text,
        headings=" \n".join(named),
        body=_body(piece, lines),
    )


def _body(piece: _ChunkPiece, lines: list[str]) -> str:
    if piece.text is not None:
        kind = piece.blocks[0].kind
        return piece.text if kind in ("fence", "code") else plain(piece.text)
    return "\n".join(
        _code(block, lines) if block.kind in ("fence", "code") else plain(_slice(lines, block))
        for block in piece.blocks
        if block.kind != "heading" and not is_navigation(_slice(lines, block))
    )


def _code(block: _MarkdownBlock, lines: list[str]) -> str:
    """Return code without its fences: `python` says nothing about the passage."""
    inner = lines[block.start : block.end]
    if block.kind == "fence":
        inner = inner[1:-1] if len(inner) > 1 and _FENCE.match(inner[-1]) else inner[1:]
    return "\n".join(inner)


def _slice(lines: list[str], block: _MarkdownBlock) -> str:
    return "\n".join(lines[block.start : block.end])
