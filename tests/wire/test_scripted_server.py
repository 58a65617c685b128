from __future__ import annotations

import json
import math
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.fakes import scripts as scripts_module
from adapters.fakes.command import SCRIPT
from adapters.fakes.model import PLAN_TOOL as THEIR_PLAN_TOOL
from adapters.fakes.model import ModelRequest
from adapters.fakes.options import FakeServerOptions
from adapters.fakes.playback import decide
from adapters.fakes.scripts import REPLY, WHEN, Script, parse_script
from adapters.fakes.server import ScriptedServer, main
from adapters.fakes.strict import breach_of
from contracts.plan import PLAN_TOOL, SGRPlanResult
from tests.support.cli_helpers import Desk, interruptible
from tests.support.timed import LOADED
from tests.support.wire.server_process import ROOT, FakeServer, fake_server

TOOL: dict[str, Any] = {"type": "function", "function": {"name": PLAN_TOOL, "parameters": {"type": "object"}}}
FORCED = {"type": "function", "function": {"name": PLAN_TOOL}}
QUESTION = "How do I boil water?"
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Seconds that a busy machine may take longer; what must not happen takes longer than that."""


@pytest.fixture(scope="module")
def process() -> Iterator[FakeServer]:
    with fake_server() as running:
        yield running


@pytest.fixture
def server(process: FakeServer) -> FakeServer:
    """Return the module's one server, as new."""
    process.reset()
    return process


@dataclass(frozen=True)
class Seen:
    """A reply as a client sees it."""

    status: int
    headers: Message
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def message(self) -> dict[str, Any]:
        return self.json["choices"][0]["message"]

    @property
    def arguments(self) -> list[str]:
        return [call["function"]["arguments"] for call in self.message["tool_calls"]]

    @property
    def events(self) -> list[str]:
        return [line.removeprefix("data: ") for line in self.text.split("\n\n") if line]


def ask(server: FakeServer, body: object = None, path: str = "/v1/chat/completions", **headers: str) -> Seen:
    """Ask as a client does; a body makes it a POST."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{server.root}{path}", data, {"Content-Type": "application/json", **headers})  # noqa: S310  # loopback
    try:
        with DIRECT.open(request, timeout=30) as reply:
            return Seen(reply.status, reply.headers, reply.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            return Seen(error.code, error.headers, error.read().decode())


def chat(*messages: tuple[str, str], **more: Any) -> dict[str, Any]:
    return {"model": "some", "messages": [{"role": role, "content": text} for role, text in messages], **more}


def planning(text: str = QUESTION, **more: Any) -> dict[str, Any]:
    return chat(("system", "Plan."), ("user", text), **{"tools": [TOOL], "tool_choice": FORCED, **more})


def drafting(text: str = QUESTION, **more: Any) -> dict[str, Any]:
    return chat(("system", "Answer."), ("user", text), **more)


def evidence(*passages: str, fence: str = "```") -> str:
    blocks = [f"[{number}] Title\n{fence}\n{text}\n{fence}" for number, text in enumerate(passages, 1)]
    return "\n\n".join(["Evidence:", *blocks, "Answer from it."])


@contextmanager
def sent(server: FakeServer, body: object | None = None) -> Generator[socket.socket]:
    """Send a request over a socket of one's own."""
    data = json.dumps(drafting() if body is None else body).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(head.encode() + data)
        yield connection


def received(connection: socket.socket) -> bytes:
    """Read until the server closes the connection, in order."""
    parts: list[bytes] = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


def eventually(condition: Any) -> bool:
    ends = time.monotonic() + LOADED
    while not condition() and time.monotonic() < ends:
        time.sleep(0.01)
    return bool(condition())


# ------------------------------------------------------------------------------------------------ a model that behaves


def test_the_tool_is_the_one_of_the_contracts() -> None:
    """The server, which imports nothing heavy, has the name of the tool right."""
    assert THEIR_PLAN_TOOL == PLAN_TOOL


@pytest.mark.parametrize("text", [QUESTION, "Как вскипятить воду?", "x" * 5000, " ", '{braces} "quotes" \\ \n'])
@pytest.mark.parametrize("choice", [FORCED, "required", "auto"], ids=["named", "required", "auto"])
def test_a_request_with_the_tool_gets_a_valid_plan(server: FakeServer, text: str, choice: object) -> None:
    """However the tool is asked for, it is called once, with a plan in scope that breaks no bound."""
    reply = ask(server, planning(text, tool_choice=choice))
    assert reply.json["choices"][0]["finish_reason"] == "tool_calls"
    assert reply.message["content"] is None
    [call] = reply.message["tool_calls"]
    assert call["function"]["name"] == PLAN_TOOL
    plan = SGRPlanResult.model_validate_json(call["function"]["arguments"], strict=False)
    assert set(json.loads(call["function"]["arguments"])) == set(SGRPlanResult.model_fields)
    assert plan.subqueries == [text.strip()[:300] or "-"]
    assert (plan.action, plan.request_type, plan.wants_human) == ("normal", "KNOWLEDGE_QA", False)
    assert plan.spam_score < 0.3
    assert plan.intent_confidence >= 0.8
    assert plan.answer_language == ("ru" if "воду" in text else "en")
    assert 10 <= len(plan.spam_reason.split()) <= 20


@pytest.mark.parametrize(
    "more",
    [
        {"tools": [], "tool_choice": None, "response_format": {"type": "json_schema", "json_schema": {}}},
        {"tool_choice": "none"},
    ],
    ids=["json_schema", "tool_choice none"],
)
def test_a_plan_is_json_text_where_no_call_may_be_made(server: FakeServer, more: dict[str, Any]) -> None:
    """With a JSON schema, or with the tool offered and forbidden, the content is the plan."""
    reply = ask(server, planning(**more))
    assert reply.json["choices"][0]["finish_reason"] == "stop"
    assert SGRPlanResult.model_validate_json(reply.message["content"]).subqueries == [QUESTION]


