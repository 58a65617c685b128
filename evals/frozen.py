"""The handbook's frozen passages: cut as the product's search returns them, so that later edits change no case."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from assistant.config.profiles import BUNDLED_KNOWLEDGE
from contracts.enums import Language, Source
from contracts.evidence import EvidenceItem

CONFIDENCE: Final = 0.85
"""That of a passage that search found well; above every threshold of the evidence check."""


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


def as_line(item: EvidenceItem) -> str:
    """Return a passage of the handbook as one line of JSON, without what no check reads, and what `from_line` derives."""
    left_out = {"source", "document", "url", "language", "confidence", "lines", "updated", "kb_id"}
    return item.model_dump_json(exclude=left_out, exclude_defaults=True)


def from_line(line: str) -> EvidenceItem:
    """Return the passage of a line; if it names no page, its ref says source, page, address and language."""
    fields = json.loads(line)
    if "document" not in fields:
        source, _, place = fields["ref"].partition(":")
        page = place.partition("#")[0]
        language = page.partition("/")[0]
        derived = {"source": source, "document": page, "url": f"knowledge/{page}", "language": language}
        fields = {**derived, "confidence": CONFIDENCE, **fields}
    return EvidenceItem.model_validate(fields)
