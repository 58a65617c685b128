from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from adapters.models.access import ModelAccess
from adapters.models.memory import WireMemory
from adapters.models.window import (
    OPENAI_WINDOW,
    UNKNOWN_WINDOW,
    ContextWindow,
    Parts,
    cut_to,
    list_models,
)
from contracts.calls import ModelCall
from contracts.enums import CallPurpose, FaultKind, Source
from contracts.errors import ServerFault
from contracts.evidence import EvidenceItem
from contracts.ports import Exchange
from tests.support.wire.models import ASKED, MODEL, asked_of, bench, size_of
from tests.support.wire.server_process import FakeServer

texts = st.text(max_size=300) | st.sampled_from(
    ["слово " * 100, "🔓" * 200, "one. two. three. " * 20, "a\nb\n" * 50, ""]
)


ASKED_AT_LENGTH = replace(ASKED, message="Why? " * 4_000)
NO_CLIENT: Any = None
"""In the place of a client where nothing is sent."""


def _item(snippet: str) -> EvidenceItem:
    return EvidenceItem(source=Source.DOC, ref="doc:1#0", snippet=snippet, confidence=0.5)


parts = st.builds(
    Parts,
    fixed=st.integers(0, 500),
    question=texts,
    history=st.lists(st.builds(Exchange, st.sampled_from(["user", "assistant"]), texts), max_size=5).map(tuple),
    analysis=texts,
    evidence=st.lists(st.builds(_item, texts), max_size=5).map(tuple),
)


@given(whole=parts, limit=st.integers(0, 4_000))
def test_what_comes_out_is_within_the_limit(whole: Parts, limit: int) -> None:
    """In bytes, whatever the parts are; or it is said that there is no room."""
    if whole.size > limit and limit - whole.fixed < 64:
        with pytest.raises(ServerFault) as caught:
            cut_to(whole, limit)
        assert caught.value.kind is FaultKind.TOO_LONG
    else:
        assert cut_to(whole, limit)[0].size <= limit


@given(whole=parts, limit=st.integers(0, 4_000))
def test_what_was_cut_is_told(whole: Parts, limit: int) -> None:
    """The figures are the characters and messages that are missing, each only where it is not 0."""
    assume(limit - whole.fixed >= 64 or whole.size <= limit)
    fitting, cut = cut_to(whole, limit)
    snippets = [item.snippet for item in whole.evidence], [item.snippet for item in fitting.evidence]
    assert cut.get("history_messages", 0) == len(whole.history) - len(fitting.history)
    assert cut.get("evidence_chars", 0) == len("".join(snippets[0])) - len("".join(snippets[1]))
    assert cut.get("analysis_chars", 0) == len(whole.analysis) - len(fitting.analysis)
    assert cut.get("question_chars", 0) == max(0, len(whole.question) - len(fitting.question))
    assert all(cut.values())


@given(whole=parts, limit=st.integers(0, 4_000))
def test_a_cut_keeps_places_beginnings_and_what_is_newest(whole: Parts, limit: int) -> None:
    """Evidence keeps its numbers and its beginnings, history its newest messages, the question both its ends."""
    assume(limit - whole.fixed >= 64 or whole.size <= limit)
    fitting, _ = cut_to(whole, limit)
    assert len(fitting.evidence) == len(whole.evidence)
    for before, after in zip(whole.evidence, fitting.evidence, strict=True):
        assert before.snippet.startswith(after.snippet)
        assert after.model_copy(update={"snippet": before.snippet}) == before
    assert whole.history[len(whole.history) - len(fitting.history) :] == fitting.history
    assert whole.analysis.startswith(fitting.analysis)
    head, _, tail = fitting.question.partition("\n[…]\n")
    assert fitting.question == whole.question or (whole.question.startswith(head) and whole.question.endswith(tail))
    assert bool(fitting.question) is bool(whole.question)


@given(whole=parts, more=st.integers(0, 500))
def test_what_fits_is_not_cut(whole: Parts, more: int) -> None:
    """Where everything is within the limit together, nothing is left out, however it is shared among the parts."""
    assert cut_to(whole, whole.size + more) == (whole, {})


async def test_a_long_question_that_fits_by_the_servers_count_is_left_whole(server: FakeServer) -> None:
    """More bytes than tokens are no reason to cut where the server has counted four bytes to a token."""
    async with bench(server, window=8_000) as made:
        window = made.window()
        call = ModelCall(purpose=CallPurpose.PLAN, model=MODEL, server="x", prompt_tokens=1_000)
        await window.learn(4_000, call)
        whole = Parts(1_000, "q" * 9_000)
        assert await window.fit(whole, 1_000) == (whole, {})
        fitting, cut = await window.fit(whole, 1_000, by_bytes=True)
    assert fitting.size <= 7_000
    assert cut == {"question_chars": len(whole.question) - len(fitting.question)}


