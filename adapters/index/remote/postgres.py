"""PostgreSQL as the index: sparse vectors in a plain table of postings, scored in SQL.

A table of (word, scope, passage, weight) was measured against pgvector's `sparsevec` on 100,000 passages: 14 ms for a
query (p95 31) against 31 (p95 36), with the same sums, and a real question has less than half the postings of the
questions that were measured. It takes four times the disk, and no extension. pgvector's indexes are no way out: they
take up to 1,000 words a passage, and find neighbours only by approximation.

A scope is a source, a version and a language together, so that these limits are met within the index.

Vectors by an embedding model do take pgvector, from 0.8 on: a table of their own, with an index of neighbours (HNSW, by
inner product). Its index holds vectors of up to 2,000 numbers, and of up to 4,000 with half the precision (`halfvec`);
longer ones are refused. The index goes on past what the limits exclude (`hnsw.iterative_scan`), so that few passages
under a narrow limit are found, too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from adapters.index.queries import version_term
from adapters.index.records import StoredPassage
from adapters.index.remote.engine import ANOTHER_PLACE, EngineFault, EngineHit, PassageRow, SearchLimits
from adapters.index.remote.postgres_pool import PostgresPool
from adapters.index.remote.sparse import Vector
from contracts.errors import ConfigError, IndexBusy

if TYPE_CHECKING:
    import psycopg

    from adapters.index.ranking.embedder import Embedding

FILL_S: Final = 120.0
"""For one statement of a fill."""
SETTLE_S: Final = 6 * 3600.0
"""For tidying up after one, and for the index of neighbours after the first."""
LONGEST_VECTOR: Final = 2000
"""Numbers of a vector that are indexed in full precision."""
LONGEST_HALF_VECTOR: Final = 4000
"""Those that are indexed in half of it."""

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS {notes} (key text PRIMARY KEY, value text NOT NULL);
CREATE TABLE IF NOT EXISTS {scopes} (
    id smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source text NOT NULL, version text NOT NULL, language text NOT NULL, UNIQUE (source, version, language)
);
CREATE TABLE IF NOT EXISTS {passages} (
    number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id uuid NOT NULL UNIQUE, fingerprint text NOT NULL,
    scope smallint NOT NULL REFERENCES {scopes} (id), document text NOT NULL, ordinal integer NOT NULL,
    title text NOT NULL, url text, kb_id bigint, updated text, heading text NOT NULL,
    first_line integer NOT NULL, last_line integer NOT NULL, text text NOT NULL, version text, body text NOT NULL,
    words integer[] NOT NULL, weights real[] NOT NULL
);
CREATE INDEX IF NOT EXISTS {by_document} ON {passages} (document);
CREATE TABLE IF NOT EXISTS {postings} (
    word integer NOT NULL, scope smallint NOT NULL, passage integer NOT NULL, weight real NOT NULL,
    PRIMARY KEY (word, scope, passage) INCLUDE (weight)
);
"""
_MEANINGS: Final = """
CREATE TABLE IF NOT EXISTS {meanings} (
    passage integer PRIMARY KEY REFERENCES {passages} (number) ON DELETE CASCADE, scope smallint NOT NULL,
    meaning {kind}({length}) NOT NULL
);
CREATE INDEX IF NOT EXISTS {by_scope} ON {meanings} (scope);
"""
_LENGTH: Final = "SELECT atttypmod FROM pg_attribute WHERE attrelid = %s::regclass AND attname = 'meaning'"
_NEIGHBOURS: Final = "CREATE INDEX IF NOT EXISTS {neighbours} ON {meanings} USING hnsw (meaning {kind}_ip_ops)"
_SCOPES: Final = """ARRAY(
    SELECT id FROM {scopes} WHERE (%(source)s::text IS NULL OR source = %(source)s)
    AND (%(versions)s::text[] IS NULL OR version = ANY (%(versions)s))
    AND (%(languages)s::text[] IS NULL OR language = ANY (%(languages)s))
)"""
_SHOWN: Final = """
SELECT d.number, d.document, s.source, d.title, d.url, d.kb_id, d.updated, s.language, d.ordinal, d.heading,
       d.first_line, d.last_line, d.text, d.version, best.score, {whole}
FROM best JOIN {passages} d ON d.number = best.passage JOIN {scopes} s ON s.id = d.scope
ORDER BY best.score DESC, best.passage
"""
_SEARCH: Final = """
WITH best AS (
    SELECT p.passage, sum(p.weight::float8 * q.weight) AS score
    FROM unnest(%(words)s::integer[], %(weights)s::float8[]) AS q (word, weight)
    JOIN {postings} p ON p.word = q.word AND p.scope = ANY ({allowed})
    WHERE true {without}
    GROUP BY p.passage ORDER BY score DESC, p.passage LIMIT %(count)s
)
{shown}"""
_NEAREST: Final = """
WITH best AS (
    SELECT p.passage, -(p.meaning <#> %(meaning)s::{kind}) AS score
    FROM {meanings} p WHERE p.scope = ANY (%(scopes)s::smallint[]) {without}
    ORDER BY p.meaning <#> %(meaning)s::{kind} LIMIT %(count)s
)
{shown}"""
_GIVEN: Final = """
WITH given AS MATERIALIZED (
    SELECT p.passage, -(p.meaning <#> %(meaning)s::{kind}) AS score
    FROM {meanings} p JOIN {passages} o ON o.number = p.passage
    WHERE o.id = ANY (%(ids)s::uuid[]) AND p.scope = ANY (%(scopes)s::smallint[]) {without}
), best AS (SELECT passage, score FROM given ORDER BY score DESC LIMIT %(count)s)
{shown}"""
"""The index of neighbours is left alone: it is for finding passages."""
_ARTICLES: Final = """
SELECT d.number, d.document, s.source, d.title, d.url, d.kb_id, d.updated, s.language, d.ordinal, d.heading,
       d.first_line, d.last_line, d.text, d.version
FROM {passages} d JOIN {scopes} s ON s.id = d.scope WHERE d.document = %s OR d.kb_id = %s
"""
_WITHOUT: Final = "AND p.passage NOT IN (SELECT number FROM {passages} WHERE document = ANY (%(excluded)s))"
_WHOLE: Final = "d.words, d.weights, d.body"
_BARE: Final = "NULL, NULL, ''"
_DROP: Final = """
WITH gone AS (DELETE FROM {passages} WHERE id = ANY (%s::uuid[]) RETURNING number, scope, words)
DELETE FROM {postings} p USING (SELECT number, scope, unnest(words) AS word FROM gone) g
WHERE p.word = g.word AND p.scope = g.scope AND p.passage = g.number
"""
_PUT: Final = """
INSERT INTO {passages} (id, fingerprint, scope, document, ordinal, title, url, kb_id, updated, heading,
    first_line, last_line, text, version, body, words, weights)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING number
"""
_SIGN: Final = 2**31


