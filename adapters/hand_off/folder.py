"""A folder that receives hand-offs: two files each, `.md` for people and `.json` for programs."""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Final

from adapters.data_folder import make_folder
from adapters.hand_off.delivery import Delivery
from adapters.models.retries import in_time
from contracts.enums import FaultKind
from contracts.errors import ServerFault

_WAY_OUT: Final = "Check that the folder can be written and its disk has space (GUARDIAN_HANDOFF_TO)."


_HALF: Final = re.compile(r"\.\d{8}T\d{6}Z-[0-9a-f]{16}\.(?:md|json)\.\d+\.tmp")
"""The names of files that are being written."""


class HandOffFolder:
    """A channel that writes tickets into a folder, which it makes if it is missing.

    The files hold users' words: only their owner may read them (mode 0600) and list a folder that is made here (0700).

    A ticket's files have the same name at every try, so a retry finds them. The JSON file is written last: if it is
    there, both files are. Each file appears whole, or not at all.

    Args:
        folder: On a file system with atomic renames.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def name(self) -> str:
        return str(self._folder)

    async def send(self, delivery: Delivery, deadline: float) -> None:
        """Write both files.

        Raises:
            ServerFault: They cannot be written.
        """
        try:
            await in_time(asyncio.to_thread(self._write, delivery), deadline)
        except ServerFault as fault:
            raise ServerFault(
                f"The folder {self._folder} did not take it in time.", _WAY_OUT, kind=fault.kind
            ) from fault
        except OSError as error:
            raise ServerFault(
                f"The folder {self._folder} did not take it: {error.strerror or type(error).__name__}.",
                _WAY_OUT,
                kind=FaultKind.UNREACHABLE,
            ) from error

    def _write(self, delivery: Delivery) -> None:
        make_folder(self._folder)
        _remove_left_over(self._folder)
        name = file_name(delivery)
        last = self._folder / f"{name}.json"
        if last.exists():
            return
        _write_whole(self._folder / f"{name}.md", delivery.ticket.text.encode("utf-8", "replace"))
        _write_whole(last, delivery.document)
        _flush(self._folder)


def file_name(delivery: Delivery) -> str:
    """Return a name that any file system accepts and that sorts by time: `20261122T075352Z-0123456789abcdef`."""
    moment = delivery.kept_at[:19].replace("-", "").replace(":", "")
    return f"{moment}Z-{delivery.key[:16]}"


def _write_whole(path: Path, content: bytes) -> None:
    # Of this process alone: another one may be writing the same ticket in a folder that two of them share.
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            # Who is killed lets go of it: that is how the next one knows that nobody writes here any more.
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _remove_left_over(folder: Path) -> None:
    """Remove what killed processes left half-written; their tickets are kept, and sent again under another name."""
    for path in folder.iterdir():
        if not _HALF.fullmatch(path.name):
            continue
        # Held by whoever writes it, gone meanwhile, or on a file system that cannot tell: it stays.
        with suppress(OSError), os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW), "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def _flush(folder: Path) -> None:
    """Have the new names survive a power failure, too."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
