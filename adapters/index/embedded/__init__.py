"""Evidence from folders of Markdown files: indexing and searching them.

    ingest(folders, directory=...)      files -> SQLite, the system of record -> tantivy, the index
    renew(directory)                    rebuilds the index if an earlier version made it
    KnowledgeBase(directory)            searches the indexed documents; never writes
    DocumentSource(kb, Source.DOC)      one kind of source in it, as the graph's port

Names are imported on first use: a `--help` does not pay for tantivy, the Markdown parser and YAML.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adapters.index.embedded.ingestion import Folder as Folder
    from adapters.index.embedded.ingestion import IngestReport as IngestReport
    from adapters.index.embedded.ingestion import ingest as ingest
    from adapters.index.embedded.ingestion import renew as renew
    from adapters.index.embedded.search import KnowledgeBase as KnowledgeBase
    from adapters.index.embedded.source import DocumentSource as DocumentSource

_HOMES = {
    "DocumentSource": "source",
    "Folder": "ingestion",
    "IngestReport": "ingestion",
    "KnowledgeBase": "search",
    "ingest": "ingestion",
    "renew": "ingestion",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
