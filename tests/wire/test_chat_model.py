from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import SecretStr

from adapters.models.chat import Ask, ChatModel, Reply
from adapters.models.memory import WireMemory
from adapters.models.retries import deadline_in
from adapters.planning.model import Strategy, ToolForm
from contracts.enums import CallPurpose, FaultKind
from contracts.errors import ServerFault
from tests.support.wire.models import MODEL, Bench, asked_of, bench
from tests.support.wire.moderator_faults import wait_until_asked
from tests.support.wire.server_process import FakeServer

KEY = "sk-this-is-a-secret"
Q: list[BaseMessage] = [SystemMessage("s"), HumanMessage("q")]


async def asked(
    made: Bench, *, messages: list[BaseMessage] = Q, seconds: float = 20, ask: Any = None, **changes: Any
) -> Reply:
    model = made.chat(CallPurpose.DRAFT, **changes)
    return await model.ask(Ask(messages, 100, **(ask or {})), deadline_in(seconds))


async def refused(made: Bench, **changes: Any) -> ServerFault:
    with pytest.raises(ServerFault) as caught:
        await asked(made, **changes)
    assert caught.value.message
    assert caught.value.way_out
    assert caught.value.tried
    return caught.value


async def test_a_request_holds_what_was_asked_for_and_nothing_else(server: FakeServer) -> None:
    """Model, messages, temperature, the limit of tokens: no user, no ids, no streaming, no second limit."""
    async with bench(server) as made:
        await asked(made)
    (body,) = asked_of(server)
    assert body == {
        "model": MODEL,
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}],
        "max_completion_tokens": 100,
        "temperature": 0.0,
        "stream": False,
    }


async def test_settings_shape_the_request(server: FakeServer) -> None:
    """No temperature where none is set, further fields as they are, the system prompt where its role says."""
    async with bench(server) as made:
        await asked(made, temperature=None, extra={"top_k": 1, "x": {"y": True}}, system_role="user")
    (body,) = asked_of(server)
    assert "temperature" not in body
    assert (body["top_k"], body["x"]) == (1, {"y": True})
    assert body["messages"] == [{"role": "user", "content": "s\n\nq"}]


def limits(server: FakeServer) -> list[dict[str, int]]:
    """Return the limits of the replies that were asked for, by the field that has them."""
    return [{key: value for key, value in body.items() if "tokens" in key} for body in asked_of(server)]


async def test_a_server_that_ignores_the_new_limit_is_given_the_old_one_from_then_on(
    server: FakeServer, tmp_path: Path
) -> None:
    """It writes beyond the limit once, as Ollama does; other models, and the same one later, are told the right way."""
    usage = {"prompt_tokens": 7, "completion_tokens": 500, "total_tokens": 507}
    server.script([{"times": 1, "reply": {"text": "long", "usage": usage}}, {"reply": {"text": "short"}}])
    async with bench(server) as made:
        for _ in range(2):
            model = ChatModel(made.access, CallPurpose.DRAFT, made.client, memory=WireMemory(tmp_path / "models.json"))
            for _ in range(2):
                await model.ask(Ask(Q, 100), deadline_in(20))
        await asked(made, model="another", extra={"top_k": 1})
    old, new = {"max_tokens": 100}, {"max_completion_tokens": 100}
    assert limits(server) == [new, old, old, old, new]


@pytest.mark.parametrize(("refused_field", "first"), [("max_completion_tokens", None), ("max_tokens", "max_tokens")])
async def test_a_limit_that_is_refused_is_sent_by_its_other_name_at_once(
    server: FakeServer, refused_field: str, first: str | None
) -> None:
    """One request more, once: strict servers know the old name alone, some of OpenAI's models the new one."""
    error = {"error": {"message": f"Unsupported parameter: '{refused_field}'."}}
    server.script([{"times": 1, "reply": {"status": 400, "json": error}}, {"reply": {"text": "yes"}}])
    memory = WireMemory()
    async with bench(server) as made:
        await memory.put(made.access, "limit", first)
        model = ChatModel(made.access, CallPurpose.DRAFT, made.client, memory=memory)
        reply = await model.ask(Ask(Q, 100), deadline_in(20))
        await model.ask(Ask(Q, 100), deadline_in(20))
    assert [call.fault for call in reply.made] == ["bad_request", ""]
    names = ["max_completion_tokens", "max_tokens"] if first is None else ["max_tokens", "max_completion_tokens"]
    assert [list(limit) for limit in limits(server)] == [names[:1], names[1:], names[1:]]