DRAFTS = [
    (evidence("The kettle boils at 100 degrees. It is hot."), "The kettle boils at 100 degrees [1]."),
    (evidence("One fact. More.", "Another fact! More.", "A third."), "One fact [1]. Another fact [2]!"),
    (evidence("# Head\n\nTwo lines make\none sentence, e.g. this"), "Two lines make one sentence, e.g. this [1]."),
    (evidence("- The first item:\n- the second"), "The first item [1]."),
    (evidence("Version 3.5 is out [7]. Yes."), "Version 3.5 is out [1]."),
    (evidence("Run it:\n\n```\nmake\n```\n\n[9] x\n```\nno\n```", "Second.", fence="````"), "Run it [1]. Second [2]."),
    (evidence("| a | b |\n| --- | --- |", "Вода кипит. Да."), "Вода кипит [2]."),
    ("See [1] above.\n```\ncode\n```", "NO_ANSWER"),
    (QUESTION, "NO_ANSWER"),
]


@pytest.mark.parametrize(("text", "draft"), DRAFTS, ids=[draft for _, draft in DRAFTS])
def test_a_draft_quotes_the_first_two_passages(server: FakeServer, text: str, draft: str) -> None:
    """The first sentence of each, with its citation; without evidence it says that there is no answer."""
    reply = ask(server, drafting(text))
    assert reply.message == {"role": "assistant", "content": draft}
    assert reply.json["choices"][0]["finish_reason"] == "stop"


def test_a_guard_model_finds_all_safe(server: FakeServer) -> None:
    """A model with guard in its name, in any case, replies as Qwen3Guard does; MOSEC says the same in its own form."""
    reply = ask(server, {**chat(("user", QUESTION)), "model": "Qwen/Qwen3Guard-Gen-0.6B"})
    assert reply.message["content"] == "Safety: Safe\nCategories: None"
    verdict = ask(server, {"content": QUESTION, "moderation_type": "prompt"}, "/inference").json
    assert (verdict["safety_level"], verdict["categories"], verdict["refusal"]) == ("Safe", [], None)
    assert [noted["purpose"] for noted in server.requests()] == ["moderation", "moderation"]


def test_tokens_are_quarters_of_bytes(server: FakeServer) -> None:
    """Usage counts UTF-8 bytes by four, rounded up, with the details that accounting reads."""
    usage = ask(server, chat(("user", "ж" * 9))).json["usage"]
    assert usage == {
        "prompt_tokens": 5,
        "completion_tokens": 3,
        "total_tokens": 8,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def test_an_offered_tool_costs_tokens(server: FakeServer) -> None:
    """A request with a tool is longer than one without."""
    with_tool, without = (ask(server, body).json["usage"]["prompt_tokens"] for body in (planning(), drafting()))
    assert with_tool > without


@pytest.mark.parametrize("body", [planning(), drafting(evidence("One  fact.\nYes."))], ids=["plan", "draft"])
def test_a_stream_says_the_same_as_a_whole_reply(server: FakeServer, body: dict[str, Any]) -> None:
    """Joined, the deltas are the message; the last chunk has the usage and no choice, then comes `[DONE]`."""
    server.script([{"reply": {"reasoning": "let me think"}}])
    whole = ask(server, body).json
    reply = ask(server, {**body, "stream": True})
    assert reply.headers["Content-Type"] == "text/event-stream"
    *events, last, done = reply.events
    assert done == "[DONE]"
    assert (json.loads(last)["choices"], json.loads(last)["usage"]) == ([], whole["usage"])
    deltas = [json.loads(event)["choices"][0] for event in events]
    assert [delta["finish_reason"] for delta in deltas[-2:]] == [None, whole["choices"][0]["finish_reason"]]
    assert len(deltas) > 5
    message = whole["choices"][0]["message"]
    for key in ("content", "reasoning_content"):
        assert "".join(delta["delta"].get(key, "") for delta in deltas) == (message.get(key) or "")
    calls = [call for delta in deltas for call in delta["delta"].get("tool_calls", [])]
    arguments = "".join(call["function"]["arguments"] for call in calls)
    assert arguments == "".join(call["function"]["arguments"] for call in message.get("tool_calls", []))


def test_openais_own_client_understands_it(server: FakeServer) -> None:
    """A call, a stream, the list of models and an error reach the vendor's client as what they are."""
    import openai

    with openai.OpenAI(base_url=server.url, api_key="any", max_retries=0) as client:
        messages: Any = planning()["messages"]
        tools: Any = [TOOL]
        reply = client.chat.completions.create(model="some", messages=messages, tools=tools)
        [call] = reply.choices[0].message.tool_calls or []
        assert call.type == "function"
        assert SGRPlanResult.model_validate_json(call.function.arguments).subqueries == [QUESTION]
        with client.chat.completions.create(model="some", messages=messages, stream=True) as chunks:
            found = list(chunks)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in found[:-1]) == "NO_ANSWER"
        assert found[-1].usage is not None
        assert "fake-model" in [model.id for model in client.models.list()]
        server.options(strict=True)
        with pytest.raises(openai.BadRequestError) as caught:
            client.chat.completions.create(model="some", messages=[])
        assert caught.value.code == "no_messages"


def test_the_window_is_told_where_there_is_one(server: FakeServer) -> None:
    """Under any prefix, `models` lists models, with `max_model_len` where a window was given."""
    assert all("max_model_len" not in model for model in ask(server, path="/v1/models").json["data"])
    server.options(window=4096)
    for path in ("/v1/models", "/models", "/api/v1/models?limit=5"):
        assert {model["max_model_len"] for model in ask(server, path=path).json["data"]} == {4096}
    assert ask(server, path="/v1/models/fake-model").json["max_model_len"] == 4096


def test_other_addresses_are_unknown(server: FakeServer) -> None:
    """`/healthz` is well, anything else is a 404 as OpenAI writes it, and so is a GET of what is only posted."""
    assert ask(server, path="/healthz").status == 200
    assert ask(server, drafting(), "/any/prefix/chat/completions").status == 200
    for path in ("/v1/embeddings", "/v1/chat/completions", "/__nothing"):
        reply = ask(server, path=path)
        assert reply.status == 404
        assert reply.json["error"]["code"] == "unknown_url"


