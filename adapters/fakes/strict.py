"""The rules of the strictest providers for the messages of a request.

The rules are the sum of what Anthropic, Mistral, Gemini, Bedrock and real chat templates refuse or garble.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, TypeAlias

from adapters.fakes.model import list_of, object_of, text_of

Messages: TypeAlias = list[dict[str, Any]]

ROLES: Final = ("system", "user", "assistant", "tool")
KEYS: Final = ("role", "content", "tool_calls", "tool_call_id")


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule that a request breaks.

    Attributes:
        rule: The rule's name, the `code` of the error.
        where: The message at fault, counted from 0.
    """

    rule: str
    where: int
    message: str


def breach_of(messages: Messages) -> Breach | None:
    """Return the first rule that messages break, in the order of `RULES`; `None` if they keep all."""
    return next((found for rule in RULES for found in rule(messages)), None)


def _no_messages(messages: Messages) -> Iterator[Breach]:
    if not messages:
        yield Breach("no_messages", 0, "there must be at least one message")


def _unknown_role(messages: Messages) -> Iterator[Breach]:
    for place, message in enumerate(messages):
        if message.get("role") not in ROLES:
            yield Breach("unknown_role", place, f"the role must be one of {', '.join(ROLES)}")


def _unknown_key(messages: Messages) -> Iterator[Breach]:
    for place, message in enumerate(messages):
        for key in message:
            if key not in KEYS:
                yield Breach("unknown_key", place, f"the key '{key}' is not permitted in a message")


def _empty_content(messages: Messages) -> Iterator[Breach]:
    for place, message in enumerate(messages):
        if not text_of(message.get("content")).strip() and not message.get("tool_calls"):
            yield Breach("empty_content", place, "the content must not be empty")


def _one_system(messages: Messages) -> Iterator[Breach]:
    places = [place for place, message in enumerate(messages) if message.get("role") == "system"]
    if len(places) > 1:
        yield Breach("one_system", places[1], "there must be at most one system message")
    elif places and places[0] != 0:
        yield Breach("system_first", places[0], "the system message must be the first message")


def _first_user(messages: Messages) -> Iterator[Breach]:
    place = 1 if messages and messages[0].get("role") == "system" else 0
    role = messages[place].get("role") if place < len(messages) else "nothing"
    if role != "user":
        yield Breach("first_user", place, f"after the system message a user message must come, not {role}")


def _same_role_twice(messages: Messages) -> Iterator[Breach]:
    for place, (before, message) in enumerate(pairwise(messages), 1):
        if message.get("role") == before.get("role") != "tool":
            yield Breach(
                "same_role_twice", place, "user and assistant must take turns: this role stands twice in a row"
            )


def _tool_results(messages: Messages) -> Iterator[Breach]:
    """Each call has its result before anybody else speaks, and each result has its call."""
    open_calls: list[str] = []
    place = 0
    for place, message in enumerate(messages):
        if message.get("role") == "tool":
            answered = str(message.get("tool_call_id"))
            if answered not in open_calls:
                yield Breach("tool_result_without_call", place, "this tool result answers no call right before it")
            else:
                open_calls.remove(answered)
        elif open_calls:
            yield Breach("tool_call_without_result", place - 1, f"the tool call {open_calls[0]} has no result")
            return
        if message.get("role") == "assistant":
            open_calls = [str(object_of(call).get("id")) for call in list_of(message.get("tool_calls"))]
    if open_calls:
        yield Breach("tool_call_without_result", place, f"the tool call {open_calls[0]} has no result")


def _ends_on_assistant(messages: Messages) -> Iterator[Breach]:
    if messages and messages[-1].get("role") == "assistant":
        yield Breach("ends_on_assistant", len(messages) - 1, "the last message must not be an assistant message")


RULES: Final[tuple[Callable[[Messages], Iterator[Breach]], ...]] = (
    _no_messages,
    _unknown_role,
    _unknown_key,
    _empty_content,
    _one_system,
    _first_user,
    _same_role_twice,
    _tool_results,
    _ends_on_assistant,
)
"""In the order in which they are looked at; the first that is broken is reported."""
