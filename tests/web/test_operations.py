"""What runs a server safely: is it there, can it work, its figures, and what it refuses before any route."""

from __future__ import annotations

import asyncio
import re
import shutil
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient, Response
from prometheus_client.parser import text_string_to_metric_families
from starlette.responses import PlainTextResponse

from assistant.config.settings import CallerSettings
from assistant.deployment import deployment
from assistant.keys import Keys
from assistant.service import Caller, Question, Service
from assistant.web.app import ServerOptions, create_app
from assistant.web.background_prompts import BackgroundPrompt
from assistant.web.callers import Callers
from assistant.web.limits import WRONG_KEYS, RateLimits
from assistant.web.rates import LocalRates, RateWindow
from contracts.profile import UNNAMED
from tests.support.background_prompts import KINDS
from tests.support.cli_helpers import ANSWER, NAME, QUESTION, Desk
from tests.support.clock import SetClock

LOOPBACK = "http://127.0.0.1:8000"


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk whose documents are indexed; conversations are added, never looked for."""
    place = tmp_path_factory.mktemp("operations")
    desk = Desk(place / "data", place)
    desk.index()
    return desk


@pytest.fixture
def own(shelf: Desk, tmp_path: Path) -> Desk:
    """A desk of the test's own, with the same documents indexed."""
    return shelf.copied(tmp_path / "data")


@asynccontextmanager
async def opened(desk: Desk, options: ServerOptions | None = None) -> AsyncGenerator[tuple[AsyncClient, FastAPI]]:
    """Open an application, and a client that calls it 127.0.0.1 and is told of no exception."""
    app = create_app(deployment(environment=desk.environment), options)
    async with app.router.lifespan_context(app), AsyncClient(transport=ASGITransport(app), base_url=LOOPBACK) as client:
        yield client, app


@pytest.fixture
async def client(shelf: Desk) -> AsyncIterator[AsyncClient]:
    async with opened(shelf) as (found, _):
        yield found


def keys_at(desk: Desk) -> Keys:
    return Keys(desk.data / "api_keys.json")


