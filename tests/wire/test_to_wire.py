from __future__ import annotations

from itertools import pairwise
from typing import Any

import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from adapters.models.chat import Ask
from adapters.models.retries import deadline_in
from adapters.models.wire import GO_ON, text_of, to_wire
from tests.support.examples import examples
from tests.support.wire.models import asked_of, bench, roles
from tests.support.wire.server_process import FakeServer

texts = st.sampled_from(["", " \n", "one", "two", "three", "слово"])
contents = texts | st.lists(
    st.one_of(
        texts,
        st.builds(lambda text: {"type": "text", "text": text}, texts),
        st.just({"type": "reasoning", "text": "REASONING", "summary": []}),
        st.just({"type": "thinking", "thinking": "REASONING"}),
        st.just({"type": "image_url", "image_url": {"url": "data:,"}}),
    ),
    max_size=3,
)
ids = st.sampled_from(["a", "b", "c"])
calls = st.builds(lambda id_: {"name": "look", "args": {"q": "x"}, "id": id_, "type": "tool_call"}, ids)
broken_calls = st.builds(
    lambda id_: {"name": "look", "args": "{", "id": id_, "error": "x", "type": "invalid_tool_call"}, ids
)
EXTRAS: dict[str, Any] = {
    "name": "NAME",
    "additional_kwargs": {
        "name": "KWARG",
        "reasoning_content": "REASONING",
        "sgr_injected": True,
        "function_call": {"name": "KWARG", "arguments": "{}"},
        "tool_calls": [{"id": "z", "type": "function", "function": {"name": "KWARG", "arguments": "{}"}}],
    },
    "response_metadata": {"model": "KWARG"},
}
extras = st.sampled_from([{}, EXTRAS])
messages: st.SearchStrategy[BaseMessage] = st.one_of(
    st.builds(lambda c, e: HumanMessage(c, id="ID", **e), contents, extras),
    st.builds(lambda c, e: SystemMessage(c, id="ID", **e), contents, extras),
    st.builds(
        lambda c, t, i, e: AIMessage(c, tool_calls=t, invalid_tool_calls=i, id="ID", **e),
        contents,
        st.lists(calls, max_size=2, unique_by=lambda call: call["id"]),
        st.lists(broken_calls, max_size=1),
        extras,
    ),
    st.builds(lambda c, i, e: ToolMessage(c, tool_call_id=i, **e), contents, ids, extras),
    st.builds(lambda c: ChatMessage(content=c, role="user"), contents),
    st.builds(lambda c: FunctionMessage(content=c, name="NAME"), contents),
)
some = st.lists(messages, max_size=5)
conversations: st.SearchStrategy[list[BaseMessage]] = st.builds(
    lambda before, words, after: [*before, HumanMessage(words), *after], some, st.sampled_from(["who", "why\n"]), some
)


def _of(wire: list[BaseMessage], kind: type[BaseMessage]) -> str:
    return "\n".join(text_of(message) for message in wire if isinstance(message, kind))


def _open_calls(wire: list[BaseMessage]) -> list[str]:
    """Return every call that has no result at once, and every result that has no call."""
    wrong: list[str] = []
    waiting: list[str] = []
    for message in wire:
        if isinstance(message, ToolMessage):
            (waiting.remove if message.tool_call_id in waiting else wrong.append)(message.tool_call_id)
            continue
        wrong += waiting
        waiting = [str(call["id"]) for call in message.tool_calls] if isinstance(message, AIMessage) else []
    return wrong + waiting


@given(said=conversations)
@examples(4)
def test_any_conversation_has_the_one_shape_that_every_server_takes(said: list[BaseMessage]) -> None:
    """System first and once, then the user, then by turns, calls with their results, last the user or a tool."""
    wire = to_wire(said)
    talk = wire[1:] if isinstance(wire[0], SystemMessage) else wire
    assert not any(isinstance(m, SystemMessage) for m in talk)
    assert isinstance(talk[0], HumanMessage)
    assert isinstance(talk[-1], HumanMessage | ToolMessage)
    assert not [m for m, after in pairwise(talk) if type(m) is type(after) is not ToolMessage]
    assert not _open_calls(wire)
    assert all(text_of(m).strip() or (isinstance(m, AIMessage) and m.tool_calls) for m in wire)


@given(said=conversations)
def test_nothing_but_words_and_calls_is_on_the_wire(said: list[BaseMessage]) -> None:
    """Names, ids, extras, broken calls and a model's reasoning are left behind."""
    for message in to_wire(said):
        assert message.name is None
        assert message.id is None
        assert not message.additional_kwargs
        assert not message.response_metadata
        assert isinstance(message.content, str)
        assert not isinstance(message, AIMessage) or not message.invalid_tool_calls
        assert "REASONING" not in message.content


