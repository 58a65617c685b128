"""Prompts that chat clients send by themselves: recognised by their whole form, answered without a turn.

The shapes are Open WebUI's (0.12.4: `config.py`, `utils/middleware.py`) and LibreChat's (npm `@librechat/agents`
3.2.21: `src/utils/title.ts` and `src/run.ts`): headings, keys, marks and tags in their order, with other sentences.
LibreChat's other way to a title demands a call of a tool, which is refused as for any client.
"""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from assistant.web.background_prompts import (
    BackgroundPrompt,
    answer_background_prompt,
    recognise_background_prompt,
)
from tests.support.background_prompts import KINDS
from tests.support.cli_helpers import ANSWER, NAME, QUESTION
from tests.support.web_server import Running, read_events

TITLE_OF_LIBRECHAT = (
    "Provide a concise, 5-word-or-less title for the conversation, in few words. The title alone.\n\n"
    f"Conversation:\nUser: {QUESTION}\nAI: Use the command [1]."
)
EMOJI = "Your task is to reflect the speaker's likely facial expression as one sign.\n\nMessage: ```Hello there```"
CHOOSING = 'Available Tools: [{"name": "tool_1"}]\n\nChoose; if none fits: \n{\n  "tool_calls": []\n}'
TOOLS = [{"type": "function", "function": {"name": f"tool_{number}", "parameters": {}}} for number in range(35)]


def post(server: Running, text: str, **more: Any) -> Any:
    messages = [{"role": "user", "content": text}]
    return server.ask("POST", "/v1/chat/completions", {"model": NAME, "messages": messages, **more})


@pytest.mark.parametrize("kind", KINDS)
def test_each_prompt_is_recognised_and_answered_by_the_least_json(kind: BackgroundPrompt) -> None:
    """Only the key that the prompt asks for, with nothing made up: a title is the user's own words."""
    prompt = KINDS[kind]
    assert recognise_background_prompt(f"\n{prompt}\n") is kind
    told = json.loads(answer_background_prompt(kind, prompt))
    assert set(told) == {str(kind)}
    assert told[str(kind)] in ([], "", "How do I restore the catalogue from a…")


def test_prompts_without_json_get_plain_text() -> None:
    """LibreChat shows a title as it comes, and Open WebUI takes an empty text for no emoji."""
    assert recognise_background_prompt(TITLE_OF_LIBRECHAT) is BackgroundPrompt.PLAIN_TITLE
    assert answer_background_prompt(BackgroundPrompt.PLAIN_TITLE, TITLE_OF_LIBRECHAT).startswith("How do I restore")
    assert recognise_background_prompt(EMOJI) is BackgroundPrompt.EMOJI
    assert answer_background_prompt(BackgroundPrompt.EMOJI, EMOJI) == ""


def test_a_choice_of_tools_is_told_by_the_system_s_message() -> None:
    """The user's message alone may be a question that begins with "Query:"."""
    for text in (f"Query: {QUESTION}", f'History:\nUSER: """a"""\nQuery: {QUESTION}'):
        assert recognise_background_prompt(text, CHOOSING) is BackgroundPrompt.TOOL_CALLS
        assert recognise_background_prompt(text) is None
        assert recognise_background_prompt(text, "You help with queries.") is None
    assert recognise_background_prompt(QUESTION, CHOOSING) is None
    assert answer_background_prompt(BackgroundPrompt.TOOL_CALLS, QUESTION) == '{"tool_calls": []}'


@pytest.mark.parametrize(
    "text",
    [
        QUESTION,
        TITLE_OF_LIBRECHAT.partition("Conversation:")[0],
        f"What is this?\n{TITLE_OF_LIBRECHAT}",
        TITLE_OF_LIBRECHAT.partition("AI:")[0],
        EMOJI.partition("Message:")[0],
        f"{EMOJI} And how do I restore it?",
        '### Task:\nWrite a title.\n### Output:\n{ "title": "x" }',
        "What does this mean?\n" + KINDS[BackgroundPrompt.TITLE],
        KINDS[BackgroundPrompt.TITLE].replace("</chat_history>", ""),
        KINDS[BackgroundPrompt.TITLE].replace('"title"', '"name"'),
        KINDS[BackgroundPrompt.TITLE].replace("### Output:", "Output:"),
        "### Task:\n" + "x" * 30_000 + KINDS[BackgroundPrompt.TITLE],
        "",
    ],
)
def test_a_person_s_message_is_none(text: str) -> None:
    """A part of the form is not the form."""
    assert recognise_background_prompt(text) is None


