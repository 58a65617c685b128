"""What an index in a server does to a turn when something is wrong with it."""

from __future__ import annotations

import asyncio
import json
import re
import socketserver
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import psycopg.sql
import pytest

from adapters.index.embedded import DocumentSource, ingest
from adapters.index.remote.engines import engine_at
from adapters.index.remote.filling import fill
from adapters.index.remote.search import RemoteKnowledge
from contracts.errors import ConfigError, KnowledgeError, SourceUnavailable
from contracts.ports import SearchRequest
from tests.support.engines.kinds import KINDS, Servers, new_name
from tests.support.markdown_pages import write
from tests.support.timed import LOADED

APPLE = SearchRequest("apple")


@pytest.fixture
def apples(tmp_path: Path) -> Path:
    ingest(write(tmp_path / "docs", {"a.md": "# A\n\nAn apple.\n"}), directory=tmp_path / "kb")
    return tmp_path / "kb"


async def unavailable(knowledge: RemoteKnowledge) -> SourceUnavailable:
    """Search, which must fail with the port's error in time."""
    began = time.perf_counter()
    with pytest.raises(SourceUnavailable) as caught:
        await DocumentSource(knowledge).search(APPLE)
    assert time.perf_counter() - began < LOADED
    assert caught.value.way_out
    return caught.value


@contextmanager
def standing_still(servers: Servers, kind: str, name: str) -> Generator[None]:
    """Let a server take requests and answer none."""
    if kind == "qdrant":
        released = threading.Event()
        servers.qdrant.before = lambda *_: released.wait(60)
        try:
            yield
        finally:
            servers.qdrant.before = lambda *_: None
            released.set()
        return
    with psycopg.connect(servers.postgres()) as connection:
        tables = (psycopg.sql.Identifier(f"guardian_{name}_{table}") for table in ("postings", "notes"))
        connection.execute(psycopg.sql.SQL("LOCK TABLE {}, {}").format(*tables))
        yield


@pytest.mark.parametrize("kind", KINDS)
async def test_a_server_that_answers_nothing_is_given_up_in_time(servers: Servers, kind: str, apples: Path) -> None:
    """One deadline is over all that a search asks, the error says so, and when the server works again, the search does."""
    name = new_name()
    with servers.engine(kind, name) as engine:
        fill(apples, engine)
        fresh, known = RemoteKnowledge(engine, timeout_s=3), RemoteKnowledge(engine, timeout_s=3)
        assert (await DocumentSource(known).search(APPLE)).items
        with standing_still(servers, kind, name):
            errors = await asyncio.gather(unavailable(fresh), unavailable(known))
        for error in errors:
            assert re.search(r"took (too long|longer than \d+(\.\d)? s)", str(error)), error
        for knowledge in (fresh, known):
            assert (await DocumentSource(knowledge).search(APPLE)).items


async def test_a_database_that_was_started_anew_is_asked_again(servers: Servers, apples: Path) -> None:
    """Connections that broke while nobody searched are no error: another one is opened."""
    with servers.engine("postgres") as engine:
        fill(apples, engine)
        knowledge = RemoteKnowledge(engine)
        assert (await DocumentSource(knowledge).search(APPLE)).items
        with psycopg.connect(servers.postgres()) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND "
                "application_name = 'guardian'"
            )
        assert (await DocumentSource(knowledge).search(APPLE)).items


# ------------------------------------------------------------------------------------------------------ while filling


@pytest.mark.parametrize("times", [1, 2])
def test_a_connection_that_breaks_off_while_qdrant_is_filled(servers: Servers, apples: Path, times: int) -> None:
    """Once, it is asked again; where it happens again, the fill ends with a way out, and the next finishes it."""
    left = [times]

    def drop(method: str, path: str) -> None:
        if path.endswith("points?wait=true") and left[0]:
            left[0] -= 1
            raise ConnectionError("cut")

    with servers.engine("qdrant") as engine:
        servers.qdrant.before = drop
        try:
            if times == 1:
                assert fill(apples, engine).written == 1
            else:
                with pytest.raises(KnowledgeError, match="cannot be filled") as caught:
                    fill(apples, engine)
                assert "goes on where it stopped" in (caught.value.way_out or "")
        finally:
            servers.qdrant.before = lambda *_: None
        fill(apples, engine)
        assert RemoteKnowledge(engine).count() == {"doc": 1}