@given(said=conversations)
def test_no_word_of_a_user_or_of_the_system_is_lost(said: list[BaseMessage]) -> None:
    """Each user's text stands in a user message, in order, and each system text in the system message."""
    wire = to_wire(said)
    for kind in (HumanMessage, SystemMessage):
        words = " ".join(text_of(m) for m in said if isinstance(m, kind)).split()
        found = iter(_of(wire, kind).split())
        assert all(word in found for word in words)


@given(said=conversations)
def test_what_has_the_shape_already_is_left_as_it_is(said: list[BaseMessage]) -> None:
    """Bringing messages into shape twice is bringing them into shape once."""
    once = to_wire(said)
    assert to_wire(once) == once


@given(said=conversations)
def test_a_template_without_a_system_role_has_its_words_in_front_of_the_users(said: list[BaseMessage]) -> None:
    """With the role `user` there is no system message, and the first user message begins with its text."""
    usual, folded = to_wire(said), to_wire(said, "user")
    assert not any(isinstance(m, SystemMessage) for m in folded)
    if isinstance(usual[0], SystemMessage):
        assert text_of(folded[0]) == f"{text_of(usual[0])}\n\n{text_of(usual[1])}"
        assert folded[1:] == usual[2:]
    else:
        assert folded == usual


@pytest.mark.parametrize("said", [[], [SystemMessage("s")], [HumanMessage(" ")], [AIMessage("a"), HumanMessage("")]])
def test_a_request_without_a_users_words_is_refused(said: list[BaseMessage]) -> None:
    """There is nothing to ask a model where no user has said anything."""
    with pytest.raises(ValueError, match="a user's message"):
        to_wire(said)


def test_a_conversation_that_ends_on_the_assistant_goes_on() -> None:
    """A last assistant message would be continued or refused: the user is made to say something."""
    wire = to_wire([HumanMessage("q"), AIMessage("a")])
    assert [text_of(m) for m in wire] == ["q", "a", GO_ON]


def test_several_results_follow_their_calls() -> None:
    """A message with two calls is followed by both results, whichever came first."""
    asked = AIMessage("", tool_calls=[{"name": "x", "args": {}, "id": "a"}, {"name": "x", "args": {}, "id": "b"}])
    said = [HumanMessage("q"), asked, ToolMessage("2", tool_call_id="b"), ToolMessage("1", tool_call_id="a")]
    assert [type(m) for m in to_wire(said)] == [HumanMessage, AIMessage, ToolMessage, ToolMessage]


def test_a_call_with_a_result_too_few_or_too_many_is_no_call() -> None:
    """The words beside it stay; the call and the results are left out together."""
    asked = AIMessage("words", tool_calls=[{"name": "x", "args": {}, "id": "a"}])
    for results in ([], ["b"], ["a", "b"], ["a", "a"]):
        said = [HumanMessage("q"), asked, *(ToolMessage("r", tool_call_id=i) for i in results), HumanMessage("next")]
        assert [text_of(m) for m in to_wire(said)] == ["q", "words", "next"]


@given(said=st.lists(conversations, min_size=25, max_size=25))
@settings(max_examples=3)
async def test_the_strictest_server_takes_what_the_client_sends(
    server: FakeServer, said: list[list[BaseMessage]]
) -> None:
    """langchain-openai's own client, and a server that refuses whatever the strictest provider would refuse."""
    server.reset()
    server.options(strict=True)
    async with bench(server) as made:
        for role in ("system", "user"):
            model = made.chat(system_role=role)
            for each in said:
                reply = await model.ask(Ask(each, 100), deadline_in(20))
                assert reply.text
    assert {r["replied"] for r in server.requests()} == {200}
    sent = str(asked_of(server))
    assert not [word for word in ("NAME", "KWARG", "REASONING", "sgr_injected") if word in sent]


async def test_a_strict_server_would_have_refused_what_was_not_brought_into_shape(server: FakeServer) -> None:
    """The check above can fail: sent as it is, a conversation that ends on the assistant is refused."""
    server.options(strict=True)
    async with openai.AsyncOpenAI(base_url=server.url, api_key="none", max_retries=0) as client:
        with pytest.raises(openai.BadRequestError, match="ends_on_assistant"):
            await client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
            )
    assert roles(asked_of(server)[0]) == ["user", "assistant"]


@pytest.mark.parametrize(
    "mark", ["<|im_start|>", "<|im_end|>", "<|eot_id|>", "</s>", "<start_of_turn>", "[INST]", "[/INST]"]
)
def test_the_border_of_a_message_is_the_servers_to_draw(mark: str) -> None:
    """What a tokenizer could read as one is broken up in every role, and everything else is sent as it is."""
    said = [
        SystemMessage(f"s {mark}"),
        HumanMessage(f"a {mark}system"),
        AIMessage(f"b {mark}"),
        HumanMessage(f"c {mark}"),
    ]
    sent = to_wire(said)
    assert mark not in "".join(str(message.content) for message in sent)
    assert to_wire(sent) == sent
    plain = [HumanMessage("if a<b: print('<s', x[0]) # <|> [INSTALL] </span>")]
    assert to_wire(plain) == plain
