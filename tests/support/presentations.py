"""PowerPoint files as python-pptx writes them, from the template of PowerPoint's that it carries, and damaged ones."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from pptx import Presentation
from pptx.util import Inches

Part = str | bytes | Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Page:
    """A slide.

    Attributes:
        title: `None` where it has no place for one.
        lines: The paragraphs of its body, and their levels.
        boxes: Texts, and where they stand: inches from the left and from the top.
        table: Rows of a table at the bottom.
    """

    title: str | None = None
    lines: Sequence[tuple[str, int]] = ()
    boxes: Mapping[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    table: Sequence[Sequence[str]] = ()
    notes: str = ""
    hidden: bool = False


def pptx(*pages: Page, title: str = "", parts: Mapping[str, Part] | None = None) -> bytes:
    """Return a presentation; `parts` stand in place of its own ones, or make others of them."""
    deck = Presentation()
    deck.core_properties.title = title
    for page in pages:
        slide: Any = deck.slides.add_slide(deck.slide_layouts[6 if page.title is None else 1])
        if page.title is not None:
            slide.shapes.title.text = page.title
            body = slide.placeholders[1].text_frame
            for number, (text, level) in enumerate(page.lines):
                paragraph = body.paragraphs[0] if not number else body.add_paragraph()
                paragraph.text, paragraph.level = text, level
        for text, (left, top) in page.boxes.items():
            slide.shapes.add_textbox(Inches(left), Inches(top), Inches(2), Inches(1)).text_frame.text = text
        if page.table:
            size = len(page.table), len(page.table[0])
            table = slide.shapes.add_table(*size, Inches(1), Inches(6), Inches(3), Inches(1)).table
            for row, cells in enumerate(page.table):
                for column, text in enumerate(cells):
                    table.cell(row, column).text = text
        if page.notes:
            slide.notes_slide.notes_text_frame.text = page.notes
        if page.hidden:
            slide.element.set("show", "0")
    file = BytesIO()
    deck.save(file)
    return change_parts(file.getvalue(), parts) if parts else file.getvalue()


def change_parts(content: bytes, parts: Mapping[str, Part]) -> bytes:
    """Return an archive with some of its parts changed, or with others added."""
    file = BytesIO()
    with zipfile.ZipFile(BytesIO(content)) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for name in dict.fromkeys([*old.namelist(), *parts]):
            part = parts.get(name, old.read(name) if name in old.namelist() else b"")
            new.writestr(name, part(old.read(name).decode()) if callable(part) else part)
    return file.getvalue()
