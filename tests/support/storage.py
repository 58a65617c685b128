"""The storage of conversations as the product opens it, of either engine, for tests that bring their own graph."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.storage.claims import Claims, FileClaims
from adapters.storage.database import Database
from assistant.turns.transcript import TurnStore


def read_result(file: Path, thread: str) -> dict[str, Any]:
    """Return the whole result of the last turn of a conversation, whose stored id ends so, as a file has it."""
    with closing(sqlite3.connect(file)) as database:
        select = "SELECT result, details FROM turns WHERE thread_id LIKE ? ORDER BY number DESC"
        text, details = database.execute(select, (f"%{thread}",)).fetchone()
    return {**json.loads(text), **json.loads(zlib.decompress(details))}


def read_files(folder: Path) -> list[bytes]:
    """Return every file of a folder, and what is compressed in the conversations' among them."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    found = [path.read_bytes() for path in files]
    for path in files:
        if path.name == "threads.db":
            with closing(sqlite3.connect(path)) as database:
                for (value,) in database.execute(
                    "SELECT details FROM turns UNION ALL SELECT checkpoint FROM checkpoints WHERE type LIKE 'zlib:%'"
                ):
                    found += [zlib.decompress(value)] if value else []
    return found


@dataclass
class Storage:
    """Storage that is open.

    Attributes:
        database: The tables.
        store: The transcript in them.
        saver: LangGraph's.
        claims: Of this process.
    """

    database: Database
    store: TurnStore
    saver: Any
    claims: Claims


@asynccontextmanager
async def open_storage(data: Path, url: str = "", **claiming: float) -> AsyncGenerator[Storage]:
    """Open a storage: a file of a folder, or a schema of a server that bears the folder's name.

    Args:
        data: The folder.
        url: Of the server; empty for a file.
        claiming: Settings of the claims, in seconds; for a server.
    """
    if not url:
        from adapters.checkpoints.sqlite import open_saver
        from adapters.storage.sqlite import SqliteDatabase

        file = data / "threads.db"
        async with open_saver(file) as saver:
            database = await SqliteDatabase.open(file)
            try:
                yield Storage(database, await TurnStore.within(database), saver, FileClaims(data / "locks"))
            finally:
                await database.close()
        return
    from adapters.checkpoints.postgres import PruningPostgresSaver
    from adapters.storage.postgres import PostgresDatabase, Server
    from adapters.storage.postgres_claims import PostgresClaims

    server = Server(url, f"test_{data.name}")
    tables = await PostgresDatabase.open(server)
    claims = PostgresClaims(server, **claiming)
    try:
        saver = PruningPostgresSaver(tables)
        await saver.setup()
        yield Storage(tables, await TurnStore.within(tables), saver, claims)
    finally:
        await claims.close()
        await tables.close()
