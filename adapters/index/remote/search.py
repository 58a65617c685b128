"""Search of a knowledge base on a server, with the ranking, filters and confidence of the embedded index.

    RemoteKnowledge(engine)             searches; replaces `KnowledgeBase`
    Engine                              the port of a server, for searching and filling (`engine.py`)
    fill(directory, engine)             brings the server up to date (`filling.py`)

A server keeps passages with their sparse vectors (`sparse.py`) and, if an embedding model is used, with its vectors. As
notes it keeps the statistics that queries are encoded with. Statistics are read on first use, and again if they have
changed. Vectors of two models are never compared: if the query's model is not the one that the server was filled with,
only the words are searched, and the trace says so.
"""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Self, TypeVar

from adapters.index.deduplication import Different, enough
from adapters.index.dense import DEPTH, NO_MEANING, Fusion, QueryMeaning, meaning_of, other_length
from adapters.index.embedded.search import MIDPOINT
from adapters.index.hits import Hit
from adapters.index.queries import (
    MOST_READ,
    Query,
    SearchOutcome,
    all_of,
    face,
    mend,
    parse_query,
    reply,
    says,
    searched_versions,
    unknown_words,
    widen,
)
from adapters.index.ranking.spreads import spread_of
from adapters.index.records import StoredPassage
from adapters.index.remote.engine import (
    ANOTHER_PLACE,
    EngineFault,
    EngineHit,
    IndexEngine,
    SearchLimits,
    id_of,
    storable,
)
from adapters.index.remote.sparse import Statistics, Vector, best_of
from adapters.index.remote.state import STATE, Dense, FinishedFill, State, directions_note, part_key, unpack_statistics
from adapters.index.scoring import FEEDBACK_CANDIDATES, FEEDBACK_DOCUMENTS, confidence, feedback
from adapters.threads import in_thread
from contracts.enums import Source
from contracts.errors import SourceUnavailable
from contracts.ports import SearchReply, SearchRequest
from language.words import stem, stems

if TYPE_CHECKING:
    from adapters.index.ranking.embedder import Embedder
    from contracts.calls import ModelCall
    from contracts.evidence import EvidenceItem


TIMEOUT_S: Final = 10.0
"""For one search, all that is asked for it together."""
_FRESH_S: Final = 5.0
"""How long statistics are used before it is asked whether there are newer ones."""
_CANDIDATES: Final = 50
"""How many passages more are looked at where the engine's order is only near to the right one."""
_DIGITS: Final = 6
"""After the point, of a similarity: what engines agree in."""
_AGAIN: Final = "Run `guardian index` with `--to` and its address."
_T = TypeVar("_T")
_Place = tuple[str, int]
"""A passage: its document and its place there."""


@dataclass(frozen=True, slots=True)
class _Revision:
    """What a query is made with: one revision."""

    filled: FinishedFill
    statistics: Statistics
    directions: str = ""


