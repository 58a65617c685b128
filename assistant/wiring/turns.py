"""The parts of the turn runner: the graph over its ports, checkpoints, transcript, locks."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from assistant.deployment import Deployment
from assistant.wiring.storage import claims_of, open_database, open_saver
from contracts.calls import ModelCall
from contracts.errors import ConfigError

if TYPE_CHECKING:
    from adapters.storage.database import Database
    from assistant.turns.runner import TurnRunner
    from assistant.turns.spending import Budget
    from assistant.turns.transcript import TurnStore
    from graph.build import Ports

_DIGITS: Final = 9
"""Of a cost, behind the point."""


@asynccontextmanager
async def open_store(deployed: Deployment) -> AsyncGenerator[TurnStore]:
    """Open the transcript."""
    from assistant.turns.transcript import TurnStore

    async with open_database(deployed) as database:
        yield await TurnStore.within(database)


async def _forget(deployed: Deployment, database: Database, thread_id: str) -> int:
    """Delete what is kept of a conversation beside its transcript and its checkpoints; return how much that was."""
    from assistant.turns.feedback import FeedbackStore
    from assistant.turns.histories import Histories
    from assistant.turns.relay import RelayTable
    from assistant.turns.reviews import Reviews
    from assistant.turns.shared_links import SharedLinks
    from assistant.wiring.hand_offs import outbox

    forgotten = await outbox(deployed).forget(thread_id)
    for table in (FeedbackStore, Histories, RelayTable, Reviews, SharedLinks):
        forgotten += await (await table.within(database)).forget(thread_id)
    return forgotten


def check_prices(deployed: Deployment) -> None:
    """Check that each language model has a price if there is a budget.

    Raises:
        ConfigError: One has none, so that nothing of the budget would be counted.
    """
    budget, models, prices = deployed.settings.budget, deployed.settings.models, deployed.profile.prices
    judge = deployed.settings.entailment
    asked = (models.planner, models.drafter, judge.model if judge.url and judge.shape == "chat" else "")
    unpriced = [name for name in asked if name and name not in prices.models]
    if budget.any and unpriced:
        raise ConfigError(
            f"There is a budget (GUARDIAN_BUDGET_...), but the profile has no price for the model {unpriced[0]!r}.",
            f'Write its price into the profile: [prices.models."{unpriced[0]}"], prompt and completion.',
        )


async def share_budget(deployed: Deployment, store: TurnStore) -> Budget:
    """Return the budgets, kept in the database of the transcript.

    Raises:
        ConfigError: See `check_prices`.
    """
    from assistant.turns.spending import Budget, Spending

    check_prices(deployed)
    return Budget(await Spending.share(store), deployed.settings.budget, deployed.profile.prices.currency, store.now)


def _figures(deployed: Deployment, diagnostics: dict[str, Any]) -> dict[str, Any]:
    """Return what a turn's diagnostics have of its deployment: the profile's version, and what the calls cost."""
    prices = deployed.profile.prices
    cost = prices.cost_of(map(ModelCall.model_validate, diagnostics.get("calls") or ()))
    told = {} if cost is None else {"cost": round(cost, _DIGITS), "currency": prices.currency}
    return {"profile": deployed.profile_version, **told}


@asynccontextmanager
async def open_runner(deployed: Deployment, ports: Ports) -> AsyncGenerator[TurnRunner]:
    """Open the turn runner with checkpoints, transcript and claims, on given adapters."""
    from assistant.turns.runner import TurnRunner
    from graph.build import build_graph

    async with AsyncExitStack() as opened:
        store = await opened.enter_async_context(open_store(deployed))
        saver = await opened.enter_async_context(open_saver(deployed, store.database))
        claims = claims_of(deployed, deployed.locks_folder)
        opened.push_async_callback(claims.close)
        graph = build_graph(ports, deployed.profile, settings=deployed.context_type, checkpointer=saver)
        yield TurnRunner(
            graph,
            store,
            claims,
            context_type=deployed.context_type,
            forget=partial(_forget, deployed, store.database),
            figures=partial(_figures, deployed),
        )
