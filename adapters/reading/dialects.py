"""Dialects of Markdown: pages are assembled before they are cut, as a site's generator would do it.

`mkdocs` is the dialect of MkDocs, its plugins and PyMdown's extensions:

- includes: `--8<-- "file"`, `{% include-markdown "file" %}`, `{!file!}`, `{* file *}`;
- variables: `{{ name }}`, also in links;
- admonitions, foldable blocks and tabs: `!!! note`, `??? tip`, `=== "Tab"`, `/// note | Title`.

Includes stay inside the folder. What cannot be resolved is left out and reported.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from contracts.enums import Dialect
from language.clean import clean

DEEPEST = 8
"""Files that include one another."""
MOST_INCLUDES = 200
LARGEST = 2_000_000
"""Characters of one page with all that it includes."""
SNIPPETS = (".snippets", "snippets", "includes")
"""Where a file to include is looked for, after the page's own folder and the folder that is indexed."""
_TOLD = 3

_FENCE = re.compile(r"^\s*(`{3,}|~{3,})(.*)$")
_FRONT = re.compile(r"\A---[ \t]*\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)

_SNIPPET = re.compile(r"^([ \t]*)-{1,2}8<-{1,2}[ \t]+[\"']([^\"'\n]{1,500})[\"'][ \t]*$")
_SNIPPETS = re.compile(r"^([ \t]*)-{1,2}8<-{1,2}[ \t]*$")
_MARKER = re.compile(r"-{1,2}8<-{1,2}[ \t]+\[(start|end):[ \t]*([\w-]+)[ \t]*\]")
_INCLUDE = re.compile(
    r"^([ \t]*)(?:\{%-?[ \t]*include(?:-markdown)?[ \t]+[\"']([^\"'\n]{1,500})[\"']([^%\n]{0,500})-?%\}"
    r"|\{!([^!\n]{1,500})!\}|\{\*([^*\n]{1,500})\*\})[ \t]*$"
)
_OPENED = re.compile(r"\{%-?[ \t]*(?:include(?:-markdown)?[ \t]+[\"'][^%]{1,500})?$")
_BOUND = re.compile(r"\b(start|end)[ \t]*=[ \t]*(?:\"([^\"]{1,200})\"|'([^']{1,200})')")

_VARIABLE = re.compile(r"\{\{([^{}\n]{0,300})\}\}")
_STATEMENT = re.compile(r"\{%[^%\n]{0,500}%\}|\{#(?=[ \t])[^#\n]{0,500}#\}")
_CODE_SPAN = re.compile(r"(?<!`)(`{1,8})(?!`).{1,1000}?(?<!`)\1(?!`)")

# These are for lines without blanks at their ends.
_ADMONITION = re.compile(r"^([ \t]*)(?:!!!|\?\?\?\+?)[ \t]+([\w-]+)(?:[ \t]+[\w-]+){0,5}[ \t]*(?:[\"'](.*)[\"'])?$")
_TAB = re.compile(r"^([ \t]*)===[!+]?[ \t]+[\"'](.*)[\"']$")
_BLOCK = re.compile(r"^([ \t]*)/{3,}[ \t]*(?:([\w-]+)[ \t]*(?:\|(.*))?)?$")
_OPTION = re.compile(r"^[ \t]{4,}[\w-]+:(?:[ \t].*)?$")


@dataclass(frozen=True, slots=True)
class DialectSettings:
    """The settings for reading the pages of a folder."""

    dialect: Dialect = Dialect.PLAIN
    variables: Mapping[str, str] = field(default_factory=dict[str, str])


def is_part(path: str, reading: DialectSettings) -> bool:
    """Return whether Markdown exists only to be included: in MkDocs, its or its folder's name begins with `_`."""
    markdown = path.casefold().endswith((".md", ".markdown"))
    return reading.dialect is Dialect.MKDOCS and markdown and any(part.startswith("_") for part in path.split("/"))


@dataclass(frozen=True, slots=True)
class Flat:
    """An assembled page.

    Attributes:
        text: Markdown that needs no generator.
        lines: For each of its lines, counted from 0, the line of the file, counted from 1, that it comes from.
        alone: Whether only the file itself went into it.
        problem: What was left out, and what to do about it; empty if nothing was.
    """

    text: str
    lines: tuple[int, ...]
    alone: bool = True
    problem: str = ""


class _DialectLine(NamedTuple):
    number: int
    text: str


def flatten(text: str, reading: DialectSettings, *, page: Path, root: Path) -> Flat:
    """Assemble a page.

    Args:
        text: The page.
        reading: Its folder's dialect and variables.
        page: The path of the page.
        root: The folder that is indexed; nothing outside it is included.
    """
    lines = [_DialectLine(number, line) for number, line in enumerate(text.split("\n"), 1)]
    if reading.dialect is Dialect.PLAIN:
        return Flat(text, tuple(line.number for line in lines))
    work = _PageBuilder(reading.variables, root.resolve())
    front = _FRONT.match(text)
    head = front.group().count("\n") if front else 0
    body = work.filled(work.included(lines[head:], page.resolve(), (page.resolve(),)))
    # A page may turn out to be empty; an empty text has one line.
    whole = [*work.filled(lines[:head]), *_unfold_blocks(body)] or [_DialectLine(1, "")]
    return Flat(
        "\n".join(line.text for line in whole), tuple(line.number for line in whole), not work.outside, work.problem()
    )


@dataclass(slots=True)
class _PageBuilder:
    """One page being put together, and what is left out of it."""

    variables: Mapping[str, str]
    root: Path
    outside: bool = False
    size: int = 0
    includes: int = 0
    unread: dict[str, None] = field(default_factory=dict[str, None])
    unknown: dict[str, None] = field(default_factory=dict[str, None])

    def problem(self) -> str:
        """Return what was left out."""
        said: list[str] = []
        if self.unread:
            said.append(
                f"what it includes cannot be had ({_some(self.unread)}): put these files into the folder, as Markdown or text"
            )
        if self.unknown:
            said.append(f"variables have no value ({_some(self.unknown)}): name them under `variables` of the folder")
        return "; ".join(said)

    # -------------------------------------------------------------------------------------------------- includes

    def included(self, lines: Sequence[_DialectLine], page: Path, stack: tuple[Path, ...]) -> list[_DialectLine]:
        """Return lines with their includes resolved; an included line has the number of the line that asks for it."""
        found: list[_DialectLine] = []
        fence = _Fence()
        waiting = deque(_rejoin_includes(lines))
        while waiting:
            line = waiting.popleft()
            inside = fence.holds(line.text)
            block = _SNIPPETS.match(line.text)
            if block and (names := _block_of_snippets(waiting)) is not None:
                for name in names:
                    found += self._file(line, block.group(1), name, page, stack, in_code=inside)
                continue
            asked = _read_include(line.text)
            if asked is None:
                found.append(_DialectLine(line.number, line.text.replace(";--8<--", "--8<--")))
            else:
                found += self._file(
                    line, asked.indent, asked.name, page, stack, bounds=asked.bounds, in_code=inside, fenced=asked.code
                )
        return found

    def _file(
        self,
        line: _DialectLine,
        indent: str,
        name: str,
        page: Path,
        stack: tuple[Path, ...],
        *,
        bounds: Mapping[str, str] | None = None,
        in_code: bool = False,
        fenced: bool = False,
    ) -> list[_DialectLine]:
        self.outside = True
        path, part = self._resolve(name, page)
        text = self._read(path, stack) if path else None
        if path is None or text is None:
            if in_code:
                # Code that only shows what an include looks like.
                return [line]
            self.unread[name] = None
            return [_DialectLine(line.number, "")]
        inner = [_DialectLine(line.number, one) for one in _part(text, part, bounds or {})]
        if fenced and not in_code:
            inner = [_DialectLine(line.number, f"```{path.suffix[1:]}"), *inner, _DialectLine(line.number, "```")]
        elif not in_code:
            inner = self.included(inner, path, (*stack, path))
        return [_DialectLine(one.number, indent + one.text if one.text else "") for one in inner]

    def _resolve(self, name: str, page: Path) -> tuple[Path | None, str]:
        """Return the file of a name, and the part of it that is asked for: `:3:9` or `:section`."""
        name, _, part = name.strip().partition(":")
        if not name or "\x00" in name:
            return None, ""
        relative = name.lstrip("/")
        places = (page.parent / name, self.root / relative, *(self.root / folder / relative for folder in SNIPPETS))
        for place in places:
            try:
                if not place.is_file():
                    continue
                path = place.resolve()
                hidden = path.name.startswith(".") or ".git" in path.parts
                if self.root in path.parents and not hidden:
                    return path, part
            except (OSError, RuntimeError, ValueError):
                continue
        return None, part

    def _read(self, path: Path, stack: tuple[Path, ...]) -> str | None:
        self.includes += 1
        if path in stack or len(stack) > DEEPEST or self.includes > MOST_INCLUDES:
            return None
        try:
            if path.stat().st_size > LARGEST:
                return None
            text = path.read_bytes().decode("utf-8-sig")
        except (OSError, ValueError):
            return None
        text = clean(text)
        self.size += len(text)
        return None if self.size > LARGEST or "\x00" in text else _FRONT.sub("", text)

    # -------------------------------------------------------------------------------------------------- variables

    def filled(self, lines: Iterable[_DialectLine]) -> list[_DialectLine]:
        """Return lines with variables replaced; those without a value are removed from prose and kept in code."""
        fence = _Fence()
        return [
            _DialectLine(line.number, self._in_code(line.text) if fence.holds(line.text) else self._in_prose(line.text))
            for line in lines
        ]

    def _in_prose(self, text: str) -> str:
        if "{{" not in text and "{%" not in text and "{#" not in text:
            return text
        said: list[str] = []
        place = 0
        for span in _CODE_SPAN.finditer(text):
            said += [self._plain(text[place : span.start()]), self._in_code(span.group())]
            place = span.end()
        return "".join([*said, self._plain(text[place:])])

    def _plain(self, text: str) -> str:
        return _STATEMENT.sub("", _VARIABLE.sub(lambda found: self._value(found, ""), text))

    def _in_code(self, text: str) -> str:
        return _VARIABLE.sub(lambda found: self._value(found, found.group()), text) if "{{" in text else text

    def _value(self, found: re.Match[str], otherwise: str) -> str:
        # `{{ name | upper }}`: the name counts, a filter is for looks.
        name = found.group(1).strip("- \t").partition("|")[0].strip()
        if name in self.variables:
            self.outside = True
            return " ".join(self.variables[name].split())
        if not otherwise:
            self.outside = True
            self.unknown[f"{name[:40]}"] = None
        return otherwise


class _Asked(NamedTuple):
    indent: str
    name: str
    bounds: Mapping[str, str]
    code: bool


def _read_include(text: str) -> _Asked | None:
    """Return what a line asks to include."""
    if found := _SNIPPET.match(text):
        return _Asked(found.group(1), found.group(2), {}, code=False)
    if not (found := _INCLUDE.match(text)):
        return None
    indent, name, options, plain, code = found.groups()
    bounds = {bound: one or other for bound, one, other in _BOUND.findall(options or "")}
    if code and code.strip():
        # `{* file hl[1:3] ln[2] *}`: what follows the name is for looks.
        return _Asked(indent, code.split()[0], {}, code=True)
    return _Asked(indent, name or plain, bounds, code=False)


def _block_of_snippets(waiting: deque[_DialectLine]) -> list[str] | None:
    """Take the names of a block, and its end, off what follows its beginning; nothing where it does not end."""
    end = next((n for n, line in enumerate(islice(waiting, MOST_INCLUDES)) if _SNIPPETS.match(line.text)), None)
    if end is None:
        return None
    names = [waiting.popleft().text.strip() for _ in range(end + 1)][:-1]
    return [name for name in names if name and not name.startswith(";")]


def _rejoin_includes(lines: Sequence[_DialectLine]) -> Iterator[_DialectLine]:
    """Yield lines; an include that is written over several is one, with blank lines behind it."""
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if not _OPENED.search(line.text):
            yield line
            continue
        rest = next((n for n in range(number, min(number + 8, len(lines))) if "%}" in lines[n].text), None)
        if rest is None:
            yield line
            continue
        parts = [line.text.rstrip(), *(one.text.strip() for one in lines[number : rest + 1])]
        yield _DialectLine(line.number, " ".join(parts))
        number = rest + 1


def _part(text: str, part: str, bounds: Mapping[str, str]) -> list[str]:
    """Return the lines of a file that are asked for: all, a range, a section, or between two marks."""
    for bound in ("start", "end"):
        before, mark, after = text.partition(bounds.get(bound, "\x00"))
        if mark:
            text = after if bound == "start" else before
    lines = text.strip("\n").split("\n")
    first, _, last = part.partition(":")
    if first.isdecimal() or (not first and last.isdecimal()):
        return lines[int(first or 1) - 1 : int(last) if last.isdecimal() else None]
    kept: list[str] = []
    inside = not first
    for line in lines:
        marker = _MARKER.search(line)
        if marker is None:
            kept += [line] if inside else []
        elif first and marker.group(2) == first:
            inside = marker.group(1) == "start"
    return kept


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _TOLD} more" if len(listed) > _TOLD else ""
    return ", ".join(listed[:_TOLD]) + more


