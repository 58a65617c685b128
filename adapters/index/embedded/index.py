"""The index: tantivy over words from Guardian's own analyser, so that index, queries and vocabulary agree.

It holds only numbers and words; every text that is shown comes from the system of record. The index can be rebuilt from
there at any time.
"""

from __future__ import annotations

import math
import shutil
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from adapters.data_folder import make_folder
from adapters.index.queries import UNVERSIONED, version_of, version_term
from adapters.index.records import IndexEntry
from adapters.index.scoring import WEIGHTS
from adapters.index.spelling import Vocabulary
from adapters.index.store import NAME as RECORD
from contracts.errors import IndexBusy, KnowledgeError
from language.figures.versions import natural
from language.words import own_stems, stems, stop_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tantivy import Index, IndexWriter, Query, Schema, Searcher

NAME = "index"

VENDOR_ERRORS = (ValueError, OSError, RuntimeError)
"""What tantivy raises, but for its panics."""

_FORMAT = 2
_HEAP = 128_000_000
_KEPT_LIMITS = 32
_FEW = 128
"""Values that are looked for one by one; a set of terms costs half a millisecond however few there are."""


def analyser() -> str:
    """Return the fingerprint of the tokenizer: an index with another one is rebuilt."""
    made_with = (sorted(stop_words()), sorted(own_stems().items()))
    return f"{_FORMAT}:{sha256(repr(made_with).encode()).hexdigest()[:16]}"


@contextmanager
def our_errors() -> Generator[None]:
    """Translate tantivy's errors, which are built-in exceptions, into Guardian's."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, VENDOR_ERRORS) and not is_panic(error):
            raise
        if "LockBusy" in str(error):
            raise IndexBusy(
                "Another process is writing the index.", "Wait until it has finished, then index again."
            ) from error
        raise KnowledgeError(
            f"The search index cannot be written: {_brief(error)}.",
            "See that its disk has free space and its folder may be written to, then index again; "
            "what was indexed before is whole.",
        ) from error


def is_panic(error: BaseException) -> bool:
    """Return whether the engine failed with a panic, which is not an ordinary exception in Python."""
    return type(error).__name__ == "PanicException"


def _brief(error: BaseException) -> str:
    return " ".join(str(error).split())[:200].rstrip(".")


def _schema() -> Schema:
    from tantivy import SchemaBuilder

    builder = SchemaBuilder()
    # Integer, not unsigned: a term of an unsigned field is not found again when it is to be deleted (tantivy 0.27).
    builder.add_integer_field("chunk", indexed=True, fast=True)
    builder.add_integer_field("document", indexed=True)
    for name in ("source", "version", "language"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    for name in WEIGHTS:
        builder.add_text_field(name, tokenizer_name="whitespace", index_option="freq")
    return builder.build()


class PassageWriter:
    """The writer of the index. Readers see nothing, and nothing is kept, before `commit`.

    Raises:
        IndexBusy: Another process is writing.
        KnowledgeError: From every method, if the index cannot be written.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / NAME
        self._schema = _schema()
        with our_errors():
            self._index = self._open()
        self._writing: IndexWriter | None = None

    @property
    def _writer(self) -> IndexWriter:
        # Opened when there is something to write: a run over unchanged files has no use for its threads and memory.
        if self._writing is None:
            # One thread: the analyser is the slow part, and each thread would leave a segment of its own.
            self._writing = self._index.writer(_HEAP, 1)
            # A killed run may have left a file whose name this one would give again, which is then refused.
            self._writing.garbage_collect_files()
        return self._writing

    def _open(self) -> Index:
        from tantivy import Index

        make_folder(self._path)
        try:
            return Index(self._schema, str(self._path))
        except ValueError:
            # Unreadable, or of an older form: it holds nothing that is not in the system of record.
            shutil.rmtree(self._path)
            make_folder(self._path)
            return Index(self._schema, str(self._path))

    def count(self) -> int:
        """Return how many chunks readers see."""
        with our_errors():
            self._index.reload()
            return self._index.searcher().num_docs

    def add(self, entry: IndexEntry, words: str, heading_words: str, title_words: str) -> None:
        from tantivy import Document

        values = {
            "chunk": entry.id,
            "document": entry.document,
            "source": entry.source,
            "version": version_term(entry.version),
            "language": entry.language,
            "title": title_words,
            "heading": heading_words,
            "body": words,
        }
        with our_errors():
            self._writer.add_document(Document.from_dict(values, self._schema))

    def remove(self, documents: Iterable[int]) -> None:
        with our_errors():
            for document in documents:
                self._writer.delete_documents_by_term("document", document)

    def clear(self) -> None:
        with our_errors():
            self._writer.delete_all_documents()

    def commit(self) -> None:
        with our_errors():
            self._writer.commit()

    def close(self) -> None:
        """Release the index; uncommitted changes are lost."""
        if self._writing is not None:
            with our_errors():
                self._writing.wait_merging_threads()
            self._writing = None

    def forget(self) -> None:
        """Release the index after a failure, at once: a lock must not wait for the garbage collector."""
        if self._writing is not None:
            # A second failure would hide the first.
            with suppress(*VENDOR_ERRORS):
                self._writing.rollback()
            self._writing = None