@pytest.mark.parametrize("data", [b"", b"no JSON", b"[1]", b"\xff\xfe", b"[" * 100_000], ids=repr)
def test_a_body_that_is_no_object_is_refused(server: FakeServer, data: bytes) -> None:
    """The reply is a 400, the record keeps what came, and the server goes on."""
    request = urllib.request.Request(f"{server.url}/chat/completions", data)  # noqa: S310  # loopback
    with pytest.raises(urllib.error.HTTPError) as caught, DIRECT.open(request, timeout=30):
        pass
    with closing(caught.value) as error:
        assert error.code == 400
    assert [noted["replied"] for noted in server.requests()] == [400]
    assert ask(server, drafting()).status == 200


KEYS = (
    "messages",
    "role",
    "content",
    "tools",
    "function",
    "name",
    "tool_choice",
    "tool_calls",
    "id",
    "model",
    "stream",
)
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(st.characters(), max_size=5) | st.sampled_from(("user", "tool")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@given(body=st.fixed_dictionaries({"messages": JSON, "tools": JSON, "stream": st.booleans()}, optional={"model": JSON}))
def test_whatever_is_asked_has_a_reply(body: dict[str, Any]) -> None:
    """No body makes the server fail: each gets a reply that is JSON or a stream, strict or not."""
    asked = ModelRequest("POST", "/v1/chat/completions", "", body)
    for strict in (False, True):
        step, answer = decide(Script(), FakeServerOptions(strict=strict), asked, "", 1)
        assert (step, answer.status) == (None, 400 if strict and breach_of(asked.messages) else 200)
        if answer.streamed:
            assert all(piece.startswith(b"data: ") and piece.endswith(b"\n\n") for piece in answer.pieces)
        else:
            assert json.loads(answer.pieces[0])


def test_a_connection_is_kept(server: FakeServer) -> None:
    """Several requests go over one connection, the streamed ones included."""
    with closing(HTTPConnection("127.0.0.1", server.port, timeout=30)) as connection:
        sockets: set[object] = set()
        for stream in (False, True, False):
            connection.request("POST", "/v1/chat/completions", json.dumps(drafting(stream=stream)))
            sockets.add(connection.sock)
            assert b"NO_ANSWER" in connection.getresponse().read()
        assert len(sockets) == 1


def test_a_body_may_come_in_chunks(server: FakeServer) -> None:
    """A client that does not know the length beforehand is understood, and the connection is kept."""
    data = json.dumps(drafting()).encode()
    with closing(HTTPConnection("127.0.0.1", server.port, timeout=30)) as connection:
        for _ in range(2):
            connection.request("POST", "/v1/chat/completions", iter([data[:20], data[20:]]), encode_chunked=True)
            assert b"NO_ANSWER" in connection.getresponse().read()
    assert [noted["body"] for noted in server.requests()] == [drafting()] * 2


@pytest.mark.parametrize("head", ["Content-Length: many", "Content-Length: -1", "Transfer-Encoding: chunked\r\n\r\nx"])
def test_a_length_that_makes_no_sense_is_refused(server: FakeServer, head: str) -> None:
    """The reply is 400, and the connection is closed, for nobody knows where the next request begins."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(f"POST /v1/chat/completions HTTP/1.1\r\n{head}\r\n\r\n".encode())
        assert connection.recv(65536).startswith(b"HTTP/1.1 400 ")


def test_a_request_that_is_half_sent_is_forgotten(server: FakeServer) -> None:
    """A client that leaves in the middle of its request leaves no record and harms nobody."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 100\r\n\r\n{")
    assert ask(server, drafting()).status == 200
    assert [noted["number"] for noted in server.requests()] == [1]


def test_an_old_client_gets_a_stream_without_chunks(server: FakeServer) -> None:
    """To HTTP/1.0 a stream ends where the connection does."""
    body = json.dumps(drafting(stream=True)).encode()
    head = f"POST /v1/chat/completions HTTP/1.0\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(head.encode() + body)
        reply = received(connection)
    assert b"chunked" not in reply
    assert reply.endswith(b"\n\ndata: [DONE]\n\n")


def test_the_helper_tells_why_a_server_did_not_start() -> None:
    """A test that starts it with wrong arguments fails with the server's own words."""
    with pytest.raises(AssertionError, match="is not a number from 0 to 65535"), fake_server("--port", "99999"):
        pass


# ------------------------------------------------------------------------------------------------------------- scripts


def texts(server: FakeServer, *bodies: dict[str, Any]) -> list[str]:
    return [ask(server, body).message["content"] for body in bodies]


def test_the_first_step_that_fits_decides_until_it_is_used_up(server: FakeServer) -> None:
    """`times` limits a step; a step without it, or with null, is never used up; after all of them behaviour is good."""
    server.script([{"times": 2, "reply": {"text": "a"}}, {"times": 1, "reply": {"text": "b"}}])
    assert texts(server, *[drafting()] * 4) == ["a", "a", "b", "NO_ANSWER"]
    assert [noted["step"] for noted in server.requests()] == [1, 1, 2, None]
    server.script([{"times": None, "reply": {"text": "c"}}, {"reply": {"text": "never"}}])
    assert texts(server, *[drafting()] * 3) == ["c", "c", "c"]


