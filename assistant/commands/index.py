"""`guardian index`: Markdown files into the knowledge base."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from assistant.settings import PROJECT, profile_path
from assistant.wiring import Deployment, deployment
from contracts.errors import ConfigError
from contracts.profile import KnowledgeFolder
from contracts.values import Source


def run(options: argparse.Namespace) -> int:
    """Index the folders named, with a progress bar; files that were left out are named with the reason."""
    deployed = deployment(options.profile)
    if options.path:
        folders = [(Path(options.path).expanduser(), Source(options.source), options.version)]
    else:
        folders = profile_folders(deployed)
    for path, source, version in folders:
        index_folder(deployed, path, source, version)
    return 0


def profile_folders(deployed: Deployment) -> list[tuple[Path, Source, str | None]]:
    """Return the folders that a profile names, resolved against the place of its file.

    Raises:
        ConfigError: It names none.
    """
    profile = deployed.profile
    base = profile_path(deployed.settings.profile).parent
    if not profile.knowledge:
        raise ConfigError(
            f"The profile {profile.name!r} names no folder of documents.",
            f"Name one: `guardian index path/to/docs --profile {deployed.settings.profile}`.",
        )

    def where(folder: KnowledgeFolder) -> Path:
        return (base / folder.path).resolve()

    return [(where(folder), folder.source, folder.version or profile.default_version) for folder in profile.knowledge]


def index_folder(deployed: Deployment, path: Path, source: Source, version: str | None) -> None:
    """Index one folder and say what came of it."""
    from tqdm import tqdm

    from adapters.sources.markdown import ingest

    with tqdm(unit=" files", desc=_short(path), file=sys.stderr, mininterval=0.2, leave=False) as bar:

        def advance(done: int, total: int, _path: str) -> None:
            bar.total = total
            bar.update(done - bar.n)

        report = ingest(
            deployed.knowledge_folder,
            path,
            source=source,
            version=version,
            kb_ids_from=deployed.profile.kb_ids_from,
            on_progress=advance,
        )
    for name, reason in report.skipped:
        print(f"left out: {name}: {reason}", file=sys.stderr)
    print(
        f"{_short(path)}: {report.added} added, {report.changed} changed, {report.removed} removed, "
        f"{report.unchanged} unchanged, {len(report.skipped)} left out; {report.chunks} passages in all, "
        f"{report.seconds:.1f} s"
    )


def _short(path: Path) -> str:
    resolved = path.resolve()
    return str(resolved.relative_to(PROJECT)) if resolved.is_relative_to(PROJECT) else str(path)
