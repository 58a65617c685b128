"""The tree of an earlier commit, to run it beside this one."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def extract_commit(commit: str, folder: Path) -> Path:
    """Write the files of a commit of this repository into a folder, and return the folder.

    Raises:
        subprocess.CalledProcessError: There is no such commit.
    """
    archive = subprocess.run(["git", "-C", str(ROOT), "archive", commit], check=True, stdout=subprocess.PIPE).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        extract(files, folder)
    return folder


def extract(archive: tarfile.TarFile, folder: Path) -> None:
    """Write the files of an archive of ours into a folder; Pythons before 3.11.4, such as Debian 12's, have no filter."""
    if hasattr(tarfile, "data_filter"):
        archive.extractall(folder, filter="data")
    else:
        archive.extractall(folder)  # noqa: S202  # it is ours
