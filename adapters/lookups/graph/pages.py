"""Nodes and relations of the graph, extracted from the Markdown of the pages in the system of record.

There is no fixed list of names. A setting is a variable or key that the pages present as one: a heading names it, the
first column of a table of settings has it, or code gives it a value. Lookalikes do not count: a name in a statement, or
another program's variable in passing. A command is a span of code with only the program's name and the words of the
command (`guardian index`). An error is a row of a table with a column that says what to do.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote

from pydantic import BaseModel

from adapters.reading.chunks import heading_text, slug
from adapters.reading.plain import plain
from contracts import enums as values
from contracts.context import Context
from contracts.profile import Profile
from language.blocks import Block, BlockKind, blocks
from language.clean import fold
from language.patterns import read_wording
from language.sentences import sentences
from language.words import Phrases

_WORDING: Final = read_wording(__name__)

PROGRAM: Final = "guardian"

_CODE = re.compile(r"(?<!`)(`{1,3})(?!`)([^`\n]{1,300})(?<!`)\1(?!`)")
_VARIABLE = re.compile(r"(?<![\w$-])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?![\w-])")
_KEY = re.compile(r"(?<![\w.-])[a-z]+(?:_[a-z]+)+(?![\w(-])")
_TABLE_HEAD = re.compile(r"^[^\S\n]*+\[{1,2}([a-z_]+)(?:\.[\w.]+)?\]{1,2}[^\S\n]*$", re.MULTILINE)
_ASSIGNED_KEY = re.compile(r"^[^\S\n]*+([a-z_]++)\s*=\s*\S", re.MULTILINE)
_ASSIGNED_VARIABLE = re.compile(r"(?<![\w$-])([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)=(?=\S)")
_COMMAND = re.compile(rf"{PROGRAM}((?: [a-z][a-z-]*){{1,2}})")
_CALLED = re.compile(
    rf"(?<![\w./-]){PROGRAM}((?: [a-z][a-z-]*){{1,2}})(?![\w./=-])|(?<![\w./-]){PROGRAM}( [a-z][a-z-]*)"
)
_LINK = re.compile(r"\]\(\s*+<?([^()\s<>]++(?:\([^()\s]*+\)[^()\s<>]*+)?+)>?[^()\n]*+\)")
_DEFINITION = re.compile(r"^ {0,3}\[[^\[\]\n]{1,200}\]:[ \t]*<?([^\s<>]+)", re.MULTILINE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:|//|\\", re.IGNORECASE)
_ANCHOR = re.compile(r"\{[:\s]*+#([^\s{}]++)[^{}]*+\}\s*$")
_HEADING_MARKS = re.compile(r"^ {0,3}#{1,6}[ \t]+|(?<![ \t])[ \t]++#++[ \t]*$")
_CELL = re.compile(r"(?<!\\)\|")
_SETTING = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[_.][A-Za-z0-9]+)*")
_SETTING_HEADS = _WORDING.pattern("setting_heads")
_LONGEST_OPENING: Final = 500
_REMEDIES: Final = _WORDING.words("remedies")


@dataclass(frozen=True, slots=True)
class RecordedPage:
    """A document of the record, with its passages in order."""

    path: str
    title: str
    kb_id: int | None
    url: str
    language: str
    version: str
    source: str
    passages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PageSection:
    """A heading and the text below it.

    Attributes:
        opening: The first sentences below it, without those that announce a list.
        trouble: Whether it is about something that does not work.
    """

    id: str
    path: str
    heading: str
    anchor: str
    opening: str
    trouble: bool


@dataclass(frozen=True, slots=True)
class ErrorEntry:
    """An error, and what to do about it."""

    id: str
    section: str
    name: str
    remedy: str


@dataclass(slots=True)
class PageGraph:
    """Nodes by their names and relations as pairs of names, each once; in the order in which the pages have them."""

    pages: list[RecordedPage] = field(default_factory=list[RecordedPage])
    sections: list[PageSection] = field(default_factory=list[PageSection])
    faults: list[ErrorEntry] = field(default_factory=list[ErrorEntry])
    settings: dict[str, None] = field(default_factory=dict[str, None])
    commands: dict[str, None] = field(default_factory=dict[str, None])
    relations: dict[tuple[str, str, str], dict[tuple[str, str], None]] = field(
        default_factory=dict[tuple[str, str, str], dict[tuple[str, str], None]]
    )
    """By name, label from and label to."""

    def relate(self, name: str, start: tuple[str, str], end: tuple[str, str]) -> None:
        """Add a relation; a node is its label and its key."""
        self.relations.setdefault((name, start[0], end[0]), {})[start[1], end[1]] = None


def find(pages: Iterable[RecordedPage], keys: dict[str, str]) -> PageGraph:
    """Return what the pages say.

    Args:
        pages: In any order.
        keys: The page that holds the content of a file, by the file's folder and path, for links.
    """
    found = PageGraph(pages=sorted(pages, key=lambda page: page.path))
    parts = [(page, list(_sections(page))) for page in found.pages]
    spans = (code for _, sections in parts for part in sections for block in part.blocks for code in _spans(block))
    commands = frozenset(
        f"{PROGRAM}{match.group(1)}" for code in spans if (match := _COMMAND.fullmatch(" ".join(code.split())))
    )
    settings = frozenset(name for _, sections in parts for part in sections for name in _find_presented_settings(part))
    names = _KnownNames(commands, settings)
    for page, sections in parts:
        for part in sections:
            _read(page, part, names, keys, found)
    return found


# ------------------------------------------------------------------------------------------------------- sections


@dataclass(frozen=True, slots=True)
class _KnownNames:
    """What the pages present, all together: only these are looked for in each."""

    commands: frozenset[str]
    settings: frozenset[str]


@dataclass(slots=True)
class _PagePart:
    heading: str
    anchor: str
    blocks: list[Block] = field(default_factory=list[Block])


def _sections(page: RecordedPage) -> Iterator[_PagePart]:
    """Yield a page's sections that say anything; a passage without a heading goes on where the one before it ended."""
    taken: dict[str, int] = {}
    current = _PagePart(page.title, "")
    for passage in page.passages:
        for block in blocks(passage):
            if block.kind is not BlockKind.HEADING:
                current.blocks.append(block)
                continue
            if current.blocks:
                yield current
            written = _HEADING_MARKS.sub("", block.text.split("\n")[0]).strip()
            named = _ANCHOR.search(written)
            title = heading_text(written)
            anchor = named.group(1) if named else slug(title)
            taken[anchor] = taken.get(anchor, 0) + 1
            current = _PagePart(title, anchor if taken[anchor] == 1 else f"{anchor}-{taken[anchor] - 1}")
    if current.blocks:
        yield current


