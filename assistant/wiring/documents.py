"""A deployment's documents, wherever they are indexed, and the sources that search them."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Final

from assistant.deployment import Deployment, index_command
from contracts.errors import KnowledgeError, NoIndex

if TYPE_CHECKING:
    from adapters.index.queries import Knowledge
    from adapters.index.remote.engine import IndexEngine
    from contracts.enums import Source
    from contracts.ports import EvidenceSource

_LOG: Final = logging.getLogger(__name__)


def engine_of(deployed: Deployment, url: str) -> IndexEngine:
    """Return the index of a deployment on a server, without a request to it.

    Raises:
        ConfigError: The address is wrong, or a package is missing.
    """
    from adapters.index.remote.engines import engine_at

    key, lock = deployed.settings.index.key.get_secret_value(), deployed.folder / "fill.lock"
    return engine_at(url, profile=deployed.profile.name, key=key, lock=lock)


def knowledge_base(deployed: Deployment) -> Knowledge:
    """Open the deployment's documents; an index on a server is not contacted before the first search.

    Raises:
        NoIndex: The deployment's profile has no index.
        KnowledgeError: The documents cannot be read.
        ConfigError: The address of the server is wrong, or a package is missing.
    """
    from adapters.index.embedded import KnowledgeBase
    from assistant.wiring.rankers import embedder

    profile = deployed.profile
    if url := deployed.settings.index.url:
        from adapters.index.remote.search import RemoteKnowledge

        return RemoteKnowledge(
            engine_of(deployed, url),
            norm_midpoint=profile.thresholds.norm_midpoint,
            default_version=profile.default_version,
            embedder=embedder(deployed.settings),
        )
    try:
        knowledge = KnowledgeBase(
            deployed.knowledge_folder,
            norm_midpoint=profile.thresholds.norm_midpoint,
            default_version=profile.default_version,
            embedder=embedder(deployed.settings),
        )
    except NoIndex as error:
        raise NoIndex(
            f"Nothing has been indexed for the profile {profile.name!r} in {deployed.settings.data.folder}.",
            f"Run `{index_command(deployed)}`, or set GUARDIAN_DATA_DIR to where the index is.",
        ) from error
    if knowledge.outdated and deployed.knowledge_folder not in _outdated:
        _renew(deployed)
    return knowledge


_outdated: Final[set[Path]] = set()
"""Indexes of earlier versions that cannot be made again: it is said of each once in a process."""


def _renew(deployed: Deployment) -> None:
    """Make the index of an earlier version again; where it cannot be written, it is searched as it is, and that is said."""
    from adapters.index.embedded import renew

    _LOG.warning("The index was made by another version of this program: it is made again, which is done once.")
    try:
        renew(deployed.knowledge_folder)
    except KnowledgeError as error:
        _outdated.add(deployed.knowledge_folder)
        _LOG.warning("%s Until then some words are not found. Run `%s`.", error, index_command(deployed))


def document_sources(deployed: Deployment, knowledge: Knowledge) -> dict[Source, EvidenceSource]:
    """Return the sources of a deployment's documents, with the rankers from its settings."""
    from adapters.index.embedded import DocumentSource
    from assistant.wiring.rankers import add_reranker
    from contracts.enums import Source

    return {
        kind: add_reranker(DocumentSource(knowledge, kind), deployed.settings) for kind in (Source.DOC, Source.POLICY)
    }
