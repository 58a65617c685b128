"""The moderator that asks a MOSEC server: a real one, and one that is scripted to fail in every way."""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from blockbuster import blockbuster_ctx

from adapters.models.retries import Pauses
from adapters.moderation.mosec import MosecModerator
from contracts.enums import CallPurpose, HarmCategory, ModerationState, SafetyLevel
from contracts.errors import ConfigError, ModerationUnavailable
from tests.support.wire.moderator_faults import FAULTS, RETRIES, SLOW, TRIES, Fault, wait_until_asked
from tests.support.wire.mosec_worker import REQUEST_MS, MosecServer, mosec_server
from tests.support.wire.server_process import FakeServer, fake_server

QUICK = Pauses(first_s=0.01)


def _moderator(url: str, **changes: Any) -> MosecModerator:
    options: dict[str, Any] = {"timeout_s": 20.0, "max_retries": RETRIES, "pauses": QUICK, **changes}
    return MosecModerator(url, **options)


async def _refused(moderator: MosecModerator, text: str = "What is this?") -> ModerationUnavailable:
    with pytest.raises(ModerationUnavailable) as caught:
        await moderator.moderate(text)
    assert caught.value.message
    assert caught.value.way_out
    assert caught.value.tried
    return caught.value


# -------------------------------------------------------------------------------------------------- a real MOSEC server


@pytest.fixture(scope="module")
def real() -> Iterator[MosecServer]:
    with mosec_server() as server:
        yield server


VERDICTS = {
    "How do I reset it?": ("Safe", [], None),
    "An attack.": ("Unsafe", [HarmCategory.JAILBREAK], "No"),
    "Well, maybe.": ("Controversial", [HarmCategory.POLITICAL], None),
    "Only lines, please.": ("Unsafe", [HarmCategory.PII], "Yes"),
}


@pytest.mark.parametrize("text", VERDICTS)
async def test_a_real_server_is_understood(real: MosecServer, text: str) -> None:
    """A MOSEC server's JSON and a guard model's lines passed on are read alike, with a record of the request."""
    result = await _moderator(real.url).moderate(text)
    assert (str(result.safety_level), result.categories, result.refusal) == VERDICTS[text]
    assert str(result.state) == result.safety_level
    assert (result.provider, result.model) == ("mosec", "mosec")
    assert str(result.safety_level) in result.raw_output
    (call,) = result.calls
    assert (call.purpose, call.model, call.http_status, call.fault) == (CallPurpose.MODERATION, "mosec", 200, "")
    assert call.server in real.url
    assert call.ms > 0


REFUSALS = {
    "bad": ("HTTP 422", ["bad_request"]),
    "boom": ("HTTP 500", ["server_error"] * TRIES),
    "sleep": ("HTTP 408", ["server_error"] * TRIES),
    "unsure": ("no verdict", ["unreadable"] * TRIES),
}


@pytest.mark.parametrize("text", REFUSALS)
async def test_a_real_servers_errors_are_unavailable(real: MosecServer, text: str) -> None:
    """A text that is refused, a worker that fails, one that is too slow, and an unknown level are never Safe."""
    words, faults = REFUSALS[text]
    refused = await _refused(_moderator(real.url), text)
    assert words in refused.message
    assert [call.fault for call in refused.calls] == faults


async def test_a_real_server_that_reads_other_fields_says_so(real: MosecServer) -> None:
    """Fields named otherwise than the server reads them are refused with a way out that names them."""
    refused = await _refused(_moderator(real.url, type_field="kind"))
    assert "HTTP 422" in refused.message
    assert "fields" in refused.way_out


async def test_a_real_server_has_other_paths(real: MosecServer) -> None:
    """A wrong path is not tried again, and the way out names the settings of the address."""
    refused = await _refused(_moderator(real.url.replace("/inference", "/moderate")))
    assert [call.fault for call in refused.calls] == ["not_found"]
    assert "GUARD_MOSEC_PATH" in refused.way_out


async def test_a_worker_that_dies_with_the_request_is_unavailable() -> None:
    """Where the only worker dies, the running request and all after it are unavailable within the deadline."""
    with mosec_server() as server:
        began = time.monotonic()
        died = await _refused(_moderator(server.url, timeout_s=5.0), "die")
        assert time.monotonic() - began < 5.5
        assert died.calls[0].ms > REQUEST_MS * 0.9
        server.process.wait(10)
        gone = await _refused(_moderator(server.url, timeout_s=5.0), "hello")
        assert [call.fault for call in gone.calls] == ["unreachable"] * TRIES


