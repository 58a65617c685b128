"""Copies of all that belongs to the conversations of a deployment, from one storage into another."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assistant.keys import copy_keys, move_keys
from assistant.turns.moving import Moved, Store, move_all
from assistant.wiring.access import copy_secret, keys_of
from assistant.wiring.storage import (
    claims_of,
    hand_offs_place,
    has_conversations,
    has_hand_offs,
    open_database,
    open_saver,
)

if TYPE_CHECKING:
    from assistant.deployment import Deployment


@dataclass(frozen=True, slots=True)
class Copied:
    """What was copied.

    Attributes:
        conversations: What became of each.
        keys: The number of API keys that the target has got; `None` if it has keys of its own, which stay as they are.
        differing: Names that both have another API key of. If there are any, the keys stay where they are.
        same_visitors: Whether the target knows the visitors of the source.
    """

    conversations: Moved
    keys: int | None
    differing: list[str]
    same_visitors: bool


async def copy_deployment(
    source: Deployment, target: Deployment, on_step: Callable[[int, int], None], wait_s: float, *, moving: bool
) -> Copied:
    """Copy conversations with all that belongs to them, API keys, and the secret of visitors' cookies.

    What the target has stays as it is. Nothing is deleted in the source.

    Args:
        source: Where all is.
        target: Where it goes to.
        on_step: Called with how many conversations are done, and of how many.
        wait_s: How long a conversation that is in use is waited for, in seconds.
        moving: Whether the target takes the place of the source: then keys are moved, as `move_keys` says.

    Raises:
        ThreadError: A storage failed; the next run goes on from there.
        ConfigError: Keys or the secret cannot be read or kept.
    """
    # Keys first: whoever serves from the target before all is there stands behind them.
    own, other = keys_of(source), keys_of(target)
    keys, differing = move_keys(own, other) if moving else (copy_keys(own, other), [])
    same_visitors = copy_secret(source, target)
    if not has_conversations(source) and not has_hand_offs(source):
        return Copied(Moved(), keys, differing, same_visitors)
    async with _open(source) as here, _open(target) as there:
        return Copied(await move_all(here, there, on_step, wait_s), keys, differing, same_visitors)


@asynccontextmanager
async def _open(deployed: Deployment) -> AsyncGenerator[Store]:
    from assistant.turns.feedback import FeedbackStore
    from assistant.turns.histories import Histories
    from assistant.turns.reviews import Reviews
    from assistant.turns.shared_links import SharedLinks
    from assistant.turns.spending import Spending
    from assistant.turns.transcript import TurnStore

    async with AsyncExitStack() as opened:
        database = await opened.enter_async_context(open_database(deployed))
        for table in (TurnStore, FeedbackStore, Histories, Reviews, SharedLinks, Spending):
            await table.within(database)
        saver = await opened.enter_async_context(open_saver(deployed, database))
        claims = claims_of(deployed, deployed.locks_folder)
        opened.push_async_callback(claims.close)
        yield Store(database, saver, claims, hand_offs_place(deployed))
