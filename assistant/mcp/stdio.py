"""MCP on standard input and output."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from mcp.server.lowlevel.server import Server

from assistant.caller import Caller
from assistant.mcp.server import mcp_server
from assistant.service import open_service

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from assistant.deployment import Deployment

    Asked = ServerRequestContext[Any, Any]


_ENDING: Final = (signal.SIGINT, signal.SIGTERM)


async def serve_stdio(deployed: Deployment, role: str) -> None:
    """Serve one client on standard input and output, until it closes them or a signal ends this process.

    Args:
        deployed: The deployment to serve.
        role: The caller's role; one of the profile's.

    Raises:
        NoIndex: The deployment's profile has no index.
        GuardianError: Another problem that a person can fix; the error says how.
    """
    signalled: asyncio.Future[signal.Signals] = asyncio.get_running_loop().create_future()
    async with open_service(deployed) as service:
        server = mcp_server(deployed, lambda _: (service, Caller(role=role)))
        with _signals(signalled):
            serving = asyncio.create_task(_serve_streams(server))
            await asyncio.wait([serving, signalled], return_when=asyncio.FIRST_COMPLETED)
    if serving.done():
        await serving
        return
    # All is closed. The thread that waits for input cannot be called back, and Python would wait for it.
    signal.signal(signalled.result(), signal.SIG_DFL)
    signal.raise_signal(signalled.result())


async def _serve_streams(server: Server[Any]) -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


@contextmanager
def _signals(told: asyncio.Future[signal.Signals]) -> Generator[None]:
    """Have the first SIGINT or SIGTERM noted in the place of what it does."""
    loop = asyncio.get_running_loop()

    def note(number: signal.Signals) -> None:
        if not told.done():
            told.set_result(number)

    for number in _ENDING:
        loop.add_signal_handler(number, note, number)
    try:
        yield
    finally:
        for number in _ENDING:
            loop.remove_signal_handler(number)
