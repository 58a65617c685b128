from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from adapters.index.embedded import DocumentSource, KnowledgeBase
from adapters.index.ranking.reranker import RerankedSource, Reranker
from contracts.enums import Language
from contracts.evidence import Fate
from contracts.ports import SearchReply, SearchRequest
from tests.support.replies import keys
from tests.support.shelves import ENGLISH, KEY, reranker, shelf
from tests.support.wire.server_process import FakeServer

PAGES = {
    "a.md": "# Roses\n\nRoses, roses, roses: all about roses.\n",
    "b.md": "# Evening\n\nIn the evening roses get their water.\n",
    "c.md": "# Kettle\n\nThe kettle is beside the roses.\n",
    "d.md": "# Вечер\n\nВечером розы поливают водой.\n",
}
QUERY = "roses water evening"


@pytest.fixture(scope="module")
def knowledge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(shelf(tmp_path_factory.mktemp("roses"), PAGES)) as opened:
        yield opened


def ask(
    knowledge: KnowledgeBase, model: Reranker | None, query: str = QUERY, top: int = 20, **more: Any
) -> SearchReply:
    plain = DocumentSource(knowledge)
    source = RerankedSource(plain, model, top) if model else plain
    return asyncio.run(source.search(SearchRequest(query, **more)))


def results(*scores: object, places: list[int] | None = None) -> dict[str, Any]:
    places = places or list(range(len(scores)))
    return {
        "json": {"results": [{"index": i, "relevance_score": score} for i, score in zip(places, scores, strict=True)]}
    }


def in_tei(*scores: object) -> dict[str, Any]:
    return {"json": [{"index": place, "score": score} for place, score in enumerate(scores)]}


@pytest.mark.parametrize("shape", ["cohere", "tei"])
def test_the_models_order_stands_with_its_scores_in_the_trace(
    knowledge: KnowledgeBase, server: FakeServer, shape: Any
) -> None:
    """In both shapes the items come in the order of the scores, confidence stays, and the articles have the raw scores."""
    alone = ask(knowledge, None)
    scores = [float(n) for n in range(len(alone.items))]
    reply = results(*scores) if shape == "cohere" else in_tei(*scores)
    server.script([{"when": {"purpose": "rerank"}, "reply": reply}])
    found = ask(knowledge, reranker(server.url if shape == "cohere" else server.root, shape))
    assert found.items == alone.items[::-1]
    assert [article["rerank_score_raw"] for article in found.trace.articles] == scores[::-1]
    assert [article["document"] for article in found.trace.articles] == keys(found)
    assert found.trace.confidence == alone.trace.confidence
    assert found.trace.degraded == ""


def test_each_shape_is_asked_in_its_own_words(knowledge: KnowledgeBase, server: FakeServer) -> None:
    """Cohere's has model, query, documents and top_n; TEI's query and texts; both carry the key."""
    ask(knowledge, reranker(server.url))
    ask(knowledge, reranker(server.root, "tei"))
    one, other = server.requests()
    assert (one["path"], other["path"]) == ("/v1/rerank", "/rerank")
    assert set(one["body"]) == {"model", "query", "documents", "top_n"}
    assert one["body"]["model"] == "fake-reranker"
    assert one["body"]["top_n"] == len(one["body"]["documents"]) == 3
    assert other["body"]["texts"] == one["body"]["documents"]
    assert one["headers"]["authorization"] == other["headers"]["authorization"] == f"Bearer <{len(KEY)} characters>"


def test_a_model_that_reads_sees_past_repeated_words(knowledge: KnowledgeBase, server: FakeServer) -> None:
    """The passage that answers comes first where the best by words only repeats one of them."""
    assert keys(ask(knowledge, reranker(server.url), "roses water"))[0] == "docs/b.md"


def test_what_is_below_the_top_keeps_its_place_behind_it(knowledge: KnowledgeBase, server: FakeServer) -> None:
    """Of the first N only the order changes; what follows follows."""
    alone = ask(knowledge, None)
    server.script([{"when": {"purpose": "rerank"}, "reply": results(0.1, 0.9)}])
    found = ask(knowledge, reranker(server.url), top=2)
    assert found.items == (alone.items[1], alone.items[0], *alone.items[2:])
    assert len(server.requests()[0]["body"]["documents"]) == 2
    assert [article["rerank_score_raw"] for article in found.trace.articles] == [0.9, 0.1, None]


def test_more_is_read_than_is_returned(knowledge: KnowledgeBase, server: FakeServer) -> None:
    """One item that is wanted is the model's best of N, and figures and articles are of what is returned."""
    server.script([{"when": {"purpose": "rerank"}, "reply": results(0, 0, 1)}])
    found = ask(knowledge, reranker(server.url), top_k=1)
    assert found.items == ask(knowledge, None).items[2:3]
    assert len(found.trace.articles) == 1
    assert found.trace.articles[0]["confidence"] == found.trace.confidence.top_score == found.items[0].confidence


