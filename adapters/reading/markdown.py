"""Words of other formats as Markdown that shows exactly these words."""

from __future__ import annotations

import re
from collections.abc import Sequence

STRUCTURE = re.compile(r"^(?=#{1,6}(?:\s|$)|`{3}|~{3}|>|(?:[-=*_][ \t]*)+$|\[[^\]\n]{1,200}\]:)", re.MULTILINE)
"""The place before a line that would be read as a heading, a fence, a quotation, a rule or the target of a link."""
BULLET = re.compile(r"^[•▪●◦‣∙·\uf0b7\uf0a7][ \t]*", re.MULTILINE)
"""A mark of a list that is a letter of its text."""

_MARKUP = re.compile(r"<(?=[A-Za-z/!?])|&(?=#?\w{1,40};)|`")
_ESCAPES = {"<": "&lt;", "&": "&amp;", "`": "\\`"}
_ITEM = re.compile(r"^[^\S\n]*+(?:[-*+]|\d{1,9}[.)])\s+", re.MULTILINE)


def escape(text: str) -> str:
    """Return words in which nothing reads as a tag, an entity or code."""
    return _MARKUP.sub(lambda found: _ESCAPES[found.group()], text)


def write_line(text: str) -> str:
    """Return words as one line, of a heading or a cell; several items of a list are divided by semicolons."""
    parts = [" ".join(part.split()) for part in _ITEM.split(BULLET.sub("- ", text))]
    return escape(("; " if len(parts) > 2 else " ").join(filter(None, parts)))


def write_lines(text: str) -> str:
    """Return words as paragraphs and lists; a blank line divides them."""
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return STRUCTURE.sub(r"\\", escape(BULLET.sub("- ", "\n".join(lines).strip())))


def write_picture(words: str, address: str = "image") -> str:
    """Return the description of a picture."""
    return f"![{escape(words).replace('[', '(').replace(']', ')')}]({address})"


def write_table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of the same length as a table; the first one is its head."""
    lines = [f"| {' | '.join(map(_cell, row))} |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])


def _cell(text: str) -> str:
    return write_line(text).replace("|", "\\|")
