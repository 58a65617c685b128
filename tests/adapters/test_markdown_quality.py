"""Floors under what was measured on public data, read from beside the project; each holds on texts of our own as well.

Absent data skips its measurement, and no rule: our handbook, and everyday texts in tests/data, are always there.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.index.embedded import IngestReport, KnowledgeBase, ingest
from contracts.enums import Language, Source
from contracts.ports import SearchRequest
from evals.cases import CASES
from tests.support.everyday import REQUESTS, list_paragraphs

HANDBOOK = Path(__file__).resolve().parents[2] / "knowledge"
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
FASTAPI, XQUAD, CLINC = DATA / "fastapi-docs", DATA / "xquad", DATA / "routing" / "clinc150_small.json"

pytestmark = pytest.mark.slow


def questions(language: str) -> list[str]:
    """Questions that FastAPI's documentation answers, written for this test."""
    return json.loads(Path(__file__).with_name("fastapi_questions.json").read_text("utf-8"))[language]


def paragraphs(language: str) -> list[tuple[str, list[str]]]:
    """XQuAD's paragraphs, each with its questions."""
    articles = json.loads((XQUAD / f"xquad.{language}.json").read_text("utf-8"))["data"]
    found = [paragraph for article in articles for paragraph in article["paragraphs"]]
    return [(paragraph["context"], [item["question"] for item in paragraph["qas"]]) for paragraph in found]


@pytest.fixture(scope="module")
def fastapi_folder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, IngestReport]:
    """FastAPI's documentation, read in once for this file, and what the run did."""
    if not FASTAPI.is_dir():
        pytest.skip("FastAPI's documentation is not beside the project")
    folder = tmp_path_factory.mktemp("fastapi")
    return folder, ingest(FASTAPI, directory=folder)