@contextmanager
def open_writer(directory: Path) -> Generator[PassageWriter]:
    """Open the index for writing, and release it in any case."""
    writer = PassageWriter(directory)
    try:
        yield writer
        writer.close()
    except BaseException:
        writer.forget()
        raise


def add(writer: PassageWriter, entries: Iterable[IndexEntry]) -> int:
    """Analyse chunks and hand them to the index; return how many there were."""
    count, last, title_words = 0, None, ""
    for entry in entries:
        if entry.document != last:
            last, title_words = entry.document, " ".join(stems(entry.title))
        writer.add(entry, " ".join(stems(entry.body)), " ".join(stems(entry.headings)), title_words)
        count += 1
    return count


# ---------------------------------------------------------------------------------------------------------- reading


def signature(directory: Path) -> tuple[int, int, int, int]:
    """Return a signature that changes with each commit, and when the whole knowledge base is replaced.

    Raises:
        OSError: There is no index.
    """
    index, record = _list_watched_files(directory)
    meta = index.stat()
    return meta.st_ino, meta.st_mtime_ns, meta.st_size, record.stat().st_ino


@lru_cache(maxsize=64)
def _list_watched_files(directory: Path) -> tuple[Path, Path]:
    # Asked before each search; joining paths took a tenth of one.
    return directory / NAME / "meta.json", directory / RECORD


@dataclass(frozen=True, slots=True)
class Filter:
    """The limits of a search; `None` means no limit, `excluded` holds ids of documents."""

    source: str | None = None
    versions: tuple[str, ...] | None = None
    language: str | None = None
    excluded: tuple[int, ...] = ()

    @property
    def values(self) -> dict[str, tuple[str, ...]]:
        """The fields that are limited, and what each may hold."""
        return {
            **({"source": (self.source,)} if self.source else {}),
            **({"version": self.versions} if self.versions is not None else {}),
            **({"language": (self.language,)} if self.language else {}),
        }

    def admits(self, source: str, version: str | None, language: str) -> bool:
        """Return whether a document with these properties may be returned; `excluded` is not checked."""
        here = {"source": source, "version": version_term(version), "language": language}
        return all(here[name] in values for name, values in self.values.items())


