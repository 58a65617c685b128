"""The rankers that the settings name; `None` if they name none."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from contracts.errors import ConfigError

if TYPE_CHECKING:
    from adapters.index.ranking.embedder import Embedder
    from adapters.index.ranking.local.reranker import LocalReranker
    from adapters.index.ranking.requests import RankingAccess
    from adapters.index.ranking.reranker import Reranker
    from adapters.index.vectors import Progress, Run, VectorReport
    from assistant.config.settings import RankerSettings, Settings
    from assistant.deployment import Deployment
    from contracts.ports import EvidenceSource, NearnessProbe


def embedder(settings: Settings) -> Embedder | None:
    """Return the embedder; a model of this process is loaded with the first text, not here.

    Raises:
        ConfigError: The named model is not installed, or the named folder has no model.
    """
    chosen = settings.embedder.name
    if chosen == "off":
        return None
    if chosen in _LOCAL:
        return _require(chosen)
    if chosen != "auto":
        return _in_folder(chosen)
    if settings.embedder.url:
        from adapters.index.ranking.embeddings import HttpEmbedder

        return HttpEmbedder(
            access_of(settings, settings.embedder),
            query_prefix=_add_space(settings.embedder.query_prefix),
            text_prefix=_add_space(settings.embedder.text_prefix),
        )
    # Whoever installs the large one wants it.
    return _local("e5") or _local("use")


def nearness_probe(settings: Settings) -> NearnessProbe | None:
    """Return what tells how near a draft is to the question: the small model, where it is installed and not switched off.

    It is this model whichever one searches: the weights of its cosines are fitted on it (`guards.relevance_check`).
    """
    if settings.embedder.name == "off":
        return None
    from adapters.index.ranking.local import use
    from adapters.index.ranking.local.nearness import LocalNearness

    return LocalNearness(use.use_model()) if use.is_installed() else None


_LOCAL: Final = ("use", "e5")
"""The models that packages bring."""


def _local(name: str) -> Embedder | None:
    """Return a model of this process; `None` where it is not installed."""
    from adapters.index.ranking.local import e5, use
    from adapters.index.ranking.local.embedder import LocalEmbedder

    if name == "e5":
        return LocalEmbedder(e5.e5_model()) if e5.is_installed() else None
    return LocalEmbedder(use.use_model()) if use.is_installed() else None


def _require(name: str) -> Embedder:
    from adapters.index.ranking.local import e5, use

    found = _local(name)
    if found is None:
        how = e5.INSTALL if name == "e5" else use.INSTALL
        raise ConfigError(f"GUARDIAN_EMBEDDER is {name!r}, and that model is not installed.", how)
    return found


def _in_folder(path: str) -> Embedder:
    from adapters.index.ranking.local.embedder import LocalEmbedder
    from adapters.index.ranking.local.folder import folder_model

    return LocalEmbedder(folder_model(Path(path).expanduser().resolve()))


def without_meaning(settings: Settings) -> str:
    """Return why search uses only words, and how to change that, if `embedder` returned `None`."""
    from adapters.index.ranking.local.use import INSTALL

    if settings.embedder.name == "off":
        return "words alone: GUARDIAN_EMBEDDER is off"
    return f"words alone: the model of the extra `meaning` is not installed, and no server is set. {INSTALL}"


def reranker(settings: Settings) -> Reranker | None:
    """Return the reranker, which orders the best passages of a query; a model of this process is loaded with the first.

    Raises:
        ConfigError: The named model is not installed, or the named folder has no model.
    """
    from adapters.index.ranking.local import reranker as local

    chosen, timeout_s = settings.reranker.name, settings.reranker.timeout_s
    if chosen == "off":
        return None
    if chosen not in ("auto", "minilm"):
        return local.LocalReranker(local.folder_reranker(Path(chosen).expanduser().resolve()), timeout_s)
    if chosen == "auto" and settings.reranker.url:
        from adapters.index.ranking.http_reranker import HttpReranker

        return HttpReranker(access_of(settings, settings.reranker), settings.reranker.shape)
    if local.is_installed():
        return _minilm(timeout_s)
    if chosen == "minilm":
        raise ConfigError("GUARDIAN_RERANKER is 'minilm', and that model is not installed.", local.INSTALL)
    return None


@cache
def _minilm(timeout_s: float) -> LocalReranker:
    """Return the one of this process: its scores are kept for all sources."""
    from adapters.index.ranking.local import reranker as local

    return local.LocalReranker(local.minilm(), timeout_s)


def without_reranker(settings: Settings) -> str:
    """Return why nothing reads passages with the question, and how to change that, if `reranker` returned `None`."""
    from adapters.index.ranking.local.reranker import INSTALL

    if settings.reranker.name == "off":
        return "none: GUARDIAN_RERANKER is off"
    return f"none: the model of the extra `rerank` is not installed, and no server is set. {INSTALL}"


def add_reranker(source: EvidenceSource, settings: Settings) -> EvidenceSource:
    """Return a source whose best passages a reranker orders, or the unchanged source if there is no reranker."""
    model = reranker(settings)
    if model is None:
        return source
    from adapters.index.ranking.reranker import RerankedSource

    return RerankedSource(source, model, settings.reranker.top)


def fill_vectors(
    deployed: Deployment, on_progress: Progress | None = None, run: Run | None = None
) -> VectorReport | None:
    """Make the missing vectors of the deployment's passages; `None` if no embedding model is named.

    Args:
        deployed: The deployment.
        on_progress: Called after each batch.
        run: Runs each call of the model on an event loop to its end.

    Raises:
        KnowledgeError: The knowledge base cannot be read or written.
        IndexBusy: Another process is writing the knowledge base.
    """
    model = embedder(deployed.settings)
    if model is None:
        return None
    from adapters.index.embedded.ingestion import alone
    from adapters.index.vectors import fill

    with alone(deployed.knowledge_folder):
        return fill(deployed.knowledge_folder, model, on_progress, run=run)


def access_of(settings: Settings, ranker: RankerSettings) -> RankingAccess:
    """Return the access to the model that a group of settings names."""
    from adapters.index.ranking.requests import RankingAccess

    return RankingAccess(
        url=ranker.url,
        model=ranker.model,
        languages=ranker.languages,
        api_key=ranker.key or None,
        timeout_s=ranker.timeout_s,
        max_retries=settings.models.retries,
        proxy=settings.models.proxy or None,
        settings=ranker.names,
    )


def _add_space(prefix: str) -> str:
    # Settings are read without the blanks around them.
    return f"{prefix} " if prefix else ""
