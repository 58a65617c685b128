from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from adapters.fakes.topic import FakeTopicProbe
from adapters.sources.markdown import KnowledgeBase, ingest
from contracts.errors import SourceUnavailable
from contracts.ports import TopicProbe
from tests.support.ports.probe_conformance import RULES


@pytest.fixture(params=["knowledge base", "fake"])
def probe(request: pytest.FixtureRequest, tmp_path: Path) -> TopicProbe:
    """Return each probe there is."""
    if request.param == "fake":
        return FakeTopicProbe(0.7)
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "page.md").write_text("# Documents\n\nTo add documents, index their folder.\n", "utf-8")
    ingest(docs, directory=tmp_path / "kb")
    return KnowledgeBase(tmp_path / "kb")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
async def test_every_probe_keeps_the_rules(rule: Callable[[TopicProbe], Awaitable[None]], probe: TopicProbe) -> None:
    """A probe of any kind passes the suite of its port."""
    await rule(probe)


async def test_a_probe_that_cannot_be_asked_says_so() -> None:
    """Not to be asked is an error, not the answer 0."""
    with pytest.raises(SourceUnavailable):
        await FakeTopicProbe(SourceUnavailable("down")).on_topic("anything")
