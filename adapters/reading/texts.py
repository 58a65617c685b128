"""The text of a file in any format and dialect, and the digest that shows whether it changed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Self

from adapters.reading import files
from adapters.reading.chunks import Chunk
from adapters.reading.converter import Converter
from adapters.reading.dialects import DialectSettings, flatten
from adapters.reading.document import LIBRARIES, Document, suffix_of
from adapters.reading.pdf import PAGE, PAGE_HEADING, PAGE_LINES
from adapters.reading.stop_switch import StopSwitch
from contracts.enums import Dialect
from language.attacks.hidden import without_hidden


@dataclass(frozen=True, slots=True)
class Text:
    """A file as Markdown.

    Attributes:
        text: With front matter, if it has any.
        digest: The hash of everything that went into it.
        alone: Whether that is only the file; else a change elsewhere may change the text.
        problem: What was left out; empty if nothing was.
        lines: For each line its line in the file, if they differ; empty for a file of another format.
    """

    text: str
    digest: str
    alone: bool = True
    problem: str = ""
    lines: tuple[int, ...] | None = None

    @property
    def has_lines(self) -> bool:
        """Whether the file consists of lines that a citation can name."""
        return self.lines is None or bool(self.lines)

    def placed(self, chunk: Chunk) -> Chunk:
        """Return a chunk of this text with its place in the file; line 0 if the file has no lines."""
        if self.lines is None:
            return chunk
        if self.lines:
            return replace(
                chunk, first_line=self.lines[chunk.first_line - 1], last_line=self.lines[chunk.last_line - 1]
            )
        page = PAGE.search(chunk.text)
        path, anchor = chunk.path, chunk.anchor
        if page and not any(PAGE_HEADING.fullmatch(heading) for heading in path):
            path, anchor = (*path, page.group(1)), page.group(2)
        # Numbers of pages are shown with a passage, and are no words of it.
        headings = [part for part in chunk.headings.split(" \n") if not PAGE_HEADING.fullmatch(part)]
        return replace(
            chunk,
            path=path,
            anchor=anchor,
            first_line=0,
            last_line=0,
            text=PAGE_LINES.sub("", chunk.text),
            headings=" \n".join(headings),
        )


class TextReader:
    """A reader of files as text, used as a context manager; a process beside converts files of other formats.

    Args:
        stop: Ends reading from another thread.
    """

    def __init__(self, stop: StopSwitch | None = None) -> None:
        self._stop = stop or StopSwitch()
        self._converter: Converter | None = None

    def known_as(self, path: str, content: bytes, reading: DialectSettings) -> str | None:
        """Return the digest of a file; `None` if it depends on reading the file as text."""
        return None if _is_flattened(path, reading) else sha256(content).hexdigest()

    def read(self, root: Path, path: str, content: bytes, reading: DialectSettings) -> Text:
        """Return a file as Markdown, without what its reader does not see.

        Args:
            root: The folder that is indexed.
            path: The file's path in it.
            content: What the file holds.
            reading: How the Markdown of the folder is written.

        Raises:
            Unfit: It cannot be read as text.
            ReadingStopped: Somebody ended reading.
        """
        self._stop.check()
        if suffix_of(path) in LIBRARIES:
            found = self._convert(suffix_of(path), content)
            return Text(_with_front_matter(found, path), sha256(content).hexdigest(), problem=found.problem, lines=())
        text = _as_seen(files.decode(content))
        if not _is_flattened(path, reading):
            return Text(text, sha256(content).hexdigest())
        flat = flatten(text, reading, page=root / path, root=root)
        known = content if flat.alone else flat.text.encode("utf-8", "replace")
        digest = sha256(f"{reading.dialect}\n".encode() + known).hexdigest()
        return Text(flat.text, digest, flat.alone, flat.problem, flat.lines)

    def _convert(self, kind: str, content: bytes) -> Document:
        if self._converter is None:
            self._converter = Converter(stop=self._stop)
        return self._converter.read(kind, content)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._converter is not None:
            self._converter.close()


def _as_seen(text: str) -> str:
    """Return a page without what its reader does not see; its front matter stays as it is."""
    head = _FRONT_MATTER.match(text)
    start = head.end() if head else 0
    return f"{text[:start]}{without_hidden(text[start:])}"


_FRONT_MATTER = re.compile(r"---[ \t]*\n(?=[\w\"'#-][^\n]*[:#])(?:.*\n){0,200}?(?:---|\.\.\.)[ \t]*(?:\n|\Z)")


def _is_flattened(path: str, reading: DialectSettings) -> bool:
    return reading.dialect is not Dialect.PLAIN and suffix_of(path) not in LIBRARIES


_NAMED_BY_FILE = (".xlsx", ".pptx")
"""Where a heading is a place and no title: the name of a sheet, the number of a slide."""


def _with_front_matter(found: Document, path: str) -> str:
    title = found.title or (PurePosixPath(path).stem if suffix_of(path) in _NAMED_BY_FILE else "")
    said = {"title": title, "url": found.url, "updated": found.updated}
    # A string of JSON is one of YAML.
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in said.items() if value]
    return "\n".join(["---", *lines, "---", "", found.text])


def serialise_reading(reading: DialectSettings) -> str:
    """Return a reading as it is stored; empty for the default one."""
    if reading == DialectSettings():
        return ""
    return json.dumps({"dialect": reading.dialect, "variables": dict(reading.variables)}, sort_keys=True)


def as_written(text: str) -> DialectSettings:
    """Return a stored reading."""
    if not text:
        return DialectSettings()
    kept: Mapping[str, object] = json.loads(text)
    variables = kept["variables"]
    assert isinstance(variables, dict)  # noqa: S101 - written above
    return DialectSettings(Dialect(str(kept["dialect"])), {str(name): str(value) for name, value in variables.items()})  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
