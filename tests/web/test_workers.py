"""`guardian serve --workers`: several processes at one port are one server to their callers.

New: no other test has more than one process at a port.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import httpx
import pytest
from fastapi import FastAPI
from prometheus_client.parser import text_string_to_metric_families

from adapters.storage.sqlite import SqliteDatabase
from assistant.cli.commands.serve import MOST_WORKERS
from assistant.config.settings import Settings
from assistant.web.forwarding import CLIENT_HEADER, OwnWorker
from assistant.web.limits import WRONG_KEYS
from assistant.web.rates import HOUR_S, FileRates, LocalRates, Quota, Rates
from assistant.web.workers import Worker
from tests.support.cli_helpers import QUESTION, Desk
from tests.support.served_desk import LONGEST_S, Serving, serve
from tests.support.wire.server_process import FakeServer, fake_server


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk whose documents are indexed."""
    place = tmp_path_factory.mktemp("workers")
    desk = Desk(place / "data", place)
    desk.index()
    return desk


@pytest.fixture
def model() -> Iterator[FakeServer]:
    """A language model that takes its time, if it is told to."""
    with fake_server() as server:
        yield server


def list_workers(served: Serving) -> list[int]:
    """Return the processes of a server's workers."""
    parent = served.process.pid
    return [int(child) for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def wait_for_workers(served: Serving, count: int) -> None:
    """Wait until so many workers answer, which each says on its own socket when it is asked for its metrics."""
    deadline = time.monotonic() + LONGEST_S
    while count_workers(served) < count:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def count_workers(served: Serving) -> int:
    with served.client() as client:
        return len({sample.labels.get("worker") for sample in read_samples(client)})


def read_samples(client: httpx.Client) -> list[SimpleNamespace]:
    text = client.get("/metrics").text
    return [
        SimpleNamespace(name=sample.name, labels=sample.labels, value=sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    ]


def ask(served: Serving, *, turn: str, key: str = "", path: str = "/v1/ask") -> httpx.Response:
    """Ask on a connection of its own, which any worker may take."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    with served.client(**headers) as client:
        return client.post(path, json={"question": QUESTION, "thread_id": "t", "turn_id": turn})


def test_workers_share_limits_metrics_and_conversations(shelf: Desk, tmp_path: Path) -> None:
    """Of 30 requests at once, a key that may make 7 makes 7, wherever they come in; a message runs once; metrics name the worker."""
    desk = shelf.copied(tmp_path / "data")
    few = desk.here("keys", "add", "few", "--per-minute", "7").out.splitlines()[0]
    anna = desk.here("keys", "add", "anna", "--role", "operator").out.splitlines()[0]
    with serve(desk, "--workers", "3") as served, ThreadPoolExecutor(10) as pool:
        with served.client(Authorization=f"Bearer {anna}") as operator:
            deadline = time.monotonic() + LONGEST_S
            while len({sample.labels["worker"] for sample in read_samples(operator)}) < 3:
                assert time.monotonic() < deadline
            answers = list(pool.map(lambda turn: ask(served, turn=turn, key=anna), ["1"] * 10))
            assert [answer.status_code for answer in answers] == [200] * 10
            assert len({answer.json()["answer"] for answer in answers}) == 1
            assert len(operator.get("/v1/threads/t").json()["turns"]) == 1
            told = pool.map(lambda _: models(served, few), range(30))
            assert Counter(told) == {200: 7, 429: 23}
            # Whoever guesses keys may call himself what he likes.
            told = pool.map(lambda host: models(served, "wrong", f"guess {host} 1"), range(WRONG_KEYS + 1))
            assert Counter(told) == {401: WRONG_KEYS, 429: 1}
            samples = [one for one in read_samples(operator) if one.name == "guardian_http_requests_total"]
            assert {one.labels["worker"] for one in samples} == {"1", "2", "3"}
            asked = [one.value for one in samples if one.labels["route"] == "/v1/ask"]
            assert sum(asked) == 10
        served.signal()
        assert served.ended() == (0, "")


def models(served: Serving, key: str, client: str = "") -> int:
    headers = {"Authorization": f"Bearer {key}"} | ({CLIENT_HEADER.decode(): client} if client else {})
    with served.client(**headers) as one:
        return one.get("/v1/models").status_code


def test_a_worker_that_ends_by_itself_is_replaced(shelf: Desk, tmp_path: Path) -> None:
    """The others answer meanwhile, its half-finished work is anybody's, and all is said in one line."""
    with serve(shelf.copied(tmp_path / "data"), "--workers", "2") as served:
        wait_for_workers(served, 2)
        first, second = list_workers(served)
        os.kill(second, signal.SIGKILL)
        assert ask(served, turn="1").json()["outcome"] == "answered"
        wait_for_workers(served, 2)
        assert first in list_workers(served)
        assert second not in list_workers(served)
        served.signal()
        code, said = served.ended()
    assert code == 0
    assert said == "guardian: worker 2 of 2 ended by signal 9; it is replaced.\n"


@pytest.mark.parametrize(
    ("end", "to_all"),
    [(signal.SIGTERM, False), (signal.SIGTERM, True), (signal.SIGINT, False), (signal.SIGKILL, False)],
)
def test_whatever_ends_the_parent_ends_its_workers_once_they_have_answered(
    shelf: Desk,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    model: FakeServer,
    end: signal.Signals,
    to_all: bool,
) -> None:
    """A signal is passed on, also if the workers get it, too, as from systemd; if the parent is killed, its workers notice."""
    sockets = tmp_path_factory.mktemp("w")  # short: so are the names of sockets
    desk = shelf.copied(tmp_path / "data").having(
        GUARDIAN_MODEL="fake-model", OPENAI_BASE_URL=model.url, TMPDIR=str(sockets)
    )
    with serve(desk, "--workers", "2") as served, served.client() as client, ExitStack() as stream:
        wait_for_workers(served, 2)
        workers = list_workers(served)
        with model.held():
            body = {"question": QUESTION, "stream": True}
            lines = stream.enter_context(client.stream("POST", "/v1/ask", json=body)).iter_lines()
            assert any("sgr_plan" in line for line in lines)
            served.signal(end)
            for worker in workers if to_all else ():
                os.kill(worker, end)
        assert "event: answer" in list(lines)
        assert served.ended()[0] == (0 if end != signal.SIGKILL else -signal.SIGKILL)
        deadline = time.monotonic() + LONGEST_S
        while any(map(is_running, workers)):
            assert time.monotonic() < deadline
            time.sleep(0.02)
    assert list(sockets.iterdir()) == []


def is_running(process: int) -> bool:
    """Whether a process has not ended; one that nobody has waited for yet has."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_what_is_missing_is_said_once(tmp_path: Path) -> None:
    """One worker begins alone, and says it for all."""
    empty = Desk(tmp_path / "data", tmp_path)
    said = empty.run("serve", "--port", "0", "--workers", "3")
    said.complains(1, "Nothing has been indexed", "guardian index")
    assert said.err == empty.here("ask", QUESTION, "--quiet").err


def test_a_folder_whose_name_is_too_long_for_a_socket_is_said_with_a_way_out(shelf: Desk, tmp_path: Path) -> None:
    """The system has 107 characters for the name of a socket."""
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    shelf.having(TMPDIR=str(deep)).run("serve", "--port", "0", "--workers", "2").complains(2, "TMPDIR", "shorter")
    assert list(deep.iterdir()) == []


def test_a_request_that_is_passed_on_keeps_its_addresses_and_nobody_else_sets_them(tmp_path: Path) -> None:
    """Callers are told apart by them, and by the server's own the name is checked that it is called by."""
    state = SimpleNamespace(deployed=SimpleNamespace(settings=Settings.read({})))
    known, other = (
        OwnWorker(
            cast("FastAPI", SimpleNamespace(state=state)),
            Worker(0, 2, tmp_path, token, memoryview(bytearray(8)).cast("I"), 0, 0, 0, first=True),
        )
        for token in ("known", "other")
    )
    client, server = ("203.0.113.7", 4321), ("192.0.2.2", 8000)
    sent = [(b"host", b"a.example"), (b"content-length", b"5"), (CLIENT_HEADER, b"known 1.1.1.1 1 2.2.2.2 2")]
    scope = {"client": client, "server": server, "headers": sent}
    request = known._request("GET", b"/page?a=%20b", scope, None)
    headers = [(name.lower(), value) for name, value in request.headers.raw]
    assert request.url.raw_path == b"/page?a=%20b"
    assert b"content-length" not in dict(headers)
    arrived = {"client": None, "server": ("/0.sock", None), "headers": headers}
    assert not other._read_client(dict(arrived))
    assert known._read_client(arrived)
    assert (arrived["client"], arrived["server"]) == (client, server)
    assert arrived["headers"] == [(b"host", b"a.example")]


def test_what_is_no_path_is_answered_as_by_one_server(shelf: Desk, tmp_path: Path) -> None:
    """`OPTIONS *` and a whole address in the place of a path, by browsers of both workers; and a body that is said to be too long."""
    with serve(shelf.copied(tmp_path / "data"), "--workers", "2") as served:
        host, port = served.address.removeprefix("http://").split(":")
        for target in ("OPTIONS *", f"GET {served.address}/page/style.css", "GET /page/../nothing", "GET /page#a"):
            for number in range(8):
                assert ask_raw(host, int(port), target, f"browser {number}") == 404
        for number in range(8):
            assert ask_raw(host, int(port), "POST /page", f"browser {number}", "Content-Length: 999999999") == 413
        served.signal()
        assert served.ended() == (0, "")


def ask_raw(host: str, port: int, target: str, agent: str, *more: str) -> int:
    """Send the head of a request alone, and return the status of its answer."""
    lines = (f"{target} HTTP/1.1", f"Host: {host}", f"User-Agent: {agent}", "Connection: close", *more, "", "")
    with socket.create_connection((host, port), timeout=LONGEST_S) as one:
        one.sendall("\r\n".join(lines).encode())
        return int(one.makefile().readline().split()[1])


@pytest.mark.parametrize("count", ["0", "-1", str(MOST_WORKERS + 1)])
def test_there_are_as_many_workers_as_a_machine_may_have(shelf: Desk, count: str) -> None:
    """None, or more than anybody has processors for, is refused."""
    shelf.here("serve", "--workers", count).complains(2, count, str(MOST_WORKERS))


@pytest.mark.parametrize("where", ["here", "in a file"])
async def test_requests_are_counted_for_all_their_senders_or_for_none(where: str, tmp_path: Path) -> None:
    """Alike in memory and in a file: who has made his number waits until the oldest is a span ago."""
    now = [1000.0]
    database = await SqliteDatabase.open(tmp_path / "requests.db")
    try:
        rates: Rates = LocalRates(lambda: now[0])
        if where == "in a file":
            rates = FileRates(database, lambda: now[0])
            await rates.make()
        anna, office = Quota("visitor", "anna", 2), Quota("address", "office", 3)
        assert await rates.take([]) is None
        assert await rates.take([anna, office]) is None
        now[0] += 10
        assert await rates.take([anna, office]) is None
        assert await rates.take([anna, office]) == (0, 50)
        assert await rates.take([Quota("visitor", "boris", 2), office]) is None
        assert await rates.take([Quota("visitor", "clara", 2), office]) == (1, 50)
        # Nothing was counted for her.
        assert await rates.take([Quota("visitor", "clara", 1)]) is None
        now[0] += 50
        assert await rates.take([anna, office]) is None
        newcomer = Quota("new_visitor", "office", 1)
        assert await rates.take([newcomer], HOUR_S) is None
        now[0] += 120
        assert await rates.take([anna]) is None  # minutes are over, and what is counted by the hour is not
        assert await rates.take([newcomer], HOUR_S) == (0, 3480)
    finally:
        await database.close()
