"""The reader of the system of record; it works while others write."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection
from pathlib import Path

from adapters.index.records import Heading, ListedDocument, StoredPassage
from adapters.index.store import NAME

_PASSAGES = """
SELECT c.id, d.key, d.source, d.title, d.url, d.kb_id, d.updated, d.language,
       c.ordinal, c.heading, c.first_line, c.last_line, c.text, d.version
FROM chunks c JOIN documents d ON d.id = c.document
"""
_ARTICLES = f"""{_PASSAGES}
WHERE d.state <> 'removing' AND (d.key = ? OR d.kb_id = ?) ORDER BY d.key, d.source, d.id, c.ordinal
"""
_LIMITS = """
SELECT c.id, d.source, d.version, d.language FROM chunks c JOIN documents d ON d.id = c.document WHERE c.id IN
"""
_PLACES = "SELECT c.id, d.key, c.ordinal FROM chunks c JOIN documents d ON d.id = c.document WHERE c.id IN"
_BODIES = "SELECT id, body FROM chunks WHERE id IN"
_HEADINGS = """
SELECT d.key, d.language, d.title, c.headings FROM documents d JOIN chunks c ON c.document = d.id
WHERE d.state <> 'removing' ORDER BY length(d.key) - length(replace(d.key, '/', '')), d.key, d.id, c.ordinal LIMIT ?
"""
_LISTED = """
SELECT id, key, source, title, version, language FROM documents
WHERE state <> 'removing' AND id > ? AND source IN (SELECT value FROM json_each(?)) ORDER BY id LIMIT ?
"""
_NUMBERS = "SELECT id FROM documents WHERE key IN"


def _opened_for_reading(path: Path, how: str = "") -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=ro{how}"
    # A pool hands it from thread to thread, to one at a time.
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=5, check_same_thread=False)


def _has_log(path: Path) -> bool:
    """Whether something was written that is not in the database itself yet."""
    log = path.with_name(f"{path.name}-wal")
    return log.exists() and log.stat().st_size > 0


class IndexReader:
    """A read-only connection to the system of record.

    Attributes:
        lasting: Whether it sees later writes by others; a connection that does not is for one question.

    Raises:
        sqlite3.Error: From every method; the caller knows what was asked.
    """

    lasting = True

    def __init__(self, directory: Path) -> None:
        self._db = _opened_for_reading(directory / NAME)
        try:
            self._db.execute("PRAGMA user_version")
        except sqlite3.OperationalError as error:
            self._db.close()
            # In a folder that cannot be written, SQLite cannot say in a file of its own that somebody reads here.
            unwritable = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
            if not unwritable or _has_log(directory / NAME):
                raise
            self._db = _opened_for_reading(directory / NAME, "&immutable=1")
            self.lasting = False

    def schema(self) -> int:
        return self._db.execute("PRAGMA user_version").fetchone()[0]

    def passages(self, ids: Collection[int]) -> dict[int, StoredPassage]:
        sql = f"{_PASSAGES} WHERE c.id IN ({','.join('?' * len(ids))})"
        rows = (StoredPassage(*row) for row in self._db.execute(sql, tuple(ids)))
        return {row.id: row for row in rows}

    def places(self, ids: Collection[int]) -> dict[int, tuple[str, int]]:
        """Return the document keys of passages, with each passage's position in its document."""
        sql = f"{_PLACES} ({','.join('?' * len(ids))})"
        return {number: (key, ordinal) for number, key, ordinal in self._db.execute(sql, tuple(ids))}

    def article_passages(self, key: str, kb_id: int | None) -> list[StoredPassage]:
        """Return every passage of the documents that have a key or a number, document by document and in order."""
        return [StoredPassage(*row) for row in self._db.execute(_ARTICLES, (key, kb_id))]

    def limits(self, ids: Collection[int]) -> dict[int, tuple[str, str | None, str]]:
        """Return source, version and language of passages, by which searches are limited."""
        sql = f"{_LIMITS} ({','.join('?' * len(ids))})"
        return {row[0]: row[1:] for row in self._db.execute(sql, tuple(ids))}

    def bodies(self, ids: Collection[int]) -> dict[int, str]:
        """Return the words of passages as they were indexed."""
        sql = f"{_BODIES} ({','.join('?' * len(ids))})"
        return dict(self._db.execute(sql, tuple(ids)).fetchall())

    def meta(self, key: str) -> str:
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return row[0] if row else ""

    def numbers(self, languages: Collection[str]) -> list[int]:
        """Return the numbers of all passages in some languages, ascending."""
        sql = "SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document WHERE d.state <> 'removing'"
        sql += f" AND d.language IN ({','.join('?' * len(languages))}) ORDER BY c.id"
        return [number for (number,) in self._db.execute(sql, tuple(languages))]

    def document_ids(self, keys: Collection[str]) -> list[int]:
        sql = f"{_NUMBERS} ({','.join('?' * len(keys))})"
        return [row[0] for row in self._db.execute(sql, tuple(keys))]

    def documents(self, kinds: Collection[str], after: int, most: int) -> list[ListedDocument]:
        """Return documents of some kinds in a fixed order, at most so many, from the one behind an id on (0: the first)."""
        rows = self._db.execute(_LISTED, (after, json.dumps(list(kinds)), most))
        return [ListedDocument(*row) for row in rows]

    def stamp(self) -> str:
        """Return a text that changes whenever a document comes or goes."""
        count, newest = self._db.execute(
            "SELECT count(*), coalesce(max(id), 0) FROM documents WHERE state <> 'removing'"
        ).fetchone()
        return f"{count} documents, the newest is {newest}"

    def headings(self, passages: int) -> list[Heading]:
        """Return the titles and headings of documents, once a document; documents near the root come first.

        Args:
            passages: So many passages are looked at.
        """
        found = dict[Heading, None]()
        for key, language, title, headings in self._db.execute(_HEADINGS, (passages,)):
            for text in (title, *headings.split("\n")):
                found[Heading(key, language, " ".join(text.split()))] = None
        return [heading for heading in found if heading.text]

    def count(self) -> dict[str, int]:
        """Return how many documents there are of each kind of source."""
        sql = "SELECT source, count(*) FROM documents WHERE state <> 'removing' GROUP BY source ORDER BY source"
        return dict(self._db.execute(sql).fetchall())

    def warnings(self) -> list[tuple[str, str]]:
        """Return the files that are indexed with a warning, by name, each with its warning."""
        sql = "SELECT path, warning FROM files WHERE warning <> '' AND unfit = '' AND left_out = 0 ORDER BY path"
        return self._db.execute(sql).fetchall()

    def close(self) -> None:
        self._db.close()
