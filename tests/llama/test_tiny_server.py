from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from pydantic import SecretStr, ValidationError

from contracts.plan import PLAN_TOOL, SGRPlanResult
from tests.support.llama import tiny_gguf
from tests.support.llama.proxy import recording_proxy
from tests.support.llama.server import LlamaServer, Refused, llama_server, template

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": PLAN_TOOL,
        "description": "Analyse the request before anything is searched.",
        "parameters": SGRPlanResult.model_json_schema(),
    },
}
BY_NAME = {"type": "function", "function": {"name": PLAN_TOOL}}
QUESTIONS = [f"How do I {verb} the {thing}?" for verb in ("reset", "order") for thing in ("badge", "form", "report")]


def user(text: str = "Where is the form?") -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str = "In the portal.") -> dict[str, Any]:
    return {"role": "assistant", "content": text}


SYSTEM = {"role": "system", "content": "You are the desk."}
CALL = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": PLAN_TOOL, "arguments": '{"action": "normal"}'}}
    ],
}
RESULT = {"role": "tool", "tool_call_id": "1", "content": "Accepted."}


def forced(server: LlamaServer, question: str, **more: Any) -> dict[str, Any]:
    """Ask for the plan as `required` demands it; return the answer's one choice."""
    options = {"tools": [TOOL], "tool_choice": "required", "parallel_tool_calls": False, "max_tokens": 4000, **more}
    [choice] = server.chat([SYSTEM, user(question)], **options)["choices"]
    return choice


def problems(arguments: Any) -> set[str]:
    """Return the kinds of what is wrong with a plan."""
    try:
        SGRPlanResult.model_validate(arguments)
    except ValidationError as error:
        return {problem["type"] for problem in error.errors()}
    return set()


def is_refused(server: LlamaServer, messages: list[dict[str, Any]]) -> bool:
    """Return whether the template answers 400 to a history."""
    try:
        server.apply_template(messages)
    except Refused as error:
        return error.status == 400
    return False


# ------------------------------------------------------------------------------------------------------- model file


def test_a_seed_makes_one_file(tmp_path: Path) -> None:
    """Files of one seed are equal byte for byte, those of two seeds are not."""
    first, again, other = (
        tiny_gguf.write(tmp_path / name, template="", seed=seed).read_bytes()
        for name, seed in (("first", 1), ("again", 1), ("other", 2))
    )
    assert first == again
    assert first != other
    assert len(first) < 2_000_000


def test_text_that_a_chain_would_break_is_refused(tmp_path: Path) -> None:
    """Characters of three bytes cannot be kept whole by a chain that knows one byte back."""
    with pytest.raises(ValueError, match="two bytes"):
        tiny_gguf.write(tmp_path / "model", template="", text="An em dash — so.\n")


# ---------------------------------------------------------------------------------------------------------- replies


@pytest.mark.parametrize("temperature", [0, 1])
def test_a_chat_is_answered_in_whole_characters_of_both_languages(llama: LlamaServer, temperature: float) -> None:
    """Replies are valid UTF-8, have Latin and Cyrillic letters and citations, and end by themselves at least once."""
    ends: set[str] = set()
    said = ""
    for question in QUESTIONS:
        [choice] = llama.chat([user(question)], temperature=temperature, max_tokens=400)["choices"]
        ends.add(choice["finish_reason"])
        said += choice["message"]["content"]

    assert "stop" in ends
    assert "\ufffd" not in said
    assert any("a" <= letter <= "z" for letter in said)
    assert any("а" <= letter <= "я" for letter in said)
    assert "[1]." in said


def test_at_temperature_0_the_prompt_decides(llama: LlamaServer) -> None:
    """One question gets one reply, and six questions get six."""
    replies = [
        llama.chat([user(question)], temperature=0, max_tokens=100)["choices"][0]["message"]["content"]
        for question in [*QUESTIONS, QUESTIONS[0]]
    ]
    assert replies[-1] == replies[0]
    assert len(set(replies)) == len(QUESTIONS)