def test_a_connection_that_breaks_off_while_a_database_is_filled(servers: Servers, tmp_path: Path) -> None:
    """What the server ends between two batches is opened again: no batch is lost, and none is there twice."""
    write(tmp_path / "docs", {f"{n}.md": f"# Page {n}\n\nAn apple.\n" for n in range(6)})
    ingest(tmp_path / "docs", directory=tmp_path / "kb")

    def end(done: int, total: int) -> None:
        with psycopg.connect(servers.postgres()) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND "
                "application_name = 'guardian'"
            )

    with servers.engine("postgres") as engine:
        assert fill(tmp_path / "kb", engine, batch=2, on_progress=end).written == 6
        assert RemoteKnowledge(engine).count() == {"doc": 6}
        assert len(list(engine.held())) == 6


def test_a_server_that_says_nothing_does_not_hold_up_the_command(
    servers: Servers, apples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first question has a short time of its own; a fill of hours may take its hours later."""
    monkeypatch.setattr("adapters.index.remote.filling._SECONDS", 0.5)
    released = threading.Event()
    servers.qdrant.before = lambda *_: released.wait(60)
    began = time.perf_counter()
    try:
        with servers.engine("qdrant") as engine, pytest.raises(KnowledgeError, match="took too long"):
            fill(apples, engine)
    finally:
        servers.qdrant.before = lambda *_: None
        released.set()
    assert time.perf_counter() - began < LOADED


# --------------------------------------------------------------------------------------------------- replies of HTTP


class _Talker(socketserver.StreamRequestHandler):
    """Answers whatever is asked with what the server has been given."""

    def handle(self) -> None:
        self.request.recv(65536)
        self.server.answer(self.wfile.write)  # type: ignore[attr-defined]


@contextmanager
def talking(answer: Callable[[Callable[[bytes], object]], object]) -> Generator[str]:
    """Run a server that writes what it likes; yield its address."""

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """Clients hang up here."""

    with Server(("127.0.0.1", 0), _Talker) as server:
        server.answer = answer  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield f"qdrant://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def reply(body: str, status: str = "200 OK") -> Callable[[Callable[[bytes], object]], object]:
    content = body.encode()
    head = f"HTTP/1.1 {status}\r\ncontent-length: {len(content)}\r\nconnection: close\r\n\r\n".encode()
    return lambda write_: write_(head + content)


def drip(write_: Callable[[bytes], object]) -> None:
    write_(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
    for _ in range(100):
        write_(b" ")
        time.sleep(0.1)


BAD = {
    "no JSON": reply("<html>hello</html>"),
    "no result": reply("{}"),
    "a list": reply("[]"),
    "another result": reply('{"result": [{"payload": {}}]}'),
    "results of no form": reply('{"result": 7}'),
    "an error": reply('{"status": {"error": "Service internal error"}}', "500 Internal Server Error"),
    "an error of a proxy": reply("<html>bad gateway</html>", "502 Bad Gateway"),
    "refused": reply('{"status": {"error": "Forbidden"}}', "403 Forbidden"),
    "elsewhere": reply("", "302 Found"),
    "a half": lambda write_: write_(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"),
    "no HTTP": lambda write_: write_(b"SSH-2.0-OpenSSH\r\n"),
    "nothing": lambda _: None,
    "a drip": drip,
}


@pytest.mark.parametrize("answer", BAD.values(), ids=BAD)
async def test_a_reply_that_is_none_of_qdrants_is_an_error_of_the_port(
    answer: Callable[[Callable[[bytes], object]], object],
) -> None:
    """Garbage, errors, halves and drips: the turn gets the port's error in time, never another one."""
    with talking(answer) as url:
        knowledge = RemoteKnowledge(engine_at(url, profile="shelf"), timeout_s=1)
        await unavailable(knowledge)
        knowledge.close()


# ----------------------------------------------------------------------------------------------------------- secrets


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[str]:
    """A Qdrant that wants a key."""
    from tests.support.engines.qdrant_server import serve_qdrant

    (tmp_path / "qdrant").mkdir()
    with serve_qdrant(tmp_path / "qdrant") as server:
        server.api_key = "hunter2"
        yield server.url


async def test_a_key_is_sent_and_never_shown(guarded: str, apples: Path) -> None:
    """The right key opens; a wrong one is an error that repeats neither."""
    engine = engine_at(guarded, profile="shelf", key="hunter2")
    fill(apples, engine)
    with RemoteKnowledge(engine) as knowledge:
        assert (await DocumentSource(knowledge).search(APPLE)).items
        assert "hunter2" not in repr(vars(knowledge)) + engine.name
    with RemoteKnowledge(engine_at(guarded, profile="shelf", key="hunter3")) as knowledge:
        error = await unavailable(knowledge)
    assert "401" in str(error)
    assert not re.search("hunter", str(error))


async def test_a_key_that_a_proxy_repeats_is_not_shown() -> None:
    """What stands between here and the server may quote the request."""
    for answer in (
        reply("denied: hunter2", "403 Forbidden"),
        reply('{"status": {"error": "hunter2?"}}', "403 Forbidden"),
    ):
        with talking(answer) as url, RemoteKnowledge(engine_at(url, profile="shelf", key="hunter2")) as knowledge:
            error = await unavailable(knowledge)
            assert "403" in str(error)
            assert "hunter2" not in str(error)


async def test_a_database_password_is_never_shown() -> None:
    """Not in the name, and not in an error, whether it stands in the address or beside it."""
    for engine in (
        engine_at("postgresql://me:hunter2@127.0.0.1:1/shelf", profile="shelf"),
        engine_at("postgresql://me@127.0.0.1:1/shelf", profile="shelf", key="hunter2"),
        engine_at("postgresql://me:hunter2@127.0.0.1:1/shelf?hunter2=1", profile="shelf"),
    ):
        error = await unavailable(RemoteKnowledge(engine))
        assert "hunter2" not in str(error) + engine.name
        assert "127.0.0.1:1" in engine.name


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "no kind of server"),
        ("http://host:6333", "no kind of server"),
        ("qdrant://", "no host"),
        ("qdrant://host:port", "cannot be read"),
        ("qdrant://me:hunter2@host", "has a password"),
        ("qdrant://host/Two Words", "no fit name"),
        ("postgresql://me:hunter2@host:port/db", "cannot be read"),
    ],
)
def test_a_wrong_address_is_told_without_being_repeated(url: str, says: str) -> None:
    """The message says what is wrong with the address; what it holds stays out, for it may hold a password."""
    with pytest.raises(ConfigError, match=says) as caught:
        engine_at(url, profile="shelf")
    assert caught.value.way_out
    assert "hunter2" not in str(caught.value)


def test_addresses_name_servers_and_collections() -> None:
    """Port, scheme and collection have defaults; the profile names the collection."""
    names = {
        "qdrant://host": "http://host:6333/guardian-shelf",
        "qdrants://host:443/books": "https://host:443/books",
        "qdrant://[::1]:1": "http://[::1]:1/guardian-shelf",
        "postgresql://me:word@host:5433/db": "postgresql://host:5433/db (shelf)",
    }
    assert {url: engine_at(url, profile="shelf").name for url in names} == names


def test_notes_are_no_passages(servers: Servers, apples: Path) -> None:
    """In Qdrant's one collection, statistics are neither found by a search nor listed as passages."""
    with servers.engine("qdrant") as engine:
        fill(apples, engine)
        assert len(list(engine.held())) == 1
        assert json.loads(engine.note("state", 5) or "")["filled"]["documents"] == {"doc": 1}
