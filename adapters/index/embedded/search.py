"""Search of the indexed documents: BM25 over three fields, with a confidence that says how far a passage is on topic.

    confidence = 1 / (1 + (midpoint / norm)^2)
    norm       = score / (sum of idf of the query's words * (k1 + 1) * sum of field weights)

Confidence is comparable between queries; the score is not. It means "on topic", not "correct".

If an embedding model is given, queries in its languages are also ranked by its vectors, and both rankings give the
confidence (`adapters.index.dense`). If the model cannot be asked, or a passage has no vector yet, only the words count,
and the trace says so.
"""

from __future__ import annotations

import math
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from adapters.index.deduplication import Different, enough
from adapters.index.dense import DEPTH, NO_MEANING, Comparison, Fusion, QueryMeaning, meaning_of
from adapters.index.embedded.index import VENDOR_ERRORS, Filter, Snapshot, analyser, is_panic, open_index, signature
from adapters.index.embedded.nearest import (
    MAKING,
    TRIES,
    IndexMoved,
    RowT,
    all_rows,
    best_by_words,
    keep_undominated,
    nearest_numbers,
    open_vectors,
    order_numbers,
    says_word,
    similarities_of,
    why_unusable,
)
from adapters.index.hits import Hit
from adapters.index.queries import (
    Query,
    SearchOutcome,
    all_of,
    face,
    mend,
    parse_query,
    reply,
    searched_versions,
    unknown_words,
    widen,
)
from adapters.index.ranking.similarity import Vectors, calibration_key, file_key
from adapters.index.scoring import FEEDBACK_CANDIDATES, FEEDBACK_DOCUMENTS, confidence, feedback
from adapters.index.store import NAME, SCHEMA
from adapters.index.store_reader import IndexReader
from adapters.threads import in_thread
from contracts.enums import Source
from contracts.errors import KnowledgeError, NoIndex, SourceUnavailable
from contracts.ports import SearchReply, SearchRequest
from language.words import stems

if TYPE_CHECKING:
    from adapters.index.ranking.embedder import Embedder
    from contracts.calls import ModelCall
    from contracts.evidence import EvidenceItem


MIDPOINT = 0.12
_OPENED_EVERY_S = 1.0
_READ_OR_INDEX_AGAIN = "Let this user read its files, or index the documents again."
"""Of a passage whose place decides nothing."""


class _RankedPassages(NamedTuple):
    """Passages in their order, by their numbers; what is known of each is put together for those that are read.

    Attributes:
        order: Best first, with what words and meaning say together.
        scores: By words, of the query as it was widened.
        own: Of the query itself.
        similarities, fusing: Where meaning takes part.
    """

    order: Sequence[tuple[int, float]] = ()
    scores: Mapping[int, float] = {}
    own: Mapping[int, float] = {}
    similarities: Mapping[int, float] = {}
    fusing: Fusion | None = None