# ---------------------------------------------------------------------------------------------------- a scripted server


@pytest.fixture(scope="module")
def running() -> Iterator[FakeServer]:
    with fake_server() as server:
        yield server


@pytest.fixture
def server(running: FakeServer) -> FakeServer:
    running.reset()
    return running


def _url(server: FakeServer) -> str:
    return f"{server.root}/inference"


async def test_the_request_has_two_fields(server: FakeServer) -> None:
    """The text as UTF-8 and the kind of moderation are all that is sent, under the names that are set."""
    await _moderator(_url(server)).moderate("Как сбросить пароль? \ud800")
    await _moderator(_url(server), text_field="text", type_field="kind").moderate("x")
    first, second = server.requests()
    assert first["body"] == {"content": "Как сбросить пароль? \ufffd", "moderation_type": "prompt"}
    assert second["body"] == {"text": "x", "kind": "prompt"}
    assert first["headers"]["content-type"] == "application/json"
    assert "authorization" not in first["headers"]


BODY_FAULTS = {
    "another level": Fault({"json": {"safety_level": "Fine", "categories": []}}, "unreadable", TRIES),
    "no level": Fault({"json": {"status": "ok"}}, "unreadable", TRIES),
    "a verdict as a page": Fault({"json": {"safety_level": "Safe"}, "content_type": "text/html"}, "unreadable", TRIES),
    "a verdict in a megabyte": Fault({"body": "Safety: Safe\n" + "x" * 1_000_000}, "unreadable", TRIES),
    "a false encoding": Fault(
        {"json": {"safety_level": "Safe"}, "headers": {"Content-Encoding": "gzip"}}, "unreadable", TRIES
    ),
    "sent elsewhere": Fault({"status": 307, "headers": {"Location": "/v1/inference"}}, "not_found", 1),
    "taken, without a verdict": Fault({"status": 204}, "not_found", 1),
}


@pytest.mark.parametrize("name", [*FAULTS, *BODY_FAULTS])
async def test_a_fault_of_the_server_is_unavailable(server: FakeServer, name: str) -> None:
    """Each fault becomes ModerationUnavailable with a way out; what may pass is tried again, all else is not."""
    fault = {**FAULTS, **BODY_FAULTS}[name]
    server.script([{"reply": fault.reply}])
    refused = await _refused(_moderator(_url(server)))
    assert [call.fault for call in refused.calls] == [fault.kind] * fault.tries
    assert len(server.requests()) == fault.tries


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.tries > 1])
async def test_a_fault_that_passes_is_forgotten(server: FakeServer, name: str) -> None:
    """Where the second try is answered, its verdict is the result, and both requests are on record."""
    fault = FAULTS[name]
    server.script([{"times": 1, "reply": fault.reply}, {"reply": {"json": {"data": {"safety": "controversial"}}}}])
    result = await _moderator(_url(server)).moderate("x")
    assert result.state is ModerationState.CONTROVERSIAL
    assert [call.fault for call in result.calls] == [fault.kind, ""]


@pytest.mark.parametrize("name", SLOW)
async def test_the_deadline_ends_every_wait(server: FakeServer, name: str) -> None:
    """A server that takes longer than there is time is given up at the deadline, not later."""
    server.script([{"reply": SLOW[name]}])
    began = time.monotonic()
    refused = await _refused(_moderator(_url(server), timeout_s=0.5))
    assert 0.4 < time.monotonic() - began < 5.0
    assert [call.fault for call in refused.calls] == ["deadline"]
    assert "GUARD_TIMEOUT" in refused.way_out


async def test_one_deadline_stands_over_all_tries(server: FakeServer) -> None:
    """However many tries are allowed, they and the pauses between them take no longer than one timeout."""
    server.script([{"reply": {"status": 503, "delay_headers_s": 0.2}}])
    began = time.monotonic()
    refused = await _refused(_moderator(_url(server), timeout_s=0.7, max_retries=50))
    assert time.monotonic() - began < 5.0
    assert 2 <= len(refused.calls) <= 4


