"""The supported part of OpenAI's chat completions: what a request may contain, and what is sent back.

The module is pure: nothing here runs a turn. It reads only the user's own messages of a request. Messages of the
assistant and the system in a request count as nobody's.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from assistant.turns.events import TurnEvent
from assistant.turns.views import Answer, UserProgress
from assistant.web.faults import UnknownModel
from contracts.enums import Outcome
from contracts.errors import InputError
from contracts.result import StructuredAgentResult

Json = dict[str, Any]
PIECE_CHARS: Final = 60
"""A streamed answer comes in pieces of about so many characters."""

_PIECE: Final = re.compile(rf".{{1,{PIECE_CHARS}}}(?:\s+|\Z)|.{{{PIECE_CHARS}}}", re.DOTALL)


class Told(BaseModel):
    """The assistant's own fields of a request; each is optional.

    Attributes:
        thread_id: The conversation to continue.
        turn_id: The message's own id; a message never runs twice under one id.
        settings: Run settings by name.
    """

    model_config = ConfigDict(extra="forbid")

    thread_id: str | None = None
    turn_id: str | None = None
    settings: Json = Field(default_factory=dict[str, Any])


class ChatMessage(BaseModel):
    """One message; only the user's messages are read."""

    model_config = ConfigDict(extra="ignore")

    role: Literal["user", "assistant", "system", "developer", "tool", "function"]
    content: str | list[Json] | None = None


class StreamOptions(BaseModel):
    """What a stream contains apart from the answer."""

    model_config = ConfigDict(extra="ignore")

    include_usage: bool | None = None


class ChatRequest(BaseModel):
    """A request for a chat completion; unlisted parameters are accepted and have no effect.

    Attributes:
        model: The name of the served profile, as `GET /v1/models` returns it.
        messages: The conversation; the last message is the question and must be the user's.
        n: Only 1.
        tools, functions: Ignored, because the assistant calls no tools of its clients.
        tool_choice, function_call: Must not demand a call: `auto`, `none` or left out.
        response_format: Only text.
        modalities: Only text.
        logprobs: Only false.
        metadata: May contain `thread_id` and `turn_id`.
        guardian: The assistant's own fields.
    """

    model_config = ConfigDict(extra="ignore")

    model: str
    messages: Annotated[list[ChatMessage], Field(min_length=1)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = None
    tools: list[Json] | None = None
    functions: list[Json] | None = None
    tool_choice: str | Json | None = None
    function_call: str | Json | None = None
    response_format: Json | None = None
    modalities: list[str] | None = None
    logprobs: bool | None = None
    metadata: Json | None = None
    guardian: Told | None = None


class GuardianFields(Answer):
    """The facts about a turn apart from its answer, which is in the message: the completion's own field `guardian`."""

    answer: str = Field(default="", exclude=True)


class ProgressFields(BaseModel):
    """One step of a turn while it runs; a role with the operator's view gets the event itself."""

    progress: UserProgress | TurnEvent


class Usage(BaseModel):
    """Tokens of all language model calls of the turn; 0 if no model was called."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0


class AssistantMessage(BaseModel):
    """The verified answer with its list of sources, or the text that the user gets instead."""

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


class Choice(BaseModel):
    """The one answer."""

    index: int = 0
    message: AssistantMessage
    finish_reason: Literal["stop", "content_filter"]
    logprobs: None = None


class ChatCompletion(BaseModel):
    """OpenAI's chat completion, with the facts about the turn; without them if no turn ran."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: Usage
    guardian: GuardianFields | None


class Delta(BaseModel):
    """What a piece of a stream adds to the message."""

    role: Literal["assistant"] | None = None
    content: str | None = None


class ChunkChoice(BaseModel):
    """A piece of the one answer."""

    index: int = 0
    delta: Delta = Delta()
    finish_reason: Literal["stop", "content_filter"] | None = None
    logprobs: None = None


class ChatChunk(BaseModel):
    """A piece of a streamed chat completion."""

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: list[ChunkChoice]
    usage: Usage | None = None
    guardian: GuardianFields | ProgressFields | None = None


class Model(BaseModel):
    """A model that a request may name: the served profile."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "guardian"


class Models(BaseModel):
    """The list of served models, which has one entry."""

    object: Literal["list"] = "list"
    data: list[Model]


def refuse_unserved(request: ChatRequest, model: str) -> None:
    """Refuse requests for features that are missing; accept parameters that only have no effect.

    Raises:
        UnknownModel: The request names another model.
        InputError: The request asks for several answers, a format, sound, or log probabilities, or demands a call of a
            tool.
    """
    refuse_unserved_model(request.model, model)
    asked_format = (request.response_format or {}).get("type", "text")
    unserved = {
        "n": request.n not in (None, 1),
        "response_format": asked_format != "text",
        "modalities": bool(request.modalities) and request.modalities != ["text"],
        "logprobs": bool(request.logprobs),
    }
    for name in ("tool_choice", "function_call"):
        if getattr(request, name) not in (None, "auto", "none"):
            raise InputError(
                f"This assistant calls no tools of its clients, and {name} demands a call.",
                f'Leave {name} out, or send "auto" or "none".',
            )
    if names := [name for name, refused in unserved.items() if refused]:
        raise InputError(
            f"This assistant does not serve: {', '.join(names)}.", "Leave it out: the answer is one, and text."
        )


def refuse_unserved_model(asked: str, model: str) -> None:
    """Refuse a model that is not served.

    Raises:
        UnknownModel: The model is not the served one.
    """
    if asked != model:
        raise UnknownModel(f"There is no model {asked[:80]!r} here.", f"This server has {model!r}.")


def users_words(request: ChatRequest) -> list[str]:
    """Return the user's messages, in order, the question last.

    Raises:
        InputError: The last message is not the user's, or a message of theirs is not text.
    """
    if request.messages[-1].role != "user":
        raise InputError("The last message is not the user's.", "Send the question as the last message.")
    return [_text(message.content) for message in request.messages if message.role == "user"]


def instructions_of(request: ChatRequest) -> str:
    """Return the first message if it is the system's text; it instructs nobody here, and only tells what sent it."""
    first = request.messages[0]
    return first.content if first.role == "system" and isinstance(first.content, str) else ""


def _text(content: str | list[Json] | None) -> str:
    if not isinstance(content, list):
        return content or ""
    texts = [part.get("text") for part in content if part.get("type") == "text"]
    if len(texts) < len(content) or not all(isinstance(text, str) for text in texts):
        raise InputError("A message has parts that are not text.", "Send text alone: images and files are not read.")
    return "\n".join(map(str, texts))


def ids_in(request: ChatRequest) -> tuple[str, str]:
    """Return the conversation's and the message's id from a request's fields; empty strings if the fields name none."""
    metadata = request.metadata or {}
    thread, turn = (str(metadata.get(name) or "") for name in ("thread_id", "turn_id"))
    told = request.guardian or Told()
    return told.thread_id or thread, told.turn_id or turn


def usage_of(result: StructuredAgentResult) -> Usage:
    """Return the token counts of a turn."""
    tokens = result.diagnostics.tokens
    prompt, completion = tokens.get("prompt", 0), tokens.get("completion", 0)
    return Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=prompt + completion)