class _Clock:
    """What is left of the time for one search."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        left = self._end - time.monotonic()
        if left <= 0:
            raise EngineFault("it took too long")
        return left


class RemoteKnowledge:
    """The searchable knowledge base on a server; it replaces `KnowledgeBase`.

    Args:
        engine: The server.
        norm_midpoint, default_version, embedder: As for `KnowledgeBase`.
        timeout_s: For all requests of one search together.
    """

    def __init__(
        self,
        engine: IndexEngine,
        *,
        norm_midpoint: float = MIDPOINT,
        default_version: str | None = None,
        embedder: Embedder | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._engine = engine
        self._embedder = embedder
        self._midpoint = norm_midpoint
        self._default_version = default_version
        self._timeout_s = timeout_s
        self._reading = threading.Lock()
        self._known: _Revision | None = None
        self._asked = 0.0
        # Whoever lets go of it has no connections to close.
        weakref.finalize(self, engine.close)

    async def search(self, request: SearchRequest, kind: Source) -> SearchReply:
        """Return the passages of one kind that answer a query best, by the rules of `KnowledgeBase.search`.

        Raises:
            SourceUnavailable: The server cannot be asked, or has not been filled.
        """
        meaning = await meaning_of(self._embedder, request)
        return await self._in_time(kind, lambda: self._reply(request, kind, meaning))

    async def on_topic(self, text: str, made: list[ModelCall] | None = None) -> float:
        """Return the confidence of the best passage, of any kind and language: 0 to 1.

        Args:
            text: A question, or a part of one.
            made: Receives a record of every request to an embedding server.

        Raises:
            SourceUnavailable: The server cannot be asked, or has not been filled.
        """
        meaning = await meaning_of(self._embedder, SearchRequest(text))
        if made is not None:
            made += meaning.calls
        return await self._in_time(Source.DOC, lambda: self.on_topic_now(text, meaning))

    async def mend(self, text: str) -> str:
        """Return a text with its slips of the hand corrected by the words of all passages (`queries.mend`).

        Raises:
            SourceUnavailable: The server cannot be asked, or has not been filled.
        """
        return await self._in_time(Source.DOC, lambda: self.mend_now(text))

    def mend_now(self, text: str) -> str:
        """Correct a text like `mend`, but in this thread."""
        with self._unavailable(Source.DOC):
            clock = _Clock(self._timeout_s)
            known = self._statistics(clock)

            def said_so(word: str) -> bool:
                found = self._rank(known, [((stem(word),), 1.0)], SearchLimits(), MOST_READ, clock)
                return says([one.passage for one in found], word)

            return mend(known.statistics, text, said_so)

    async def unknown(self, text: str, kinds: frozenset[Source]) -> tuple[str, ...]:
        """Return the content words of a text that no document of these kinds has (`WordProbe.unknown`).

        Raises:
            SourceUnavailable: The server cannot be asked, or has not been filled.
        """
        return await self._in_time(Source.DOC, lambda: self.unknown_now(text, kinds))

    def unknown_now(self, text: str, kinds: frozenset[Source]) -> tuple[str, ...]:
        """Return the same as `unknown`, but in this thread."""
        with self._unavailable(Source.DOC):
            clock = _Clock(self._timeout_s)
            known = self._statistics(clock)
            all_of_them = kinds.issuperset(known.filled.documents)

            def has(word: str) -> bool:
                return all_of_them or any(
                    self._rank(known, [((word,), 1.0)], SearchLimits(kind), 1, clock) for kind in sorted(kinds)
                )

            return unknown_words(known.statistics, text, has)

    async def articles(self, key: str, kb_id: int | None) -> list[EvidenceItem]:
        """Return every passage of the documents that have a key or a number (`Knowledge.articles`).

        Raises:
            SourceUnavailable: The server cannot be asked.
        """
        return await self._in_time(Source.DOC, lambda: self.articles_now(key, kb_id))

    def articles_now(self, key: str, kb_id: int | None) -> list[EvidenceItem]:
        """Return the same as `articles`, but in this thread."""
        if not storable(key):
            return []
        with self._unavailable(Source.DOC):
            found = self._engine.articles(key, kb_id, seconds=self._timeout_s)
        return all_of(sorted(found, key=lambda row: (row.key, row.source, row.ordinal)))

    def search_now(self, request: SearchRequest, kind: Source) -> SearchReply:
        """Search like `search`, but in this thread and only by words."""
        return self._reply(request, kind, NO_MEANING)

    def _reply(self, request: SearchRequest, kind: Source, meaning: QueryMeaning) -> SearchReply:
        with self._unavailable(kind):
            searched = self._search(request, kind, meaning, _Clock(self._timeout_s))
        return reply(request, kind, searched, meaning)

    def on_topic_now(self, text: str, meaning: QueryMeaning = NO_MEANING) -> float:
        """Answer like `on_topic`, but in this thread, and only by words unless the meaning is given."""
        with self._unavailable(Source.DOC):
            clock = _Clock(self._timeout_s)
            known = self._statistics(clock)
            query = parse_query(known.statistics, text, known.filled.versions)
            if not query.words:
                return 0.0
            limits = SearchLimits(versions=self._versions(known, SearchRequest(text)))
            meaning = self._ready(known, meaning)
            request = SearchRequest(text, top_k=1 if meaning.vector is None else DEPTH)
            hits = self._different(known, query, limits, request, meaning, clock)
            return max((hit.confidence for hit in hits.kept), default=0.0)

    def count(self) -> dict[str, int]:
        """Return how many documents there are of each kind.

        Raises:
            SourceUnavailable: The server cannot be asked, or has not been filled.
        """
        with self._unavailable(Source.DOC):
            return dict(self._statistics(_Clock(self._timeout_s)).filled.documents)

    def close(self) -> None:
        """Release connections; the object may still be used."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---------------------------------------------------------------------------------------------------- ranking

    def _search(self, request: SearchRequest, kind: Source, meaning: QueryMeaning, clock: _Clock) -> SearchOutcome:
        known = self._statistics(clock)
        query = parse_query(known.statistics, request.query, known.filled.versions)
        meaning = self._ready(known, meaning)
        if not query.words or request.top_k < 1:
            return SearchOutcome(Different([], []), (), meaning.degraded, {}, meaning.spread)
        excluded = frozenset(key for key in request.exclude if storable(key))
        languages = (request.language,) if request.language else None
        limits = SearchLimits(kind, self._versions(known, request), languages, excluded)
        hits = self._different(known, query, limits, request, meaning, clock)
        if request.language and max((hit.confidence for hit in hits.kept), default=0.0) < request.threshold:
            # The documents may all be in the other language, and the words that matter in neither.
            hits = self._different(known, query, replace(limits, languages=None), request, meaning, clock)
        return SearchOutcome(hits, limits.versions or (), meaning.degraded, query.weights_of, meaning.spread)

    def _different(
        self,
        known: _Revision,
        query: Query,
        limits: SearchLimits,
        request: SearchRequest,
        meaning: QueryMeaning,
        clock: _Clock,
    ) -> Different[Hit]:
        """Return the best passages without those that another one stands for."""
        weights = self._weights(known, query, limits, request, clock)
        score, own = _scored(known, weights), _scored(known, query.weights())
        fusing = self._make_fusion(known, meaning)
        near = self._near(known, limits, meaning, clock)
        whole = request.expand
        similarities = {_place(found.passage): found.score for found in near}

        def hit_of(found: EngineHit, score: float, *, again: bool) -> Hit:
            # Confidence is the query's own: its widening is made of the documents and would always find them on topic.
            sure = own(found) if again else score
            return Hit(found.passage, score, confidence(sure, query.idf_sum, self._midpoint))

        def search(count: int) -> list[Hit]:
            wanted = count if fusing is None else max(count, DEPTH)
            ranked = self._rank(known, weights, limits, wanted, clock, whole=whole)
            hits = [hit_of(found, found.score, again=whole) for found in ranked]
            hits.sort(key=lambda hit: (-hit.score, *_place(hit.passage)))
            if fusing is None:
                return hits
            together = {_place(hit.passage): hit for hit in hits}
            far = [place for place in together if place not in similarities]
            for found in self._near(known, limits, meaning, clock, far):
                similarities[_place(found.passage)] = found.score
            for found in near:
                if _place(found.passage) not in together:
                    together[_place(found.passage)] = hit_of(found, score(found), again=True)
            return fusing.joined(together, similarities, count)

        return enough(search, face, request.top_k)

    def _weights(
        self, known: _Revision, query: Query, limits: SearchLimits, request: SearchRequest, clock: _Clock
    ) -> list[tuple[Sequence[str], float]]:
        """Return what the words of a query weigh, widened where that is wanted."""
        if not request.expand:
            return query.weights()
        best = self._rank(known, query.weights(), limits, FEEDBACK_CANDIDATES, clock, whole=True)
        best.sort(key=lambda found: (-found.score, *_place(found.passage)))
        texts = [(stems(found.body), found.score) for found in best[:FEEDBACK_DOCUMENTS]]
        return widen(query, feedback([words[0] for words in query.words], texts))

    def _make_fusion(self, known: _Revision, meaning: QueryMeaning) -> Fusion | None:
        """Return how words and meaning are put together; `None` where it is not searched by meaning."""
        dense = known.filled.dense
        if self._embedder is None or meaning.vector is None or dense is None or known.statistics.size < 1:
            return None
        return Fusion.of(self._embedder, meaning.vector, dense.calibration)

    def _near(
        self,
        known: _Revision,
        limits: SearchLimits,
        meaning: QueryMeaning,
        clock: _Clock,
        places: Sequence[_Place] | None = None,
    ) -> list[EngineHit]:
        """Return the passages that are nearest by meaning, or given ones with their similarities; none without a vector."""
        if (
            self._make_fusion(known, meaning) is None
            or self._embedder is None
            or meaning.vector is None
            or places == []
        ):
            return []
        languages = limits.languages or tuple(sorted(self._embedder.languages))
        ids = None if places is None else tuple(id_of(*place) for place in places)
        where = replace(limits, languages=languages, ids=ids)
        count = DEPTH if places is None else len(places)
        near = self._engine.nearest(meaning.vector, where, count, seconds=clock.left)
        # Copies are equally near: an engine has them in any order.
        return sorted(near, key=lambda found: (-round(found.score, _DIGITS), *_place(found.passage)))

    def _ready(self, known: _Revision, meaning: QueryMeaning) -> QueryMeaning:
        """Leave a query's vector out where it cannot be compared with those of the server."""
        if self._embedder is None or meaning.vector is None:
            return meaning
        why, dense = "", known.filled.dense
        if dense is None:
            why = f"the index has no vectors. {_AGAIN}"
        elif dense.model != self._embedder.name:
            why = (
                f"the index has vectors of {dense.model!r}, and the settings name {self._embedder.name!r}. Set "
                f"GUARDIAN_EMBEDDER, GUARDIAN_EMBED_MODEL and GUARDIAN_EMBED_TEXT_PREFIX as they were, or {ANOTHER_PLACE}."
            )
        elif dense.query_prefix != self._embedder.query_prefix:
            why = (
                f"the index was filled for {dense.query_prefix!r} before queries, and the settings have "
                f"{self._embedder.query_prefix!r}. Set GUARDIAN_EMBED_QUERY_PREFIX as it was, or note the new one. {_AGAIN}"
            )
        elif dense.length != len(meaning.vector):
            why = other_length(len(meaning.vector), dense.length, ANOTHER_PLACE)
        if why:
            return QueryMeaning(degraded=f"embeddings: {why}")
        missing = sorted(self._embedder.languages - set(dense.languages if dense else ()))
        why = f"embeddings: passages in {', '.join(missing)} have no vector yet. {_AGAIN}" if missing else ""
        spread = spread_of(known.directions, meaning.vector)
        return QueryMeaning(meaning.vector, degraded=why, spread=spread)

    def _rank(
        self,
        known: _Revision,
        weights: Sequence[tuple[Sequence[str], float]],
        limits: SearchLimits,
        count: int,
        clock: _Clock,
        *,
        whole: bool = False,
    ) -> list[EngineHit]:
        """Return the best passages. A server adds up what stands for one word; where that is several, the best counts."""
        vector: Vector = {}
        for alternatives, weight in weights:
            for word in alternatives:
                vector.update(known.statistics.query(word, weight))
        count = min(count, known.statistics.size)
        if not vector or count < 1:
            return []
        if all(len(alternatives) == 1 for alternatives, _ in weights):
            return self._engine.search(vector, limits, count, whole=whole, seconds=clock.left)
        more = self._engine.search(vector, limits, count + _CANDIDATES, whole=True, seconds=clock.left)
        score = _scored(known, weights)
        rescored = [found._replace(score=score(found)) for found in more]
        return sorted(rescored, key=lambda found: -found.score)[:count]

    def _versions(self, known: _Revision, request: SearchRequest) -> tuple[str, ...]:
        filled = known.filled
        versions = searched_versions(request, filled.versions, self._default_version, filled.default_versions)
        return tuple(filter(storable, versions))

    # ------------------------------------------------------------------------------------------------- statistics

    def _statistics(self, clock: _Clock) -> _Revision:
        with self._reading:
            if self._known is None or time.monotonic() - self._asked > _FRESH_S:
                self._known = self._renewed(clock)
                self._asked = time.monotonic()
            return self._known

    def _renewed(self, clock: _Clock) -> _Revision:
        """Return the newest statistics; asked for again where a fill replaced them in between."""
        for _ in range(3):
            state = State.read(self._engine.note(STATE, clock.left))
            if state is None or state.filled is None:
                raise EngineFault("it has not been filled to the end", _AGAIN)
            if not state.current:
                raise EngineFault("it was filled by another version of this program", _AGAIN)
            if self._known and self._known.filled == state.filled:
                return self._known
            keys = [part_key(state.filled.revision, number) for number in range(state.filled.parts)]
            parts = [part for key in keys if (part := self._engine.note(key, clock.left)) is not None]
            if len(parts) == state.filled.parts:
                try:
                    return _Revision(
                        state.filled, unpack_statistics(parts), self._directions(state.filled.dense, clock)
                    )
                except ValueError as error:
                    raise EngineFault("what it holds cannot be read", _AGAIN) from error
        raise EngineFault("it changes faster than it can be read", "Wait until it has been filled.")

    def _directions(self, dense: Dense | None, clock: _Clock) -> str:
        if dense is None or not dense.directions:
            return ""
        return self._engine.note(directions_note(dense.directions), clock.left) or ""

    # ---------------------------------------------------------------------------------------------------- in time

    async def _in_time(self, kind: Source, ask: Callable[[], _T]) -> _T:
        try:
            async with asyncio.timeout(self._timeout_s + 0.5):
                return await in_thread(ask)
        except TimeoutError as error:
            with self._unavailable(kind):
                raise EngineFault("it took too long") from error
            raise

    @contextmanager
    def _unavailable(self, kind: Source) -> Generator[None]:
        try:
            yield
        except EngineFault as fault:
            raise SourceUnavailable(
                f"The {kind} source at {self._engine.name} cannot be asked: {fault.message}.", fault.way_out
            ) from fault


def _place(passage: StoredPassage) -> _Place:
    return passage.key, passage.ordinal


def _scored(known: _Revision, weights: Sequence[tuple[Sequence[str], float]]) -> Callable[[EngineHit], float]:
    """Return what scores a passage by its vector."""
    vectors = [[known.statistics.query(word, weight) for word in alternatives] for alternatives, weight in weights]
    return lambda found: sum(best_of(alternatives, found.vector) for alternatives in vectors)
