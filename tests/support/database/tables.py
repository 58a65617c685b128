"""Lookups and the tables that they are asked of: a small library's loans, in a real database."""

from __future__ import annotations

import hashlib
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from adapters.lookups.sql import DatabaseSource
from contracts.errors import SourceUnavailable
from contracts.lookups import Lookup, LookupCall, LookupValue
from contracts.ports import SearchReply, SearchRequest
from contracts.profile import Database

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
"""A Wednesday."""
ROWS = [(1, "apple", "2026-11-16"), (2, "apple pie", "2026-11-17"), (3, "apple 'tart'", "2026-10-02"), (4, "pear", "-")]
SCHEMA = "CREATE TABLE loans (id INTEGER, title TEXT, day TEXT)"


def lookup(statement: str, **changes: Any) -> Lookup:
    """Return a lookup called `asked`, which answers "apple" and says what stands in the column `a`."""
    return Lookup.model_validate(
        {
            "name": "asked",
            "source": "db",
            "title": {"en": "Loans", "ru": "Выдачи"},
            "answers": {"en": ["apple"], "ru": ["яблоко"]},
            "statement": statement,
            "row": {"en": "Lent: {a}", "ru": "Выдано: {a}"},
            "none": {"en": "Nothing was lent.", "ru": "Ничего не выдано."},
            **changes,
        }
    )


def text_argument(name: str = "title", **changes: Any) -> dict[str, Any]:
    return {"name": name, "type": "text", **changes}


def call(**values: str) -> LookupCall:
    """Return a call of `asked`."""
    return LookupCall(name="asked", arguments=tuple(LookupValue(name=n, value=v) for n, v in values.items()))


def sqlite_file(path: Path) -> Path:
    with sqlite3.connect(path) as connection:
        connection.execute(SCHEMA)
        connection.executemany("INSERT INTO loans VALUES (?, ?, ?)", ROWS)
    connection.close()
    return path


def source(url: str | Path, *lookups: Lookup, **limits: Any) -> DatabaseSource:
    return DatabaseSource(lookups, url, Database.model_validate(limits), now=lambda: NOW)


async def ask(url: str | Path, statement: str, *calls: LookupCall, **changes: Any) -> SearchReply:
    """Run one statement within a second, as a lookup that the plan named."""
    limits = changes.pop("limits", {"seconds": 1.0})
    request = SearchRequest("-", lookups=calls or (call(),), top_k=1000)
    return await source(url, lookup(statement, **changes), **limits).search(request)


async def ask_in_vain(url: str | Path, statement: str, **changes: Any) -> str:
    """Run a statement that must not end well; return what was said, with the way out."""
    with pytest.raises(SourceUnavailable) as caught:
        await ask(url, statement, **changes)
    assert caught.value.way_out
    return str(caught.value)


def list_snippets(reply: SearchReply) -> list[str]:
    return [item.snippet for item in reply.items]


def state_of(path: Path) -> str:
    """Return a sign of a file and of the names beside it: whoever changes either changes the sign."""
    return hashlib.sha256(path.read_bytes()).hexdigest() + str(sorted(p.name for p in path.parent.iterdir()))
