"""Questions over HTTP: by OpenAI's protocol, for any chat client, and by a plain protocol with the whole result."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from assistant.caller import Caller
from assistant.caller_faults import for_caller, told_in
from assistant.service import Question, Service
from assistant.turns.events import TurnEnded
from assistant.turns.running_turn import RunningTurn
from assistant.turns.views import Answer, answer
from assistant.web import openai_protocol as openai
from assistant.web.background_prompts import answer_background_prompt, recognise_background_prompt
from assistant.web.callers import Asker, Served
from assistant.web.faults import fault_of, unforeseen_fault
from assistant.web.limits import UNLIMITED, Allowance
from assistant.web.turns import (
    EventStream,
    allowed_settings,
    data_text,
    disconnected_response,
    faults,
    ids_of,
    response_of,
    result_of,
    shown_event,
    thread_of_turn,
    turn_headers,
    wants_events,
)
from contracts.enums import Language
from contracts.errors import GuardianError
from guards.message_check import message_fault, message_language

router: Final = APIRouter()
_logger = logging.getLogger(__name__)
_EVENTS: Final[dict[str, Any]] = {"text/event-stream": {"schema": {"type": "string"}}}


class AskRequest(BaseModel):
    """One question.

    Attributes:
        question: The user's words.
        thread_id: The conversation to continue; leave it out for a new one.
        turn_id: The message's own id; a message never runs twice under one id.
        settings: Run settings by name; roles without the operator's view may send `language` and `version`.
        stream: Whether to send events while the turn runs, as for `Accept: text/event-stream`.
    """

    model_config = ConfigDict(extra="forbid")

    question: str
    thread_id: str | None = None
    turn_id: str | None = None
    settings: Annotated[dict[str, Any], Field(default_factory=dict[str, Any])]
    stream: bool = False


@router.post(
    "/v1/ask",
    tags=["asking"],
    summary="Ask, and get the structured result",
    response_model=Answer,
    responses={200: {"content": _EVENTS}, **faults(400, 403, 409, 429, 503)},
)
async def ask(request: Request, body: AskRequest, caller: Asker, service: Served) -> Response:
    """Run one turn and return its answer with sources, intent, outcome and verdict.

    With `stream` or `Accept: text/event-stream`, the response is events: `started` with the ids, any number of
    `progress`, then `answer` or `error`. No event before `answer` contains a word of it. If the client goes away, its
    turn stops, stays half-finished and can be resumed. Roles with the operator's view get the typed events as progress,
    and the whole result in the answer.
    """
    profile = service.deployed.profile
    language = message_language(body.question, profile)
    thread, turn_id = ids_of(request, body.thread_id or "", body.turn_id or "")
    if turn_id and not thread:
        thread = thread_of_turn(turn_id)
    settings = allowed_settings(body.settings, profile, caller.role)
    question = Question(body.question, thread, turn_id, settings)
    with told_in(language):
        await service.admit(caller, question)  # a stream that has begun has no status any more
    turn = service.asking(caller, question)
    streamed = body.stream or wants_events(request)
    return await response_of(request, turn, service, caller, language, streamed=streamed)


@router.post(
    "/v1/chat/completions",
    tags=["OpenAI's protocol"],
    summary="Ask by OpenAI's protocol",
    response_model=openai.ChatCompletion,
    responses={200: {"content": _EVENTS}, **faults(400, 403, 404, 409, 429, 503)},
)
async def chat_completions(request: Request, body: openai.ChatRequest, caller: Asker, service: Served) -> Response:
    """Answer the last message, which must be the user's; `model` is the profile's name.

    The server ignores messages of the assistant and the system, because it keeps each conversation itself.
    `X-Thread-Id`, `guardian.thread_id` or `metadata.thread_id` names the conversation. Without these, the server
    continues the conversation that the caller began here without an id and with the same earlier user messages. If
    there is none, it begins a new one. The response has the ids in `X-Thread-Id`, `X-Turn-Id` and `guardian`, with
    sources, outcome and verdict. Sampling parameters and `tools` have no effect; a `tool_choice` that demands a call, `n`
    over 1, formats, images and sound are refused. Prompts that Open WebUI and LibreChat send by themselves, for a title,
    tags or search queries, get minimal answers without a turn.
    """
    profile = service.deployed.profile
    openai.refuse_unserved(body, profile.name)
    said = openai.users_words(body)
    if kind := recognise_background_prompt(said[-1], openai.instructions_of(body)):
        return _background_response(body, answer_background_prompt(kind, said[-1]), profile.name)
    # Only now: what the client asks by itself is nobody's message, and no limit is on it.
    allowance: Allowance = getattr(request.state, "allowance", UNLIMITED)
    await allowance.take()
    language = message_language(said[-1], profile)
    settings = allowed_settings((body.guardian or openai.Told()).settings, profile, caller.role)
    with told_in(language):
        thread, turn_id = await _place_message(request, body, said, caller, service)
        question = Question(said[-1], thread, turn_id, settings)
        await service.admit(caller, question)
    turn = service.asking(caller, question)
    created = int(time.time())
    if body.stream:
        with told_in(language):
            live = await turn.__aenter__()
        usage = bool(body.stream_options and body.stream_options.include_usage)
        chunks = _chunks(live, service, caller, language, created=created, usage=usage)
        return EventStream(turn, chunks, turn_headers(live.thread, live.turn_id))
    result = await result_of(request, turn, language)
    if result is None:
        return disconnected_response()
    told = answer(result, profile, caller.role)
    done = openai.completion(told, openai.usage_of(result), model=profile.name, created=created)
    return JSONResponse(json.loads(done.model_dump_json()), headers=turn_headers(told.thread_id, told.turn_id))


def _background_response(body: openai.ChatRequest, text: str, model: str) -> Response:
    done = openai.background_completion(text, model=model, created=int(time.time()))
    if not body.stream:
        return JSONResponse(json.loads(done.model_dump_json(exclude={"guardian"})))
    lines = [data_text(openai.wire(chunk)) for chunk in openai.background_chunks(done)]
    return Response("".join([*lines, data_text("[DONE]")]), media_type="text/event-stream")


async def _place_message(
    request: Request, body: openai.ChatRequest, said: list[str], caller: Caller, service: Service
) -> tuple[str, str]:
    """Return the ids of conversation and message: those that are named, else those of what the user has said."""
    thread, turn_id = ids_of(request, *openai.ids_in(body))
    if thread:
        return thread, turn_id
    # What was refused as a message is in no conversation of ours, but in the client's.
    earlier = [text for text in said[:-1] if not message_fault(text)]
    begun = thread_of_turn(turn_id) if turn_id else ""
    thread, stable = await service.place(caller, [*earlier, said[-1]], begun=begun)
    return thread, turn_id or stable


async def _chunks(
    live: RunningTurn, service: Service, caller: Caller, language: Language, *, created: int, usage: bool
) -> AsyncGenerator[str]:
    profile = service.deployed.profile
    first = openai.begin_stream(live.turn_id, model=profile.name, created=created)
    yield data_text(openai.wire(first))
    try:
        async with aclosing(live.follow()) as following:
            async for event in following:
                if isinstance(event, TurnEnded):
                    for chunk in openai.end_stream(first, answer(event.result, profile, caller.role)):
                        yield data_text(openai.wire(chunk))
                    if usage:
                        yield data_text(openai.wire(openai.with_usage(first, openai.usage_of(event.result))))
                elif (shown := shown_event(event, profile, caller.role)) is not None:
                    yield data_text(openai.wire(openai.progress(first, shown)))
    except GuardianError as error:
        yield data_text(fault_of(for_caller(error, language))[1].model_dump_json())
    except Exception:
        # The response has begun: nobody else can tell the client any more.
        _logger.exception("A turn ended in an error that nobody foresaw.")
        yield data_text(fault_of(unforeseen_fault())[1].model_dump_json())
    yield data_text("[DONE]")


@router.get(
    "/v1/models",
    tags=["OpenAI's protocol"],
    summary="List the models",
    response_model=openai.Models,
    responses=faults(),
)
async def models(caller: Asker, service: Served) -> openai.Models:
    """Return the one served model: the profile."""
    del caller
    return openai.Models(data=[openai.Model(id=service.deployed.profile.name)])


@router.get(
    "/v1/models/{model}",
    tags=["OpenAI's protocol"],
    summary="Look up one model",
    response_model=openai.Model,
    responses=faults(404),
)
async def one_model(model: str, caller: Asker, service: Served) -> openai.Model:
    """Return the served model, if it has this name."""
    del caller
    openai.refuse_unserved_model(model, service.deployed.profile.name)
    return openai.Model(id=model)