WHENS = [
    ({"purpose": "draft"}, drafting(), planning()),
    ({"purpose": "plan"}, planning(), drafting()),
    ({"purpose": "moderation"}, {**drafting(), "model": "GUARD"}, drafting()),
    ({"path": "/completions"}, drafting(), None),
    ({"path": "/inference"}, None, drafting()),
    ({"contains": "boil"}, drafting(), drafting("How do I fry eggs?")),
    ({"contains": "Как\nдела"}, drafting("Ну, Как\nдела?"), drafting("Как дела")),
    ({"contains": '"stream": true'}, drafting(stream=True), drafting()),
    ({"tool_choice": "named"}, planning(), planning(tool_choice="required")),
    ({"tool_choice": "required"}, planning(tool_choice="required"), planning(tool_choice="auto")),
    ({"tool_choice": "auto"}, planning(tool_choice=None), planning()),
    ({"tool_choice": "none"}, drafting(), planning(tool_choice="auto")),
    ({"purpose": "draft", "contains": "boil"}, drafting(), planning()),
]


@pytest.mark.parametrize(("when", "fits", "does_not"), WHENS, ids=lambda value: str(value) if value else "")
def test_a_step_is_for_the_requests_that_it_names(
    server: FakeServer, when: dict[str, Any], fits: dict[str, Any] | None, does_not: dict[str, Any] | None
) -> None:
    """Every condition of `when` must fit."""
    server.script([{"when": when, "reply": {"status": 418}}])

    def status(body: dict[str, Any] | None) -> int:
        return ask(server, body).status if body else ask(server, {"content": "x"}, "/inference").status

    assert status(fits) == 418
    assert status(does_not) == 200


def test_attempts_are_counted_by_what_else_fits(server: FakeServer) -> None:
    """`attempt` 2 is the second request that the rest of its `when` fits, whoever decided the first."""
    server.script(
        [
            {"when": {"contains": "boil", "attempt": 2}, "reply": {"text": "second"}},
            {"when": {"attempt": 1}, "reply": {"text": "first of all"}},
            {"when": {"contains": "boil", "attempt": 3}, "reply": {"text": "third"}},
        ]
    )
    assert texts(server, drafting("x"), *[drafting()] * 4) == [
        *("first of all", "NO_ANSWER", "second", "third", "NO_ANSWER")
    ]


def test_a_step_without_a_path_leaves_alone_what_asks_no_model(server: FakeServer) -> None:
    """A client that first asks for the list of models uses up no step, unless the step names that path."""
    server.script([{"reply": {"status": 503}}])
    assert ask(server, path="/v1/models").status == 200
    server.script([{"when": {"path": "/models"}, "times": 1, "reply": {"status": 503}}])
    assert [ask(server, path="/v1/models").status for _ in range(2)] == [503, 200]


def test_a_new_script_begins_at_its_beginning(server: FakeServer) -> None:
    """Putting a script again sets its counts back; the requests that were recorded stay."""
    for _ in range(2):
        server.script([{"times": 1, "reply": {"text": "a"}}])
        assert texts(server, drafting(), drafting()) == ["a", "NO_ANSWER"]
    assert len(server.requests()) == 4


# ------------------------------------------------------------------------------------------------------------- replies


@pytest.mark.parametrize("status", [400, 401, 404, 408, 429, 500, 502, 503, 599])
def test_a_status_comes_with_an_error_object(server: FakeServer, status: int) -> None:
    """From 400 on, the body is an error as OpenAI writes it; headers come along."""
    server.script([{"reply": {"status": status, "headers": {"Retry-After": 2, "X-Ratelimit": "a b"}}}])
    reply = ask(server, planning())
    assert (reply.status, reply.headers["Retry-After"], reply.headers["X-Ratelimit"]) == (status, "2", "a b")
    assert set(reply.json["error"]) == {"message", "type", "param", "code"}
    assert reply.headers["Content-Type"] == "application/json"


BODIES = [
    ({"body": "<html>busy</html>", "content_type": "text/html"}, "text/html", "<html>busy</html>"),
    ({"body": ""}, "application/json", ""),
    ({"body": '{"choices": ['}, "application/json", '{"choices": ['),
    ({"json": {"a": [None, math.nan]}}, "application/json", '{"a": [null, NaN]}'),
    ({"json": None}, "application/json", "null"),
    ({"body": "", "status": 204}, "application/json", ""),
    ({"body": "busy", "status": 500, "headers": {"content-type": "text/plain"}}, "text/plain", "busy"),
    ({"sse": [": ping", {"error": {"code": 1}}, "data: x"]}, "text/event-stream", None),
]


@pytest.mark.parametrize(("reply", "kind", "text"), BODIES, ids=lambda value: str(value)[:40])
def test_a_body_is_sent_as_the_script_has_it(
    server: FakeServer, reply: dict[str, Any], kind: str, text: str | None
) -> None:
    """Text, JSON or the events of a stream, with the content type that the script names, once."""
    server.script([{"reply": reply}])
    seen = ask(server, drafting())
    assert seen.status == reply.get("status", 200)
    assert seen.headers.get_all("Content-Type") == [kind]
    assert seen.text == (': ping\n\ndata: {"error": {"code": 1}}\n\ndata: x\n\n' if text is None else text)


def test_a_content_type_may_be_wrong(server: FakeServer) -> None:
    """A good reply under a wrong content type is still the good reply."""
    server.script([{"reply": {"content_type": "text/plain"}}])
    reply = ask(server, drafting())
    assert (reply.headers["Content-Type"], reply.message["content"]) == ("text/plain", "NO_ANSWER")


CALLS = [
    ({"arguments": "{broken"}, PLAN_TOOL, "{broken"),
    ({"name": "other", "arguments": {"a": math.nan}}, "other", '{"a": NaN}'),
    ({"arguments": [1]}, PLAN_TOOL, "[1]"),
    ({"arguments": None}, PLAN_TOOL, "null"),
    ({"arguments": ""}, PLAN_TOOL, ""),
]


@pytest.mark.parametrize(("call", "name", "arguments"), CALLS, ids=str)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_call_has_the_arguments_of_the_script(
    server: FakeServer, call: dict[str, Any], name: str, arguments: str, stream: bool
) -> None:
    """A text is sent exactly as it is, all else as JSON, whole or in a stream."""
    server.script([{"reply": {"call": call}}])
    reply = ask(server, planning(stream=stream))
    if stream:
        deltas = [json.loads(event)["choices"] for event in reply.events[:-1]]
        parts = [part for choices in deltas for choice in choices for part in choice["delta"].get("tool_calls", [])]
        sent_calls = [(parts[0]["function"]["name"], "".join(part["function"]["arguments"] for part in parts))]
    else:
        sent_calls = [(one["function"]["name"], one["function"]["arguments"]) for one in reply.message["tool_calls"]]
    assert sent_calls == [(name, arguments)]


