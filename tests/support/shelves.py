"""Pages, rankers and knowledge bases for the tests of ranking."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from adapters.index.embedded import ingest
from adapters.index.ranking.embedder import Embedder
from adapters.index.ranking.embeddings import HttpEmbedder
from adapters.index.ranking.http_reranker import HttpReranker, Shape
from adapters.index.ranking.requests import RankingAccess
from adapters.index.vectors import Progress, VectorReport, fill
from adapters.models.retries import Pauses
from contracts.enums import Language
from tests.support.markdown_pages import write

KEY = "sk-secret-of-the-ranker"
QUICK = Pauses(first_s=0.01, longest_s=0.02)
BOTH = frozenset(Language)
ENGLISH = frozenset({Language.EN})

PAGES = {
    "en/file-system.md": "# The file system\n\nEvery file system is mounted below one folder.\n",
    "en/kettle.md": "# The kettle\n\nWater boils in the kettle at a hundred degrees.\n",
    "en/garden.md": "# The garden\n\nRoses are watered in the evening, never at noon.\n",
    "en/bicycle.md": "# The bicycle\n\nA chain is oiled twice a year with thin oil.\n",
    "ru/chainik.md": "# Чайник\n\nВода в чайнике кипит при ста градусах.\n",
    "ru/sad.md": "# Сад\n\nРозы поливают вечером и никогда не в полдень.\n",
}
UNSHARED = "filesystems"
"""A word that no page has, and none is near enough to be taken for a misspelling of."""


def access(root: str, **changes: Any) -> RankingAccess:
    """Return a model of the scripted server."""
    fields: dict[str, Any] = {
        "url": root,
        "model": "fake-embedder",
        "languages": BOTH,
        "api_key": SecretStr(KEY),
        "timeout_s": 5.0,
        "max_retries": 1,
    }
    return RankingAccess(**{**fields, **changes})


def embedder(url: str, **changes: Any) -> HttpEmbedder:
    return HttpEmbedder(access(url, **changes), pauses=QUICK)


def reranker(url: str, shape: Shape = "cohere", **changes: Any) -> HttpReranker:
    settings = {"model": "fake-reranker", "settings": "GUARDIAN_RERANK"}
    return HttpReranker(access(url, **{**settings, **changes}), shape, pauses=QUICK)


def shelf(root: Path, pages: Mapping[str, str] = PAGES) -> Path:
    """Index pages and return where the knowledge base is."""
    ingest(write(root / "docs", pages), directory=root / "kb")
    return root / "kb"


def fill_vectors(directory: Path, model: Embedder, on_progress: Progress | None = None) -> VectorReport:
    return fill(directory, model, on_progress)
