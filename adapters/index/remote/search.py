"""Searching a knowledge base that lives in a server: the ranking, filters and confidence of the embedded index.

    RemoteKnowledge(engine)             searches; stands where `KnowledgeBase` stands
    Engine                              what a server must be able to do, for searching and for being filled
    fill(directory, engine)             brings it up to date (`filling.py`)

A server keeps passages with their sparse vectors (`sparse.py`), where an embedding model is used with its vectors, too,
and, beside them as notes, the statistics that queries are made with. Statistics are read when they are first needed,
and again where they have changed. Vectors of two models are never compared: a query of another model than the one that
the server was filled with is searched by words alone, and the trace says so.
"""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import time
import weakref
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, Self, TypeVar
from uuid import UUID

from adapters.index.deduplication import Different, enough
from adapters.index.dense import DEPTH, NO_MEANING, Fusing, Meaning, meaning_of, other_length
from adapters.index.embedded.index import analyser
from adapters.index.embedded.search import MIDPOINT
from adapters.index.hits import Hit
from adapters.index.queries import (
    MOST_READ,
    Query,
    Searched,
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
from adapters.index.ranking.similarity import Calibration
from adapters.index.ranking.spreads import spread_of
from adapters.index.remote.sparse import Averages, Frequencies, Statistics, Vector, best_of
from adapters.index.scoring import FEEDBACK_DOCUMENTS, confidence, feedback
from adapters.index.store import Passage
from adapters.threads import in_thread
from contracts.enums import Source
from contracts.errors import SourceUnavailable
from contracts.ports import SearchReply, SearchRequest
from language.words import stem, stems

if TYPE_CHECKING:
    from adapters.index.ranking.embedder import Embedder, Embedding
    from contracts.calls import ModelCall
    from contracts.evidence import EvidenceItem

FORMAT: Final = 1
"""Raised when vectors or rows are made otherwise: everything is then filled in again."""
TIMEOUT_S: Final = 10.0
"""For one search, all that is asked for it together."""
STATE: Final = "state"
"""The note that says what a server holds."""

_FRESH_S: Final = 5.0
"""How long statistics are used before it is asked whether there are newer ones."""
_CANDIDATES: Final = 50
"""How many passages more are looked at where the engine's order is only near to the right one."""
_DIGITS: Final = 6
"""After the point, of a similarity: what engines agree in."""
_AGAIN: Final = "Run `guardian index` with `--to` and its address."
ANOTHER_PLACE: Final = "fill another collection or database, or delete this one and fill it anew"
"""What to do with an index that cannot take what it is to be filled with."""
_T = TypeVar("_T")
_Place = tuple[str, int]
"""A passage: its document and its place there."""


class EngineFault(Exception):
    """A server cannot be asked, or answers what cannot be used.

    Args:
        message: What is wrong, without its address.
        way_out: What to do about it.
        passing: Whether the same request can succeed when that was done.
    """

    def __init__(
        self, message: str, way_out: str = "See that the server runs and can be reached.", *, passing: bool = True
    ) -> None:
        super().__init__(message)
        self.message = message
        self.way_out = way_out
        self.passing = passing


@dataclass(frozen=True, slots=True)
class Limits:
    """What a search may return; `None` stands for no limit. Versions are as in the index (`version_term`).

    `ids` are those of passages (`Row.id`); only `Engine.nearest` is asked with them, and misses none then.
    """

    source: str | None = None
    versions: tuple[str, ...] | None = None
    languages: tuple[str, ...] | None = None
    excluded: frozenset[str] = frozenset()
    ids: tuple[str, ...] | None = None


class Row(NamedTuple):
    """A passage as a server keeps it.

    Attributes:
        id: Of document and place: the same wherever and whenever it is filled in (a UUID).
        fingerprint: Differs where anything else here, or its vector, does.
        body: Its words, for widening a query.
        meaning: Its vector by the embedding model, of length 1; `None` where it has none.
    """

    id: str
    fingerprint: str
    passage: Passage
    body: str
    meaning: Embedding | None = None


class Found(NamedTuple):
    """A hit. `vector`, by words, and `body` are empty unless they were asked for."""

    passage: Passage
    score: float
    vector: Vector
    body: str


class Engine(Protocol):
    """A server that keeps passages. Every method is blocking, may be called from any thread, and ends in time.

    Raises:
        EngineFault: From every method.
    """

    @property
    def name(self) -> str:
        """Its address as it may be shown."""
        ...

    def note(self, key: str, seconds: float) -> str | None:
        """Return a note; `None` where there is none, or nothing at all yet."""
        ...

    def search(self, query: Vector, limits: Limits, count: int, *, whole: bool, seconds: float) -> list[Found]:
        """Return the passages with the highest inner products, best first.

        Args:
            query: Not empty.
            limits: What may be returned.
            count: How many at most, from 1.
            whole: Whether vectors and bodies are wanted, too.
            seconds: How long it may take.
        """
        ...

    def nearest(self, meaning: Embedding, limits: Limits, count: int, *, seconds: float) -> list[Found]:
        """Return the passages whose vectors by the embedding model have the highest scalar products, best first.

        They have their vectors by words with them. An engine may miss some, as its index of neighbours does.

        Args:
            meaning: As long as those that it was prepared for.
            limits: What may be returned.
            count: How many at most, from 1.
            seconds: How long it may take.
        """
        ...

    def articles(self, key: str, kb_id: int | None, *, seconds: float) -> list[Passage]:
        """Return every passage of the documents that have a key or a number, in any order."""
        ...

    def prepare(self, length: int) -> None:
        """Make what is missing for filling, with vectors by an embedding model of so many numbers; 0 for none."""
        ...

    def alone(self) -> AbstractContextManager[None]:
        """Keep others from filling at the same time.

        Raises:
            IndexBusy: Somebody is filling.
        """
        ...

    def held(self) -> Iterator[tuple[str, str]]:
        """Yield id and fingerprint of every passage."""
        ...

    def put(self, rows: Sequence[tuple[Row, Vector]]) -> None:
        """Write passages, over those with the same ids; all of them or none."""
        ...

    def drop(self, ids: Sequence[str]) -> None:
        """Delete passages."""
        ...

    def keep_note(self, key: str, value: str) -> None: ...

    def notes(self) -> list[str]:
        """Return the keys of all notes."""
        ...

    def drop_notes(self, keys: Sequence[str]) -> None: ...

    def settle(self) -> None:
        """Do what makes searching fast after much has changed."""
        ...

    def close(self) -> None:
        """Let go of connections; the object may still be used."""
        ...


# ----------------------------------------------------------------------------------------------------- what is there


@dataclass(frozen=True, slots=True)
class Dense:
    """The embedding model that a server's vectors are made with.

    Attributes:
        model: Its name, with what is put before passages (`Embedder.name`).
        query_prefix: What is put before queries.
        length: How many numbers a vector has.
        languages: Those of the passages that have one.
        calibration: What a similarity is worth; `None` where it was not measured.
        directions: Names the note of how the vectors differ (`adapters.index.ranking.spreads`); empty where there is none.
    """

    model: str
    query_prefix: str
    length: int
    languages: tuple[str, ...]
    calibration: Calibration | None = None
    directions: str = ""

    @classmethod
    def read(cls, value: dict[str, Any] | None) -> Self | None:
        """Return one out of JSON.

        Raises:
            TypeError, LookupError: This is none.
        """
        if value is None:
            return None
        made, measured = cls(**value), value["calibration"]
        calibration = Calibration(**measured) if measured else None
        if calibration:
            calibration = replace(calibration, mean=tuple(calibration.mean))
        return replace(made, languages=tuple(made.languages), calibration=calibration)


@dataclass(frozen=True, slots=True)
class Filled:
    """A fill that was finished.

    Attributes:
        revision: Names its statistics.
        parts: In how many notes they are.
        digest: Of the passages.
        versions: Those that there are, as they were given.
        default_versions: What is searched where nobody names a version, as in the index.
        documents: How many there are of each kind.
        dense: What its vectors are made with; `None` where it has none.
    """

    revision: str
    parts: int
    digest: str
    versions: tuple[str, ...]
    default_versions: tuple[str, ...]
    documents: dict[str, int]
    dense: Dense | None = None


@dataclass(frozen=True, slots=True)
class State:
    """What a server holds.

    Attributes:
        averages: What its passages are encoded with, or will be when a fill that was begun is finished.
        filled: The last fill that was finished; its statistics serve until the next is.
        dense: What its vectors are made with, or will be.
    """

    averages: Averages
    analyser: str
    format: int
    filled: Filled | None = None
    dense: Dense | None = None

    @property
    def current(self) -> bool:
        """Whether its vectors are made as this program makes them."""
        return (self.format, self.analyser) == (FORMAT, analyser())

    @classmethod
    def read(cls, text: str | None) -> Self | None:
        """Return a state as it was noted; `None` where there is none that can be read."""
        try:
            value = json.loads(text or "")
            title, heading, body = value["averages"]
            filled = None
            if value["filled"]:
                filled = Filled(**value["filled"])
                # JSON has lists only.
                filled = replace(
                    filled,
                    versions=tuple(filled.versions),
                    default_versions=tuple(filled.default_versions),
                    dense=Dense.read(value["filled"].get("dense")),
                )
            dense = Dense.read(value.get("dense"))
            return cls((title, heading, body), value["analyser"], value["format"], filled, dense)
        except (ValueError, LookupError, TypeError):
            return None

    def written(self) -> str:
        """Return it as it is noted."""
        from dataclasses import asdict

        return json.dumps(asdict(self))


def part_key(revision: str, number: int) -> str:
    """Return the key of the note that holds a part of some statistics."""
    return f"words:{revision}:{number}"


def directions_note(name: str) -> str:
    """Return the key of the note that holds how vectors differ."""
    return f"directions:{name}"


def pack_statistics(statistics: Statistics, part: int = 500_000) -> list[str]:
    """Return statistics as texts of a limited length."""
    value = {"size": statistics.size, "averages": statistics.averages, "words": dict(statistics.frequencies)}
    text = base64.b85encode(zlib.compress(json.dumps(value, ensure_ascii=False).encode())).decode()
    return [text[start : start + part] for start in range(0, len(text), part)]


def unpack_statistics(parts: Sequence[str]) -> Statistics:
    """Return the statistics that were packed.

    Raises:
        ValueError: These are none.
    """
    try:
        value = json.loads(zlib.decompress(base64.b85decode("".join(parts))))
        words: dict[str, Frequencies] = {word: (n[0], n[1], n[2]) for word, n in value["words"].items()}
        title, heading, body = value["averages"]
        return Statistics(value["size"], (title, heading, body), words)
    except (zlib.error, LookupError, TypeError) as error:
        raise ValueError("these are no statistics") from error


# ---------------------------------------------------------------------------------------------------------- searching


@dataclass(frozen=True, slots=True)
class _Known:
    """What a query is made with: one revision."""

    filled: Filled
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
    """Documents in a server, for searching; stands where `KnowledgeBase` stands.

    Args:
        engine: The server.
        norm_midpoint, default_version, embedder: As for `KnowledgeBase`.
        timeout_s: For one search, all that is asked of the server for it together.
    """

    def __init__(
        self,
        engine: Engine,
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
        self._known: _Known | None = None
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
            made: Requests to an embedding server are put on record there.

        Raises:
            SourceUnavailable: The server cannot be asked, or has not been filled.
        """
        meaning = await meaning_of(self._embedder, SearchRequest(text))
        if made is not None:
            made += meaning.calls
        return await self._in_time(Source.DOC, lambda: self.on_topic_now(text, meaning))

    async def mend(self, text: str) -> str:
        """Return a text with its slips of the hand put right by the words of all passages (`asking.mend`).

        Raises:
            SourceUnavailable: The server cannot be asked, or has not been filled.
        """
        return await self._in_time(Source.DOC, lambda: self.mend_now(text))

    def mend_now(self, text: str) -> str:
        """Like `mend`, in this thread."""
        with self._unavailable(Source.DOC):
            clock = _Clock(self._timeout_s)
            known = self._statistics(clock)

            def said_so(word: str) -> bool:
                found = self._ranked(known, [((stem(word),), 1.0)], Limits(), MOST_READ, clock)
                return says([one.passage for one in found], word)

            return mend(known.statistics, text, said_so)

    async def unknown(self, text: str, kinds: frozenset[Source]) -> tuple[str, ...]:
        """Return the content words of a text that no document of these kinds has (`WordProbe.unknown`).

        Raises:
            SourceUnavailable: The server cannot be asked, or has not been filled.
        """
        return await self._in_time(Source.DOC, lambda: self.unknown_now(text, kinds))

    def unknown_now(self, text: str, kinds: frozenset[Source]) -> tuple[str, ...]:
        """Like `unknown`, in this thread."""
        with self._unavailable(Source.DOC):
            clock = _Clock(self._timeout_s)
            known = self._statistics(clock)
            all_of_them = kinds.issuperset(known.filled.documents)

            def has(word: str) -> bool:
                return all_of_them or any(
                    self._ranked(known, [((word,), 1.0)], Limits(kind), 1, clock) for kind in sorted(kinds)
                )

            return unknown_words(known.statistics, text, has)

    async def articles(self, key: str, kb_id: int | None) -> list[EvidenceItem]:
        """Return every passage of the documents that have a key or a number (`Knowledge.articles`).

        Raises:
            SourceUnavailable: The server cannot be asked.
        """
        return await self._in_time(Source.DOC, lambda: self.articles_now(key, kb_id))

    def articles_now(self, key: str, kb_id: int | None) -> list[EvidenceItem]:
        """Like `articles`, in this thread."""
        if not storable(key):
            return []
        with self._unavailable(Source.DOC):
            found = self._engine.articles(key, kb_id, seconds=self._timeout_s)
        return all_of(sorted(found, key=lambda row: (row.key, row.source, row.ordinal)))

    def search_now(self, request: SearchRequest, kind: Source) -> SearchReply:
        """Like `search`, in this thread, and by words alone."""
        return self._reply(request, kind, NO_MEANING)

    def _reply(self, request: SearchRequest, kind: Source, meaning: Meaning) -> SearchReply:
        with self._unavailable(kind):
            searched = self._search(request, kind, meaning, _Clock(self._timeout_s))
        return reply(request, kind, searched, meaning)

    def on_topic_now(self, text: str, meaning: Meaning = NO_MEANING) -> float:
        """Like `on_topic`, in this thread, and by words alone unless the meaning is given."""
        with self._unavailable(Source.DOC):
            clock = _Clock(self._timeout_s)
            known = self._statistics(clock)
            query = parse_query(known.statistics, text, known.filled.versions)
            if not query.words:
                return 0.0
            limits = Limits(versions=self._versions(known, SearchRequest(text)))
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
        """Let go of connections; the object may still be used."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---------------------------------------------------------------------------------------------------- ranking

    def _search(self, request: SearchRequest, kind: Source, meaning: Meaning, clock: _Clock) -> Searched:
        known = self._statistics(clock)
        query = parse_query(known.statistics, request.query, known.filled.versions)
        meaning = self._ready(known, meaning)
        if not query.words or request.top_k < 1:
            return Searched(Different([], []), (), meaning.degraded, {}, meaning.spread)
        excluded = frozenset(key for key in request.exclude if storable(key))
        languages = (request.language,) if request.language else None
        limits = Limits(kind, self._versions(known, request), languages, excluded)
        hits = self._different(known, query, limits, request, meaning, clock)
        if request.language and max((hit.confidence for hit in hits.kept), default=0.0) < request.threshold:
            # The documents may all be in the other language, and the words that matter in neither.
            hits = self._different(known, query, replace(limits, languages=None), request, meaning, clock)
        return Searched(hits, limits.versions or (), meaning.degraded, query.weights_of, meaning.spread)

    def _different(
        self, known: _Known, query: Query, limits: Limits, request: SearchRequest, meaning: Meaning, clock: _Clock
    ) -> Different[Hit]:
        """Return the best passages without those that another one stands for."""
        weights = self._weights(known, query, limits, request, clock)
        score, own = _scored(known, weights), _scored(known, query.weights())
        fusing = self._fusing(known, meaning)
        near = self._near(known, limits, meaning, clock)
        whole = request.expand
        similarities = {_place(found.passage): found.score for found in near}

        def hit_of(found: Found, score: float, *, again: bool) -> Hit:
            # Confidence is the query's own: its widening is made of the documents and would always find them on topic.
            sure = own(found) if again else score
            return Hit(found.passage, score, confidence(sure, query.idf_sum, self._midpoint))

        def search(count: int) -> list[Hit]:
            wanted = count if fusing is None else max(count, DEPTH)
            ranked = self._ranked(known, weights, limits, wanted, clock, whole=whole)
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
        self, known: _Known, query: Query, limits: Limits, request: SearchRequest, clock: _Clock
    ) -> list[tuple[Sequence[str], float]]:
        """Return what the words of a query weigh, widened where that is wanted."""
        if not request.expand:
            return query.weights()
        best = self._ranked(known, query.weights(), limits, FEEDBACK_DOCUMENTS, clock, whole=True)
        texts = [(stems(found.body), found.score) for found in best]
        return widen(query, feedback([words[0] for words in query.words], texts))

    def _fusing(self, known: _Known, meaning: Meaning) -> Fusing | None:
        """Return how words and meaning are put together; `None` where it is not searched by meaning."""
        dense = known.filled.dense
        if self._embedder is None or meaning.vector is None or dense is None or known.statistics.size < 1:
            return None
        return Fusing.of(self._embedder, meaning.vector, dense.calibration)

    def _near(
        self,
        known: _Known,
        limits: Limits,
        meaning: Meaning,
        clock: _Clock,
        places: Sequence[_Place] | None = None,
    ) -> list[Found]:
        """Return the passages that are nearest by meaning, or given ones with their similarities; none without a vector."""
        if self._fusing(known, meaning) is None or self._embedder is None or meaning.vector is None or places == []:
            return []
        languages = limits.languages or tuple(sorted(self._embedder.languages))
        ids = None if places is None else tuple(id_of(*place) for place in places)
        where = replace(limits, languages=languages, ids=ids)
        count = DEPTH if places is None else len(places)
        near = self._engine.nearest(meaning.vector, where, count, seconds=clock.left)
        # Copies are equally near: an engine has them in any order.
        return sorted(near, key=lambda found: (-round(found.score, _DIGITS), *_place(found.passage)))

    def _ready(self, known: _Known, meaning: Meaning) -> Meaning:
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
            return Meaning(degraded=f"embeddings: {why}")
        missing = sorted(self._embedder.languages - set(dense.languages if dense else ()))
        why = f"embeddings: passages in {', '.join(missing)} have no vector yet. {_AGAIN}" if missing else ""
        spread = spread_of(known.directions, meaning.vector)
        return Meaning(meaning.vector, degraded=why, spread=spread)

    def _ranked(
        self,
        known: _Known,
        weights: Sequence[tuple[Sequence[str], float]],
        limits: Limits,
        count: int,
        clock: _Clock,
        *,
        whole: bool = False,
    ) -> list[Found]:
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

    def _versions(self, known: _Known, request: SearchRequest) -> tuple[str, ...]:
        filled = known.filled
        versions = searched_versions(request, filled.versions, self._default_version, filled.default_versions)
        return tuple(filter(storable, versions))

    # ------------------------------------------------------------------------------------------------- statistics

    def _statistics(self, clock: _Clock) -> _Known:
        with self._reading:
            if self._known is None or time.monotonic() - self._asked > _FRESH_S:
                self._known = self._renewed(clock)
                self._asked = time.monotonic()
            return self._known

    def _renewed(self, clock: _Clock) -> _Known:
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
                    return _Known(state.filled, unpack_statistics(parts), self._directions(state.filled.dense, clock))
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


def storable(text: str) -> bool:
    """Tell whether every server can have a text, or be asked for it: no zeros, no halves of characters."""
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def id_of(key: str, ordinal: int) -> str:
    """Return the id of a passage: of its document and its place there."""
    return str(UUID(bytes=blake2b(f"{key}#{ordinal}".encode(), digest_size=16).digest()))


def _place(passage: Passage) -> _Place:
    return passage.key, passage.ordinal


def _scored(known: _Known, weights: Sequence[tuple[Sequence[str], float]]) -> Callable[[Found], float]:
    """Return what scores a passage by its vector."""
    vectors = [[known.statistics.query(word, weight) for word in alternatives] for alternatives, weight in weights]
    return lambda found: sum(best_of(alternatives, found.vector) for alternatives in vectors)
