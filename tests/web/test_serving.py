"""`guardian serve` as a process: what it says, what it refuses to begin with, and how it ends."""

from __future__ import annotations

import signal
import socket
import sys
import time
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from assistant.keys import Keys
from tests.support.cli_helpers import ANSWER, QUESTION, Desk
from tests.support.served_desk import LONGEST_S, Serving, serve
from tests.support.timed import LOADED
from tests.support.wire.server_process import FakeServer, fake_server

EVERYWHERE = "0.0.0.0"  # noqa: S104  # the rule of these tests


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk whose documents are indexed."""
    place = tmp_path_factory.mktemp("serving")
    desk = Desk(place / "data", place)
    desk.index()
    return desk


@pytest.fixture(scope="module")
def model() -> Iterator[FakeServer]:
    """A language model that takes its time, if it is told to."""
    with fake_server() as server:
        yield server


@pytest.fixture
def modelled(shelf: Desk, model: FakeServer, tmp_path: Path) -> Iterator[Desk]:
    """A desk of the test's own that plans and drafts with the model."""
    yield shelf.copied(tmp_path / "data").having(GUARDIAN_MODEL="fake-model", OPENAI_BASE_URL=model.url)
    model.reset()


def asked(model: FakeServer, times: int) -> None:
    """Wait until the model was asked so often: then a turn is on its way."""
    deadline = time.monotonic() + LONGEST_S
    while len([request for request in model.requests() if "completions" in request["path"]]) < times:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def ask(served: Serving, thread: str) -> httpx.Response:
    with served.client() as client:
        return client.post("/v1/ask", json={"question": QUESTION, "thread_id": thread})


def ask_in_events(served: Serving) -> str:
    with served.client() as client:
        return client.post("/v1/ask", json={"question": QUESTION, "stream": True}).text


# ------------------------------------------------------------------------------------------------------ while it runs


def test_a_server_says_where_it_listens_and_answers_there(shelf: Desk) -> None:
    """At the port that it says; it writes nothing more than that, whatever is asked, and ends with 0."""
    with serve(shelf, bare=False) as served:
        assert served.said.startswith("Guardian listens at http://127.0.0.1:")
        assert not served.address.endswith(":0")
        for part in (
            f"{served.address}/docs",
            f"{served.address}/v1",
            f"Chat page: {served.address}/",
            "/mcp",
            "the role user",
        ):
            assert part in served.said
        with served.client(Authorization="Bearer gk-secret") as client:
            assert client.get("/healthz").status_code == 200
            assert client.get("/readyz").json()["ready"] is True
            assert "<html" in client.get("/").text
            answer = client.post("/v1/ask", json={"question": QUESTION})
            assert ANSWER in answer.json()["answer"]
            large = client.post("/v1/ask", content=iter([b"a" * 200_000, b"a" * 200_000]))
            assert large.status_code == 413
            assert client.get("/nowhere?key=gk-secret").status_code == 404
            # A key that is made while it runs is asked for at once.
            key = Keys(shelf.data / "api_keys.json").add("anna", "user")
            try:
                assert client.get("/v1/models").status_code == 401
                assert client.get("/v1/models", headers={"Authorization": f"Bearer {key}"}).status_code == 200
            finally:
                (shelf.data / "api_keys.json").unlink()
            # Who takes the file away lets nobody in.
            assert client.get("/v1/models").status_code == 401
        port = served.address.rpartition(":")[2]
        shelf.here("serve", "--port", port).complains(2, port, "--port")
        served.signal()
        assert served.ended() == (0, "")
        assert served.process.stdout is not None
        assert served.process.stdout.read() == b""


def test_a_server_that_others_can_reach_without_keys_warns_loudly(shelf: Desk) -> None:
    """In the language of the terminal, on standard error, with the way out; Ctrl-C ends it with 0."""
    with serve(shelf.having(LC_ALL="ru_RU.UTF-8"), "--host", EVERYWHERE) as served:
        assert served.said.startswith(f"Guardian слушает http://{EVERYWHERE}:")
        assert "pip install 'guardian-assistant[ui]'" in served.said
        assert "pip install 'guardian-assistant[mcp]'" in served.said
        served.signal(signal.SIGINT)
        code, warning = served.ended()
    assert code == 0
    assert "ВНИМАНИЕ" in warning
    assert "guardian keys add" in warning


# ---------------------------------------------------------------------------------------------- what it does not begin


def test_a_server_does_not_begin_without_an_index(tmp_path: Path) -> None:
    """It says the same as `guardian ask`, and listens nowhere."""
    empty = Desk(tmp_path / "data", tmp_path)
    said = empty.here("serve", "--port", "0")
    said.complains(1, "Nothing has been indexed", "guardian index")
    assert said.err == empty.here("ask", QUESTION, "--quiet").err


