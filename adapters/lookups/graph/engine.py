"""The port of graph engines: one reading statement, with values as parameters, within limits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from contracts.errors import ConfigError, SourceUnavailable

Value = str | int | float | bool | None
Row = dict[str, Value | bytes]

_TEXT = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|//[^\n]*|/\*.*?\*/", re.DOTALL)
_BEGINS = re.compile(r"\s*(?:OPTIONAL\s+)?MATCH\b", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = re.compile(r"(?<=[A-Za-z_])\.[A-Za-z_]\w*|:\s*[A-Za-z_]\w*")
"""A property or a label: no word of the language, whatever it is called."""
_FOREIGN_WORDS = """
    alter analyze attach begin call checkpoint comment commit copy create delete detach drop explain export force
    foreach grant import insert install load macro merge nextval periodic profile remove rename revoke rollback set
    show start terminate transaction uninstall update use using yield
"""
_FOREIGN: Final = frozenset(_FOREIGN_WORDS.split())
_NOT_PORTABLE: Final = frozenset(
    ("allshortestpaths", "elementid", "id", "label", "labels", "offset", "shortestpath", "type")
)


UNNAMED: Final = "the statement"
SLOW: Final = "Ask for less in it, or raise database.seconds in the profile."
TOO_LARGE: Final = "Return less in it, or raise database.max_bytes in the profile."


@dataclass(frozen=True, slots=True)
class StatementLimits:
    """The limits of one statement.

    Attributes:
        rows: Rows that are read; one row beyond them shows that there are more.
        size: Bytes of all their values together, in UTF-8, at most.
        seconds: The time after which the engine stops the statement.
    """

    rows: int = 50
    size: int = 50_000
    seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class RowSet:
    """The rows of one statement, in its order, each by column; `cut` says why more rows are missing."""

    rows: list[Row]
    cut: str = ""


class GraphEngine(Protocol):
    """A graph that statements are run on; safe to use from several threads."""

    def run(
        self, statement: str, parameters: Mapping[str, Value], limits: StatementLimits, asked: str = UNNAMED
    ) -> RowSet:
        """Return the rows of one statement, in its order, each by the names of its columns.

        Args:
            statement: It only reads; see `check`.
            parameters: Its values by name.
            limits: Its limits.
            asked: Its name in messages: `name_statement` of a lookup.

        Raises:
            SourceUnavailable: It could not be run, or not in time, or even its first row is too large.
        """
        ...

    def close(self) -> None:
        """Release the graph."""
        ...


def check(statement: str, name: str) -> None:
    """Refuse a statement that does more than read, or that only one of the engines knows.

    Opening an engine for reading only does not protect enough: ladybug still writes files (COPY TO, EXPORT), reads any
    file (LOAD FROM) and downloads extensions (INSTALL).

    Args:
        statement: One statement: MATCH, WHERE, WITH, UNWIND, RETURN, ORDER BY, SKIP, LIMIT, UNION.
        name: Of the lookup, for the message.

    Raises:
        ConfigError: It is another kind of statement, or more than one.
    """
    bare = _TEXT.sub(" ", statement)
    words = {word.lower() for word in _WORD.findall(_NAME.sub(" ", bare))}
    called = {word.lower() for word in re.findall(r"([A-Za-z_]\w*)\s*\(", bare)}
    if not _BEGINS.match(bare):
        fault = "does not begin with MATCH"
    elif ";" in bare or any(mark in bare for mark in "'\"`"):
        fault = "is not one statement"
    elif foreign := sorted(words & _FOREIGN):
        fault = f"has {', '.join(foreign).upper()}"
    elif foreign := sorted(called & _NOT_PORTABLE):
        fault = f"calls {', '.join(foreign)}, which not every engine has"
    else:
        return
    raise ConfigError(
        f"The statement of the lookup {name!r} {fault}.",
        "Write one statement of MATCH, WHERE, WITH, UNWIND, RETURN, ORDER BY, SKIP, LIMIT and UNION.",
    )


def name_statement(lookup: str) -> str:
    """Return the name of a lookup's statement in messages."""
    return f"the lookup {lookup!r}"


def take_rows(rows: Iterable[Row], limits: StatementLimits, asked: str) -> RowSet:
    """Return whole rows up to a limit, and say what was left out, because half a list looks like a whole one.

    Raises:
        SourceUnavailable: Even the first row is too large: without it, the result would look empty.
    """
    kept: list[Row] = []
    size = 0
    for row in rows:
        size += sum(_size(value) for value in row.values())
        if size > limits.size and not kept:
            raise SourceUnavailable(
                f"{asked[0].upper()}{asked[1:]} has a row of more than {limits.size} bytes.", TOO_LARGE
            )
        if size > limits.size or len(kept) == limits.rows:
            limit = f"{limits.size} bytes" if size > limits.size else f"{limits.rows} rows"
            return RowSet(kept, f"there are more than {limit}: the first {len(kept)} rows were taken")
        kept.append(row)
    return RowSet(kept)


def _size(value: Value | bytes) -> int:
    return len(value if isinstance(value, bytes) else str(value).encode(errors="replace")) if value is not None else 0


def plain_value(value: object) -> Value | bytes:
    """Return a value in a form for sentences: lists joined, dates and numbers as written."""
    if value is None or isinstance(value, str | bool | int | float | bytes):
        return value
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, list | tuple):
        parts: list[object] = list(value)  # pyright: ignore[reportUnknownArgumentType]  # a vendor's list of anything
        return ", ".join(str(plain_value(part)) for part in parts)
    return str(value)
