"""Markdown on standard output: laid out for people on a terminal, unchanged for programs."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Final

from rendering.texts import without_escapes

_USUAL_WIDTH: Final = 100


def show_answer(markdown: str) -> None:
    """Print an answer: laid out for the width of a terminal, and as its Markdown into a pipe, a file or a dumb terminal."""
    show_markdown(markdown, without_escapes(markdown))


def show_markdown(markdown: str, plain: str) -> None:
    """Print Markdown: laid out for the width of a terminal; into a pipe, a file or a dumb terminal as another text is."""
    if sys.stdout.isatty() and os.environ.get("TERM", "") != "dumb":
        from assistant.report_text import in_colour
        from assistant.terminal import write_for_terminal  # heavy, and nobody waits for it before the answer is there

        shown = write_for_terminal(markdown, columns(), colour=in_colour(sys.stdout))
    else:
        shown = plain
    print(shown)


def columns() -> int:
    """Return the width of the terminal; a usual one where there is none."""
    return shutil.get_terminal_size((_USUAL_WIDTH, 24)).columns
