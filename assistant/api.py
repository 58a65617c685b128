"""Asking from Python. All ways in run the same graph by the same turn runner."""

from __future__ import annotations

import asyncio
import heapq
import logging
import uuid
from collections.abc import Collection, Coroutine
from contextlib import nullcontext
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from assistant.deployment import Deployment, deployment, ensure_storage
from assistant.turns.events import OnEvent
from assistant.turns.progress import phrases
from assistant.wiring.documents import document_sources, knowledge_base
from assistant.wiring.turns import open_runner
from contracts.enums import Language, Source
from contracts.errors import GuardianError, InputError
from contracts.evidence import EvidenceItem
from contracts.ports import SearchRequest
from contracts.result import StructuredAgentResult
from guards.message_check import message_fault
from language.clean import clean

if TYPE_CHECKING:
    from adapters.index.queries import Knowledge

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
    """Run one turn and return everything that is known of it.

    Args:
        message: The user's words.
        thread: The conversation; a new one where it is left out. One that is new is not kept where the data folder cannot
            be written: the log says so, and the result names no conversation.
        turn_id: The message's own id: the same id gives the same result without running again.
        language: Of the answer; the message's own where it is left out.
        profile: Name or path; else GUARDIAN_PROFILE.
        include_per_query_trace: Whether the result carries what each query brought.
        settings: Further run settings (`contracts/context.py`) by name.
        on_event: Called as nodes begin and end, with what the runner reports (`assistant.turns.runner.TurnRunner`); `astream`
            yields typed events.

    Raises:
        InputError: The message or an id cannot be taken.
        NoIndex: Nothing has been indexed for this profile.
        GuardianError: Something else that a person can fix; it says how.
    """
    from assistant.turns.transcript import check_id

    if fault := message_fault(message):
        raise fault
    if thread is not None:
        check_id("conversation's", thread)
    deployed = deployment(profile)
    context = run_context(deployed, **with_language(settings, language))
    with ensure_storage(deployed) if thread is None else nullcontext(deployed) as stored:
        async with open_runner(stored) as runner:
            raw = await runner.run(
                uuid.uuid4().hex if thread is None else thread,
                clean(message),
                turn_id=turn_id,
                context=context,
                on_event=on_event,
            )
    result = StructuredAgentResult.model_validate(raw)
    if stored.conversations is not None:
        _LOG.warning(phrases(result.language)["nothing_kept"].format(folder=deployed.folder))
        result = result.model_copy(update={"thread_id": ""})
    return result if include_per_query_trace else result.model_copy(update={"per_query_results": []})


async def aask(message: str, **options: Any) -> str:
    """Run one turn and return what the user is to see; the options are those of `aask_structured`."""
    return (await aask_structured(message, **options)).answer_text


async def asearch(
    query: str, *, top_k: int = 10, language: Language | str | None = None, profile: str | None = None
) -> list[EvidenceItem]:
    """Return the passages of the knowledge base on a query, best first, documents and policies together.

    Raises:
        InputError: There is nothing to search for, or nothing wanted.
        NoIndex: Nothing has been indexed for this profile.
    """
    items, _ = await search_passages(query, top_k=top_k, language=language, profile=profile)
    return items


async def search_passages(
    query: str, *, top_k: int, language: Language | str | None = None, profile: str | None = None
) -> tuple[list[EvidenceItem], list[str]]:
    """Search as `asearch` does; return the passages and what did not work as configured, each as `part: why`."""
    deployed = deployment(profile)
    return await found_in(deployed, knowledge_base(deployed), query, top_k=top_k, language=language)


async def found_in(
    deployed: Deployment,
    base: Knowledge,
    query: str,
    *,
    top_k: int,
    language: Language | str | None = None,
    kinds: Collection[Source] = tuple(Source),
) -> tuple[list[EvidenceItem], list[str]]:
    """Search documents that are open, in the kinds of sources that are named; otherwise as `search_passages`."""
    if fault := message_fault(query):
        raise fault
    if not isinstance(top_k, int) or isinstance(top_k, bool) or top_k < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(f"{top_k!r} passages cannot be shown.", "Ask for at least one, as a whole number.")
    request = SearchRequest(query=clean(query), top_k=top_k, language=_language(language))
    sources = [source for kind, source in document_sources(deployed, base).items() if kind in kinds]
    replies = await asyncio.gather(*(source.search(request) for source in sources))
    # Each keeps its own order, which a ranker may have made; of the two that are next, the surer one comes first.
    merged = heapq.merge(*(reply.items for reply in replies), key=lambda item: -item.confidence)
    degraded = [line for reply in replies for line in reply.trace.degraded.splitlines()]
    return list(islice(merged, top_k)), list(dict.fromkeys(degraded))


def ask(message: str, **options: Any) -> str:
    """Run one turn and return what the user is to see; the options are those of `aask_structured`."""
    return _run(aask(message, **options))


def ask_structured(message: str, **options: Any) -> StructuredAgentResult:
    """Run one turn and return everything that is known of it; the options are those of `aask_structured`."""
    return _run(aask_structured(message, **options))


def search(query: str, **options: Any) -> list[EvidenceItem]:
    """Return the passages of the knowledge base on a query; the options are those of `asearch`."""
    return _run(asearch(query, **options))


def with_language(settings: dict[str, Any] | None, language: Language | str | None) -> dict[str, Any]:
    """Return run settings with the language that is named beside them.

    Raises:
        InputError: They name another one.
    """
    named = dict(settings or {})
    if language is None:
        return named
    if named.get("language") not in (None, language):
        raise InputError(
            f"Two languages are asked for: {language!r}, and {named['language']!r} among the settings.", "Name one."
        )
    return {**named, "language": language}


def _language(name: Language | str | None) -> Language | None:
    if not name:
        return None
    try:
        return Language(name)
    except ValueError:
        known = " or ".join(repr(str(one)) for one in Language)
        raise InputError(f"There is no language {name!r}.", f"Name {known}, or none.") from None


def run_context(deployed: Deployment, **values: Any) -> Any:
    """Build the settings of one run; `None` stands for the deployment's default.

    Raises:
        InputError: There is no such setting, or it cannot have that value.
    """
    from pydantic import ValidationError

    try:
        context = deployed.context_type.model_validate({k: v for k, v in values.items() if v is not None})
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:5])
        raise InputError(f"A run setting is wrong: {faults[:1000]}.", "`guardian show settings` lists them.") from error
    roles = deployed.profile.roles
    if context.role not in roles:
        raise InputError(
            f"The profile {deployed.profile.name!r} has no role {context.role!r}.", f"It has: {', '.join(roles)}."
        )
    return context


def without_loop() -> None:
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
        without_loop()
    except GuardianError:
        work.close()
        raise
    return asyncio.run(work)