def _read(page: RecordedPage, part: _PagePart, names: _KnownNames, keys: dict[str, str], found: PageGraph) -> None:
    number = f"{page.path}#{part.anchor}"
    me = ("Section", number)
    trouble = bool(_trouble().find(f"{page.title}\n{part.heading}"))
    found.sections.append(PageSection(number, page.path, part.heading, part.anchor, _opening(part), trouble))
    found.relate("HAS_SECTION", ("Page", page.path), me)
    for target in _targets(part, page.path, keys):
        found.relate("LINKS_TO", me, ("Page", target))
        found.relate("LINKS_TO", ("Page", page.path), ("Page", target))
    for node in _nodes(_codes(part.blocks), names, found):
        found.relate("MENTIONS", me, node)
    for name in _find_assigned_variables(part.blocks):
        found.relate("SETS", me, ("Setting", name))
    for name in _variables_and_keys([part.heading], names.settings):
        found.settings.setdefault(name)
        found.relate("DESCRIBES", me, ("Setting", name))
    for block in part.blocks:
        if block.kind is BlockKind.TABLE:
            _read_table(block, me, names, found)


def _read_table(block: Block, me: tuple[str, str], names: _KnownNames, found: PageGraph) -> None:
    head, *rows = [_cells(row) for row in block.parts]
    remedies = len(head) > 1 and fold(plain(head[-1])).strip() in _REMEDIES
    presents = _presents_settings(head)
    for cells in rows:
        first, rest = cells[0] if cells else "", " | ".join(cells[1:])
        subjects = list(_variables_and_keys(_inline(first), names.settings))
        subjects += _settings_of(first) if presents else []
        for subject in dict.fromkeys(subjects):
            found.settings.setdefault(subject)
            found.relate("DESCRIBES", me, ("Setting", subject))
            for other in _variables_and_keys(_inline(rest), names.settings):
                if other not in subjects:
                    found.settings.setdefault(other)
                    found.relate("REFERS_TO", ("Setting", subject), ("Setting", other))
        if remedies and plain(first).strip() and len(cells) > 1:
            # Counted over all tables of a section: one that was cut is two.
            number = sum(fault.section == me[1] for fault in found.faults)
            fault = ErrorEntry(f"{me[1]}/{number}", me[1], _write_cell(first), _write_cell(cells[-1]))
            found.faults.append(fault)
            found.relate("NAMES", me, ("Error", fault.id))
            # A message names a variable without marking it as code.
            for node in _nodes([*_inline(" | ".join(cells)), plain(first)], names, found):
                found.relate("MENTIONS", ("Error", fault.id), node)