def bearing(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def fault(response: Response) -> str:
    """Return the kind of an error, which must be in the shape of all errors."""
    return response.json()["error"]["type"]


def figures(text: str) -> Mapping[tuple[str, tuple[str, ...]], float]:
    """Return what a page of metrics says: by name and values of labels, in the order of the labels' names."""
    return {
        (sample.name, tuple(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def figures_of(client: AsyncClient) -> Mapping[tuple[str, tuple[str, ...]], float]:
    return figures((await client.get("/metrics")).text)


# ------------------------------------------------------------------------------------------------- health, readiness


async def test_health_and_readiness_are_told_to_who_has_no_key(own: Desk) -> None:
    """Where keys are used, both answer all the same; everything else that has data asks for a key."""
    keys_at(own).add("anna", "user")
    async with opened(own) as (client, _):
        assert (await client.get("/healthz")).json() == {"status": "ok"}
        ready = await client.get("/readyz")
        assert (ready.status_code, ready.json()) == (200, {"ready": True, "missing": []})
        assert fault(refused := await client.get("/metrics")) == "authentication_error"
        assert refused.status_code == 401
        assert (await client.get("/openapi.json")).status_code == 200


@pytest.mark.parametrize("gone", ["", "knowledge.sqlite", "index", "index/meta.json", "index/*.store"])
async def test_a_server_without_its_index_is_alive_and_not_ready(own: Desk, gone: str) -> None:
    """Readiness names what is missing and the way out, and no path, also where files that are gone are open; health stays."""
    folder = own.folder / "knowledge"
    async with opened(own) as (client, _):
        assert (await client.get("/v1/search", params={"q": "backup"})).status_code == 200
        for path in folder.glob(gone) if gone else [folder]:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        ready = await client.get("/readyz")
        assert ready.status_code == 503
        missing = ["the index of documents cannot be read: make it again with `guardian index`"]
        assert ready.json() == {"ready": False, "missing": missing}
        assert (await client.get("/healthz")).status_code == 200


async def test_a_server_whose_index_is_made_again_is_ready_again(own: Desk) -> None:
    """What `/readyz` names as the way out is one: nothing has to be started anew."""
    async with opened(own) as (client, _):
        assert (await client.get("/v1/search", params={"q": "backup"})).status_code == 200
        shutil.rmtree(own.folder / "knowledge")
        assert (await client.get("/readyz")).status_code == 503
        await asyncio.to_thread(own.index)
        assert (await client.get("/readyz")).status_code == 200
        assert (await client.get("/v1/search", params={"q": "backup"})).json()["items"]


async def test_a_server_whose_storage_is_broken_is_not_ready(own: Desk) -> None:
    """Readiness asks the storage of conversations itself."""
    async with opened(own) as (client, _):
        with sqlite3.connect(own.folder / "threads.db") as other:
            other.execute("DROP TABLE turns")
        other.close()
        ready = await client.get("/readyz")
        assert (ready.status_code, ready.json()["missing"]) == (
            503,
            ["the storage of conversations does not answer: `guardian doctor` says why"],
        )


@pytest.mark.parametrize("role", ["user", "operator"])
async def test_a_fault_of_the_server_shows_nobody_its_files(
    own: Desk, role: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Documents or storage that cannot be read are 503 in the question's language; paths stand in the log alone."""
    question = "Где лежат резервные копии?"
    async with opened(own, ServerOptions(role=role)) as (client, _):
        with sqlite3.connect(own.folder / "threads.db") as other:
            other.execute("DROP TABLE turns")
        other.close()
        storage = [
            await client.post("/v1/ask", json={"question": question, "thread_id": "t", "stream": False}),
            await client.post("/v1/threads/t/resume"),
        ]
        shutil.rmtree(own.folder / "knowledge")
        documents = [await client.get("/v1/search", params={"q": question}), await client.get("/v1/articles/11")]
    for said in (*storage, *documents):
        assert (said.status_code, fault(said)) == (503, "service_unavailable_error"), said.text
        assert str(own.folder) not in said.text
        assert "Errno" not in said.text
    assert "Хранилище диалогов" in storage[0].text
    assert "Документы" in documents[0].text
    assert str(own.folder) in caplog.text


async def test_a_server_that_can_store_nothing_is_not_ready(own: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where another program keeps the storage from being written, no question can be taken; running turns do not."""
    monkeypatch.setattr("assistant.service._WRITABLE_S", 0.2)
    async with opened(own) as (client, app):
        with closing(sqlite3.connect(own.folder / "threads.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            ready = await client.get("/readyz")
            assert ready.status_code == 503
            assert ready.json()["missing"] == [
                "nothing can be written to the storage of conversations: `guardian doctor` says why"
            ]
            other.execute("ROLLBACK")
        async with app.state.service.asking(Caller(), Question(QUESTION)):
            assert (await client.get("/readyz")).status_code == 200
        assert [(await client.head(path)).status_code for path in ("/healthz", "/readyz")] == [200, 200]


async def test_a_server_that_ends_is_not_ready_at_once(own: Desk) -> None:
    """From the beginning of the drain on, readiness says so."""
    async with opened(own) as (client, app):
        await app.state.service.drain(0)
        ready = await client.get("/readyz")
        assert (ready.status_code, ready.json()["missing"]) == (
            503,
            ["the server is shutting down: ask again when it is back"],
        )


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_refusal_before_a_stream_begins_is_in_the_language_of_the_question(own: Desk, streamed: bool) -> None:
    """By both protocols and for a turn that is taken up again: status, `Retry-After` and words are those of the end."""
    question = "Где лежат резервные копии?"
    message = {"role": "user", "content": question}
    async with opened(own) as (client, app):
        async with app.state.service.asking(Caller(), Question(question, thread="t")) as live:
            await anext(aiter(live.follow()))
            while not await app.state.service.threads(Caller()):
                pass
        await app.state.service.drain(0)
        for path, body in (
            ("/v1/ask", {"question": question, "stream": streamed}),
            ("/v1/chat/completions", {"model": NAME, "messages": [message], "stream": streamed}),
            ("/v1/threads/t/resume", None),
        ):
            accept = {"Accept": "text/event-stream"} if streamed else {}
            said = await client.post(path, json=body, headers=accept)
            assert (said.status_code, said.headers["retry-after"]) == (503, "5"), said.text
            assert "Ассистент перезапускается" in said.json()["error"]["message"]


async def test_the_page_of_the_api_is_all_of_this_server(client: AsyncClient) -> None:
    """What `/docs` loads is here, without a key; its policy lets nothing else in, and no script but these."""
    page = await client.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "//" not in page.text.replace("<!-- `SwaggerUIBundle` is now available on the page -->", "")
    loaded = [link for link in re.findall(r'(?:href|src)="([^"]*)"', page.text) if not link.startswith("data:")]
    assert len(loaded) == 2
    for path in (*loaded, "/openapi.json"):
        assert path in page.text
        assert (await client.get(path)).status_code == 200


# ------------------------------------------------------------------------------------------------------------ metrics


async def test_metrics_count_turns_by_whichever_way_in(own: Desk) -> None:
    """A turn of the service itself counts: outcome, verdict, route, nodes and times; sent again, it counts no more."""
    async with opened(own) as (client, app):
        service: Service = app.state.service
        question = Question(QUESTION, thread="t", turn_id="1")
        result = await service.ask(Caller(), question)
        assert ANSWER in result.answer_text
        first = await figures_of(client)
        assert first["guardian_turns_total", ("answered",)] == 1
        assert result.guardian is not None
        assert first["guardian_verdicts_total", (str(result.guardian.verdict),)] == 1
        assert first["guardian_routes_total", (str(result.action), str(result.flow))] == 1
        assert first["guardian_node_seconds_count", ("guardian_verify",)] == 1
        assert first["guardian_turn_seconds_count", ()] == 1
        assert first["guardian_first_event_seconds_count", ()] == 1
        assert first["guardian_turns_running", ()] == 0
        assert result.diagnostics.answer_ms is not None
        assert first["guardian_turn_seconds_sum", ()] == pytest.approx(result.diagnostics.answer_ms / 1000)
        await service.ask(Caller(), question)
        again = await figures_of(client)
        assert again["guardian_turns_total", ("answered",)] == 1
        assert again["guardian_turn_seconds_count", ()] == 1


async def test_metrics_tell_turns_that_run_and_those_that_were_stopped(own: Desk) -> None:
    """A turn is running until it ends; one that its asker left counts as stopped, not as answered."""
    async with opened(own) as (client, app):
        service: Service = app.state.service
        async with service.asking(Caller(), Question(QUESTION)) as live:
            async for event in live.follow():
                if event.kind == "node_started":
                    break
            assert (await figures_of(client))["guardian_turns_running", ()] == 1
        after = await figures_of(client)
        assert after["guardian_turns_running", ()] == 0
        assert after["guardian_turns_total", ("stopped",)] == 1
        assert ("guardian_turns_total", ("answered",)) not in after


async def test_metrics_of_models_and_degraded_parts_name_parts_alone(own: Desk) -> None:
    """A model that nobody answers for is a failed call and a degraded part; what was wrong is in no label."""
    variables = {"GUARDIAN_MODEL": "m", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "GUARDIAN_MODEL_RETRIES": "0"}
    async with opened(own.having(**variables)) as (client, app):
        await app.state.service.ask(Caller(), Question(QUESTION))
        told = await figures_of(client)
        assert told["guardian_degraded_total", ("plan",)] == 1
        assert told["guardian_degraded_total", ("draft",)] == 1
        assert told["guardian_model_calls_total", ("plan", "false")] >= 1
        text = (await client.get("/metrics")).text
        assert "127.0.0.1" not in text


async def test_a_model_that_is_left_alone_is_told_of_and_hinders_nobody(own: Desk) -> None:
    """After three deadlines in a row each part says for how long; turns are answered without it at once."""

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            await reader.read()

    silent = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{silent.sockets[0].getsockname()[1]}/v1"
    variables = {"GUARDIAN_MODEL": "m", "OPENAI_BASE_URL": address, "GUARDIAN_MODEL_TIMEOUT": "0.3"}
    async with silent, opened(own.having(**variables, GUARDIAN_MODEL_WINDOW="8192")) as (client, app):
        turns = [await app.state.service.ask(Caller(), Question(QUESTION)) for _ in range(4)]
        last = turns[-1]
        assert last.outcome == "answered"
        assert [part for part in last.diagnostics.degraded if "asked again in" in part]
        assert not last.diagnostics.model_calls, last.diagnostics.degraded
        ready = await client.get("/readyz")
        assert (ready.status_code, ready.json()["ready"]) == (200, True)
        assert {part: 0 < seconds <= 60 for part, seconds in ready.json()["resting"].items()} == {
            "plan": True,
            "draft": True,
        }
        told = await figures_of(client)
        assert 0 < told["guardian_model_resting_seconds", ("plan",)] <= 60
        assert told["guardian_model_resting_seconds", ("moderation",)] == 0


async def test_no_text_id_or_path_of_a_request_is_in_the_metrics(own: Desk) -> None:
    """Requests count by route template, and all paths that there are not as one."""
    async with opened(own) as (client, app):
        await app.state.service.ask(
            Caller(), Question("How do I restore the Kestrel?", thread="wren", turn_id="plover")
        )
        await client.get("/healthz")
        for path in ("/dunlin", "/v9/dunlin?key=knot"):
            await client.request("DUNLIN", path)
        text = (await client.get("/metrics")).text
        told = figures(text)
        assert told["guardian_http_requests_total", ("GET", "/healthz", "200")] == 1
        assert told["guardian_http_requests_total", ("unknown", "unknown", "404")] == 2
        assert told["guardian_http_request_seconds_count", ("GET", "/healthz")] == 1
        for word in ("kestrel", "wren", "plover", "dunlin", "knot"):
            assert word not in text.lower()


async def test_requests_count_by_the_routes_of_the_documentation_also_where_they_are_refused(own: Desk) -> None:
    """A refusal before the route, a wrong method and an unknown conversation count where they were sent to."""
    async with opened(own) as (client, _):
        await client.get("/v1/threads/wren")
        await client.get("/v1/threads/wren/stop")
        await client.post("/v1/threads/wren/stop", headers={"Origin": "https://elsewhere.example"})
        await client.put("/v1/ask")
        told = await figures_of(client)
        paths = (await client.get("/openapi.json")).json()["paths"]
    counted = {labels for name, labels in told if name == "guardian_http_requests_total"}
    assert counted == {
        ("GET", "/v1/threads/{thread_id}", "404"),
        ("GET", "/v1/threads/{thread_id}", "405"),
        ("POST", "/v1/threads/{thread_id}/stop", "403"),
        ("PUT", "/v1/ask", "405"),
    }
    assert {route for _, route, _ in counted} <= set(paths)


async def test_a_half_finished_turn_that_the_next_message_finishes_counts(own: Desk) -> None:
    """Both turns have an outcome and a time, though only one was asked for."""
    async with opened(own) as (client, app):
        service: Service = app.state.service
        async with service.asking(Caller(), Question(QUESTION, thread="t", turn_id="1")) as live:
            async for event in live.follow():
                if event.kind == "node_started":
                    break
        await service.ask(Caller(), Question("How do I restore a backup?", thread="t", turn_id="2"))
        told = await figures_of(client)
        assert (
            sum(n for (name, labels), n in told.items() if name == "guardian_turns_total" and labels != ("stopped",))
            == 2
        )
        assert told["guardian_turn_seconds_count", ()] == 2


async def test_metrics_are_for_keys_of_operators(own: Desk) -> None:
    """A user's key is not enough, an operator's is; where no keys are used, none is asked for."""
    user, operator = keys_at(own).add("anna", "user"), keys_at(own).add("prometheus", "operator")
    async with opened(own) as (client, _):
        denied = await client.get("/metrics", headers=bearing(user))
        assert (denied.status_code, fault(denied)) == (403, "permission_error")
        allowed = await client.get("/metrics", headers=bearing(operator))
        assert allowed.status_code == 200
        assert allowed.headers["content-type"].startswith("text/plain")
        assert "anna" not in allowed.text


# ------------------------------------------------------------------------------------------------------------- limits


async def test_a_key_may_make_so_many_requests_a_minute(own: Desk) -> None:
    """One more is refused with when to come again; other keys and the health of the server are not touched."""
    slow, other = keys_at(own).add("slow", "operator", 2), keys_at(own).add("other", "user")
    async with opened(own) as (client, _):
        codes = [(await client.get("/v1/none", headers=bearing(slow))).status_code for _ in range(2)]
        assert 429 not in codes
        refused = await client.get("/v1/none", headers=bearing(slow))
        assert (refused.status_code, fault(refused)) == (429, "rate_limit_error")
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert (await client.post("/", headers=bearing(slow))).status_code == 429
        assert (await client.get("/v1/none", headers=bearing(other))).status_code != 429
        assert (await client.get("/healthz", headers=bearing(slow))).status_code == 200
        told = figures((await client.get("/metrics", headers=bearing(slow))).text)
        assert told["guardian_rate_limited_requests_total", ("key",)] == 2


async def test_a_prompt_that_a_chat_client_sends_by_itself_is_not_counted_and_not_refused(own: Desk) -> None:
    """Three of them do not use up a limit of two; the questions of the user do, and after these they are still answered."""
    slow = keys_at(own).add("slow", "operator", 2)
    async with opened(own) as (client, _):

        async def code(said: str) -> int:
            body = {"model": NAME, "messages": [{"role": "user", "content": said}]}
            return (await client.post("/v1/chat/completions", json=body, headers=bearing(slow))).status_code

        background, question = KINDS[BackgroundPrompt.TAGS], "How do I lend a book?"
        assert [await code(background) for _ in range(3)] == [200, 200, 200]
        # Nor does what is refused before it is a question: for its model, or for its form.
        for body in ({"model": "gpt", "messages": [{"role": "user", "content": question}]}, {"model": NAME}):
            assert (await client.post("/v1/chat/completions", json=body, headers=bearing(slow))).status_code in (
                400,
                404,
            )
        assert (await client.get("/v1/none", headers=bearing(slow))).status_code == 404
        assert [await code(said) for said in (question, question, background)] == [200, 429, 200]
        told = figures((await client.get("/metrics", headers=bearing(keys_at(own).add("other", "operator")))).text)
        assert told["guardian_rate_limited_requests_total", ("key",)] == 1


async def test_wrong_keys_are_limited_and_lock_no_right_one_out(own: Desk) -> None:
    """After so many an address is told to wait; a right key from there is answered all the same."""
    right = keys_at(own).add("right", "operator")
    async with opened(own) as (client, _):
        codes = [(await client.get("/metrics", headers=bearing(f"gk-{n}"))).status_code for n in range(WRONG_KEYS + 1)]
        assert codes == [401] * WRONG_KEYS + [429]
        assert (await client.get("/metrics", headers=bearing(right))).status_code == 200
        assert (await client.get("/metrics")).status_code == 401


async def test_a_key_counts_beside_what_a_proxy_sends(own: Desk) -> None:
    """`X-API-Key` is looked at where `Authorization` carries no key of ours; a wrong one of ours is wrong."""
    key = keys_at(own).add("anna", "user")
    async with opened(own) as (client, _):
        for authorization, status in (
            ("Bearer eyJhbGciOi", 200),
            ("Basic cHJveHk6c2VjcmV0", 200),
            ("Negotiate x", 200),
            ("Bearer gk-wrong", 401),
        ):
            said = await client.get("/v1/models", headers={"Authorization": authorization, "X-API-Key": key})
            assert said.status_code == status, authorization


async def test_a_program_without_a_key_is_asked_for_one_as_programs_are(own: Desk) -> None:
    """No browser asks its user for a password because a page's script asked the API."""
    keys_at(own).add("anna", "user")
    async with opened(own) as (client, _):
        told = {path: (await client.get(path)).headers["www-authenticate"] for path in ("/v1/models", "/metrics")}
    assert told["/v1/models"] == "Bearer"
    assert told["/metrics"].startswith("Basic")


async def test_while_the_keys_cannot_be_read_nobody_gets_in(own: Desk) -> None:
    """A file that is damaged under a running server is an error for everybody, with a key or without: alive, and not ready."""
    key = keys_at(own).add("anna", "operator")
    async with opened(own) as (client, _):
        keys_at(own).path.write_text("{", "utf-8")
        for path in ("/metrics", "/v1/models"):
            assert (await client.get(path, headers=bearing(key))).status_code == 503
            assert (await client.get(path)).status_code == 503
        ready = await client.get("/readyz")
        assert ready.status_code == 503
        assert ready.json()["missing"] == ["the API keys cannot be read: `guardian keys list` says why"]
        assert (await client.get("/healthz")).status_code == 200


def test_a_minute_is_counted_from_each_request() -> None:
    """There is room again a minute after the oldest that counts, not at a full minute."""
    clock = SetClock()
    window = RateWindow(clock)
    for _ in range(3):
        assert window.wait_s(3) == 0
        window.add()
        clock.now += 10
    assert window.wait_s(3) == 30
    assert window.wait_s(2) == 40
    clock.now += 29.5
    assert window.wait_s(3) == 1
    clock.now += 0.5
    assert window.wait_s(3) == 0
    window.add()
    assert window.wait_s(3) == 10


async def test_addresses_of_one_host_count_as_one(tmp_path: Path) -> None:
    """Wrong keys from many addresses of one IPv6 network of 64 bits are those of one; a minute later it may go on."""
    clock, refused = SetClock(), list[str]()
    keys = Keys(tmp_path / "keys.json")
    keys.add("anna", "user")
    callers = Callers(keys, CallerSettings.read({}), UNNAMED)
    rates = LocalRates(clock)
    app = RateLimits(PlainTextResponse("let through"), callers, refused.append, lambda: rates)

    async def status(address: str) -> int:
        transport = ASGITransport(app, client=(address, 5000))
        async with AsyncClient(transport=transport, base_url=LOOPBACK, headers=bearing("gk-wrong")) as client:
            return (await client.get("/")).status_code

    for number in range(WRONG_KEYS):
        assert await status(f"2001:db8::{number}") == 200
    assert await status("2001:db8::ffff") == 429
    assert await status("2001:db8:0:1::1") == 200
    assert refused == ["wrong_key"]
    clock.now += 60
    assert await status("2001:db8::ffff") == 200


async def in_parts(*parts: bytes) -> AsyncGenerator[bytes]:
    for part in parts:
        yield part


async def test_a_body_that_is_too_large_is_refused_whatever_its_header_says(shelf: Desk) -> None:
    """With a length that says so, without any, and with one that lies; a body of exactly the limit is taken."""
    async with opened(shelf.having(GUARDIAN_MAX_REQUEST_BYTES="2000")) as (client, app):

        @app.post("/length")
        async def length(body: dict[str, Any]) -> int:
            return len(body["text"])

        whole = b'{"text": "' + b"a" * 1988 + b'"}'
        assert len(whole) == 2000
        kind = {"Content-Type": "application/json"}
        assert (await client.post("/length", content=whole, headers=kind)).json() == 1988
        assert (await client.post("/length", content=in_parts(whole[:99], whole[99:]), headers=kind)).json() == 1988
        for content, headers in (
            (whole + b" ", {}),
            (in_parts(whole, b" "), {}),
            (in_parts(whole, b" "), {"Content-Length": "10"}),
            (b"", {"Content-Length": "9" * 30}),
        ):
            refused = await client.post("/length", content=content, headers=headers)
            assert (refused.status_code, fault(refused)) == (413, "invalid_request_error")
            assert "GUARDIAN_MAX_REQUEST_BYTES" in refused.json()["error"]["way_out"]


# -------------------------------------------------------------------------------------------------------- other sites


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "192.0.2.7", ""])
async def test_a_name_that_was_made_to_lead_here_is_not_answered_to(client: AsyncClient, host: str) -> None:
    """On loopback without keys only its own names are: a page elsewhere cannot read by way of its own name."""
    refused = await client.get("/metrics", headers={"Host": host})
    assert (refused.status_code, fault(refused)) == (403, "permission_error")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9", "127.0.0.1", "127.8.8.8:80", "[::1]:8000", "a.localhost"])
async def test_this_machines_own_names_are_answered_to(client: AsyncClient, host: str) -> None:
    """All names and addresses of loopback."""
    assert (await client.get("/metrics", headers={"Host": host})).status_code == 200


async def test_with_keys_or_to_other_machines_any_name_will_do(own: Desk, shelf: Desk) -> None:
    """Behind a proxy a server has another name; a key cannot be had by way of a name."""
    key = keys_at(own).add("anna", "operator")
    async with opened(own) as (client, _):
        assert (await client.get("/metrics", headers={"Host": "desk.example", **bearing(key)})).status_code == 200
    async with opened(shelf, ServerOptions(loopback=False)) as (client, _):
        assert (await client.get("/metrics", headers={"Host": "desk.example"})).status_code == 200


@pytest.mark.parametrize(
    ("headers", "taken"),
    [
        ({}, True),
        ({"Origin": LOOPBACK}, True),
        ({"Origin": "http://127.0.0.1:9999"}, False),
        ({"Origin": "https://evil.example"}, False),
        ({"Origin": "null"}, False),
        ({"Origin": "http://["}, False),
        ({"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"}, True),
        ({"Origin": LOOPBACK, "Sec-Fetch-Site": "cross-site"}, False),
        ({"Origin": "https://desk.example", "Sec-Fetch-Site": "cross-site"}, True),
        ({"Sec-Fetch-Site": "none"}, True),
        ({"Sec-Fetch-Site": "same-site"}, False),
    ],
)
async def test_what_a_page_of_another_site_sends_is_refused(shelf: Desk, headers: dict[str, str], taken: bool) -> None:
    """What changes something is taken from programs, own pages and named origins; the browser's word on it counts."""
    async with opened(shelf.having(GUARDIAN_CORS_ORIGINS="https://desk.example")) as (client, _):
        answered = await client.post("/v1/no-such-route", headers=headers)
        assert answered.status_code in ((404, 405) if taken else (403,))
        # A form of a page is for that page alone, whatever sites programs may ask from.
        form = await client.post("/documents/index", headers={"Origin": "https://desk.example"})
        assert form.status_code == 403


async def test_a_key_in_the_browser_is_no_leave_for_other_pages(own: Desk) -> None:
    """A browser sends the key that was typed into its dialog along with what other pages have it send."""
    key = keys_at(own).add("anna", "user")
    async with opened(own) as (client, _):
        refused = await client.post("/v1/ask", auth=("", key), headers={"Origin": "https://evil.example"}, json={})
        assert refused.status_code == 403


async def test_other_sites_are_told_nothing_unless_they_are_named(shelf: Desk) -> None:
    """CORS is off; where origins are named, it is on for these alone, also on what is refused."""
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    here, there = {"Origin": "https://desk.example", **asked}, {"Origin": "https://evil.example", **asked}
    async with opened(shelf) as (client, _):
        off = await client.options("/v1/ask", headers=here)
        assert not [name for name in off.headers if name.startswith("access-control")]
    named = "https://desk.example, http://127.0.0.1:3000"
    async with opened(shelf.having(GUARDIAN_CORS_ORIGINS=named, GUARDIAN_MAX_REQUEST_BYTES="1024")) as (client, _):
        on = await client.options("/v1/ask", headers=here)
        assert (on.status_code, on.headers["access-control-allow-origin"]) == (200, "https://desk.example")
        assert "access-control-allow-origin" not in (await client.options("/v1/ask", headers=there)).headers
        refused = await client.post("/v1/ask", content=b"a" * 2000, headers={"Origin": "https://desk.example"})
        assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (413, "https://desk.example")


@pytest.mark.parametrize("change", ["garbage", "deep", "folder", "link", "gone"])
async def test_keys_that_change_into_something_else_close_a_server_that_runs(own: Desk, change: str) -> None:
    """Nobody is let in any more, with a key or without, until they can be read again; health is told all the same."""
    keys = keys_at(own)
    key = keys.add("anna", "user")
    text = keys.path.read_text("utf-8")
    async with opened(own) as (client, _):
        assert (await client.get("/v1/threads", headers=bearing(key))).status_code == 200
        keys.path.unlink()
        match change:
            case "garbage":
                keys.path.write_bytes(b"\xff{")
            case "deep":
                keys.path.write_text("[" * 100_000)
            case "folder":
                keys.path.mkdir()
            case "link":
                keys.path.symlink_to("nowhere.json")
            case _:
                pass
        for headers in (bearing(key), {}, bearing("gk-other")):
            refused = await client.get("/v1/threads", headers=headers)
            assert refused.status_code in ({401} if change == "gone" else {401, 503})
            assert refused.json()["error"]["way_out"]
        assert (await client.get("/healthz")).status_code == 200
        if change == "folder":
            keys.path.rmdir()
        else:
            keys.path.unlink(missing_ok=True)
        keys.path.write_text(text, "utf-8")
        assert (await client.get("/v1/threads", headers=bearing(key))).status_code == 200
