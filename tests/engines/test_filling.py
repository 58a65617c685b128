"""Filling an index in a server: the difference only, to the end, whatever happens on the way."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.index.embedded import KnowledgeBase, ingest
from adapters.index.remote.engine import IndexEngine
from adapters.index.remote.filling import FillReport, fill
from adapters.index.remote.search import RemoteKnowledge
from adapters.index.remote.sparse import dimension
from adapters.index.remote.state import State
from contracts.enums import Source
from contracts.errors import IndexBusy, KnowledgeError, NoIndex, SourceUnavailable
from contracts.ports import SearchRequest
from tests.support.engines.kinds import KINDS, Servers, contents, new_name
from tests.support.fork_server import Program
from tests.support.markdown_pages import write
from tests.support.shelves import embedder, fill_vectors
from tests.support.wire.server_process import FakeServer

ROOT = Path(__file__).resolve().parents[2]
PROBE = {dimension("body", word): 1.0 for word in ("guardian", "turn", "document", "pear", "документ")}
PAGES = {f"{name}.md": f"# Page {name}\n\nA pear, and {name} more.\n" for name in ("one", "two", "three")}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def engine(servers: Servers, kind: str, tmp_path: Path) -> Iterator[IndexEngine]:
    with servers.engine(kind, lock=tmp_path / "fill.lock") as opened:
        yield opened


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write(tmp_path / "docs", PAGES)


@pytest.fixture
def filled(engine: IndexEngine, docs: Path) -> IndexEngine:
    """An engine that holds three pages."""
    assert counted(refill(docs, engine)) == (3, 0, 0)
    return engine


def refill(docs: Path, engine: IndexEngine) -> FillReport:
    ingest(docs, directory=docs.parent / "kb")
    return fill(docs.parent / "kb", engine)


def counted(report: FillReport) -> tuple[int, int, int]:
    """Return how many passages were written, deleted and left alone."""
    return report.written, report.deleted, report.unchanged


def found(engine: IndexEngine, text: str) -> list[str]:
    items = RemoteKnowledge(engine).search_now(SearchRequest(text, top_k=50), Source.DOC).items
    return sorted(item.document for item in items)


def test_a_second_run_has_nothing_to_do(docs: Path, filled: IndexEngine) -> None:
    """A server that is up to date is left as it is, also by a knowledge base that was made anew from the same files."""
    before = contents(filled, PROBE)
    assert counted(refill(docs, filled)) == (0, 0, 3)
    (docs.parent / "kb").rename(docs.parent / "away")
    assert counted(refill(docs, filled)) == (0, 0, 3)
    assert contents(filled, PROBE) == before


def test_only_the_difference_is_written(docs: Path, filled: IndexEngine) -> None:
    """A changed page replaces what was there, a new one comes, and one that is gone goes."""
    write(
        docs, {"two.md": "# Page two\n\nA plum, and two more.\n", "four.md": "# Page four\n\nA pear, and four more.\n"}
    )
    (docs / "three.md").unlink()
    assert counted(refill(docs, filled)) == (2, 1, 1)
    assert found(filled, "pear") == ["docs/four.md", "docs/one.md"]
    assert found(filled, "plum") == ["docs/two.md"]


def test_what_a_difference_leads_to_is_what_a_fill_from_nothing_leads_to(
    servers: Servers, kind: str, docs: Path, filled: IndexEngine
) -> None:
    """After a change so large that the average lengths move, every passage is encoded anew; nothing old is left."""
    write(docs, {"long.md": "# Long\n\n" + "A pear is longer than an apple. " * 200})
    changed = refill(docs, filled)
    assert (changed.unchanged, changed.deleted) == (0, 0)
    with servers.engine(kind) as other:
        fill(docs.parent / "kb", other)
        assert contents(filled, PROBE) == contents(other, PROBE)


def test_a_small_change_does_not_encode_everything_anew(docs: Path, engine: IndexEngine) -> None:
    """Averages that hardly move are kept, so that one new page among many is one page's work; ranking stays right."""
    write(docs, {f"{n}.md": f"# Page {n}\n\nA pear and {n} apples lie in the basket.\n" for n in range(60)})
    refill(docs, engine)
    write(docs, {"more.md": "# More\n\nA quince and a pear lie in the basket.\n"})
    assert refill(docs, engine).written == 1
    with KnowledgeBase(docs.parent / "kb") as embedded:
        here = embedded.search_now(SearchRequest("quince", top_k=5), Source.DOC).items[0]
    there = RemoteKnowledge(engine).search_now(SearchRequest("quince", top_k=5), Source.DOC).items[0]
    assert (there.document, there.confidence) == (here.document, pytest.approx(here.confidence, abs=0.01))


