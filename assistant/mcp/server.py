"""Tools and documents for other assistants, by the Model Context Protocol. Needs the extra `mcp`.

    mcp_server(deployed, whose)     the server, for any transport
    serve_stdio(deployed, role)     one client, on standard input and output
    mount_mcp(app)                  streamable HTTP at `/mcp`, with the API keys and roles of the rest

This uses the SDK's low-level server. The high-level one would accept numbers in quotation marks, ignore unknown
arguments, report errors in pydantic's words, and configure the logging of the whole process.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from assistant.caller import Caller
from assistant.caller_faults import for_caller
from assistant.handbook import HANDBOOK
from assistant.mcp.resources import document_resources, page_resources
from assistant.mcp.tools import TOOLS, Arguments, McpCall, describe_tool
from assistant.service import Service
from contracts.enums import Language
from contracts.errors import GuardianError, InputError
from guards.message_check import message_language

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from starlette.requests import Request

    from assistant.deployment import Deployment
    from contracts.profile import Profile

    Asked = ServerRequestContext[Any, Any]


_logger: Final = logging.getLogger(__name__)
Whose = Callable[["Request | None"], tuple[Service, Caller]]
"""Returns the open deployment and who asks, from the HTTP request that a message came in; `None` on standard input."""


def mcp_server(deployed: Deployment, whose: Whose) -> Server[Any]:
    """Return the MCP server of a deployment."""
    listed = [describe_tool(name, tool, deployed.profile) for name, tool in TOOLS.items()]

    async def list_tools(_: Asked, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call_tool(asked: Asked, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"There is no such tool. There are {', '.join(TOOLS)}.")
        try:
            arguments = _check_arguments(tool.arguments, params.arguments)
            service, caller = whose(asked.request)
            return await tool.run(McpCall(service, caller, arguments, _teller(asked)))
        except GuardianError as error:
            return _fail(str(for_caller(error, _language(params.arguments, deployed.profile))))
        except Exception:
            _logger.exception("The tool %s failed.", params.name)
            return _fail("Something went wrong in the assistant; its log says what. Try again later.")

    product = deployed.profile.product
    is_handbook = deployed.profile.name == HANDBOOK
    resources = page_resources() if is_handbook else document_resources(whose)
    held = (
        "the handbook of the assistant itself: how it works, and how to set it up" if is_handbook else "its documents"
    )
    return Server(
        "guardian",
        title=f"{product} support assistant",
        version=_version(),
        instructions=f"Answers about {product} that are checked against its documents. Put a user's question to `ask`; "
        f"use `get_articles` and `read_article` to read the documents themselves. The resources are {held}.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=resources.list,
        on_list_resource_templates=resources.list_templates,
        on_read_resource=resources.read,
    )


def _language(given: Mapping[str, Any] | None, profile: Profile) -> Language:
    """Return the language of a call, whatever its arguments are: the one that it names, else that of its text."""
    said = dict(given or {})
    text = next((said[name] for name in ("question", "query") if isinstance(said.get(name), str)), "")
    named = said.get("language")
    return message_language(text, profile, named)


def _version() -> str:
    try:
        return version("guardian-assistant")
    except PackageNotFoundError:  # run from a folder that was not installed
        return ""


def _check_arguments(kind: type[Arguments], given: Mapping[str, Any] | None) -> Arguments:
    try:
        return kind.model_validate(dict(given or {}))
    except ValidationError as error:
        # What was given is not repeated: it may be long. Nor is the arm of a union that did not fit.
        faults = dict.fromkeys(f"{fault['loc'][0] if fault['loc'] else ''}: {fault['msg']}" for fault in error.errors())
        raise InputError(
            f"The arguments cannot be taken: {'; '.join(list(faults)[:10])[:1000]}.", "The tool's schema says what can."
        ) from error


def _teller(asked: Asked) -> Callable[[int, str], Awaitable[None]]:
    async def tell(step: int, words: str) -> None:
        # How many steps there will be, nobody knows: a draft may be tried again.
        await asked.session.report_progress(step, None, words)

    return tell


def _fail(why: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=why)], is_error=True)
