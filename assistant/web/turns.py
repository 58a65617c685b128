"""Turns over HTTP: responses during and after a turn, and the end of a turn whose client goes away."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from typing import Any, Final, TypeVar
from urllib.parse import quote, unquote

from fastapi import Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel
from starlette.types import Receive, Scope, Send

from assistant.caller import Caller
from assistant.caller_faults import for_caller, told_in
from assistant.keys import OPEN_SETTINGS
from assistant.service import Service
from assistant.turns.events import TurnEnded, TurnEvent
from assistant.turns.running_turn import RunningTurn
from assistant.turns.transcript import check_addressable, check_id
from assistant.turns.views import Answer, UserProgress, answer, user_event
from assistant.web.faults import FaultBody, Forbidden, fault_of, unforeseen_fault
from contracts.enums import Language
from contracts.errors import GuardianError, InputError
from contracts.profile import Profile
from contracts.result import StructuredAgentResult

_logger = logging.getLogger(__name__)
T = TypeVar("T")
Json = dict[str, Any]

PULSE_S: Final = 15.0
"""A stream that has nothing to tell sends a comment so often: what stands between would close it."""


class ClientGone(Exception):
    """The client closed its connection."""


class Started(BaseModel):
    """The first event of a stream: the ids of the turn."""

    thread_id: str
    turn_id: str


def ids_of(request: Request, thread: str, turn: str) -> tuple[str, str]:
    """Return the ids that a request names in its fields, or else in its headers, where they are percent-encoded.

    A message with a message id but no conversation gets a conversation named by that id, so that it does not run twice
    there either.

    Raises:
        InputError: An id is not valid.
    """
    thread = thread or unquote(request.headers.get("x-thread-id", ""))
    turn = turn or unquote(request.headers.get("x-turn-id", ""))
    if thread:
        check_id("conversation's", thread)
    if turn:
        check_id("message's", turn)
    check_addressable(thread, turn)
    return thread, turn


def thread_of_turn(turn_id: str) -> str:
    """Return the conversation of a message with a message id but no conversation."""
    return f"turn-{hashlib.sha256(turn_id.encode()).hexdigest()[:32]}"


def allowed_settings(settings: Json, profile: Profile, role: str) -> Json:
    """Return the run settings of a message, if its role may send them.

    Raises:
        InputError: The role is among them.
        Forbidden: A setting is reserved for operators.
    """
    if "role" in settings:
        raise InputError("The role is no setting of a message.", "It is that of the API key, or of the server.")
    if not profile.sees_all(role) and (names := sorted(settings.keys() - OPEN_SETTINGS)):
        raise Forbidden(
            f"The role {role!r} may not set {', '.join(map(repr, names))[:200]}.",
            f"It may set {' and '.join(sorted(OPEN_SETTINGS))}.",
        )
    return settings


def turn_headers(thread_id: str, turn_id: str) -> dict[str, str]:
    """Return the headers that name a turn; non-ASCII characters are percent-encoded, as UTF-8."""
    return {"X-Thread-Id": quote(thread_id, safe="/:@"), "X-Turn-Id": quote(turn_id, safe="/:@")}


def shown_event(event: TurnEvent, profile: Profile, role: str) -> UserProgress | TurnEvent | None:
    """Return the part of an event that a role may see, for all events but the last; `None` if nothing (DT-004)."""
    return event if profile.sees_all(role) else user_event(event)


def wants_events(request: Request) -> bool:
    """Whether a request's header asks for a stream of events."""
    return "text/event-stream" in request.headers.get("accept", "")


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """Wait for something as long as the client waits; if the client goes away, cancel it.

    Raises:
        ClientGone: The client closed its connection.
    """
    tasks = working, _ = asyncio.create_task(work), asyncio.create_task(_wait_for_disconnect(receive))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientGone
        return working.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for task in tasks:
            if not task.cancelled():
                task.exception()  # of what ended beside the other, nobody asks for it


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class EventStream(Response):
    """A response that sends a turn's events as they come; if the client goes away, the turn ends.

    Args:
        turn: The context manager that holds the turn; already entered, left when the response has ended.
        events: The events, each ready to be sent.
        headers: The response's headers.
    """

    media_type = "text/event-stream"

    def __init__(
        self, turn: AbstractAsyncContextManager[Any], events: AsyncGenerator[str], headers: Mapping[str, str]
    ) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers({**headers, "Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._turn = turn
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        del scope
        try:
            with suppress(ClientGone):
                await unless_gone(receive, self._stream(send))
        finally:
            await self._turn.__aexit__(None, None, None)

    async def _stream(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        pulse = asyncio.create_task(_pulse(send))
        try:
            async with aclosing(self._events) as events:
                async for event in events:
                    await send({"type": "http.response.body", "body": event.encode(), "more_body": True})
        finally:
            pulse.cancel()
        await send({"type": "http.response.body", "body": b""})


async def _pulse(send: Send) -> None:
    while True:
        await asyncio.sleep(PULSE_S)
        await send({"type": "http.response.body", "body": b": waiting\n\n", "more_body": True})


def event_text(name: str, data: BaseModel) -> str:
    """Return one event in wire format."""
    return f"event: {name}\ndata: {data.model_dump_json()}\n\n"


def data_text(text: str) -> str:
    """Return an event without a name in wire format."""
    return f"data: {text}\n\n"


async def events_of(live: RunningTurn, service: Service, caller: Caller, language: Language) -> AsyncGenerator[str]:
    """Yield a turn as events: `started`, any number of `progress`, then `answer` or `error`."""
    profile = service.deployed.profile
    yield event_text("started", Started(thread_id=live.thread, turn_id=live.turn_id))
    try:
        async with aclosing(live.follow()) as following:
            async for event in following:
                if isinstance(event, TurnEnded):
                    yield event_text("answer", answer(event.result, profile, caller.role))
                elif (shown := shown_event(event, profile, caller.role)) is not None:
                    yield event_text("progress", shown)
    except GuardianError as error:
        yield event_text("error", fault_of(for_caller(error, language))[1])
    except Exception:
        # The response has begun: nobody else can tell the client any more.
        _logger.exception("A turn ended in an error that nobody foresaw.")
        yield event_text("error", fault_of(unforeseen_fault())[1])


async def response_of(
    request: Request,
    turn: AbstractAsyncContextManager[RunningTurn],
    service: Service,
    caller: Caller,
    language: Language,
    *,
    streamed: bool,
) -> Response:
    """Return a turn's answer, or its events.

    Raises:
        GuardianError: There is no answer; the text is in the user's language if the error is about their request.
    """
    if streamed:
        with told_in(language):
            live = await turn.__aenter__()
        events = events_of(live, service, caller, language)
        return EventStream(turn, events, turn_headers(live.thread, live.turn_id))
    result = await result_of(request, turn, language)
    if result is None:
        return disconnected_response()
    return answer_response(answer(result, service.deployed.profile, caller.role))


async def result_of(
    request: Request, turn: AbstractAsyncContextManager[RunningTurn], language: Language
) -> StructuredAgentResult | None:
    """Wait for a turn's result; `None` if the client went away and the turn has stopped.

    Raises:
        GuardianError: There is no result; the text is in the user's language if the error is about their request.
    """
    try:
        with told_in(language):
            async with turn as live:
                return await unless_gone(request.receive, live.result())
    except ClientGone:
        return None


def disconnected_response() -> Response:
    """Return a response that nobody will read, with the status that servers log if the client closed the connection."""
    return Response(status_code=499)


def answer_response(told: Answer) -> JSONResponse:
    """Return a turn's answer as a response, with its ids in the headers."""
    return JSONResponse(json.loads(told.model_dump_json()), headers=turn_headers(told.thread_id, told.turn_id))


def faults(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the possible errors of a route, for its documentation."""
    said = {
        400: "The request, a message, an id or a setting cannot be taken.",
        401: "Keys are used, and the request has none that counts.",
        403: "The caller's role may not have this.",
        404: "The caller has none of that name or id.",
        409: "The conversation is at work on another message, or the turn was stopped.",
        429: "The caller asks too often, or the budget of the day is spent; `Retry-After` says when to ask again.",
        503: "The server is shutting down, or the documents or conversations cannot be used.",
    }
    listed = {status: {"model": FaultBody, "description": said[status]} for status in (*statuses, 401)}
    return {**listed, "default": {"model": FaultBody, "description": "Any other error; all have this shape."}}
