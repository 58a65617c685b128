"""The storage of a deployment's conversations: a file in its folder, or the server that GUARDIAN_DATABASE names."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.storage.claims import FileClaims
from contracts.errors import ConfigError

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from adapters.hand_off.outbox import Place
    from adapters.storage.claims import Claims
    from adapters.storage.database import Database
    from adapters.storage.postgres import Server
    from adapters.storage.schemas import Versions
    from assistant.deployment import Deployment


def has_conversations(deployed: Deployment) -> bool:
    """Whether there may be conversations: a server is always asked, and nothing is made for a file that is not there."""
    return bool(deployed.settings.storage.url) or deployed.threads_file.exists()


def has_hand_offs(deployed: Deployment) -> bool:
    """Whether there may be hand-offs, as `has_conversations` says of conversations."""
    return bool(deployed.settings.storage.url) or _hand_offs_file(deployed).exists()


def name_storage(deployed: Deployment) -> str:
    """Return where conversations are, for people; without a password."""
    return _server(deployed).place if deployed.settings.storage.url else str(deployed.threads_file)


def conversations_url(deployed: Deployment) -> str:
    """Return the address of the server's tables for whoever reads them in SQL; empty if there is no server."""
    if not deployed.settings.storage.url:
        return ""
    from urllib.parse import quote

    url = deployed.settings.storage.url
    options = quote(f"-csearch_path={_server(deployed).schema}")
    return f"{url}{'&' if '?' in url else '?'}options={options}"


@asynccontextmanager
async def open_database(deployed: Deployment) -> AsyncGenerator[Database]:
    """Open the tables of the conversations.

    Raises:
        ThreadError: The storage cannot be used.
        ConfigError: What the server needs is not installed, or a pooler stands in between.
    """
    if deployed.settings.storage.url:
        from adapters.storage.postgres import PostgresDatabase

        database: Database = await PostgresDatabase.open(_server(deployed))
    else:
        from adapters.storage.sqlite import SqliteDatabase

        database = await SqliteDatabase.open(deployed.threads_file)
    try:
        yield database
    finally:
        await database.close()


def claims_of(deployed: Deployment, locks: Path) -> Claims:
    """Return the claims of all processes that share the storage; nothing is opened yet.

    Args:
        deployed: The deployment.
        locks: The folder of lock files, if there is no server.
    """
    if not deployed.settings.storage.url:
        return FileClaims(locks)
    from adapters.storage.postgres_claims import PostgresClaims

    return PostgresClaims(_server(deployed))


@asynccontextmanager
async def open_saver(deployed: Deployment, database: Database) -> AsyncGenerator[BaseCheckpointSaver[str]]:
    """Open LangGraph's saver of checkpoints beside the tables.

    Args:
        deployed: The deployment.
        database: Its tables, open.

    Raises:
        ThreadError: The storage cannot be used.
    """
    if not deployed.settings.storage.url:
        from adapters.checkpoints import sqlite

        async with sqlite.open_saver(deployed.threads_file) as saver:
            yield saver
        return
    from adapters.checkpoints.postgres import PruningPostgresSaver
    from adapters.storage.postgres import PostgresDatabase

    assert isinstance(database, PostgresDatabase)  # noqa: S101  # opened by the same settings
    on_server = PruningPostgresSaver(database)
    await on_server.setup()
    yield on_server


async def migrate(deployed: Deployment) -> dict[str, Versions]:
    """Make the tables on the server, or bring them to this version of the program; return what was done, by schema.

    Raises:
        ThreadError: The server cannot be used, or its tables are of a version that this program cannot use.
        ConfigError: What the server needs is not installed, or a pooler stands in between.
    """
    from adapters.storage.postgres_access import SCHEMA
    from adapters.storage.schemas import ACCESS, CONVERSATIONS, bring_forward

    own = _server(deployed)
    shared = shared_server(deployed, SCHEMA) or own
    done: dict[str, Versions] = {}
    for server, schema in ((own, CONVERSATIONS), (shared, ACCESS)):
        with server.errors_as_ours():
            async with await server.connect() as connection:
                done[server.schema] = await bring_forward(connection, server.place, schema, server.schema)
    async with open_database(deployed) as database, open_saver(deployed, database):
        pass  # LangGraph's own tables
    return done


def hand_offs_place(deployed: Deployment) -> Place:
    """Return where hand-offs are kept; nothing is opened or made yet."""
    if deployed.settings.storage.url:
        return _HandOffsTable(deployed)
    from adapters.hand_off.outbox import OutboxFile

    return OutboxFile(_hand_offs_file(deployed))


class _HandOffsTable:
    """The table of hand-offs on the server of the conversations."""

    def __init__(self, deployed: Deployment) -> None:
        self._deployed = deployed

    async def exists(self) -> bool:
        return True

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Database]:
        async with open_database(self._deployed) as database:
            yield database


def _hand_offs_file(deployed: Deployment) -> Path:
    return deployed.folder / "hand_offs.db"


def shared_server(deployed: Deployment, schema: str) -> Server | None:
    """Return a schema on the server that belongs to no profile; `None` if there is no server. Nothing is opened yet.

    Raises:
        ConfigError: What the server needs is not installed.
    """
    if not deployed.settings.storage.url:
        return None
    _require_driver()
    return _server_at(deployed.settings.storage.url, schema)


def _server(deployed: Deployment) -> Server:
    _require_driver()
    from adapters.storage.postgres import schema_of

    return _server_at(deployed.settings.storage.url, schema_of(deployed.profile.name))


def _require_driver() -> None:
    from importlib.util import find_spec

    if find_spec("psycopg_pool") is None:
        raise ConfigError(
            "GUARDIAN_DATABASE names a PostgreSQL server, and what connects to it is missing.",
            "Install it: pip install 'guardian-assistant[postgres]'.",
        )


@cache
def _server_at(url: str, schema: str) -> Server:
    """Return the server, one object in a process: whoever ends a silent process's sessions finds all by one name."""
    from adapters.storage.postgres import Server

    return Server(url, schema)
