"""The system of record: the files, their documents and the documents' chunks, in one SQLite database.

A document is one content under one kind of source and one version, however many files hold it. Its rows never
change: a changed file makes a new document next to the old one. Until the index has followed, `state` says which of
the two is coming and which is going. So a reader finds the rows of the old index and of the new one at any moment,
and the next run finishes a killed one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from adapters.index.records import FileRow, FolderRow, Header, Identity, IndexEntry, our_errors
from adapters.reading.chunks import Chunk
from contracts.enums import Source
from contracts.errors import KnowledgeError

NAME = "knowledge.sqlite"
SCHEMA = 1
"""Raised when the tables change."""
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE folders (
    id INTEGER PRIMARY KEY, label TEXT NOT NULL UNIQUE, path TEXT NOT NULL UNIQUE, source TEXT NOT NULL, version TEXT
);
CREATE TABLE files (
    folder INTEGER NOT NULL REFERENCES folders (id), path TEXT NOT NULL,
    size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, sha256 TEXT,
    kb_id INTEGER, source TEXT, version TEXT,  -- as the file itself says
    unfit TEXT NOT NULL, warning TEXT NOT NULL, left_out INTEGER NOT NULL,
    PRIMARY KEY (folder, path)
) WITHOUT ROWID;
CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice
    key TEXT NOT NULL, sha256 TEXT NOT NULL, format INTEGER NOT NULL, title TEXT NOT NULL, kb_id INTEGER, url TEXT,
    updated TEXT, source TEXT NOT NULL, version TEXT, language TEXT NOT NULL, state TEXT NOT NULL
);
CREATE INDEX documents_by_key ON documents (key);
CREATE INDEX documents_in_motion ON documents (state) WHERE state <> 'live';
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL REFERENCES documents (id),
    ordinal INTEGER NOT NULL, heading TEXT NOT NULL, anchor TEXT NOT NULL,
    first_line INTEGER NOT NULL, last_line INTEGER NOT NULL,
    text TEXT NOT NULL, headings TEXT NOT NULL, body TEXT NOT NULL, hash TEXT NOT NULL
);
CREATE INDEX chunks_by_document ON chunks (document);
"""
_EMBEDDINGS = """
CREATE TABLE IF NOT EXISTS embeddings (
    model TEXT NOT NULL, hash TEXT NOT NULL, vector BLOB NOT NULL,  -- float16, of length 1
    PRIMARY KEY (model, hash)
)
"""
"""Made where an embedding model is used; a knowledge base without is the same as ever."""
_OLDER = "DROP TABLE IF EXISTS vectors"
"""Where vectors were float32, before: they are made anew, and no document is read again for that."""