def test_a_long_prompt_is_recognised_in_linear_time() -> None:
    """A conversation may be long, and so may what only looks like one."""
    began = time.process_time()
    long = KINDS[BackgroundPrompt.TITLE].replace("Use the", "USER: " * 200_000)
    assert recognise_background_prompt(long) is BackgroundPrompt.TITLE
    assert len(answer_background_prompt(BackgroundPrompt.TITLE, long)) < 80
    for shape in (
        "### Task:" + '{ "' * 400_000,
        "### Task:\n### Output:" + "<chat_history" * 100_000,
        "### Task:\n" * 100_000,
        TITLE_OF_LIBRECHAT.partition("User:")[0] * 10_000,
        EMOJI.partition("Message:")[0] * 10_000,
    ):
        assert recognise_background_prompt(shape) is None
    assert time.process_time() - began < 2


def test_no_turn_runs_for_a_background_prompt(server: Running) -> None:
    """No conversation comes of it, streamed or whole, in the shapes that the client reads."""
    before = server.ask("GET", "/v1/threads").json()["total"]
    done = post(server, KINDS[BackgroundPrompt.TAGS], stream=False, tools=TOOLS)
    assert done.status_code == 200, done.text
    assert json.loads(done.json()["choices"][0]["message"]["content"]) == {"tags": []}
    assert "guardian" not in done.json()
    assert "How do I restore" in post(server, TITLE_OF_LIBRECHAT).json()["choices"][0]["message"]["content"]
    choosing = [{"role": "system", "content": CHOOSING}, {"role": "user", "content": f"Query: {QUESTION}"}]
    chosen = server.ask("POST", "/v1/chat/completions", {"model": NAME, "messages": choosing}).json()
    assert json.loads(chosen["choices"][0]["message"]["content"]) == {"tool_calls": []}
    chunks = read_events(post(server, KINDS[BackgroundPrompt.TITLE], stream=True).text)
    text = "".join(chunk[1]["choices"][0]["delta"].get("content", "") for chunk in chunks[:-1])
    assert json.loads(text)["title"].startswith("How do I restore")
    assert chunks[-2][1]["choices"][0]["finish_reason"] == "stop"
    assert chunks[-1] == ("", "[DONE]")
    assert server.ask("GET", "/v1/threads").json()["total"] == before


@pytest.mark.parametrize("choice", [None, "auto", "none"])
def test_tools_that_need_not_be_called_are_ignored(server: Running, choice: str | None) -> None:
    """Open WebUI sends some thirty-five of them with each question."""
    more: dict[str, Any] = {} if choice is None else {"tool_choice": choice}
    done = post(server, QUESTION, tools=TOOLS, functions=[{"name": "f"}], **more)
    assert done.status_code == 200, done.text
    assert ANSWER in done.json()["choices"][0]["message"]["content"]


@pytest.mark.parametrize(
    "more",
    [
        {"tool_choice": "required"},
        {"tool_choice": {"type": "function", "function": {"name": "tool_1"}}},
        {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": []}}},
        {"function_call": {"name": "tool_1"}},
        {"tool_choice": "sometimes"},
    ],
)
def test_a_call_that_is_demanded_is_refused_with_a_way_out(server: Running, more: dict[str, Any]) -> None:
    """A client that waits for a call would wait for ever."""
    said = post(server, QUESTION, tools=TOOLS, **more)
    assert said.status_code == 400
    assert "demands a call" in said.json()["error"]["message"]
    assert '"auto"' in said.json()["error"]["message"]
