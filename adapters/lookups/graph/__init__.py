"""Evidence from a graph of mentions and links, queried with the named Cypher templates of the profile.

    build(knowledge, file)            the system of record -> a graph of pages, sections, settings, commands, errors
    Ladybug(file), Neo4j(url)         the two engines; both only read
    GraphSource(engine, lookups)      the graph's port

Names are imported on first use: a `--help` does not pay for the engines' libraries.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adapters.lookups.graph.building import Built as Built
    from adapters.lookups.graph.building import build as build
    from adapters.lookups.graph.engine import GraphEngine as GraphEngine
    from adapters.lookups.graph.engine import StatementLimits as StatementLimits
    from adapters.lookups.graph.ladybug import Ladybug as Ladybug
    from adapters.lookups.graph.neo4j import Neo4j as Neo4j
    from adapters.lookups.graph.source import GraphSource as GraphSource

_HOMES = {
    "Built": "building",
    "GraphEngine": "engine",
    "GraphSource": "source",
    "Ladybug": "ladybug",
    "StatementLimits": "engine",
    "Neo4j": "neo4j",
    "build": "building",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
