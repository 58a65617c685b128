"""Indexing and searching, against bare tantivy on the same passages."""

from __future__ import annotations

import random
import sqlite3
import time
from pathlib import Path

import tantivy

from adapters.sources.markdown import KnowledgeBase, ingest
from adapters.sources.markdown.store import NAME
from benchmarks.corpus import queries, write_pages
from benchmarks.report import Line, percentile
from contracts.ports import SearchRequest
from contracts.values import Source

TOP = 20
QUERIES = 300


def measure(folder: Path, sizes: tuple[int, ...]) -> list[Line]:
    """Index and search corpora of these many passages."""
    lines: list[Line] = []
    for size in sizes:
        pages, base, bare = folder / f"pages-{size}", folder / f"base-{size}", folder / f"bare-{size}"
        write_pages(pages, size)
        began = time.perf_counter()
        report = ingest(pages, directory=base)
        ours = report.chunks / (time.perf_counter() - began)
        texts = _passages(base)
        began = time.perf_counter()
        index = _bare_index(bare, texts)
        baseline = len(texts) / (time.perf_counter() - began)
        began = time.perf_counter()
        ingest(pages, directory=base)
        again = time.perf_counter() - began
        lines += [
            Line(
                f"passages indexed a second, of {len(texts):,}",
                ours,
                baseline,
                "/s",
                "bare tantivy, texts already cut",
                more_is_better=True,
            ),
            Line(
                f"second run over {len(texts):,} unchanged passages",
                again,
                report.seconds,
                "s",
                "the first run",
                aim=0.1,
            ),
        ]
        lines += _search(base, index, len(texts))
    return lines


def _search(base: Path, index: tantivy.Index, size: int) -> list[Line]:
    asked = list(queries(QUERIES))
    knowledge = KnowledgeBase(base)
    index.reload()
    searcher = index.searcher()

    def ours(text: str) -> None:
        knowledge.search_now(SearchRequest(query=text, top_k=TOP), Source.DOC)

    def bare(text: str) -> None:
        query = index.parse_query_lenient(text, ["title", "body"])[0]
        for _, address in searcher.search(query, TOP).hits:
            searcher.doc(address)

    for text in asked[:20]:
        ours(text)
        bare(text)
    mine: list[float] = []
    theirs: list[float] = []
    # In turns, so that both meet the same moods of the machine.
    for text in random.Random(1).sample(asked, len(asked)):
        for run, times in ((ours, mine), (bare, theirs)):
            began = time.perf_counter()
            run(text)
            times.append((time.perf_counter() - began) * 1000)
    return [
        Line(
            f"query p{share:.0%}".replace("%", "") + f", {size:,} passages",
            percentile(mine, share),
            percentile(theirs, share),
            "ms",
            "bare tantivy",
            aim=1.5,
        )
        for share in (0.5, 0.95)
    ]


def _passages(base: Path) -> list[tuple[str, str]]:
    file = base / NAME
    connection = sqlite3.connect(file)
    try:
        return connection.execute(
            "SELECT documents.title, chunks.text FROM chunks JOIN documents ON documents.id = chunks.document"
        ).fetchall()
    finally:
        connection.close()


def _bare_index(folder: Path, texts: list[tuple[str, str]]) -> tantivy.Index:
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
    return index
