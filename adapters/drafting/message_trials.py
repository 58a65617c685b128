"""Trials of messages that not every model gets to see: some servers refuse them, and some templates drop them silently."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from adapters.drafting.replies import names_any
from adapters.models.chat import Ask, Reply

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

_BIRD: Final = "heron"
_METAL: Final = "copper"
_CALL: Final = "look_up"


@dataclass(frozen=True, slots=True)
class MessageTrial:
    """A trial of one form of messages: whoever reads them all can repeat a word of each.

    Attributes:
        name: What is remembered of a model under this name.
        what: What the model reads, or does not.
        messages: The messages in the form that is tried.
        control: The same question without that form: a server that refuses it, too, says nothing of the form.
        words: Parts of a refusal that is of the form.
    """

    name: str
    what: str
    messages: Callable[[], list[BaseMessage]]
    control: Callable[[], list[BaseMessage]]
    words: tuple[str, ...]

    def ask(self, tokens: int) -> Ask:
        """Return the request of the trial, with at most so many tokens of reply."""
        return Ask(self.messages(), tokens, apart=True)

    def ask_control(self, tokens: int) -> Ask:
        return Ask(self.control(), tokens)

    def is_named(self, refusal: str) -> bool:
        """Whether a server's refusal is of this form."""
        return names_any(refusal, self.words)


def read_both(reply: Reply) -> bool | None:
    """Whether a reply to a trial has both words; `None` if it was cut short before both stood in it."""
    said = reply.text.casefold()
    if all(word in said for word in (_BIRD, _METAL)):
        return True
    return None if reply.cut_short else False


def _two_messages() -> list[BaseMessage]:
    from langchain_core.messages import AIMessage, HumanMessage

    return [
        HumanMessage("Tell me a bird, and then a metal."),
        AIMessage(f"The bird is the {_BIRD}."),
        AIMessage(f"The metal is {_METAL}."),
        HumanMessage("Which bird and which metal did you tell me? Write the two words and nothing else."),
    ]


def _one_message() -> list[BaseMessage]:
    from langchain_core.messages import AIMessage, HumanMessage

    first, bird, metal, last = _two_messages()
    return [HumanMessage(first.text), AIMessage(f"{bird.text}\n\n{metal.text}"), HumanMessage(last.text)]


def _tool_result() -> list[BaseMessage]:
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    return [
        HumanMessage("Look up a bird and a metal."),
        AIMessage("", tool_calls=[{"name": _CALL, "args": {"bird": _BIRD}, "id": "look"}]),
        ToolMessage(f'{{"metal": "{_METAL}"}}', tool_call_id="look"),
        HumanMessage("Which bird did you look up, and which metal came back? Write the two words and nothing else."),
    ]


def _no_tool() -> list[BaseMessage]:
    from langchain_core.messages import HumanMessage

    return [HumanMessage(f"Write the words {_BIRD} and {_METAL} and nothing else.")]


TWO_MESSAGES: Final = MessageTrial(
    "two_messages",
    "two messages in a row",
    _two_messages,
    _one_message,
    ("role", "alternat", "assistant", "consecutive"),
)
TOOL_RESULT: Final = MessageTrial(
    "tool_result", "a call of a tool and its result", _tool_result, _no_tool, ("role", "tool_call_id", "tool message")
)
