"""Sources of every kind with something wrong with them: real files, real sockets, real adapters."""

from __future__ import annotations

import shutil
import socket
import sqlite3
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from adapters.fakes.sources import FakeSource
from adapters.index.embedded import DocumentSource, KnowledgeBase, ingest
from adapters.index.remote.engines import engine_at
from adapters.index.remote.filling import fill
from adapters.index.remote.search import RemoteKnowledge
from adapters.lookups.graph import GraphSource, Ladybug, Neo4j
from adapters.lookups.sql import DatabaseSource
from contracts.enums import Source
from contracts.errors import SourceUnavailable
from contracts.evidence import EvidenceItem
from contracts.lookups import Lookup
from contracts.ports import EvidenceSource, SearchReply, SearchRequest
from contracts.profile import Database
from tests.support.database import tables
from tests.support.graph_source import small_graph
from tests.support.graph_source.bolt_server import BoltServer
from tests.support.markdown_pages import write

Place = Path
Opened = AbstractContextManager[EvidenceSource]
BOUND = 0.5
TIMED_OUT = f"timed out after {BOUND:g} s"
QUESTION = "When does the kettle boil?"
HTML = b"HTTP/1.1 200 OK\r\ncontent-length: 21\r\nconnection: close\r\n\r\n<html>Welcome!</html>"
WRONG = b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 4\r\nconnection: close\r\n\r\nOops"

LENT = tables.lookup("SELECT title AS a FROM loans", name="lent")
WORDS = {"row": {"en": "There is {page_title}.", "ru": "Есть {page_title}."}, "none": {"en": "None.", "ru": "Нет."}}
DEPENDS = small_graph.lookup("MATCH (p:Page) RETURN p.title AS page_title", name="depends", arguments=[], **WORDS)
LOOKUPS = (LENT, DEPENDS)
"""Nothing in the question asks for them: they are run where a plan names them."""


def remove_folder(folder: Path) -> None:
    """Remove a folder at once: tantivy, which watches an open index, may write a file into it while it is emptied."""
    gone = folder.with_name(f"{folder.name}-gone")
    folder.rename(gone)
    shutil.rmtree(gone)


@dataclass(frozen=True)
class Fault:
    """A source with a fault.

    Attributes:
        what: down, slow, garbage or empty.
        opened: Opens it in a folder.
        said: What its error says, in any case; empty where it has none.
    """

    kind: Source
    what: str
    how: str
    opened: Callable[[Place], Opened]
    said: str = ""

    @property
    def seconds(self) -> float:
        """What a turn gives the source: little only where it would wait for ever."""
        return BOUND if self.said == TIMED_OUT else 20

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.what}-{self.how}"


# --------------------------------------------------------------------------------------------------------- loopback


@contextmanager
def listen(reply: bytes | None) -> Generator[int]:
    """Accept whoever comes, and say one thing to each, or nothing at all; yield the port."""
    opened: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    opened.append(connection)
                    if reply is not None:
                        with suppress(OSError):
                            connection.recv(65536)
                            connection.sendall(reply)
                        connection.close()

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            # Closing alone does not wake who waits in `accept`.
            server.shutdown(socket.SHUT_RDWR)
            thread.join(5)
            for connection in opened:
                connection.close()


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class SilentBolt(BoltServer):
    """A server of a graph that greets, and then answers no statement."""

    def __exit__(self, *error: object) -> None:
        # Who waits for the next message is not woken by closing alone.
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        super().__exit__(None, None, None)

    def _replies(self, kind: int, fields: list[object]) -> list[bytes]:
        return super()._replies(kind, fields) if kind == 0x01 else []


# -------------------------------------------------------------------------------------------------------- documents


def page(kind: Source, text: str) -> str:
    return f"---\ntitle: Kettle\nkbId: 1\nsource: {kind}\n---\n# Kettle\n\n{text}\n"


def read_in(place: Place, kind: Source, text: str = "The kettle boils at 100 degrees.") -> Place:
    ingest(write(place / "docs", {"a.md": page(kind, text)}), directory=place / "kb")
    return place / "kb"


def open_embedded(kind: Source, harm: Callable[[Place], object]) -> Callable[[Place], Opened]:
    """Open an index that is well, and do it harm then."""

    @contextmanager
    def opened(place: Place) -> Generator[EvidenceSource]:
        directory = read_in(place, kind)
        with KnowledgeBase(directory) as knowledge:
            harm(directory)
            yield DocumentSource(knowledge, kind)

    return opened


