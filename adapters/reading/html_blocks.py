"""The blocks of an HTML page as Markdown: paragraphs, headings, lists, tables and code.

The walk over the tree is ours, so that headings keep their anchors, tables their heads and code its line breaks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Final, NamedTuple

from adapters.reading.markdown import escape, write_picture

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_DEEPEST = 120
"""Levels of the tree; what is nested deeper is taken as plain text."""
_WIDEST = 40
"""Columns of a table, and cells that one may span."""

_BLOCKS = frozenset(
    (
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "center",
        "dd",
        "details",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "header",
        "hgroup",
        "hr",
        "html",
        "li",
        "main",
        "nav",
        "ol",
        "p",
        "pre",
        "section",
        "summary",
        "table",
        "tbody",
        "td",
        "tfoot",
        "th",
        "thead",
        "tr",
        "ul",
    )
)
_HEADING = re.compile(r"h[1-6]")
_BREAK = "\ue000"
"""A line break inside a paragraph, while white space is still to be joined."""
_SPACE = re.compile(r"[ \t\n\r\f\u00a0]+")
_STRUCTURE = re.compile(r"^(?=#{1,6}(?:\s|$)|~{3}|(?:[-=*_][ \t]*)+$)")
_LANGUAGE = re.compile(r"(?:language|lang|highlight|brush|sourceCode)[-: ]\s*([A-Za-z][\w+#-]{0,20})")
_ANCHOR = re.compile(r"[^\s{}]{1,100}")
_MARK = re.compile(r"^[^\S\n]*+(?:[-*+]|\d{1,9}[.)])\s+", re.MULTILINE)
_REFERENCE = re.compile(r"\[?\d{1,3}\]?|[↑↩¶#]+\ufe0e?")
"""What a link to a footnote, back from one, or to the heading itself is written as: no words of the page."""


class _HtmlBlock(NamedTuple):
    """Finished lines that stand by themselves; `tight` ones follow the text of a list item without a blank line."""

    text: str
    tight: bool = False


_Piece = str | _HtmlBlock


def write_blocks(node: LexborNode, depth: int = 0) -> list[str]:
    """Return the blocks inside an element, in their order; `depth` is that of the element, in levels of the tree."""
    return [block.text for block in _gather_paragraphs(_inside(node, depth))]


def _gather_paragraphs(pieces: Sequence[_Piece]) -> list[_HtmlBlock]:
    """Join the words between blocks into paragraphs."""
    found: list[_HtmlBlock] = []
    words: list[str] = []
    for piece in (*pieces, _HtmlBlock("")):
        if isinstance(piece, str):
            words.append(piece)
            continue
        paragraph = _paragraph("".join(words))
        words.clear()
        found += [block for block in (_HtmlBlock(paragraph), piece) if block.text.strip()]
    return found


def _paragraph(words: str) -> str:
    lines = (_SPACE.sub(" ", line).strip() for line in words.split(_BREAK))
    return "\n".join(_STRUCTURE.sub(r"\\", line) for line in lines if line)


def _line(pieces: Sequence[_Piece]) -> str:
    """Return pieces as the text of one line: of a heading, a cell or a link."""
    return " ".join(" ".join(_flat(block.text) for block in _gather_paragraphs(pieces)).split())


def _flat(text: str) -> str:
    parts = [" ".join(part.split()) for part in _MARK.split(text)]
    return "; ".join(filter(None, parts)) if len(parts) > 2 else " ".join(filter(None, parts))


def _inside(node: LexborNode, depth: int) -> list[_Piece]:
    if depth > _DEEPEST:
        return [escape(node.text(separator=" "))]
    found: list[_Piece] = []
    child = node.first_child
    while child is not None:
        found += _node(child, depth + 1)
        child = child.next
    return found


def _node(node: LexborNode, depth: int) -> list[_Piece]:  # noqa: PLR0911 - one line per kind of element
    tag = node.tag or ""
    if tag == "-text":
        return [escape(node.text_content or "")]
    if tag.startswith(("-", "!")):
        return []
    if _HEADING.fullmatch(tag):
        return [_heading(node, int(tag[1]), depth)]
    if tag == "table":
        return list(_table(node, depth))
    if tag in _WHOLE:
        return [_HtmlBlock(_WHOLE[tag](node, depth), tight=tag in ("ul", "ol"))]
    if tag in _BLOCKS:
        # An empty one ends the paragraph before it, too.
        return [*_gather_paragraphs(_inside(node, depth))] or [_HtmlBlock("")]
    if tag in _LEAVES:
        return [_LEAVES[tag](node)]
    return _mark_inline(node, tag, depth)


def _mark_inline(node: LexborNode, tag: str, depth: int) -> list[_Piece]:
    inner = _inside(node, depth)
    if any(isinstance(piece, _HtmlBlock) for piece in inner):
        # Blocks inside a link or a bold part: their words matter more than the mark.
        return inner
    words = "".join(map(str, inner))
    if tag == "a":
        return [_link(words, node.attributes.get("href") or "")]
    if tag in ("strong", "b") and words.strip() and _BREAK not in words and "**" not in words:
        # Marks must touch their words, so the blanks around them go outside.
        before, after = words[: len(words) - len(words.lstrip())], words[len(words.rstrip()) :]
        return [f"{before}**{words.strip()}**{after}"]
    return inner


def _quote(node: LexborNode, depth: int) -> str:
    return "\n".join(f"> {line}".rstrip() for line in "\n\n".join(write_blocks(node, depth)).split("\n"))


def _label(node: LexborNode, depth: int) -> str:
    words = _line(_inside(node, depth)).replace("**", "")
    return f"**{words}**" if words else ""


def _heading(node: LexborNode, level: int, depth: int) -> _HtmlBlock:
    words = _line(_inside(node, depth)).replace("**", "")
    parent = node.parent
    anchor = node.attributes.get("id")
    if not anchor and parent is not None and parent.tag == "section":
        first = next(_children(parent), None)
        anchor = parent.attributes.get("id") if first is not None and first.mem_id == node.mem_id else ""
    if not words:
        return _HtmlBlock("")
    return _HtmlBlock(f"{'#' * level} {words}" + (f" {{#{anchor}}}" if anchor and _ANCHOR.fullmatch(anchor) else ""))


def _link(words: str, target: str) -> str:
    label = " ".join(words.replace(_BREAK, " ").split())
    target = target.strip()
    if target.startswith("#") and _REFERENCE.fullmatch(label):
        return ""
    scheme = re.match(r"[a-z][a-z0-9+.-]*:", target, re.IGNORECASE)
    usable = (
        target
        and not target.startswith("#")
        and (not scheme or scheme.group().lower() in ("http:", "https:", "mailto:"))
    )
    if not label or not usable or len(target) > 2000:
        return words
    address = re.sub(r"[\s()<>\\]", lambda found: f"%{ord(found.group()[0]):02X}", target)
    label = label.replace("[", "\\[").replace("]", "\\]") if not label.startswith("![") else label
    before, after = " " * words[:1].isspace(), " " * words[-1:].isspace()
    return f"{before}[{label}]({address}){after}"


def _image(node: LexborNode) -> str:
    words = " ".join((node.attributes.get("alt") or "").split())
    source = (node.attributes.get("src") or "").strip()
    if not words:
        return ""
    if not source or source[:5].lower() == "data:" or len(source) > 500:
        source = "image"
    return write_picture(words, re.sub(r"[\s()<>]", "", source))


def _code(node: LexborNode) -> str:
    text = " ".join(node.text().split())
    if not text:
        return ""
    ticks = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def _fence(node: LexborNode, _: int) -> str:
    for line_break in node.css("br"):
        line_break.replace_with("\n")
    text = node.text().replace("\r\n", "\n").strip("\n")
    if not text.strip():
        return ""
    inner = node.css_first("code")
    parent = node.parent
    classes = (one.attributes.get("class") or "" for one in (node, inner, parent) if one is not None)
    named = next(filter(None, map(_LANGUAGE.search, classes)), None)
    ticks = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
    return f"{ticks}{named.group(1) if named else ''}\n{text}\n{ticks}"


def _children(node: LexborNode) -> Iterator[LexborNode]:
    child = node.first_child
    while child is not None:
        if not (child.tag or "-").startswith(("-", "!")):
            yield child
        child = child.next


def _list(node: LexborNode, depth: int) -> str:
    return "\n".join(_items(node, depth, ordered=node.tag == "ol"))


def _items(node: LexborNode, depth: int, *, ordered: bool) -> Iterator[str]:
    start = node.attributes.get("start") or ""
    number = int(start) if start.isdecimal() and len(start) < 7 else 1
    mark = f"{number}. " if ordered else "- "
    for child in _children(node):
        blocks = _gather_paragraphs(_node(child, depth + 1) if child.tag != "li" else _inside(child, depth + 1))
        if not blocks:
            continue
        if child.tag in ("ul", "ol"):
            # A list right inside a list belongs to the item before it.
            yield _indent(blocks[0].text, len(mark))
            continue
        mark = f"{number}. " if ordered else "- "
        number += 1
        text = blocks[0].text
        for block in blocks[1:]:
            text += ("\n" if block.tight else "\n\n") + block.text
        yield mark + _indent(text, len(mark)).lstrip()


def _indent(text: str, width: int) -> str:
    return "\n".join(" " * width + line if line else "" for line in text.split("\n"))


def _terms(node: LexborNode, depth: int) -> str:
    return "\n".join(_definitions(node, depth))


def _definitions(node: LexborNode, depth: int) -> Iterator[str]:
    term = ""
    parts = chain.from_iterable(_children(child) if child.tag == "div" else (child,) for child in _children(node))
    for child in parts:
        if child.tag == "dt":
            if term:
                yield f"- **{term}**"
            term = _line(_inside(child, depth + 1)).replace("**", "")
            continue
        text = "\n\n".join(write_blocks(child, depth + 1))
        begin = f"**{term}**: " if term else ""
        # Code and tables need lines of their own.
        if begin and text.startswith(("```", "|", "- ", "> ")):
            begin = f"**{term}**:\n\n"
        if text or begin:
            yield f"- {_indent(begin + text, 2).lstrip()}"
        term = ""
    if term:
        yield f"- **{term}**"


def _table(node: LexborNode, depth: int) -> Iterator[_HtmlBlock]:
    rows = [row for row in node.css("tr") if row.css_first("td, th")]
    width = max((sum(1 for _ in _children(row)) for row in rows), default=0)
    inner = [table for table in node.css("table, pre, h1, h2, h3, h4, h5, h6") if table.mem_id != node.mem_id]
    if node.attributes.get("role") == "presentation" or inner or width < 2:
        # A table for looks: its cells are read one after the other.
        yield from (
            block
            for cell in node.css("td, th")
            if _outermost(cell, node)
            for block in _gather_paragraphs(_inside(cell, depth + 1))
        )
        return
    caption = node.css_first("caption")
    if caption:
        yield from (block for block in _node(caption, depth) if isinstance(block, _HtmlBlock))
    table = _cells(rows, depth)
    columns = max(map(len, table))
    padded = [[cell.replace("|", "\\|") for cell, _ in zip_longest(row, range(columns), fillvalue="")] for row in table]
    lines = [f"| {' | '.join(map(str, row))} |" for row in padded]
    yield _HtmlBlock("\n".join([lines[0], "|" + " --- |" * columns, *lines[1:]]))


def _outermost(cell: LexborNode, table: LexborNode) -> bool:
    """Tell whether a cell is the table's own, not that of a table inside it."""
    above = cell.parent
    while above is not None and above.tag != "table":
        above = above.parent
    return above is not None and above.mem_id == table.mem_id


