"""The embedding model of this process: what it is, what becomes of it when it is not right, and what it finds.

New beside the tests of a server's model: those prove the search, these what is different without a server.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from adapters.index.embedded import KnowledgeBase, ingest
from adapters.index.ranking.embedder import Embedder
from adapters.index.ranking.local import use
from adapters.index.ranking.local.embedder import KEPT_QUERIES, LocalEmbedder
from adapters.index.ranking.local.nearness import LocalNearness
from adapters.index.ranking.local.use import UseModel, use_model
from adapters.index.ranking.similarity import file_key, read_vectors
from adapters.index.store import NAME, Store
from contracts.enums import Language, Source
from contracts.errors import ServerFault
from contracts.ports import SearchReply, SearchRequest
from tests.support.cli_helpers import Desk
from tests.support.markdown_pages import write
from tests.support.shelves import PAGES, fill_vectors, shelf

if TYPE_CHECKING:
    from numpy.typing import NDArray


class CountedModel:
    """The model, with how often it was asked, and from which threads."""

    name = use_model().name
    languages = frozenset(Language)
    words_share = use_model().words_share
    prefixes = use_model().prefixes

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.threads: set[int] = set()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += texts
        self.threads.add(threading.get_ident())
        return use_model().encode(texts)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A knowledge base with the vectors of the model."""
    kb = shelf(tmp_path_factory.mktemp("library"))
    assert fill_vectors(kb, LocalEmbedder(use_model())).missing == 0
    return kb


def ask(kb: Path, query: str, model: Embedder | None = None) -> SearchReply:
    with KnowledgeBase(kb, embedder=model or LocalEmbedder(use_model())) as knowledge:
        return asyncio.run(knowledge.search(SearchRequest(query), Source.DOC))


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("giving flowers a drink", "docs/en/garden.md"),
        ("lubricating a bike", "docs/en/bicycle.md"),
        ("полив цветов", "docs/ru/sad.md"),
    ],
)
def test_other_words_for_the_same_find_the_page(library: Path, query: str, page: str) -> None:
    """In both languages a question in words that no page has finds what it means."""
    reply = ask(library, query)
    best, *others = reply.items
    assert best.document == page
    assert all(best.confidence > other.confidence for other in others)
    assert reply.trace.degraded == ""


def test_a_query_is_encoded_once_and_in_no_event_loop() -> None:
    """The same query is remembered, the oldest of many is forgotten, and the loop's own thread has nothing to do."""
    model = CountedModel()
    embedder = LocalEmbedder(model)

    async def run() -> None:
        for text in ("one", "two", "one"):
            await embedder.embed_query(text)
        assert model.texts == ["one", "two"]
        for number in range(KEPT_QUERIES - 1):
            await embedder.embed_query(f"question {number}")
        await embedder.embed_query("one")
        await embedder.embed_query("two")

    asyncio.run(run())
    assert (model.texts.count("one"), model.texts.count("two")) == (1, 2)
    assert threading.get_ident() not in model.threads


def test_weights_that_are_not_the_measured_ones_are_not_used(library: Path) -> None:
    """They would make other vectors under the same name: search goes on by words, and says what to install."""
    other = LocalEmbedder(UseModel("0" * 64))
    with pytest.raises(ServerFault, match="not those that this program was made with"):
        asyncio.run(other.embed(["text"]))
    reply = ask(library, "when are roses watered", other)
    assert reply.items[0].document == "docs/en/garden.md"
    assert "guardian-assistant[meaning]" in reply.trace.degraded


