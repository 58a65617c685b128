"""Searches as retriever runs of a trace: LangSmith shows each query under `retrieve`, with the passages that it found."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, cast

from langgraph.config import get_config

from contracts.enums import Source
from contracts.evidence import EvidenceItem
from contracts.ports import EvidenceSource, SearchReply, SearchRequest
from contracts.profile import Profile
from guards.policy_check import mask
from guards.redaction import redact

if TYPE_CHECKING:
    from langchain_core.callbacks import AsyncCallbackManager
    from langchain_core.callbacks.manager import AsyncCallbackManagerForRetrieverRun

_TRACER: Final = "langchain_core.tracers.langchain"
"""The module of the tracer: LangGraph imports it, and a process without it traces nothing."""
_NOBODY: Final = ""
"""A role that no profile spares: a trace may be read by more people than the user's answer."""


def trace_searches(sources: Mapping[Source, EvidenceSource], profile: Profile) -> dict[Source, EvidenceSource]:
    """Return sources whose searches are runs of a trace, if the turn is traced."""
    return {kind: _TracedSource(source, profile) for kind, source in sources.items()}


class _TracedSource:
    """A source whose searches are retriever runs. Only tracers are told: events of a stream would show what was found."""

    def __init__(self, source: EvidenceSource, profile: Profile) -> None:
        self._source = source
        self._profile = profile

    @property
    def kind(self) -> Source:
        """The kind of source this is."""
        return self._source.kind

    async def search(self, request: SearchRequest) -> SearchReply:
        """Search, and tell the tracers of it; a tracer that fails changes no search.

        Raises:
            SourceUnavailable: The source did not answer.
        """
        run = await _begin(str(self.kind), mask(request.query, self._profile, _NOBODY)[0])
        if run is None:
            return await self._source.search(request)
        try:
            reply = await self._source.search(request)
        except BaseException as error:
            with suppress(Exception):
                await run.on_retriever_error(error)
            raise
        with suppress(Exception):
            items = redact(reply.items, self._profile, _NOBODY)
            await run.on_retriever_end([_as_document(item) for item in items])
        return reply


async def _begin(kind: str, query: str) -> AsyncCallbackManagerForRetrieverRun | None:
    """Begin a run under the node's; `None` if nobody traces, or tracing fails: the search is worth more."""
    with suppress(Exception):
        manager = _find_tracers()
        if manager is not None:
            return await manager.on_retriever_start({"name": kind}, query, name=f"search {kind}")
    return None


def _find_tracers() -> AsyncCallbackManager | None:
    """Return a manager of the run's tracers alone; `None` if nobody traces.

    Raises:
        RuntimeError: The caller is in no run of LangGraph.
    """
    module = sys.modules.get(_TRACER)
    if module is None:
        return None
    from langchain_core.runnables.config import get_async_callback_manager_for_config

    manager = get_async_callback_manager_for_config(get_config())
    tracers = [handler for handler in manager.handlers if isinstance(handler, module.LangChainTracer)]
    if not tracers:
        return None
    manager.handlers = manager.inheritable_handlers = cast("list[Any]", tracers)
    return manager


def _as_document(item: EvidenceItem) -> Any:
    from langchain_core.documents import Document

    named = {"ref": item.ref, "title": item.title, "heading": item.heading, "source": str(item.source)}
    return Document(item.snippet, id=item.ref, metadata={**named, "confidence": item.confidence, "url": item.url})
