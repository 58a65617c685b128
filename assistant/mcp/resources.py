"""Resources for other assistants: the documents of the profile, or the handbook if it is the profile.

page_resources()               the bundled handbook, page by page
document_resources(whose)      the documents that the caller's role may read
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote, unquote

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError

from assistant.articles import list_articles, read_parts
from assistant.handbook import SCHEME, handbook
from contracts.errors import GuardianError, UnknownArticle

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from starlette.requests import Request

    from assistant.caller import Caller
    from assistant.service import Service

    Asked = ServerRequestContext[Any, Any]

DOCUMENTS: Final = "guardian://documents/"
"""Before the key of a document, as in an address."""
PAGE: Final = 100
"""Documents that one reply lists."""
_LARGEST: Final = 2**63 - 1
_MARKDOWN: Final = "text/markdown"
_UNKNOWN: Final = "There is no such resource. List the resources for what there is."


class Resources(NamedTuple):
    """What answers the three requests for resources."""

    list: Callable[[Asked, types.PaginatedRequestParams | None], Awaitable[types.ListResourcesResult]]
    list_templates: Callable[[Asked, types.PaginatedRequestParams | None], Awaitable[types.ListResourceTemplatesResult]]
    read: Callable[[Asked, types.ReadResourceRequestParams], Awaitable[types.ReadResourceResult]]


def page_resources() -> Resources:
    """Return the handbook's pages as resources."""
    return Resources(_list_pages, _list_page_templates, _read_page)


async def _list_pages(_: Asked, __: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    pages = await anyio.to_thread.run_sync(handbook)
    return types.ListResourcesResult(
        resources=[
            types.Resource(
                uri=page.uri,
                name=f"{page.language}/{page.slug}",
                title=page.title,
                mime_type=_MARKDOWN,
                size=len(page.text.encode()),
            )
            for page in pages.values()
        ]
    )


async def _list_page_templates(_: Asked, __: types.PaginatedRequestParams | None) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(
        uri_template=SCHEME + "{language}/{page}",
        name="handbook",
        title="The assistant's handbook",
        description="How the assistant works, how to set it up and how to mend it; language is en or ru.",
        mime_type=_MARKDOWN,
    )
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def _read_page(_: Asked, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    pages = await anyio.to_thread.run_sync(handbook)
    page = pages.get(str(params.uri))
    if page is None:
        raise MCPError(types.INVALID_PARAMS, _UNKNOWN)
    return types.ReadResourceResult(
        contents=[types.TextResourceContents(uri=page.uri, mime_type=_MARKDOWN, text=page.text)]
    )


def document_resources(whose: Callable[[Request | None], tuple[Service, Caller]]) -> Resources:
    """Return the documents of a deployment as resources, as far as the caller's role may read them.

    Args:
        whose: Returns the open deployment and who asks.
    """

    async def list_documents(asked: Asked, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        after = _number(params.cursor if params else None)
        try:
            found = await list_articles(*whose(asked.request), after, PAGE)
        except GuardianError as error:
            raise MCPError(types.INTERNAL_ERROR, f"The documents cannot be read now. {error.way_out}") from error
        listed = [
            types.Resource(
                uri=DOCUMENTS + quote(name.document, safe="/"),
                name=name.document,
                title=f"{name.title} ({name.version})" if name.version else name.title,
                mime_type=_MARKDOWN,
            )
            for _, name in found
        ]
        return types.ListResourcesResult(
            resources=listed, next_cursor=str(found[-1][0]) if len(found) == PAGE else None
        )

    async def list_templates(_: Asked, __: types.PaginatedRequestParams | None) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template=DOCUMENTS + "{+document}",
            name="document",
            title="A document",
            description="A document that answers are made from, as Markdown, by its key.",
            mime_type=_MARKDOWN,
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_document(asked: Asked, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        key = unquote(uri.removeprefix(DOCUMENTS))
        if not uri.startswith(DOCUMENTS) or not key:
            raise MCPError(types.INVALID_PARAMS, _UNKNOWN)
        service, caller = whose(asked.request)
        try:
            parts = await read_parts(service, caller, key)
        except UnknownArticle as error:
            raise MCPError(types.INVALID_PARAMS, _UNKNOWN) from error
        except GuardianError as error:
            raise MCPError(types.INTERNAL_ERROR, f"The documents cannot be read now. {error.way_out}") from error
        contents = [types.TextResourceContents(uri=uri, mime_type=_MARKDOWN, text=text) for text in parts]
        return types.ReadResourceResult(
            contents=list[types.TextResourceContents | types.BlobResourceContents](contents)
        )

    return Resources(list_documents, list_templates, read_document)


def _number(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 20 and int(cursor) <= _LARGEST):
        raise MCPError(types.INVALID_PARAMS, "There is no such cursor. Begin without one.")
    return int(cursor)
