"""Text in the columns of a terminal, with its true width and without control sequences, and in cells of a spreadsheet."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Sequence
from typing import Final

from language.clean import INVISIBLE, clean

_FORMULA: Final = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
"""What a spreadsheet takes a cell for a formula by, in its first place."""

NARROWEST: Final = 40
"""Columns of a terminal that is told to have fewer."""
GAP: Final = "  "


def flat(text: str) -> str:
    """Return a document's words as one line that is safe for a terminal.

    A title may have line breaks, escapes, and characters that change the reading direction.
    """
    return " ".join(INVISIBLE.sub("", clean(text)).split())


def columns_of(text: str) -> int:
    """Return how many columns a terminal takes for a line."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def pad(text: str, size: int, *, right: bool = False) -> str:
    """Return a text padded with blanks to a number of columns, after or before it."""
    blank = " " * max(0, size - columns_of(text))
    return blank + text if right else text + blank


def wrap(text: str, width: int) -> list[str]:
    """Break a line between words; words longer than a line, such as references, break anywhere."""
    width = max(width, 1)
    if columns_of(text) == len(text):
        return textwrap.wrap(text, width, break_on_hyphens=False) or [""]
    lines, line = list[str](), ""
    for character in text:
        if columns_of(line + character) > width:
            lines.append(line.rstrip())
            line = ""
        line += character
    return [*lines, line]


def write_labels(lines: Sequence[tuple[str, list[str]]], width: int) -> str:
    """Write each label with its texts next to it."""
    column = max(columns_of(label) for label, _ in lines) + len(GAP)
    written: list[str] = []
    for label, texts in lines:
        folded = [line for text in texts for line in wrap(text, width - column)]
        for n, line in enumerate(folded):
            written.append(f"{pad(label if n == 0 else '', column)}{line}")
    return "\n".join(written)


def without_formula(text: str) -> str:
    """Return text that no spreadsheet program takes for a formula (OWASP, CSV injection)."""
    return f"'{text}" if _FORMULA.match(text.lstrip(" ")) else text