def test_what_the_model_read_and_did_not_choose_is_told(knowledge: KnowledgeBase, server: FakeServer) -> None:
    """Behind the passage that is returned stand the others that were read, with the model's scores, as over the limit."""
    server.script([{"when": {"purpose": "rerank"}, "reply": results(0.2, 0.1, 0.9)}])
    found = ask(knowledge, reranker(server.url), top_k=1)
    told = [(row.rerank_score_raw, row.fate) for row in found.trace.passages]
    assert told == [(0.9, Fate.FOUND), (0.2, Fate.OVER_LIMIT), (0.1, Fate.OVER_LIMIT)]
    assert (found.trace.found, found.trace.folded) == (3, 0)


def test_each_request_is_on_record(knowledge: KnowledgeBase, server: FakeServer) -> None:
    """Also one that failed: purpose, model, server, what was wrong, and the time it took; never the key."""
    fault = {"when": {"purpose": "rerank"}, "reply": {"status": 400}}
    server.script([fault])
    (failed,) = ask(knowledge, reranker(server.url)).calls
    server.script([])
    (call,) = ask(knowledge, reranker(server.url)).calls
    assert (call.purpose, call.model, call.fault, call.http_status) == ("rerank", "fake-reranker", "", 200)
    assert (failed.fault, failed.http_status) == ("bad_request", 400)
    assert call.ms > 0
    assert server.url.split("/")[2] == call.server
    assert KEY not in str((call, failed))


def test_equal_scores_keep_the_sources_order(knowledge: KnowledgeBase, server: FakeServer) -> None:
    """A model without an opinion changes nothing."""
    server.script([{"when": {"purpose": "rerank"}, "reply": results(0.5, 0.5, 0.5)}])
    assert ask(knowledge, reranker(server.url)).items == ask(knowledge, None).items


def test_a_query_in_another_language_than_the_models_is_as_without_it(
    knowledge: KnowledgeBase, server: FakeServer
) -> None:
    """An English-only model is not asked in Russian, nor about Russian documents."""
    model = reranker(server.url, languages=ENGLISH)
    assert ask(knowledge, model, "розы вечером") == ask(knowledge, None, "розы вечером")
    assert ask(knowledge, model, language=Language.RU) == ask(knowledge, None, language=Language.RU)
    assert server.requests() == []


def test_nothing_found_is_nothing_asked(knowledge: KnowledgeBase, server: FakeServer) -> None:
    """Without an item there is nothing to put in order."""
    assert ask(knowledge, reranker(server.url), "zzzz").items == ()
    assert server.requests() == []


def test_a_long_list_is_sent_to_tei_in_parts(server: FakeServer) -> None:
    """TEI takes 32 texts at once; the scores come back in the order of the texts."""
    texts = [f"{'kettle' if n % 2 else 'garden'} {n}" for n in range(70)]
    scores = asyncio.run(reranker(server.root, "tei").scores("kettle", texts))
    assert scores == [float(n % 2) for n in range(70)]
    assert [len(request["body"]["texts"]) for request in server.requests()] == [32, 32, 6]


FAULTS = {
    "down": ({"reset": True}, "broke off"),
    "slow": ({"hang": True}, "no answer in time"),
    "broken": ({"status": 500}, "HTTP 500"),
    "repeating the key": ({"status": 403, "body": f"wrong key {KEY}"}, "wrong key ***"),
    "a page": ({"body": "<html>welcome</html>"}, "not JSON"),
    "the other shape": (in_tei(1, 2, 3), "no list of scores"),
    "too few": (results(0.1, 0.2), "2 scores where 3 are due"),
    "a place twice": (results(0.1, 0.2, 0.3, places=[0, 0, 1]), "which text each is for"),
    "a place that is none": (results(0.1, 0.2, 0.3, places=[0, 1, 3]), "which text each is for"),
    "NaN": (results(0.1, float("nan"), 0.3), "finite"),
    "texts": (results(0.1, "0.2", 0.3), "not a number"),
    "null": ({"json": None}, "no list of scores"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_leaves_the_ranking_as_it_was_and_is_told(
    knowledge: KnowledgeBase, server: FakeServer, fault: str
) -> None:
    """Whatever is wrong with the model, the source's own reply is returned, and the trace says what and where."""
    reply, words = FAULTS[fault]
    server.script([{"when": {"purpose": "rerank"}, "reply": reply}])
    # Only what hangs is to run out of time: on a busy machine any reply might.
    asked = reranker(server.url, timeout_s=0.5 if fault == "slow" else 20.0)
    found, alone = ask(knowledge, asked, top_k=2), ask(knowledge, None, top_k=2)
    assert found.items == alone.items
    assert found.trace.confidence == alone.trace.confidence
    assert found.trace.articles == alone.trace.articles
    said = found.trace.degraded
    assert said.startswith("reranker: ")
    assert words in said
    assert KEY not in said


def test_nobody_there_leaves_the_ranking_as_it_was(knowledge: KnowledgeBase) -> None:
    """A server that does not run is named with its address and its setting."""
    found = ask(knowledge, reranker("http://127.0.0.1:9/v1"))
    assert found.items == ask(knowledge, None).items
    assert "127.0.0.1:9: it cannot be reached" in found.trace.degraded
    assert "GUARDIAN_RERANK_URL" in found.trace.degraded
