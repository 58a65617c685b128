"""OpenAI's chat completions as far as they are spoken here: what a request may ask for, and what is sent back.

Pure: nothing here runs a turn. Of a request only the user's own words are read; what it says that the assistant or the
system said is nobody's word.
"""

from __future__ import annotations

import json
import re
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
    """The assistant's own fields of a request; each may be left out.

    Attributes:
        thread_id: The conversation to go on with.
        turn_id: The message's own id: under one id a message is never run twice.
        settings: Run settings by name.
    """

    model_config = ConfigDict(extra="forbid")

    thread_id: str | None = None
    turn_id: str | None = None
    settings: Json = Field(default_factory=dict[str, Any])


class ChatMessage(BaseModel):
    """One message. The words of the user are read, those of all others are not."""

    model_config = ConfigDict(extra="ignore")

    role: Literal["user", "assistant", "system", "developer", "tool", "function"]
    content: str | list[Json] | None = None


class StreamOptions(BaseModel):
    """What a stream has beside the answer."""

    model_config = ConfigDict(extra="ignore")

    include_usage: bool | None = None


class ChatRequest(BaseModel):
    """A request for a chat completion. Parameters that are not listed are taken and change nothing.

    Attributes:
        model: The name of the profile that is served; `GET /v1/models` has it.
        messages: The last one is the question, and the user's.
        n: 1 only.
        tools, functions: None: the assistant calls no tools of its clients.
        response_format: Text only.
        modalities: Text only.
        logprobs: False only.
        metadata: May have `thread_id` and `turn_id`.
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
    response_format: Json | None = None
    modalities: list[str] | None = None
    logprobs: bool | None = None
    metadata: Json | None = None
    guardian: Told | None = None


class GuardianFields(Answer):
    """What is known of a turn beside its answer, which stands in the message: `GuardianFields` of it is its own field."""

    answer: str = Field(default="", exclude=True)


class ProgressFields(BaseModel):
    """One step of a turn while it runs; a role with the operator's view gets the event itself."""

    progress: UserProgress | TurnEvent


class Usage(BaseModel):
    """Tokens that the turn took of language models, all its calls together; 0 where no model was asked."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0


class AssistantMessage(BaseModel):
    """The verified answer, with its list of sources; or what the user is told in place of one."""

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
    """A chat completion of OpenAI's, and beside it what is known of the turn."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: Usage
    guardian: GuardianFields


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
    """What may be named as the model of a request: the profile that is served."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "guardian"


class Models(BaseModel):
    """The models that are served: one."""

    object: Literal["list"] = "list"
    data: list[Model]


def refuse_unserved(request: ChatRequest, model: str) -> None:
    """Refuse what would not be done; what would merely change nothing is taken.

    Raises:
        UnknownModel: Another model is named.
        InputError: More answers than one are asked for, tools, a format, sound, or logarithms of probabilities.
    """
    refuse_unserved_model(request.model, model)
    asked_format = (request.response_format or {}).get("type", "text")
    unserved = {
        "n": request.n not in (None, 1),
        "tools": bool(request.tools),
        "functions": bool(request.functions),
        "response_format": asked_format != "text",
        "modalities": bool(request.modalities) and request.modalities != ["text"],
        "logprobs": bool(request.logprobs),
    }
    if names := [name for name, refused in unserved.items() if refused]:
        raise InputError(
            f"This assistant does not serve: {', '.join(names)}.", "Leave it out: the answer is one, and text."
        )


def refuse_unserved_model(asked: str, model: str) -> None:
    """Refuse a model that is not the one that is served.

    Raises:
        UnknownModel: It is another.
    """
    if asked != model:
        raise UnknownModel(f"There is no model {asked[:80]!r} here.", f"This server has {model!r}.")


def users_words(request: ChatRequest) -> list[str]:
    """Return what the user said, in order, the question last.

    Raises:
        InputError: The last message is not the user's, or a message of theirs is not text.
    """
    if request.messages[-1].role != "user":
        raise InputError("The last message is not the user's.", "Send the question as the last message.")
    return [_text(message.content) for message in request.messages if message.role == "user"]


def _text(content: str | list[Json] | None) -> str:
    if not isinstance(content, list):
        return content or ""
    texts = [part.get("text") for part in content if part.get("type") == "text"]
    if len(texts) < len(content) or not all(isinstance(text, str) for text in texts):
        raise InputError("A message has parts that are not text.", "Send text alone: images and files are not read.")
    return "\n".join(map(str, texts))


def ids_in(request: ChatRequest) -> tuple[str, str]:
    """Return the ids of conversation and message that a request's fields name; empty strings where they name none."""
    metadata = request.metadata or {}
    thread, turn = (str(metadata.get(name) or "") for name in ("thread_id", "turn_id"))
    told = request.guardian or Told()
    return told.thread_id or thread, told.turn_id or turn


def usage_of(result: StructuredAgentResult) -> Usage:
    """Return the tokens of a turn."""
    tokens = result.diagnostics.tokens
    prompt, completion = tokens.get("prompt", 0), tokens.get("completion", 0)
    return Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=prompt + completion)


def finish_of(outcome: Outcome) -> Literal["stop", "content_filter"]:
    """Return how a turn ended in OpenAI's words."""
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


def completion_id(turn_id: str) -> str:
    """Return the id of a turn's completion."""
    return f"chatcmpl-{turn_id}"


def begin_stream(turn_id: str, *, model: str, created: int) -> ChatChunk:
    """Return the first chunk of every stream: who speaks."""
    choice = ChunkChoice(delta=Delta(role="assistant", content=""))
    return ChatChunk(id=completion_id(turn_id), created=created, model=model, choices=[choice])


def progress(first: ChatChunk, step: UserProgress | TurnEvent) -> ChatChunk:
    """Return a chunk that adds nothing to the message; `first` is the stream's first."""
    return first.model_copy(update={"choices": [ChunkChoice()], "guardian": ProgressFields(progress=step)})


def end_stream(first: ChatChunk, answer: Answer) -> Iterator[ChatChunk]:
    """Yield the chunks of a verified answer, and the one that ends it; `first` is the stream's first."""
    for piece in pieces(answer.answer):
        yield first.model_copy(update={"choices": [ChunkChoice(delta=Delta(content=piece))]})
    last = ChunkChoice(finish_reason=finish_of(answer.outcome))
    yield first.model_copy(update={"choices": [last], "guardian": GuardianFields(**dict(answer))})


def with_usage(first: ChatChunk, usage: Usage) -> ChatChunk:
    """Return the chunk that tells the tokens; `first` is the stream's first."""
    return first.model_copy(update={"choices": [], "usage": usage})


def pieces(text: str) -> list[str]:
    """Return a text in pieces that are the text again when joined; they end between words where they can."""
    return _PIECE.findall(text)


def wire(chunk: ChatChunk) -> str:
    """Return a chunk as JSON: of a delta only what it adds, `guardian` only where it says something."""
    sent = chunk.model_dump(mode="json", exclude={"choices", "guardian"})
    choices = [
        {**choice.model_dump(mode="json"), "delta": choice.delta.model_dump(mode="json", exclude_none=True)}
        for choice in chunk.choices
    ]
    extension = {} if chunk.guardian is None else {"guardian": chunk.guardian.model_dump(mode="json")}
    return json.dumps({**sent, "choices": choices, **extension}, ensure_ascii=False, separators=(",", ":"))
