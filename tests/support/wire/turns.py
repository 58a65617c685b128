"""The graph with a language model behind the scripted server: real client, real sockets, small fake sources."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from adapters.drafting.extractive import ExtractiveDrafter
from adapters.fakes.moderation import FakeModerator
from adapters.fakes.planning import FakePlanner
from adapters.fakes.sources import FakeSource
from adapters.moderation.rules import RuleModerator
from assistant.deployment import deployment
from assistant.wiring.servers import Servers
from contracts.enums import Source
from contracts.profile import Profile
from graph.build import Graph, Ports, build_graph
from tests.support.cli_helpers import PROFILE as SHELF
from tests.support.turn import PROFILE, passage, plan
from tests.support.wire.server_process import FakeServer


@asynccontextmanager
async def graph_on(
    server: FakeServer,
    data: Path,
    *,
    saver: Any = None,
    moderated: Any = None,
    found: Any = None,
    profile: Profile = PROFILE,
    **variables: str,
) -> AsyncGenerator[Graph]:
    """Open a graph whose planner and drafter ask the server; further variables are those of the environment."""
    environment = {
        "GUARDIAN_DATA_DIR": str(data),
        "GUARDIAN_EMBEDDER": "off",
        "GUARDIAN_RERANKER": "off",
        "GUARDIAN_MODEL": "fake-model",
        "OPENAI_BASE_URL": server.url,
        "GUARDIAN_MODEL_TIMEOUT": "20",
        **variables,
    }
    deployed = deployment(str(SHELF), environment)
    async with Servers(deployed) as servers:
        offline, quoting = FakePlanner([plan()]), ExtractiveDrafter()
        planner = servers.planner(offline)
        assert planner is not None
        ports = Ports(
            moderator=FakeModerator(moderated) if moderated is not None else servers.moderator(),
            fallback_moderator=RuleModerator() if servers.moderates else None,
            planner=planner,
            ahead=servers.ahead(planner),
            sources={Source.DOC: FakeSource(Source.DOC, [passage(1), passage(2)] if found is None else found)},
            drafter=servers.drafter(quoting) or quoting,
        )
        yield build_graph(ports, profile, checkpointer=saver)
