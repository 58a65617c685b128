"""`guardian backup` and `guardian restore`: a copy of all that cannot be made again, in a folder, and back.

The folder is a data folder: conversations and hand-offs are in files of SQLite's there, whatever storage they come from.
"""

from __future__ import annotations

import argparse
import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from adapters.data_folder import make_folder, replace_file
from assistant.cli.copying import copy_with_progress, print_copied
from assistant.config.settings import StorageSettings
from assistant.deployment import Deployment, deployment
from assistant.turns.progress import own_language, phrases
from assistant.wiring.access import keys_of
from assistant.wiring.storage import has_conversations, has_hand_offs, name_storage
from contracts.errors import InputError

MANIFEST: Final = "backup.json"
_WAIT_S: Final = 60.0
"""How long a conversation that answers a message is waited for, in seconds."""


class _Manifest(BaseModel):
    """What stands in the folder beside the copy.

    Attributes:
        profile: The profile's name.
        begun: When the copy was begun, in UTC.
        complete: Whether everything is in it.
    """

    model_config = ConfigDict(frozen=True)

    profile: Annotated[str, Field(min_length=1)]
    begun: str
    complete: bool = False


def run(options: argparse.Namespace) -> int:
    """Back up or restore; exit code 1 if conversations were left alone."""
    deployed, folder = deployment(options.profile), Path(options.folder)
    return _restore(deployed, folder, options) if options.action == "restore" else _back_up(deployed, folder, options)


def _back_up(deployed: Deployment, folder: Path, options: argparse.Namespace) -> int:
    kept = has_conversations(deployed) or has_hand_offs(deployed) or deployed.review_cases_file.exists()
    if not kept and not keys_of(deployed).wanted:
        raise InputError(f"There are no conversations in {name_storage(deployed)}.", "Nothing has to be backed up.")
    _make_empty(folder)
    manifest = _Manifest(profile=deployed.profile.name, begun=datetime.now(UTC).isoformat(timespec="seconds"))
    _write(folder, manifest)
    target = _data_folder(deployed, folder)
    copied = copy_with_progress(deployed, target, _WAIT_S)
    _copy_cases(deployed, target)
    shutil.rmtree(target.locks_folder, ignore_errors=True)
    if not copied.conversations.left:
        _write(folder, manifest.model_copy(update={"complete": True}))
    said = "backup_left" if copied.conversations.left else "backup_done"
    return print_copied(copied, phrases(own_language())[said].format(folder=folder), as_json=options.json)


def _restore(deployed: Deployment, folder: Path, options: argparse.Namespace) -> int:
    manifest = _read_manifest(folder)
    if manifest is None:
        raise InputError(f"{folder} is no backup: it has no {MANIFEST}.", "Name a folder that `guardian backup` wrote.")
    if manifest.profile != deployed.profile.name:
        raise InputError(
            f"The backup is of the profile {manifest.profile!r}, and not of {deployed.profile.name!r}.",
            "Name its profile with --profile.",
        )
    if not manifest.complete and not options.incomplete:
        raise InputError(
            "The backup is incomplete: it was broken off, or conversations were in use.",
            "Restore another one, or what is there of it: --incomplete.",
        )
    make_folder(deployed.settings.data.folder)
    # A backup may lie where nothing can be written, and databases are opened by writing beside them.
    with TemporaryDirectory(prefix=".restore-", dir=deployed.settings.data.folder) as place:
        copy = shutil.copytree(folder, Path(place) / "backup")
        source = _data_folder(deployed, copy)
        copied = copy_with_progress(source, deployed, _WAIT_S)
        _copy_cases(source, deployed)
    following = phrases(own_language())["backup_restored"].format(storage=name_storage(deployed))
    return print_copied(copied, following, as_json=options.json)


def _make_empty(folder: Path) -> None:
    """Make the folder of a new backup.

    Raises:
        InputError: There is something already, or it cannot be made.
    """
    if (begun := _read_manifest(folder)) is not None:
        what = "a backup" if begun.complete else "an incomplete backup"
        raise InputError(f"There is {what} in {folder} already.", "Delete it, or name another folder.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is not an empty folder.", "Name one that is empty, or that is not there.")
    try:
        make_folder(folder)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}.", "Name a folder that can be written.") from error


def _read_manifest(folder: Path) -> _Manifest | None:
    try:
        return _Manifest.model_validate_json((folder / MANIFEST).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValidationError) as error:
        raise InputError(f"{folder / MANIFEST} cannot be read.", "Name another backup.") from error


def _write(folder: Path, manifest: _Manifest) -> None:
    replace_file(folder / MANIFEST, json.dumps(manifest.model_dump(), indent=2) + "\n")


def _data_folder(deployed: Deployment, folder: Path) -> Deployment:
    """Return the deployment with the folder for its data folder, and its conversations in a file there."""
    settings = deployed.settings
    return replace(
        deployed,
        settings=replace(
            settings,
            data=settings.data.model_copy(update={"folder": folder}),
            storage=StorageSettings.read({"GUARDIAN_DATABASE": ""}),
        ),
        conversations=None,
    )


def _copy_cases(source: Deployment, target: Deployment) -> None:
    """Copy the cases of reviewers, unless there are some."""
    if source.review_cases_file.exists() and not target.review_cases_file.exists():
        replace_file(target.review_cases_file, source.review_cases_file.read_bytes().decode("utf-8", "replace"))
