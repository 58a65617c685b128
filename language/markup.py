"""Mark-up that is not Markdown: converted to Markdown or removed, without leaving holes or junk.

Site generators extend Markdown: variables and statements (`{{ name }}`, `{% tabs %}`), calls (`{note(x)}`), icons
(`:material-cog:`), AsciiDoc tables, and tabs with a title that has slipped out of its list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from language.blocks import BlockKind, blocks, split_code
from language.patterns import read_wording

_WORDING: Final = read_wording(__name__)

ICON = "\ufdd1"
"""Stands in a text where a picture stood that the sentence speaks of; see `passages.LEFT_OUT`."""
_HOLE: Final = "\ufdd2"
"""Stands where something was taken out, until it is known whether the sentence needs it."""
_OMITTED: Final = "…"

_LABELLED = r"(?:\[(?:text=([^\[\]{}\n]{0,200})|[^\[\]{}\n]{0,200})\])?"
_CALL = (
    r"\{[a-z][a-z_-]{0,30}(?:\([^(){}\n]{0,300}\)|:[a-z]{1,20})"
    rf"{_LABELLED}\}}{_LABELLED}|\{{/[a-z][a-z_-]{{0,30}}\}}|\{{tabs\}}"
)
_GENERATED = re.compile(rf"\{{\{{[^{{}}\n]{{0,300}}\}}\}}|\{{%[^%\n]{{0,500}}%\}}|{_CALL}")
_REST_OF_A_CALL = re.compile(r"\)?\[[a-z_-]{1,20}=[^\[\]{}\n]{0,200}\]\}")
_BLANKS = re.compile(r"\n(?:[ \t]*\n){2,}")
_TAB_CALL = re.compile(r"^([ \t]*)\{tab\(([^(){}\n]{1,100})\)\}[ \t]*$", re.MULTILINE)
_PAGE_LINK = re.compile(
    r"(?<!!)\[(?:[^\[\]\n]|\[[^\[\]\n]{0,200}\]){0,500}\]"
    r"\((?!\s*<?(?:[a-z][a-z0-9+.-]{0,20}:|//))(?:[^()\n]|\([^()\n]{0,500}\)){0,2000}\)(?:\{[^{}\n]{0,200}\})?",
    re.IGNORECASE,
)
"""A link to another page of the same documents, or to a place in this one."""
_LEAST_LINKS = 2
"""One link alone may be what the passage is about: "[Download the client](…)"."""
_MAY_LEAD_ON: Final = (BlockKind.PARAGRAPH, BlockKind.BULLETS, BlockKind.STEPS)
_SHORTCODE = re.compile(r"(?<![\w:/]):[a-z][a-z0-9]{0,30}(?:[-_+][a-z0-9]{1,30}){0,8}:(?![\w:/`])")
_PICTURE = re.compile(r"!\[([^\]\n]{0,200})\]\([^()\n]{0,1000}\)(?:\{[^{}\n]{0,200}\})?")
_NOT_SAID = re.compile(rf"{_PICTURE.pattern}|\]\([^()\n]{{0,1000}}\)|<[^<>\n]{{0,1000}}>")
_LINKED_PICTURE = re.compile(rf"\[[ \t]{{0,3}}{_PICTURE.pattern}[ \t]{{0,3}}\]\([^()\n]{{0,1000}}\)")
_IMAGE_TAG = re.compile(r"<img\b[^<>]{0,1000}>", re.IGNORECASE)
_ALT = re.compile(r"\balt\s{0,9}=\s{0,9}(?:\"([^\"\n]{0,200})\"|'([^'\n]{0,200})')", re.IGNORECASE)
_BRACKETS = r"[\[\]]"
_GAP = re.compile(r"(?<=[^\W\d_])  (?=[^\W\d_])")
_ALONE = re.compile(rf"^[ \t]*(?:[-*+][ \t]+)?{_HOLE}[ \t{_HOLE}]*$\n?", re.MULTILINE)
_WORD = re.compile(r"[^\W_]+")
_NEAR: Final = 40

_POINTS_AT = _WORDING.pattern("points_at")
_PICTURED = _WORDING.pattern("pictured")
_NAMES_NO_PICTURE = _WORDING.pattern("names_no_picture")

_LABEL = re.compile(r"\*\*[^*\n]{1,200}\*\*:?[ \t]*")
_ITEM = re.compile(r"([ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]{1,4})(?=\S)")
_ITS_MARKER = re.compile(r"^[ \t]*(?:[-*+]|\d{1,9}[.)])?")
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")

_TABLE_EDGE = re.compile(r"[ \t]*\|={3,}[ \t]*")
_ATTRIBUTES = re.compile(
    r"[ \t]*\[(?:cols|options|%header|width|frame|grid)\b[^\]\n]*\][ \t]*|[ \t]*\[%[^\]\n]*\][ \t]*"
)
_CELL = re.compile(r"(?:(?<=\s)|^)(?:\d{1,2}|\d{0,2}\.(\d{1,2}))?\+?[<^>]?[.]?[<^>]?[a-z]?\|(?!\|)")
_ROW = re.compile(r"(?:\d{0,2}\.\d{1,2}\+)?\|(?!=)")
_DELIMITER = re.compile(r"[ \t|:-]*-[ \t|:-]*")
_COLUMNS = re.compile(r"cols\s*=\s*\"?([^\"\]]{1,200})")


def in_markdown(text: str) -> str:
    """Return a passage with tabs and tables in Markdown; its words stay the same."""
    if "|" in text:
        text = _tables_in_markdown(text)
    if "{tab(" in text:
        text = _TAB_CALL.sub(r"\1**\2:**", text)
    return _labels_in_place(text) if "**" in text else text


def without_holes(prose: str) -> str:
    """Return prose without generators' calls, icons and pictures.

    `ICON` replaces a picture that the sentence mentions, dots mark a cut sentence, and a separate picture leaves
    nothing.
    """
    told = _REST_OF_A_CALL.sub("", _GENERATED.sub(_words_of, prose))
    cut = _HOLE in told
    if cut:
        told = _ALONE.sub("", told).replace(_HOLE, _OMITTED)
    if "<img" in told.lower():
        told = _IMAGE_TAG.sub(_as_picture, told)
    told = "\n".join(map(_name_pictures, _SHORTCODE.sub(_HOLE, told).split("\n")))
    if _HOLE in told:
        told = _ALONE.sub("", told)
    if "  " in told:
        told = _GAP.sub(f" {_HOLE} ", told)
    return _BLANKS.sub("\n\n", _fill_holes(told) if _HOLE in told else told)


def _words_of(generated: re.Match[str]) -> str:
    words = generated[1] or generated[2] or ""
    return _HOLE if not words or "%" in words else words


def _as_picture(tag: re.Match[str]) -> str:
    name = _ALT.search(tag[0])
    return f"![{re.sub(_BRACKETS, ' ', name[1] or name[2] or '') if name else ''}](img)"


def _name_pictures(line: str) -> str:
    """Return a line with the names of its pictures if it has words besides them, their links and tags, or is a row."""
    if "![" not in line:
        return line
    bare = _ITS_MARKER.sub("", line)
    inside = bare.lstrip().startswith("|") or _WORD.search(_NOT_SAID.sub(" ", bare)) is not None
    if inside:
        return _PICTURE.sub(_name_of_picture, line)
    return _PICTURE.sub(_HOLE, _LINKED_PICTURE.sub(_HOLE, line))


def _name_of_picture(picture: re.Match[str]) -> str:
    """Return the name of a small picture inside a sentence, such as a button's: "press ![OK](ok.png)"; else a hole."""
    name = picture[1].strip()
    words = _WORD.findall(name)
    behind = _WORD.findall(picture.string[picture.end() : picture.end() + len(name) + _NEAR])[: len(words)]
    repeated = list(map(str.casefold, behind)) == list(map(str.casefold, words))
    told = 0 < len(words) <= _MOST_WORDS_OF_A_NAME and not repeated and not _NAMES_NO_PICTURE.search(name)
    return name if told else _HOLE