@pytest.fixture(scope="module")
def handbook(handbook_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """Our handbook, of which the same is asserted."""
    with KnowledgeBase(Path(shutil.copytree(handbook_index, tmp_path_factory.mktemp("handbook") / "kb"))) as opened:
        yield opened


def handbook_questions(language: str) -> list[str]:
    """Every other labelled question on the handbook that is one message."""
    cases = map(json.loads, (CASES / "handbook.jsonl").read_text("utf-8").splitlines())
    asked = [case["says"] for case in cases if case["id"].startswith(language) and case.get("pages")]
    return [says[0] for says in asked if len(says) == 1][::2]


@pytest.fixture(scope="module")
def fastapi(fastapi_folder: tuple[Path, IngestReport]) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(fastapi_folder[0]) as opened:
        yield opened


def sure(knowledge: KnowledgeBase, texts: list[str]) -> list[float]:
    return [knowledge.on_topic_now(text) for text in texts]


def share(confidences: list[float], threshold: float) -> float:
    return sum(value >= threshold for value in confidences) / len(confidences)


def separation(own: list[float], foreign: list[float]) -> float:
    """Return how often a question of the domain is surer than a foreign one: the area under the ROC curve."""
    wins = sum((one > other) + 0.5 * (one == other) for one in own for other in foreign)
    return wins / (len(own) * len(foreign))


def test_the_handbook_is_read_whole(handbook_index: Path, tmp_path: Path) -> None:
    """Every page of it is in the index that was made of it, and none gives orders or has another fault, as the fixture asserts."""
    pages = len(list(HANDBOOK.rglob("*.md")))
    again = ingest(HANDBOOK, directory=Path(shutil.copytree(handbook_index, tmp_path / "kb")))
    assert (again.unchanged, again.chunks) == (pages, 0)
    assert again.chunks_in_all > 4 * pages


def test_real_documentation_is_read_whole_and_only_once(fastapi_folder: tuple[Path, IngestReport]) -> None:
    """Every page of a large manual in two languages is indexed, and a second run reads none again."""
    folder, first = fastapi_folder
    pages = len(list(FASTAPI.rglob("*.md")))
    assert (first.added, first.skipped, first.warnings) == (pages, [], [])
    assert first.chunks > 4 * pages
    second = ingest(FASTAPI, directory=folder)
    assert (second.unchanged, second.chunks) == (pages, 0)


@pytest.mark.parametrize(("language", "kept"), [("en", 0.95), ("ru", 0.95)])
def test_questions_of_the_domain_reach_the_threshold(fastapi: KnowledgeBase, language: str, kept: float) -> None:
    """Nearly all questions that the documents answer are at 0.5 or above, in both languages."""
    assert share(sure(fastapi, questions(language)), 0.5) >= kept


@pytest.mark.parametrize("language", ["en", "ru"])
def test_questions_of_the_handbook_are_told_from_all_others(handbook: KnowledgeBase, language: str) -> None:
    """They reach 0.5, are surer than foreign questions and everyday requests, and of those fewer than half reach it."""
    own = sure(handbook, handbook_questions(language))
    assert share(own, 0.5) >= 0.95
    foreign = [[question for _, asked in list_paragraphs(one) for question in asked] for one in Language]
    for others in (sure(handbook, texts) for texts in (*foreign, REQUESTS)):
        assert separation(own, others) >= 0.96
        assert share(others, 0.5) < 0.5


@pytest.mark.skipif(not XQUAD.is_dir(), reason="XQuAD is not beside the project")
@pytest.mark.parametrize(("foreign", "floor", "through"), [("en", 0.98, 0.10), ("ru", 0.98, 0.06)])
def test_foreign_questions_are_told_apart(fastapi: KnowledgeBase, foreign: str, floor: float, through: float) -> None:
    """Questions about other things are less sure than any question of the domain, and few reach 0.5."""
    others = sure(fastapi, [question for _, asked in paragraphs(foreign) for question in asked])
    for language in ("en", "ru"):
        assert separation(sure(fastapi, questions(language)), others) >= floor
    assert share(others, 0.5) <= through


@pytest.mark.skipif(not CLINC.is_file(), reason="CLINC is not beside the project")
def test_requests_to_another_assistant_are_told_apart(fastapi: KnowledgeBase) -> None:
    """Short everyday requests, the hardest to tell by their words, are still mostly below the threshold."""
    others = sure(fastapi, [text for text, _ in json.loads(CLINC.read_text("utf-8"))["oos_test"]])
    assert separation(sure(fastapi, questions("en")), others) >= 0.98
    assert separation(sure(fastapi, questions("ru")), others) >= 0.96
    assert share(others, 0.5) <= 0.25


@pytest.mark.skipif(not XQUAD.is_dir(), reason="XQuAD is not beside the project")
@pytest.mark.parametrize(("language", "first", "tenth"), [("en", 0.92, 0.985), ("ru", 0.90, 0.98)])
def test_the_paragraph_that_answers_is_found(tmp_path: Path, language: str, first: float, tenth: float) -> None:
    """Of 240 paragraphs the right one comes first, or among ten, equally well in Russian and in English."""
    assert_found(tmp_path, paragraphs(language), language, first, tenth)


@pytest.mark.parametrize(("language", "first"), [("en", 0.92), ("ru", 0.90)])
def test_the_paragraph_of_our_own_that_answers_is_found(tmp_path: Path, language: str, first: float) -> None:
    """Of a dozen, the right one comes first as often, and it is always found."""
    assert_found(tmp_path, list_paragraphs(Language(language)), language, first, tenth=1.0)


def assert_found(tmp_path: Path, pages: list[tuple[str, list[str]]], language: str, first: float, tenth: float) -> None:
    """Index paragraphs, and fail where fewer shares of their questions find theirs at the first place, or among ten."""
    (tmp_path / "docs").mkdir()
    for number, (text, _) in enumerate(pages):
        (tmp_path / "docs" / f"{number}.md").write_text(text, "utf-8")
    ingest(tmp_path / "docs", directory=tmp_path / "kb")
    hits: list[int] = []
    with KnowledgeBase(tmp_path / "kb") as knowledge:
        for number, (_, asked) in enumerate(pages):
            for question in asked:
                request = SearchRequest(question, top_k=10, language=Language(language))
                keys = [item.document for item in knowledge.search_now(request, Source.DOC).items]
                hits.append(keys.index(f"docs/{number}.md") if f"docs/{number}.md" in keys else 10)
    assert sum(hit == 0 for hit in hits) / len(hits) >= first
    assert sum(hit < 10 for hit in hits) / len(hits) >= tenth
