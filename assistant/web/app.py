"""The web application and its routes, in one place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI

from adapters.storage.sqlite import SqliteDatabase
from assistant.service import open_service
from assistant.web import articles, conversations, operations
from assistant.web import ask as asking
from assistant.web.callers import Callers, identify
from assistant.web.expiry import daily_expiry
from assistant.web.faults import install_fault_handlers
from assistant.web.operations import install_operations
from assistant.web.page.uploads import may_upload
from assistant.web.paths import Paths
from assistant.web.rates import FileRates, SharedRates
from assistant.web.reference import install_reference
from assistant.wiring.background import Filling

if TYPE_CHECKING:
    from assistant.deployment import Deployment


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The options that a server starts with.

    Attributes:
        role: The role of visitors, and of everybody if nobody has to say who they are; a role of the profile.
        page: Whether to serve the chat page, at `/`.
        mcp: Whether to serve the tools for other assistants, at `/mcp`.
        loopback: Whether only this machine can reach the server.
        counts: A file in which several workers count requests together, if there are several.
    """

    role: str = "user"
    page: bool = False
    mcp: bool = False
    loopback: bool = True
    counts: Path | None = None


def create_app(deployed: Deployment, options: ServerOptions | None = None) -> FastAPI:
    """Build the application of a deployment; it opens the deployment at its start and drains turns at its end.

    `app.state` has `deployed`, `options`, `callers`, `metrics`, `rates`, with the page `indexing`, and, while the application
    runs, `service`.
    """
    chosen = options or ServerOptions()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with AsyncExitStack() as opened:
            app.state.service = await opened.enter_async_context(open_service(deployed))
            app.state.metrics.watch(app.state.service)
            if deployed.settings.storage.url:
                app.state.rates = SharedRates(app.state.service.database)
            elif chosen.counts is not None:
                counts = await SqliteDatabase.open(chosen.counts, "counts of requests")
                opened.push_async_callback(counts.close)
                app.state.rates = FileRates(counts)
                await app.state.rates.make()
            filling = Filling(deployed)
            filling.start()
            opened.push_async_callback(asyncio.to_thread, filling.stop)
            await opened.enter_async_context(daily_expiry(app.state.service))
            if chosen.page:
                opened.push_async_callback(asyncio.to_thread, app.state.indexing.stop)
            if chosen.mcp:
                from assistant.mcp.endpoint import serving_mcp

                await opened.enter_async_context(serving_mcp(app, identify))
            yield

    # FastAPI's own page of the API loads its scripts from elsewhere.
    app = FastAPI(title="Guardian", lifespan=lifespan, docs_url=None, redoc_url=None)
    app.state.deployed = deployed
    app.state.options = chosen
    app.state.own_worker = None
    app.state.callers = Callers.of(deployed, chosen.role)
    install_fault_handlers(app)
    app.include_router(asking.router)
    app.include_router(conversations.router)
    app.include_router(articles.router)
    paths = Paths(
        (asking.router, conversations.router, articles.router, operations.router),
        ("/docs", "/openapi.json", *(("/mcp",) if chosen.mcp else ())),
    )
    install_operations(app, paths, loopback=chosen.loopback, may_upload=may_upload if chosen.page else None)
    install_reference(app)
    paths.refuse_wrong_methods(app)
    if chosen.mcp:
        from assistant.mcp.endpoint import mount_mcp

        mount_mcp(app, identify)
    if chosen.page:
        # Gradio takes seconds to import. The page takes every path that nothing before it has.
        from assistant.web.page.indexing_job import IndexingJob
        from assistant.web.page.mount import mount_page

        app.state.indexing = IndexingJob(deployed)
        mount_page(app)
    return app