_MOST_WORDS_OF_A_NAME: Final = 4
"""What is longer describes a picture, and the sentence says so itself."""


def _fill_holes(prose: str) -> str:
    """Put an icon into each hole that its sentence points at, and close the others."""
    first, *rest = prose.split(_HOLE)
    said = [first]
    for part in rest:
        before = _WORD.findall(said[-1][-_NEAR:].casefold())[-1:]
        behind = _WORD.findall(part[:_NEAR])[:1]
        points = (
            bool(before) and _POINTS_AT.fullmatch(before[0]) is not None and said[-1][-1:] in (" ", "\t", "(", "«", '"')
        )
        pictured = any(map(_PICTURED.match, behind))
        if points and not pictured:
            said += [ICON, part]
        elif said[-1][-1:] in (" ", "\t", "") and (part[:1] in (" ", "\t", "") or not part[:1].isalnum()):
            # Of two spaces around what goes, one goes, too; before a full stop both do.
            said[-1] = said[-1].rstrip(" \t") if part[:1] in ("", ".", ",", ";", ":", "!", "?", "\n") else said[-1]
            said.append(part.lstrip(" \t") if said[-1][-1:] in (" ", "\t", "") else part)
        else:
            said.append(part)
    return "".join(said)


def find_unknown_markup(markdown: str) -> list[str]:
    """Return the names of the kinds of mark-up in a page, outside code, that are removed from its quotations."""
    if not (_GENERATED.search(markdown) or _SHORTCODE.search(markdown)):
        return []  # most pages; to tell code from prose takes a parser
    kinds: dict[str, None] = {}
    for i, part in enumerate(split_code(markdown)):
        if i % 2:
            continue
        for match in _GENERATED.finditer(part):
            kinds[f"{match[0][:2]} … {match[0][-2:]}" if match[0][1] in "{%" else "{name(…)}"] = None
        if _SHORTCODE.search(part):
            kinds[":icon:"] = None
    return list(kinds)