def test_a_package_that_went_leaves_search_by_words(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Removed under a running process, it is told with what to install."""
    monkeypatch.setattr(use, "PACKAGE", "a_package_that_nobody_has")
    reply = ask(library, "when are roses watered", LocalEmbedder(UseModel()))
    assert reply.items
    assert 'pip install "guardian-assistant[meaning]"' in reply.trace.degraded


def test_many_threads_load_the_weights_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks first loads them, and the others wait."""
    model, loaded = UseModel(), list[int]()
    load = UseModel._load
    monkeypatch.setattr(UseModel, "_load", lambda self: (loaded.append(1), load(self))[1])
    threads = [threading.Thread(target=model.encode, args=(["text"],)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loaded == [1]


def test_who_has_the_old_vectors_open_reads_on_while_new_ones_are_published(tmp_path: Path) -> None:
    """One file at a time lies there, and the open one keeps its numbers after it was removed."""
    model = LocalEmbedder(use_model())
    kb = shelf(tmp_path)
    fill_vectors(kb, model)
    (first,) = kb.glob("vectors-*.npy")
    chunks, rows = read_vectors(first)
    before = np.array(rows)
    write(tmp_path / "docs", {"en/lamp.md": "# The lamp\n\nA lamp gives light.\n"})
    ingest(tmp_path / "docs", directory=kb)
    assert "1 passages have no vector yet" in ask(kb, "roses").trace.degraded
    fill_vectors(kb, model)
    (second,) = kb.glob("vectors-*.npy")
    assert second.name != first.name
    assert len(chunks) == len(PAGES)
    assert (np.asarray(rows) == before).all()
    # A file that is lost is written again from the record, and nothing is asked of the model for it.
    second.unlink()
    assert fill_vectors(kb, model).asked == 0
    assert [path.name for path in kb.glob("vectors-*.npy")] == [second.name]


def test_a_folder_with_the_vectors_of_an_older_version_opens_as_it_is(tmp_path: Path) -> None:
    """Its table is dropped, its documents are searched at once, and the next run makes the vectors anew."""
    import sqlite3

    kb = shelf(tmp_path)
    with sqlite3.connect(kb / NAME) as db:
        db.execute("CREATE TABLE vectors (hash TEXT, model TEXT, vector BLOB, PRIMARY KEY (hash, model))")
        db.execute("INSERT INTO vectors VALUES ('h', 'm', x'0000803f')")
    db.close()
    model = LocalEmbedder(use_model())
    found = ask(kb, "when are roses watered")
    assert found.items[0].document == "docs/en/garden.md"
    assert "no passage has a vector" in found.trace.degraded
    assert fill_vectors(kb, model).asked == len(PAGES)
    with sqlite3.connect(kb / NAME) as db:
        assert db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'vectors'").fetchone() == (0,)
    db.close()
    store = Store(kb)
    assert (kb / store.meta(file_key(model.name))).is_file()
    store.close()


async def test_nearness_is_the_cosine_of_each_text_and_no_text_is_read_twice() -> None:
    """A text near the question comes out above one that is not; a model that cannot be loaded tells nothing."""
    model = CountedModel()
    probe = LocalNearness(model)
    texts = ("The grand hotel was built in 1902.", "Roses need water every second day.")
    far, near = await probe.nearness("When do I water roses?", texts)
    assert -1 <= far < near <= 1
    assert await probe.nearness("When do I water roses?", texts[::-1]) == pytest.approx((near, far))
    assert sorted(model.texts) == sorted({"When do I water roses?", *texts})
    assert await LocalNearness(UseModel(sha256="another")).nearness("roses", texts) == ()


def test_the_command_makes_vectors_and_a_turn_uses_them(tmp_path: Path) -> None:
    """Without any setting `guardian index` makes them, `search` shows the figures, and `doctor` is content."""
    desk = Desk(tmp_path / "data", tmp_path).having(GUARDIAN_EMBEDDER="auto")
    assert "vectors made, 0 missing" in desk.index().out
    found = desk.here("search", "get the catalogue back after a crash", "--json").json
    assert found[0]["document"] == "corpus/en/restore.md"
    lines = {line["what"]: line for line in desk.here("doctor", "--json").json}
    assert lines["embeddings"]["ok"]
    assert "in this process, for en, ru; vectors of 512 numbers" in lines["embeddings"]["seen"]
    off = desk.having(GUARDIAN_EMBEDDER="off").here("doctor", "--json").json
    assert [line["seen"] for line in off if line["what"] == "embeddings"] == ["words alone: GUARDIAN_EMBEDDER is off"]
