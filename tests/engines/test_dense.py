"""Ranking by meaning in a server: the passages, the filters and the confidence of the embedded index."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from adapters.index.embedded import KnowledgeBase, ingest
from adapters.index.ranking.embedder import BATCH, Embedder
from adapters.index.ranking.embeddings import HttpEmbedder
from adapters.index.ranking.similarity import foreign_questions
from adapters.index.remote.engine import EngineFault, IndexEngine
from adapters.index.remote.engines import engine_at
from adapters.index.remote.filling import FillReport, fill
from adapters.index.remote.search import RemoteKnowledge
from contracts.enums import Language, Source
from contracts.errors import ConfigError, KnowledgeError
from contracts.ports import SearchReply, SearchRequest
from tests.support.engines.gains import ROOT, measure_ndcg
from tests.support.engines.kinds import KINDS, Servers
from tests.support.fork_server import Program
from tests.support.markdown_pages import write
from tests.support.replies import keys
from tests.support.shelves import ENGLISH, PAGES, UNSHARED, access, embedder, fill_vectors, shelf
from tests.support.wire.server_process import FakeServer


@pytest.fixture
def server(model_server: FakeServer) -> FakeServer:
    """The scripted embedding server, and nothing asked yet."""
    model_server.reset()
    return model_server


@pytest.fixture(params=KINDS)
def engine(request: pytest.FixtureRequest, servers: Servers) -> Iterator[IndexEngine]:
    with servers.engine(request.param) as opened:
        yield opened


@pytest.fixture
def model(server: FakeServer) -> HttpEmbedder:
    return embedder(server.url)


def ask(knowledge: RemoteKnowledge | KnowledgeBase, request: SearchRequest, kind: Source = Source.DOC) -> SearchReply:
    return asyncio.run(knowledge.search(request, kind))


def refill(root: Path, engine: IndexEngine, model: Embedder | None) -> FillReport:
    """Index the pages below a folder, ask for their vectors, and fill."""
    ingest(root / "docs", directory=root / "kb")
    if model:
        assert fill_vectors(root / "kb", model).missing == 0
    return fill(root / "kb", engine, model)


# ----------------------------------------------------------------------------------------------------------- ranking


@pytest.fixture(scope="module")
def library(model_server: FakeServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages in both languages, of two versions, some of them policies, with the vectors of both languages."""
    root = tmp_path_factory.mktemp("library")
    pages = dict(PAGES)
    for version in ("4.9", "4.10"):
        front = f"---\nversion: '{version}'\n---\n"
        pages[f"{version}/disk.md"] = f"{front}# The disk\n\nThe file system of {version} lies on one disk.\n"
    pages["law.md"] = "---\nsource: policy\n---\n# The law\n\nNobody may copy the file system.\n"
    pages["stop.md"] = "# About\n\nIt is what it is.\n"
    write(root / "docs", pages)
    ingest(root / "docs", directory=root / "kb")
    assert fill_vectors(root / "kb", embedder(model_server.url)).missing == 0
    return root / "kb"


@pytest.fixture(scope="module", params=KINDS)
def remote(
    request: pytest.FixtureRequest, servers: Servers, library: Path, model_server: FakeServer
) -> Iterator[RemoteKnowledge]:
    model = embedder(model_server.url)
    with servers.engine(request.param) as engine:
        fill(library, engine, model)
        yield RemoteKnowledge(engine, embedder=model)


@pytest.fixture(scope="module")
def embedded(library: Path, model_server: FakeServer) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(library, embedder=embedder(model_server.url)) as opened:
        yield opened


REQUESTS = {
    "no word shared": SearchRequest(UNSHARED),
    "in Russian": SearchRequest("кипячение воды", language=Language.RU),
    "other language than the documents": SearchRequest("filesystems", language=Language.RU, threshold=0.9),
    "a version": SearchRequest(f"{UNSHARED} on disks", version="4.9"),
    "a version that is named": SearchRequest(f"{UNSHARED} in 4.9"),
    "excluded": SearchRequest(UNSHARED, exclude=frozenset({"docs/en/file-system.md"})),
    "no more than one": SearchRequest("roses at noon", top_k=1),
    "all there is": SearchRequest("roses and kettles", top_k=10_000),
    "widened": SearchRequest("watering roses", expand=True),
    "sure by words": SearchRequest("when are roses watered"),
    "stop words alone": SearchRequest("of the"),
}


