"""Indexing of a deployment's documents, by a command or by a server while it runs; the last run is kept on record.

profile_folders(deployed)                  the folders that the profile names
index_documents(deployed, folders)         brings the index and the graph up to date, and writes the record
read_indexing_record(deployed)             what the last run did
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

from adapters.data_folder import replace_file
from adapters.index.embedded import Folder, IngestReport, ingest
from adapters.reading.dialects import DialectSettings
from assistant.config.profiles import profile_path
from assistant.deployment import Deployment, index_command
from assistant.wiring.graphs import write_graph
from contracts.errors import ConfigError

if TYPE_CHECKING:
    from adapters.index.embedded.ingestion import Progress
    from adapters.reading.files import SkippedFile
    from adapters.reading.stop_switch import StopSwitch

MOST_NOTES = 500
"""Files of one kind that the record names; of more it keeps the number."""


class IndexingNote(BaseModel):
    """A file that was left out, or that is not indexed as it might be: why, and the way out."""

    model_config = ConfigDict(frozen=True)

    path: str
    reason: str


class IndexingRecord(BaseModel):
    """What a run of indexing did.

    Attributes:
        ended_at: When it ended, ISO 8601 in UTC.
        seconds: How long it took.
        added, changed, removed, unchanged: Files.
        documents, policies, passages: What the index holds now; policies are documents, too.
        left_out, warnings: At most `MOST_NOTES` files that are not indexed, and that are not as they might be.
        left_out_in_all, warnings_in_all: How many there are.
    """

    model_config = ConfigDict(frozen=True)

    ended_at: str
    seconds: float
    added: int
    changed: int
    removed: int
    unchanged: int
    documents: int
    policies: int
    passages: int
    left_out: tuple[IndexingNote, ...] = ()
    warnings: tuple[IndexingNote, ...] = ()
    left_out_in_all: int = 0
    warnings_in_all: int = 0


def profile_folders(deployed: Deployment) -> list[Folder]:
    """Return the folders that a profile names, relative to its file.

    Raises:
        ConfigError: The profile names no folder.
    """
    profile = deployed.profile
    base = profile_path(deployed.settings.data.profile).parent
    if not profile.knowledge:
        raise ConfigError(
            f"The profile {profile.name!r} names no folder of documents.", f"Name one: `{index_command(deployed)}`."
        )
    return [
        Folder(
            (base / entry.path).resolve(), entry.source, entry.version, DialectSettings(entry.dialect, entry.variables)
        )
        for entry in profile.knowledge
    ]


def upload_folders(deployed: Deployment) -> list[Folder]:
    """Return the folders into which operators may put files, in the profile's order; none if it allows none."""
    if not deployed.profile.knowledge:
        return []
    folders = zip(deployed.profile.knowledge, profile_folders(deployed), strict=True)
    return [folder for entry, folder in folders if entry.uploads]


def index_documents(
    deployed: Deployment,
    folders: Sequence[Folder],
    on_progress: Progress | None = None,
    stop: StopSwitch | None = None,
) -> IngestReport:
    """Bring the index and the graph of a deployment up to date with folders, and write the record of the run.

    Raises:
        ReadingStopped: `stop` was pressed in another thread; the old index is whole.
        KnowledgeError: A folder does not exist, or the index cannot be written; the old index is whole.
        IndexBusy: Another process is writing it.
    """
    report = ingest(
        folders,
        directory=deployed.knowledge_folder,
        kb_ids_from=deployed.profile.kb_ids_from,
        on_progress=on_progress,
        stop=stop,
    )
    write_graph(deployed)
    replace_file(deployed.indexing_file, _record(report).model_dump_json(indent=1))
    return report


def read_indexing_record(deployed: Deployment) -> IndexingRecord | None:
    """Return what the last run did; `None` if there is no record, or none that can be read."""
    try:
        return IndexingRecord.model_validate_json(deployed.indexing_file.read_bytes())
    except (OSError, ValidationError):
        return None


def _record(report: IngestReport) -> IndexingRecord:
    return IndexingRecord(
        ended_at=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=round(report.seconds, 1),
        added=report.added,
        changed=report.changed,
        removed=report.removed,
        unchanged=report.unchanged,
        documents=report.documents,
        policies=report.policies,
        passages=report.chunks_in_all,
        left_out=_notes(report.skipped),
        warnings=_notes(report.warnings),
        left_out_in_all=len(report.skipped),
        warnings_in_all=len(report.warnings),
    )


def _notes(files: Sequence[SkippedFile]) -> tuple[IndexingNote, ...]:
    return tuple(IndexingNote(path=file.path, reason=file.reason) for file in files[:MOST_NOTES])