# ------------------------------------------------------------------------------------------------------------- tabs


def _labels_in_place(text: str) -> str:
    """Give a bold title at the margin the indentation of what stands right under it: it ended its list there.

    Where no list is open, what stands under it moves to the margin instead: so far in, it would be code.
    """
    lines = text.split("\n")
    written: list[str] = []
    open_at: list[int] = []
    moved = 0
    fenced = False
    for number, raw in enumerate(lines):
        moved = 0 if raw.strip() and _indent(raw) < moved else moved
        line = raw[moved:]
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and line.strip():
            deep = _indent(lines[number + 1]) if number + 1 < len(lines) else 0
            if deep >= 2 and not moved and _LABEL.fullmatch(line):
                inside = any(offset <= deep < offset + 4 for offset in open_at)
                line, moved = (" " * deep + line, 0) if inside else (line, deep)
                written += [""] if written and written[-1].strip() else []
            else:
                _keep_open(open_at, line)
        written.append(line)
    return "\n".join(written)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" ")) if line.strip() else 0


def _keep_open(open_at: list[int], line: str) -> None:
    """Note where the texts of the open items begin, after one more line."""
    if item := _ITEM.match(line):
        while open_at and open_at[-1] > _indent(line):
            open_at.pop()
        open_at.append(len(item[1]))
    elif not line.startswith((" ", "\t")):
        open_at.clear()


# ----------------------------------------------------------------------------------------------------------- tables


def _tables_in_markdown(text: str) -> str:
    """Return a text with the tables of AsciiDoc as tables, and rows that have lost their table's head as a list."""
    written: list[str] = []
    lines = text.split("\n")
    columns = place = 0
    fenced = False
    while place < len(lines):
        line = lines[place]
        place += 1
        if _FENCE.match(line):
            fenced = not fenced
        if fenced:
            written.append(line)
        elif _ATTRIBUTES.fullmatch(line):
            found = _COLUMNS.search(line)
            columns = _count(found[1]) if found else 0
        elif _TABLE_EDGE.fullmatch(line):
            begins = next((one for one in lines[place : place + _NEAR] if one.strip()), "")
            if _CELL.match(begins.lstrip()):
                end = next((n for n in range(place, len(lines)) if _TABLE_EDGE.fullmatch(lines[n])), len(lines))
                written += ["", *_table(lines[place:end], columns), ""]
                place = end + 1
            columns = 0
        elif _ROW.match(line) and not (written and written[-1].strip()):
            end = next((n for n in range(place, len(lines)) if not lines[n].strip()), len(lines))
            run = [line, *lines[place:end]]
            written += run if len(run) > 1 and _DELIMITER.fullmatch(run[1]) else _as_items(run)
            place = end
        else:
            written.append(line)
    return "\n".join(written)