def without_words(kind: Source) -> Callable[[Place], Opened]:
    @contextmanager
    def opened(place: Place) -> Generator[EvidenceSource]:
        with KnowledgeBase(read_in(place, kind, "Umbrellas are blue.")) as knowledge:
            yield DocumentSource(knowledge, kind)

    return opened


def overwritten(directory: Place) -> None:
    for path in directory.rglob("*"):
        if path.is_file():
            # A new file in its place: one that is cut short under an index that still maps it kills the process.
            path.unlink()
            path.write_bytes(b"\x00garbage" * 100)


def in_server(kind: Source, port: Callable[[], AbstractContextManager[int]]) -> Callable[[Place], Opened]:
    """Open an index at a port where none is."""

    @contextmanager
    def opened(place: Place) -> Generator[EvidenceSource]:
        with port() as number:
            engine = engine_at(f"qdrant://127.0.0.1:{number}", profile="tests")
            yield DocumentSource(RemoteKnowledge(engine), kind)
            engine.close()

    return opened


def hangs_later(kind: Source) -> Callable[[Place], Opened]:
    """Open an index in a server that is well until it has been filled."""

    @contextmanager
    def opened(place: Place) -> Generator[EvidenceSource]:
        from tests.support.engines.qdrant_server import serve_qdrant

        (place / "qdrant").mkdir()
        with serve_qdrant(place / "qdrant") as server:
            engine = engine_at(server.url, profile="tests")
            fill(read_in(place, kind), engine)
            released = threading.Event()
            server.before = lambda *_: released.wait(20)
            try:
                yield DocumentSource(RemoteKnowledge(engine), kind)
            finally:
                released.set()
                engine.close()

    return opened


@contextmanager
def nobody() -> Generator[int]:
    yield closed_port()


# ----------------------------------------------------------------------------------------------- database and graph


def database(
    url: Callable[[Place], AbstractContextManager[str | Place]], *lookups: Lookup
) -> Callable[[Place], Opened]:
    @contextmanager
    def opened(place: Place) -> Generator[EvidenceSource]:
        with url(place) as address:
            yield DatabaseSource(lookups or LOOKUPS, address, Database(seconds=0.3))

    return opened


def at_postgres(port: Callable[[], AbstractContextManager[int]]) -> Callable[[Place], Opened]:
    @contextmanager
    def url(_: Place) -> Generator[str]:
        with port() as number:
            yield f"postgresql://reader:not-to-be-shown@127.0.0.1:{number}/base"

    return database(url)


@contextmanager
def no_file(place: Place) -> Generator[Place]:
    yield place / "none.db"


@contextmanager
def no_database(place: Place) -> Generator[Place]:
    (place / "garbage.db").write_bytes(b"no database at all, " * 500)
    yield place / "garbage.db"


@contextmanager
def lock_file(place: Place) -> Generator[Place]:
    file = tables.sqlite_file(place / "locked.db")
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    try:
        yield file
    finally:
        connection.close()


@contextmanager
def well(place: Place) -> Generator[Place]:
    yield tables.sqlite_file(place / "library.db")


def graph_file(harm: Callable[[Place], object], *lookups: Lookup) -> Callable[[Place], Opened]:
    @contextmanager
    def opened(place: Place) -> Generator[EvidenceSource]:
        file = small_graph.make_graph(place)
        harm(file)
        source = GraphSource(Ladybug(file), lookups or LOOKUPS)
        yield source
        source.close()

    return opened


def at_bolt(port: Callable[[], AbstractContextManager[int]]) -> Callable[[Place], Opened]:
    @contextmanager
    def opened(_: Place) -> Generator[EvidenceSource]:
        with port() as number:
            source = GraphSource(Neo4j(f"bolt://reader:not-to-be-shown@127.0.0.1:{number}"), LOOKUPS)
            yield source
        source.close()

    return opened


@contextmanager
def greets_only() -> Generator[int]:
    with SilentBolt() as server:
        yield server.port


# ------------------------------------------------------------------------------------------------------ faults of ours


class Odd(FakeSource):
    """A source that does what no source may."""

    def __init__(self, kind: Source, does: Callable[[], object]) -> None:
        super().__init__(kind)
        self._does = does

    async def search(self, request: SearchRequest) -> SearchReply:
        found = await super().search(request)
        made = self._does()
        return SearchReply(made, found.trace) if isinstance(made, tuple) else made  # type: ignore[return-value]


