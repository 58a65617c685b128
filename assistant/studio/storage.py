"""The data of `langgraph dev`, in its own files, because its run queue is not our turn runner.

The server loads each file of `langgraph.json` separately, so the graph, which reads the documents, has its own file.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore
from langgraph.store.sqlite import AsyncSqliteStore

from adapters.checkpoints.sqlite import open_saver
from adapters.storage.sqlite_file import open_connection, storage_errors_as_ours
from assistant.deployment import Deployment, deployment
from assistant.wiring.hand_offs import hand_off_sink

OWNER: Final = "owner"
"""Under this name the metadata of a thread, of its steps and of a cron say whose it is: the name of an API key."""
_ITEMS: Final = "stored items"


def threads_file(deployed: Deployment) -> Path:
    """Return the file that holds the states of the server's threads."""
    return deployed.folder / "studio.db"


def items_file(deployed: Deployment) -> Path:
    """Return the file that holds the items of the server's store."""
    return deployed.folder / "studio-store.db"


@asynccontextmanager
async def checkpointer() -> AsyncGenerator[BaseCheckpointSaver[str]]:
    """Open the checkpointer of the server's threads.

    Raises:
        ThreadError: The file cannot be opened, read or written.
    """
    deployed = deployment()
    async with AsyncExitStack() as opened:
        # The server begins and ends here: what was kept before is sent now.
        if (taking := hand_off_sink(deployed)) is not None:
            await opened.enter_async_context(taking)
        yield await opened.enter_async_context(open_saver(threads_file(deployed)))


@asynccontextmanager
async def store() -> AsyncGenerator[BaseStore]:
    """Open the server's store.

    Raises:
        ThreadError: The file cannot be opened, read or written.
    """
    path = items_file(deployment())
    connection = await open_connection(path, None, _ITEMS)
    try:
        items = AsyncSqliteStore(connection)
        with storage_errors_as_ours(path, _ITEMS):
            await items.setup()
        yield items
    finally:
        await connection.close()