@pytest.mark.parametrize("package", ["fastapi", "fastapi_offline", "uvicorn", "prometheus_client"])
def test_without_its_packages_it_says_how_to_get_them(
    shelf: Desk, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The extra is named as pip wants it."""
    monkeypatch.setitem(sys.modules, package, None)
    shelf.here("serve").complains(2, "pip install 'guardian-assistant[serve]'")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--role", "queen"), ("no role 'queen'", "user, operator")),
        (("--host", EVERYWHERE, "--role", "operator"), ("'operator'", "guardian keys add")),
        (("--host", "::", "--role", "operator"), ("'operator'", "guardian keys add")),
        (("--host", ""), ("no address", "--host")),
        (("--port", "65536"), ("65536", "65535")),
        (("--port", "-1"), ("-1", "65535")),
    ],
)
def test_a_server_does_not_begin_with_what_cannot_be_meant(
    shelf: Desk, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    """A role that is not there, or too much for whoever comes; an address or a port that is none."""
    shelf.here("serve", *arguments).complains(2, *words)


def test_a_port_that_is_only_taken_is_taken(shelf: Desk) -> None:
    """Another program's port is an error with a way out, also while that program answers nobody yet."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        shelf.here("serve", "--port", port).complains(2, port, "--port")


# ---------------------------------------------------------------------------------------------------------- how it ends


@contextmanager
def two_turns(served: Serving, model: FakeServer) -> Generator[tuple[Future[httpx.Response], Future[str]]]:
    """Ask twice, once with events, and wait until both turns are with the model."""
    with ThreadPoolExecutor(2) as pool:
        pair = pool.submit(ask, served, "t"), pool.submit(ask_in_events, served)
        asked(model, 2)
        yield pair


def test_a_server_that_is_told_to_end_answers_what_runs_first(modelled: Desk, model: FakeServer) -> None:
    """Turns in mid-way are answered, streams reach their end; newcomers and readiness are told at once."""
    model.options(delay_ms=400)
    with serve(modelled) as served, two_turns(served, model) as (plain, streamed):
        served.signal()
        with served.client() as client:
            while (ready := client.get("/readyz")).status_code == 200:
                pass
            assert ready.json()["missing"] == ["the server is shutting down: ask again when it is back"]
            refused = client.post("/v1/ask", json={"question": QUESTION})
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "ServerClosing")
            assert int(refused.headers["retry-after"]) > 0
            assert client.get("/healthz").status_code == 200
        assert not plain.done()
        answer: dict[str, Any] = plain.result(LONGEST_S).json()
        assert answer["outcome"] == "answered"
        events = streamed.result(LONGEST_S)
        assert "answered" in events[events.rindex("data: {") :]
        assert served.ended() == (0, "")


def test_what_takes_too_long_at_the_end_can_be_taken_up_again(modelled: Desk, model: FakeServer) -> None:
    """After the seconds of the setting the server ends all the same, says so, and the turn is finished by `resume`."""
    model.script([{"reply": {"hang": True}}])
    with serve(modelled.having(GUARDIAN_DRAIN_SECONDS="0.5")) as served, two_turns(served, model) as (plain, _):
        began = time.monotonic()
        served.signal()
        code, said = served.ended()
        assert 0.5 <= time.monotonic() - began < LOADED
        assert (code, "2 turns are left half-finished" in said, "Traceback" in said) == (0, True, False)
        assert (plain.result(LONGEST_S).status_code, plain.result().headers["retry-after"]) == (503, "5")
    model.script([])
    resumed = modelled.here("threads", "resume", "t", "--json")
    assert (resumed.code, resumed.json["outcome"]) == (0, "answered")


def test_a_second_signal_ends_a_server_at_once(modelled: Desk, model: FakeServer) -> None:
    """Whoever does not want to wait need not; the turn is kept half-finished."""
    model.script([{"reply": {"hang": True}}])
    with serve(modelled) as served, ThreadPoolExecutor(1) as pool:
        broken = pool.submit(ask, served, "t")
        asked(model, 1)
        served.signal()
        with served.client() as client:
            while client.get("/readyz").status_code == 200:
                pass
        began = time.monotonic()
        served.signal()
        assert served.ended()[0] == 130
        assert time.monotonic() - began < LOADED
        with pytest.raises(httpx.HTTPError):
            broken.result(LONGEST_S)
    threads = modelled.here("threads", "list", "--json").json
    assert [thread["thread_id"] for thread in threads if thread["unfinished"]] == ["t"]
