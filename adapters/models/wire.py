"""`to_wire`: the one format of every request, so that no provider rejects or continues it.

This was measured on 63 real chat templates and several servers:

- Some refuse a history that ends with an assistant message; others continue it as if the model were in mid-sentence.
- Templates that need strict alternation refuse two neighbours of one role.
- A system message that is not first loses its content or raises.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

GO_ON = "Go on."
"""What the user is made to say after an assistant message that came last."""
NO_RESULT = "(nothing)"
"""The result of a call that brought no text: an empty message is refused by some."""


def to_wire(
    messages: Sequence[BaseMessage], system_role: Literal["system", "user"] = "system", *, apart: bool = False
) -> list[BaseMessage]:
    """Return the messages in a form that every server accepts.

    - One system message comes first, or its text is in front of the first user message.
    - Then a user message comes first, and no two neighbours have one role.
    - Every tool call has its result, and no result is without its call.
    - The last message is the user's or a tool's.
    - Names, ids and other extras of the messages are dropped, and so are empty messages.

    Args:
        messages: Of a conversation, the system's anywhere.
        system_role: Where the system message goes: before the others, or into the first of the user's.
        apart: Whether neighbours of the assistant stay two messages; only for a server that was seen to read both.

    Raises:
        ValueError: No user message is among them.
    """
    system = "\n\n".join(text for m in messages if isinstance(m, SystemMessage) and (text := plain_text_of(m)).strip())
    talk = _alternate_roles(
        _without_dangling_calls(m for m in messages if not isinstance(m, SystemMessage)), apart=apart
    )
    while talk and isinstance(talk[0], AIMessage) and not talk[0].tool_calls:
        del talk[0]  # what is left of a history whose beginning was cut
    if not any(isinstance(m, HumanMessage) for m in talk):
        raise ValueError("a request needs a user's message")
    if isinstance(talk[0], AIMessage | ToolMessage):
        talk = _from_first_user(talk)
    if isinstance(talk[-1], AIMessage):
        talk.append(HumanMessage(GO_ON))
    if not system:
        return talk
    if system_role == "system":
        return [SystemMessage(system), *talk]
    return [HumanMessage(f"{system}\n\n{text_of(talk[0])}"), *talk[1:]]


_SPECIAL: Final = re.compile(
    r"<(?=\|[a-z_]{2,40}\|>|/?s>|(?:start|end)_of_turn>|[be]os>)|\[(?=/?INST\])", re.IGNORECASE
)


def plain_text_of(message: BaseMessage) -> str:
    """Return the text of a message for the wire, with everything broken up that a tokenizer could read as a boundary.

    Otherwise a document or a user that writes `<|im_start|>system` would speak as the system on a server that reads
    special tokens anywhere.
    """
    return _SPECIAL.sub(lambda mark: f"{mark.group()} ", text_of(message))


def text_of(message: BaseMessage) -> str:
    """Return the text of a message; if it has parts, only the parts that are text, so never a model's reasoning."""
    content = message.content
    if isinstance(content, str):
        return content
    texts = [part if isinstance(part, str) else str(part.get("text") or "") for part in content if _is_text(part)]
    return "".join(texts)


def _is_text(part: str | Mapping[Any, Any]) -> bool:
    return isinstance(part, str) or part.get("type") == "text"


def _from_first_user(talk: list[BaseMessage]) -> list[BaseMessage]:
    first = next(place for place, m in enumerate(talk) if isinstance(m, HumanMessage))
    return talk[first:]


def _without_dangling_calls(messages: Iterable[BaseMessage]) -> list[BaseMessage]:
    """Keep a call only where all its results follow it at once, and a result only right behind its call."""
    kept: list[BaseMessage] = []
    everything = list(messages)
    for place, message in enumerate(everything):
        if isinstance(message, ToolMessage):
            continue
        results = _results(everything[place + 1 :])
        if isinstance(message, AIMessage) and message.tool_calls:
            wanted = [call["id"] for call in message.tool_calls]
            if wanted and sorted(map(str, wanted)) == sorted(r.tool_call_id for r in results):
                kept.append(_clean(message))
                kept += [ToolMessage(_result(r), tool_call_id=r.tool_call_id) for r in results]
                continue
        if plain_text_of(message).strip():
            kept.append(_plain(message))
    return kept


def _results(following: Sequence[BaseMessage]) -> list[ToolMessage]:
    results: list[ToolMessage] = []
    for message in following:
        if not isinstance(message, ToolMessage):
            break
        results.append(message)
    return results


def _result(message: ToolMessage) -> str:
    text = plain_text_of(message)
    return text if text.strip() else NO_RESULT


def _clean(message: AIMessage) -> AIMessage:
    return AIMessage(plain_text_of(message), tool_calls=message.tool_calls)


def _plain(message: BaseMessage) -> BaseMessage:
    return AIMessage(plain_text_of(message)) if isinstance(message, AIMessage) else HumanMessage(plain_text_of(message))


def _alternate_roles(messages: Iterable[BaseMessage], *, apart: bool) -> list[BaseMessage]:
    merged: list[BaseMessage] = []
    for message in messages:
        last = merged[-1] if merged else None
        if isinstance(message, HumanMessage) and isinstance(last, HumanMessage):
            merged[-1] = HumanMessage(f"{text_of(last)}\n\n{text_of(message)}")
        elif isinstance(message, AIMessage) and isinstance(last, AIMessage) and not apart:
            # `last` has no calls: behind one with calls stand their results.
            joined = "\n\n".join(text for text in (text_of(last), text_of(message)) if text)
            merged[-1] = AIMessage(joined, tool_calls=message.tool_calls)
        else:
            merged.append(message)
    return merged
