"""The result of a format's reader, and the limits for all readers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from language.clean import clean

LIBRARIES = {
    ".html": "selectolax",
    ".htm": "selectolax",
    ".docx": "mammoth",
    ".xlsx": "openpyxl",
    ".pptx": "pptx",
    ".pdf": "pypdf",
}
"""The endings that are read, and the library of the extra `formats` that each needs first."""
MAX_TEXT = 5_000_000
"""Characters of text; a book has one million."""
SECONDS = 60.0
"""How long one file may take."""
REPLY = b"document: "
"""What each reply of the process that converts begins with; the start of its interpreter may print lines of its own."""
MEMORY = 2_000_000_000
"""Bytes that reading may take, where the system can hold a process to it."""

_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?!\d)")
_WEB = re.compile(r"https?://[^\s<>\"]{1,2000}", re.IGNORECASE)


class Unfit(Exception):
    """The content of a file cannot be indexed until somebody changes the file."""


@dataclass(frozen=True, slots=True)
class Document:
    """A file as Markdown.

    Attributes:
        text: Headings, paragraphs, lists, tables and code.
        title: The document's own title; empty if it has none.
        url: Its own address, http or https; empty if it names none.
        updated: The day of its last change, `YYYY-MM-DD`; empty if it names none.
        problem: What was left out that its reader would miss, and what to do; empty if nothing was.
    """

    text: str
    title: str = ""
    url: str = ""
    updated: str = ""
    problem: str = ""


def document(text: str, *, title: str = "", url: str = "", updated: str = "", problem: str = "") -> Document:
    """Return a document with its own metadata made safe to store.

    Raises:
        Unfit: It has no text, or too much.
    """
    text = clean(text).strip("\n")
    if not text.strip():
        raise Unfit("has no text: if it is made of pictures, run text recognition (OCR) on it first, or remove it")
    check_length(len(text))
    day = _ISO_DATE.match(updated.strip())
    address = url.strip()
    return Document(
        f"{text}\n",
        " ".join(clean(title).split())[:300],
        address if _WEB.fullmatch(address) else "",
        day.group() if day else "",
        problem,
    )


def check_length(characters: int) -> None:
    """See that a document has not too much text.

    Raises:
        Unfit: It has.
    """
    if characters > MAX_TEXT:
        raise Unfit(f"has more than {MAX_TEXT:,} characters of text: split it")


def suffix_of(path: str) -> str:
    """Return the extension of a file's name in lower case, with its dot."""
    return PurePosixPath(path).suffix.casefold()
