"""PowerPoint files as Markdown: each slide that is shown is a section, its texts in the order in which they are read.

Speaker notes are left out: they are for the one who speaks, and may hold what the audience shall not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, cast

from adapters.reading.archive import OLE, read_properties, without_media
from adapters.reading.document import Document, Unfit, check_length, document
from adapters.reading.markdown import write_line, write_picture, write_table
from adapters.reading.pptx_lists import write_paragraphs
from language.patterns import read_wording
from language.words import detect

if TYPE_CHECKING:
    from pptx.presentation import Presentation
    from pptx.shapes.base import BaseShape
    from pptx.slide import Slide
    from pptx.table import Table

_UNTITLED: Final = frozenset(read_wording(__name__).words("untitled"))
MAX_SLIDES: Final = 3_000
_NAMES: Final = {"en": "Slide", "ru": "Слайд"}
_TITLES: Final = ("TITLE", "CENTER_TITLE", "VERTICAL_TITLE")
_LISTS: Final = ("BODY", "OBJECT", "VERTICAL_BODY", "VERTICAL_OBJECT")
"""Placeholders whose paragraphs have bullets, unless they say otherwise."""
_RUNNING: Final = ("DATE", "FOOTER", "HEADER", "SLIDE_NUMBER")
"""Placeholders of what stands on every slide."""
_SAME_ROW: Final = 228_600
"""A quarter of an inch: shapes whose tops are not further apart stand beside each other."""
_TRUE: Final = ("1", "true")


def read(content: bytes) -> Document:
    """Return a `.pptx` file as Markdown, without hidden slides, speaker notes, footers and what stands beside a slide.

    Its title is that of its first slide, else that of its properties.

    Raises:
        Unfit: It is not a PowerPoint file, is encrypted or damaged, or is too large.
    """
    if content.startswith(OLE):
        raise Unfit("is encrypted or of the old format .ppt: save it as .pptx without a password")
    try:
        core = read_properties(content)
        text, title = _read_slides(content)
    except (Unfit, MemoryError):
        raise
    except Exception as error:
        # The library meets a damaged file with whatever its parts raise.
        raise Unfit(
            "is no PowerPoint file, or a damaged one: open it in PowerPoint and save it again as .pptx"
        ) from error
    named = core.get("dc:title", "").strip()
    named = "" if named.casefold() in _UNTITLED else named
    return document(text, title=title or named, updated=core.get("dcterms:modified", ""))


def _read_slides(content: bytes) -> tuple[str, str]:
    """Return the text of a presentation, and the title of its first slide."""
    import pptx

    presentation = pptx.Presentation(without_media(content))
    count = len(presentation.slides)
    if count > MAX_SLIDES:
        raise Unfit(f"has {count} slides, more than {MAX_SLIDES}: split it")
    slides: list[tuple[int, str, list[str]]] = []
    size = 0
    for number, slide in enumerate(presentation.slides, 1):
        if slide.element.get("show", "1") not in _TRUE:
            continue
        title = _find_title(slide)
        blocks = list(_write_shapes(_list_shown(slide, presentation)))
        size += len(title) + sum(map(len, blocks))
        check_length(size)
        slides.append((number, title, blocks))
    word = _NAMES[detect(" ".join(part for _, title, blocks in slides[:20] for part in (title, *blocks))[:20_000])]
    return "\n\n".join(_assemble(slides, word)), slides[0][1] if slides else ""


def _assemble(slides: Iterable[tuple[int, str, list[str]]], word: str) -> Iterator[str]:
    """Yield headings and blocks; slides in a row with the same title are one section."""
    before = ""
    for number, title, blocks in slides:
        if not title and not blocks:
            continue
        if not title or title != before:
            yield f"## {title or f'{word} {number}'}"
        before = title
        yield from blocks


def _kind(shape: BaseShape) -> str:
    """Return the kind of a placeholder; empty for another shape."""
    return shape.placeholder_format.type.name if shape.is_placeholder else ""


def _find_title(slide: Slide) -> str:
    from pptx.shapes.autoshape import Shape

    titles = (shape for shape in slide.shapes if _kind(shape) in _TITLES and not _is_hidden(shape))
    return next((write_line(shape.text_frame.text) for shape in titles if isinstance(shape, Shape)), "")


def _list_shown(slide: Slide, presentation: Presentation) -> Iterator[BaseShape]:
    """Yield the shapes of a slide that are on it, at least in part."""
    width = cast("int | None", presentation.slide_width) or 0
    height = cast("int | None", presentation.slide_height) or 0
    for shape in slide.shapes:
        left, top = shape.left or 0, shape.top or 0
        right, bottom = left + (shape.width or 0), top + (shape.height or 0)
        beside = right < 0 or bottom < 0 or (width and left >= width) or (height and top >= height)
        if not beside and _kind(shape) not in (*_TITLES, *_RUNNING):
            yield shape


def _write_shapes(shapes: Iterable[BaseShape]) -> Iterator[str]:
    from pptx.shapes.graphfrm import GraphicFrame
    from pptx.shapes.group import GroupShape

    for shape in _in_reading_order(shapes):
        if _is_hidden(shape):
            continue
        if isinstance(shape, GroupShape):
            yield from _write_shapes(shape.shapes)
        elif isinstance(shape, GraphicFrame) and shape.has_table:
            yield from _write_rows(shape.table)
        elif shape.has_text_frame:
            yield from write_paragraphs(shape.element, listed=_kind(shape) in _LISTS)
        elif words := _named(shape, "descr"):
            yield write_picture(words)


def _in_reading_order(shapes: Iterable[BaseShape]) -> list[BaseShape]:
    """Return shapes from top to bottom, and those beside each other from left to right."""
    rows: list[list[tuple[int, int, BaseShape]]] = []
    first = 0
    placed = [(shape.top or 0, shape.left or 0, number, shape) for number, shape in enumerate(shapes)]
    for top, left, number, shape in sorted(placed, key=lambda one: one[:3]):
        if not rows or top > first + _SAME_ROW:
            rows.append([])
            first = top
        rows[-1].append((left, number, shape))
    return [shape for row in rows for _, _, shape in sorted(row, key=lambda one: one[:2])]


def _is_hidden(shape: BaseShape) -> bool:
    return _named(shape, "hidden") in _TRUE


def _named(shape: BaseShape, name: str) -> str:
    """Return what a shape says about itself: its description, or whether it is hidden."""
    element: Any = shape.element
    return " ".join("".join(element.xpath(f"./*/p:cNvPr/@{name}")).split())


def _write_rows(table: Table) -> Iterator[str]:
    rows = [["" if cell.is_spanned else cell.text.replace("\v", "\n") for cell in row.cells] for row in table.rows]
    width = max(map(len, rows), default=0)
    filled = [[*row, *[""] * (width - len(row))] for row in rows if any(cell.strip() for cell in row)]
    if len(filled) == 1:
        yield " — ".join(write_line(cell) for cell in filled[0] if cell.strip())
    elif filled:
        yield write_table(filled)
