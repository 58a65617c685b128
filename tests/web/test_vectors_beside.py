"""Vectors that are made beside a server: it answers by words meanwhile, and a killed one is gone on with.

New: the tests of filling hold the lock themselves and wait; here nobody waits.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from blockbuster import blockbuster_ctx

from adapters.index.embedded.ingestion import alone
from adapters.index.ranking.embedder import BATCH
from adapters.index.ranking.similarity import foreign_questions
from assistant.deployment import deployment
from assistant.wiring.background import Filling
from tests.support.cli_helpers import Desk
from tests.support.markdown_pages import write
from tests.support.served_desk import LONGEST_S, serve
from tests.support.wire.server_process import FakeServer, fake_server

PAGES = 8 * BATCH


@pytest.fixture(scope="module")
def model() -> Iterator[FakeServer]:
    """An embedding model that takes its time, if it is told to."""
    with fake_server() as server:
        yield server


@pytest.fixture
def desk(tmp_path: Path, model: FakeServer) -> Iterator[Desk]:
    """A desk whose documents are indexed, and have no vectors yet."""
    model.reset()
    pages = {f"page-{number}.md": f"# Lamp {number}\n\nLamp number {number} gives light.\n" for number in range(PAGES)}
    write(tmp_path / "docs", pages)
    without = Desk(tmp_path / "data", tmp_path)
    without.index(str(tmp_path / "docs"))
    yield without.having(
        GUARDIAN_EMBEDDER="auto",
        GUARDIAN_EMBED_URL=model.url,
        GUARDIAN_EMBED_MODEL="fake-embedder",
        GUARDIAN_EMBED_LANGUAGES="en,ru",
    )
    model.reset()


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONGEST_S
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def texts(model: FakeServer) -> list[str]:
    """Return the passages that vectors were asked for, in order."""
    others = {text for _, text in foreign_questions()}
    sent = [text for request in model.requests() for text in request["body"]["input"]]
    return [text for text in sent if text not in others and "gives light" in text]


def degraded(desk: Desk) -> str:
    """Return what a search of another process complains of."""
    return desk.here("search", "lamp number 7").err


@pytest.mark.slow
def test_a_first_search_does_not_wait_for_vectors_and_a_killed_server_s_are_gone_on_with(
    desk: Desk, model: FakeServer
) -> None:
    """Words answer and say so; after a real kill the next server asks for what is missing, and for one batch again."""
    model.options(delay_ms=1000)
    with serve(desk) as first:
        until(lambda: len(texts(model)) > BATCH)
        with first.client() as client:
            assert "light" in client.get("/v1/search", params={"q": "lamp number 7"}).text
        assert "no passage has a vector of this model yet" in degraded(desk)
        assert len(texts(model)) < PAGES
        first.process.kill()
        assert first.process.wait(LONGEST_S) == -signal.SIGKILL
    model.options(delay_ms=0)
    with serve(desk) as second:
        until(lambda: "no passage has a vector" not in degraded(desk))
        second.signal()
        code, told = second.ended()
    assert code == 0
    assert "Created" in told
    sent = texts(model)
    assert len(set(sent)) == PAGES
    assert len(sent) - PAGES <= BATCH


def test_a_server_that_ends_leaves_no_thread_and_waits_for_no_vector(desk: Desk, model: FakeServer) -> None:
    """In the middle of a request that is not answered, too."""
    filling = Filling(deployment(None, desk.environment))
    with model.held():
        filling.start()
        assert any(thread.name == "vectors" for thread in threading.enumerate())
        filling.stop()
    assert not any(thread.name == "vectors" for thread in threading.enumerate())
    filling.stop()


def test_who_indexes_is_not_in_its_way(desk: Desk, model: FakeServer, capsys: pytest.CaptureFixture[str]) -> None:
    """While another process reads documents in nothing is written; then it goes on, and says when it is done."""
    deployed = deployment(None, desk.environment)
    filling = Filling(deployed)
    with alone(deployed.knowledge_folder):
        filling.start()
        time.sleep(0.2)
        assert texts(model) == []
    until(lambda: "Created" in capsys.readouterr().err)
    filling.stop()
    assert len(texts(model)) == PAGES


def test_no_event_loop_waits_for_a_file_while_vectors_are_made(
    desk: Desk, model: FakeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """`langgraph dev` refuses what blocks an event loop in any thread: there, no vector was ever made."""
    filling = Filling(deployment(None, desk.environment))
    with blockbuster_ctx():
        filling.start()
        until(lambda: not any(thread.name == "vectors" for thread in threading.enumerate()))
    assert "Created" in capsys.readouterr().err
    assert len(texts(model)) == PAGES
