"""The handbook as MCP resources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError

from assistant.handbook import SCHEME, handbook

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    Asked = ServerRequestContext[Any, Any]


async def list_resources(_: Asked, __: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    pages = await anyio.to_thread.run_sync(handbook)
    return types.ListResourcesResult(
        resources=[
            types.Resource(
                uri=page.uri,
                name=f"{page.language}/{page.slug}",
                title=page.title,
                mime_type="text/markdown",
                size=len(page.text.encode()),
            )
            for page in pages.values()
        ]
    )


async def list_templates(_: Asked, __: types.PaginatedRequestParams | None) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(
        uri_template=SCHEME + "{language}/{page}",
        name="handbook",
        title="The assistant's handbook",
        description="How the assistant works, how to set it up and how to mend it; language is en or ru.",
        mime_type="text/markdown",
    )
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(_: Asked, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    pages = await anyio.to_thread.run_sync(handbook)
    page = pages.get(str(params.uri))
    if page is None:
        raise MCPError(types.INVALID_PARAMS, "There is no such resource. List the resources for what there is.")
    return types.ReadResourceResult(
        contents=[types.TextResourceContents(uri=page.uri, mime_type="text/markdown", text=page.text)]
    )
