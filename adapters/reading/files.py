"""The documents under a folder: finding them, and reading them even if they are damaged or unusual."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from adapters.reading.document import LIBRARIES, Unfit, suffix_of
from language.clean import clean

MARKDOWN = (".md", ".markdown")
SUFFIXES = (*MARKDOWN, *LIBRARIES)
_OPEN_IN_OFFICE = "~$"
"""How the file that Word, Excel or PowerPoint keeps beside an open one begins."""
_OLD = {".doc": ".docx", ".xls": ".xlsx", ".ppt": ".pptx"}
_WITH_MACROS = {".docm": ".docx", ".xlsm": ".xlsx", ".xlsb": ".xlsx", ".pptm": ".pptx"}
_UNREAD = {
    **{ending: f"is of an old format, which is not read: save it as {new}" for ending, new in _OLD.items()},
    **{ending: f"may hold macros, and is not read: save it as {new}" for ending, new in _WITH_MACROS.items()},
}
"""Why files are not read that somebody may take for documents that are."""
FACTOR = 5
"""How much larger than a Markdown file one of another format may be: most of it are pictures and fonts."""
_BINARY = b"\x00"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class SkippedFile(NamedTuple):
    """A file that was not read as it is: why, and how to fix it."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A document; `path` is relative to its folder, with `/` between its parts."""

    path: str
    absolute: Path
    size: int
    mtime_ns: int


@dataclass(slots=True)
class Scan:
    """The result of a walk through a folder.

    Attributes:
        unread: Folders that could not be listed, relative; files indexed below them do not count as deleted.
    """

    found: list[FoundFile] = field(default_factory=list[FoundFile])
    skipped: list[SkippedFile] = field(default_factory=list[SkippedFile])
    unread: list[str] = field(default_factory=list[str])

    def covers(self, path: str) -> bool:
        """Return whether a file that was not found is really gone."""
        return not any(folder in ("", path) or path.startswith(f"{folder}/") for folder in self.unread)


def walk(root: Path, others: Collection[Path] = ()) -> Scan:
    """Find the documents under a folder, in a fixed order.

    Hidden folders are left out. Links to folders are not followed: a target inside is found without the link, a target
    outside does not belong to this folder, and loops are avoided. A subfolder that is indexed separately is left out.
    """
    scan = Scan()
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            relative = _relative(folder, root)
            scan.unread.append("" if relative == "." else relative)
            scan.skipped.append(
                SkippedFile(relative, f"the folder cannot be listed ({_describe_error(error)}): allow reading it")
            )
            continue
        waiting += reversed([Path(entry.path) for entry in _list_entries(entries, root, others, scan)])
        for entry in entries:
            if entry.name.startswith(_OPEN_IN_OFFICE):
                continue
            if entry.name.casefold().endswith(SUFFIXES):
                _examine(Path(entry.path), root, scan)
            elif (ending := suffix_of(entry.name)) in _UNREAD and entry.is_file(follow_symlinks=False):
                scan.skipped.append(SkippedFile(clean(_relative(Path(entry.path), root)), _UNREAD[ending]))
    scan.found.sort(key=lambda found: found.path)
    return scan


def _list_entries(
    entries: list[os.DirEntry[str]], root: Path, others: Collection[Path], scan: Scan
) -> Iterator[os.DirEntry[str]]:
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            if Path(entry.path) not in others:
                yield entry
        elif entry.is_symlink() and (path := Path(entry.path)).is_dir():
            target = path.resolve()
            if target == root or target in path.parents:
                scan.skipped.append(SkippedFile(_relative(path, root), "a link loop, not followed: remove the link"))
            elif root not in target.parents:
                reason = "a link out of the folder, not followed: index what it leads to as a folder of its own"
                scan.skipped.append(SkippedFile(_relative(path, root), reason))


def _examine(path: Path, root: Path, scan: Scan) -> None:
    relative = _relative(path, root)
    try:
        state = path.stat()
        # After `stat`, which finds out whether the link leads anywhere.
        outside = path.is_symlink() and root not in path.resolve().parents
    except (OSError, RuntimeError) as error:
        scan.unread.append(relative)
        scan.skipped.append(
            SkippedFile(relative, f"cannot be looked at ({_describe_error(error)}): repair or remove it")
        )
        return
    if stat.S_ISDIR(state.st_mode):
        return
    if relative != clean(relative):
        scan.skipped.append(SkippedFile(clean(relative), "its name has characters that cannot be stored: rename it"))
    elif outside:
        reason = "a link out of the folder, not followed: put a copy in its place"
        scan.skipped.append(SkippedFile(relative, reason))
    elif not stat.S_ISREG(state.st_mode):
        scan.skipped.append(SkippedFile(relative, "is not an ordinary file: remove or rename it"))
    else:
        scan.found.append(FoundFile(relative, path, state.st_size, state.st_mtime_ns))


def limit(path: str, max_bytes: int) -> int:
    """Return how many bytes a file may have; `max_bytes` is the limit for Markdown."""
    return max_bytes if path.casefold().endswith(MARKDOWN) else max_bytes * FACTOR


def read(path: Path, max_bytes: int) -> bytes:
    """Return the content of a file; `max_bytes` is the limit for Markdown.

    Raises:
        Unfit: It is too large.
        OSError: It cannot be read now.
    """
    max_bytes = limit(path.name, max_bytes)
    if path.stat().st_size > max_bytes:
        raise _too_large(max_bytes)
    with path.open("rb") as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise _too_large(max_bytes)
    return content


def _too_large(max_bytes: int) -> Unfit:
    return Unfit(f"is larger than {max_bytes / 1_000_000:g} MB: split it")


def decode(content: bytes) -> str:
    r"""Return the text of a Markdown file, cleaned, with line breaks as `\n`.

    Raises:
        Unfit: It is not UTF-8 text.
    """
    if content.startswith(_UTF16):
        raise Unfit("is UTF-16: save it as UTF-8")
    if _BINARY in content:
        raise Unfit("is a binary file: remove it, or give it a name that does not end in .md")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unfit(f"is not UTF-8 (byte {content[error.start]:#04x} at {error.start}): save it as UTF-8") from error
    return text if text.isascii() and text.replace("\n", "").isprintable() else clean(text)


def why(error: OSError) -> str:
    """Return the message for a file that cannot be read now; its indexed content stays."""
    return f"cannot be read ({_describe_error(error)}): allow reading it, then index again"


def _describe_error(error: Exception) -> str:
    return getattr(error, "strerror", None) or type(error).__name__


def _relative(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()
