"""The pieces of a passage for drafts: sentences, lists, tables and code blocks, with their introductions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from contracts.evidence import EvidenceItem
from evals.copies.cut import sentences
from language.blocks import BlockKind, blocks, heading_text

_LINK = re.compile(r"\[([^\]\n]+)\]\([^()\n]*\)")
_MARKER = re.compile(r"^[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+")
_CODE = re.compile(r"`[^`\n]+`")


class PieceKind(StrEnum):
    """The kind of a piece."""

    PROSE = "prose"
    STEPS = "steps"
    BULLETS = "bullets"
    TABLE = "table"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class CopyPiece:
    r"""A part of one passage that makes sense without the rest.

    Attributes:
        heading: The heading above it, without marks.
        lead: The sentence before it that ends with a colon, or nothing.
        parts: Sentences, or list items without their markers, or table rows with the header first and cells separated
            by `\t`, or one code block with its fences.
    """

    kind: PieceKind
    ref: str
    heading: str
    lead: str
    parts: tuple[str, ...]


def pieces(item: EvidenceItem) -> list[CopyPiece]:
    """Return the pieces of a passage, in order."""
    return list(_pieces(item))


def _pieces(item: EvidenceItem) -> Iterator[CopyPiece]:
    heading, lead = item.heading.split(" › ")[-1] or item.title, ""
    for block in blocks(_LINK.sub(r"\1", item.snippet)):
        match block.kind:
            case BlockKind.HEADING:
                heading, lead = heading_text(block.text), ""
            case BlockKind.PARAGRAPH:
                told = sentences(block.text)
                lead = told.pop() if told and told[-1].endswith(":") else ""
                if whole := tuple(text for text in told if _tells(text)):
                    yield CopyPiece(PieceKind.PROSE, item.ref, heading, "", whole)
            case BlockKind.STEPS | BlockKind.BULLETS:
                kind = PieceKind.STEPS if block.kind is BlockKind.STEPS else PieceKind.BULLETS
                yield CopyPiece(kind, item.ref, heading, lead, tuple(_item(part) for part in block.parts))
                lead = ""
            case BlockKind.TABLE:
                yield CopyPiece(PieceKind.TABLE, item.ref, heading, lead, tuple(_row(part) for part in block.parts))
                lead = ""
            case BlockKind.CODE if len(block.text) < 500 and block.text.startswith("```"):
                yield CopyPiece(PieceKind.CODE, item.ref, heading, lead, (block.text,))
                lead = ""
            case _:
                lead = ""


def _tells(sentence: str) -> bool:
    return 30 <= len(sentence) <= 380 and sentence[-1] in ".!»”)" and not re.search(r"\[\d+\]", sentence)


def _item(part: str) -> str:
    return re.sub(r"\n(?:   ?)?(?=[ \t]*\S)", "\n", _MARKER.sub("", part))


def _row(part: str) -> str:
    # A bar inside code is part of the cell.
    masked = _CODE.sub(lambda found: found.group().replace("|", "\0"), part.strip().strip("|").replace("\\|", "\0"))
    return "\t".join(cell.strip().replace("\0", "|") for cell in masked.split("|"))