def odd(kind: Source, does: Callable[[], object]) -> Callable[[Place], Opened]:
    @contextmanager
    def opened(_: Place) -> Generator[EvidenceSource]:
        yield Odd(kind, does)

    return opened


def stumble() -> object:
    raise KeyError("not-to-be-shown")


def unavailable(kind: Source) -> Callable[[Place], Opened]:
    @contextmanager
    def opened(_: Place) -> Generator[EvidenceSource]:
        yield FakeSource(kind, SourceUnavailable("Away.", "Wait."))

    return opened


WORTHLESS = EvidenceItem.model_construct(source="nowhere", ref=7, snippet=None, confidence=float("nan"))

HALF = EvidenceItem(source=Source.DOC, ref="doc:1#0", snippet="The kettle boils \ud800.", confidence=0.9)


def _of_documents(kind: Source) -> list[Fault]:
    return [
        Fault(kind, "down", "folder-removed", open_embedded(kind, remove_folder), "cannot be read"),
        Fault(kind, "down", "no-server", in_server(kind, nobody), "cannot be asked"),
        Fault(kind, "slow", "server-silent", in_server(kind, lambda: listen(None)), TIMED_OUT),
        Fault(kind, "slow", "server-hangs-later", hangs_later(kind), TIMED_OUT),
        Fault(kind, "garbage", "files-overwritten", open_embedded(kind, overwritten), "cannot be read"),
        Fault(kind, "garbage", "html", in_server(kind, lambda: listen(HTML)), "cannot be asked"),
        Fault(kind, "garbage", "http-500", in_server(kind, lambda: listen(WRONG)), "cannot be asked"),
        Fault(kind, "empty", "other-pages", without_words(kind)),
    ]


FAULTS: tuple[Fault, ...] = (
    *_of_documents(Source.DOC),
    *_of_documents(Source.POLICY),
    Fault(Source.DB, "down", "no-file", database(no_file), "there is no database"),
    Fault(Source.DB, "down", "no-server", at_postgres(nobody), "connection"),
    Fault(Source.DB, "slow", "locked", database(lock_file), "locked"),
    Fault(Source.DB, "slow", "server-silent", at_postgres(lambda: listen(None)), TIMED_OUT),
    Fault(Source.DB, "garbage", "file-overwritten", database(no_database), "not a database"),
    Fault(Source.DB, "garbage", "html", at_postgres(lambda: listen(HTML)), "connection"),
    Fault(Source.DB, "empty", "nothing-asks-for-it", database(well, tables.lookup("SELECT 1 AS a", name="other"))),
    Fault(Source.NEO4J, "down", "no-file", graph_file(lambda file: file.unlink()), "no graph"),
    Fault(Source.NEO4J, "down", "no-server", at_bolt(nobody), "cannot be asked"),
    Fault(Source.NEO4J, "slow", "server-silent", at_bolt(lambda: listen(None)), TIMED_OUT),
    Fault(Source.NEO4J, "slow", "server-greets-only", at_bolt(greets_only), TIMED_OUT),
    Fault(
        Source.NEO4J,
        "garbage",
        "file-overwritten",
        graph_file(lambda file: file.write_bytes(b"\x00garbage" * 5000)),
        "cannot be asked",
    ),
    Fault(Source.NEO4J, "garbage", "html", at_bolt(lambda: listen(HTML)), "cannot be asked"),
    Fault(
        Source.NEO4J,
        "empty",
        "nothing-asks-for-it",
        graph_file(lambda _: None, DEPENDS.model_copy(update={"name": "other"})),
    ),
    *(Fault(kind, "down", "says-so", unavailable(kind), "Away. Wait.") for kind in Source),
    *(Fault(kind, "garbage", "raises-what-it-may-not", odd(kind, stumble), "KeyError") for kind in Source),
    *(Fault(kind, "garbage", "returns-nothing", odd(kind, lambda: None), "AttributeError") for kind in Source),
    *(Fault(kind, "garbage", "returns-no-items", odd(kind, lambda: ("text", 7)), "AttributeError") for kind in Source),
    *(Fault(kind, "garbage", "worthless-items", odd(kind, lambda: (WORTHLESS,)), "ValidationError") for kind in Source),
    *(Fault(kind, "garbage", "half-a-character", odd(kind, lambda: (HALF,)), "SerializationError") for kind in Source),
)
