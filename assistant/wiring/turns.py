"""The parts of the turn runner: the graph over its ports, checkpoints, transcript, locks."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from assistant.deployment import Deployment

if TYPE_CHECKING:
    from assistant.turns.runner import TurnRunner
    from assistant.turns.transcript import TurnStore
    from graph.build import Ports


@asynccontextmanager
async def open_store(deployed: Deployment) -> AsyncGenerator[TurnStore]:
    """Open the transcript."""
    from assistant.turns.transcript import TurnStore

    async with await TurnStore.open(deployed.threads_file) as store:
        yield store


async def _forget(deployed: Deployment, thread_id: str) -> int:
    """Delete what is kept of a conversation beside its transcript and its checkpoints; return how much that was."""
    from assistant.turns.feedback import FeedbackStore
    from assistant.turns.histories import Histories
    from assistant.turns.reviews import Reviews
    from assistant.turns.shared_links import SharedLinks
    from assistant.wiring.hand_offs import outbox

    forgotten = await outbox(deployed).forget(thread_id)
    for table in (FeedbackStore, Histories, Reviews, SharedLinks):
        async with await table.open(deployed.threads_file) as kept:
            forgotten += await kept.forget(thread_id)
    return forgotten


@asynccontextmanager
async def open_runner(deployed: Deployment, ports: Ports) -> AsyncGenerator[TurnRunner]:
    """Open the turn runner with checkpoints, transcript and locks, on given adapters."""
    from adapters.checkpoints.sqlite import open_saver
    from assistant.turns.runner import TurnRunner
    from graph.build import build_graph

    async with AsyncExitStack() as opened:
        saver = await opened.enter_async_context(open_saver(deployed.threads_file))
        store = await opened.enter_async_context(open_store(deployed))
        graph = build_graph(ports, deployed.profile, settings=deployed.context_type, checkpointer=saver)
        yield TurnRunner(
            graph,
            store,
            deployed.locks_folder,
            context_type=deployed.context_type,
            forget=partial(_forget, deployed),
            profile_version=deployed.profile_version,
        )
