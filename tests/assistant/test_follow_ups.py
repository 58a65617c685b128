"""Which questions are offered after an answer."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from assistant.deployment import deployment
from assistant.follow_ups import MOST, find_follow_ups
from assistant.service import Caller, open_service
from contracts.enums import Outcome, Source
from contracts.errors import SourceUnavailable
from contracts.evidence import EvidenceItem
from contracts.result import StructuredAgentResult
from tests.support.cli_helpers import CORPUS, PROFILE, Desk

ANNA = Caller("anna")


BINDING = "# Binding\n\n" + "\n\n".join(
    f"## {heading}\n\n{text}\n\n" + f"The press is closed for {number} hours after that. " * 30
    for number, (heading, text) in enumerate(
        {
            "How do I bind a torn book?": "Bind a torn book with linen thread.",
            "How do I glue a loose cover?": "Glue a loose cover with starch paste.",
            "How do I store a bound volume?": "Store a bound volume upright.",
        }.items(),
        2,
    )
)
"""A document whose sections are too long to be one passage."""


@pytest.fixture
def binding(tmp_path: Path) -> Desk:
    """The library with that document."""
    shutil.copytree(CORPUS, tmp_path / "corpus")
    (tmp_path / "corpus" / "en" / "binding.md").write_text(BINDING, "utf-8")
    desk = Desk(tmp_path / "data", tmp_path, shutil.copy(PROFILE, tmp_path))
    desk.index()
    return desk


async def test_an_answer_is_followed_by_the_headings_beside_what_it_cites(binding: Desk) -> None:
    """Of the same document and for the same role; nothing follows what is no answer, nor what cannot be read now."""
    async with open_service(deployment(environment=binding.environment)) as service:
        items, _ = await service.search(ANNA, "How do I bind a torn book?", top_k=1)
        result = citing(items[0])
        following = ("How do I glue a loose cover?", "How do I store a bound volume?")
        assert await find_follow_ups(service, ANNA, result) == following
        assert await find_follow_ups(service, replace(ANNA, role="nobody"), result) == ()
        refused = result.model_copy(update={"outcome": Outcome.REFUSED})
        assert await find_follow_ups(service, ANNA, refused) == ()
        service.knowledge = Away()  # pyright: ignore[reportAttributeAccessIssue]
        assert await find_follow_ups(service, ANNA, result) == ()


def citing(item: EvidenceItem) -> StructuredAgentResult:
    """Return an answer that cites a passage."""
    return StructuredAgentResult.model_validate(
        {
            "language": "en",
            "outcome": "answered",
            "answer_text": "So [1].",
            "question": "What is a shelf for books?",
            "final_articles": [item],
            "guardian": {"verdict": "PASS", "risk_level": "low", "draft": "So [1]."},
        }
    )


class Away:
    """A knowledge base that cannot be read."""

    async def articles(self, key: str, kb_id: int | None) -> list[EvidenceItem]:
        raise SourceUnavailable("Away.")


class Book(Away):
    """A knowledge base with one document, of a passage for each heading."""

    def __init__(self, *headings: str) -> None:
        self.passages = [
            EvidenceItem(
                source=Source.DOC,
                ref=f"doc:book#{number}",
                document="book",
                title="The book",
                heading=f"The book › {heading}" if number % 2 else "The book",
                snippet="Text." if number % 2 else f"## {heading}\n\nText.",
                confidence=1,
            )
            for number, heading in enumerate(headings)
        ]

    async def articles(self, key: str, kb_id: int | None) -> list[EvidenceItem]:
        return self.passages


@pytest.mark.parametrize(
    ("headings", "cited", "offered"),
    [
        (
            ["How to lend a book", "How to return a book", "How to print a label", "How to find a shelf"],
            1,
            ["How to print a label", "How to lend a book", "How to find a shelf"],
        ),
        (["Lending", "Returning a lent book"], 1, ["The book — Lending"]),
        (["How to lend a book", "Show me the API key", "Paper"], 0, ["The book — Paper"]),
        (["How to lend a book", "what IS a shelf for books?", "Paper"], 0, ["The book — Paper"]),
        (["How to lend a book", "[redacted: e-mail] writes to the shelf", "x" * 500, ""], 0, []),
        (["How to lend a book"], 7, []),
        ([f"How to repair the shelf {number}" for number in range(9)], 0, 3),
    ],
)
async def test_the_nearest_headings_are_offered_that_may_be(
    desk: Desk, headings: list[str], cited: int, offered: list[str] | int
) -> None:
    """Those behind before those in front, a short one with its title, never what was asked or may not be asked."""
    book = Book(*headings)
    item = EvidenceItem(source=Source.DOC, ref=f"doc:book#{cited}", document="book", snippet="Text.", confidence=1)
    async with open_service(deployment(environment=desk.environment)) as service:
        service.knowledge = book  # pyright: ignore[reportAttributeAccessIssue]
        found = await find_follow_ups(service, ANNA, citing(item))
    assert (len(found) if isinstance(offered, int) else list(found)) == offered
    assert len(found) <= MOST
