"""Files that an operator puts into a folder of documents: checked as a whole before indexing can see them."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Final

from adapters.index.embedded.ingestion import MAX_BYTES
from adapters.reading.document import Unfit, suffix_of
from adapters.reading.files import SUFFIXES, limit
from adapters.reading.stop_switch import ReadingStopped, StopSwitch
from adapters.reading.texts import TextReader
from assistant.web.callers import identify
from contracts.errors import GuardianError
from language.attacks.orders import orders_in
from language.clean import clean

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

    from adapters.index.embedded import Folder
    from assistant.deployment import Deployment

UPLOAD_PATH: Final = "/documents/files"
LONGEST_NAME: Final = 120
"""Characters of a file's name; file systems take 255 bytes, and a letter may have two."""
UPLOAD_S: Final = 120.0
"""Seconds in which the files of an upload must be read, all of them together, once their bytes are there."""
_NAME: Final = re.compile(r"[^\W_][\w .,()+&'’«»№-]*", re.UNICODE)
_SHOWN: Final = 160
"""Characters of the first order that a refusal quotes."""


class UploadRefused(Exception):
    """A file that is not taken.

    Args:
        why: Which text of the page says so: `page_upload_<why>`.
        values: What stands in it.
    """

    def __init__(self, why: str, **values: object) -> None:
        super().__init__(why)
        self.why = why
        self.values = values


def may_upload(connection: HTTPConnection) -> bool:
    """Whether a request is an upload from somebody who may send one: only such a body may be large."""
    deployed: Deployment = connection.app.state.deployed
    if connection.scope["path"] != UPLOAD_PATH or not any(folder.uploads for folder in deployed.profile.knowledge):
        return False
    try:
        return deployed.profile.sees_all(identify(connection).role)
    except GuardianError:
        return False


def store_upload(folder: Folder, name: str, content: bytes, *, replace: bool, stop: StopSwitch | None = None) -> str:
    """Check a file and put it into a folder of documents; return its name there.

    It is read as indexing reads it, in the same bounds. A file that gives orders to its reader is refused as a whole:
    whoever wrote it did not write it for people.

    Args:
        folder: The folder; made if it is missing.
        name: As the browser gives it; folders in it are dropped.
        content: The file.
        replace: Whether a file of this name may be replaced.
        stop: Ends reading from another thread; a file that was not read by then is not taken.

    Raises:
        UploadRefused: The file is not taken; the folder is as it was.
    """
    named = check_name(name)
    try:
        _check_content(folder, named, content, stop)
    except ReadingStopped as error:
        raise UploadRefused("stopped", name=named, most=f"{UPLOAD_S:g}") from error
    try:
        return _write(folder.path, named, content, replace=replace)
    except OSError as error:
        raise UploadRefused("unwritable", name=named, reason=error.strerror or type(error).__name__) from error


def check_name(name: str) -> str:
    """Return a file's own name, without folders.

    Raises:
        UploadRefused: It cannot name a document.
    """
    bare = clean(PurePosixPath(PureWindowsPath(name).name).name).strip()
    if len(bare) > LONGEST_NAME or not _NAME.fullmatch(bare):
        raise UploadRefused("name", name=bare[:LONGEST_NAME], most=LONGEST_NAME)
    if suffix_of(bare) not in SUFFIXES:
        raise UploadRefused("kind", name=bare, kinds=", ".join(SUFFIXES))
    return bare


def _check_content(folder: Folder, name: str, content: bytes, stop: StopSwitch | None) -> None:
    if len(content) > (most := limit(name, MAX_BYTES)):
        raise UploadRefused("large", name=name, most=f"{most / 1_000_000:g}")
    try:
        with TextReader(stop) as texts:
            text = texts.read(folder.path, name, content, folder.reading).text
    except Unfit as error:
        raise UploadRefused("unfit", name=name, reason=str(error)) from error
    if not text.strip():
        raise UploadRefused("empty", name=name)
    if orders := orders_in(text):
        _, start, end = orders[0]
        raise UploadRefused("orders", name=name, said=" ".join(text[start:end].split())[:_SHOWN])


def _write(folder: Path, name: str, content: bytes, *, replace: bool) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    there = next((entry.name for entry in folder.iterdir() if entry.name.casefold() == name.casefold()), None)
    target = folder / (there or name)
    if there is not None and not replace:
        raise UploadRefused("there", name=there)
    if there is not None and (target.is_symlink() or not target.is_file()):
        raise UploadRefused("no_file", name=there)
    # Indexing passes hidden files over, and the name appears with the whole content or not at all.
    handle, whole = tempfile.mkstemp(prefix=".upload-", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(whole).chmod(0o644)
        if there is not None:
            Path(whole).replace(target)
        else:
            # Of two uploads of one name at once, the second finds it there.
            os.link(whole, target)
    except FileExistsError as error:
        raise UploadRefused("there", name=name) from error
    finally:
        Path(whole).unlink(missing_ok=True)
    return target.name
