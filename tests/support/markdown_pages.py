"""Small folders of Markdown for the tests of reading in and searching."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from adapters.index.embedded import KnowledgeBase
from contracts.enums import Source
from contracts.evidence import EvidenceItem
from contracts.ports import SearchRequest


def write(root: Path, pages: Mapping[str, str | bytes], *, aged: bool = True) -> Path:
    """Write pages below a folder; aged ones look as if nobody had touched them for a minute."""
    for name, content in pages.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        if aged:
            age(path)
    return root


def age(path: Path) -> None:
    """Set a file's time stamp back by a minute."""
    state = path.stat()
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns - 60_000_000_000))


def find(directory: Path, query: str, kind: Source = Source.DOC, **request: object) -> list[EvidenceItem]:
    """Search a knowledge base that is opened for this one question."""
    with KnowledgeBase(directory) as knowledge:
        asked = SearchRequest(query, **{"top_k": 200, **request})  # type: ignore[arg-type]
        return list(knowledge.search_now(asked, kind).items)


def documents(directory: Path, query: str, kind: Source = Source.DOC, **request: object) -> list[str]:
    """Return the keys of what a search finds, best first, once each."""
    return list(dict.fromkeys(item.document for item in find(directory, query, kind, **request)))
