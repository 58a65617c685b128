"""The same passages in servers, next to the embedded index: filling, disk, memory, and the time of a search."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from adapters.index.embedded import KnowledgeBase
from adapters.index.remote.engines import engine_at
from adapters.index.remote.filling import fill
from adapters.index.remote.search import RemoteKnowledge
from contracts.enums import Language, Source
from contracts.ports import SearchRequest
from tools.benchmarks import memory, servers
from tools.benchmarks.corpus import queries
from tools.benchmarks.report import Measurement, percentile
from tools.benchmarks.retrieval import QUERIES, TOP, knowledge_of, len_of, make_index
from tools.benchmarks.timing import bytes_in, time_interleaved

MIB: Final = 2**20
EMBEDDED: Final = "the embedded index"
SERVERS: Final[Mapping[str, Callable[[], AbstractContextManager[servers.BenchmarkServer]]]] = {
    "qdrant": servers.qdrant,
    "postgres": servers.postgres,
}


def measure(folder: Path, sizes: tuple[int, ...], kinds: Sequence[str] = tuple(SERVERS)) -> list[Measurement]:
    """Fill servers with corpora of these many passages, and ask them; `folder` is where the corpora are, or will be."""
    lines: list[Measurement] = []
    for size in sizes:
        base, seconds = knowledge_of(folder, size), make_index(folder, size)
        for kind in kinds:
            with SERVERS[kind]() as server:
                lines += _measure_filling(server, base, seconds)
                lines += _measure_searching(server, base)
    return lines


def _measure_filling(server: servers.BenchmarkServer, base: Path, seconds: float) -> list[Measurement]:
    engine = engine_at(server.url, profile=servers.COLLECTION)
    size = len_of(base)
    what = f"{server.name}, {size:,} passages"
    empty = bytes_in(server.folder)
    try:
        began = time.perf_counter()
        fill(base, engine)
        first = time.perf_counter() - began
        began = time.perf_counter()
        server.settle()
        settled = time.perf_counter() - began
        began = time.perf_counter()
        fill(base, engine)
        again = time.perf_counter() - began
    finally:
        engine.close()
    disk = bytes_in(server.folder) - empty
    return [
        Measurement(f"filling {what}", first, seconds, "s", "indexing the documents"),
        Measurement(
            f"passages filled in a second, {what}", size / first, size / seconds, "/s", "indexing the documents"
        ),
        Measurement(f"tidying up after that, {what}", settled, first, "s", "the fill"),
        Measurement(f"a second fill of the same, {what}", again, first, "s", "the fill", aim=0.1),
        Measurement(f"disk, {what}", disk / MIB, bytes_in(base) / MIB, "MiB", f"{EMBEDDED} with its record"),
    ]


def _measure_searching(server: servers.BenchmarkServer, base: Path) -> list[Measurement]:
    what = f"{server.name}, {len_of(base):,} passages"
    engine = engine_at(server.url, profile=servers.COLLECTION)
    lines: list[Measurement] = []
    with KnowledgeBase(base) as embedded, RemoteKnowledge(engine) as remote:
        known: dict[str, KnowledgeBase | RemoteKnowledge] = {"server": remote, "embedded": embedded}
        for language in (None, Language.EN):
            asked = list(queries(QUERIES, language))
            times = time_interleaved({name: _way(where, language) for name, where in known.items()}, asked)
            limited = f"{what}, documents of one language" if language else what
            lines += [
                Measurement(
                    f"query p{share * 100:.0f}, {limited}",
                    percentile(times["server"], share),
                    percentile(times["embedded"], share),
                    "ms",
                    EMBEDDED,
                )
                for share in (0.5, 0.95)
            ]
        lines += _memory(server, base)
    return lines


def _way(where: KnowledgeBase | RemoteKnowledge, language: Language | None) -> Callable[[str], object]:
    return lambda text: where.search_now(SearchRequest(query=text, top_k=TOP, language=language), Source.DOC)


def _memory(server: servers.BenchmarkServer, base: Path) -> list[Measurement]:
    # While the connection of the searches is open: what a server keeps for nobody is not counted as anybody's.
    embedded = memory.of_a_fresh_process("ours", str(base))
    client = memory.of_a_fresh_process("server", server.url)
    taken = memory.of(server.processes())
    if embedded is None or client is None or taken is None:
        return []
    what = f"{server.name}, {len_of(base):,} passages"
    return [
        Measurement(f"memory of the server, {what}", taken.resident / MIB, embedded.resident / MIB, "MiB", EMBEDDED),
        Measurement(f"of it no pages of files, {what}", taken.private / MIB, embedded.private / MIB, "MiB", EMBEDDED),
        Measurement(
            f"memory of the assistant, {what}", client.resident / MIB, embedded.resident / MIB, "MiB", EMBEDDED
        ),
    ]
