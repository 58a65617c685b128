"""The kinds of servers that an index can be in, for tests that both must pass."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.index.ranking.embedder import Embedding
from adapters.index.remote.engine import IndexEngine, SearchLimits
from adapters.index.remote.engines import engine_at
from adapters.index.remote.filling import fill
from adapters.index.remote.search import RemoteKnowledge
from adapters.index.remote.sparse import Vector

if TYPE_CHECKING:
    from tests.support.engines.qdrant_server import Qdrant

KINDS = ("qdrant", "postgres")
_numbers = itertools.count()


@dataclass
class Servers:
    """Where servers are; PostgreSQL is started where it is first asked for."""

    qdrant: Qdrant
    postgres: Callable[[], str]

    def url(self, kind: str) -> str:
        return self.qdrant.url if kind == "qdrant" else self.postgres()

    @contextmanager
    def engine(self, kind: str, name: str = "", lock: Path | None = None) -> Generator[IndexEngine]:
        """Open an engine: of the same name the same collection, without one a new one."""
        profile = name or new_name()
        engine = engine_at(self.url(kind), profile=profile, lock=lock)
        try:
            yield engine
        finally:
            engine.close()
            if not name:
                self.qdrant.forget(f"guardian-{profile}")

    @contextmanager
    def filled(self, kind: str, directory: Path) -> Generator[RemoteKnowledge]:
        """Fill a new collection and open it for searching."""
        with self.engine(kind) as engine:
            fill(directory, engine)
            yield RemoteKnowledge(engine)


def new_name() -> str:
    return f"test-{next(_numbers)}"


def contents(engine: IndexEngine, probe: Vector, meaning: Embedding | None = None) -> tuple[object, ...]:
    """Return all that an engine holds: its passages, their vectors as far as queries reach them, and its notes."""
    found = engine.search(probe, SearchLimits(), 10_000, whole=True, seconds=30)
    near = engine.nearest(meaning, SearchLimits(), 200, seconds=30) if meaning is not None else []
    passages = {(hit.passage._replace(id=0), hit.body, tuple(sorted(hit.vector.items()))) for hit in found}
    notes = {key: engine.note(key, 30) for key in engine.notes()}
    return sorted(engine.held()), passages, notes, {(hit.passage._replace(id=0), round(hit.score, 6)) for hit in near}