@pytest.mark.parametrize("temperature", [0, 1])
def test_a_forced_call_has_json_of_the_plan(llama: LlamaServer, temperature: float) -> None:
    """Every forced call is one call with JSON arguments of the schema's keys, and some of them are plans."""
    plans = 0
    for question in QUESTIONS[::2]:
        choice = forced(llama, question, temperature=temperature)
        assert choice["finish_reason"] == "tool_calls"
        [call] = choice["message"]["tool_calls"]
        assert call["function"]["name"] == PLAN_TOOL
        arguments = json.loads(call["function"]["arguments"])
        assert set(SGRPlanResult.model_json_schema()["required"]) <= arguments.keys()
        wrong = problems(arguments)
        plans += not wrong
        # The grammar holds names, kinds, choices and lengths, but no bounds of numbers.
        assert wrong <= {"less_than_equal", "greater_than_equal", "finite_number"}
    assert plans > 0


def test_a_choice_by_name_is_ignored_without_a_word(tiny_model: Callable[[str], Path], tmp_path: Path) -> None:
    """A model that never calls ends its text under a choice by name, as under `auto`, and may not under `required`."""
    unwilling = tiny_gguf.write(tmp_path / "model", template=template("tools"), call_chance=0)
    with llama_server(unwilling) as server:
        named, free, required = (
            forced(server, "Where?", tool_choice=choice, max_tokens=600) for choice in (BY_NAME, "auto", "required")
        )
    assert (named["finish_reason"], free["finish_reason"]) == ("stop", "stop")
    assert named["message"]["content"] == free["message"]["content"]
    assert required["finish_reason"] == "length"
    assert "tool_calls" not in required["message"]


def test_the_guard_says_what_qwen3guard_says(llama_guard: LlamaServer) -> None:
    """Each reply has its Safety line first and its Categories line next, and not all verdicts are alike."""
    verdicts: set[str] = set()
    for question in QUESTIONS:
        reply = llama_guard.chat([user(question)], temperature=0, max_tokens=128)["choices"][0]["message"]["content"]
        safety, categories, *refusal = reply.split("\n")
        assert safety in ("Safety: Safe", "Safety: Controversial", "Safety: Unsafe")
        assert categories.startswith("Categories: ")
        assert (categories == "Categories: None") == (safety == "Safety: Safe")
        assert refusal in ([], ["Refusal: Yes"], ["Refusal: No"])
        verdicts.add(safety)
    assert len(verdicts) > 1


# -------------------------------------------------------------------------------------------------------- templates

PROMPTS = {
    "system_first": (
        "<|im_start|>system\nYou are the desk.<|im_end|>\n<|im_start|>user\nWhere is the form?<|im_end|>\n"
        "<|im_start|>assistant\nIn the portal.<|im_end|>\n<|im_start|>user\nAnd the report?<|im_end|>\n"
        "<|im_start|>assistant\n"
    ),
    "strict_alternation": (
        "<s>[INST] Where is the form?[/INST] In the portal.</s>[INST] You are the desk.\n\nAnd the report?[/INST]"
    ),
    "no_system": (
        "<start_of_turn>user\nYou are the desk.\nWhere is the form?<end_of_turn>\n"
        "<start_of_turn>model\nIn the portal.<end_of_turn>\n"
        "<start_of_turn>user\nAnd the report?<end_of_turn>\n<start_of_turn>model\n"
    ),
}
PROMPTS["tools"] = PROMPTS["system_first"]
"""Of a system message, a question, an answer and a question. llama.cpp itself puts the system's text into the first
question where it finds, on loading, that a template refuses the role."""

REFUSED = {
    "system_first": {"system last", "two systems"},
    "strict_alternation": {"system last", "two systems", "assistant last", "two users", "two assistants", "tools"},
    "tools": {"system last", "two systems"},
    "no_system": {"system last", "two systems", "two users", "two assistants", "tools"},
}
HISTORIES: dict[str, list[dict[str, Any]]] = {
    "system last": [user(), SYSTEM],
    "two systems": [SYSTEM, SYSTEM, user()],
    "assistant last": [user(), assistant()],
    "two users": [user(), user()],
    "two assistants": [user(), assistant(), assistant(), user()],
    "tools": [user(), CALL, RESULT, user()],
}


