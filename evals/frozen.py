"""The handbook's frozen passages: cut as the product's search returns them, so that later edits change no case."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Final

from assistant.config.profiles import BUNDLED_KNOWLEDGE
from contracts.enums import Language, Source
from contracts.evidence import EvidenceItem

CONFIDENCE: Final = 0.85
"""That of a passage that search found well; above every threshold of the evidence check."""
_AS_FOUND: Final = {"source": "doc", "confidence": 0.9}
"""What a single item's line leaves out, beside its document, its own ref, and a heading that its text begins with."""


def handbook_passages(root: Path = BUNDLED_KNOWLEDGE) -> Iterator[EvidenceItem]:
    """Yield each chunk of each page, English first, in order of pages and chunks."""
    for language in Language:
        for path in sorted((root / language).glob("*.md")):
            yield from passages(root, path, language)


def passages(root: Path, path: Path, language: Language) -> Iterator[EvidenceItem]:
    """Yield each chunk of one page, as search returns a well-matching chunk."""
    from adapters.reading import chunks, front_matter

    text = path.read_text("utf-8")
    matter = front_matter.read(text)
    page = chunks.read(text, title=matter.title, skip=matter.lines)
    key = path.relative_to(root).as_posix()
    source = matter.source or Source.DOC
    for chunk in page.chunks:
        yield EvidenceItem(
            source=source,
            ref=f"{source}:{key}#{chunk.ordinal}",
            snippet=chunk.text,
            confidence=CONFIDENCE,
            document=key,
            title=matter.title or page.heading or path.stem,
            url=matter.url,
            kb_id=matter.kb_id,
            heading=" › ".join(chunk.path),
            lines=(chunk.first_line, chunk.last_line),
            language=language,
            updated=matter.updated,
        )


def as_lines(items: Iterable[EvidenceItem]) -> str:
    """Return passages as lines of JSON, a page each: its ref without the number, its title, and its passages by number.

    The title is left out where the first passage begins with it. A passage is its text, or a pair of its heading and its
    text where the heading is another than the text begins with. Left out is what no check reads.
    """
    lines: list[str] = []
    for (page, title), ones in groupby(items, key=lambda item: (item.ref.rpartition("#")[0], item.title)):
        texts = {item.ref.rpartition("#")[2]: _with_heading(item) for item in ones}
        said = {"page": page, "title": title, "passages": texts}
        line = {name: value for name, value in said.items() if name != "title" or value != _title_of(texts)}
        lines.append(json.dumps(line, ensure_ascii=False, separators=(",", ":")))
    return "\n".join(lines) + "\n"


def from_lines(text: str) -> Iterator[EvidenceItem]:
    """Yield the passages of lines: of a page by `as_lines`, whose ref says source, address and language, or of one item."""
    for line in filter(str.strip, text.splitlines()):
        page = json.loads(line)
        if "page" not in page:
            derived = {"document": page["ref"], "heading": _heading_of(page["snippet"])}
            yield EvidenceItem.model_validate(_AS_FOUND | derived | page)
            continue
        source, _, path = page["page"].partition(":")
        language = path.partition("/")[0]
        for number, said in page["passages"].items():
            heading, snippet = (_heading_of(said), said) if isinstance(said, str) else said
            yield EvidenceItem(
                source=Source(source),
                ref=f"{page['page']}#{number}",
                snippet=snippet,
                confidence=CONFIDENCE,
                document=path,
                title=page.get("title") or _title_of(page["passages"]),
                url=f"knowledge/{path}",
                heading=heading,
                language=Language(language),
            )


def _title_of(passages: Mapping[str, str | list[str]]) -> str:
    """Return the title that the first passage of a page begins with; empty if there is none."""
    first = next(iter(passages.values()))
    line = (first if isinstance(first, str) else first[1]).partition("\n")[0]
    return line[2:] if line.startswith("# ") else ""


def _with_heading(item: EvidenceItem) -> str | list[str]:
    same = item.heading == _heading_of(item.snippet)
    return item.snippet if same else [item.heading, item.snippet]


def _heading_of(snippet: str) -> str:
    """Return the heading that a text begins with, below the title of its page; empty if there is none."""
    first = snippet.partition("\n")[0]
    return first.lstrip("#").strip() if first.startswith("##") else ""
