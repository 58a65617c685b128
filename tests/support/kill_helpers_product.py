"""The product's own graph, to be killed in: real moderation, planner, sources and drafter over the documents of a test.

The folder of the data is a profile's folder as `guardian` lays it out (`threads.db`, `locks/`, `knowledge/`), so that
what these processes leave behind can be read with `guardian threads`.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import graph.build
from adapters.index.embedded import KnowledgeBase
from assistant.deployment import Deployment, deployment
from assistant.wiring.ports import ports
from contracts.ports import Draft, Drafter, DraftRequest
from graph.build import Ports, build_graph
from tests.support.kill_helpers import log_node, log_of

ROOT = Path(__file__).resolve().parents[2]
PROFILE = ROOT / "tests" / "data" / "corpus.toml"
PAUSE_IN = "KILL_PAUSE_IN"
"""Environment variable: `draft` or `draft 2`, the node (at its second run) that waits to be killed."""

NODES = (
    "moderation",
    "sgr_plan",
    "inject_synthetic",
    "retrieve",
    "draft",
    "guardian_verify",
    "retry_bump",
    "finalize",
    "safe_exit",
)
_LONG_S = 60.0


class UncitedAtFirst:
    """Drafts as the drafter does, but ends the first draft with a claim of its own: certain to be sent back, once.

    It keeps nothing between two drafts, so that a process that takes over drafts the same.
    """

    def __init__(self, drafter: Drafter) -> None:
        self._drafter = drafter

    async def draft(self, request: DraftRequest) -> Draft:
        draft = await self._drafter.draft(request)
        return draft if request.previous else Draft(draft.kind, f"{draft.text}\n\nThe desk was painted in 1907.")


def product_graph(data: Path, saver: Any) -> Any:
    """Return the graph of the profile as it is shipped."""
    deployed = deployment(str(PROFILE))
    return _logged_graph(data, saver, deployed, ports(deployed, KnowledgeBase(data / "knowledge")))


def retrying_graph(data: Path, saver: Any) -> Any:
    """Return the same graph, whose first draft of every turn is sent back."""
    deployed = deployment(str(PROFILE))
    shipped = ports(deployed, KnowledgeBase(data / "knowledge"))
    return _logged_graph(data, saver, deployed, replace(shipped, drafter=UncitedAtFirst(shipped.drafter)))


def _logged_graph(data: Path, saver: Any, deployed: Deployment, chosen: Ports) -> Any:
    node, _, time = os.environ.get(PAUSE_IN, "").partition(" ")
    for name in NODES:
        # The graph is built of these names, and this process is the test's own.
        setattr(graph.build, name, _wrapped(name, data, int(time or 1) if name == node else 0))
    return build_graph(chosen, deployed.profile, settings=deployed.context_type, checkpointer=saver)


def _wrapped(name: str, data: Path, pause_at: int) -> Any:
    """Return the node, logged, and with a long pause at its n-th run in this process, if that is above 0."""
    node = getattr(graph.build, name)
    at_once, waiting = (log_node(name, node, log_of(data), pause_s) for pause_s in (0.0, _LONG_S))
    runs = 0

    async def wrapped(*args: Any, **kwargs: Any) -> Any:
        nonlocal runs
        runs += 1
        return await (waiting if runs == pause_at else at_once)(*args, **kwargs)

    wrapped.__name__ = name
    return wrapped
