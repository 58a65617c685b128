"""Searches in a server do not wait for each other."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adapters.index.embedded import ingest
from adapters.index.remote.engines import engine_at
from adapters.index.remote.filling import fill
from adapters.index.remote.search import RemoteKnowledge
from contracts.enums import Source
from contracts.ports import SearchRequest

if TYPE_CHECKING:
    from tests.support.engines.qdrant_server import Qdrant

MANY = 16
"""More than the threads that asyncio has by itself where there are up to eleven cores."""
SECONDS = 5.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Qdrant]:
    from tests.support.engines.qdrant_server import serve_qdrant

    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "kettle.md").write_text("# Kettle\n\nA kettle boils water.\n")
    (tmp_path / "qdrant").mkdir()
    ingest(tmp_path / "docs", directory=tmp_path / "base")
    with serve_qdrant(tmp_path / "qdrant") as served:
        engine = engine_at(served.url, profile="parallel")
        fill(tmp_path / "base", engine)
        engine.close()
        yield served


async def test_many_searches_are_with_the_server_before_one_is_answered(server: Qdrant) -> None:
    """A turn's sub-queries take as long as the slowest of them, on a machine of few cores, too."""
    barrier = threading.Barrier(MANY)

    def wait(method: str, path: str) -> None:
        if path.endswith("/points/query"):
            barrier.wait(SECONDS)

    with RemoteKnowledge(engine_at(server.url, profile="parallel"), timeout_s=SECONDS) as knowledge:
        await knowledge.search(SearchRequest(query="kettle"), Source.POLICY)
        server.before = wait
        asked = [knowledge.search(SearchRequest(query="kettle"), Source.DOC) for _ in range(MANY)]
        replies = await asyncio.gather(*asked)
    assert [reply.items[0].title for reply in replies] == ["Kettle"] * MANY