class PostgresEngine:
    """An index in a PostgreSQL database: tables of its own, whose names begin with `guardian_` and the collection.

    Args:
        url: `postgresql://user:password@host:port/database`.
        collection: Names the tables; 1 to 41 characters of a-z, 0-9, `_` and `-`.
        password: Where the address has none.

    Raises:
        ConfigError: The driver is not installed.
    """

    def __init__(self, url: str, collection: str, *, password: str = "") -> None:
        try:
            import psycopg  # noqa: F401  # pyright: ignore[reportUnusedImport]
        except ImportError as error:
            raise ConfigError(
                "An index in PostgreSQL needs the package psycopg.", 'Install it: `pip install "psycopg[binary]"`.'
            ) from error
        parts = urlsplit(url)
        self._name = f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path} ({collection})"
        self._tables = {
            name: f'"guardian_{collection}_{name}"'
            for name in (
                *("notes", "scopes", "passages", "postings", "by_document"),
                *("meanings", "by_scope", "neighbours"),
            )
        }
        self._pool = PostgresPool(url, password)

    @property
    def name(self) -> str:
        return self._name

    def close(self) -> None:
        self._pool.close()

    # --------------------------------------------------------------------------------------------------- searching

    def note(self, key: str, seconds: float) -> str | None:
        def ask(connection: psycopg.Connection[Any]) -> str | None:
            import psycopg

            try:
                row = connection.execute(self._sql("SELECT value FROM {notes} WHERE key = %s"), (key,)).fetchone()
            except psycopg.errors.UndefinedTable:
                return None
            return row[0] if row else None

        return self._pool.ask(ask, seconds)

    def search(
        self, query: Vector, limits: SearchLimits, count: int, *, whole: bool, seconds: float
    ) -> list[EngineHit]:
        values = {
            "words": [number - _SIGN for number in query],
            "weights": list(query.values()),
            **_limit_parameters(limits, count),
        }
        sql = self._complete(_SEARCH, limits, whole=_WHOLE if whole else _BARE)
        return [_read_row(row) for row in self._pool.ask(lambda one: one.execute(sql, values).fetchall(), seconds)]

    def nearest(self, meaning: Embedding, limits: SearchLimits, count: int, *, seconds: float) -> list[EngineHit]:
        values = {
            "meaning": _format_vector(meaning.tolist()),
            "ids": list(limits.ids or ()),
            **_limit_parameters(limits, count),
        }
        statement = _NEAREST if limits.ids is None else _GIVEN
        sql = self._complete(statement, limits, whole=_WHOLE, kind=_kind(len(meaning)))

        def ask(connection: psycopg.Connection[Any]) -> list[Any]:
            # The planner must see which scopes: few passages are compared one by one, many by the index of neighbours.
            row = connection.execute(self._sql("SELECT {allowed}", allowed=_SCOPES), values).fetchone()
            return connection.execute(sql, {**values, "scopes": row[0] if row else []}).fetchall()

        return [_read_row(row) for row in self._pool.ask(ask, seconds)]

    def articles(self, key: str, kb_id: int | None, *, seconds: float) -> list[StoredPassage]:
        sql = self._sql(_ARTICLES)
        rows = self._pool.ask(lambda one: one.execute(sql, (key, kb_id)).fetchall(), seconds)
        return [StoredPassage(*row) for row in rows]

    def _complete(self, sql: str, limits: SearchLimits, **parts: str) -> Any:
        without = _WITHOUT if limits.excluded else ""
        return self._sql(sql, allowed=_SCOPES, shown=_SHOWN, without=without, **parts)

    # ----------------------------------------------------------------------------------------------------- filling

    def prepare(self, length: int) -> None:
        if length > LONGEST_HALF_VECTOR:
            raise EngineFault(
                f"vectors have {length} numbers, and pgvector's index takes up to {LONGEST_HALF_VECTOR}",
                "Use a model with shorter vectors, or Qdrant.",
                passing=False,
            )

        def make(connection: psycopg.Connection[Any]) -> None:
            # Two that make the same table at the same moment would be in each other's way.
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (f"{self._tables['notes']} tables",))
                self._run(connection, _TABLES)
                if length:
                    self._extend(connection)
                    self._run(connection, _MEANINGS, kind=_kind(length), length=str(length))
                    made = connection.execute(_LENGTH, (self._tables["meanings"],)).fetchone()
                    if made and made[0] != length:
                        raise EngineFault(
                            f"its table is for vectors of {made[0]} numbers, and these have {length}",
                            f"{ANOTHER_PLACE.capitalize()}.",
                            passing=False,
                        )

        self._pool.ask(make, FILL_S)

    def _run(self, connection: psycopg.Connection[Any], statements: str, **parts: str) -> None:
        for statement in filter(str.strip, statements.split(";\n")):
            connection.execute(self._sql(statement, **parts))

    def _extend(self, connection: psycopg.Connection[Any]) -> None:
        import psycopg

        try:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        except psycopg.Error as error:
            if connection.broken:
                raise
            raise EngineFault(
                f"it has no pgvector: {' '.join(str(error).split())[:200]}",
                "Install pgvector 0.8 or newer and let a superuser run `CREATE EXTENSION vector`, or leave "
                "vectors out: GUARDIAN_EMBEDDER=off.",
            ) from error

    @contextmanager
    def alone(self) -> Generator[None]:
        import psycopg

        # A lock of a connection of its own: whatever ends the process lets go of it.
        with self._pool.our_errors():
            connection = self._pool.open(FILL_S)
            key = (self._tables["notes"],)
            row = connection.execute("SELECT pg_try_advisory_lock(hashtext(%s))", key).fetchone()
        try:
            if not row or not row[0]:
                raise IndexBusy(
                    f"Another process is filling {self._name}.",
                    "Wait until it has finished; searching works meanwhile.",
                )
            yield
        finally:
            # A server sees a moment later that a connection is closed; who fills again at once would be told to wait.
            with contextlib.suppress(psycopg.Error):
                connection.execute("SELECT pg_advisory_unlock_all()")
            connection.close()

    def held(self) -> Iterator[tuple[str, str]]:
        sql = self._sql("SELECT id::text, fingerprint FROM {passages}")
        yield from self._pool.ask(lambda connection: connection.execute(sql).fetchall(), FILL_S)

    def put(self, rows: Sequence[tuple[PassageRow, Vector]]) -> None:
        def write(connection: psycopg.Connection[Any]) -> None:
            with connection.transaction(), connection.cursor() as cursor:
                cursor.execute(self._sql(_DROP), ([row.id for row, _ in rows],))
                scopes = self._scopes(cursor, {_scope(row) for row, _ in rows})
                cursor.executemany(
                    self._sql(_PUT), [_values(row, vector, scopes[_scope(row)]) for row, vector in rows], returning=True
                )
                numbers = [_only(result.fetchone()) for result in cursor.results()]
                meant = [
                    (number, row) for number, (row, _) in zip(numbers, rows, strict=True) if row.meaning is not None
                ]
                if meant:
                    with cursor.copy(self._sql("COPY {meanings} (passage, scope, meaning) FROM STDIN")) as copy:
                        for number, row in meant:
                            vector = () if row.meaning is None else row.meaning.tolist()
                            copy.write_row((number, scopes[_scope(row)], _format_vector(vector)))
                with cursor.copy(self._sql("COPY {postings} (word, scope, passage, weight) FROM STDIN")) as copy:
                    for number, (row, vector) in zip(numbers, rows, strict=True):
                        scope = scopes[_scope(row)]
                        for word, weight in vector.items():
                            copy.write_row((word - _SIGN, scope, number, weight))

        self._pool.ask(write, FILL_S)

    def drop(self, ids: Sequence[str]) -> None:
        self._pool.ask(lambda connection: connection.execute(self._sql(_DROP), (list(ids),)) and None, FILL_S)

    def keep_note(self, key: str, value: str) -> None:
        sql = "INSERT INTO {notes} VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
        self._pool.ask(lambda connection: connection.execute(self._sql(sql), (key, value)) and None, FILL_S)

    def notes(self) -> list[str]:
        sql = self._sql("SELECT key FROM {notes}")
        return [key for (key,) in self._pool.ask(lambda connection: connection.execute(sql).fetchall(), FILL_S)]

    def drop_notes(self, keys: Sequence[str]) -> None:
        sql = self._sql("DELETE FROM {notes} WHERE key = ANY (%s)")
        self._pool.ask(lambda connection: connection.execute(sql, (list(keys),)) and None, FILL_S)

    def settle(self) -> None:
        # Postings are read from their index alone only where the table is known to hold no dead rows.
        def settle(connection: psycopg.Connection[Any]) -> None:
            connection.execute(self._sql("VACUUM (ANALYZE) {passages}, {postings}"))
            row = connection.execute("SELECT to_regclass(%s)::oid", (self._tables["meanings"],)).fetchone()
            if row and row[0]:
                # After the first fill: to build it of all vectors together takes a fraction of the time.
                made = connection.execute(_LENGTH, (self._tables["meanings"],)).fetchone()
                connection.execute(self._sql(_NEIGHBOURS, kind=_kind(_only(made))))
                connection.execute(self._sql("VACUUM (ANALYZE) {meanings}"))

        self._pool.ask(settle, SETTLE_S)

    def _scopes(
        self, cursor: psycopg.Cursor[Any], wanted: set[tuple[str, str, str]]
    ) -> dict[tuple[str, str, str], int]:
        insert = "INSERT INTO {scopes} (source, version, language) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
        cursor.executemany(self._sql(insert), sorted(wanted))
        cursor.execute(self._sql("SELECT source, version, language, id FROM {scopes}"))
        return {(source, version, language): number for source, version, language, number in cursor}

    def _sql(self, text: str, **parts: str) -> Any:
        # Names of tables are made above and quoted; what is searched for always goes as a parameter.
        return text.format(
            **self._tables, **{name: part.format(**self._tables, **parts) for name, part in parts.items()}
        )


