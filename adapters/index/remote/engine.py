"""The port for servers that keep passages; Qdrant and PostgreSQL implement it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol
from uuid import UUID

from adapters.index.records import StoredPassage
from adapters.index.remote.sparse import Vector

if TYPE_CHECKING:
    from adapters.index.ranking.embedder import Embedding

ANOTHER_PLACE: Final = "fill another collection or database, or delete this one and fill it again"
"""What to do with an index that cannot take what it is to be filled with."""


class EngineFault(Exception):
    """A server cannot be asked, or its answer cannot be used.

    Args:
        message: What is wrong, without the server's address.
        way_out: How to fix it.
        passing: Whether the same request can succeed after the fix.
    """

    def __init__(
        self, message: str, way_out: str = "See that the server runs and can be reached.", *, passing: bool = True
    ) -> None:
        super().__init__(message)
        self.message = message
        self.way_out = way_out
        self.passing = passing


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """The limits of a search; `None` means no limit. Versions are as in the index (`version_term`).

    `ids` are ids of passages (`Row.id`); only `Engine.nearest` is called with them, and then it misses none.
    """

    source: str | None = None
    versions: tuple[str, ...] | None = None
    languages: tuple[str, ...] | None = None
    excluded: frozenset[str] = frozenset()
    ids: tuple[str, ...] | None = None


class PassageRow(NamedTuple):
    """A passage as a server keeps it.

    Attributes:
        id: A UUID of document and position: the same on every server and in every fill.
        fingerprint: Differs if any other field, or the vector, differs.
        body: Its words, for widening a query.
        meaning: Its vector by the embedding model, of length 1; `None` if it has none.
    """

    id: str
    fingerprint: str
    passage: StoredPassage
    body: str
    meaning: Embedding | None = None


class EngineHit(NamedTuple):
    """A hit. `vector`, by words, and `body` are empty unless they were asked for."""

    passage: StoredPassage
    score: float
    vector: Vector
    body: str


class IndexEngine(Protocol):
    """A server that keeps passages. Every method is blocking, may be called from any thread, and ends in time.

    Raises:
        EngineFault: From every method.
    """

    @property
    def name(self) -> str:
        """The server's address without secrets."""
        ...

    def note(self, key: str, seconds: float) -> str | None:
        """Return a note; `None` if there is none, or if the server is still empty."""
        ...

    def search(
        self, query: Vector, limits: SearchLimits, count: int, *, whole: bool, seconds: float
    ) -> list[EngineHit]:
        """Return the passages with the highest inner products, best first.

        Args:
            query: Not empty.
            limits: What may be returned.
            count: How many at most, from 1.
            whole: Whether vectors and bodies are wanted, too.
            seconds: How long it may take.
        """
        ...

    def nearest(self, meaning: Embedding, limits: SearchLimits, count: int, *, seconds: float) -> list[EngineHit]:
        """Return the passages with the highest scalar products of embedding vectors, best first.

        Their vectors by words come with them. An engine may miss some, because its index of neighbours is approximate.

        Args:
            meaning: As long as the vectors that the engine was prepared for.
            limits: What may be returned.
            count: How many at most, from 1.
            seconds: How long it may take.
        """
        ...

    def articles(self, key: str, kb_id: int | None, *, seconds: float) -> list[StoredPassage]:
        """Return every passage of the documents that have a key or a number, in any order."""
        ...

    def prepare(self, length: int) -> None:
        """Create what is missing for a fill; the argument is the length of embedding vectors, 0 for none."""
        ...

    def alone(self) -> AbstractContextManager[None]:
        """Keep others from filling at the same time.

        Raises:
            IndexBusy: Another process is filling.
        """
        ...

    def held(self) -> Iterator[tuple[str, str]]:
        """Yield id and fingerprint of every passage."""
        ...

    def put(self, rows: Sequence[tuple[PassageRow, Vector]]) -> None:
        """Write all passages or none, and replace those with the same ids."""
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
        """Optimize the server for searching after many changes."""
        ...

    def close(self) -> None:
        """Release connections; the object may still be used."""
        ...


def storable(text: str) -> bool:
    """Return whether every server can store a text and search for it: no NUL characters, no lone surrogates."""
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def id_of(key: str, ordinal: int) -> str:
    """Return the id of a passage, from its document and its position there."""
    return str(UUID(bytes=blake2b(f"{key}#{ordinal}".encode(), digest_size=16).digest()))