def test_several_calls_and_text_go_together(server: FakeServer) -> None:
    """Two calls have ids of their own, and text may stand beside them."""
    server.script([{"reply": {"calls": [{"arguments": "1"}, {"arguments": "2"}], "text": "so:"}}])
    reply = ask(server, planning())
    assert (reply.arguments, reply.message["content"]) == (["1", "2"], "so:")
    assert len({call["id"] for call in reply.message["tool_calls"]}) == 2


def test_a_plan_differs_where_the_script_says_so(server: FakeServer) -> None:
    """Fields of the plan are replaced, NaN and what breaks a bound included; the rest stays valid."""
    server.script([{"reply": {"plan": {"spam_score": math.nan, "subqueries": ["q"] * 40, "action": "dance"}}}])
    called = json.loads(ask(server, planning()).arguments[0])
    assert math.isnan(called["spam_score"])
    assert (len(called["subqueries"]), called["action"], called["intent_confidence"]) == (40, "dance", 0.9)
    as_text = ask(server, drafting(response_format={"type": "json_schema"})).message["content"]
    assert json.loads(as_text)["action"] == "dance"


def test_text_reasoning_finish_reason_and_usage_are_replaced(server: FakeServer) -> None:
    """Each by itself, and null where the script says null; reasoning is counted among the tokens."""
    server.script([{"reply": {"text": None, "finish_reason": "length", "usage": {"prompt_tokens": 7}}}])
    reply = ask(server, drafting())
    assert (reply.message["content"], reply.json["choices"][0]["finish_reason"]) == (None, "length")
    assert reply.json["usage"] == {"prompt_tokens": 7}
    server.script([{"reply": {"finish_reason": None, "usage": None}}])
    reply = ask(server, drafting())
    assert (reply.json["choices"][0]["finish_reason"], reply.json["usage"]) == (None, None)
    streamed = [json.loads(event) for event in ask(server, drafting(stream=True)).events[:-1]]
    assert {(chunk["usage"], *(choice["finish_reason"] for choice in chunk["choices"])) for chunk in streamed} == {
        (None, None)
    }
    server.script([{"reply": {"text": "", "reasoning": "12345678"}}])
    reply = ask(server, drafting())
    assert reply.message == {"role": "assistant", "content": "", "reasoning_content": "12345678"}
    assert reply.json["usage"]["completion_tokens_details"] == {"reasoning_tokens": 2}
    assert reply.json["usage"]["completion_tokens"] == 2


@pytest.mark.parametrize("choices", [[], None, [{"index": 3, "message": None}]], ids=str)
def test_choices_are_replaced_whole(server: FakeServer, choices: object) -> None:
    """An empty list, null or anything in the list's place, whole; a stream of no choices says so in its only chunk."""
    server.script([{"reply": {"choices": choices}}])
    assert ask(server, drafting()).json["choices"] == choices
    first = json.loads(ask(server, drafting(stream=True)).events[0])["choices"]
    assert first == choices if not choices else first[0]["index"] == 3


def test_a_mosec_moderator_says_what_the_text_says(server: FakeServer) -> None:
    """One script serves both moderators: the text of a guard model becomes the verdict of MOSEC."""
    text = "Safety: Unsafe\nCategories: Violent, Jailbreak\nRefusal: Yes"
    server.script([{"when": {"purpose": "moderation"}, "reply": {"text": text}}])
    verdict = ask(server, {"content": "x"}, "/inference").json
    assert (verdict["safety_level"], verdict["refusal"]) == ("Unsafe", "Yes")
    assert (verdict["categories"], verdict["raw_output"]) == (["Violent", "Jailbreak"], text)
    server.script([{"reply": {"text": "hm"}}])
    assert ask(server, {"content": "x"}, "/inference").json["safety_level"] is None


# ------------------------------------------------------------------------------------------------------------- manners


def test_headers_can_be_late(server: FakeServer) -> None:
    """With `delay_headers_s` no byte comes before the time is over, then the whole reply does."""
    server.script([{"reply": {"delay_headers_s": 0.4}}])
    began = time.monotonic()
    with sent(server) as connection:
        assert connection.recv(1)
    assert 0.4 <= time.monotonic() - began < LOADED


def test_the_body_can_be_late(server: FakeServer) -> None:
    """With `delay_body_s` the headers come at once, and the body after the time."""
    server.script([{"reply": {"delay_body_s": 0.6}}])
    with sent(server) as connection:
        head = connection.recv(65536)
        began = time.monotonic()
        assert head.endswith(b"\r\n\r\n")
        assert connection.recv(65536).endswith(b"}")
    assert 0.4 < time.monotonic() - began < LOADED


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_body_can_drip(server: FakeServer, stream: bool) -> None:
    """With `drip_s` the body comes byte by byte, and is complete in the end."""
    reply = {"sse": ["data: 1"]} if stream else {"body": "0123456789"}
    server.script([{"reply": {**reply, "drip_s": 0.05}}])
    with closing(HTTPConnection("127.0.0.1", server.port, timeout=30)) as connection:
        connection.request("POST", "/v1/chat/completions", json.dumps(drafting()))
        response = connection.getresponse()
        times: list[float] = []
        parts: list[bytes] = []
        while part := response.read1(1):
            times.append(time.monotonic())
            parts.append(part)
    assert b"".join(parts) == (b"data: 1\n\n" if stream else b"0123456789")
    assert times[-1] - times[0] > 0.05 * (len(parts) - 2)