@pytest.mark.parametrize(("window", "reply", "fixed"), [(1_000, 2_000, 10), (4_000, 1_000, 50_000), (100, 0, 50)])
async def test_a_window_without_room_is_a_fault_that_says_how_to_mend_it(
    server: FakeServer, window: int, reply: int, fixed: int
) -> None:
    """The model, its window and the setting are named."""
    async with bench(server, window=window) as made:
        with pytest.raises(ServerFault, match=rf"'{MODEL}' at 127.0.0.1:{server.port}.*\({window} tokens") as caught:
            await made.window().fit(Parts(fixed, "q" * 100), reply, by_bytes=True)
    assert "GUARDIAN_MODEL_WINDOW" in caught.value.way_out


# ------------------------------------------------------------------------------------------------- asking the server

PLACES: dict[str, tuple[str, Any]] = {
    "vLLM, by its list of models": (
        "/v1/models",
        {"data": [{"id": "other", "max_model_len": 1}, {"id": MODEL, "max_model_len": 4096}]},
    ),
    "llama.cpp": ("/props", {"default_generation_settings": {"n_ctx": 4096}}),
    "llama.cpp, by its list of models": ("/v1/models", {"data": [{"id": MODEL, "meta": {"n_ctx": 4096}}]}),
    "OpenRouter": ("/v1/models", {"data": [{"id": MODEL, "context_length": 4096}]}),
    "LM Studio": (
        "/api/v0/models",
        {"data": [{"id": MODEL, "max_context_length": 9000, "loaded_context_length": 4096}]},
    ),
    "Ollama": ("/api/ps", {"models": [{"name": MODEL, "model": MODEL, "context_length": 4096}]}),
}


