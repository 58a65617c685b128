"""Conversations and search over HTTP: callers read, continue and rate their own conversations."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from assistant.caller import Caller
from assistant.caller_faults import for_caller, told_in
from assistant.service import Service
from assistant.turns.feedback import Feedback
from assistant.turns.running_turn import RunningTurn
from assistant.turns.transcript import Turn, busy
from assistant.turns.views import Answer, answer
from assistant.web.callers import Asker, Served
from assistant.web.paths import wrong_method
from assistant.web.turns import (
    answer_response,
    event_text,
    faults,
    response_of,
    turn_headers,
    wants_events,
)
from contracts.enums import Language, Source
from contracts.errors import ThreadBusy, UnknownThread
from contracts.evidence import EvidenceItem
from contracts.profile import Profile
from contracts.result import StructuredAgentResult
from guards.message_check import message_language
from rendering.answers import answer_sources

router: Final = APIRouter()
_EVENTS: Final[dict[str, Any]] = {"text/event-stream": {"schema": {"type": "string"}}}


_ACTIONS: Final = {r".+/(?:resume|stop)": "POST", r".+/turns/.+/feedback": "PUT"}
"""What may stand behind an id in a path, and with which method."""


class ThreadLine(BaseModel):
    """One conversation in a list; `unfinished` if its last turn runs or was left half-finished."""

    thread_id: str
    turns: int
    started_at: str
    last_at: str
    first_question: str
    unfinished: bool


class ThreadList(BaseModel):
    """A page of the caller's conversations, the most recently used first; `total` counts all of them."""

    threads: list[ThreadLine]
    total: int


class TurnEntry(BaseModel):
    """One turn of a conversation: the question, the answer if there is one, and the user's feedback."""

    turn_id: str
    number: int
    status: Literal["running", "done"]
    question: str
    started_at: str
    finished_at: str | None
    answer: Answer | None
    feedback: Feedback | None


class Thread(BaseModel):
    """A conversation with its turns in order."""

    thread_id: str
    turns: list[TurnEntry]


class Stopped(BaseModel):
    """Whether there was a turn to stop."""

    stopped: bool


class Found(BaseModel):
    """One passage of a search; `confidence`, 0 to 1, says that it is on topic, not that it is right."""

    ref: str
    source: Source
    title: str
    url: str
    heading: str
    snippet: str
    confidence: float
    language: str
    version: str


class SearchResult(BaseModel):
    """The passages that match a query, best first."""

    items: list[Found]
    degraded: Annotated[list[str], Field(description="What did not work as configured; for operators alone.")]


@router.get(
    "/v1/threads",
    tags=["conversations"],
    summary="List the caller's conversations",
    response_model=ThreadList,
    responses=faults(400),
)
async def threads(
    caller: Asker,
    service: Served,
    limit: Annotated[int, Query(ge=1, le=200, description="At most so many.")] = 50,
    offset: Annotated[int, Query(ge=0, description="So many are left out first.")] = 0,
) -> ThreadList:
    """Return the caller's own conversations, the most recently used first."""
    own = await service.threads(caller)
    lines = [
        ThreadLine(
            thread_id=summary.thread_id,
            turns=summary.turns,
            started_at=summary.started_at,
            last_at=summary.last_at,
            first_question=summary.first_question,
            unfinished=summary.unfinished,
        )
        for summary in own[offset : offset + limit]
    ]
    return ThreadList(threads=lines, total=len(own))


# An id may have a slash in it. The routes with more behind it come first, or that would be taken for a part of the id.


@router.post(
    "/v1/threads/{thread_id:path}/resume",
    tags=["conversations"],
    summary="Finish a half-finished turn",
    response_model=Answer,
    responses={200: {"content": _EVENTS}, **faults(404, 409, 503)},
)
async def resume(request: Request, thread_id: str, caller: Asker, service: Served) -> Response:
    """Finish the conversation's half-finished turn and return its answer; without one, return the last turn's answer.

    If the turn runs in this server, the request joins it. With `Accept: text/event-stream`, the response is the events
    of `POST /v1/ask`. A turn that this request resumed stops again if the client goes away.
    """
    turns = await service.turns(caller, thread_id)
    profile = service.deployed.profile
    language = message_language(turns[-1].question, profile)
    streamed = wants_events(request)
    held = AsyncExitStack()
    with told_in(language):
        live = await held.enter_async_context(service.resuming(caller, thread_id))
    if live is not None:
        return await response_of(request, _hand_over(held, live), service, caller, language, streamed=streamed)
    await held.aclose()
    told = _answer((await service.turns(caller, thread_id))[-1], profile, caller.role)
    if told is None:
        raise for_caller(busy(thread_id), language)
    if not streamed:
        return answer_response(told)
    headers = turn_headers(told.thread_id, told.turn_id)
    return Response(event_text("answer", told), media_type="text/event-stream", headers=headers)


@asynccontextmanager
async def _hand_over(held: AsyncExitStack, live: RunningTurn) -> AsyncGenerator[RunningTurn]:
    async with held:
        yield live


