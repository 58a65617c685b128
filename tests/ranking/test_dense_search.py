from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from adapters.index.dense import DEPTH
from adapters.index.embedded import KnowledgeBase, ingest
from adapters.index.ranking.embedder import Embedder
from adapters.index.ranking.embeddings import HttpEmbedder
from adapters.index.ranking.similarity import Calibration, foreign_questions
from contracts.calls import ModelCall
from contracts.enums import CallPurpose, Language, Source
from contracts.ports import SearchReply, SearchRequest
from tests.support.markdown_pages import write
from tests.support.replies import keys
from tests.support.shelves import ENGLISH, KEY, PAGES, UNSHARED, embedder, fill_vectors, shelf
from tests.support.wire.server_process import FakeServer, fake_server


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A knowledge base with the vectors of both languages."""
    kb = shelf(tmp_path_factory.mktemp("library"))
    with fake_server() as server:
        assert fill_vectors(kb, embedder(server.url)).missing == 0
    return kb


def ask(kb: Path, query: str, model: Embedder | None = None, **more: Any) -> SearchReply:
    with KnowledgeBase(kb, embedder=model) as knowledge:
        return asyncio.run(knowledge.search(SearchRequest(query, **more), Source.DOC))


def queries_asked(server: FakeServer) -> list[str]:
    return [text for request in server.requests() for text in request["body"]["input"]]


# ------------------------------------------------------------------------------------------------------- what it finds


def test_a_page_that_shares_no_word_with_the_query_is_found_by_meaning(library: Path, server: FakeServer) -> None:
    """What words cannot find comes first where its vector is nearest, with what the similarity is worth."""
    assert ask(library, UNSHARED).items == ()
    reply = ask(library, UNSHARED, embedder(server.url))
    assert keys(reply)[0] == "docs/en/file-system.md"
    best, second = reply.items[:2]
    assert best.score == 0
    assert best.confidence > 0.5 > second.confidence
    assert reply.trace.articles[0]["similarity"] > reply.trace.articles[1]["similarity"]  # type: ignore[operator]
    assert reply.trace.degraded == ""


def test_a_query_in_another_language_than_the_models_is_as_without_it(library: Path, server: FakeServer) -> None:
    """An English-only model is not asked in Russian, whatever documents are wanted, and the whole reply is the same."""
    for language in (None, Language.RU, Language.EN):
        model = embedder(server.url, languages=ENGLISH)
        query = "когда поливают розы"
        assert ask(library, query, model, language=language) == ask(library, query, language=language)
    assert server.requests() == []


def test_an_english_word_asked_of_russian_documents_is_as_without_an_english_model(
    library: Path, server: FakeServer
) -> None:
    """Where Russian documents are wanted, a model without Russian is not asked, also for a query in Latin letters."""
    model = embedder(server.url, languages=ENGLISH)
    reply = ask(library, "filesystems", model, language=Language.RU)
    assert reply == ask(library, "filesystems", language=Language.RU)
    assert server.requests() == []


def test_only_passages_in_the_models_languages_get_a_vector(tmp_path: Path, server: FakeServer) -> None:
    """An English-only model never reads a Russian page."""
    fill_vectors(shelf(tmp_path), embedder(server.url, languages=ENGLISH))
    sent = queries_asked(server)
    assert any("kettle" in text for text in sent)
    assert not any("чайник" in text.lower() for text in sent)


def test_words_and_meaning_say_together_how_sure_a_passage_is(library: Path, server: FakeServer) -> None:
    """What both find is surer than what one of them finds; scores stay those by words, and the trace has all figures."""
    alone = {item.ref: item for item in ask(library, "when are roses watered").items}
    reply = ask(library, "when are roses watered", embedder(server.url))
    beside = {item.ref: item for item in reply.items}
    assert {ref: beside[ref].score for ref in alone} == {ref: item.score for ref, item in alone.items()}
    garden, *others = reply.items
    assert garden.document == "docs/en/garden.md"
    assert garden.confidence > 0.9 > max(item.confidence for item in others)
    assert reply.trace.spread is not None
    assert all(row.similarity is not None and row.fused is not None for row in reply.trace.passages)
    fused = [row.fused for row in reply.trace.passages]
    assert fused == sorted(fused, reverse=True)  # type: ignore[type-var]


def test_a_question_is_on_topic_by_words_and_meaning_together(library: Path, server: FakeServer) -> None:
    """What shares no word with any page is on topic where its meaning is near, and the request is on record."""
    made: list[ModelCall] = []
    with KnowledgeBase(library, embedder=embedder(server.url)) as knowledge:
        near = asyncio.run(knowledge.on_topic(UNSHARED, made))
        far = asyncio.run(knowledge.on_topic("quantum chromodynamics"))
        assert knowledge.on_topic_now(UNSHARED) == 0.0
    assert near > 0.5 > far
    assert [call.purpose for call in made] == [CallPurpose.EMBED]


def test_a_filter_holds_for_what_meaning_finds(tmp_path: Path, server: FakeServer) -> None:
    """Kind of source, version and excluded documents limit the nearest passages as they limit those with the words."""
    docs = write(tmp_path / "docs", {"a.md": "---\nversion: '1'\n---\n# The file system\n\nIt is old.\n"})
    write(docs, {"b.md": "---\nversion: '2'\n---\n# The file system\n\nIt is new.\n"})
    write(docs, {"c.md": "---\nsource: policy\n---\n# The file system\n\nIt is law.\n"})
    kb = tmp_path / "kb"
    ingest(docs, directory=kb)
    model = embedder(server.url)
    fill_vectors(kb, model)
    assert keys(ask(kb, UNSHARED, model)) == ["docs/b.md"]
    assert keys(ask(kb, UNSHARED, model, version="1")) == ["docs/a.md"]
    assert keys(ask(kb, UNSHARED, model, exclude=frozenset({"docs/b.md"}))) == []
    with KnowledgeBase(kb, embedder=model) as knowledge:
        reply = asyncio.run(knowledge.search(SearchRequest(UNSHARED), Source.POLICY))
    assert keys(reply) == ["docs/c.md"]


def test_as_many_are_returned_as_are_wanted(library: Path, server: FakeServer) -> None:
    """Fusing makes no more items than `top_k`, and each once."""
    for top_k in (1, 3, DEPTH + 5):
        items = ask(library, "roses and kettles", embedder(server.url), top_k=top_k).items
        assert len(items) == len({item.ref for item in items}) == min(top_k, len(PAGES))


# -------------------------------------------------------------------------------------------------------- asking once


def test_a_vector_is_asked_for_once(tmp_path: Path, server: FakeServer) -> None:
    """A second run asks nothing, one after a change only for the passage that changed, and what went is dropped."""
    kb = shelf(tmp_path)
    seen: list[tuple[int, int]] = []
    model = embedder(server.url)
    report = fill_vectors(kb, model, lambda done, total: seen.append((done, total)))
    assert (report.asked, report.kept, report.missing, report.fault) == (6, 6, 0, "")
    assert seen == [(6, 6)]
    server.clear()
    assert fill_vectors(kb, embedder(server.url)).asked == 0
    assert server.requests() == []
    write(tmp_path / "docs", {"en/kettle.md": "# The kettle\n\nIt whistles now.\n"}, aged=False)
    ingest(tmp_path / "docs", directory=kb)
    report = fill_vectors(kb, embedder(server.url))
    assert (report.asked, report.kept) == (1, 6)
    asked = queries_asked(server)
    assert "whistles" in asked[0]
    assert set(asked[1:]) == {text for _, text in foreign_questions()}


def test_another_model_is_asked_anew(tmp_path: Path, server: FakeServer) -> None:
    """Vectors belong to the model that made them: a changed name, or words before a passage, makes all of them again."""
    kb = shelf(tmp_path)
    assert fill_vectors(kb, embedder(server.url)).asked == 6
    assert fill_vectors(kb, embedder(server.url, model="another")).asked == 6
    assert (
        fill_vectors(kb, HttpEmbedder(embedder(server.url, model="another")._access, text_prefix="passage: ")).asked
        == 6
    )
    assert any(text.startswith("passage: The") for text in queries_asked(server))


def test_a_query_is_asked_for_once_by_searches_at_the_same_time(library: Path, server: FakeServer) -> None:
    """Documents and policies of one query, and the same query later, share one request."""

    async def search() -> None:
        with KnowledgeBase(library, embedder=embedder(server.url)) as knowledge:
            request = SearchRequest(UNSHARED)
            await asyncio.gather(*(knowledge.search(request, kind) for kind in (Source.DOC, Source.POLICY)))
            await knowledge.search(request, Source.DOC)

    asyncio.run(search())
    assert queries_asked(server) == [UNSHARED]


def test_a_run_that_breaks_off_goes_on_where_it_stopped(tmp_path: Path, server: FakeServer) -> None:
    """Batches that came are kept, search says what is missing, and the next run asks for the rest alone."""
    pages = {f"{n:02}.md": f"# Page {n}\n\nSubject number{n} of the shelf.\n" for n in range(40)}
    kb = shelf(tmp_path, pages)
    server.script([{"when": {"purpose": "embedding", "attempt": 2}, "reply": {"status": 400}}])
    report = fill_vectors(kb, embedder(server.url))
    assert (report.asked, report.missing) == (32, 8)
    assert "HTTP 400" in report.fault
    server.script([])
    assert "8 passages have no vector yet" in ask(kb, "subject number3", embedder(server.url)).trace.degraded
    assert fill_vectors(kb, embedder(server.url)).asked == 8
    assert ask(kb, "subject number3", embedder(server.url)).trace.degraded == ""


def test_a_passage_that_is_too_long_for_the_model_is_cut(tmp_path: Path, server: FakeServer) -> None:
    """A refusal for length is answered with each passage by itself, and with half of the one that is too long."""
    kb = shelf(tmp_path, {"long.md": f"# Long\n\n{'word ' * 300}endmark\n", "short.md": "# Short\n\nbrief\n"})
    server.script([{"when": {"purpose": "embedding", "contains": "endmark"}, "reply": {"status": 413}}])
    report = fill_vectors(kb, embedder(server.url))
    assert (report.asked, report.fault) == (2, "")


def test_an_open_knowledge_base_sees_new_vectors(tmp_path: Path, server: FakeServer) -> None:
    """Vectors that were made after opening are used by the next search."""
    kb = shelf(tmp_path)
    with KnowledgeBase(kb, embedder=embedder(server.url)) as knowledge:
        request = SearchRequest(UNSHARED)
        before = asyncio.run(knowledge.search(request, Source.DOC))
        assert before.items == ()
        assert "no passage has a vector" in before.trace.degraded
        fill_vectors(kb, embedder(server.url))
        assert asyncio.run(knowledge.search(request, Source.DOC)).items


# -------------------------------------------------------------------------------------------------------------- faults


def vectors(*rows: object, places: list[int] | None = None) -> dict[str, Any]:
    data = [{"index": place, "embedding": row} for place, row in zip(places or range(len(rows)), rows, strict=True)]
    return {"json": {"object": "list", "data": data}}


FAULTS = {
    "down": ({"reset": True}, "broke off"),
    "slow": ({"hang": True}, "no answer in time"),
    "dripping": ({"drip_s": 0.5}, "no answer in time"),
    "broken": ({"status": 500}, "HTTP 500"),
    "busy": ({"status": 429}, "HTTP 429"),
    "refused": ({"status": 401}, "HTTP 401"),
    "repeating the key": ({"status": 401, "body": f"wrong key {KEY}"}, "HTTP 401: wrong key ***"),
    "a page": ({"body": "<html>welcome</html>", "content_type": "text/html"}, "not JSON"),
    "cut": ({"cut_at": 40}, "broke off"),
    "no list": ({"json": {"data": None}}, "no list of vectors"),
    "a bare list": ({"json": [[0.5]]}, "no list of vectors"),
    "too many": (vectors([0.5] * 256, [0.5] * 256), "2 vectors where 1 are due"),
    "none": (vectors(), "0 vectors where 1 are due"),
    "no place": (vectors([0.5] * 256, places=[7]), "which text each is for"),
    "NaN": (vectors([float("nan")] * 256), "finite"),
    "infinity": (vectors([float("inf")] * 256), "finite"),
    "huge": ({"body": '{"data": [{"index": 0, "embedding": [1%s]}]}' % ("0" * 400)}, "finite"),
    "texts": (vectors(["0.5"] * 256), "not a number"),
    "booleans": (vectors([True] * 256), "not a number"),
    "empty": (vectors([]), "no vector"),
    "another length": (vectors([0.5, 0.5]), "vectors of 2 numbers now"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_leaves_search_by_words_and_is_told(library: Path, server: FakeServer, fault: str) -> None:
    """Whatever is wrong with the model, the ranking by words is returned as it is, and the trace says what and where."""
    reply, words = FAULTS[fault]
    server.script([{"when": {"purpose": "embedding"}, "reply": reply}])
    # Only what hangs is to run out of time: on a busy machine any reply might.
    asked = embedder(server.url, timeout_s=0.5 if fault in ("slow", "dripping") else 20.0)
    found = ask(library, "when are roses watered", asked)
    alone = ask(library, "when are roses watered")
    assert found.items == alone.items
    assert found.items
    said = found.trace.degraded
    assert said.startswith("embeddings: ")
    assert words in said
    assert KEY not in said
    # A sentence and its way out.
    assert said.count(". ") >= 1


def test_nobody_there_leaves_search_by_words_and_is_told(library: Path) -> None:
    """A server that does not run is named with its address, and the key is not."""
    found = ask(library, "roses", embedder("http://127.0.0.1:9/v1"))
    assert found.items == ask(library, "roses").items
    assert "127.0.0.1:9: it cannot be reached" in found.trace.degraded
    assert "GUARDIAN_EMBED_URL" in found.trace.degraded


@pytest.mark.parametrize("fault", ["broken", "NaN", "too many", "a page"])
def test_a_fault_while_indexing_is_told_and_what_words_find_stays(
    tmp_path: Path, server: FakeServer, fault: str
) -> None:
    """Without its vectors a knowledge base is searched by words as ever."""
    kb = shelf(tmp_path)
    server.script([{"when": {"purpose": "embedding"}, "reply": FAULTS[fault][0]}])
    report = fill_vectors(kb, embedder(server.url))
    assert (report.asked, report.missing) == (0, 6)
    assert report.fault
    assert keys(ask(kb, "kettle", embedder(server.url))) == ["docs/en/kettle.md"]


def test_a_fault_that_passes_is_tried_again(library: Path, server: FakeServer) -> None:
    """One failed try within the deadline changes nothing."""
    server.script([{"when": {"purpose": "embedding"}, "times": 1, "reply": {"status": 503}}])
    assert ask(library, UNSHARED, embedder(server.url)).trace.degraded == ""
    assert len(server.requests()) == 2


def test_vectors_come_in_the_order_of_their_places(server: FakeServer) -> None:
    """A server may answer in any order: `index` says which text a vector is for."""
    server.script([{"when": {"purpose": "embedding"}, "reply": vectors([0, 2], [3, 0], places=[1, 0])}])
    first, second = asyncio.run(embedder(server.url).embed(["one", "two"]))
    assert (list(first), list(second)) == ([1, 0], [0, 1])


# -------------------------------------------------------------------------------------------------------- calibration


def test_one_half_is_what_a_tenth_of_foreign_questions_reach() -> None:
    """The midpoint is the ninth tenth of what foreign questions reach; confidence rises with similarity, within 0 and 1."""
    best = [n / 100 for n in range(11)]
    found = Calibration.of(best)
    assert found is not None
    assert found.midpoint == pytest.approx(0.09)
    assert found.confidence(found.midpoint) == pytest.approx(0.5)
    sure = [found.confidence(n / 10) for n in range(-10, 11)]
    assert sure == sorted(sure)
    assert sure[0] >= 0
    assert sure[-1] <= 1
    assert Calibration.of([0.5]) is None


def test_there_are_as_many_foreign_questions_in_each_language() -> None:
    """Thirty in each, all different."""
    texts = {language: {text for own, text in foreign_questions() if own == language} for language in Language}
    assert {language: len(own) for language, own in texts.items()} == {Language.EN: 30, Language.RU: 30}