@pytest.mark.parametrize("kind", [Source.DOC, Source.POLICY])
@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_the_same_is_found_by_meaning_under_every_limit(
    embedded: KnowledgeBase, remote: RemoteKnowledge, request_: SearchRequest, kind: Source
) -> None:
    """Kind, version, language and exclusions limit the nearest passages, too; scores and confidence are the same."""
    here = ask(embedded, request_, kind)
    there = ask(remote, request_, kind)
    assert [item.ref for item in there.items] == [item.ref for item in here.items]
    for figure in ("score", "confidence"):
        expected = pytest.approx([getattr(item, figure) for item in here.items], rel=1e-3, abs=1e-4)
        assert [getattr(item, figure) for item in there.items] == expected
    similar = [row.similarity for row in here.trace.passages]
    assert [row.similarity for row in there.trace.passages] == [
        one if one is None else pytest.approx(one, abs=1e-4) for one in similar
    ]
    assert there.trace.degraded == here.trace.degraded == ""
    # Relevance is judged by it: without one, by the words alone.
    assert there.trace.spread == (
        None if here.trace.spread is None else pytest.approx(here.trace.spread, rel=0.02, abs=1e-5)
    )


@dataclass(frozen=True)
class Measured:
    """How well questions find their pages, by language, and the spread of one question."""

    gains: dict[str, float]
    spread: float | None


def measured(knowledge: RemoteKnowledge | KnowledgeBase) -> Measured:
    """Ask every third labelled question: ten of each language."""
    gains = {
        language: measure_ndcg(lambda request, kind: ask(knowledge, request, kind).items, language, every=3)
        for language in ("en", "ru")
    }
    return Measured(gains, ask(knowledge, SearchRequest("How do I delete a conversation?")).trace.spread)


@pytest.fixture(scope="module")
def measured_here(handbook: Path, model_server: FakeServer) -> Measured:
    with KnowledgeBase(handbook, embedder=embedder(model_server.url)) as embedded:
        return measured(embedded)


@pytest.mark.parametrize("kind", KINDS)
def test_questions_find_their_pages_as_well_as_in_the_embedded_index(
    servers: Servers, kind: str, handbook: Path, measured_here: Measured, model: Embedder
) -> None:
    """On twenty labelled questions nDCG@10 of words and meaning is that of the embedded index, within .02."""
    with servers.engine(kind) as engine:
        fill(handbook, engine, model)
        there = measured(RemoteKnowledge(engine, embedder=model))
    assert min(measured_here.gains.values()) > 0.5
    assert there.gains == pytest.approx(measured_here.gains, abs=0.02)
    assert there.spread == pytest.approx(measured_here.spread, rel=0.05)


def test_meaning_finds_what_words_do_not(remote: RemoteKnowledge) -> None:
    """The comparison above is of something: a word that no page has finds its page, and not without a model."""
    assert keys(ask(remote, SearchRequest(UNSHARED)))[0] == "docs/en/file-system.md"
    assert RemoteKnowledge(remote._engine).search_now(SearchRequest(UNSHARED), Source.DOC).items == ()


def test_a_model_is_asked_in_its_languages_alone(servers: Servers, library: Path, server: FakeServer) -> None:
    """A query in another language is as without the model, in a server as here."""
    english = embedder(server.url, languages=ENGLISH)
    with servers.engine("qdrant") as engine:
        fill(library, engine, english)
        beside, alone = RemoteKnowledge(engine, embedder=english), RemoteKnowledge(engine)
        request = SearchRequest("когда поливают розы")
        assert ask(beside, request) == ask(alone, request)
        assert server.requests() == []
        assert not any(key.startswith("docs/ru/") for key in keys(ask(beside, SearchRequest(UNSHARED, top_k=50))))


def test_without_its_model_a_server_is_searched_by_words_and_says_so(library: Path, remote: RemoteKnowledge) -> None:
    """Nobody at the address of the embedding model: the answer of the words, and the reason."""
    away = RemoteKnowledge(remote._engine, embedder=embedder("http://127.0.0.1:1/v1", max_retries=0))
    request = SearchRequest("when are roses watered")
    reply = ask(away, request)
    assert reply.items == ask(RemoteKnowledge(remote._engine), request).items
    assert reply.trace.degraded.startswith("embeddings: ")
    assert "127.0.0.1:1" in reply.trace.degraded


# ----------------------------------------------------------------------------------------------------------- filling