SCHEMA = {"type": "object", "properties": {}}
WANTED = {"type": "json_schema", "json_schema": {"name": "plan", "schema": SCHEMA, "strict": True}}


async def test_a_schema_whose_type_is_refused_is_sent_as_a_json_object_from_then_on(server: FakeServer) -> None:
    """One request more, once, as llama-cpp-python needs it; its status 500 is the request's fault, and is not tried again."""
    loc = "1 validation error:\n  {'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), "
    message = f"{loc}'msg': \"Input should be 'text' or 'json_object'\", 'input': 'json_schema'}}"
    error = {"error": {"message": message, "type": "internal_server_error"}}
    server.script([{"times": 1, "reply": {"status": 500, "json": error}}, {"reply": {"text": "{}"}}])
    memory = WireMemory()
    async with bench(server) as made:
        model = ChatModel(made.access, CallPurpose.DRAFT, made.client, memory=memory)
        reply = await model.ask(Ask(Q, 100, options={"response_format": WANTED}), deadline_in(20))
        await model.ask(Ask(Q, 100, options={"response_format": WANTED}), deadline_in(20))
        await model.ask(Ask(Q, 100), deadline_in(20))
    assert [call.fault for call in reply.made] == ["bad_request", ""]
    as_object = {"type": "json_object", "schema": SCHEMA}
    assert [body.get("response_format") for body in asked_of(server)] == [WANTED, as_object, as_object, None]


def refusal(words: str, status: int = 400) -> dict[str, object]:
    return {"times": 1, "reply": {"status": status, "json": {"error": {"message": words}}}}


async def test_a_server_may_refuse_the_limit_and_the_schema_and_two_requests_at_once(server: FakeServer) -> None:
    """Each is sent otherwise once, whatever another request has learnt meanwhile."""
    named = "response_format must be text or json_object, not json_schema"
    refused = {"max_completion_tokens": "Unknown field 'max_completion_tokens'.", "json_schema": named}
    steps = [{"when": {"contains": sent}, "reply": refusal(words)["reply"]} for sent, words in refused.items()]
    server.script([*steps, {"reply": {"text": "{}"}}])
    memory = WireMemory()
    async with bench(server) as made:
        model = ChatModel(made.access, CallPurpose.DRAFT, made.client, memory=memory)
        ask = Ask(Q, 100, options={"response_format": WANTED})
        replies = await asyncio.gather(*(model.ask(ask, deadline_in(20)) for _ in range(2)))
    assert [reply.text for reply in replies] == ["{}", "{}"]
    assert memory.get(made.access, "schema") == "json_object"


async def test_what_was_learnt_of_schemas_is_forgotten_when_it_no_longer_holds(server: FakeServer) -> None:
    """A server that was updated, and refuses what it took before, is asked as all others are."""
    server.script([refusal("'json_object' is not supported, use 'json_schema'"), {"reply": {"text": "{}"}}])
    memory = WireMemory()
    async with bench(server) as made:
        await memory.put(made.access, "schema", "json_object")
        model = ChatModel(made.access, CallPurpose.DRAFT, made.client, memory=memory)
        await model.ask(Ask(Q, 100, options={"response_format": WANTED}), deadline_in(20))
    assert [body["response_format"]["type"] for body in asked_of(server)] == ["json_object", "json_schema"]
    assert memory.get(made.access, "schema") is None


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (
            None,
            [
                "response_format must be text or json_object, not json_schema",
                "Unknown parameter: 'response_format.schema'.",
            ],
        ),
        ("json_object", ["This response_format type is unavailable now"]),
    ],
    ids=["neither is taken", "no longer taken"],
)
async def test_a_type_of_schema_that_is_refused_is_not_remembered(
    server: FakeServer, known: str | None, words: list[str]
) -> None:
    """The next request is sent as to any server."""
    server.script(list(map(refusal, words)))
    memory = WireMemory()
    async with bench(server) as made:
        await memory.put(made.access, "schema", known)
        model = ChatModel(made.access, CallPurpose.DRAFT, made.client, memory=memory)
        with pytest.raises(ServerFault):
            await model.ask(Ask(Q, 100, options={"response_format": WANTED}), deadline_in(20))
    assert memory.get(made.access, "schema") is None


