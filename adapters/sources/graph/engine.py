"""What a graph engine is to a source: one statement that reads, with values as parameters, within limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from contracts.errors import ConfigError

Value = str | int | float | bool | None
Row = dict[str, Value]

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


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a graph one statement may take.

    Attributes:
        rows: Rows that are read; what is beyond them stays in the engine.
        size: Characters of all their values together, at most.
        seconds: After which the engine breaks the statement off.
    """

    rows: int = 50
    size: int = 50_000
    seconds: float = 5.0


class Engine(Protocol):
    """A graph that statements are run on; safe to use from several threads."""

    def run(self, statement: str, parameters: Mapping[str, Value], limits: Limits) -> list[Row]:
        """Return the rows of one statement, in its order, each by the names of its columns.

        Raises:
            SourceUnavailable: It could not be run, or not in time.
        """
        ...

    def close(self) -> None:
        """Let go of the graph."""
        ...


def check(statement: str, name: str) -> None:
    """Refuse a statement that does more than read, or that only one of the engines knows.

    An engine opened for reading only is not fence enough: ladybug's writes files (COPY TO, EXPORT), reads any (LOAD
    FROM) and fetches extensions (INSTALL) all the same.

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


def within(rows: list[Row], limits: Limits) -> list[Row]:
    """Return the first rows that are within the limits; one that is too large alone is left out, and all after it."""
    kept: list[Row] = []
    size = 0
    for row in rows[: limits.rows]:
        size += sum(len(str(value)) for value in row.values() if value is not None)
        if size > limits.size:
            break
        kept.append(row)
    return kept


def plain_value(value: object) -> Value:
    """Return a value as one of the four that a sentence is made of; lists joined, dates and numbers as written."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        parts: list[object] = list(value)  # pyright: ignore[reportUnknownArgumentType]  # a vendor's list of anything
        return ", ".join(str(plain_value(part)) for part in parts)
    return str(value)