@router.post(
    "/v1/threads/{thread_id:path}/stop",
    tags=["conversations"],
    summary="Stop a turn for good",
    response_model=Stopped,
    responses=faults(404, 409),
)
async def stop(thread_id: str, caller: Asker, service: Served) -> Stopped:
    """Stop the conversation's running or half-finished turn; its question stays on record as stopped.

    Messages that wait behind it stop, too.
    """
    if service.live(caller, thread_id) is None:
        await service.turns(caller, thread_id)  # whether there is such a conversation
    with _by_its_name(thread_id):
        return Stopped(stopped=await service.stop(caller, thread_id))


@router.put(
    "/v1/threads/{thread_id:path}/turns/{turn_id:path}/feedback",
    tags=["conversations"],
    summary="Say whether an answer was of use",
    response_model=Feedback,
    responses=faults(400, 404),
)
async def rate(thread_id: str, turn_id: str, feedback: Feedback, caller: Asker, service: Served) -> Feedback:
    """Store a rating and a comment on a turn, which replace earlier ones; they are deleted with the conversation."""
    return await service.rate(caller, thread_id, turn_id, feedback)


@router.get(
    "/v1/threads/{thread_id:path}",
    tags=["conversations"],
    summary="Read a conversation",
    response_model=Thread,
    responses=faults(404),
)
async def thread(thread_id: str, caller: Asker, service: Served) -> Thread:
    """Return the turns of one of the caller's conversations, in order, with their feedback."""
    turns = await _turns_at(thread_id, caller, service)
    said = await service.feedback(caller, thread_id)
    profile = service.deployed.profile
    entries = [_entry(turn, profile, caller.role, said.get(turn.turn_id)) for turn in turns]
    return Thread(thread_id=thread_id, turns=entries)


@router.delete(
    "/v1/threads/{thread_id:path}",
    tags=["conversations"],
    summary="Delete a conversation",
    status_code=204,
    responses=faults(404, 409),
)
async def delete(thread_id: str, caller: Asker, service: Served) -> None:
    """Delete one of the caller's conversations with all its data, unless one of its turns runs."""
    await _turns_at(thread_id, caller, service)  # whether there is such a conversation
    with _by_its_name(thread_id):
        await service.delete(caller, thread_id)


@router.get(
    "/v1/search",
    tags=["search"],
    summary="Search the documents",
    response_model=SearchResult,
    responses=faults(400, 503),
)
async def search(
    caller: Asker,
    service: Served,
    q: Annotated[str, Query(description="What to search for.")],
    top_k: Annotated[int, Query(ge=1, le=50, description="At most so many passages.")] = 10,
    language: Annotated[Language | None, Query(description="Prefer documents in this language.")] = None,
) -> SearchResult:
    """Return the passages that match a query, best first, from the documents that the caller's role may read.

    Content that no answer may show (secrets, personal data) is masked, as in the evidence of a turn.
    """
    profile = service.deployed.profile
    with told_in(message_language(q, profile)):
        items, degraded = await service.search(caller, q, top_k=top_k, language=language)
    found = [_describe_passage(item, profile) for item in items]
    return SearchResult(items=found, degraded=degraded if profile.sees_all(caller.role) else [])


async def _turns_at(thread_id: str, caller: Caller, service: Service) -> list[Turn]:
    """Return the turns of a conversation, whose id may end as the path of something else that is done with one.

    Raises:
        UnknownThread: There is none.
        HTTPException: Nor can there be, as the path is that of another method.
    """
    try:
        return await service.turns(caller, thread_id)
    except UnknownThread:
        for ending, method in _ACTIONS.items():
            if re.fullmatch(ending, thread_id):
                raise wrong_method(method) from None
        raise


@contextmanager
def _by_its_name(thread_id: str) -> Generator[None]:
    """Call a conversation that is busy what its owner calls it."""
    try:
        yield
    except ThreadBusy as error:
        raise busy(thread_id) from error


def _entry(turn: Turn, profile: Profile, role: str, said: Feedback | None) -> TurnEntry:
    return TurnEntry(
        turn_id=turn.turn_id,
        number=turn.number,
        status=turn.status,
        question=turn.question,
        started_at=turn.started_at,
        finished_at=turn.finished_at,
        answer=_answer(turn, profile, role),
        feedback=said,
    )


def _answer(turn: Turn, profile: Profile, role: str) -> Answer | None:
    if turn.result is None:
        return None
    return answer(StructuredAgentResult.model_validate(turn.result), profile, role)


def _describe_passage(item: EvidenceItem, profile: Profile) -> Found:
    # An address is shown by the rule for those of an answer's sources.
    [source] = answer_sources("[1]", [item], profile.allowed_link_domains)
    return Found(
        ref=item.ref,
        source=item.source,
        title=item.title,
        url=str(source["url"]),
        heading=item.heading,
        snippet=item.snippet,
        confidence=item.confidence,
        language=item.language or "",
        version=item.version,
    )