async def test_a_refusal_for_something_else_forgets_nothing_of_schemas(server: FakeServer) -> None:
    """Some name the type in other sentences: the messages must speak of JSON."""
    words = "'messages' must contain the word 'json' to use 'response_format' of type 'json_object'"
    server.script([refusal(words), {"reply": {"text": "{}"}}])
    memory = WireMemory()
    async with bench(server) as made:
        await memory.put(made.access, "schema", "json_object")
        model = ChatModel(made.access, CallPurpose.DRAFT, made.client, memory=memory)
        with pytest.raises(ServerFault):
            await model.ask(Ask(Q, 100, options={"response_format": WANTED}), deadline_in(20))
    assert memory.get(made.access, "schema") == "json_object"


async def test_what_a_message_carries_besides_words_stays_here(server: FakeServer) -> None:
    """Names, ids and additional_kwargs of messages never reach a server."""
    said = AIMessage("a", name="NAME", id="ID", additional_kwargs={"sgr_injected": True, "audio": {"id": "ID"}})
    async with bench(server) as made:
        await asked(made, messages=[HumanMessage("q", name="NAME", id="ID"), said, HumanMessage("r")])
    (body,) = asked_of(server)
    assert all(set(message) == {"role", "content"} for message in body["messages"])
    assert "ID" not in json.dumps(body)


