"""One query to one evidence source: bounded, validated, and never raising."""

from __future__ import annotations

import asyncio
import logging

from contracts.calls import ModelCall
from contracts.enums import Source
from contracts.errors import SourceUnavailable
from contracts.evidence import EvidenceItem, QueryTrace
from contracts.ports import EvidenceSource, SearchReply, SearchRequest

_LOG = logging.getLogger(__name__)


async def call_source(source: EvidenceSource, kind: Source, request: SearchRequest, seconds: float) -> SearchReply:
    """Return what a source has, or an empty reply whose trace says why it could not be asked."""
    bound = asyncio.timeout(seconds)
    try:
        async with bound:
            reply = await source.search(request)
        # What cannot be stored and read back is at fault here, and not in a checkpoint or in the drafter.
        items = tuple(EvidenceItem.model_validate_json(i.model_dump_json(warnings=False)) for i in reply.items)
        trace = QueryTrace.model_validate_json(reply.trace.model_dump_json(warnings=False))
        calls = tuple(ModelCall.model_validate(call) for call in reply.calls)
    except SourceUnavailable as error:
        items, trace, calls = (), QueryTrace(query=request.query, source=kind, error=str(error)), error.calls
    except Exception as error:  # noqa: BLE001  # a fault in one adapter costs its evidence, not the turn
        if bound.expired():
            why = f"It timed out after {seconds:g} s."
        else:
            # A library's own message may quote what must not be shown.
            why = f"It failed in a way that it should not have ({type(error).__name__}); the log has more."
            _LOG.error("The source %s failed.", kind, exc_info=error)
        items, trace, calls = (), QueryTrace(query=request.query, source=kind, error=why), ()
    return SearchReply(items, trace.model_copy(update={"told": request.told}), calls)
