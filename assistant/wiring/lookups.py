"""The lookups of a profile: in a database, in a graph, and in SQL that a model writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assistant.deployment import Deployment
from assistant.wiring.storage import conversations_url
from contracts.errors import ConfigError
from contracts.profile import Profile

if TYPE_CHECKING:
    from adapters.lookups.sql import DatabaseSource
    from adapters.lookups.text_to_sql.writing import StatementWriter
    from assistant.wiring.servers import Servers
    from contracts.enums import Source
    from contracts.ports import EvidenceSource


def lookup_sources(deployed: Deployment, servers: Servers | None = None) -> dict[Source, EvidenceSource]:
    """Return the sources of a profile's lookups; a kind without lookups has no source.

    Args:
        deployed: The deployment to serve.
        servers: The models on servers; needed if the profile lets a model write SQL.

    Raises:
        ConfigError: GUARDIAN_DATABASE_URL or GUARDIAN_GRAPH_URL is wrong, a statement does more than read a graph, or
            the profile wants a model to write SQL and there is none.
    """
    from assistant.wiring.graphs import graph_source
    from contracts.enums import Source

    found: dict[Source, EvidenceSource] = {}
    if asks_database(deployed.profile):
        database = database_source(deployed)
        writer = servers.statement_writer(database.dialect) if servers else None
        found[Source.DB] = database if writer is None else _asking_in_sql(database, writer)
    if graph := graph_source(deployed):
        found[Source.NEO4J] = graph
    return found


def asks_database(profile: Profile) -> bool:
    """Whether a profile asks a database, by lookups or in a model's SQL."""
    from contracts.enums import Source

    return bool(profile.lookups_of(Source.DB)) or profile.database.text_to_sql is not None


def _asking_in_sql(database: DatabaseSource, writer: StatementWriter) -> EvidenceSource:
    from adapters.lookups.text_to_sql.source import TextToSqlSource

    return TextToSqlSource(database, writer)


def database_source(deployed: Deployment) -> DatabaseSource:
    """Return the source of a profile's SQL lookups; without an address, they read the assistant's own conversations.

    Raises:
        ConfigError: GUARDIAN_DATABASE_URL is wrong, or the profile wants a model to write SQL and there is none.
    """
    from importlib.util import find_spec

    from adapters.lookups.sql import DatabaseSource

    if deployed.profile.database.text_to_sql is not None:
        if not deployed.settings.models.planner:
            raise ConfigError(
                f"The profile {deployed.profile.name!r} has a language model write SQL (database.text_to_sql), but no "
                "model is named.",
                "Set GUARDIAN_MODEL or GUARDIAN_PLANNER_MODEL, or take database.text_to_sql out of the profile.",
            )
        if find_spec("sqlglot") is None:
            raise ConfigError(
                "The profile has a language model write SQL (database.text_to_sql), and what checks it is missing.",
                "Install it: pip install 'guardian-assistant[sql]'.",
            )

    url = deployed.settings.lookups.database_url or conversations_url(deployed) or deployed.threads_file
    return DatabaseSource(deployed.profile.lookups, url, deployed.profile.database)