async def test_a_reply_is_words_calls_and_what_they_cost(server: FakeServer) -> None:
    """Without the model's reasoning, and with the tokens as the server counted them."""
    usage = {
        "prompt_tokens": 7,
        "completion_tokens": 5,
        "total_tokens": 12,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    server.script([{"reply": {"text": "<think>hm</think>yes", "reasoning": "REASONING", "usage": usage}}])
    async with bench(server) as made:
        reply = await asked(made, ask={"form": "a form", "cut": {"history_messages": 2}})
    assert (reply.text, reply.calls, reply.finish_reason) == ("yes", (), "stop")
    (call,) = reply.made
    assert (call.prompt_tokens, call.completion_tokens, call.reasoning_tokens, call.cached_tokens) == (7, 5, 3, 4)
    assert (call.purpose, call.model, call.form, call.cut) == ("draft", MODEL, "a form", {"history_messages": 2})
    assert (call.http_status, call.fault, call.server) == (200, "", f"127.0.0.1:{server.port}")
    assert call.ms > 0


@pytest.mark.parametrize(
    "usage",
    [None, {}, {"prompt_tokens": -1}, {"prompt_tokens": 1.5}, {"prompt_tokens": 10**30, "completion_tokens": 10**19}],
)
async def test_a_server_that_counts_nonsense_has_counted_nothing(server: FakeServer, usage: Any) -> None:
    """What cannot be a number of tokens is unknown, never 0, and always small enough to be stored."""
    server.script([{"reply": {"text": "yes", "usage": usage}}])
    async with bench(server) as made:
        reply = await asked(made)
    assert reply.made[0].prompt_tokens is None
    assert reply.made[0].completion_tokens in (None, 0)


async def test_calls_come_as_they_were_made(server: FakeServer) -> None:
    """Arguments are JSON text where they could be read, and the text itself where not."""
    calls = [{"name": "a", "arguments": {"q": "é"}}, {"name": "b", "arguments": "{broken"}]
    server.script([{"reply": {"calls": calls, "text": "words"}}])
    async with bench(server) as made:
        reply = await asked(made)
    assert [(call.name, call.arguments) for call in reply.calls] == [("a", '{"q": "é"}'), ("b", "{broken")]
    assert reply.text == "words"


HARD = ["\ud800 a", "a\x00b\x1b[31m\x7f", "e\u0301", "a\u2028b\r\nc", "\ufeffa"]


@pytest.mark.parametrize("text", HARD)
async def test_a_reply_can_be_stored_and_shown(server: FakeServer, text: str) -> None:
    """Lone surrogates, which no encoder takes, and control characters, which steer a terminal, are not let in."""
    message = {"role": "assistant", "content": text}
    server.script(
        [{"reply": {"body": json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": text}]})}}]
    )
    async with bench(server) as made:
        reply = await asked(made)
    for said in (reply.text, reply.finish_reason, reply.made[0].finish_reason):
        said.encode()
        assert not [c for c in said if (c < " " and c not in "\n\t") or c in "\x7f\u2028"]
    assert "a" in reply.text or text == "e\u0301"


@pytest.mark.parametrize("role", ["user", "system", "tool", "function", "model"])
async def test_only_the_assistant_replies(server: FakeServer, role: str) -> None:
    """A reply in another's role cannot be read, whatever it says."""
    message = {"role": role, "content": "yes", "name": "x", "tool_call_id": "x"}
    server.script([{"reply": {"json": {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}}}])
    async with bench(server) as made:
        fault = await refused(made)
    assert fault.kind is FaultKind.UNREADABLE


async def test_a_request_without_words_is_refused_before_it_is_sent(server: FakeServer) -> None:
    """Where no user has said anything, a fault is raised and nobody is asked."""
    async with bench(server) as made:
        fault = await refused(made, messages=[SystemMessage("s"), HumanMessage(" \n")])
    assert fault.kind is FaultKind.BAD_REQUEST
    assert fault.calls == ()
    assert asked_of(server) == []


@pytest.mark.parametrize("text", HARD)
async def test_what_a_server_says_of_a_fault_can_be_stored_and_shown(server: FakeServer, text: str) -> None:
    """The same holds for the words of an error, which stand in the result of a turn."""
    server.script([{"reply": {"status": 400, "body": json.dumps({"error": {"message": text, "code": text}})}}])
    async with bench(server) as made:
        fault = await refused(made)
    fault.message.encode()
    assert fault.message.replace("\u00a0", " ").isprintable() or "\ufffd" in fault.message or "\ufeff" in fault.message


async def test_every_request_is_on_record(server: FakeServer) -> None:
    """Two that failed and one that was answered are three calls, each with what was wrong with it."""
    server.script(
        [{"times": 1, "reply": {"status": 503}}, {"times": 1, "reply": {"reset": True}}, {"reply": {"text": "yes"}}]
    )
    async with bench(server) as made:
        reply = await asked(made, max_retries=2)
    assert [(call.fault, call.http_status) for call in reply.made] == [
        ("server_error", 503),
        ("broken_off", None),
        ("", 200),
    ]


async def test_a_slow_server_is_given_up_at_the_deadline_and_on_record(server: FakeServer) -> None:
    """All tries share one deadline; the request that it ended is a call with that fault."""
    server.script([{"times": 1, "reply": {"status": 503}}, {"reply": {"hang": True}}])
    began = time.perf_counter()
    async with bench(server) as made:
        fault = await refused(made, max_retries=5, seconds=0.4)
    assert time.perf_counter() - began < 5.0
    assert fault.kind is FaultKind.DEADLINE
    assert [call.fault for call in fault.calls] == ["server_error", "deadline"]


async def test_a_cancelled_request_is_taken_back(server: FakeServer) -> None:
    """Who ends a turn ends its request: the server sees that nobody waits any more."""
    server.script([{"reply": {"hang": True}}])
    async with bench(server) as made:
        task = asyncio.create_task(asked(made))
        await asyncio.to_thread(wait_until_asked, server)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        for _ in range(500):
            if server.requests()[0]["replied"] == "gone":
                break
            await asyncio.sleep(0.01)
    assert server.requests()[0]["replied"] == "gone"


async def test_no_key_is_in_a_fault(server: FakeServer) -> None:
    """Even a server that repeats the key does not bring it into a message, a record or a representation."""
    said = {"error": {"message": f"wrong key {KEY}", "code": "invalid_api_key"}}
    server.script([{"reply": {"status": 401, "json": said}}])
    async with bench(server) as made:
        fault = await refused(made, api_key=SecretStr(KEY))
        assert KEY not in repr(made.chat(api_key=SecretStr(KEY)).access)
    assert fault.kind is FaultKind.NOT_ALLOWED
    assert KEY not in f"{fault} {fault!r} {fault.calls}"
    assert "wrong key ***" in fault.message


@pytest.mark.parametrize("rung", [Strategy(form, strict) for form in ToolForm for strict in (True, False)], ids=str)
async def test_a_streams_reader_sees_nothing_of_a_request(server: FakeServer, rung: Strategy) -> None:
    """Requests are not streamed, whatever the form: nothing of a plan or a draft leaves before it was judged."""
    async with bench(server) as made:
        await asked(made, ask={"options": rung.options(parallel=False)})
    assert asked_of(server)[0]["stream"] is False


junk = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "message",
                    "content",
                    "role",
                    "tool_calls",
                    "function",
                    "arguments",
                    "name",
                    "usage",
                    "error",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
nearly = st.fixed_dictionaries(
    {
        "choices": st.lists(
            st.fixed_dictionaries(
                {
                    "message": st.fixed_dictionaries(
                        {"role": st.just("assistant") | junk, "content": st.text(max_size=4) | junk},
                        optional={"tool_calls": junk, "function_call": junk, "reasoning_content": junk, "audio": junk},
                    )
                },
                optional={"finish_reason": st.sampled_from(["stop", "length"]) | junk, "index": junk, "logprobs": junk},
            ),
            max_size=2,
        )
    },
    optional={"usage": junk, "id": junk, "model": junk, "service_tier": junk, "system_fingerprint": junk},
)


@pytest.mark.parametrize("text", HARD)
async def test_arguments_can_be_stored(server: FakeServer, text: str) -> None:
    """What a call says is text that every encoder takes, whether it could be read as JSON or not."""
    calls = [{"name": "a", "arguments": {"q": text}}, {"name": "b", "arguments": text}]
    server.script([{"reply": {"body": json.dumps(_completion(calls))}}])
    async with bench(server) as made:
        reply = await asked(made)
    for call in reply.calls:
        call.arguments.encode()
    assert len(reply.calls) == 2


def _completion(calls: list[dict[str, Any]]) -> dict[str, Any]:
    written = [
        {
            "id": str(number),
            "type": "function",
            "function": {
                **call,
                "arguments": call["arguments"] if isinstance(call["arguments"], str) else json.dumps(call["arguments"]),
            },
        }
        for number, call in enumerate(calls)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": written}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}


@given(bodies=st.lists(junk | nearly, min_size=30, max_size=30))
@settings(max_examples=4)
async def test_whatever_a_server_answers_is_a_reply_or_a_fault(server: FakeServer, bodies: list[Any]) -> None:
    """No JSON makes asking raise anything but a fault of ours."""
    server.reset()
    server.script([{"times": 1, "reply": {"body": json.dumps(body)}} for body in bodies])
    async with bench(server) as made:
        model = made.chat()
        for _ in bodies:
            try:
                reply = await model.ask(Ask(Q, 100), deadline_in(20))
            except ServerFault as fault:
                made_ = fault.calls
            else:
                assert reply.text or reply.calls
                made_ = reply.made
            assert len(made_) == 1
            json.loads(made_[0].model_dump_json())


@pytest.mark.parametrize("variables", [{"OPENAI_BASE_URL": ""}, {"OPENAI_API_BASE": "http://127.0.0.1:9/v1"}], ids=str)
async def test_without_an_address_openai_is_asked_whatever_the_library_reads(
    server: FakeServer, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client library has variables of its own, and takes one that is empty for an address."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    seen: list[str] = []

    async def stop(request: Any) -> None:
        seen.append(str(request.url))
        raise ConnectionError

    async with bench(server) as made:
        made.client.event_hooks = {"request": [stop], "response": []}
        await refused(made, base_url=None, max_retries=0)
    assert seen == ["https://api.openai.com/v1/chat/completions"]