# ------------------------------------------------------------------------------------------------------------ blocks


@dataclass(slots=True)
class _Fence:
    """Tells which lines are code: between two fences, these included."""

    mark: str = ""

    def holds(self, text: str) -> bool:
        found = _FENCE.match(text)
        if not self.mark:
            if found:
                self.mark = found.group(1)
            return bool(found)
        if found and found.group(1).startswith(self.mark) and not found.group(2).strip():
            self.mark = ""
        return True


def _unfold_blocks(lines: Iterable[_DialectLine]) -> Iterator[_DialectLine]:
    """Yield lines with admonitions, foldable blocks and tabs as a bold title and their text."""
    fence = _Fence()
    # The columns at which the texts of the blocks around a line begin; each block shifts its text by four.
    columns: list[int] = []
    options = False
    for line in lines:
        text = line.text.expandtabs(4) if line.text[:1] in " \t" else line.text
        while text.strip() and columns and len(text) - len(text.lstrip(" ")) < columns[-1]:
            columns.pop()
            # A fence ends with the block that it stands in.
            fence.mark = ""
        text = text[4 * len(columns) :] if text.strip() else ""
        if fence.holds(text):
            yield _DialectLine(line.number, text)
            continue
        if options and _OPTION.match(text):
            continue
        options = False
        bare = text.rstrip()
        if found := _ADMONITION.match(bare) or _TAB.match(bare):
            kind, title = (found.group(2), found.group(3)) if found.re is _ADMONITION else ("", found.group(2))
            columns.append(len(found.group(1)) + 4 + 4 * len(columns))
            yield from _title(line.number, found.group(1), kind.capitalize() if title is None else title)
        elif found := _BLOCK.match(bare):
            options = bool(found.group(2))
            title = (found.group(3) or "").strip() or (found.group(2) or "").capitalize()
            yield from _title(line.number, found.group(1), title)
        else:
            yield _DialectLine(line.number, text)


def _title(number: int, indent: str, title: str) -> Iterator[_DialectLine]:
    if title.strip():
        yield _DialectLine(number, f"{indent}**{title.strip()}**")
    yield _DialectLine(number, "")