async def test_the_servers_own_wish_is_the_pause(server: FakeServer) -> None:
    """Retry-After is waited out where there is time for it."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    server.script([{"times": 1, "reply": {"status": 429, "headers": {"Retry-After": "7"}}}])
    result = await _moderator(_url(server), pauses=Pauses(sleep=sleep)).moderate("x")
    assert result.state is ModerationState.SAFE
    assert slept == [7.0]


async def test_a_wish_longer_than_the_deadline_ends_it_at_once(server: FakeServer) -> None:
    """Where the server asks for more time than there is, nothing is waited for."""
    server.script([{"reply": {"status": 429, "headers": {"Retry-After": "120"}}}])
    began = time.monotonic()
    refused = await _refused(_moderator(_url(server), timeout_s=10.0))
    assert time.monotonic() - began < 5.0
    assert [call.fault for call in refused.calls] == ["busy"]


async def test_nobody_there_is_unavailable() -> None:
    """A refused connection is tried again, and then says that the server cannot be reached."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        refused = await _refused(_moderator(f"http://127.0.0.1:{probe.getsockname()[1]}/inference"))
    assert [call.fault for call in refused.calls] == ["unreachable"] * TRIES


async def test_tls_to_a_server_that_has_none_is_unavailable(server: FakeServer) -> None:
    """An address with https where the server speaks http cannot be reached, and nothing else is tried in its place."""
    refused = await _refused(_moderator(_url(server).replace("http://", "https://")))
    assert [call.fault for call in refused.calls] == ["unreachable"] * TRIES
    assert server.requests() == []


@pytest.mark.parametrize("text", ["", " \n\t\u00a0"])
async def test_a_blank_message_is_not_asked_about(server: FakeServer, text: str) -> None:
    """Nothing can be said of nothing, which is not the same as Safe."""
    await _refused(_moderator(_url(server)), text)
    assert server.requests() == []


@pytest.mark.parametrize(
    "url", ["", "host:8000/inference", "ftp://host/inference", "http://", "http://host:99999/x", "http://[::1/x"]
)
def test_an_address_that_is_none_is_refused_when_it_is_set(url: str) -> None:
    """A wrong address is an error of the settings, not a moderator that is never there."""
    with pytest.raises(ConfigError) as caught:
        MosecModerator(url)
    assert "GUARD_MOSEC_URL" in caught.value.way_out


async def test_a_password_in_the_address_is_sent_and_never_shown(
    server: FakeServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Basic authentication reaches the server; its password is in no error, no record and no log."""
    caplog.set_level(logging.DEBUG)
    server.script([{"times": 1, "reply": {}}, {"reply": {"status": 400}}])
    moderator = _moderator(_url(server).replace("http://", "http://me:hush-hush@"))
    result = await moderator.moderate("x")
    refused = await _refused(moderator)
    assert server.requests()[0]["headers"]["authorization"].startswith("Basic")
    assert caplog.records
    shown = f"{result!r} {result.calls} {refused} {refused.calls} {vars(moderator)['_url']} {caplog.text}"
    assert "hush-hush" not in shown


async def test_a_cancelled_question_stays_cancelled(server: FakeServer) -> None:
    """A turn that is stopped while the moderator waits stops, and is not taken for a fault."""
    server.script([{"reply": {"hang": True}}])
    asking = asyncio.create_task(_moderator(_url(server)).moderate("x"))
    await asyncio.to_thread(wait_until_asked, server)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


def test_one_moderator_serves_one_event_loop_after_another(server: FakeServer) -> None:
    """A moderator outlives the loop it was first used in, and leaves no socket open behind any."""
    moderator = _moderator(_url(server))
    before = _sockets()
    for _ in range(3):
        assert asyncio.run(moderator.moderate("x")).safety_level is SafetyLevel.SAFE
    gc.collect()
    assert _sockets() == before


def _sockets() -> set[str]:
    links = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return {link for link in links if link.startswith("socket:")}


async def test_nothing_blocks_the_event_loop(server: FakeServer) -> None:
    """Making a moderator and asking it does nothing that `langgraph dev` refuses in the event loop's own thread."""
    with blockbuster_ctx():
        result = await _moderator(_url(server)).moderate("x")
    assert result.state is ModerationState.SAFE
