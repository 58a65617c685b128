"""Tools and the handbook for other assistants, by the Model Context Protocol. Needs the extra `mcp`.

    mcp_server(deployed, whose)     the server, for any transport
    serve_stdio(deployed, role)     one client, on standard input and output
    mount_mcp(app)                  streamable HTTP at `/mcp`, with the API keys and roles of the rest

The low-level server of the SDK: what it makes of functions would take numbers in quotation marks, leave out unknown
arguments, tell of errors in pydantic's words, and set up the logging of the whole process.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import anyio
import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, WithJsonSchema

from assistant.articles import Article, address, read_article
from assistant.caller_faults import for_caller
from assistant.handbook import SCHEME, handbook
from assistant.service import Caller, Question, Service, open_service
from assistant.turns.events import TurnEnded
from assistant.turns.progress import phrases
from assistant.turns.running_turn import RunningTurn
from assistant.turns.transcript import MAX_ID_LENGTH, check_addressable
from assistant.turns.views import Answer, UserProgress, answer, user_event
from contracts.enums import Language, Source
from contracts.errors import GuardianError, InputError
from contracts.result import StructuredAgentResult
from guards.message_check import MAX_MESSAGE_CHARS
from language.words import detect

if TYPE_CHECKING:
    from fastapi import FastAPI
    from mcp.server.context import ServerRequestContext
    from starlette.requests import HTTPConnection, Request
    from starlette.types import Receive, Scope, Send

    from assistant.deployment import Deployment
    from assistant.keys import Key
    from contracts.evidence import EvidenceItem
    from contracts.profile import Profile

    Asked = ServerRequestContext[Any, Any]

PATH: Final = "/mcp"
_METHODS: Final = ("POST", "DELETE")
MOST_ARTICLES: Final = 50
_ENDING: Final = (signal.SIGINT, signal.SIGTERM)
_logger: Final = logging.getLogger(__name__)

Whose = Callable[["Request | None"], tuple[Service, Caller]]
"""Returns the open deployment and who asks, from the HTTP request that a message came in; `None` on standard input."""

Lang = Annotated[
    Literal["en", "ru"] | None,
    Field(description="en or ru. Leave out unless the user wants another language than the one they write in."),
]


# ------------------------------------------------------------------------------------------------------ arguments


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class AskArguments(_Arguments):
    question: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_MESSAGE_CHARS,
            description="The user's question in their own words and language, whole; not a list of search words.",
        ),
    ]
    thread_id: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=MAX_ID_LENGTH,
            description="The conversation to go on with: thread_id of an earlier reply, or any name of your own. "
            "Leave out to begin a new conversation.",
        ),
    ] = None
    turn_id: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=MAX_ID_LENGTH,
            description="Any id of your own for this message, with thread_id: the same id is never run twice, and the "
            "same call again returns the same answer, or finishes it where it was broken off.",
        ),
    ] = None
    language: Lang = None


class GetArticlesArguments(_Arguments):
    query: Annotated[
        str,
        Field(
            min_length=1, max_length=MAX_MESSAGE_CHARS, description="What to search for: a question, or its main words."
        ),
    ]
    top_k: Annotated[int, Field(ge=1, le=MOST_ARTICLES, description="How many passages at most.")] = 10
    language: Lang = None


class ReadArticleArguments(_Arguments):
    article: Annotated[
        Annotated[str, Field(min_length=1, max_length=1000)] | Annotated[int, Field(ge=0, lt=10**15)],
        Field(
            description="`ref` or `document` of what get_articles found, or the article's number (kb_id).",
        ),
    ]
    language: Lang = None
    part: Annotated[
        int, Field(ge=1, le=100_000, description="Which part of a long article; `parts` says how many there are.")
    ] = 1


# -------------------------------------------------------------------------------------------------------- results


class AskReply(Answer):
    """An answer; its schema does not spell out the whole result, which most callers are not sent."""

    result: Annotated[
        StructuredAgentResult | None,
        WithJsonSchema({"anyOf": [{"type": "object"}, {"type": "null"}], "description": "For operators alone."}),
    ] = None


class FoundPassage(BaseModel):
    """A passage of an article; `confidence`, 0 to 1, says that it is on topic, not that it is right."""

    ref: str
    document: str
    source: Source
    title: str
    heading: str
    url: str
    kb_id: int | None
    version: str
    language: Language | None
    confidence: float
    snippet: str


class FoundPassages(BaseModel):
    """What a search found, best first; `degraded` is for operators alone, and says what did not work as configured."""

    passages: list[FoundPassage]
    degraded: list[str] = Field(default_factory=list[str])


# ---------------------------------------------------------------------------------------------------------- tools


@dataclass(frozen=True, slots=True)
class _McpCall:
    """A tool call: whose it is, its arguments, and how progress is told."""

    service: Service
    caller: Caller
    arguments: Any
    progress: Callable[[int, str], Awaitable[None]]

    @property
    def profile(self) -> Profile:
        return self.service.deployed.profile


async def _ask(call: _McpCall) -> types.CallToolResult:
    asked: AskArguments = call.arguments
    if asked.turn_id and not asked.thread_id:
        raise InputError(
            "A turn_id names a message of a conversation, and no conversation is named.", "Send a thread_id with it."
        )
    check_addressable(asked.thread_id or "", asked.turn_id or "")
    settings = {"language": asked.language} if asked.language else {}
    question = Question(asked.question, asked.thread_id or "", asked.turn_id or "", settings)
    language = Language(asked.language or detect(asked.question, default=call.profile.languages[0]))
    opened = AsyncExitStack()
    try:
        live = await opened.enter_async_context(call.service.asking(call.caller, question))
        result = await _follow_turn(live, language, call.progress)
    finally:
        # Whoever cancels the request cancels each await in it, too; the turn must have let go of everything before.
        with anyio.CancelScope(shield=True):
            await opened.aclose()
    reply = AskReply(**dict(answer(result, call.profile, call.caller.role)))
    ids = f"thread_id: {reply.thread_id}\nturn_id: {reply.turn_id}\noutcome: {reply.outcome}"
    return _result(reply, reply.answer, ids)


async def _follow_turn(
    live: RunningTurn, language: Language, progress: Callable[[int, str], Awaitable[None]]
) -> StructuredAgentResult:
    step = 0
    async with aclosing(live.follow()) as events:
        async for event in events:
            if isinstance(event, TurnEnded):
                return event.result
            if (told := user_event(event)) is not None:
                step += 1
                await progress(step, _in_words(told, language))
    return await live.result()


def _in_words(told: UserProgress, language: Language) -> str:
    say = phrases(language)
    if told.stage is None:
        return say["understood"].format(intent=told.intent)
    return say.get(told.stage) or say[f"mcp_{told.stage}"]


async def _get_articles(call: _McpCall) -> types.CallToolResult:
    asked: GetArticlesArguments = call.arguments
    found, degraded = await call.service.search(call.caller, asked.query, top_k=asked.top_k, language=asked.language)
    told = degraded if call.profile.sees_all(call.caller.role) else []
    reply = FoundPassages(passages=[_passage(item, call.profile) for item in found], degraded=told)
    shown = [_write_passage(number, passage) for number, passage in enumerate(reply.passages, 1)]
    return _result(reply, "\n\n".join(shown) or "Nothing was found. Other words may find more.")


def _passage(item: EvidenceItem, profile: Profile) -> FoundPassage:
    return FoundPassage(
        ref=item.ref,
        document=item.document_key,
        source=item.source,
        title=item.title,
        heading=item.heading,
        url=address(item, profile),
        kb_id=item.kb_id,
        version=item.version,
        language=item.language,
        confidence=item.confidence,
        snippet=item.snippet,
    )


def _write_passage(number: int, passage: FoundPassage) -> str:
    place = " › ".join(filter(None, (passage.title, passage.heading)))
    known = [f"ref: {passage.ref}", passage.url, f"confidence: {passage.confidence:.2f}"]
    return f"{number}. {place}\n{'; '.join(filter(None, known))}\n\n{passage.snippet}"


async def _read_article(call: _McpCall) -> types.CallToolResult:
    asked: ReadArticleArguments = call.arguments
    found = await read_article(call.service, call.caller, str(asked.article), language=asked.language, part=asked.part)
    more = f"Part {found.part} of {found.parts}." if found.parts > 1 else ""
    known = [f"document: {found.document}", found.url, f"version: {found.version}" if found.version else "", more]
    return _result(found, found.text, "\n".join(filter(None, known)))


def _result(reply: BaseModel, *texts: str) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(text=text) for text in texts if text],
        structured_content=reply.model_dump(mode="json"),
    )


@dataclass(frozen=True, slots=True)
class _Tool:
    """A tool; `about` is formatted with `product` and `scope`."""

    title: str
    about: str
    arguments: type[_Arguments]
    reply: type[BaseModel]
    run: Callable[[_McpCall], Awaitable[types.CallToolResult]]
    reads_only: bool = True


_TOOLS: Final[Mapping[str, _Tool]] = {
    "ask": _Tool(
        "Ask the assistant",
        "Ask the support assistant of {product} a question and get an answer that was checked against its sources, "
        "with numbered citations. It knows: {scope}. Use this first for any question about {product}: the answer is "
        "verified, and where the documents do not tell, it says so or asks back. `outcome` says how it ended: answered; "
        "clarification (put the question in `answer` to the user and ask again with the same thread_id: with their reply, or "
        "with the label or number of one of `choices`); pages_shown (no "
        "answer: pages that may help, each with a sentence of it; say that they were not checked against the question); declined or "
        "refused (do not ask again in other words); handed_off (a person takes over); error. Keep the citations and the "
        "list of sources when you pass the answer on. Takes seconds, with a language model up to a minute or two.",
        AskArguments,
        AskReply,
        _ask,
        reads_only=False,
    ),
    "get_articles": _Tool(
        "Search the articles",
        "Search the articles about {product} and get the passages that match best, as they are written, best first. "
        "Use this to read for yourself or to find an article; for an answer use `ask`, which checks what it says. "
        "Nothing here was checked against your question: a low confidence (under 0.5) means that a passage is probably "
        "about something else.",
        GetArticlesArguments,
        FoundPassages,
        _get_articles,
    ),
    "read_article": _Tool(
        "Read an article",
        "Read a whole article about {product} as Markdown, with its title, address, version and headings. Name it by "
        "`ref` or `document` of what `get_articles` found, or by its number. A long article comes in parts.",
        ReadArticleArguments,
        Article,
        _read_article,
    ),
}


def _describe_tool(name: str, tool: _Tool, profile: Profile) -> types.Tool:
    scope = profile.scope.description[Language.EN if Language.EN in profile.languages else profile.languages[0]]
    return types.Tool(
        name=name,
        title=tool.title,
        description=tool.about.format(product=profile.product, scope=scope),
        input_schema=tool.arguments.model_json_schema(),
        output_schema=TypeAdapter(tool.reply).json_schema(mode="serialization"),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.reads_only,
            # A conversation grows, and nothing is lost by it.
            destructive_hint=False,
            idempotent_hint=tool.reads_only,
            open_world_hint=False,
        ),
    )


# ---------------------------------------------------------------------------------------------------------- server


def mcp_server(deployed: Deployment, whose: Whose) -> Server[Any]:
    """Return the server of a deployment."""
    listed = [_describe_tool(name, tool, deployed.profile) for name, tool in _TOOLS.items()]

    async def list_tools(_: Asked, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call_tool(asked: Asked, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = _TOOLS.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"There is no such tool. There are {', '.join(_TOOLS)}.")
        try:
            arguments = _check_arguments(tool.arguments, params.arguments)
            service, caller = whose(asked.request)
            return await tool.run(_McpCall(service, caller, arguments, _teller(asked)))
        except GuardianError as error:
            return _fail(str(for_caller(error, _language(params.arguments, deployed.profile))))
        except Exception:
            _logger.exception("The tool %s failed.", params.name)
            return _fail("Something went wrong in the assistant; its log says what. Try again later.")

    product = deployed.profile.product
    return Server(
        "guardian",
        title=f"{product} support assistant",
        version=_version(),
        instructions=f"Answers about {product} that are checked against its documents. Put a user's question to `ask`; "
        "use `get_articles` and `read_article` to read the documents themselves. The resources are the handbook of the "
        "assistant itself: how it works, and how to set it up.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=_list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=_read_resource,
    )


def _language(given: Mapping[str, Any] | None, profile: Profile) -> Language:
    """Return the language of a call, whatever its arguments are: the one that it names, else that of its text."""
    said = dict(given or {})
    text = next((said[name] for name in ("question", "query") if isinstance(said.get(name), str)), "")
    named = said.get("language")
    return Language(named if named in tuple(Language) else detect(text, default=profile.languages[0]))


def _version() -> str:
    try:
        return version("guardian-assistant")
    except PackageNotFoundError:  # run from a folder that was not installed
        return ""


def _check_arguments(kind: type[_Arguments], given: Mapping[str, Any] | None) -> _Arguments:
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


# ------------------------------------------------------------------------------------------------------- resources


async def _list_resources(_: Asked, __: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
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


async def _list_templates(_: Asked, __: types.PaginatedRequestParams | None) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(
        uri_template=SCHEME + "{language}/{page}",
        name="handbook",
        title="The assistant's handbook",
        description="How the assistant works, how to set it up and how to mend it; language is en or ru.",
        mime_type="text/markdown",
    )
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def _read_resource(_: Asked, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    pages = await anyio.to_thread.run_sync(handbook)
    page = pages.get(str(params.uri))
    if page is None:
        raise MCPError(types.INVALID_PARAMS, "There is no such resource. List the resources for what there is.")
    return types.ReadResourceResult(
        contents=[types.TextResourceContents(uri=page.uri, mime_type="text/markdown", text=page.text)]
    )


# --------------------------------------------------------------------------------------------------- standard input


async def serve_stdio(deployed: Deployment, role: str) -> None:
    """Serve one client on standard input and output, until it closes them, or a signal ends this process.

    Args:
        deployed: What is served.
        role: Of whoever asks; one of the profile's.

    Raises:
        NoIndex: Nothing has been indexed for its profile.
        GuardianError: Something else that a person can fix; it says how.
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