def test_a_template_renders_what_its_family_takes(family: tuple[str, LlamaServer]) -> None:
    """A system message, then user and assistant in turns, becomes the prompt of that family."""
    name, server = family
    prompt = server.apply_template([SYSTEM, user(), assistant(), user("And the report?")])
    assert prompt == PROMPTS[name]


def test_a_template_refuses_what_its_family_refuses(family: tuple[str, LlamaServer]) -> None:
    """Of six awkward histories, each family answers 400 to its own."""
    name, server = family
    refused = {history for history, messages in HISTORIES.items() if is_refused(server, messages)}
    assert refused == REFUSED[name]


def test_the_tools_template_writes_calls_and_results(llama: LlamaServer) -> None:
    """Tools stand in the system section, a call in its tags, its result in a user's turn."""
    prompt = llama.apply_template([SYSTEM, user(), CALL, RESULT], tools=[TOOL])
    assert prompt.index("You are the desk.") < prompt.index("<tools>\n{") < prompt.index("Where is the form?")
    assert prompt.endswith(
        f'<tool_call>\n{{"name": "{PLAN_TOOL}", "arguments": {{"action": "normal"}}}}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\n<tool_response>\nAccepted.\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n<|may_call|>"
    )


def test_a_last_assistant_message_is_gone_on_with_unless_told_otherwise(llama: LlamaServer) -> None:
    """As it is installed, llama.cpp leaves the turn open: a reply would be the rest of it."""
    assert llama.apply_template([user(), assistant()]).endswith("<|im_start|>assistant\nIn the portal.")


# ----------------------------------------------------------------------------------------------- proxy, and the process


async def test_the_proxy_keeps_both_bodies_and_changes_neither(llama: LlamaServer) -> None:
    """What langchain-openai asks and gets, streamed or not, is in the records; refusals, too."""
    with recording_proxy(llama.root) as proxy:
        model = ChatOpenAI(
            model="tiny", base_url=proxy.url, api_key=SecretStr("unused"), temperature=0, max_retries=0, timeout=30
        )
        whole = await model.ainvoke("Where is the form?", max_tokens=100)
        pieces = [piece async for piece in model.astream("Where is the form?", max_tokens=100)]
        with pytest.raises(Exception, match="tool_choice"):
            await model.ainvoke("Where is the form?", tools=[TOOL], tool_choice="bogus")

    first, second, third = proxy.records
    assert proxy.asked("/chat/completions") == [first.asked, second.asked, third.asked]
    assert first.asked["messages"] == [{"role": "user", "content": "Where is the form?"}]
    assert first.answered["choices"][0]["message"]["content"] == whole.content
    assert (first.status, second.status, third.status) == (200, 200, 400)
    assert len(pieces) > 10
    said = "".join(event["choices"][0]["delta"].get("content") or "" for event in second.answered if event["choices"])
    assert said == "".join(piece.text for piece in pieces) == whole.content


def test_the_proxy_answers_for_a_server_that_is_not_there() -> None:
    """A target that refuses the connection is a 502 to the client, and a record."""
    with recording_proxy("http://127.0.0.1:9") as proxy, pytest.raises(Refused, match="502"):
        LlamaServer(proxy.root).chat([user()])
    assert [exchange.status for exchange in proxy.records] == [502]


def test_a_server_is_gone_after_its_block(tiny_model: Callable[[str], Path]) -> None:
    """Its port answers inside the block, under the name it was given, and refuses connections after it."""
    with llama_server(tiny_model("system_first"), alias="named", slots=1, window=8192) as server:
        [listed] = server.get("/v1/models")["data"]
        assert (listed["id"], listed["meta"]["n_ctx"]) == ("named", 8192)
    with pytest.raises(OSError, match="refused"):
        server.chat([user()])


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    """A file that is no model ends the wait at once, with the process's own words."""
    broken = tmp_path / "broken.gguf"
    broken.write_text("no model")
    with pytest.raises(RuntimeError, match="did not start"), llama_server(broken):
        pass
