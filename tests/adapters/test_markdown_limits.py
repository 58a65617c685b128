"""A large index answers a limited search by another way; what it answers is the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import adapters.index.embedded.nearest
from adapters.index.embedded import Folder, KnowledgeBase, ingest
from contracts.enums import Language, Source
from contracts.ports import SearchRequest

TOPICS = ("kettle", "filter", "lid", "чайник", "фильтр", "крышка")
LIMITS = [
    SearchRequest("", language=Language.EN),
    SearchRequest("", language=Language.RU),
    SearchRequest("", version="5.0"),
    SearchRequest("", version="4.0", language=Language.EN),
    SearchRequest("", expand=True, language=Language.EN),
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages in both languages, of two kinds and of two versions."""
    root = tmp_path_factory.mktemp("limits")
    folders = (
        ("docs", Source.DOC, None),
        ("rules", Source.POLICY, None),
        ("new", Source.DOC, "5.0"),
        ("old", Source.DOC, "4.0"),
    )
    for name, _, _ in folders:
        (root / name).mkdir()
        for number in range(24):
            topic = TOPICS[number % len(TOPICS)]
            words = f"the {topic} is here in the kitchen" if topic.isascii() else f"{topic} стоит на кухне у окна"
            text = f"{words} {topic} {name} {' '.join(TOPICS[: number % 5])} {number}. " * (1 + number % 4)
            (root / name / f"{number}.md").write_text(f"# Page {number} {name}\n\n{text}\n", "utf-8")
    ingest([Folder(root / name, source, version) for name, source, version in folders], directory=root / "kb")
    return root / "kb"


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("kind", [Source.DOC, Source.POLICY])
@pytest.mark.parametrize("top", [1, 6, 50])
def test_a_large_index_finds_what_a_small_one_does(
    base: Path, limits: SearchRequest, kind: Source, top: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same passages in the same order, with the same scores and confidence, whatever limits the search."""
    answers: list[list[object]] = []
    with KnowledgeBase(base) as knowledge:
        for size in (10**9, 0):
            monkeypatch.setattr(adapters.index.embedded.nearest, "LARGE", size)
            for topic in (*TOPICS, "kettle крышка kitchen"):
                request = SearchRequest(topic, top, limits.language, limits.version, limits.expand)
                found = knowledge.search_now(request, kind).items
                answers.append(
                    [(item.ref, pytest.approx(item.score), pytest.approx(item.confidence)) for item in found]
                )
    half = len(answers) // 2
    assert answers[:half] == answers[half:]
    assert any(answers)