def _cells(rows: list[LexborNode], depth: int) -> list[list[str]]:
    """Return the texts of a table; a cell over several rows says its text in each of them."""
    table: list[list[str]] = []
    pending: dict[int, tuple[int, str]] = {}
    for row in rows:
        cells: list[str] = []

        def carried(cells: list[str] = cells) -> None:
            while len(cells) in pending and len(cells) < _WIDEST:
                left, text = pending.pop(len(cells))
                if left > 1:
                    pending[len(cells)] = (left - 1, text)
                cells.append(text)

        for cell in _children(row):
            carried()
            if len(cells) >= _WIDEST:
                break
            text = _line(_inside(cell, depth + 1))
            down, across = _span(cell, "rowspan"), _span(cell, "colspan")
            for extra in range(min(across, _WIDEST - len(cells))):
                if down > 1:
                    pending[len(cells)] = (down - 1, "" if extra else text)
                cells.append("" if extra else text)
        carried()
        table.append(cells)
    return table


def _span(cell: LexborNode, name: str) -> int:
    value = cell.attributes.get(name) or "1"
    return min(max(int(value), 1), _WIDEST) if value.isdecimal() and len(value) < 6 else 1


_WHOLE: Final[Mapping[str, Callable[[LexborNode, int], str]]] = {
    "pre": _fence,
    "ul": _list,
    "ol": _list,
    "dl": _terms,
    "blockquote": _quote,
    "summary": _label,
    "caption": _label,
    "dt": _label,
}
_LEAVES: Final[Mapping[str, Callable[[LexborNode], str]]] = {
    "br": lambda _: _BREAK,
    "img": _image,
    **dict.fromkeys(("code", "kbd", "samp", "tt", "var"), _code),
}