def _limit_parameters(limits: SearchLimits, count: int) -> dict[str, object]:
    return {
        "source": limits.source,
        "versions": list(limits.versions) if limits.versions is not None else None,
        "languages": list(limits.languages) if limits.languages is not None else None,
        "excluded": list(limits.excluded),
        "count": count,
    }


def _kind(length: int) -> str:
    """Return pgvector's type for vectors of so many numbers."""
    return "vector" if length <= LONGEST_VECTOR else "halfvec"


def _format_vector(vector: Sequence[float]) -> str:
    """Return a vector as pgvector reads it; nine digits are all that float32 has."""
    return f"[{','.join(format(number, '.9g') for number in vector)}]"


def _storable(text: str) -> str:
    """Return a text as PostgreSQL takes it: without zeros and halves of characters."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


def _scope(row: PassageRow) -> tuple[str, str, str]:
    return row.passage.source, _storable(version_term(row.passage.version)), row.passage.language


def _values(row: PassageRow, vector: Vector, scope: int) -> tuple[object, ...]:
    shown = row.passage
    texts = (shown.title, shown.url, shown.kb_id, shown.updated, shown.heading)
    return (
        row.id,
        row.fingerprint,
        scope,
        _storable(shown.key),
        shown.ordinal,
        *(_storable(value) if isinstance(value, str) else value for value in texts),
        shown.first_line,
        shown.last_line,
        _storable(shown.text),
        None if shown.version is None else _storable(shown.version),
        _storable(row.body),
        [word - _SIGN for word in vector],
        list(vector.values()),
    )


def _read_row(row: Sequence[Any]) -> EngineHit:
    *shown, score, words, weights, body = row
    vector: Vector = {word + _SIGN: weight for word, weight in zip(words or (), weights or (), strict=True)}
    return EngineHit(StoredPassage(*shown), float(score), vector, body)


def _only(row: object) -> int:
    return cast("tuple[int]", row)[0]
