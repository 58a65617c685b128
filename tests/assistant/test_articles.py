"""A whole article, as a role may read it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.index.embedded import Folder, KnowledgeBase, ingest
from adapters.reading.chunks import headings
from assistant.articles import PART, Article, assemble, read_article, read_parts
from assistant.deployment import deployment
from assistant.service import Caller, Service, open_service
from contracts.enums import Source
from contracts.errors import UnknownArticle
from tests.support.cli_helpers import CORPUS, Desk

USER, OPERATOR = Caller(), Caller(role="operator")
FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


@pytest.fixture
async def service(desk: Desk) -> AsyncIterator[Service]:
    async with open_service(deployment(environment=desk.environment)) as opened:
        yield opened


@pytest.mark.parametrize("name", ["doc:corpus/en/lend-a-book.md#1", "corpus/en/lend-a-book.md", "11", " 011 "])
async def test_an_article_is_read_by_the_reference_of_a_passage_its_key_or_its_number(
    service: Service, name: str
) -> None:
    """Each of the three names leads to the same document, whole."""
    article = await read_article(service, USER, name)
    assert article.document == "corpus/en/lend-a-book.md"
    assert article.text == FRONT.sub("", (CORPUS / "en" / "lend-a-book.md").read_text("utf-8")).strip()
    assert (article.title, article.kb_id, article.language) == ("Lending a book", 11, "en")
    assert article.url == "https://shelf.example/en/lend-a-book"
    assert article.headings == ("Lending a book", "How to lend a book to a reader", "How to extend a loan")


async def test_what_a_search_finds_can_be_read(service: Service) -> None:
    """The reference and the key of whatever a search returns name its document."""
    items, _ = await service.search(USER, "fine for an overdue book", top_k=10)
    assert {item.source for item in items} == {Source.DOC, Source.POLICY}
    for item in items:
        by_ref = await read_article(service, USER, item.ref)
        assert by_ref == await read_article(service, USER, item.document)
        assert item.snippet in by_ref.text


@pytest.mark.parametrize(
    "name",
    ["", "0", "999999999999999", "9" * 4000, "corpus/en/none.md", "doc:#0", "db:loans#1", "../corpus.toml", "\0"],
)
async def test_an_unknown_name_is_no_article(service: Service, name: str) -> None:
    """Whatever is given instead of a name, the answer is that there is no such article, in few words."""
    with pytest.raises(UnknownArticle) as error:
        await read_article(service, USER, name)
    assert len(str(error.value)) < 300


async def test_a_role_that_may_not_use_a_source_reads_nothing_of_it(desk: Desk, tmp_path: Path) -> None:
    """A policy is there for who may use policies; for others the same name is that of nothing."""
    profile = tmp_path / "narrow.toml"
    text = desk.profile.read_text("utf-8") if isinstance(desk.profile, Path) else ""
    profile.write_text(text.replace('sources = ["doc", "policy"]', 'sources = ["doc"]', 1), "utf-8")
    async with open_service(deployment(environment={**desk.environment, "GUARDIAN_PROFILE": str(profile)})) as service:
        assert (await read_article(service, OPERATOR, "15")).source is Source.POLICY
        for name in ("15", "corpus/en/fines-policy.md", "policy:corpus/en/fines-policy.md#0"):
            with pytest.raises(UnknownArticle) as denied:
                await read_article(service, USER, name)
            with pytest.raises(UnknownArticle) as absent:
                await read_article(service, USER, name.replace("fines", "x").replace("15", "99"))
            assert str(denied.value) == str(absent.value).replace("99", "15").replace("x-policy", "fines-policy")


async def test_what_no_answer_may_say_is_masked(desk: Desk, tmp_path: Path) -> None:
    """An article is shown without the secrets and personal data that a draft would not see."""
    docs = tmp_path / "docs"
    docs.mkdir()
    secret = "sk-live-" + "a1B2" * 8
    (docs / "keys.md").write_text(
        f"---\nkbId: 77\n---\n# Keys\n\nThe key is `{secret}`, of anna@readers.org.\n", "utf-8"
    )
    await asyncio.to_thread(desk.index, str(docs))
    async with open_service(deployment(environment=desk.environment)) as service:
        article = await read_article(service, USER, "77")
    assert "The key is" in article.text
    assert secret not in article.text
    assert "anna@" not in article.text


async def test_of_several_documents_of_a_number_the_language_then_the_newest_version_counts(
    desk: Desk, tmp_path: Path
) -> None:
    """The one that fits best is read, and it names the others."""
    for folder, words in (("4.9", "Old"), ("4.10", "New"), ("ru", "Новая страница про отчёты и настройки отчётов")):
        (tmp_path / folder).mkdir()
        rest = "" if folder == "ru" else " The reports of this version are here."
        text = f"---\ntitle: {words}\nkbId: 500\n---\n\n{words}.{rest}\n"
        (tmp_path / folder / "page.md").write_text(text, "utf-8")
        await asyncio.to_thread(desk.index, str(tmp_path / folder), *(() if folder == "ru" else ("--version", folder)))
    async with open_service(deployment(environment=desk.environment)) as service:
        article = await read_article(service, USER, "500")
        assert (article.title, article.version) == ("New", "4.10")
        assert {other.title.split()[0] for other in article.others} == {"Old", "Новая"}
        russian = await read_article(service, USER, "500", language="ru")
        assert russian.language == "ru"
        for other in russian.others:
            assert (await read_article(service, USER, other.document)).title == other.title


def test_a_page_of_every_kind_of_block_is_put_together_as_it_was(tmp_path: Path) -> None:
    """Headings without a text of their own are there again, each once and in its place; nothing else is lost."""
    page = (
        "# Guide\n\n## Install\n\n### Linux\n\n"
        + "Use the package. " * 60
        + "\n\n### Windows\n\nUse the installer.\n\n"
        "## Use\n\n### Daily\n\n#### Reports\n\n"
        + "A report is printed. " * 60
        + "\n\n#### Exports\n\n"
        + "An export is written. " * 60
        + "\n\n```python\n# no heading\nrun()\n```\n\n| a | b |\n| - | - |\n| 1 | 2 |\n"
    )
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "guide.md").write_text(page, "utf-8")
    ingest([Folder(tmp_path / "docs", Source.DOC)], directory=tmp_path / "kb")
    with KnowledgeBase(tmp_path / "kb") as knowledge:
        items = knowledge.articles_now("docs/guide.md", None)
    assert len(items) > 3
    assert assemble(items) == [page.strip()]


async def test_a_long_article_is_read_in_parts(desk: Desk, tmp_path: Path) -> None:
    """Each part is of a bounded size; together they are the whole; a part that is not there is an error."""
    docs = tmp_path / "long"
    docs.mkdir()
    sections = [f"## Section {n}\n\n" + f"Sentence {n} of many words. " * 60 for n in range(60)]
    (docs / "long.md").write_text("---\nkbId: 600\n---\n# Long\n\n" + "\n\n".join(sections) + "\n", "utf-8")
    await asyncio.to_thread(desk.index, str(docs))
    async with open_service(deployment(environment=desk.environment)) as service:
        first = await read_article(service, USER, "600")
        assert first.parts > 1
        parts: list[Article] = [await read_article(service, USER, "600", part=n + 1) for n in range(first.parts)]
        with pytest.raises(UnknownArticle, match="no part"):
            await read_article(service, USER, "600", part=first.parts + 1)
        # All at once they are read and masked once, not once for each of them.
        assert await read_parts(service, USER, "600") == [part.text for part in parts]
    assert all(len(part.text) < PART + 3000 for part in parts)
    assert len({part.headings for part in parts}) == 1
    whole = [heading.title for part in parts for heading in headings(part.text)]
    assert whole == ["Long", *(f"Section {n}" for n in range(60))]
