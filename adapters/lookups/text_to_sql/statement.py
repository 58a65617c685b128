"""A statement that may run, and why another one may not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from contracts.profile import TextToSql


class RefusedStatement(ValueError):
    """A statement that may not run; says why, in words that a model can act on."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that may run.

    Attributes:
        text: Written anew, with `:p1` and so on for its strings.
        values: These strings.
        readable: What it may read, by table and column in lower case: all that the profile allows.
    """

    text: str
    values: Mapping[str, str]
    readable: Mapping[str, frozenset[str]]


def readable(allowed: TextToSql) -> dict[str, frozenset[str]]:
    """Return the columns that may be read, by table, in lower case."""
    return {
        table.name.rpartition(".")[2].lower(): frozenset(column.name.lower() for column in table.columns)
        for table in allowed.tables
    }
