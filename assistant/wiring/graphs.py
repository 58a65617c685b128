"""The graph of a deployment: made of its documents, or on its own server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contracts.enums import Source

if TYPE_CHECKING:
    from pathlib import Path

    from adapters.lookups.graph import Built, GraphSource
    from assistant.deployment import Deployment


def write_graph(deployed: Deployment) -> Built | None:
    """Update the graph of a deployment's documents.

    Returns:
        `None` if its profile has no graph lookups, or if the graph is on a server.

    Raises:
        KnowledgeError: The graph cannot be written.
    """
    if not deployed.profile.lookups_of(Source.NEO4J) or deployed.settings.lookups.graph_url:
        return None
    from adapters.lookups.graph import build

    return build(deployed.knowledge_folder, deployed.graph_folder)


def graph_file(deployed: Deployment) -> Path:
    """Return the path of the graph of a deployment's documents; the file may not exist."""
    from adapters.lookups.graph.building import FILE

    return deployed.graph_folder / FILE


def graph_source(deployed: Deployment) -> GraphSource | None:
    """Return the source that answers from the graph; `None` if the profile has no graph lookups or no graph can exist.

    If documents are indexed but their graph's file is missing, there is a source that cannot be asked. So the graph
    does not count as searched.

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
