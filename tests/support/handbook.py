"""The bundled handbook, indexed once for a whole run of the suite: to read it in takes seconds of a processor."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock

from assistant.deployment import deployment
from assistant.indexing import index_documents, profile_folders


def indexed_handbook(place: Path) -> Path:
    """Return a data directory below a folder that all workers share; whoever asks first makes it.

    Asserts that all its pages are indexed without a complaint.
    """
    ready = place / "handbook"
    with FileLock(place / "handbook.lock"):
        if not ready.is_dir():
            made = place / "handbook-half"
            deployed = deployment(
                "handbook", {"GUARDIAN_DATA_DIR": str(made), "GUARDIAN_EMBEDDER": "off", "GUARDIAN_RERANKER": "off"}
            )
            report = index_documents(deployed, profile_folders(deployed))
            assert (report.skipped, report.warnings) == ([], [])
            made.rename(ready)
    return ready
