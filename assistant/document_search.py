"""Search of a deployment's documents, without a turn."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Collection
from itertools import islice
from typing import TYPE_CHECKING

from assistant.wiring.documents import document_sources
from contracts.enums import Language, Source
from contracts.errors import InputError
from contracts.evidence import EvidenceItem
from contracts.ports import SearchRequest
from guards.evidence_selection import raise_by_reading
from guards.message_check import message_fault
from language.clean import clean

if TYPE_CHECKING:
    from adapters.index.queries import Knowledge
    from assistant.deployment import Deployment


async def search_documents(
    deployed: Deployment,
    knowledge: Knowledge,
    query: str,
    *,
    top_k: int,
    language: Language | str | None = None,
    kinds: Collection[Source] = tuple(Source),
) -> tuple[list[EvidenceItem], list[str]]:
    """Return the passages that match a query, best first, and what did not work as configured, each as `part: why`.

    Args:
        deployed: The deployment that owns the documents.
        knowledge: The documents, opened.
        query: The words to search for.
        top_k: The most passages to return, at least 1.
        language: Prefer documents in this language.
        kinds: The kinds of sources to search.

    Raises:
        InputError: The query is empty or `top_k` is below 1.
    """
    if fault := message_fault(query):
        raise fault
    if not isinstance(top_k, int) or isinstance(top_k, bool) or top_k < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(f"{top_k!r} passages cannot be shown.", "Ask for at least one, as a whole number.")
    request = SearchRequest(query=clean(query), top_k=top_k, language=_read_language(language))
    sources = [source for kind, source in document_sources(deployed, knowledge).items() if kind in kinds]
    replies = await asyncio.gather(*(source.search(request) for source in sources))
    replies = raise_by_reading(replies, request.threshold)
    # Each keeps its own order, which a ranker may have made; of the two that are next, the surer one comes first.
    merged = heapq.merge(*(reply.items for reply in replies), key=lambda item: -item.confidence)
    degraded = [line for reply in replies for line in reply.trace.degraded.splitlines()]
    return list(islice(merged, top_k)), list(dict.fromkeys(degraded))


def _read_language(name: Language | str | None) -> Language | None:
    if not name:
        return None
    try:
        return Language(name)
    except ValueError:
        known = " or ".join(repr(str(one)) for one in Language)
        raise InputError(f"There is no language {name!r}.", f"Name {known}, or none.") from None
