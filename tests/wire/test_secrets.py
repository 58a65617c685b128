"""Keys go to the server that they are for, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.cli_helpers import QUESTION, Desk, Said
from tests.support.storage import read_files
from tests.support.wire.server_process import FakeServer, fake_server
from tests.support.wire.trace_sink import TraceSink, trace_sink

OURS = {
    "OPENAI_API_KEY": "sk-proj-Unmistakable1aQ9zK",
    "GUARD_VLLM_API_KEY": "sk-guard-Unmistakable2bW8yL",
}
LANGSMITH = {"LANGSMITH_API_KEY": "lsv2_pt_Unmistakable3cE7xM"}
KEYS = {**OURS, **LANGSMITH}
PIECES = ("Unmistakable", "1aQ9zK", "2bW8yL", "3cE7xM")
"""Any of these is a key, or a part of one that nobody should see."""


def leaks(*texts: str | bytes) -> list[str]:
    """Return the pieces of keys that are in any of the texts."""
    raw = [text.encode() if isinstance(text, str) else text for text in texts]
    return [piece for piece in PIECES if any(piece.encode() in text for text in raw)]


def said(*commands: Said) -> list[str]:
    return [text for command in commands for text in (command.out, command.err)]


def kept(desk: Desk) -> list[bytes]:
    """Return every file under the data directory: index, checkpoints, transcript, locks, whatever there is."""
    assert any(desk.data.rglob("threads.db"))
    return read_files(desk.data)


def strayed(sink: TraceSink) -> list[str]:
    """Return the pieces of keys that a trace was sent with; LangSmith's own may only be the header that it is for."""
    heads = [str({**request.headers, "x-api-key": ""}) for request in sink.requests]
    assert all(request.headers["x-api-key"] == KEYS["LANGSMITH_API_KEY"] for request in sink.requests)
    return leaks(sink.sent, *heads)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    place = tmp_path_factory.mktemp("secrets")
    desk = Desk(place / "data", place)
    desk.index()
    return desk


@pytest.fixture
def desk(library: Desk, tmp_path: Path) -> Desk:
    """A desk of the test's own, in whose environment are all keys."""
    return library.copied(tmp_path / "data").having(**KEYS)


def test_a_turn_leaves_no_key_in_files_output_or_traces(desk: Desk) -> None:
    """With everything shown and traced that can be: the result, the path, the contents of all runs."""
    with trace_sink() as sink:
        traced = desk.having(**sink.environment())
        turns = [
            traced.run("ask", QUESTION, "--json", "--path", "--thread", "t"),
            traced.run("ask", "It does not work", "--path", "--thread", "t"),
            traced.here("threads", "show", "t", "--json"),
        ]
    assert [turn.code for turn in turns] == [0, 3, 0]
    assert leaks(*said(*turns)) == []
    assert leaks(*kept(desk)) == []
    assert sink.holds("shelfctl") == ["shelfctl"]
    assert strayed(sink) == []


def test_showing_the_settings_shows_no_key(desk: Desk) -> None:
    """In both forms."""
    shown = desk.here("show", "settings"), desk.here("show", "settings", "--json")
    assert [one.code for one in shown] == [0, 0]
    assert leaks(*said(*shown)) == []


def test_the_doctor_says_no_key(desk: Desk) -> None:
    """In both forms, with tracing on."""
    traced = desk.having(LANGSMITH_TRACING="true", LANGSMITH_ENDPOINT="http://127.0.0.1:9")
    looked = traced.here("doctor"), traced.here("doctor", "--json")
    assert all("profile" in one.out for one in looked)
    assert leaks(*said(*looked)) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("ask", "\0"),
        ("ask", QUESTION, "--profile", "nowhere"),
        ("ask", QUESTION, "--role", "nobody"),
        ("ask", QUESTION, "--thread", ""),
        ("threads", "show", "unknown"),
    ],
)
def test_no_error_says_a_key(desk: Desk, arguments: tuple[str, ...]) -> None:
    """Whatever goes wrong, in words and with an exit code that is not 0."""
    wrong = desk.here(*arguments)
    assert wrong.code
    assert wrong.err
    assert leaks(*said(wrong)) == []


def with_models(desk: Desk, server: FakeServer) -> Desk:
    """Return the desk with a planner, a drafter and a moderator behind that server."""
    return desk.having(
        GUARDIAN_MODEL="fake-model",
        OPENAI_BASE_URL=server.url,
        GUARD_PROVIDER_TYPE="vllm",
        GUARD_VLLM_URL=server.url,
        GUARD_VLLM_MODEL="fake-guard",
    )


def test_a_turn_of_models_leaves_no_key_in_files_output_or_traces(desk: Desk) -> None:
    """Planner, drafter and moderator each get the key of their server, and nobody else gets any."""
    with fake_server() as server, trace_sink() as sink:
        traced = with_models(desk, server).having(**sink.environment())
        turn = traced.run("ask", QUESTION, "--json", "--path")
        doctor = traced.here("doctor")
        asked = server.requests()
    assert turn.code == 0
    assert {"plan", "draft", "moderation"} <= {request["purpose"] for request in asked}
    assert sink.holds("ChatOpenAI", "shelfctl") == ["ChatOpenAI", "shelfctl"]
    assert leaks(*said(turn, doctor), *kept(desk)) == []
    assert strayed(sink) == []


def test_servers_that_repeat_the_key_in_their_refusal_do_not_get_it_anywhere(desk: Desk) -> None:
    """A 401 that quotes the key it was sent: the turn ends in words of ours, and so does the doctor."""
    with fake_server() as server, trace_sink() as sink:
        server.script([refusal("GUARD_VLLM_API_KEY", purpose="moderation"), refusal("OPENAI_API_KEY")])
        traced = with_models(desk, server).having(**sink.environment())
        turn = traced.run("ask", QUESTION, "--json", "--path")
        doctor = traced.here("doctor")
        asked = server.requests()
    assert {"plan", "moderation"} <= {request["purpose"] for request in asked}
    assert turn.json["diagnostics"]
    assert sink.holds("ChatOpenAI", "Incorrect API key") == ["ChatOpenAI", "Incorrect API key"]
    assert leaks(*said(turn, doctor), *kept(desk)) == []
    assert strayed(sink) == []


def refusal(key: str, **when: str) -> dict[str, Any]:
    """Return the step of a script that quotes a key."""
    error = {"message": f"Incorrect API key provided: {OURS[key]}.", "code": "invalid_api_key"}
    return {"when": when, "reply": {"status": 401, "json": {"error": error}}}


@pytest.mark.parametrize("mode", ["langsmith", "otel"])
def test_a_tracing_server_that_repeats_the_key_in_its_refusal_does_not_get_it_into_the_log(
    desk: Desk, mode: str
) -> None:
    """LangSmith's client logs what a server replied: of that, one line without the key is left."""
    with trace_sink(status=401) as sink:
        otel = {"LANGSMITH_TRACING_MODE": mode, "OTEL_EXPORTER_OTLP_ENDPOINT": sink.url} if mode == "otel" else {}
        turn = desk.having(**sink.environment(), **otel).run("ask", QUESTION, "--quiet")
    assert turn.code == 0
    assert sink.requests
    assert "Traces could not be sent" in turn.err
    assert "401" in turn.err
    assert leaks(*said(turn), *kept(desk)) == []
