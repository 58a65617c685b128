"""Tantivy as its own documentation uses it: two stored fields, its own tokenizer, its own parser of queries."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import tantivy

TOP = 20


def build(folder: Path, texts: Iterable[tuple[str, str]]) -> None:
    """Index passages, each a title and a text."""
    folder.mkdir(parents=True)
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("title", stored=True)
    builder.add_text_field("body", stored=True)
    schema = builder.build()
    index = tantivy.Index(schema, str(folder))
    writer = index.writer(num_threads=1)
    for title, body in texts:
        writer.add_document(tantivy.Document.from_dict({"title": title, "body": body}, schema))
    writer.commit()
    writer.wait_merging_threads()


class BareIndex:
    """An index that `build` made."""

    def __init__(self, folder: Path) -> None:
        self._index = tantivy.Index.open(str(folder))
        self._searcher = self._index.searcher()

    def search(self, text: str) -> int:
        """Find the best passages, read them, and return how many there were."""
        query = self._index.parse_query_lenient(text, ["title", "body"])[0]
        hits = self._searcher.search(query, TOP).hits
        for _, address in hits:
            self._searcher.doc(address)
        return len(hits)