def test_everything_may_go(docs: Path, filled: IndexEngine) -> None:
    """A knowledge base without documents empties the server, and searching it finds nothing, which is no error."""
    for page in docs.iterdir():
        page.unlink()
    assert counted(refill(docs, filled)) == (0, 3, 0)
    assert found(filled, "pear") == []
    assert RemoteKnowledge(filled).on_topic_now("pear") == 0.0


@pytest.fixture(scope="module")
def library(model_server: FakeServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every tenth page of the handbook in both languages, some hundred passages, and their vectors."""
    root = tmp_path_factory.mktemp("library")
    for language in ("en", "ru"):
        texts = (page.read_text("utf-8") for page in sorted((ROOT / "knowledge" / language).glob("*.md"))[::10])
        write(root / "docs", {f"{language}/{number}.md": text for number, text in enumerate(texts)})
    ingest(root / "docs", directory=root / "kb")
    assert fill_vectors(root / "kb", embedder(model_server.url)).missing == 0
    return root / "kb"


@pytest.mark.slow
def test_a_killed_run_is_finished_by_the_next(
    servers: Servers, kind: str, library: Path, model_server: FakeServer
) -> None:
    """Killed between two batches, and once more, a fill ends as one that nobody disturbed: to the last weight."""
    model = embedder(model_server.url)
    meaning = asyncio.run(model.embed_query("documents"))
    model_server.clear()
    name = new_name()
    for batches in (5, 9):
        kill_after(batches, library, servers.url(kind), name)
    with servers.engine(kind, name) as engine, servers.engine(kind) as other:
        with pytest.raises(SourceUnavailable, match="not been filled"):
            RemoteKnowledge(engine).on_topic_now("documents")
        half = len(list(engine.held()))
        whole = fill(library, other, model)
        rest = fill(library, engine, model)
        assert 0 < half < whole.passages
        assert rest.unchanged == half
        assert rest.written == whole.passages - half
        assert contents(engine, PROBE, meaning) == contents(other, PROBE, meaning)
    assert model_server.requests() == []


def kill_after(batches: int, directory: Path, url: str, name: str) -> None:
    """Fill in a process of its own, and kill it when it has told of so many batches."""
    script = f"""
import time
from pathlib import Path
from adapters.index.remote.engines import engine_at
from adapters.index.remote.filling import fill
from tests.support.shelves import embedder
def told(done, total):
    print(done, flush=True)
    time.sleep(0.02)
fill(Path({str(directory)!r}), engine_at({url!r}, profile={name!r}), embedder("http://127.0.0.1:1"), batch=4, on_progress=told)
"""
    with Program[bytes](["-c", script], cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout
        for _ in range(batches):
            assert process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL


def test_searches_go_on_while_it_is_filled(docs: Path, filled: IndexEngine) -> None:
    """A fill that stops half-way leaves the statistics of the one before: what is there can be searched."""
    write(docs, {f"{n}.md": f"# Page {n}\n\nA pear and {n} quinces.\n" for n in range(40)})
    ingest(docs, directory=docs.parent / "kb")

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fill(docs.parent / "kb", filled, batch=5, on_progress=stop)
    assert found(filled, "pear")
    fill(docs.parent / "kb", filled)
    assert len(found(filled, "quinces")) == 40


def test_counting_and_writing_tell_how_far_they_are(docs: Path, filled: IndexEngine) -> None:
    """A fill of many passages counts their words first: both take long, and both are told."""
    write(docs, {f"{n}.md": f"# Page {n}\n\nA pear and {n} quinces.\n" for n in range(40)})
    ingest(docs, directory=docs.parent / "kb")
    counting: list[tuple[int, int]] = []
    writing: list[tuple[int, int]] = []

    report = fill(
        docs.parent / "kb",
        filled,
        batch=10,
        on_counted=lambda *told: counting.append(told),
        on_progress=lambda *told: writing.append(told),
    )

    steps = range(10, report.passages + 1, 10)
    assert counting == [(done, report.passages) for done in steps]
    assert writing[-1] == (report.written, report.written)


def test_two_do_not_fill_at_once(docs: Path, filled: IndexEngine) -> None:
    """Who comes second is told so, and may come again when the first has finished."""
    with filled.alone(), pytest.raises(IndexBusy):
        refill(docs, filled)
    assert counted(refill(docs, filled)) == (0, 0, 3)


def test_what_was_filled_otherwise_is_filled_anew(
    docs: Path, filled: IndexEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index made with other words is not searched, with a way out, and the next fill writes all of it again."""
    for module in ("state", "filling"):
        monkeypatch.setattr(f"adapters.index.remote.{module}.analyser", lambda: "another")
    with pytest.raises(SourceUnavailable, match="another version") as caught:
        found(filled, "pear")
    assert "guardian index" in caught.value.way_out
    assert counted(refill(docs, filled)) == (3, 0, 0)
    assert len(found(filled, "pear")) == 3


@pytest.mark.parametrize("text", [None, "", "{", "[]", "{}", '{"averages": [1], "filled": null}'])
def test_a_state_that_cannot_be_read_is_none(text: str | None) -> None:
    """Whatever stands there, a fill begins from nothing instead of failing."""
    assert State.read(text) is None


def test_without_a_knowledge_base_nothing_is_emptied(docs: Path, filled: IndexEngine) -> None:
    """Nothing indexed is no reason to delete what a server has."""
    with pytest.raises(NoIndex):
        fill(docs.parent / "nothing", filled)
    assert len(found(filled, "pear")) == 3


@pytest.mark.parametrize("harm", ["@@@garbage", ""])
def test_damaged_statistics_are_written_anew(docs: Path, filled: IndexEngine, harm: str) -> None:
    """A search that cannot read them says to fill the server, and a fill then mends them, though no page has changed."""
    before = contents(filled, PROBE)
    for key in filled.notes():
        if key.startswith("words:"):
            filled.keep_note(key, harm)
    with pytest.raises(SourceUnavailable, match="cannot be read") as caught:
        found(filled, "pear")
    assert "guardian index" in caught.value.way_out
    assert counted(refill(docs, filled)) == (0, 0, 3)
    assert len(found(filled, "pear")) == 3
    assert contents(filled, PROBE) == before


def test_statistics_that_are_gone_are_written_anew(docs: Path, filled: IndexEngine) -> None:
    """A note that somebody deleted is no dead end either."""
    filled.drop_notes([key for key in filled.notes() if key.startswith("words:")])
    refill(docs, filled)
    assert len(found(filled, "pear")) == 3


def test_a_server_that_is_away_is_an_error_with_a_way_out(kind: str, library: Path) -> None:
    """The message has the address, without a password, and says that the same command goes on."""
    from adapters.index.remote.engines import engine_at

    scheme = "postgresql" if kind == "postgres" else "qdrant"
    engine = engine_at(f"{scheme}://127.0.0.1:1/nothing", profile="nothing", key="hunter2")
    with pytest.raises(KnowledgeError) as caught:
        fill(library, engine)
    assert "127.0.0.1:1" in caught.value.message
    assert "goes on where it stopped" in caught.value.way_out
    assert "hunter2" not in str(caught.value)


def test_statistics_are_renewed_while_somebody_searches(
    docs: Path, filled: IndexEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that is open for long finds what another process filled in, a few seconds later."""
    open_ = RemoteKnowledge(filled)
    assert open_.count() == {"doc": 3}
    write(docs, {"four.md": "# Page four\n\nA medlar.\n"})
    refill(docs, filled)
    monkeypatch.setattr("adapters.index.remote.search._FRESH_S", 0.0)
    assert open_.count() == {"doc": 4}
    assert open_.search_now(SearchRequest("medlar"), Source.DOC).items
