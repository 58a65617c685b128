"""Rows of the record: folders, files, documents, passages."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from contracts.enums import Language
from contracts.errors import KnowledgeError


class FolderRow(NamedTuple):
    """An indexed folder; the keys of its documents begin with `label`."""

    id: int
    label: str
    path: str
    source: str
    version: str | None


@dataclass(frozen=True, slots=True)
class FileRow:
    """The record of a file, so that an unchanged file is not read again.

    Attributes:
        sha256: Of its content; `None` if the content is unfit.
        unfit, warning: Why it is not indexed, or not indexed as it should be; empty if all is well.
        left_out: Whether its number is below the deployment's `kb_ids_from`.
    """

    folder: int
    path: str
    size: int
    mtime_ns: int
    sha256: str | None = None
    kb_id: int | None = None
    source: str | None = None
    version: str | None = None
    unfit: str = ""
    warning: str = ""
    left_out: bool = False


class Identity(NamedTuple):
    """The identity of a document: equal ones are the same document; `format` is the way it was cut."""

    key: str
    sha256: str
    source: str
    version: str | None
    format: int


@dataclass(frozen=True, slots=True)
class Header:
    """A document's own metadata."""

    title: str
    kb_id: int | None
    url: str | None
    updated: str | None
    language: Language


class IndexEntry(NamedTuple):
    """A chunk to be written to the index."""

    id: int
    document: int
    source: str
    version: str | None
    language: str
    title: str
    headings: str
    body: str


class StoredPassage(NamedTuple):
    """A chunk as a search returns it."""

    id: int
    key: str
    source: str
    title: str
    url: str | None
    kb_id: int | None
    updated: str | None
    language: str
    ordinal: int
    heading: str
    first_line: int
    last_line: int
    text: str
    version: str | None = None


class ListedDocument(NamedTuple):
    """A document of the index, without its text."""

    id: int
    key: str
    source: str
    title: str
    version: str | None
    language: str


class Heading(NamedTuple):
    """A title or a heading of a document, in the document's language."""

    key: str
    language: str
    text: str


_DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)


@contextmanager
def our_errors(doing: str, directory: Path) -> Generator[None]:
    """Translate SQLite's errors into Guardian's."""
    try:
        yield
    except sqlite3.Error as error:
        # The lowest byte of an extended code is the code itself.
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
            raise KnowledgeError(
                f"The knowledge base in {directory} is damaged: {error}.",
                f"Delete the folder {directory} and index everything again.",
            ) from error
        raise unwritable(str(error), doing) from error


def unwritable(reason: str, doing: str = "written") -> KnowledgeError:
    """Return the error for a knowledge base that cannot be written or read."""
    return KnowledgeError(
        f"The knowledge base cannot be {doing}: {reason}.",
        "See that its disk has free space and its folder may be written to, then index again; "
        "what was indexed before is whole.",
    )
