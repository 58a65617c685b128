from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from adapters.fakes.topic import FakeTopicProbe
from adapters.index.embedded import KnowledgeBase, ingest
from contracts.enums import Source
from contracts.errors import SourceUnavailable
from contracts.ports import TopicProbe, WordProbe
from tests.support.ports.probe_conformance import ALL, RULES, UNHEARD, WORD_RULES


@pytest.fixture(params=["knowledge base", "fake"])
def probe(request: pytest.FixtureRequest, tmp_path: Path) -> FakeTopicProbe | KnowledgeBase:
    """Return each probe there is."""
    if request.param == "fake":
        return FakeTopicProbe(0.7, missing=[UNHEARD])
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "page.md").write_text("# Documents\n\nTo add documents, index their folder.\n", "utf-8")
    ingest(docs, directory=tmp_path / "kb")
    return KnowledgeBase(tmp_path / "kb")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
async def test_every_probe_keeps_the_rules(rule: Callable[[TopicProbe], Awaitable[None]], probe: TopicProbe) -> None:
    """A probe of any kind passes the suite of its port."""
    await rule(probe)


@pytest.mark.parametrize("rule", WORD_RULES, ids=lambda rule: rule.__name__)
async def test_every_word_probe_keeps_the_rules(rule: Callable[[WordProbe], Awaitable[None]], probe: WordProbe) -> None:
    """Who knows the documents' words passes the suite of that port."""
    await rule(probe)


async def test_a_word_of_documents_that_the_role_may_not_read_is_unknown_to_it(tmp_path: Path) -> None:
    """Of a word that policies alone have, a reader of documents alone is told that it does not occur."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "page.md").write_text("# Documents\n\nTo add documents, index their folder.\n", "utf-8")
    (docs / "rule.md").write_text("---\nsource: policy\n---\n# Rules\n\nQuarantine is ordered by the head.\n", "utf-8")
    ingest(docs, directory=tmp_path / "kb")
    probe = KnowledgeBase(tmp_path / "kb")
    asked = "Is there quarantine for documents?"
    assert await probe.unknown(asked, ALL) == ()
    assert await probe.unknown(asked, frozenset({Source.DOC})) == ("quarantine",)
    assert await probe.unknown(asked, frozenset({Source.POLICY})) == ("documents",)


async def test_a_probe_that_cannot_be_asked_says_so() -> None:
    """Not to be asked is an error, not the answer 0."""
    with pytest.raises(SourceUnavailable):
        await FakeTopicProbe(SourceUnavailable("down")).on_topic("anything")
    with pytest.raises(SourceUnavailable):
        await FakeTopicProbe(SourceUnavailable("down")).unknown("anything", ALL)