def _as_items(lines: Sequence[str]) -> list[str]:
    """Write rows without a head as items, one a row; of cells that stand below each other, one in all."""
    rows: list[list[str]] = []
    for line in lines:
        if _TABLE_EDGE.fullmatch(line):
            continue
        cells = [said for said, _ in _cells([line]) if said]
        if not cells and rows and not _ROW.match(line):
            rows[-1][-1:] = [" ".join((*rows[-1][-1:], line.strip()))]
        elif cells:
            rows.append(cells)
    if all(len(row) < 2 for row in rows):
        rows = [[cell for row in rows for cell in row]]
    return [f"- {' — '.join(row)}" for row in rows if row]


def _count(columns: str) -> int:
    repeated = re.match(r"\s*(\d{1,2})\*", columns)
    return int(repeated[1]) if repeated else columns.count(",") + 1


def _table(lines: Sequence[str], columns: int) -> list[str]:
    cells = list(_cells(lines))
    first = next((len(list(_cells([line]))) for line in lines if line.strip()), 0)
    columns = columns or (first if first > 1 else next(_heads(lines), 0))
    if not cells or columns < 1:
        return [line for line in lines if not _TABLE_EDGE.fullmatch(line)]
    rows: list[list[str]] = []
    waiting: list[tuple[int, str]] = [(0, "")] * columns
    row: list[str] = []
    for said, span in cells:
        while len(row) < columns and waiting[len(row)][0]:
            left, above = waiting[len(row)]
            waiting[len(row)] = (left - 1, above)
            row.append(above)
        if len(row) == columns:
            rows.append(row)
            row = []
        waiting[len(row)] = (span - 1, said)
        row.append(said)
        if len(row) == columns:
            rows.append(row)
            row = []
    if row:
        rows.append([*row, *(above if left else "" for left, above in waiting[len(row) :])])
    head, *body = [f"| {' | '.join(one)} |" for one in rows]
    return [head, "|" + " --- |" * columns, *body]


def _heads(lines: Sequence[str]) -> Iterator[int]:
    """Yield how many cells stand before the first blank line."""
    count = 0
    for line in lines:
        if not line.strip() and count:
            yield count
            return
        count += len(list(_cells([line])))


def _cells(lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield the cells of a table, each with the rows that it spans; text without a mark belongs to the cell before."""
    said: list[str] | None = None
    span = 1
    for line in lines:
        marks = list(_CELL.finditer(line))
        before = line[: marks[0].start()] if marks else line
        if said is not None and before.strip():
            said.append(before.strip())
        for number, mark in enumerate(marks):
            if said is not None:
                yield _join_cells(said), span
            end = marks[number + 1].start() if number + 1 < len(marks) else len(line)
            said, span = [line[mark.end() : end].strip()], int(mark[1] or 1)
    if said is not None:
        yield _join_cells(said), span


def _join_cells(parts: Sequence[str]) -> str:
    return " ".join(filter(None, parts)).replace("|", "\\|")


def without_navigation(markdown: str) -> str:
    """Return a passage without lists and lines of links to other pages; the rest keeps its line numbers.

    A paragraph that is nothing but such a link is left out as well: it says "see also".
    """
    if "](" not in markdown:
        return markdown
    lines = markdown.split("\n")
    for block in blocks(markdown):
        alone = block.kind is BlockKind.PARAGRAPH and not _FILE.search(block.text)
        if block.kind in _MAY_LEAD_ON and is_navigation(block.text, least=1 if alone else _LEAST_LINKS):
            lines[block.line : block.line + block.text.count("\n") + 1] = [""] * (block.text.count("\n") + 1)
    return "\n".join(lines)


def is_navigation(markdown: str, least: int = _LEAST_LINKS) -> bool:
    """Whether a block has only links to pages of the same documents: a table of contents, a menu.

    Its words are those of other pages: indexed, they would lead to this page instead of those. A list of links to other
    sites names what its own page is about.
    """
    rest, links = _PAGE_LINK.subn(" ", markdown)
    return links >= least and not _WORD.search(_NUMBER_OF_ITEM.sub("", rest))


_FILE = re.compile(
    r"\]\([^()\n]*\.(?!(?:html?|md|markdown|rst|adoc|php|aspx?)\b)[a-z0-9]{2,5}(?:[?#][^()\n]*)?\)", re.IGNORECASE
)
"""A link to a file, such as a form: it is what its paragraph is about."""
_NUMBER_OF_ITEM = re.compile(r"(?m)^[ \t]*\d{1,9}[.)][ \t]")