class KnowledgeBase:
    """The searchable knowledge base; safe to use from several threads, and never in the way of a writer.

    Args:
        directory: The folder that `ingest` wrote.
        norm_midpoint: The normalised score at which confidence is one half, above 0 and below 1.
        default_version: The version that is searched if a request names none; without it, the newest version.
        embedder: Also ranks by meaning, for queries in its languages.

    Raises:
        NoIndex: Nothing has been indexed yet.
        KnowledgeError: The knowledge base cannot be opened.
    """

    def __init__(
        self,
        directory: Path,
        *,
        norm_midpoint: float = MIDPOINT,
        default_version: str | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        self._directory = directory
        self._midpoint = norm_midpoint
        self._default_version = default_version
        self._embedder = embedder
        self._vectors: tuple[tuple[object, ...], Vectors] | None = None
        self._loading = threading.Lock()
        self._refreshing = threading.Lock()
        self._idle: list[IndexReader] = []
        self._seen: tuple[int, int, int, int] | None = None
        self._opened_at = -math.inf
        self._take: Callable[[], Snapshot]
        self._reload: Callable[[], None]
        self._current: Snapshot
        weakref.finalize(self, _close_all, self._idle)
        try:
            self._check()
            self._snapshot()
        except (*VENDOR_ERRORS, sqlite3.Error) as error:
            raise KnowledgeError(
                f"The knowledge base in {directory} cannot be read: {error}.", _READ_OR_INDEX_AGAIN
            ) from error

    def _check(self) -> None:
        if not (self._directory / NAME).is_file():
            raise self._report_missing()
        try:
            signature(self._directory)
        except FileNotFoundError as error:
            raise self._report_missing() from error
        with self._reader() as reader:
            if reader.schema() != SCHEMA:
                raise KnowledgeError(
                    f"The knowledge base in {self._directory} was made by another version of this program.",
                    "Delete that folder and index again.",
                )
            self.outdated = reader.meta("analyser") != analyser()
            """Whether an earlier version made other words of the documents than this one makes of questions."""

    def _report_missing(self) -> NoIndex:
        return NoIndex(f"Nothing is indexed in {self._directory}.", "Index a folder of Markdown files first.")

    # ---------------------------------------------------------------------------------------------------- asking

    async def search(self, request: SearchRequest, kind: Source) -> SearchReply:
        """Return the passages of one kind that answer a query best.

        The version is the one asked for, else the one named in the query or the question, else the default. Documents
        of other versions are left out; documents without a version never are. A passage that several documents have
        is returned once. If no passage in the requested language reaches the threshold, all languages are searched.

        Raises:
            SourceUnavailable: The knowledge base cannot be read.
        """
        meaning = await meaning_of(self._embedder, request)
        return await in_thread(self._reply, request, kind, meaning)

    async def on_topic(self, text: str, made: list[ModelCall] | None = None) -> float:
        """Return the confidence of the best passage, of any kind and language: 0 to 1.

        Args:
            text: A question, or a part of one.
            made: Receives a record of every request to an embedding server.

        Raises:
            SourceUnavailable: The knowledge base cannot be read.
        """
        meaning = await meaning_of(self._embedder, SearchRequest(text))
        if made is not None:
            made += meaning.calls
        return await in_thread(self.on_topic_now, text, meaning)

    async def mend(self, text: str) -> str:
        """Return a text with its slips of the hand corrected by the words of all passages (`queries.mend`).

        Raises:
            SourceUnavailable: The knowledge base cannot be read.
        """
        return await in_thread(self.mend_now, text)

    def mend_now(self, text: str) -> str:
        """Correct a text like `mend`, but in this thread."""
        with _unavailable(Source.DOC):
            return self._ask_settled(
                lambda snapshot, reader: mend(snapshot, text, partial(says_word, snapshot, reader))
            )

    async def unknown(self, text: str, kinds: frozenset[Source]) -> tuple[str, ...]:
        """Return the content words of a text that no document of these kinds has (`WordProbe.unknown`).

        Raises:
            SourceUnavailable: The knowledge base cannot be read.
        """
        return await in_thread(self.unknown_now, text, kinds)

    def unknown_now(self, text: str, kinds: frozenset[Source]) -> tuple[str, ...]:
        """Return the same as `unknown`, but in this thread."""
        with _unavailable(Source.DOC):
            snapshot = self._snapshot()
            with self._reader() as reader:
                all_of_them = kinds.issuperset(reader.count())

            def has(word: str) -> bool:
                return all_of_them or any(
                    snapshot.search([((word,), 1.0)], Filter(source=kind), 1) for kind in sorted(kinds)
                )

            return unknown_words(snapshot, text, has)

    async def articles(self, key: str, kb_id: int | None) -> list[EvidenceItem]:
        """Return every passage of the documents that have a key or a number (`Knowledge.articles`).

        Raises:
            SourceUnavailable: The knowledge base cannot be read.
        """
        return await in_thread(self.articles_now, key, kb_id)

    def articles_now(self, key: str, kb_id: int | None) -> list[EvidenceItem]:
        """Return the same as `articles`, but in this thread."""
        with _unavailable(Source.DOC):
            self._snapshot()  # lets go of a database whose folder was replaced
            with self._reader() as reader:
                return all_of(reader.article_passages(key, kb_id))

    def search_now(self, request: SearchRequest, kind: Source) -> SearchReply:
        """Search like `search`, but in this thread and only by words."""
        return self._reply(request, kind, NO_MEANING)

    def _reply(self, request: SearchRequest, kind: Source, meaning: QueryMeaning) -> SearchReply:
        with _unavailable(kind):
            searched = self._ask_settled(
                lambda snapshot, reader: self._search(snapshot, reader, request, kind, meaning)
            )
        return reply(request, kind, searched, meaning)

    def on_topic_now(self, text: str, meaning: QueryMeaning = NO_MEANING) -> float:
        """Answer like `on_topic`, but in this thread, and only by words unless the meaning is given."""
        with _unavailable(Source.DOC):
            return self._ask_settled(lambda snapshot, reader: self._on_topic(snapshot, reader, text, meaning))

    def _on_topic(self, snapshot: Snapshot, reader: IndexReader, text: str, meaning: QueryMeaning) -> float:
        query = parse_query(snapshot, text, snapshot.versions)
        if not query.words:
            return 0.0
        where = Filter(versions=self._versions(snapshot, SearchRequest(text)))
        compared = self._ready(snapshot, reader, meaning).compared
        found = dict(snapshot.search(query.weights(), where, DEPTH if compared else 1))
        near = nearest_numbers(snapshot, where, compared)
        if missing := [number for number in near if number not in found]:
            more = snapshot.scores(query.weights(), missing) if len(found) >= DEPTH else {}
            found |= dict.fromkeys(missing, 0.0) | more
        fusing, similarities = self._make_fusion(meaning, compared), similarities_of(compared, list(found))
        best = keep_undominated([(score, similarities.get(number)) for number, score in found.items()])
        return max(
            (fusing.confidence(confidence(score, query.idf_sum, self._midpoint), near) for score, near in best),
            default=0.0,
        )

    def count(self) -> dict[str, int]:
        """Return how many documents there are of each kind.

        Raises:
            SourceUnavailable: The knowledge base cannot be read.
        """
        with _unavailable(Source.DOC):
            self._snapshot()  # lets go of a database whose folder was replaced
            self._try_opening()
            with self._reader() as reader:
                return reader.count()

    def _try_opening(self) -> None:
        """Open the index anew: whoever has it open reads on when its files are gone, and the next process cannot begin."""
        # Once a second: each leaves a thread of tantivy for a while, and anybody may ask whether a server is ready.
        now = time.monotonic()
        if now - self._opened_at >= _OPENED_EVERY_S:
            open_index(self._directory)[0]()
            self._opened_at = now

    def warnings(self) -> list[tuple[str, str]]:
        """Return the files that are indexed with a warning, by name, each with its warning.

        Raises:
            SourceUnavailable: The knowledge base cannot be read.
        """
        with _unavailable(Source.DOC), self._reader() as reader:
            return reader.warnings()

    def close(self) -> None:
        """Release the database; the object may still be used."""
        _close_all(self._idle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --------------------------------------------------------------------------------------------------- ranking

    def _search(
        self, snapshot: Snapshot, reader: IndexReader, request: SearchRequest, kind: Source, meaning: QueryMeaning
    ) -> SearchOutcome:
        query = parse_query(snapshot, request.query, snapshot.versions)
        meaning = self._ready(snapshot, reader, meaning)
        spread = float(meaning.compared.similarities.std()) if meaning.compared else None
        if not query.words or request.top_k < 1:
            return SearchOutcome(Different([], []), (), meaning.degraded, {}, spread)
        where = Filter(
            source=kind,
            versions=self._versions(snapshot, request),
            language=request.language,
            excluded=tuple(reader.document_ids(request.exclude)) if request.exclude else (),
        )
        hits = self._different(snapshot, reader, query, where, request, meaning)
        if request.language and max((hit.confidence for hit in hits.kept), default=0.0) < request.threshold:
            # The documents may all be in the other language, and the words that matter in neither.
            anywhere = Filter(where.source, where.versions, None, where.excluded)
            hits = self._different(snapshot, reader, query, anywhere, request, meaning)
        return SearchOutcome(hits, where.versions or (), meaning.degraded, query.weights_of, spread)

    def _different(
        self,
        snapshot: Snapshot,
        reader: IndexReader,
        query: Query,
        where: Filter,
        request: SearchRequest,
        meaning: QueryMeaning,
    ) -> Different[Hit]:
        """Return the best passages without those that another one stands for."""
        ranking = _RankedPassages()
        ranked_to = 0

        def best(count: int) -> list[Hit]:
            nonlocal ranking, ranked_to
            if count > ranked_to:
                # Where meaning takes part, the ranking is long, and serves when more are wanted because some are alike.
                ranked_to = max(count, DEPTH) if meaning.compared else count
                ranking = self._rank(snapshot, reader, query, where, replace(request, top_k=ranked_to), meaning)
            return self._hits(reader, query, ranking, count)

        return enough(best, face, request.top_k)

    def _rank(
        self,
        snapshot: Snapshot,
        reader: IndexReader,
        query: Query,
        where: Filter,
        request: SearchRequest,
        meaning: QueryMeaning,
    ) -> _RankedPassages:
        """Return the best passages by their numbers; where meaning takes part, all that either has found."""
        weights = query.weights()
        if request.expand:
            found = dict(best_by_words(snapshot, reader, weights, where, FEEDBACK_CANDIDATES))
            best = order_numbers(reader, found)[:FEEDBACK_DOCUMENTS]
            bodies = all_rows(reader.bodies(best), len(best))
            texts = [(stems(bodies[number]), found[number]) for number in best]
            weights = widen(query, feedback([words[0] for words in query.words], texts))
        compared = meaning.compared
        wanted = request.top_k if compared is None else max(request.top_k, DEPTH)
        ranked = dict(best_by_words(snapshot, reader, weights, where, wanted))
        near = [number for number in nearest_numbers(snapshot, where, compared) if number not in ranked]
        if near:
            # Fewer than wanted are all that have a word of the query.
            more = snapshot.scores(weights, near) if len(ranked) >= wanted else {}
            ranked |= dict.fromkeys(near, 0.0) | more
        # Confidence is the query's own: its widening is made of the documents and would always find them on topic.
        own = snapshot.scores(query.weights(), list(ranked)) if request.expand and ranked else ranked
        by_words = order_numbers(reader, dict(islice(ranked.items(), len(ranked) - len(near))))
        if compared is None:
            return _RankedPassages([(number, 0.0) for number in by_words], ranked, own)
        fusing, similarities = self._make_fusion(meaning, compared), similarities_of(compared, list(ranked))
        order = fusing.ordered({number: ranked[number] for number in (*by_words, *near)}, similarities)
        return _RankedPassages(order, ranked, own, similarities, fusing)

    def _hits(self, reader: IndexReader, query: Query, ranking: _RankedPassages, count: int) -> list[Hit]:
        """Return the first so many of what was ranked, with the passages."""
        first = ranking.order[:count]
        rows = all_rows(reader.passages([number for number, _ in first]), len(first))
        hits: list[Hit] = []
        for number, fused in first:
            sure = confidence(ranking.own.get(number, 0.0), query.idf_sum, self._midpoint)
            hit = Hit(rows[number], ranking.scores[number], sure)
            similarity = ranking.similarities.get(number)
            hits.append(ranking.fusing.weighed(hit, similarity, fused) if ranking.fusing else hit)
        return hits

    def _make_fusion(self, meaning: QueryMeaning, compared: Comparison | None) -> Fusion:
        if self._embedder is None or meaning.vector is None or compared is None:
            return Fusion(1.0)
        return Fusion.of(self._embedder, meaning.vector, compared.vectors.calibration)

    def _versions(self, snapshot: Snapshot, request: SearchRequest) -> tuple[str, ...]:
        return searched_versions(request, snapshot.versions, self._default_version, snapshot.default_versions)

    # ---------------------------------------------------------------------------------------------------- meaning

    def _ready(self, snapshot: Snapshot, reader: IndexReader, meaning: QueryMeaning) -> QueryMeaning:
        """Add the passages' vectors, as far as they can be used."""
        if self._embedder is None or meaning.vector is None:
            return meaning
        vectors = self._load_vectors(reader, self._embedder)
        why = why_unusable(vectors, meaning.vector)
        if why:
            return replace(meaning, vector=None, degraded=f"embeddings: {why}")
        missing = (
            f"embeddings: {vectors.missing} passages have no vector yet, and are found by their words alone. {MAKING}"
        )
        compared = Comparison(vectors, vectors.similarities(meaning.vector)) if vectors.length else None
        return replace(meaning, compared=compared, degraded=missing if vectors.missing else "")

    def _load_vectors(self, reader: IndexReader, embedder: Embedder) -> Vectors:
        with self._loading:
            names = (file_key(embedder.name), calibration_key(embedder.name))
            key = (self._seen, *map(reader.meta, names))
            if self._vectors is None or self._vectors[0] != key:
                self._vectors = (key, open_vectors(self._directory, reader, embedder))
            return self._vectors[1]

    # -------------------------------------------------------------------------------------------------- freshness

    def _ask_settled(self, ask: Callable[[Snapshot, IndexReader], RowT]) -> RowT:
        """Ask a snapshot and the rows it names; again, where both were renewed in between."""
        for attempt in range(TRIES):
            snapshot = self._snapshot(renew=attempt > 0)
            try:
                with self._reader() as reader:
                    return ask(snapshot, reader)
            except IndexMoved:
                continue
        raise IndexMoved("it changes faster than it can be read")

    def _snapshot(self, *, renew: bool = False) -> Snapshot:
        seen = signature(self._directory)
        with self._refreshing:
            if self._seen is None or seen[3] != self._seen[3]:
                # Opened for the first time, or the whole folder was replaced.
                _close_all(self._idle)
                self._take, self._reload = open_index(self._directory)
                self._current = self._take()
            elif renew or seen != self._seen:
                self._reload()
                self._current = self._take()
            self._seen = seen
            return self._current

    @contextmanager
    def _reader(self) -> Generator[IndexReader]:
        try:
            reader = self._idle.pop()
        except IndexError:
            reader = IndexReader(self._directory)
        try:
            yield reader
        except BaseException:
            reader.close()
            raise
        if reader.lasting:
            self._idle.append(reader)
        else:
            reader.close()


def _close_all(idle: list[IndexReader]) -> None:
    while idle:
        idle.pop().close()


@contextmanager
def _unavailable(kind: Source) -> Generator[None]:
    """Turn what SQLite, tantivy and the disk may say into the port's error."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, (*VENDOR_ERRORS, sqlite3.Error, IndexMoved)) and not is_panic(error):
            raise
        raise SourceUnavailable(
            f"The {kind} source cannot be read: {str(error).splitlines()[0] if str(error) else type(error).__name__}.",
            _READ_OR_INDEX_AGAIN,
        ) from error
