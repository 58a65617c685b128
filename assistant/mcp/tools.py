"""The tools for other assistants: their arguments, their replies, and their actions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import anyio
import mcp_types as types
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, WithJsonSchema

from assistant.articles import Article, address, read_article
from assistant.caller import Caller
from assistant.service import Question, Service
from assistant.turns.events import TurnEnded
from assistant.turns.progress import phrases
from assistant.turns.running_turn import RunningTurn
from assistant.turns.transcript import MAX_ID_LENGTH, check_addressable
from assistant.turns.views import Answer, UserProgress, answer, user_event
from contracts.enums import Language, Source
from contracts.errors import InputError
from contracts.result import StructuredAgentResult
from guards.message_check import MAX_MESSAGE_CHARS, message_language

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from contracts.evidence import EvidenceItem
    from contracts.profile import Profile

    Asked = ServerRequestContext[Any, Any]


MOST_ARTICLES: Final = 50
Lang = Annotated[
    Literal["en", "ru"] | None,
    Field(description="en or ru. Leave out unless the user wants another language than the one they write in."),
]


class Arguments(BaseModel):
    """Arguments of a tool; unknown ones are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class AskArguments(Arguments):
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


class GetArticlesArguments(Arguments):
    query: Annotated[
        str,
        Field(
            min_length=1, max_length=MAX_MESSAGE_CHARS, description="What to search for: a question, or its main words."
        ),
    ]
    top_k: Annotated[int, Field(ge=1, le=MOST_ARTICLES, description="How many passages at most.")] = 10
    language: Lang = None


class ReadArticleArguments(Arguments):
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


class AskReply(Answer):
    """An answer; its schema does not describe the whole result, which most callers do not get."""

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
    """The passages of a search, best first; `degraded`, only for operators, says what did not work as configured."""

    passages: list[FoundPassage]
    degraded: list[str] = Field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class McpCall:
    """A tool call: its caller, its arguments, and how to report progress."""

    service: Service
    caller: Caller
    arguments: Any
    progress: Callable[[int, str], Awaitable[None]]

    @property
    def profile(self) -> Profile:
        return self.service.deployed.profile


async def _ask(call: McpCall) -> types.CallToolResult:
    asked: AskArguments = call.arguments
    if asked.turn_id and not asked.thread_id:
        raise InputError(
            "A turn_id names a message of a conversation, and no conversation is named.", "Send a thread_id with it."
        )
    check_addressable(asked.thread_id or "", asked.turn_id or "")
    settings = {"language": asked.language} if asked.language else {}
    question = Question(asked.question, asked.thread_id or "", asked.turn_id or "", settings)
    language = message_language(asked.question, call.profile, asked.language)
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


async def _get_articles(call: McpCall) -> types.CallToolResult:
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


async def _read_article(call: McpCall) -> types.CallToolResult:
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
    arguments: type[Arguments]
    reply: type[BaseModel]
    run: Callable[[McpCall], Awaitable[types.CallToolResult]]
    reads_only: bool = True


TOOLS: Final[Mapping[str, _Tool]] = {
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


def describe_tool(name: str, tool: _Tool, profile: Profile) -> types.Tool:
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