def _write_cell(cell: str) -> str:
    """Return a cell as one line; quoted alike in all languages, so that one message is one name."""
    return re.sub("[«»“”„]", '"', " ".join(plain(cell).split()))


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in _CELL.split(row.strip().strip("|"))]


def _opening(part: _PagePart) -> str:
    """Return the first sentences of a section that stand alone: what ends on a colon needs what follows it."""
    prose = next((block for block in part.blocks if block.kind in (BlockKind.PARAGRAPH, BlockKind.QUOTE)), None)
    if prose is None:
        return ""
    kept: list[str] = []
    for sentence in sentences(" ".join(plain(prose.text).split())):
        if sentence.endswith(":") or len(" ".join((*kept, sentence))) > _LONGEST_OPENING:
            break
        kept.append(sentence)
    return " ".join(kept)


# ---------------------------------------------------------------------------------------------------------- names


def _codes(parts: Iterable[Block]) -> Iterator[str]:
    for block in parts:
        if block.kind is BlockKind.CODE:
            yield block.text
        else:
            yield from _inline(block.text)


def _spans(block: Block) -> Iterator[str]:
    return iter(()) if block.kind is BlockKind.CODE else _inline(block.text)


def _inline(text: str) -> Iterator[str]:
    return (match.group(2).strip() for match in _CODE.finditer(text))


def _nodes(codes: Iterable[str], names: _KnownNames, found: PageGraph) -> Iterator[tuple[str, str]]:
    """Yield the settings and commands that pieces of code name, and write them down as nodes."""
    pieces = list(codes)
    for name in _variables_and_keys(pieces, names.settings):
        found.settings.setdefault(name)
        yield "Setting", name
    for name in _commands(pieces, names.commands):
        found.commands.setdefault(name)
        yield "Command", name


def _find_presented_settings(part: _PagePart) -> Iterator[str]:
    """Yield what a section presents as a setting: in its heading, in a table of settings, or by giving it a value."""
    yield from _variables_and_keys([part.heading], None)
    yield from _find_assigned_variables(part.blocks)
    known = _profile_keys()
    for block in part.blocks:
        if block.kind is BlockKind.CODE:
            yield from (name for name in _TABLE_HEAD.findall(block.text) if name in known)
        elif block.kind is BlockKind.TABLE:
            head, *rows = [_cells(row) for row in block.parts]
            if _presents_settings(head):
                yield from (name for cells in rows if cells for name in _settings_of(cells[0]))


def _presents_settings(head: list[str]) -> bool:
    return bool(head and _SETTING_HEADS.search(fold(plain(head[0]))))