def silent(*but: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a script of a server that knows no place but those."""
    return [*but, {"when": {"path": "s"}, "reply": {"status": 404}}]


@pytest.mark.parametrize("name", PLACES)
async def test_the_window_is_asked_of_the_server(server: FakeServer, name: str) -> None:
    """Wherever a kind of server tells it, it is found there."""
    path, reply = PLACES[name]
    server.script(silent({"when": {"path": path}, "reply": {"json": reply}}))
    async with bench(server, window=0) as made:
        assert await made.window().tokens() == 4096


@pytest.mark.parametrize(
    "reply", [None, [], 7, {"data": None}, {"data": [7]}, {"data": [{"id": MODEL, "max_model_len": "4096"}]}]
)
async def test_a_server_that_tells_nonsense_has_told_nothing(server: FakeServer, reply: Any) -> None:
    """A window is a number above 0 in an object of the right shape; else a careful guess stands in."""
    server.script([{"when": {"path": "s"}, "reply": {"json": reply}}])
    async with bench(server, window=0) as made:
        assert await made.window().tokens() == UNKNOWN_WINDOW


@pytest.mark.parametrize(
    "reply", [{"body": "<html>"}, {"body": "[" * 100_000}, {"status": 500}, {"reset": True}, {"cut_at": 3}]
)
async def test_a_server_that_cannot_tell_costs_a_guess(server: FakeServer, reply: Any) -> None:
    """Whatever becomes of the question, it raises nothing."""
    server.script([{"when": {"path": "s"}, "reply": reply}])
    async with bench(server, window=0) as made:
        assert await made.window().tokens() == UNKNOWN_WINDOW
        assert await list_models(made.access, made.client) in (None, [])


async def test_the_setting_stands_above_the_server(server: FakeServer) -> None:
    """Whoever sets the window is believed, and the server is not asked."""
    server.options(window=4096)
    async with bench(server, window=2048) as made:
        assert await made.window().tokens() == 2048
    assert server.requests() == []


async def test_openais_own_models_are_not_asked_about() -> None:
    """Its server does not say, so nothing is sent."""
    assert await ContextWindow(ModelAccess("m"), NO_CLIENT, WireMemory()).tokens() == OPENAI_WINDOW


async def test_what_the_server_said_is_remembered(server: FakeServer, tmp_path: Path) -> None:
    """It is asked once, and not again in the next process."""
    server.options(window=4096)
    file = tmp_path / "models.json"
    async with bench(server, window=0) as made:
        assert [await made.window(WireMemory(file)).tokens() for _ in range(3)] == [4096] * 3
    assert len([r for r in server.requests() if r["path"] == "/v1/models"]) == 1


async def test_that_a_server_does_not_say_is_remembered(server: FakeServer, tmp_path: Path) -> None:
    """It is asked once, not by every process again; only who forgets it on purpose asks anew."""
    file = tmp_path / "models.json"
    server.script([{"when": {"path": "s"}, "times": 4, "reply": {"status": 404}}])
    server.options(window=4096)
    async with bench(server, window=0) as made:
        for _ in range(2):
            window = made.window(WireMemory(file))
            assert [await window.tokens(), await window.tokens()] == [UNKNOWN_WINDOW] * 2
        assert len(server.requests()) == 4
        await made.window(WireMemory(file)).forget()
        assert await made.window(WireMemory(file)).tokens() == 4096


@pytest.mark.parametrize(
    "reply", [{"status": 503}, {"status": 429}, {"status": 401}, {"reset": True}, {"json": {"models": []}}], ids=str
)
async def test_a_server_that_may_say_later_is_asked_again(
    server: FakeServer, reply: dict[str, Any], tmp_path: Path
) -> None:
    """One that is away or busy, that refuses the key, or an Ollama whose model is not loaded: nothing is remembered."""
    file = tmp_path / "models.json"
    server.script(silent({"when": {"path": "/api/ps"}, "times": 1, "reply": reply}))
    async with bench(server, window=0) as made:
        assert await made.window(WireMemory(file)).tokens() == UNKNOWN_WINDOW
        server.script([])
        server.options(window=4096)
        assert await made.window(WireMemory(file)).tokens() == 4096


async def test_a_server_that_is_silent_costs_two_seconds_at_most(server: FakeServer) -> None:
    """A turn waits that long for the window, and goes on with a guess."""
    server.script([{"when": {"path": "s"}, "reply": {"hang": True}}])
    began = time.perf_counter()
    async with bench(server, window=0) as made:
        assert await made.window().tokens() == UNKNOWN_WINDOW
    assert time.perf_counter() - began < 6.0


async def test_a_server_that_was_away_is_asked_again(server: FakeServer) -> None:
    """Only what a server has said, or has not said, is taken for its last word."""
    server.script([{"when": {"path": "s"}, "times": 4, "reply": {"status": 503}}])
    server.options(window=4096)
    async with bench(server, window=0) as made:
        window = made.window()
        assert [await window.tokens(), await window.tokens()] == [UNKNOWN_WINDOW, 4096]


async def test_a_window_that_was_too_wide_is_asked_for_again(server: FakeServer) -> None:
    """After a request was too long the window is forgotten, and the next request fits the new one by bytes."""
    server.options(window=60_000)
    too_long = {"error": {"message": "maximum context length exceeded", "code": "context_length_exceeded"}}
    server.script([{"when": {"purpose": "plan"}, "times": 1, "reply": {"status": 400, "json": too_long}}])
    memory = WireMemory()
    async with bench(server, window=0) as made:
        planner = made.planner(memory, max_tokens=1_000)
        assert await made.window(memory).tokens() == 60_000
        server.options(window=16_000)
        reply = await planner.plan(ASKED_AT_LENGTH)
    bodies = asked_of(server, "plan")
    assert len(bodies) == 2
    assert size_of(bodies[0]) > 16_000
    assert size_of(bodies[1]) <= 15_000
    assert reply.degraded == ()
    assert reply.calls[0].fault == "too_long"
    assert reply.calls[1].cut["question_chars"] > 1_000
    assert memory.get(made.access, "window") == 16_000


async def test_a_request_that_is_too_long_by_bytes_too_is_given_up(server: FakeServer) -> None:
    """No other way of asking for the whole form is tried, only the small one; then the offline plan stands in."""
    server.script([{"when": {"purpose": "plan"}, "reply": {"status": 413}}])
    async with bench(server) as made:
        reply = await made.planner().plan(ASKED)
    assert [call.form for call in reply.calls] == ["named strict"] * 2 + ["small strict"] * 2
    assert reply.degraded


@pytest.mark.parametrize("reply", [{"hang": True}, {"drip_s": 0.2}, {"delay_headers_s": 30}])
async def test_a_server_that_is_slow_to_tell_does_not_hold_up_the_turn(
    server: FakeServer, reply: dict[str, Any]
) -> None:
    """Asking for the window is part of the exchange's one deadline."""
    server.options(window=4096)
    server.script([{"when": {"path": "s"}, "reply": reply}])
    began = time.perf_counter()
    async with bench(server, window=0, timeout_s=0.5) as made:
        planned = await made.planner().plan(ASKED)
    assert time.perf_counter() - began < 5.0
    assert planned.degraded


async def test_turns_at_once_ask_alike(server: FakeServer) -> None:
    """Several turns that ask for the window at the same time all get it."""
    server.options(window=4096)
    async with bench(server, window=0) as made:
        window = made.window()
        assert await asyncio.gather(*(window.tokens() for _ in range(5))) == [4096] * 5


async def test_the_models_of_a_server_can_be_listed(server: FakeServer) -> None:
    """By their names; a server that has no list says nothing."""
    async with bench(server) as made:
        assert await list_models(made.access, made.client) == ["fake-model", "fake-guard"]
        server.script(silent())
        assert await list_models(made.access, made.client) is None


@given(size=st.integers(0, 10_000), tokens=st.none() | st.integers(0, 10**9))
async def test_a_rate_is_at_most_one_token_for_a_byte(size: int, tokens: int | None) -> None:
    """Whatever a server counts, no more is believed than a byte-level tokenizer could make."""
    access, memory = ModelAccess("m"), WireMemory()
    window = ContextWindow(access, NO_CLIENT, memory)
    await window.learn(size, ModelCall(purpose=CallPurpose.PLAN, model="m", server="x", prompt_tokens=tokens))
    rate = memory.get(access, "tokens_per_byte")
    assert rate is None or 0 <= rate <= 1
