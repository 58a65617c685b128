from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.fakes.sources import FakeSource
from adapters.index.embedded import DocumentSource, Folder, KnowledgeBase, ingest
from contracts.enums import Source
from contracts.errors import SourceUnavailable
from contracts.evidence import EvidenceItem
from contracts.ports import EvidenceSource, SearchRequest
from tests.support.broken_sources import remove_folder
from tests.support.ports.source_conformance import SourceConformance


def knowledge(root: Path, kind: Source) -> KnowledgeBase:
    (root / "docs").mkdir()
    for number in range(4):
        (root / "docs" / f"{number}.md").write_text(f"# Page {number}\n\nAn apple and {'pear ' * number * 5}\n")
    ingest(Folder(root / "docs", kind), directory=root / "kb")
    return KnowledgeBase(root / "kb")


class _Documents(SourceConformance):
    wanted: Source

    @pytest.fixture
    def source(self, tmp_path: Path) -> Iterator[EvidenceSource]:
        with knowledge(tmp_path, self.wanted) as opened:
            yield DocumentSource(opened, self.wanted)

    @pytest.fixture
    def broken(self, tmp_path: Path) -> Iterator[EvidenceSource]:
        with knowledge(tmp_path, self.wanted) as opened:
            remove_folder(tmp_path / "kb")
            yield DocumentSource(opened, self.wanted)


class TestDocuments(_Documents):
    wanted = Source.DOC


class TestPolicies(_Documents):
    wanted = Source.POLICY


def items() -> list[EvidenceItem]:
    return [
        EvidenceItem(source=Source.DB, ref=f"db:{n}#0", document=f"db:{n}", snippet=f"apple {n}", confidence=n / 5)
        for n in range(5)
    ]


class TestFake(SourceConformance):
    @pytest.fixture
    def source(self) -> EvidenceSource:
        return FakeSource(Source.DB, items())

    @pytest.fixture
    def broken(self) -> EvidenceSource:
        return FakeSource(Source.DB, SourceUnavailable("The database is away."))


class TestFakeFunction(TestFake):
    @pytest.fixture
    def source(self) -> EvidenceSource:
        return FakeSource(Source.DB, lambda _: items())


async def test_a_fake_remembers_what_it_was_asked() -> None:
    """Tests of nodes can see each request, in order, also those that failed."""
    fake = FakeSource(Source.DOC, SourceUnavailable("Away."))
    with pytest.raises(SourceUnavailable):
        await fake.search(SearchRequest("one"))
    assert fake.requests == [SearchRequest("one")]


def test_documents_are_documents_or_policies(tmp_path: Path) -> None:
    """A knowledge base of Markdown cannot stand for a database or a graph."""
    with knowledge(tmp_path, Source.DOC) as opened, pytest.raises(ValueError, match="doc or policy"):
        DocumentSource(opened, Source.DB)
