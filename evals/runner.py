"""Asks the product through the turn runner that every interface uses."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adapters.checkpoints.sqlite import open_saver
from adapters.storage.claims import FileClaims
from assistant.cli.commands.index import index
from assistant.config.group import Variable
from assistant.config.settings import ModelSettings
from assistant.deployment import Deployment, deployment
from assistant.indexing import profile_folders
from assistant.turns.runner import TurnRunner
from assistant.turns.transcript import TurnStore
from assistant.wiring.documents import knowledge_base
from assistant.wiring.ports import ports
from assistant.wiring.servers import Servers
from contracts.result import StructuredAgentResult
from evals.cases import TurnCase
from graph.build import build_graph


@dataclass(frozen=True, slots=True)
class CaseResult:
    """A case and the result of its last turn."""

    case: TurnCase
    result: StructuredAgentResult


def handbook(folder: Path, *, with_models: bool = False, models: Mapping[str, str] | None = None) -> Deployment:
    """Index the bundled handbook into an empty folder and return its deployment, independent of the current profile.

    Args:
        folder: Empty.
        with_models: Whether the models that the environment names plan and draft, too.
        models: Settings of a model in their place.
    """
    of_models = {variable.name for variable in map(Variable.of, ModelSettings.model_fields.values())}
    taken = {"GUARDIAN_EMBEDDER", "GUARDIAN_RERANKER", *(of_models if with_models else ())}
    given = {name: value for name, value in os.environ.items() if name in taken}
    deployed = deployment("handbook", {**given, **(models or {}), "GUARDIAN_DATA_DIR": str(folder)})
    index(deployed, profile_folders(deployed))
    return deployed


async def ask_all(
    cases: Sequence[TurnCase], deployed: Deployment, folder: Path, settings: Mapping[str, Any] | None = None
) -> list[CaseResult]:
    """Ask every case in its own conversation, which is stored only in `folder`; nothing is handed off.

    Args:
        cases: The cases; only the last turn of each is returned.
        deployed: The deployment to ask; its documents must be indexed.
        folder: An empty folder for conversations.
        settings: Run settings that differ from the deployment's.
    """
    from tqdm import tqdm

    context = deployed.build_context(**(settings or {}))
    asked: list[CaseResult] = []
    async with _runner(deployed, folder) as runner:
        for text in cases[0].says if cases else ():
            await runner.run("warm-up", text, context=context)  # imports and first connections are nobody's time
        for case in tqdm(cases, unit=" turns", file=sys.stderr, leave=False):
            raw: dict[str, Any] = {}
            for number, text in enumerate(case.says):
                # With ids of its own, a turn that is handed off names the same number whenever it is asked.
                raw = await runner.run(case.id, text, turn_id=str(number), context=context)
            asked.append(CaseResult(case, StructuredAgentResult.model_validate(raw)))
    return asked


@asynccontextmanager
async def _runner(deployed: Deployment, folder: Path) -> AsyncGenerator[TurnRunner]:
    """Open what a turn takes, with conversations of its own beside the deployment's documents."""
    knowledge = await asyncio.to_thread(knowledge_base, deployed)
    try:
        async with (
            Servers(deployed) as servers,
            open_saver(folder / "threads.db") as saver,
            await TurnStore.open(folder / "threads.db") as store,
        ):
            # No sink: a measured turn must not open a ticket.
            chosen = replace(ports(deployed, knowledge, servers), sink=None)
            graph = build_graph(chosen, deployed.profile, settings=deployed.context_type, checkpointer=saver)
            yield TurnRunner(graph, store, FileClaims(folder / "locks"), context_type=deployed.context_type)
    finally:
        knowledge.close()