class Store:
    """The writer of the system of record; the caller's lock allows only one at a time.

    Raises:
        KnowledgeError: From every method, if the database cannot be read or written.
    """

    def __init__(self, directory: Path) -> None:
        path = directory / NAME
        self._directory = directory
        with our_errors("opened", directory):
            # The connection is closed from the thread that opened it, or with the process.
            self._db = sqlite3.connect(path, isolation_level=None, timeout=5)
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
                # The index's commit must never be durable before the rows it points to.
                self._db.execute("PRAGMA synchronous=FULL")
                self._prepare(directory)
            except BaseException:
                self._db.close()
                raise

    def _prepare(self, directory: Path) -> None:
        (found,) = self._db.execute("PRAGMA user_version").fetchone()
        if found not in (0, SCHEMA):
            raise KnowledgeError(
                f"The knowledge base in {directory} was made by another version of this program.",
                "Delete that folder and index again.",
            )
        if not found:
            with self.transaction():
                for statement in _TABLES.split(";\n"):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version = {SCHEMA}")
        self._db.execute(_OLDER)

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Write everything inside the block, or nothing."""
        with our_errors("written", self._directory):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                # A full disk may have rolled it back already.
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def tidy(self) -> None:
        """Merge the write-ahead log, so that the database is one file again; the data are safe either way."""
        with suppress(sqlite3.Error):
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    # ---------------------------------------------------------------------------------------------- what there is

    def meta(self, key: str) -> str:
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return row[0] if row else ""

    def set_meta(self, key: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def folders(self) -> list[FolderRow]:
        return [FolderRow(*row) for row in self._db.execute("SELECT * FROM folders ORDER BY id")]

    def files(self) -> dict[tuple[int, str], FileRow]:
        rows = (FileRow(*row[:-1], left_out=bool(row[-1])) for row in self._db.execute("SELECT * FROM files"))
        return {(row.folder, row.path): row for row in rows}

    def documents(self) -> dict[Identity, int]:
        """Return the ids of the documents that stay unless something changes."""
        sql = "SELECT key, sha256, source, version, format, id FROM documents WHERE state <> 'removing'"
        return {Identity(*row[:-1]): row[-1] for row in self._db.execute(sql)}

    def count(self) -> tuple[int, int]:
        """Return how many documents and chunks there are."""
        sql = "SELECT count(DISTINCT d.id), count(c.id) FROM documents d LEFT JOIN chunks c ON c.document = d.id"
        documents, chunks = self._db.execute(f"{sql} WHERE d.state <> 'removing'").fetchone()
        return documents, chunks

    def policies(self) -> int:
        """Return how many of the documents are policies."""
        sql = "SELECT count(*) FROM documents WHERE state <> 'removing' AND source = 'policy'"
        return int(self._db.execute(sql).fetchone()[0])

    def numbers(self) -> list[int]:
        """Return the numbers of all documents, whatever their state."""
        return [number for (number,) in self._db.execute("SELECT id FROM documents")]

    def in_motion(self) -> list[int]:
        """Return the ids of the coming and going documents that the index has not followed yet."""
        return [row[0] for row in self._db.execute("SELECT id FROM documents WHERE state <> 'live'")]

    def entries(self, *, coming: bool) -> Iterator[IndexEntry]:
        """Yield the chunks that belong in the index: those of coming documents, or of all."""
        states = "d.state = 'adding'" if coming else "d.state <> 'removing'"
        sql = "SELECT c.id, d.id, d.source, d.version, d.language, d.title, c.headings, c.body"
        sql += f" FROM chunks c JOIN documents d ON d.id = c.document WHERE {states} ORDER BY c.id"
        yield from (IndexEntry(*row) for row in self._db.execute(sql))

    def texts(self, ids: Collection[int]) -> dict[int, tuple[str, str, str]]:
        """Return title, headings and body of chunks."""
        sql = "SELECT c.id, d.title, c.headings, c.body FROM chunks c JOIN documents d ON d.id = c.document"
        rows = self._db.execute(f"{sql} WHERE c.id IN ({','.join('?' * len(ids))})", tuple(ids))
        return {number: (title, headings, body) for number, title, headings, body in rows}

    # ------------------------------------------------------------------------------------------------ what changes

    def keep_folder(self, path: Path, source: Source, version: str | None) -> FolderRow:
        """Record a folder, or a change in how it is read."""
        existing = {row.path: row for row in self.folders()}
        old = existing.get(str(path))
        if old:
            self._db.execute("UPDATE folders SET source = ?, version = ? WHERE id = ?", (source, version, old.id))
            return old._replace(source=source, version=version)
        taken = {row.label for row in existing.values()}
        name = path.name or "root"
        label = next(
            label for n in range(1, len(taken) + 2) if (label := name if n == 1 else f"{name}-{n}") not in taken
        )
        values = (label, str(path), str(source), version)
        made = self._db.execute("INSERT INTO folders (label, path, source, version) VALUES (?, ?, ?, ?)", values)
        return FolderRow(made.lastrowid or 0, *values)

    def drop_folders(self, ids: Collection[int]) -> None:
        self._db.executemany("DELETE FROM files WHERE folder = ?", [(number,) for number in ids])
        self._db.executemany("DELETE FROM folders WHERE id = ?", [(number,) for number in ids])

    def keep_files(self, rows: Iterable[FileRow]) -> None:
        sql = "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        values = (
            (
                r.folder,
                r.path,
                r.size,
                r.mtime_ns,
                r.sha256,
                r.kb_id,
                r.source,
                r.version,
                r.unfit,
                r.warning,
                r.left_out,
            )
            for r in rows
        )
        self._db.executemany(sql, values)

    def drop_files(self, keys: Iterable[tuple[int, str]]) -> None:
        self._db.executemany("DELETE FROM files WHERE folder = ? AND path = ?", keys)

    def add(self, identity: Identity, header: Header, chunks: Sequence[Chunk]) -> list[IndexEntry]:
        """Add a document for the index to follow; return its chunks in the form that the index accepts."""
        made = self._db.execute(
            "INSERT INTO documents (key, sha256, source, version, format, title, kb_id, url, updated, language, state)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'adding')",
            (*identity, header.title, header.kb_id, header.url, header.updated, str(header.language)),
        )
        document = made.lastrowid or 0
        return [self._add_chunk(document, identity, header, chunk) for chunk in chunks]

    def _add_chunk(self, document: int, identity: Identity, header: Header, chunk: Chunk) -> IndexEntry:
        made = self._db.execute(
            "INSERT INTO chunks (document, ordinal, heading, anchor, first_line, last_line, text, headings, body, hash)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                document,
                chunk.ordinal,
                " › ".join(chunk.path),
                chunk.anchor,
                chunk.first_line,
                chunk.last_line,
                chunk.text,
                chunk.headings,
                chunk.body,
                chunk.hash,
            ),
        )
        return IndexEntry(
            made.lastrowid or 0,
            document,
            identity.source,
            identity.version,
            header.language,
            header.title,
            chunk.headings,
            chunk.body,
        )

    def remove(self, documents: Iterable[int]) -> None:
        """Mark documents for the index to drop; their rows stay readable until `settle`."""
        self._db.executemany(
            "UPDATE documents SET state = 'removing' WHERE id = ?", [(number,) for number in documents]
        )

    # ---------------------------------------------------------------------------------------------------- vectors

    def vector_sizes(self, model: str) -> dict[str, int]:
        """Return the size in bytes of each vector of a model, by the hash of its text."""
        self._db.execute(_EMBEDDINGS)
        sql = "SELECT hash, length(vector) FROM embeddings WHERE model = ?"
        return dict(self._db.execute(sql, (model,)).fetchall())

    def vectors(self, model: str, hashes: Iterable[str]) -> Iterator[bytes]:
        """Yield a model's vectors of texts; each text must have one."""
        sql = "SELECT vector FROM embeddings WHERE model = ? AND hash = ?"
        for key in hashes:
            yield self._db.execute(sql, (model, key)).fetchone()[0]

    def keep_vectors(self, model: str, vectors: Mapping[str, bytes]) -> None:
        rows = [(model, key, vector) for key, vector in vectors.items()]
        self._db.executemany("INSERT OR REPLACE INTO embeddings VALUES (?, ?, ?)", rows)

    def drop_vectors(self, model: str, wanted: Collection[str]) -> None:
        """Drop the vectors of other models and of texts that are not wanted."""
        rows = self._db.execute("SELECT model, hash FROM embeddings").fetchall()
        gone = [row for row in rows if row[0] != model or row[1] not in wanted]
        self._db.executemany("DELETE FROM embeddings WHERE model = ? AND hash = ?", gone)

    def settle(self) -> None:
        """Make the changes final that the index has followed."""
        self._db.execute("DELETE FROM chunks WHERE document IN (SELECT id FROM documents WHERE state = 'removing')")
        self._db.execute("DELETE FROM documents WHERE state = 'removing'")
        self._db.execute("UPDATE documents SET state = 'live' WHERE state = 'adding'")
