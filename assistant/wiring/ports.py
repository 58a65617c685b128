"""The adapters of a deployment as ports of the graph, each chosen by settings and profile."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from assistant.deployment import Deployment
from assistant.wiring.documents import document_sources, knowledge_base
from assistant.wiring.lookups import lookup_sources
from assistant.wiring.rankers import nearness_probe

if TYPE_CHECKING:
    from adapters.index.queries import Knowledge
    from assistant.wiring.servers import Servers
    from contracts.ports import HandOffSink
    from graph.build import Ports


def ports(
    deployed: Deployment, knowledge: Knowledge, servers: Servers | None = None, sink: HandOffSink | None = None
) -> Ports:
    """Return the adapters of a deployment; without named servers, all of them work without a key or a network.

    Args:
        deployed: The deployment to serve.
        knowledge: The deployment's documents.
        servers: The models and moderators on servers. If you leave it out, it is made here and never closed.
        sink: The destination of hand-offs; a measurement of turns has none, so that nobody is called.
    """
    from assistant.wiring.servers import Servers

    servers = servers or Servers(deployed)
    offline = offline_ports(deployed, knowledge)
    planner, drafter = servers.planner(offline.planner), servers.drafter(offline.drafter)
    return replace(
        offline,
        moderator=servers.moderator(),
        fallback_moderator=offline.moderator if servers.moderates else None,
        planner=planner or offline.planner,
        ahead=servers.ahead(planner),
        sources={**offline.sources, **lookup_sources(deployed, servers)},
        drafter=drafter or offline.drafter,
        quoter=offline.drafter if drafter else None,
        entailment=servers.entailment(),
        sink=sink,
        slowest_s=servers.slowest_s,
        list_resting=servers.list_resting,
    )


def offline_ports(deployed: Deployment, knowledge: Knowledge) -> Ports:
    """Return the adapters of a deployment that ask no model, no moderation server and no lookup, and hand nothing off."""
    from adapters.drafting.extractive import ExtractiveDrafter
    from adapters.moderation.rules import RuleModerator
    from adapters.planning.offline import OfflinePlanner
    from graph.build import Ports
    from guards.policy_check import contacts_of

    read_words()
    profile = deployed.profile
    return Ports(
        moderator=RuleModerator(),
        planner=OfflinePlanner(knowledge, profile),
        sources={**document_sources(deployed, knowledge)},
        drafter=ExtractiveDrafter(profile.allowed_link_domains, profile.product, contacts_of(profile)),
        probe=knowledge,
        nearness=nearness_probe(deployed.settings),
    )


def read_words() -> None:
    """Load the words and texts that turns need; loading them in a node would block all other turns of the process."""
    from contracts.enums import Language
    from language.lexicon import lexicon
    from language.words import stop_words
    from rendering.texts import texts

    lexicon()
    stop_words()
    for language in Language:
        texts(language)


def idle_ports() -> Ports:
    """Return ports for a graph that is only drawn or asked for its checkpoints; no turn can run on them."""
    from adapters.drafting.extractive import ExtractiveDrafter
    from adapters.fakes.planning import FakePlanner
    from adapters.moderation.rules import RuleModerator
    from graph.build import Ports

    return Ports(moderator=RuleModerator(), planner=FakePlanner([]), sources={}, drafter=ExtractiveDrafter())


@asynccontextmanager
async def open_ports(deployed: Deployment, knowledge: Knowledge | None = None) -> AsyncGenerator[Ports]:
    """Open the adapters of a deployment.

    Args:
        deployed: The deployment to serve.
        knowledge: The deployment's documents, which stay open. If you leave them out, they are opened and closed here.

    Raises:
        NoIndex: The deployment's profile has no index.
        GuardianError: Another problem that a person can fix; the error says how.
    """
    from adapters.lookups.graph.source import GraphSource
    from assistant.turns.retriever_runs import trace_searches
    from assistant.wiring.hand_offs import hand_off_sink
    from assistant.wiring.servers import Servers

    async with AsyncExitStack() as opened:
        servers = await opened.enter_async_context(Servers(deployed))
        if knowledge is None:
            knowledge = knowledge_base(deployed)
            opened.callback(knowledge.close)
        taking = hand_off_sink(deployed)
        if taking is not None:
            await opened.enter_async_context(taking)
        chosen = ports(deployed, knowledge, servers, taking)
        for source in chosen.sources.values():
            if isinstance(source, GraphSource):
                opened.callback(source.close)
        yield replace(chosen, sources=trace_searches(chosen.sources, deployed.profile))