def test_no_text_is_sent_twice(tmp_path: Path, engine: IndexEngine, server: FakeServer, model: Embedder) -> None:
    """A second fill writes nothing and asks nothing, and one after a change only for what changed."""
    shelf(tmp_path)
    first = refill(tmp_path, engine, model)
    assert (first.written, first.unchanged) == (6, 0)
    server.clear()
    assert refill(tmp_path, engine, model).written == 0
    assert server.requests() == []
    write(tmp_path / "docs", {"en/kettle.md": "# The kettle\n\nIt whistles now, and water boils.\n"}, aged=False)
    (tmp_path / "docs" / "en" / "garden.md").unlink()
    again = refill(tmp_path, engine, model)
    assert again.deleted == 1
    asked = [text for request in server.requests() for text in request["body"]["input"]]
    assert len([text for text in asked if "kettle" in text]) == 1
    with KnowledgeBase(tmp_path / "kb", embedder=model) as embedded:
        here = ask(embedded, SearchRequest("whistling kettles"))
    there = ask(RemoteKnowledge(engine, embedder=model), SearchRequest("whistling kettles"))
    assert keys(there) == keys(here)


@pytest.mark.slow
def test_a_kill_while_vectors_are_made_costs_one_batch(
    tmp_path: Path, servers: Servers, server: FakeServer, model: Embedder
) -> None:
    """Killed in the middle, a run is finished by the next: at most the batch on its way is asked for again."""
    write(
        tmp_path / "docs", {f"{n}.md": f"# Kettle {n}\n\nKettle {n} boils in {n} minutes.\n" for n in range(6 * BATCH)}
    )
    ingest(tmp_path / "docs", directory=tmp_path / "kb")
    script = f"""
import asyncio
from pathlib import Path
from adapters.index.vectors import fill
from tests.support.shelves import embedder
fill(Path({str(tmp_path / "kb")!r}), embedder({server.url!r}), lambda *_: print(flush=True))
"""
    with Program[bytes](["-c", script], cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout
        for _ in range(3):
            assert process.stdout.readline()
        process.kill()
    report = fill_vectors(tmp_path / "kb", model)
    assert report.missing == 0
    assert 0 < report.asked <= report.kept - 3 * BATCH
    foreign = {text for _, text in foreign_questions()}
    asked = [text for request in server.requests() for text in request["body"]["input"] if text not in foreign]
    assert len(asked) - len(set(asked)) <= BATCH
    with servers.engine("qdrant") as engine:
        assert fill(tmp_path / "kb", engine, model).written >= report.kept


def test_vectors_of_two_models_are_never_mixed(tmp_path: Path, engine: IndexEngine, server: FakeServer) -> None:
    """Another model, another prefix, none at all: the fill is refused with a way out, and nothing is changed."""
    shelf(tmp_path)
    refill(tmp_path, engine, embedder(server.url))
    before = sorted(engine.held())
    write(tmp_path / "docs", {"en/new.md": "# New\n\nThis is new.\n"})
    prefixed = HttpEmbedder(access(server.url), text_prefix="passage: ")
    for other in (embedder(server.url, model="fake-embedder-2"), prefixed, None):
        with pytest.raises(ConfigError, match="'fake-embedder'") as caught:
            refill(tmp_path, engine, other)
        assert "another collection" in (caught.value.way_out or "")
    assert sorted(engine.held()) == before


def test_a_query_of_another_model_is_searched_by_words(tmp_path: Path, engine: IndexEngine, server: FakeServer) -> None:
    """Vectors of two models are not compared: the trace says so, with a way out that the next fill does not refuse."""
    shelf(tmp_path)
    refill(tmp_path, engine, embedder(server.url))
    ways = {
        "another collection": embedder(server.url, model="fake-embedder-2"),
        "Run `guardian index`": HttpEmbedder(access(server.url), query_prefix="query: "),
    }
    for way, other in ways.items():
        reply = ask(RemoteKnowledge(engine, embedder=other), SearchRequest("roses in the evening"))
        assert keys(reply)[0] == "docs/en/garden.md"
        assert [said for said in ways if said in reply.trace.degraded] == [way], reply.trace.degraded


def test_vectors_of_another_length_are_not_compared(tmp_path: Path, engine: IndexEngine, model: HttpEmbedder) -> None:
    """A model that makes longer vectors under its old name is told, and what words find stays."""
    shelf(tmp_path)
    refill(tmp_path, engine, model)
    known = RemoteKnowledge(engine, embedder=model)
    assert ask(known, SearchRequest(UNSHARED)).items
    query = asyncio.run(model.embed_query("roses in the evening"))
    model._known["roses in the evening"] = np.append(query, np.float32(0))
    reply = ask(known, SearchRequest("roses in the evening"))
    assert keys(reply)[0] == "docs/en/garden.md"
    assert "257 numbers now, and made such of 256" in reply.trace.degraded
    assert "another collection" in reply.trace.degraded


def test_an_index_by_words_is_searched_by_words_and_says_so(
    tmp_path: Path, engine: IndexEngine, model: Embedder
) -> None:
    """A model that is set after the fill finds no vectors there, which is told with the command that makes them."""
    shelf(tmp_path)
    refill(tmp_path, engine, None)
    reply = ask(RemoteKnowledge(engine, embedder=model), SearchRequest("roses in the evening"))
    assert keys(reply)[0] == "docs/en/garden.md"
    assert "has no vectors" in reply.trace.degraded
    assert "guardian index" in reply.trace.degraded


def test_postgres_adds_vectors_to_an_index_by_words(tmp_path: Path, servers: Servers, model: Embedder) -> None:
    """The next fill writes every passage again, with its vector."""
    shelf(tmp_path)
    with servers.engine("postgres") as engine:
        refill(tmp_path, engine, None)
        assert refill(tmp_path, engine, model).written == 6
        assert ask(RemoteKnowledge(engine, embedder=model), SearchRequest(UNSHARED)).items


def test_qdrant_refuses_vectors_for_a_collection_without(tmp_path: Path, servers: Servers, model: Embedder) -> None:
    """Qdrant adds no vectors later: that is told with a way out, and the collection stays as it is."""
    shelf(tmp_path)
    with servers.engine("qdrant") as engine:
        refill(tmp_path, engine, None)
        with pytest.raises(KnowledgeError, match="adds none later") as caught:
            refill(tmp_path, engine, model)
        assert "same command again" not in (caught.value.way_out or "")
        assert "another collection" in (caught.value.way_out or "").lower()
        assert RemoteKnowledge(engine).search_now(SearchRequest("roses"), Source.DOC).items


def test_a_fill_without_its_vectors_stops(
    tmp_path: Path, engine: IndexEngine, server: FakeServer, model: Embedder
) -> None:
    """The embedding server is down: the fill ends with an error, the old index is searched on, and the next goes on."""
    shelf(tmp_path)
    refill(tmp_path, engine, model)
    write(tmp_path / "docs", {"en/new.md": "# The lamp\n\nA lamp gives light.\n"})
    ingest(tmp_path / "docs", directory=tmp_path / "kb")
    assert fill_vectors(tmp_path / "kb", embedder("http://127.0.0.1:1/v1", max_retries=0)).missing == 1
    with pytest.raises(KnowledgeError, match="Not all passages have a vector") as caught:
        fill(tmp_path / "kb", engine, model)
    assert "same command again" in (caught.value.way_out or "")
    knowledge = RemoteKnowledge(engine, embedder=model)
    assert keys(ask(knowledge, SearchRequest(UNSHARED)))[0] == "docs/en/file-system.md"
    assert refill(tmp_path, engine, model).written >= 1
    assert keys(ask(RemoteKnowledge(engine, embedder=model), SearchRequest("lamplight")))[0] == "docs/en/new.md"


def test_vectors_that_postgres_cannot_index_are_refused(servers: Servers) -> None:
    """Up to 2,000 numbers in full precision, up to 4,000 in half, and more not at all."""
    with servers.engine("postgres") as engine:
        with pytest.raises(EngineFault, match="4001 numbers") as caught:
            engine.prepare(4001)
        assert "Qdrant" in caught.value.way_out
        engine.prepare(4000)
        engine.settle()
        with pytest.raises(EngineFault, match="4000 numbers, and these have 256") as caught:
            engine.prepare(256)
        assert "another collection" in caught.value.way_out.lower()


def test_a_database_without_pgvector_is_told(postgres_server: str, tmp_path: Path, model: Embedder) -> None:
    """Who may not install the extension learns what a superuser is to do; an index by words takes none."""
    import psycopg

    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute("CREATE ROLE plain LOGIN")
        connection.execute("CREATE DATABASE plain OWNER plain")
    url = postgres_server.replace("postgres:@/postgres", "plain:@/plain")
    assert url != postgres_server
    shelf(tmp_path)
    engine = engine_at(url, profile="shelf")
    try:
        with pytest.raises(KnowledgeError, match="no pgvector") as caught:
            refill(tmp_path, engine, model)
        assert "CREATE EXTENSION vector" in (caught.value.way_out or "")
        assert refill(tmp_path, engine, None).written == 6
    finally:
        engine.close()