class Snapshot:
    """The index as one commit left it. Its methods may raise tantivy's errors: ValueError, OSError, RuntimeError."""

    def __init__(self, searcher: Searcher, schema: Schema) -> None:
        self._searcher = searcher
        self._schema = schema
        self.size = searcher.num_docs
        self._admitted: dict[Filter, NDArray[np.int64]] = {}

    def frequency(self, term: str) -> int:
        """Return how many chunks have a term in the field in which it is most frequent."""
        return max(self._searcher.doc_freq(name, term) for name in WEIGHTS)

    def idf(self, frequency: int) -> float:
        """Return BM25's inverse document frequency, as tantivy computes it; largest for 0, a term that nothing has."""
        size = max(self.size, frequency)
        return math.log(1 + (size - frequency + 0.5) / (frequency + 0.5))

    def values(self, name: str) -> list[str]:
        """Return the values of a raw field that some document has now."""
        from tantivy import Query

        # With a filter, documents that are gone do not count.
        return [term for term, _ in self._searcher.terms_with_prefix(name, "", Query.all_query())]

    @cached_property
    def versions(self) -> tuple[str, ...]:
        """The indexed versions, as they were given."""
        return tuple(filter(None, map(version_of, self.values("version"))))

    @cached_property
    def default_versions(self) -> tuple[str, ...]:
        """The newest version, and documents without one: mixing versions costs almost half the quality."""
        return (UNVERSIONED, *map(version_term, sorted(self.versions, key=natural)[-1:]))

    @cached_property
    def _admitting(self) -> dict[str, frozenset[str]]:
        return {name: frozenset(self.values(name)) for name in ("source", "version", "language")}

    def meant(self, word: str) -> list[str]:
        """Return the words of the index that an unknown word may be a misspelling of."""
        return self._vocabulary.nearest(word)

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        words: dict[str, int] = {}
        for name in WEIGHTS:
            for term, frequency in self._searcher.terms_with_prefix(name, ""):
                words[term] = max(frequency, words.get(term, 0))
        return Vocabulary(words.items())

    def search(
        self, weights: Sequence[tuple[Sequence[str], float]], where: Filter, limit: int
    ) -> list[tuple[int, float]]:
        """Return chunk ids and scores, best first.

        Args:
            weights: The alternatives for one word of the query (the best one counts), and its weight.
            where: The limits of the search.
            limit: How many at most.
        """
        return self._rank(self._terms(weights), where, limit)

    def scores(self, weights: Sequence[tuple[Sequence[str], float]], chunks: Sequence[int]) -> dict[int, float]:
        """Return the scores of given chunks; chunks without a word of the query are left out."""
        from tantivy import Occur, Query

        query = Query.boolean_query([(Occur.Must, self._one_of("chunk", chunks)), (Occur.Must, self._terms(weights))])
        return dict(self._rank(query, Filter(), len(chunks)))

    def share(self, where: Filter) -> float:
        """Return the share of all passages that a search may return, 0 to 1, as if its limits were independent."""
        shares = [
            min(1.0, sum(self._searcher.doc_freq(name, value) for value in values) / max(1, self.size))
            for name, values in where.values.items()
        ]
        return math.prod(shares)

    def admitted(self, where: Filter) -> NDArray[np.int64]:
        """Return the chunk ids that a search may return, ascending; the same limits are looked up once."""
        import numpy as np
        from tantivy import Query

        found = self._admitted.get(where)
        if found is None:
            found = np.array([number for number, _ in self._rank(Query.all_query(), where, self.size)], np.int64)
            found.sort()
            # Two that look up the same at once have the same; documents to leave out are seldom the same again.
            if len(self._admitted) >= _KEPT_LIMITS:
                self._admitted.clear()
            self._admitted[where] = found
        return found

    def _rank(self, query: Query, where: Filter, limit: int) -> list[tuple[int, float]]:
        # The engine panics at a limit of 0, and sets aside memory for any other.
        limit = min(limit, self.size)
        hits = self._searcher.search(self._within(query, where), limit, count=False).hits if limit > 0 else []
        addresses = [address for _, address in hits]
        ids = self._searcher.fast_field_values("chunk", addresses) if addresses else []
        return [(int(number or 0), score) for number, (score, _) in zip(ids, hits, strict=True)]

    def _terms(self, weights: Sequence[tuple[Sequence[str], float]]) -> Query:
        from tantivy import Occur, Query

        clauses: list[tuple[Occur, Query]] = []
        for alternatives, weight in weights:
            fields = [[(Occur.Should, query) for query in self._fields(term, weight)] for term in alternatives]
            if len(fields) == 1:
                # Not nested: tantivy skips what cannot win only in a flat union of terms.
                clauses += fields[0]
            else:
                best = Query.disjunction_max_query([Query.boolean_query(field) for field in fields])
                clauses.append((Occur.Should, best))
        return Query.boolean_query(clauses)

    def _fields(self, term: str, weight: float) -> Iterator[Query]:
        from tantivy import Query

        for name, field_weight in WEIGHTS.items():
            query = Query.term_query(self._schema, name, term, "freq")
            yield query if weight * field_weight == 1 else Query.boost_query(query, weight * field_weight)

    def _within(self, query: Query, where: Filter) -> Query:
        from tantivy import Occur, Query

        limits: list[tuple[Occur, Query]] = []
        for name, values in where.values.items():
            # A limit that everything meets would only cost time.
            if not self._admitting[name] <= set(values):
                limits.append((Occur.Must, self._one_of(name, values)))
        if where.excluded:
            limits.append((Occur.MustNot, self._one_of("document", where.excluded)))
        return Query.boolean_query([(Occur.Must, query), *limits]) if limits else query

    def _one_of(self, name: str, values: Sequence[str] | Sequence[int]) -> Query:
        """Return what asks for one of some values of a field, and adds nothing to a score."""
        from tantivy import Occur, Query

        if len(values) > _FEW:
            found = Query.term_set_query(self._schema, name, list(values))
        else:
            terms = [Query.term_query(self._schema, name, value, "basic") for value in values]
            found = terms[0] if len(terms) == 1 else Query.boolean_query([(Occur.Should, term) for term in terms])
        return Query.const_score_query(found, 0.0)


def open_index(directory: Path) -> tuple[Callable[[], Snapshot], Callable[[], None]]:
    """Open the index for reading; return a function that takes a snapshot and one that looks for a newer commit."""
    from tantivy import Index

    path = directory / NAME
    try:
        index = Index.open(str(path))
    except VENDOR_ERRORS as error:
        if "acquire Lockfile" not in str(error):
            raise
        linked = _Linked(path)
        return linked.snapshot, linked.reload
    schema = index.schema
    return lambda: Snapshot(index.searcher(), schema), index.reload


class _Linked:
    """An index in a folder that cannot be written: tantivy locks what it reads, so it is shown links to the files."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.reload()

    def reload(self) -> None:
        from tantivy import Index

        links = mkdtemp(prefix="guardian-index-")
        try:
            for file in self._path.iterdir():
                if file.suffix != ".lock":
                    Path(links, file.name).symlink_to(file.resolve())
            self._index = Index.open(links)
        except BaseException:
            shutil.rmtree(links, ignore_errors=True)
            raise
        # Not when the index is open: tantivy looks into the folder from a thread of its own.
        weakref.finalize(self, shutil.rmtree, links, ignore_errors=True)

    def snapshot(self) -> Snapshot:
        return Snapshot(self._index.searcher(), self._index.schema)
