"""The end of old conversations in a running server: at its start and once a day."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

from assistant.turns.progress import own_language, phrases
from contracts.errors import GuardianError

if TYPE_CHECKING:
    from assistant.service import Service

_LOG: Final = logging.getLogger(__name__)
_EVERY_S: Final = 86_400.0


@asynccontextmanager
async def daily_expiry(service: Service) -> AsyncGenerator[None]:
    """Delete conversations that were kept long enough, beside what the server does, until the block ends."""
    task = asyncio.create_task(_delete_daily(service))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _delete_daily(service: Service) -> None:
    say = phrases(own_language())
    while True:
        try:
            if deleted := await service.delete_expired():
                _LOG.info(say["expired"].format(count=deleted))
        except GuardianError as error:
            # Tomorrow the storage may be well again; turns that need it say more.
            _LOG.error(say["expiry_failed"].format(why=error))
        await asyncio.sleep(_EVERY_S)