def test_a_hang_lasts_until_the_client_leaves(server: FakeServer) -> None:
    """Nothing comes, others are served meanwhile, and when the client has gone the record says so."""
    server.script([{"times": 1, "reply": {"hang": True}}])
    with sent(server) as connection:
        connection.settimeout(0.3)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        assert ask(server, drafting()).status == 200
        assert [noted["replied"] for noted in server.requests()] == [None, 200]
    assert eventually(lambda: server.requests()[0]["replied"] == "gone")


def test_a_client_that_leaves_ends_a_delay(server: FakeServer) -> None:
    """No thread sleeps for a client that has gone."""
    server.script([{"times": 1, "reply": {"delay_headers_s": 3600}}])
    with sent(server):
        assert eventually(server.requests)
    assert eventually(lambda: server.requests()[0]["replied"] == "gone")


def test_a_reset_is_a_reset(server: FakeServer) -> None:
    """The client is told of a reset connection, not of an orderly end."""
    server.script([{"reply": {"reset": True}}])
    with sent(server) as connection, pytest.raises(ConnectionResetError):
        connection.recv(1)
    assert [noted["replied"] for noted in server.requests()] == ["reset"]


def test_a_reply_can_be_cut(server: FakeServer) -> None:
    """With `cut_at` the right length is told, so many bytes come, and the connection is closed in order."""
    server.script([{"reply": {"body": "0123456789", "cut_at": 4}}])
    with sent(server) as connection:
        head, _, body = received(connection).partition(b"\r\n\r\n")
    assert b"Content-Length: 10" in head
    assert body == b"0123"


def test_a_cut_reply_can_end_in_a_reset(server: FakeServer) -> None:
    """`cut_at` with `reset`: the bytes come, then the reset."""
    server.script([{"reply": {"body": "0123456789", "cut_at": 4, "reset": True}}])
    with sent(server) as connection, pytest.raises(ConnectionResetError):
        received(connection)


def test_a_stream_can_be_cut(server: FakeServer) -> None:
    """A stream that is cut lacks its last chunk, so that a client can tell it from one that just ends."""
    server.script([{"times": 1, "reply": {"cut_at": 100}}, {"reply": {"sse": ["data: 1"]}}])
    with sent(server, drafting(stream=True)) as connection:
        _, _, body = received(connection).partition(b"\r\n\r\n")
    assert not body.endswith(b"0\r\n\r\n")
    assert sum(len(part) for part in re.split(rb"(?:^|\r\n)[0-9a-f]+\r\n", body)) == 102
    assert ask(server, drafting(stream=True)).text == "data: 1\n\n"


def test_every_reply_of_a_model_can_be_delayed(server: FakeServer) -> None:
    """`delay_ms` is before each reply of a model, unless the script has its own delay; the list of models is at once."""
    server.options(delay_ms=300)
    began = time.monotonic()
    ask(server, drafting())
    assert time.monotonic() - began >= 0.3
    server.options(delay_ms=60_000)
    server.script([{"reply": {"delay_headers_s": 0}}])
    assert ask(server, drafting()).status == 200
    assert ask(server, path="/v1/models").status == 200


# ------------------------------------------------------------------------------------------------------------ strictness