def finish_of(outcome: Outcome) -> Literal["stop", "content_filter"]:
    """Return OpenAI's finish reason for a turn's end."""
    return "content_filter" if outcome is Outcome.REFUSED else "stop"


def completion(answer: Answer, usage: Usage, *, model: str, created: int) -> ChatCompletion:
    """Return a turn as a chat completion."""
    message = AssistantMessage(content=answer.answer)
    return ChatCompletion(
        id=completion_id(answer.turn_id),
        created=created,
        model=model,
        choices=[Choice(message=message, finish_reason=finish_of(answer.outcome))],
        usage=usage,
        guardian=GuardianFields(**dict(answer)),
    )


def background_completion(text: str, *, model: str, created: int) -> ChatCompletion:
    """Return the answer to a background prompt, without a turn, as a chat completion."""
    choice = Choice(message=AssistantMessage(content=text), finish_reason="stop")
    identity = completion_id(f"background-{secrets.token_hex(8)}")
    return ChatCompletion(id=identity, created=created, model=model, choices=[choice], usage=Usage(), guardian=None)


def background_chunks(done: ChatCompletion) -> Iterator[ChatChunk]:
    """Yield the answer to a background prompt as the chunks of a stream."""
    (choice,) = done.choices
    first = ChatChunk(id=done.id, created=done.created, model=done.model, choices=[])
    yield first.model_copy(update={"choices": [ChunkChoice(delta=Delta(role="assistant", content=""))]})
    yield first.model_copy(update={"choices": [ChunkChoice(delta=Delta(content=choice.message.content))]})
    yield first.model_copy(update={"choices": [ChunkChoice(finish_reason="stop")]})


def completion_id(turn_id: str) -> str:
    """Return the id of a turn's completion."""
    return f"chatcmpl-{turn_id}"


def begin_stream(turn_id: str, *, model: str, created: int) -> ChatChunk:
    """Return the first chunk of every stream, which names the speaker's role."""
    choice = ChunkChoice(delta=Delta(role="assistant", content=""))
    return ChatChunk(id=completion_id(turn_id), created=created, model=model, choices=[choice])


def progress(first: ChatChunk, step: UserProgress | TurnEvent) -> ChatChunk:
    """Return a chunk that adds nothing to the message; `first` is the stream's first chunk."""
    return first.model_copy(update={"choices": [ChunkChoice()], "guardian": ProgressFields(progress=step)})


def end_stream(first: ChatChunk, answer: Answer) -> Iterator[ChatChunk]:
    """Yield the chunks of a verified answer and the final chunk; `first` is the stream's first chunk."""
    for piece in pieces(answer.answer):
        yield first.model_copy(update={"choices": [ChunkChoice(delta=Delta(content=piece))]})
    last = ChunkChoice(finish_reason=finish_of(answer.outcome))
    yield first.model_copy(update={"choices": [last], "guardian": GuardianFields(**dict(answer))})


def with_usage(first: ChatChunk, usage: Usage) -> ChatChunk:
    """Return the chunk with the token counts; `first` is the stream's first chunk."""
    return first.model_copy(update={"choices": [], "usage": usage})


def pieces(text: str) -> list[str]:
    """Return a text in pieces that give the text again when joined; they end between words if possible."""
    return _PIECE.findall(text)


def wire(chunk: ChatChunk) -> str:
    """Return a chunk as JSON: only what a delta adds, and `guardian` only if it is not empty."""
    sent = chunk.model_dump(mode="json", exclude={"choices", "guardian"})
    choices = [
        {**choice.model_dump(mode="json"), "delta": choice.delta.model_dump(mode="json", exclude_none=True)}
        for choice in chunk.choices
    ]
    extension = {} if chunk.guardian is None else {"guardian": chunk.guardian.model_dump(mode="json")}
    return json.dumps({**sent, "choices": choices, **extension}, ensure_ascii=False, separators=(",", ":"))
