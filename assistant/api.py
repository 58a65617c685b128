"""Ask from Python, one question at a time: each function opens the deployment, runs one turn and closes the deployment.

For many questions, keep a deployment open with `assistant.client.open_assistant`. Each function has an async twin.

    from assistant import ask, search, stream

    print(ask("How do I add my own documents?"))
    for passage in search("moderation modes", top_k=3):
        print(passage.title, passage.confidence)
    for event in stream("What is a profile?"):
        print(event.kind)
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine, Generator
from contextlib import aclosing, closing, nullcontext
from typing import Any, TypeVar

from assistant.client import Assistant, build_question, open_assistant
from assistant.deployment import deployment, ensure_storage
from assistant.document_search import search_documents
from assistant.service import check_question, open_service
from assistant.turns.events import OnEvent, TurnEvent
from assistant.turns.progress import phrases
from assistant.wiring.documents import knowledge_base
from contracts.enums import Language
from contracts.errors import GuardianError
from contracts.evidence import EvidenceItem
from contracts.result import StructuredAgentResult

_LOG = logging.getLogger(__name__)

T = TypeVar("T")


async def aask_structured(
    message: str,
    *,
    thread: str | None = None,
    turn_id: str | None = None,
    language: Language | str | None = None,
    profile: str | None = None,
    include_per_query_trace: bool = True,
    settings: dict[str, Any] | None = None,
    on_event: OnEvent | None = None,
) -> StructuredAgentResult:
    """Run one turn and return all that is known about it.

        result = await aask_structured("What is a profile?", thread="support-17", settings={"max_retry": 0})
        print(result.outcome, result.answer_text)

    Args:
        message: The user's words.
        thread: The conversation; by default a new one. If the data folder is not writable, a new conversation is not
            kept: the log says so, and the result names no conversation.
        turn_id: The message's own id. The same id returns the same result without a second run.
        language: The language of the answer; by default that of the message.
        profile: Name or path; by default GUARDIAN_PROFILE.
        include_per_query_trace: Whether the result holds what each query found.
        settings: Further run settings (`contracts/context.py`) by name.
        on_event: Called with each event of the turn (`assistant.turns.events`).

    Raises:
        InputError: The message, an id or a setting is not valid.
        NoIndex: This profile has no index.
        GuardianError: Another problem that a person can fix; the error says how.
    """
    asked = build_question(message, thread=thread, turn_id=turn_id, language=language, settings=settings)
    deployed = deployment(profile)
    # Before anything is opened: what cannot be asked at all is told at once, also without an index.
    check_question(deployed, *asked)
    with ensure_storage(deployed) if thread is None else nullcontext(deployed) as stored:
        async with open_service(stored) as service:
            result = await Assistant(service).ask_structured(
                message,
                thread=thread,
                turn_id=turn_id,
                language=language,
                settings=settings,
                include_per_query_trace=include_per_query_trace,
                on_event=on_event,
            )
    if stored.conversations is None:
        return result
    _LOG.warning(phrases(result.language)["nothing_kept"].format(folder=deployed.folder))
    return result.model_copy(update={"thread_id": ""})


async def aask(message: str, **options: Any) -> str:
    """Run one turn and return the text for the user; the options are those of `aask_structured`."""
    return (await aask_structured(message, **options)).answer_text


async def asearch(
    query: str, *, top_k: int = 10, language: Language | str | None = None, profile: str | None = None
) -> list[EvidenceItem]:
    """Return the passages of documents and policies that match a query, best first.

    Args:
        query: The words to search for.
        top_k: The most passages to return, at least 1.
        language: Prefer documents in this language.
        profile: Name or path; by default GUARDIAN_PROFILE.

    Raises:
        InputError: The query is empty or `top_k` is below 1.
        NoIndex: This profile has no index.
    """
    deployed = deployment(profile)
    with closing(knowledge_base(deployed)) as knowledge:
        found, _ = await search_documents(deployed, knowledge, query, top_k=top_k, language=language)
    return found


def ask(message: str, **options: Any) -> str:
    """Run one turn and return the text for the user; the options are those of `aask_structured`."""
    return _run(aask(message, **options))


def ask_structured(message: str, **options: Any) -> StructuredAgentResult:
    """Run one turn and return all that is known about it; the options are those of `aask_structured`."""
    return _run(aask_structured(message, **options))


def search(query: str, **options: Any) -> list[EvidenceItem]:
    """Return the passages that match a query; the options are those of `asearch`."""
    return _run(asearch(query, **options))


async def astream(message: str, *, profile: str | None = None, **options: Any) -> AsyncGenerator[TurnEvent]:
    """Run one turn and yield its events, `TurnEnded` with the result last; the options are those of `aask_structured`.

        async for event in astream("What is a profile?"):
            print(event.kind)

    If you close the generator before its end, the turn is cancelled and stays half-finished.

    Raises:
        InputError: The message, an id or a setting is not valid.
        NoIndex: This profile has no index.
        GuardianError: Another problem that a person can fix; the error says how.
    """
    events: asyncio.Queue[TurnEvent | None] = asyncio.Queue()

    async def work() -> None:
        try:
            async with (
                open_assistant(profile) as assistant,
                aclosing(assistant.stream(message, **options)) as followed,
            ):
                async for event in followed:
                    events.put_nowait(event)
        finally:
            events.put_nowait(None)

    # One task opens and closes everything, whichever task closes this generator, and however late.
    task = asyncio.create_task(work())
    try:
        while (event := await events.get()) is not None:
            yield event
        await task
    finally:
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # told above, or of no interest any more


def stream(message: str, **options: Any) -> Generator[TurnEvent]:
    """Run one turn and yield its events, as `astream` does, for callers without an event loop.

    The turn runs only while the caller waits for the next event.
    """
    _refuse_loop()
    return _step_through(astream(message, **options))


def _step_through(events: AsyncGenerator[TurnEvent]) -> Generator[TurnEvent]:
    async def step() -> TurnEvent | None:
        return await anext(events, None)

    with asyncio.Runner() as runner:
        try:
            while (event := runner.run(step())) is not None:
                yield event
        finally:
            runner.run(_close_events(events))


async def _close_events(events: AsyncGenerator[TurnEvent]) -> None:
    await events.aclose()


def _refuse_loop() -> None:
    """Refuse to block a running event loop.

    Raises:
        GuardianError: There is one.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise GuardianError(
        "This was called inside a running event loop.",
        "Await its async twin: aask, aask_structured, asearch; or loop over astream with `async for`.",
    )


def _run(work: Coroutine[Any, Any, T]) -> T:
    try:
        _refuse_loop()
    except GuardianError:
        work.close()
        raise
    return asyncio.run(work)