# ------------------------------------------------------------------------------------------------------------ HTTP


Identify = Callable[["HTTPConnection"], "tuple[Caller, Key | None]"]
"""Tells who sent a request, and the key that they sent it with; `None` where no keys are used."""


class _Endpoint:
    """Lets in who may, and hands over to whatever serves now."""

    def __init__(self, identify: Identify) -> None:
        self._identify = identify

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
        from mcp.server.auth.provider import AccessToken
        from starlette.exceptions import HTTPException
        from starlette.requests import HTTPConnection

        caller, key = self._identify(HTTPConnection(scope))
        if scope["method"] not in _METHODS:
            # A stream for what the server says unasked: there is nothing, and it would hold up the server's end.
            raise HTTPException(405, "This server sends nothing unasked.", {"Allow": ", ".join(_METHODS)})
        if key is not None:
            # The SDK then keeps each session to the caller who began it. The key itself is nobody's business.
            scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=caller.name, scopes=[]))
        await scope["app"].state.mcp.handle_request(scope, receive, send)


def mount_mcp(app: FastAPI, identify: Identify) -> None:
    """Serve the tools of an application's deployment at `/mcp`, while `serving_mcp` is entered.

    Foreign pages, made-up names of this machine, too large and too many requests are refused before
    (`assistant/web/limits.py`), as for every other path.
    """
    from starlette.routing import Route

    app.router.routes.append(Route(PATH, endpoint=_Endpoint(identify), include_in_schema=False))


@asynccontextmanager
async def serving_mcp(app: FastAPI, identify: Identify) -> AsyncGenerator[None]:
    """Run the sessions; a turn that runs when this ends is kept half-finished."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings

    def whose(request: Request | None) -> tuple[Service, Caller]:
        assert request is not None  # noqa: S101  # each message comes in one
        return app.state.service, identify(request)[0]

    app.state.mcp = StreamableHTTPSessionManager(
        mcp_server(app.state.deployed, whose),
        # `OwnPages` sees to it, and knows where keys are used.
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    async with app.state.mcp.run():
        yield
