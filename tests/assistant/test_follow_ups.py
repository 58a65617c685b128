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


REPAIRS = "# Repairs\n\n" + "\n\n".join(
    f"## {heading}\n\n{text}"
    for heading, text in {
        "How do I mend a torn page?": "Lay thin tissue over the tear.",
        "How do I flatten a bent corner?": "Press the corner between two boards.",
        "How do I dry a wet volume?": "Stand the volume in moving air.",
    }.items()
)


@pytest.fixture
def small(tmp_path: Path) -> Desk:
    """Pages of one passage each."""
    folder = tmp_path / "corpus" / "en"
    folder.mkdir(parents=True)
    for name, text in {
        "repairs.md": REPAIRS,
        "stamps-2.md": "# Stamping a borrowed volume\n\nStamp the volume with blue ink.",
        "stamps-10.md": "# Ordering more blue ink\n\nOrder it in May.",
        "secret.md": "# The key sk-live-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c of the ink\n\nNobody has it.",
        "../elsewhere.md": "# Counting all the volumes\n\nCount in June.",
        "stempel.md": "# Штемпель для новых книг\n\nШтемпель ставят на каждую новую книгу библиотеки.",
    }.items():
        (folder / name).write_text(text, "utf-8")
    desk = Desk(tmp_path / "data", tmp_path, shutil.copy(PROFILE, tmp_path))
    desk.index()
    return desk


async def test_of_a_page_with_one_passage_the_headings_that_are_not_quoted_follow(small: Desk) -> None:
    """Those that are, are told by the words of the answer; after a page without other headings come its neighbours."""
    async with open_service(deployment(environment=small.environment)) as service:
        [torn], _ = await service.search(ANNA, "How do I mend a torn page?", top_k=1)
        found = await find_follow_ups(service, ANNA, citing(torn, "Press the corner between two boards [1]."))
        assert found == ("How do I dry a wet volume?", "How do I mend a torn page?")
        [stamp], _ = await service.search(ANNA, "What ink is a borrowed volume stamped with?", top_k=1)
        found = await find_follow_ups(service, ANNA, citing(stamp, "Stamp the volume with blue ink [1]."))
        assert found == ("Ordering more blue ink", "Repairs")


def citing(item: EvidenceItem, said: str = "") -> StructuredAgentResult:
    """Return an answer that cites a passage, for what it says."""
    claims = [{"text": said, "status": "supported", "refs": [item.ref]}] if said else []
    return StructuredAgentResult.model_validate(
        {
            "language": "en",
            "outcome": "answered",
            "answer_text": "So [1].",
            "question": "What is a shelf for books?",
            "final_articles": [item],
            "guardian": {"verdict": "PASS", "risk_level": "low", "draft": "So [1].", "claims": claims},
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
