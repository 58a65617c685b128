"""Front matter: the YAML block at the top of a page, read for the few keys that matter here.

Keys: `title`, `kbId`, `url`, `updated`, `source` (doc or policy), `version`. Other keys are ignored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from contracts.enums import Source

if TYPE_CHECKING:
    from yaml import BaseLoader

_FENCE = re.compile(r"^---[ \t]*$")
_END = re.compile(r"^(?:---|\.\.\.)[ \t]*$")
_LINE = re.compile(r"^([A-Za-z][\w-]*)[ \t]*:(?:[ \t]+(.*))?$")
_NUMBER = re.compile(r"\d{1,15}(?!\d)")
_URL = re.compile(r"https?://[^\s<>\"]+|(?!//)[^\s<>\":\\]+", re.IGNORECASE)
"""A web address, or a path inside the documents."""
_LARGEST = 65_536
"""Characters; reading takes eight seconds for a million."""
_DEEPEST = 20
_MOST_ALIASES = 100
_LONGEST = 500
"""Lines; a longer block is no front matter but a page that begins with a rule."""


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The front matter of a page; a field is `None` if the page says nothing usable.

    Attributes:
        lines: How many lines at the top of the file belong to it.
        problem: What is wrong with it and how to fix it; empty if nothing is.
    """

    title: str | None = None
    kb_id: int | None = None
    url: str | None = None
    updated: str | None = None
    source: Source | None = None
    version: str | None = None
    lines: int = 0
    problem: str = ""


def read(text: str) -> FrontMatter:
    """Read the front matter of a page; if it is broken, return the readable part and say what is wrong."""
    lines = text.split("\n", _LONGEST + 1)[: _LONGEST + 1]
    if not _FENCE.match(lines[0]):
        return FrontMatter()
    end = next((number for number, line in enumerate(lines[1:], start=1) if _END.match(line)), None)
    if end is None:
        return _read_unclosed(lines)
    values, problem = _values(lines[1:end])
    return _read_known_keys(values, end + 1, problem)


def _read_unclosed(lines: list[str]) -> FrontMatter:
    count = next((n for n, line in enumerate(lines[1:]) if not _LINE.match(line)), len(lines) - 1)
    if not count:
        # A page may begin with a rule.
        return FrontMatter()
    return _read_known_keys(_by_line(lines[1 : count + 1]), count + 1, "has no closing `---`")


def _values(lines: list[str]) -> tuple[dict[str, str], str]:
    import yaml

    text = "\n".join(lines)
    if len(text) > _LARGEST:
        return _by_line(lines), f"has more than {_LARGEST:,} characters, from line 2 on"
    try:
        loaded: object = _loader()(text).get_single_data()
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        return _by_line(lines), f"is not valid YAML ({_where(error, text)})"
    if loaded is None or loaded == "":
        return {}, ""
    if not isinstance(loaded, dict):
        return _by_line(lines), "is not a list of `key: value` lines"
    # The base loader's keys and values are strings, lists and dicts.
    return {str(key): value for key, value in loaded.items() if isinstance(value, str)}, ""  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


@cache
def _loader() -> type[BaseLoader]:
    """Return what reads YAML that anybody may have written: bounded, where a few lines could take a stack or minutes."""
    import yaml

    # The base loader leaves every scalar as it is written: version 5.10 is not 5.1, and `no` is a title.
    class Bounded(yaml.BaseLoader):
        _depth = 0
        _aliases = 0

        def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
            self._aliases += self.check_event(yaml.AliasEvent)
            if self._depth == _DEEPEST:
                raise self._beyond(f"more than {_DEEPEST} levels")
            if self._aliases > _MOST_ALIASES:
                raise self._beyond(f"more than {_MOST_ALIASES} aliases")
            self._depth += 1
            try:
                return super().compose_node(parent, index)
            finally:
                self._depth -= 1

        def _beyond(self, what: str) -> yaml.MarkedYAMLError:
            event = cast("yaml.Event", self.peek_event())
            return yaml.MarkedYAMLError(problem=what, problem_mark=event.start_mark)

    return Bounded


def _where(error: Exception, text: str) -> str:
    mark, position = getattr(error, "problem_mark", None), getattr(error, "position", None)
    said = getattr(error, "problem", None) or getattr(error, "reason", None) or "too deeply nested"
    if mark is None and not isinstance(position, int):
        return str(said)
    return f"{said}, line {(mark.line if mark else text.count(chr(10), 0, position)) + 2}"


def _by_line(lines: list[str]) -> dict[str, str]:
    matches = filter(None, map(_LINE.match, lines))
    return {match.group(1): (match.group(2) or "").strip().strip("'\"") for match in matches}


def _read_known_keys(values: dict[str, str], lines: int, problem: str) -> FrontMatter:
    problems = [problem] if problem else []

    def text(key: str, longest: int) -> str | None:
        value = " ".join(values.get(key, "").split())
        return None if value in ("", "~", "null") else value[:longest]

    url = text("url", 2000)
    # Anything with another scheme could run in a reader's browser; `//host` is an address that looks like a path.
    if url and not _URL.fullmatch(url):
        problems.append("has a `url` that is neither an http address nor a path")
        url = None
    named, source = text("source", 20), None
    if named in (Source.DOC, Source.POLICY):
        source = Source(named)
    elif named:
        problems.append("has a `source` that is neither `doc` nor `policy`")
    number = _NUMBER.match(text("kbId", 40) or "")
    return FrontMatter(
        title=text("title", 300),
        kb_id=int(number.group()) if number else None,
        url=url,
        updated=text("updated", 40),
        source=source,
        version=text("version", 40),
        lines=lines,
        problem=f"its front matter {' and '.join(problems)}: indexed without; correct it and index again"
        if problems
        else "",
    )
