"""A passage as the units that an answer can be made of: each a block with the line that leads into it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from contracts.evidence import EvidenceItem
from language.blocks import Block, BlockKind, blocks, heading_text, split_code
from language.words import stems

_TARGET = r"\((?:[^()\n]|\n(?!\n)|\([^()\n]*\))*\)"
_IMAGE = re.compile(r"!\[[^\]\n]*\]" + _TARGET)
_LINK = re.compile(r"\[([^\]\n]+)\]" + _TARGET)
_REFERENCE = re.compile(r"\[([^\]\n]+)\]\[[^\]\n]*\]")
_BARE_MARK = re.compile(r"\[(\d{1,3})\]")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
# Cells and paragraphs in HTML: taken out without a space, their words would run together.
_BREAKING_TAG = re.compile(r"</?(?:td|th|tr|li|p|br|div|dt|dd)\b[^>\n]*>", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z](?:[^>\n]|\n(?!\n))*>")
_LEFT_OVER = re.compile(r"(?<=<)(?=[A-Za-z/!?])|(?<=\])(?=\()")
_DIALECT = re.compile(r"^[ \t]*(?:/{3,}.*|\{[*!].*[*!]\}|:::.*|!!! .*)$", re.MULTILINE)
_BODY = (BlockKind.STEPS, BlockKind.BULLETS, BlockKind.TABLE, BlockKind.CODE)


@dataclass(frozen=True, slots=True)
class Unit:
    """Something that can be quoted whole.

    Attributes:
        source: Number of the evidence item, counted from 1.
        order: Its place in the passage.
        heading: The headings above it, title included.
        lead: The paragraph that leads into `body`; or the paragraph itself, where there is no body.
        body: A list, a table or a code block; or nothing.
    """

    source: int
    order: int
    heading: str
    lead: str
    body: Block | None
    words: frozenset[str]
    heading_words: frozenset[str]

    @property
    def text(self) -> str:
        """The source text of lead and body."""
        return "\n\n".join(filter(None, (self.lead, self.body.text if self.body else "")))


def units(item: EvidenceItem, source: int) -> list[Unit]:
    """Return the units of one passage in order; mark-up that is not for readers is taken out of the prose."""
    heading = " — ".join(filter(None, dict.fromkeys((item.title, item.heading))))
    found: list[Unit] = []
    lead = ""

    def add(lead_text: str, body: Block | None) -> None:
        text = "\n".join(filter(None, (lead_text, body.text if body else "")))
        # What leads into something that the passage does not have would end the answer in mid-air.
        if stems(text) and (body or not lead_text.rstrip().endswith(":")):
            words = frozenset(stems(text))
            found.append(Unit(source, len(found), heading, lead_text, body, words, frozenset(stems(heading))))

    for block in blocks(readable(item.snippet)):
        if block.kind in _BODY:
            add(lead, block)
            lead = ""
            continue
        if lead:
            add(lead, None)
            lead = ""
        if block.kind is BlockKind.HEADING:
            own = heading_text(block.text)
            heading = " — ".join(filter(None, dict.fromkeys((item.title, item.heading, own))))
        elif block.kind in (BlockKind.PARAGRAPH, BlockKind.QUOTE):
            lead = re.sub(r"^>[ \t]?", "", block.text, flags=re.MULTILINE).strip()
    if lead:
        add(lead, None)
    return found


def readable(markdown: str) -> str:
    """Return a passage with links as their words and without images, comments, tags and dialect marks.

    Code is left as it is. `[1]` in a document's own prose is no citation of ours and loses its brackets.
    """
    parts = split_code(_COMMENT.sub(" ", markdown))
    return "".join(part if i % 2 else _prose(part) for i, part in enumerate(parts))


def _prose(text: str) -> str:
    text = _DIALECT.sub("", _IMAGE.sub("", text))
    text = _REFERENCE.sub(r"\1", _LINK.sub(r"\1", text))
    # What is left of nested tags and links could make new ones: a space keeps it from meaning anything.
    return _LEFT_OVER.sub(" ", _BARE_MARK.sub(r"(\1)", _TAG.sub("", _BREAKING_TAG.sub(" ", text))))