def _settings_of(cell: str) -> list[str]:
    """Return the names that a cell of a table of settings has in code; of `thresholds.spam` the key is `spam`."""
    named = (code.rpartition(".")[2] for code in _inline(cell) if _SETTING.fullmatch(code))
    return [name for name in named if name not in _our_values()]


def _variables_and_keys(codes: Iterable[str], settings: frozenset[str] | None) -> Iterator[str]:
    """Yield variables and keys that are among the settings; a key of one word only where it is written as one.

    That is after a dot, at the head of a part of a profile, or before a value; many words are keys, too. Without
    settings to choose from, variables and the keys of a profile are yielded.
    """
    known = _profile_keys()
    for code in codes:
        named = (name for name in _VARIABLE.findall(code) if name not in _our_values())
        yield from (name for name in named if settings is None or name in settings)
        yield from (name for name in _KEY.findall(code) if name in (known if settings is None else settings))
        if settings is not None:
            yield from (name for name in _TABLE_HEAD.findall(code) if name in settings)
            yield from (name for name in _ASSIGNED_KEY.findall(code) if name in settings)
            if "." in code and _SETTING.fullmatch(code) and (name := code.rpartition(".")[2]) in settings:
                yield name


def _find_assigned_variables(parts: Iterable[Block]) -> Iterator[str]:
    known = _profile_keys()
    for code in _codes(parts):
        yield from (name for name in _ASSIGNED_VARIABLE.findall(code) if name not in _our_values())
        yield from (name for name in _ASSIGNED_KEY.findall(code) if name in known)


def _commands(codes: Iterable[str], commands: frozenset[str]) -> Iterator[str]:
    for code in codes:
        for match in _CALLED.finditer(code):
            words = (match.group(1) or match.group(2)).split()
            names = (f"{PROGRAM} {' '.join(words[:count])}" for count in range(len(words), 0, -1))
            if name := next((name for name in names if name in commands), None):
                yield name


@cache
def _profile_keys() -> frozenset[str]:
    """Return every key that a profile or a run can have."""
    names: set[str] = set()
    seen: set[type[BaseModel]] = set()
    waiting: list[object] = [Profile, Context]
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, type) and issubclass(kind, BaseModel) and kind not in seen:
            seen.add(kind)
            names.update(kind.model_fields)
            waiting += [item.annotation for item in kind.model_fields.values()]
        waiting += typing.get_args(kind)
        if isinstance(kind, types.GenericAlias):
            waiting.append(typing.get_origin(kind))
    return frozenset(names)


@cache
def _our_values() -> frozenset[str]:
    """Return what is written like a variable and is a value: request types, actions, verdicts."""
    enums = (kind for kind in vars(values).values() if isinstance(kind, type) and issubclass(kind, StrEnum))
    return frozenset(str(member) for kind in enums for member in kind)


@cache
def _trouble() -> Phrases:
    return Phrases(_WORDING.words("trouble"))


# ---------------------------------------------------------------------------------------------------------- links


def _targets(part: _PagePart, path: str, keys: dict[str, str]) -> Iterator[str]:
    for block in part.blocks:
        if block.kind is BlockKind.CODE:
            continue
        text = _CODE.sub(" ", block.text)
        for written in (*_LINK.findall(text), *_DEFINITION.findall(text)):
            target = keys.get(_resolve_link(path, written), "")
            if target and target != path:
                yield target


def _resolve_link(path: str, written: str) -> str:
    """Return the folder and path that a relative link leads to; empty where it leads elsewhere."""
    target = unquote(re.split(r"[#?]", written, maxsplit=1)[0])
    if not target or _SCHEME.match(target) or target.startswith("/"):
        return ""
    parts: list[str] = []
    for part in (*PurePosixPath(path).parent.parts, *PurePosixPath(target).parts):
        if part != "..":
            parts.append(part)
        elif parts:
            parts.pop()
        else:
            return ""
    return "/".join(parts)
