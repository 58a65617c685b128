"""Indexing and searching, against bare tantivy on the same passages: time, disk and memory."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from adapters.index.embedded import KnowledgeBase, ingest
from adapters.index.store import NAME
from contracts.enums import Language, Source
from contracts.ports import SearchRequest
from tools.benchmarks import memory
from tools.benchmarks.bare import TOP, BareIndex, build
from tools.benchmarks.corpus import LANGUAGES, misspelt, queries, write_pages
from tools.benchmarks.report import Measurement, percentile
from tools.benchmarks.timing import bytes_in, time_interleaved

QUERIES = 300
MIB = 2**20


def measure(folder: Path, sizes: tuple[int, ...]) -> list[Measurement]:
    """Index and search corpora of these many passages."""
    lines: list[Measurement] = []
    for size in sizes:
        base, bare = knowledge_of(folder, size), folder / f"bare-{size}"
        lines += _measure_indexing(folder, size, bare)
        count = len_of(base)
        lines.append(
            Measurement(
                f"disk, {count:,} passages",
                bytes_in(base) / MIB,
                bytes_in(bare) / MIB,
                "MiB",
                "bare tantivy, without a system of record",
            )
        )
        lines += memory.lines(
            count, memory.of_a_fresh_process("ours", str(base)), memory.of_a_fresh_process("bare", str(bare))
        )
        lines += _measure_searching(base, bare, count)
    return lines


def knowledge_of(folder: Path, size: int) -> Path:
    """Return where the knowledge base of a size is."""
    return folder / f"base-{size}"


def make_index(folder: Path, size: int) -> float:
    """Index a corpus, unless that was done before; return how many seconds it took."""
    pages, base = folder / f"pages-{size}", knowledge_of(folder, size)

    def make() -> None:
        write_pages(pages, size)

    def index() -> None:
        ingest(pages, directory=base)

    _once(pages, make)
    return _once(base, index)


def _once(place: Path, make: Callable[[], object]) -> float:
    """Make what shall be in a place, unless it is there to the end; return how many seconds it took."""
    noted = place.with_name(f"{place.name}.seconds")
    if not noted.exists():
        began = time.perf_counter()
        make()
        noted.write_text(str(time.perf_counter() - began), "ascii")
    return float(noted.read_text("ascii"))


def _measure_indexing(folder: Path, size: int, bare: Path) -> list[Measurement]:
    base = knowledge_of(folder, size)
    first = make_index(folder, size)
    count = len_of(base)
    baseline = _once(bare, lambda: build(bare, passages(base)))
    began = time.perf_counter()
    ingest(folder / f"pages-{size}", directory=base)
    again = time.perf_counter() - began
    against = "bare tantivy, texts already cut"
    return [
        Measurement(f"first run over {count:,} passages", first, baseline, "s", against),
        Measurement(f"passages indexed a second, of {count:,}", count / first, count / baseline, "/s", against),
        Measurement(f"second run over {count:,} unchanged passages", again, first, "s", "the first run", aim=0.1),
    ]


def _measure_searching(base: Path, bare: Path, size: int) -> list[Measurement]:
    other = BareIndex(bare)
    asked = list(queries(QUERIES))
    with KnowledgeBase(base) as knowledge:
        search = _way(knowledge)
        times = time_interleaved({"ours": search, "bare": other.search}, asked)
        lines = _lines(f"{size:,} passages", times["ours"], times["bare"], "bare tantivy", aim=1.5)
        mine: list[float] = []
        theirs: list[float] = []
        for name in LANGUAGES:
            ways = {"ours": _way(knowledge, Language(name)), "bare": other.search}
            times = time_interleaved(ways, list(queries(QUERIES // 2, name)))
            mine += times["ours"]
            theirs += times["bare"]
        lines += _lines(
            f"{size:,} passages, documents of one language",
            mine,
            theirs,
            "bare tantivy, all languages",
        )
        wrong = {text: misspelt(text) for text in asked}
        # Once: what a misspelt word means is remembered.
        times = time_interleaved({"wrong": lambda text: search(wrong[text]), "right": search}, asked, times=1)
        lines += _lines(f"{size:,} passages, a misspelt word", times["wrong"], times["right"], "the same, spelt right")
    return lines


def _way(knowledge: KnowledgeBase, language: Language | None = None) -> Callable[[str], object]:
    return lambda text: knowledge.search_now(SearchRequest(query=text, top_k=TOP, language=language), Source.DOC)


def _lines(
    what: str, ours: list[float], baseline: list[float], against: str, aim: float | None = None
) -> list[Measurement]:
    return [
        Measurement(
            f"query p{share * 100:.0f}, {what}",
            percentile(ours, share),
            percentile(baseline, share),
            "ms",
            against,
            aim,
        )
        for share in (0.5, 0.95)
    ]


def passages(base: Path) -> Iterator[tuple[str, str]]:
    """Yield title and text of each passage of a knowledge base."""
    connection = sqlite3.connect(base / NAME)
    try:
        yield from connection.execute(
            "SELECT documents.title, chunks.text FROM chunks JOIN documents ON documents.id = chunks.document"
        )
    finally:
        connection.close()


def len_of(base: Path) -> int:
    """Return how many passages a knowledge base has."""
    connection = sqlite3.connect(base / NAME)
    try:
        return int(connection.execute("SELECT count(*) FROM chunks").fetchone()[0])
    finally:
        connection.close()