def message(role: str, content: object = "x", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


SYSTEM, USER, ASSISTANT = (message(role) for role in ("system", "user", "assistant"))
CALL = message("assistant", None, tool_calls=[{"id": "c1", "type": "function", "function": {}}])
RESULT = message("tool", tool_call_id="c1")

STRICT = [
    ("no_messages", 0, []),
    ("unknown_role", 0, [message("developer"), USER]),
    ("unknown_key", 0, [message("user", name="bob")]),
    ("unknown_key", 1, [USER, message("assistant", reasoning_content="hm"), USER]),
    ("empty_content", 0, [message("user", "")]),
    ("empty_content", 0, [message("user", None)]),
    ("empty_content", 0, [message("user", [{"type": "text", "text": " \n"}])]),
    ("empty_content", 1, [SYSTEM, message("user", []), USER]),
    ("one_system", 1, [SYSTEM, SYSTEM, USER]),
    ("one_system", 2, [SYSTEM, USER, SYSTEM]),
    ("system_first", 1, [USER, SYSTEM]),
    ("first_user", 0, [ASSISTANT, USER]),
    ("first_user", 1, [SYSTEM, ASSISTANT, USER]),
    ("first_user", 1, [SYSTEM]),
    ("same_role_twice", 1, [USER, USER]),
    ("same_role_twice", 2, [USER, ASSISTANT, ASSISTANT, USER]),
    ("tool_call_without_result", 1, [USER, CALL, USER]),
    ("tool_call_without_result", 1, [USER, CALL]),
    ("tool_result_without_call", 1, [USER, RESULT]),
    ("tool_result_without_call", 2, [USER, ASSISTANT, RESULT, USER]),
    ("tool_result_without_call", 3, [USER, CALL, RESULT, RESULT]),
    ("tool_result_without_call", 2, [USER, CALL, message("tool", tool_call_id="other")]),
    ("ends_on_assistant", 1, [USER, ASSISTANT]),
    ("ends_on_assistant", 2, [SYSTEM, USER, ASSISTANT]),
]


@pytest.mark.parametrize(("rule", "place", "messages"), STRICT, ids=lambda value: str(value)[:50])
def test_a_strict_server_names_the_rule_that_messages_break(
    server: FakeServer, rule: str, place: int, messages: list[dict[str, Any]]
) -> None:
    """The error has the rule and the message at fault, and the script is not asked; without `strict` all is taken."""
    body = {"model": "some", "messages": messages}
    server.script([{"times": 1, "reply": {"text": "from the script"}}])
    server.options(strict=True)
    reply = ask(server, body)
    assert reply.status == 400
    error = reply.json["error"]
    assert (error["code"], error["param"], error["type"]) == (rule, f"messages.{place}", "invalid_request_error")
    assert rule in error["message"]
    server.options(strict=False)
    assert ask(server, body).message["content"] == "from the script"


GOOD = [
    [USER],
    [SYSTEM, USER],
    [SYSTEM, USER, ASSISTANT, USER],
    [message("user", [{"type": "text", "text": "x"}])],
    [USER, CALL, RESULT],
    [USER, CALL, RESULT, ASSISTANT, USER],
    [USER, CALL, RESULT, USER],
    [USER, {**CALL, "tool_calls": [{"id": "c1"}, {"id": "c2"}]}, message("tool", tool_call_id="c2"), RESULT],
]


@pytest.mark.parametrize("messages", GOOD, ids=range(len(GOOD)))
def test_a_strict_server_takes_what_keeps_the_rules(server: FakeServer, messages: list[dict[str, Any]]) -> None:
    """One system message, turns, calls with their results, several results in a row."""
    server.options(strict=True)
    assert ask(server, {"model": "some", "messages": messages}).status == 200


def test_every_rule_is_broken_by_a_test() -> None:
    """No rule stands there that nothing shows."""
    code = Path(ROOT / "adapters" / "fakes" / "strict.py").read_text("utf-8")
    assert set(re.findall(r'Breach\(\s*"(\w+)"', code)) == {rule for rule, _, _ in STRICT}


def test_a_wrong_key_is_refused_as_openai_refuses_it(server: FakeServer) -> None:
    """No key and a wrong one are 401; the message repeats a part of a wrong key, as OpenAI's does, and never all of it."""
    server.options(api_key="sk-right")
    assert ask(server, drafting()).status == 401
    key = "sk-proj-0123456789abcdefghij"
    wrong = ask(server, drafting(), Authorization=f"Bearer {key}")
    assert (wrong.status, wrong.json["error"]["code"]) == (401, "invalid_api_key")
    assert "sk-proj-****************ghij" in wrong.text
    assert key not in wrong.text
    assert "short" not in ask(server, drafting(), Authorization="Bearer short").text
    assert ask(server, path="/v1/models").status == 401
    assert ask(server, {"content": "x"}, "/inference").status == 401
    assert ask(server, path="/healthz").status == 200
    assert ask(server, drafting(), Authorization="Bearer sk-right").status == 200
    assert ask(server, drafting(), Authorization="Basic sk-right").status == 401


# ------------------------------------------------------------------------------------------------------------- records


def test_every_request_is_recorded(server: FakeServer) -> None:
    """Number, path, purpose, headers, body, time and what was replied, in order; the secret only as its length."""
    before = time.monotonic()
    body = planning(stream=False)
    ask(server, body, Authorization="Bearer sk-secret-1", **{"X-Api-Key": "secret-2", "X-Other": "seen"})
    ask(server, path="/v1/models")
    first, second = server.requests()
    assert (first["number"], first["method"], first["path"]) == (1, "POST", "/v1/chat/completions")
    assert (first["purpose"], first["body"], first["step"], first["replied"]) == ("plan", body, None, 200)
    assert first["headers"]["authorization"] == "Bearer <11 characters>"
    assert first["headers"]["x-api-key"] == "<8 characters>"
    assert first["headers"]["x-other"] == "seen"
    assert (second["number"], second["method"], second["purpose"], second["body"]) == (2, "GET", "", "")
    assert before <= first["at"] < second["at"] <= time.monotonic()
    assert "secret" not in json.dumps(server.requests())
    server.clear()
    assert server.requests() == []


def test_a_key_without_a_scheme_is_masked_whole(server: FakeServer) -> None:
    """Where the header is nothing but the key, nothing of it is kept."""
    ask(server, drafting(), Authorization="sk-secret")
    assert server.requests()[0]["headers"]["authorization"] == "<9 characters>"


def test_requests_at_once_are_all_recorded(server: FakeServer) -> None:
    """Twenty clients at a time: each has its reply, each number stands once, and a step serves as often as it may."""
    server.script([{"times": 7, "reply": {"status": 429}}])
    statuses: list[int] = []
    threads = [threading.Thread(target=lambda: statuses.append(ask(server, drafting()).status)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200] * 13 + [429] * 7
    assert [noted["number"] for noted in server.requests()] == list(range(1, 21))


@pytest.mark.parametrize(
    ("changes", "named"),
    [({"delay": 3}, "delay"), ({"strict": 1}, "strict"), ({"delay_ms": -1}, "delay_ms"), ({"window": True}, "window")],
)
def test_a_wrong_option_is_refused(server: FakeServer, changes: dict[str, Any], named: str) -> None:
    """The message names it, and the options stay as they were."""
    with pytest.raises(AssertionError, match=f"`{named}`"):
        server.options(**{"strict": True, **changes})
    assert ask(server, {"model": "some", "messages": []}).status == 200


# -------------------------------------------------------------------------------------------------------- its process


def ended(connection: socket.socket) -> bool:
    """Whether the other side is gone: a reset counts, for it is what a client gets whom nobody had accepted yet."""
    connection.settimeout(10)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_no_thread_outlives_a_client_or_the_server() -> None:
    """A thread ends with its client; those that still hang end with the server."""
    before = set(threading.enumerate())
    own = ScriptedServer(0, Script(parse_script([{"reply": {"hang": True}}])._steps))
    loop = threading.Thread(target=own.serve_forever, kwargs={"poll_interval": 0.05})
    loop.start()
    running = FakeServer(own.root, 0)
    try:
        with sent(running):
            assert eventually(lambda: len(own.recorded()) == 1)
        assert eventually(lambda: set(threading.enumerate()) == {*before, loop})
        with sent(running) as connection, socket.create_connection(("127.0.0.1", running.port)) as silent:
            assert eventually(lambda: len(own.recorded()) == 2)
            own.shutdown()
            own.stop()
            loop.join()
            assert set(threading.enumerate()) == before
            assert ended(connection)
            assert ended(silent)
    finally:
        own.shutdown()
        own.stop()
        loop.join()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
@pytest.mark.parametrize("command", [["adapters.fakes.server"], ["assistant.cli.main", "fake-model"]], ids=" ".join)
def test_the_server_says_where_it_is_and_ends_at_a_signal(
    command: list[str], number: signal.Signals, tmp_path: Path
) -> None:
    """One line with the address; at SIGTERM or Ctrl-C it ends with 0, at once, whoever hangs, and says no more."""
    script = tmp_path / "script.json"
    script.write_text('[{"reply": {"hang": true}}]', "utf-8")
    with (
        interruptible(),
        subprocess.Popen(
            [sys.executable, "-W", "error", "-m", *command, "--script", str(script)],
            env=Desk(tmp_path, tmp_path).environment,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            found = re.fullmatch(r"LISTENING (http://127\.0\.0\.1:\d+)/v1\n", process.stdout.readline())
            assert found
            running = FakeServer(found[1], process.pid)
            with sent(running), sent(running, planning(stream=True)):
                assert eventually(lambda: len(running.requests()) == 2)
                began = time.monotonic()
                process.send_signal(number)
                out, err = process.communicate(timeout=30)
                took = time.monotonic() - began
            assert (process.returncode, out, err) == (0, "", "")
            assert took < LOADED
        finally:
            process.kill()


def test_the_server_imports_nothing_heavy() -> None:
    """It starts at once: nothing but the standard library and our errors is imported."""
    code = (
        "import sys; before = set(sys.modules)\n"
        "import adapters.fakes.server\n"
        "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "adapters contracts\n"


WRONG = [
    ("", "is not JSON", "--help"),
    ('[{"reply": {},}]', "line 1 column", "--help"),
    ("{}", "not a list of steps", '"reply"'),
    ("[3]", "step 1 is not an object", '"when"'),
    ('[{"reply": {}}, {"when": {}}]', "step 2 has no `reply`", "well-behaved"),
    ('[{"reply": {}, "until": 3}]', "step 1: `until` is not known", "when, times, reply"),
    ('[{"reply": {"staus": 500}}]', "step 1, `reply`: `staus` is not known", "status, headers"),
    ('[{"when": {"purpose": "plans"}, "reply": {}}]', "`when`: `purpose` is wrong", "one of plan, draft, moderation"),
    ('[{"when": {"attempt": 0}, "reply": {}}]', "`attempt` is wrong", "at least 1"),
    ('[{"when": [], "reply": {}}]', "`when` is wrong", "an object"),
    ('[{"times": 0, "reply": {}}]', "`times` is wrong", "or null"),
    ('[{"times": true, "reply": {}}]', "`times` is wrong", "or null"),
    ('[{"reply": {"status": 99}}]', "`status` is wrong", "from 200 to 599"),
    ('[{"reply": {"headers": {"A": "x\\r\\nB: y"}}}]', "`headers` is wrong", "header names"),
    ('[{"reply": {"headers": {"A:B": "x"}}}]', "`headers` is wrong", "header names"),
    ('[{"reply": {"call": {"name": "x"}}}]', "`call` is wrong", '"arguments"'),
    ('[{"reply": {"calls": 3}}]', "`calls` is wrong", "a list of calls"),
    ('[{"reply": {"drip_s": "slow"}}]', "`drip_s` is wrong", "seconds"),
    ('[{"reply": {"delay_body_s": NaN}}]', "`delay_body_s` is wrong", "seconds"),
    ('[{"reply": {"hang": false}}]', "`hang` is wrong", "true, or left out"),
    ('[{"reply": {"sse": "data: x"}}]', "`sse` is wrong", "a list"),
    ('[{"reply": {"body": "", "text": ""}}]', "`body` and `text` contradict", "Leave one"),
    ('[{"reply": {"plan": {}, "call": {"arguments": ""}}}]', "`call` and `plan` contradict", "Leave one"),
    ('[{"reply": {"hang": true, "status": 200}}]', "`hang` and `status` contradict", "Leave one"),
]


@pytest.mark.parametrize(("text", "named", "way_out"), WRONG, ids=lambda value: value[:40])
def test_a_wrong_script_is_refused_with_its_place_and_a_way_out(
    text: str, named: str, way_out: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 before anything listens: the file, the step and the key at fault, and what would be right."""
    script = tmp_path / "script.json"
    script.write_text(text, "utf-8")
    assert main(["--script", str(script)]) == 2
    out, err = capsys.readouterr()
    complaint, mending = err.splitlines()
    assert out == ""
    assert str(script) in complaint
    assert named in complaint
    assert mending.startswith("  → ")
    assert way_out in mending


def test_a_script_that_is_not_there_and_a_port_that_is_taken_are_told(
    server: FakeServer, tmp_path: Path, empty_desk: Desk
) -> None:
    """`guardian fake-model` says so with a way out and exit code 2."""
    empty_desk.here("fake-model", "--script", str(tmp_path / "no.json")).complains(2, "no.json", "No such file")
    empty_desk.here("fake-model", "--port", str(server.port)).complains(2, str(server.port))
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    empty_desk.here("fake-model", "--script", str(tmp_path / "bytes.json")).complains(2, "UTF-8")


@pytest.fixture
def empty_desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "data", tmp_path)


def test_a_wrong_script_that_is_put_changes_nothing(server: FakeServer) -> None:
    """The server refuses it with the same words, and plays on what it had."""
    server.script([{"reply": {"text": "old"}}])
    with pytest.raises(AssertionError, match="step 2, `reply`: `texts` is not known"):
        server.script([{"reply": {"text": "new"}}, {"reply": {"texts": "x"}}])
    assert texts(server, drafting()) == ["old"]


def test_the_script_that_the_help_shows_is_one() -> None:
    """What people copy from the help or the module's documentation is taken, and both name every key there is."""
    documented = scripts_module.__doc__ or ""
    for shown in (SCRIPT, documented):
        found = re.search(r"^ +\[\n.*?^ +\]$", shown, re.MULTILINE | re.DOTALL)
        assert found
        assert parse_script(json.loads(found[0]))
        missing = [key for key in (*WHEN, *REPLY) if not re.search(rf"\b{key}\b", shown)]
        assert missing == []
