"""Whole articles of the knowledge base, as a role may read them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from contextlib import closing
from itertools import groupby
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, ConfigDict

from contracts.enums import Language, Source
from contracts.errors import UnknownArticle
from contracts.evidence import EvidenceItem
from guards.redaction import redact
from language.figures.versions import natural
from rendering.answers import answer_sources

if TYPE_CHECKING:
    from pathlib import Path

    from adapters.index.records import ListedDocument
    from assistant.caller import Caller
    from assistant.service import Service
    from contracts.profile import Profile

PART: Final = 40_000
"""Characters from which an article is read in parts, cut between passages."""
_MOST_LISTED: Final = 5_000
_REF: Final = re.compile(r"(?:doc|policy):(.+)#\d+", re.DOTALL)
_NUMBER: Final = re.compile(r"[0-9]{1,15}")
_BETWEEN: Final = " › "
"""Between the headings of a passage."""


class ArticleName(BaseModel):
    """The name of another document with the same number, and its version or language."""

    model_config = ConfigDict(frozen=True)

    document: str
    title: str
    version: str = ""
    language: Language | None = None


class Article(BaseModel):
    """A document as it is indexed: Markdown, whatever the file's format was.

    Attributes:
        document: Its key in this knowledge base.
        version: The product version that it describes; empty if it describes all versions.
        headings: All headings of the document, in order.
        text: Markdown; one part if the document is long.
        part, parts: Which part it is, from 1, and how many there are.
        others: Documents with the same number, for other versions or languages.
    """

    model_config = ConfigDict(frozen=True)

    document: str
    source: Source
    title: str
    url: str = ""
    kb_id: int | None = None
    version: str = ""
    language: Language | None = None
    updated: str = ""
    headings: tuple[str, ...] = ()
    text: str
    part: int = 1
    parts: int = 1
    others: tuple[ArticleName, ...] = ()


async def list_articles(service: Service, caller: Caller, after: int, most: int) -> list[tuple[int, ArticleName]]:
    """Return the names of the documents that a caller's role may read, in a fixed order.

    Args:
        service: The open deployment.
        caller: Who wants to read.
        after: The number of the last document of the page before; 0 for the first page.
        most: How many to return at most.

    Returns:
        For each document its number and its name. An index that was filled from elsewhere lists nothing.

    Raises:
        KnowledgeError: The knowledge base cannot be read.
    """
    profile = service.deployed.profile
    kinds = [str(kind) for kind in profile.sources_for(caller.role)]
    found = await asyncio.to_thread(_read_documents, service.deployed.knowledge_folder, kinds, after, most)
    items = [
        EvidenceItem(
            source=Source(row.source),
            ref=f"{row.source}:{row.key}#1",
            document=row.key,
            title=row.title,
            snippet=_NOT_SHOWN,
            version=row.version or "",
            language=Language(row.language),
            confidence=1,
        )
        for row in found
    ]
    shown = redact(items, profile, caller.role)
    return [(row.id, _name(item)) for row, item in zip(found, shown, strict=True)]


async def titles_beside(service: Service, caller: Caller, item: EvidenceItem) -> list[str]:
    """Return the titles of the documents in the folder of a passage's document, the nearest first, those behind before.

    They are in its language and of its version, and the caller's role may read them. The policy has not looked at the
    titles. Of a very large index, only the first documents are looked at.

    Raises:
        KnowledgeError: The knowledge base cannot be read.
    """
    kinds = [str(kind) for kind in service.deployed.profile.sources_for(caller.role)]
    listed = await asyncio.to_thread(_read_documents, service.deployed.knowledge_folder, kinds, 0, _MOST_LISTED)
    alike = (item.document.rpartition("/")[0], item.language, item.version)
    rows = [row for row in listed if (row.key.rpartition("/")[0], row.language, row.version or "") == alike]
    rows.sort(key=lambda row: natural(row.key))
    here = next((place for place, row in enumerate(rows) if row.key == item.document), None)
    if here is None:
        return []
    near = sorted(range(len(rows)), key=lambda place: (abs(place - here), place < here))
    return [rows[place].title for place in near if rows[place].key != item.document]


def _read_documents(folder: Path, kinds: list[str], after: int, most: int) -> list[ListedDocument]:
    from adapters.index.records import our_errors
    from adapters.index.store import NAME
    from adapters.index.store_reader import IndexReader

    if not (folder / NAME).is_file():
        return []
    with our_errors("read", folder), closing(IndexReader(folder)) as reader:
        return reader.documents(kinds, after, most)


async def read_article(
    service: Service, caller: Caller, name: str, *, language: Language | str | None = None, part: int = 1
) -> Article:
    """Return an article that the caller's role may read, without content that no answer may show to it.

    Args:
        service: The open deployment.
        caller: Who wants to read it.
        name: A passage's reference, the document's key, or its number (kbId).
        language: Preferred if several documents have that number.
        part: The part of a long document, from 1.

    Raises:
        UnknownArticle: The article or the part does not exist, or the role may not read it; the error does not say
            which.
        SourceUnavailable: The knowledge base cannot be read.
    """
    profile = service.deployed.profile
    chosen, *rest = await _read_by_name(service, caller, name, language)
    others = [_name(_named(items[0], profile, caller.role)) for items in rest]
    texts = await _shown_texts(chosen, profile, caller.role)
    if not 1 <= part <= len(texts):
        raise UnknownArticle(f"The article has no part {part}.", f"Its parts are 1 to {len(texts)}.")
    shown = _named(chosen[0], profile, caller.role)
    return _article(shown, address(shown, profile), texts, part, others)


async def read_parts(service: Service, caller: Caller, name: str) -> list[str]:
    """Return all parts of an article that the caller's role may read, as `read_article` returns them one by one.

    Raises:
        UnknownArticle: The article does not exist, or the role may not read it; the error does not say which.
        SourceUnavailable: The knowledge base cannot be read.
    """
    chosen, *_ = await _read_by_name(service, caller, name, None)
    return await _shown_texts(chosen, service.deployed.profile, caller.role)


async def _read_by_name(
    service: Service, caller: Caller, name: str, language: Language | str | None
) -> list[list[EvidenceItem]]:
    """Return the passages of each document that has a name and may be read, the one that fits best first."""
    key, number = _parse_article_name(name)
    found = await service.knowledge.articles(key, number)
    profile = service.deployed.profile
    allowed = [item for item in found if item.source in profile.sources_for(caller.role)]
    documents = [list(items) for _, items in groupby(allowed, key=lambda item: (item.document, item.source))]
    if not documents:
        raise _unknown_error(name)
    chosen = max(documents, key=lambda items: _fit(items[0], profile, language))
    return [chosen, *(items for items in documents if items is not chosen)]


async def _shown_texts(items: Sequence[EvidenceItem], profile: Profile, role: str) -> list[str]:
    # A document of megabytes takes a second, for which other turns would stand still.
    return await asyncio.to_thread(lambda: assemble(redact(items, profile, role)))


def address(item: EvidenceItem, profile: Profile) -> str:
    """Return a document's address as an answer's sources give it: a URL in an allowed domain, a path, or nothing."""
    [source] = answer_sources("[1]", [item], profile.allowed_link_domains)
    return str(source["url"])


def _parse_article_name(name: str) -> tuple[str, int | None]:
    given = name.strip()
    if _NUMBER.fullmatch(given):
        return given, int(given)
    ref = _REF.fullmatch(given)
    return (ref.group(1) if ref else given), None


def _unknown_error(name: str) -> UnknownArticle:
    shown = name if len(name) <= 100 else f"{name[:100]}…"
    return UnknownArticle(
        f"There is no article {shown!r}.", "Search for it, and use the `ref` or `document` of what is found."
    )


def _fit(item: EvidenceItem, profile: Profile, language: Language | str | None) -> tuple[object, ...]:
    """Return how well a document fits what is wanted: its language first, then the version, the newest before others."""
    wanted = language or profile.languages[0]
    default = profile.default_version is not None and item.version == profile.default_version
    return item.language == wanted, default, natural(item.version)


_NOT_SHOWN: Final = "-"
"""A text that leaves a document its name, where `redact` would leave out a passage of nothing but orders."""


def _named(item: EvidenceItem, profile: Profile, role: str) -> EvidenceItem:
    return redact([item.model_copy(update={"snippet": _NOT_SHOWN})], profile, role)[0]


def _name(item: EvidenceItem) -> ArticleName:
    return ArticleName(document=item.document, title=item.title, version=item.version, language=item.language)


def _article(item: EvidenceItem, url: str, texts: Sequence[str], part: int, others: Sequence[ArticleName]) -> Article:
    from adapters.reading.chunks import headings

    return Article(
        document=item.document,
        source=item.source,
        title=item.title,
        url=url,
        kb_id=item.kb_id,
        version=item.version,
        language=item.language,
        updated=item.updated or "",
        headings=tuple(heading.title for text in texts for heading in headings(text)),
        text=texts[part - 1],
        part=part,
        parts=len(texts),
        others=tuple(others),
    )


def assemble(items: Iterable[EvidenceItem]) -> list[str]:
    """Join the passages of one document, in order, into texts of about `PART` characters.

    A heading without text of its own is in no passage, only in the heading paths of the passages below it. It is
    restored from there. A list, table or code block that was cut stays cut; each part has its own head.
    """
    from adapters.reading.chunks import headings

    parts: list[list[str]] = [[]]
    above: list[tuple[int, str]] = []
    size = 0
    for item in items:
        if not above:
            above = [(1, item.title)]
            own = headings(item.snippet)
            parts[0] += [] if own and own[0].title == item.title else [f"# {item.title}"]
        lines, above = _write_headings(item, above)
        text = "\n\n".join([*lines, item.snippet.strip("\n")])
        if size and size + len(text) > PART:
            parts.append([])
            size = 0
        parts[-1].append(text)
        size += len(text)
    return ["\n\n".join(texts) for texts in parts]


def _write_headings(item: EvidenceItem, above: list[tuple[int, str]]) -> tuple[list[str], list[tuple[int, str]]]:
    """Return the headings to write before a passage, and those that then stand above what follows it."""
    from adapters.reading.chunks import headings

    inside = headings(item.snippet)
    own = inside[0].title if inside and inside[0].line == 0 else None
    path = [title for title in item.heading.split(_BETWEEN) if title and title != own]
    known = {title for _, title in above}
    lines: list[str] = []
    for depth, title in enumerate(path, 2):
        if title not in known:
            level = min(depth, 6)
            lines.append(f"{'#' * level} {title}")
            above = [*(one for one in above if one[0] < level), (level, title)]
    for heading in inside:
        above = [*(one for one in above if one[0] < heading.level), (heading.level, heading.title)]
    return lines, above
