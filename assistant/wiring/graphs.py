"""The graph of a deployment: made of its documents, or on a server of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contracts.enums import Source

if TYPE_CHECKING:
    from pathlib import Path

    from adapters.lookups.graph import Built, GraphSource
    from assistant.deployment import Deployment


def write_graph(deployed: Deployment) -> Built | None:
    """Bring the graph of a deployment's documents up to date.

    Returns:
        `None` where its profile asks no graph anything, or a server has the graph.

    Raises:
        KnowledgeError: It cannot be written.
    """
    if not deployed.profile.lookups_of(Source.NEO4J) or deployed.settings.lookups.graph_url:
        return None
    from adapters.lookups.graph import build

    return build(deployed.knowledge_folder, deployed.graph_folder)


def graph_file(deployed: Deployment) -> Path:
    """Return where the graph of a deployment's documents is, if there is one."""
    from adapters.lookups.graph.building import FILE

    return deployed.graph_folder / FILE


def graph_source(deployed: Deployment) -> GraphSource | None:
    """Return what answers from the graph; `None` where the profile asks it nothing, or there cannot be one.

    A graph of indexed documents whose file is missing is a source that cannot be asked: nobody has looked there.

    Raises:
        ConfigError: The server's address, or a statement of the profile, is wrong.
    """
    lookups = deployed.profile.lookups_of(Source.NEO4J)
    if not lookups:
        return None
    from adapters.lookups.graph import GraphSource, Ladybug, Neo4j, StatementLimits

    if deployed.settings.lookups.graph_url:
        engine = Neo4j(deployed.settings.lookups.graph_url)
    elif _indexed_here(deployed):
        engine = Ladybug(graph_file(deployed))
    else:
        return None
    most = deployed.profile.database
    return GraphSource(engine, lookups, StatementLimits(rows=most.max_rows, size=most.max_bytes, seconds=most.seconds))


def _indexed_here(deployed: Deployment) -> bool:
    """Whether documents were indexed on this machine: one that only asks an index in a server has no graph of its own."""
    from adapters.index.store import NAME

    return (deployed.knowledge_folder / NAME).is_file()
