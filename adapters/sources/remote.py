"""Searching a knowledge base that lives in a server: the ranking, filters and confidence of the embedded index.

    RemoteKnowledge(engine)             searches; stands where `KnowledgeBase` stands
    Engine                              what a server must be able to do, for searching and for being filled
    fill(directory, engine)             brings it up to date (`filling.py`)

A server keeps passages with their sparse vectors (`sparse.py`) and, beside them as notes, the statistics that queries
are made with. Statistics are read when they are first needed, and again where they have changed.
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
from typing import Final, NamedTuple, Protocol, Self, TypeVar

from adapters.sources.folding import enough
from adapters.sources.markdown.asking import Hit, Query, face, item, parsed, searched_versions, trace, widened
from adapters.sources.markdown.index import analyser
from adapters.sources.markdown.scoring import FEEDBACK_DOCUMENTS, confidence, feedback
from adapters.sources.markdown.search import MIDPOINT
from adapters.sources.markdown.store import Passage
from adapters.sources.sparse import Averages, Frequencies, Statistics, Vector, best_of
from contracts.errors import SourceUnavailable
from contracts.ports import SearchReply, SearchRequest
from contracts.values import Source
from language.words import stems

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
_AGAIN: Final = "Run `guardian index` with `--to` and its address."
_T = TypeVar("_T")


class EngineFault(Exception):
    """A server cannot be asked, or answers what cannot be used; `way_out` says what to do about it."""

    def __init__(self, message: str, way_out: str = "See that the server runs and can be reached.") -> None:
        super().__init__(message)
        self.message = message
        self.way_out = way_out


@dataclass(frozen=True, slots=True)
class Limits:
    """What a search may return; `None` stands for no limit. Versions are as in the index (`version_term`)."""

    source: str | None = None
    versions: tuple[str, ...] | None = None
    language: str | None = None
    excluded: frozenset[str] = frozenset()


class Row(NamedTuple):
    """A passage as a server keeps it.

    Attributes:
        id: Of document and place: the same wherever and whenever it is filled in (a UUID).
        fingerprint: Differs where anything else here, or its vector, does.
        body: Its words, for widening a query.
    """

    id: str
    fingerprint: str
    passage: Passage
    body: str


class Found(NamedTuple):
    """A hit. `vector` and `body` are empty unless they were asked for."""

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

    def prepare(self) -> None:
        """Make what is missing for filling."""
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
class Filled:
    """A fill that was finished.

    Attributes:
        revision: Names its statistics.
        parts: In how many notes they are.
        digest: Of the passages.
        versions: Those that there are, as they were given.
        default_versions: What is searched where nobody names a version, as in the index.
        documents: How many there are of each kind.
    """

    revision: str
    parts: int
    digest: str
    versions: tuple[str, ...]
    default_versions: tuple[str, ...]
    documents: dict[str, int]


@dataclass(frozen=True, slots=True)
class State:
    """What a server holds.

    Attributes:
        averages: What its passages are encoded with, or will be when a fill that was begun is finished.
        filled: The last fill that was finished; its statistics serve until the next is.
    """

    averages: Averages
    analyser: str
    format: int
    filled: Filled | None = None

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
                    filled, versions=tuple(filled.versions), default_versions=tuple(filled.default_versions)
                )
            return cls((title, heading, body), value["analyser"], value["format"], filled)
        except (ValueError, LookupError, TypeError):
            return None

    def written(self) -> str:
        """Return it as it is noted."""
        from dataclasses import asdict

        return json.dumps(asdict(self))


def part_key(revision: str, number: int) -> str:
    """Return the key of the note that holds a part of some statistics."""
    return f"words:{revision}:{number}"


def packed(statistics: Statistics, part: int = 500_000) -> list[str]:
    """Return statistics as texts of a limited length."""
    value = {"size": statistics.size, "averages": statistics.averages, "words": dict(statistics.frequencies)}
    text = base64.b85encode(zlib.compress(json.dumps(value, ensure_ascii=False).encode())).decode()
    return [text[start : start + part] for start in range(0, len(text), part)]


def unpacked(parts: Sequence[str]) -> Statistics:
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
        norm_midpoint, default_version: As for `KnowledgeBase`.
        timeout_s: For one search, all that is asked for it together.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        norm_midpoint: float = MIDPOINT,
        default_version: str | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._engine = engine
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
        return await self._in_time(kind, lambda: self.search_now(request, kind))

    async def on_topic(self, text: str) -> float:
        """Return the confidence of the best passage, of any kind and language: 0 to 1.

        Raises:
            SourceUnavailable: The server cannot be asked, or has not been filled.
        """
        return await self._in_time(Source.DOC, lambda: self.on_topic_now(text))

    def search_now(self, request: SearchRequest, kind: Source) -> SearchReply:
        """Like `search`, in this thread."""
        with self._unavailable(kind):
            items = tuple(map(item, self._search(request, kind, _Clock(self._timeout_s))))
        return SearchReply(items, trace(request, kind, items))

    def on_topic_now(self, text: str) -> float:
        """Like `on_topic`, in this thread."""
        with self._unavailable(Source.DOC):
            clock = _Clock(self._timeout_s)
            known = self._statistics(clock)
            query = parsed(known.statistics, text)
            limits = Limits(versions=self._versions(known, SearchRequest(text)))
            best = self._ranked(known, query.weights(), limits, 1, clock)
            return confidence(best[0].score, query.idf_sum, self._midpoint) if best else 0.0

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

    def _search(self, request: SearchRequest, kind: Source, clock: _Clock) -> list[Hit]:
        known = self._statistics(clock)
        query = parsed(known.statistics, request.query)
        if not query.words or request.top_k < 1:
            return []
        excluded = frozenset(key for key in request.exclude if storable(key))
        limits = Limits(kind, self._versions(known, request), request.language, excluded)
        hits = self._different(known, query, limits, request, clock)
        if request.language and max((hit.confidence for hit in hits), default=0.0) < request.threshold:
            # The documents may all be in the other language, and the words that matter in neither.
            hits = self._different(known, query, replace(limits, language=None), request, clock)
        return hits

    def _different(
        self, known: _Known, query: Query, limits: Limits, request: SearchRequest, clock: _Clock
    ) -> list[Hit]:
        """Return the best passages without those that another one stands for."""
        weights = query.weights()
        if request.expand:
            best = self._ranked(known, weights, limits, FEEDBACK_DOCUMENTS, clock, whole=True)
            texts = [(stems(found.body), found.score) for found in best]
            weights = widened(query, feedback([words[0] for words in query.words], texts))
        # Confidence is the query's own: its widening is made of the documents and would always find them on topic.
        own = _scored(known, query.weights()) if request.expand else _its_score

        def search(count: int) -> list[Hit]:
            ranked = self._ranked(known, weights, limits, count, clock, whole=request.expand)
            hits = [
                Hit(found.passage, found.score, confidence(own(found), query.idf_sum, self._midpoint))
                for found in ranked
            ]
            return sorted(hits, key=lambda hit: (-hit.score, hit.passage.key, hit.passage.ordinal))

        return enough(search, face, request.top_k)

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
                    return _Known(state.filled, unpacked(parts))
                except ValueError as error:
                    raise EngineFault("what it holds cannot be read", _AGAIN) from error
        raise EngineFault("it changes faster than it can be read", "Wait until it has been filled.")

    # ---------------------------------------------------------------------------------------------------- in time

    async def _in_time(self, kind: Source, ask: Callable[[], _T]) -> _T:
        try:
            async with asyncio.timeout(self._timeout_s + 0.5):
                return await asyncio.to_thread(ask)
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


def _its_score(found: Found) -> float:
    return found.score


def _scored(known: _Known, weights: Sequence[tuple[Sequence[str], float]]) -> Callable[[Found], float]:
    """Return what scores a passage by its vector."""
    vectors = [[known.statistics.query(word, weight) for word in alternatives] for alternatives, weight in weights]
    return lambda found: sum(best_of(alternatives, found.vector) for alternatives in vectors)
