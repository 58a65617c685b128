"""Tools and the handbook by the Model Context Protocol, asked by the SDK's own client: a process, and a server."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent

from assistant.articles import list_articles, read_article
from assistant.deployment import deployment
from assistant.handbook import handbook
from assistant.mcp.tools import MOST_ARTICLES
from assistant.service import Caller, open_service
from assistant.turns.views import Answer
from assistant.web.app import ServerOptions
from guards.message_check import MAX_MESSAGE_CHARS
from tests.support.cli_helpers import ANSWER, CORPUS, PROFILE, QUESTION, Desk
from tests.support.tls import TRUSTS_NOBODY
from tests.support.web_server import Running, serve_deployment
from tests.support.wire.server_process import FakeServer, fake_server

ROOT = Path(__file__).resolve().parents[2]
Mode = Literal["auto", "legacy"]
"""`auto` speaks the protocol of 2026, in which each request stands alone; `legacy` that of before, with sessions."""
MODES: tuple[Mode, ...] = ("auto", "legacy")
HIDDEN = ("subqueries", "spam_score", "synthetic", "per_query_results", "decisions", "final_articles", "diagnostics")
"""What only the operator's view of a turn has."""

by_mode = pytest.mark.parametrize("mode", MODES)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk whose documents are indexed, for copying only."""
    place = tmp_path_factory.mktemp("mcp-library")
    desk = Desk(place / "data", place)
    desk.index()
    return desk


@pytest.fixture(scope="module")
def keyed(library: Desk, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server that asks for keys."""
    desk = library.copied(tmp_path_factory.mktemp("keyed") / "data")
    roles = {"anna": "user", "boris": "user", "olga": "operator"}
    with serve_deployment(deployment(environment=desk.environment), ServerOptions(mcp=True), roles) as running:
        yield running


@pytest.fixture(scope="module")
def model() -> Iterator[FakeServer]:
    with fake_server() as running:
        yield running


@pytest.fixture(scope="module")
def slow(library: Desk, model: FakeServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server that asks for no keys, and a model whose replies a test can hold back."""
    names = {"GUARDIAN_MODEL": "fake-model", "OPENAI_BASE_URL": model.url}
    desk = library.copied(tmp_path_factory.mktemp("slow") / "data").having(**names)
    with serve_deployment(deployment(environment=desk.environment), ServerOptions(mcp=True)) as running:
        yield running


@asynccontextmanager
async def connected(running: Running, name: str = "anna", mode: Mode = "auto") -> AsyncGenerator[Client]:
    async with (
        httpx2.AsyncClient(headers=running.headers(name), trust_env=False, verify=TRUSTS_NOBODY, timeout=30) as http,
        Client(streamable_http_client(f"{running.url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


def texts(result: CallToolResult) -> list[str]:
    return [part.text for part in result.content if isinstance(part, TextContent)]


# --------------------------------------------------------------------------------------------------- standard input


async def test_a_client_on_standard_input_asks_searches_and_reads(library: Desk, tmp_path: Path) -> None:
    """A process answers with sources and tells how far it is; what a search finds can be read; the handbook is there."""
    desk = library.copied(tmp_path / "data")
    command, *arguments = map(str, desk.command("mcp"))
    process = StdioServerParameters(command=command, args=arguments, env=desk.environment, cwd=str(desk.cwd))
    told: list[tuple[float, str]] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message or ""))

    async with Client(process) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == {"ask", "get_articles", "read_article"}
        asked = await client.call_tool("ask", {"question": QUESTION, "thread_id": "t"}, progress_callback=tell)
        answer = Answer.model_validate(asked.structured_content)
        assert answer.outcome == "answered"
        assert ANSWER in answer.answer
        assert answer.sources[0].url.startswith("https://shelf.example/en/")
        assert texts(asked)[0] == answer.answer
        assert "thread_id: t\n" in texts(asked)[1]
        found = await client.call_tool("get_articles", {"query": "overdue fine", "top_k": 1})
        [passage] = (found.structured_content or {})["passages"]
        read = await client.call_tool("read_article", {"article": passage["ref"]})
        assert passage["snippet"] in (read.structured_content or {})["text"]
        page = await client.read_resource("guardian://documents/corpus/en/restore.md")
        assert ANSWER in page.contents[0].model_dump()["text"]
    assert [step for step, _ in told] == list(range(1, len(told) + 1))
    words = [words for _, words in told]
    assert words[:2] == ["checking the message", "understanding the question"]
    assert words[2].startswith("understood: ")
    assert words[3:] == ["searching", "drafting", "checking the draft"]


@pytest.mark.parametrize(
    ("end", "code"),
    [(lambda process: process.stdin.close(), 0), (lambda process: process.terminate(), -signal.SIGTERM)],
    ids=["end of input", "SIGTERM"],
)
def test_nothing_but_the_protocol_is_written_to_standard_output(
    library: Desk, tmp_path: Path, end: Callable[[subprocess.Popen[bytes]], None], code: int
) -> None:
    """Each line is a JSON-RPC message, garbage that comes in breaks nothing off; the end of the input, or a signal, ends it."""
    desk = library.copied(tmp_path / "data")
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "0"}}
    ask = {"name": "ask", "arguments": {"question": QUESTION}}
    sent = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": ask},
    ]
    lines = [json.dumps({"jsonrpc": "2.0", **message}) for message in sent]
    with desk.start("mcp") as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write("\n".join([lines[0], "no JSON", '{"jsonrpc": "1.0"}', "", *lines[1:], ""]).encode())
        process.stdin.flush()
        replies = [json.loads(process.stdout.readline())]
        while replies[-1].get("id") != 2:
            replies.append(json.loads(process.stdout.readline()))
        end(process)
        rest = process.stdout.read()
        complaints = process.stderr.read().decode()
        try:
            assert process.wait(20) == code
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    assert rest == b""
    assert all(reply["jsonrpc"] == "2.0" for reply in replies)
    assert ANSWER in replies[-1]["result"]["structuredContent"]["answer"]
    assert "Traceback" not in complaints


def test_a_server_that_cannot_work_says_why_and_writes_nothing(library: Desk, tmp_path: Path) -> None:
    """An unknown role and a profile without an index end it with a way out, on standard error."""
    library.here("mcp", "--role", "boss").complains(2, "boss", "operator")
    Desk(tmp_path / "none", tmp_path).here("mcp").complains(1, "guardian index")


# ------------------------------------------------------------------------------------------------------------ HTTP


@by_mode
async def test_a_role_is_sent_what_it_may_see(keyed: Running, mode: Mode) -> None:
    """A user gets answer, sources and verdict and nothing else of the turn; an operator the whole result."""
    async with connected(keyed, "anna", mode) as client:
        users = await client.call_tool("ask", {"question": QUESTION})
        found = await client.call_tool("get_articles", {"query": QUESTION})
    async with connected(keyed, "olga", mode) as client:
        operators = await client.call_tool("ask", {"question": QUESTION})
    answer = Answer.model_validate(users.structured_content)
    assert ANSWER in answer.answer
    assert answer.verdict == "PASS"
    assert answer.result is None
    for hidden in HIDDEN:
        assert hidden not in users.model_dump_json() + found.model_dump_json()
    whole = Answer.model_validate(operators.structured_content).result
    assert whole
    assert whole.plan
    assert whole.thread_id == (operators.structured_content or {})["thread_id"]


@by_mode
async def test_a_conversation_is_its_callers(keyed: Running, mode: Mode) -> None:
    """Two callers with a thread of the same name have one each; the same message id is never run twice."""
    message = {"question": QUESTION, "thread_id": f"same-{mode}", "turn_id": "1"}
    async with connected(keyed, "anna", mode) as anna, connected(keyed, "boris", mode) as boris:
        first = await anna.call_tool("ask", message)
        again = await anna.call_tool("ask", message)
        other = await boris.call_tool("ask", {**message, "question": "How do I lend a book?"})
    assert first.structured_content == again.structured_content
    assert "scan the reader card" in (other.structured_content or {})["answer"]
    for name in ("anna", "boris"):
        assert [len(await service_turns(keyed, name, f"same-{mode}"))] == [1]


async def service_turns(running: Running, name: str, thread: str) -> list[Any]:
    body = running.ask("GET", f"/v1/threads/{thread}", name=name).json()
    return body["turns"]


async def test_a_session_is_of_the_key_that_began_it(keyed: Running) -> None:
    """Its id is worth nothing with the key of somebody else: there is no such session."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "0"}}
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    begun = keyed.ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}, **headers)
    session = begun.headers["mcp-session-id"]
    codes = {
        name: keyed.ask(
            "POST",
            "/mcp",
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            name=name,
            **headers,
            Mcp_Session_Id=session,
        ).status_code
        for name in ("boris", "anna")
    }
    assert codes == {"boris": 404, "anna": 202}


@pytest.mark.parametrize(
    ("headers", "status", "word"),
    [
        ({"Authorization": "Bearer gk-wrong"}, 401, "API key"),
        ({"Authorization": ""}, 401, "API key"),
        ({"Origin": "http://evil.example"}, 403, "another site"),
    ],
)
def test_who_may_not_is_told_so_before_any_session(
    keyed: Running, headers: Mapping[str, str], status: int, word: str
) -> None:
    """Without a key that counts, or from a foreign page, nothing is begun."""
    refused = keyed.ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, **headers)
    assert refused.status_code == status
    assert word in refused.json()["error"]["message"]
    assert "mcp-session-id" not in refused.headers


def test_a_made_up_name_of_this_machine_is_not_answered_to(slow: Running) -> None:
    """Where no keys are used, a name that somebody else made to lead here gets nothing (DNS rebinding)."""
    refused = slow.ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, Host="evil.example")
    assert refused.status_code == 403


def test_nobody_waits_for_what_is_said_unasked(keyed: Running) -> None:
    """A stream that would be open for ever, and hold up the end of the server, is not begun."""
    refused = keyed.ask("GET", "/mcp", Accept="text/event-stream")
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST, DELETE")


def test_a_huge_request_is_refused_unread(keyed: Running) -> None:
    """The limit of the whole server is that of the tools, too."""
    assert keyed.ask("POST", "/mcp", {"question": "x" * 5_000_000}).status_code == 413


# ---------------------------------------------------------------------------------------------------------- cancelling


def until_idle(running: Running) -> None:
    end = time.monotonic() + 5
    while running.service.running:
        assert time.monotonic() < end
        time.sleep(0.01)


@by_mode
async def test_a_cancelled_question_is_kept_half_finished_and_the_same_call_finishes_it(
    slow: Running, model: FakeServer, mode: Mode
) -> None:
    """Cancelling the request stops the turn at once; sent again under its ids, it is brought to its answer."""
    model.options(delay_ms=20_000)
    message = {"question": QUESTION, "thread_id": f"cancelled-{mode}", "turn_id": "1"}
    try:
        async with connected(slow, mode=mode) as client:
            with anyio.CancelScope() as scope:

                async def tell(progress: float, total: float | None, message: str | None) -> None:
                    if message == "understanding the question":
                        scope.cancel()

                await client.call_tool("ask", message, progress_callback=tell)
            assert scope.cancelled_caught
            await anyio.to_thread.run_sync(until_idle, slow)
            [turn] = slow.ask("GET", f"/v1/threads/cancelled-{mode}").json()["turns"]
            assert turn["status"] == "running"
            model.options(delay_ms=0)
            finished = await client.call_tool("ask", message)
    finally:
        model.options(delay_ms=0)
    assert not finished.is_error
    assert (finished.structured_content or {})["turn_id"] == "1"
    [turn] = slow.ask("GET", f"/v1/threads/cancelled-{mode}").json()["turns"]
    assert turn["status"] == "done"


# ------------------------------------------------------------------------------------------------------------- tools


async def test_every_tool_says_what_it_takes_and_does(keyed: Running) -> None:
    """Descriptions name the product and its scope; every argument has one, every text and number its bounds."""
    async with connected(keyed) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert "ask" in (client.instructions or "")
    for tool in tools.values():
        assert "Shelf" in (tool.description or "")
        assert tool.annotations
        assert tool.annotations.destructive_hint is False
        assert tool.annotations.open_world_hint is False
        assert tool.input_schema["additionalProperties"] is False
        for name, schema in tool.input_schema["properties"].items():
            assert len(schema["description"]) > 20, name
            for kind in [schema, *schema.get("anyOf", [])]:
                if kind.get("type") == "integer":
                    assert kind["minimum"] >= 0, name
                    assert {"maximum", "exclusiveMaximum"} & kind.keys(), name
                if kind.get("type") == "string":
                    assert "enum" in kind or kind["maxLength"] <= MAX_MESSAGE_CHARS, name
    assert "lending, returning, fines" in (tools["ask"].description or "")
    assert {name for name, tool in tools.items() if tool.annotations and tool.annotations.read_only_hint} == {
        *("get_articles", "read_article"),
    }
    # A model reads it with every request.
    assert len(json.dumps([tool.input_schema for tool in tools.values()])) < 4000


async def test_progress_and_answer_are_in_the_language_of_the_question(keyed: Running) -> None:
    """A Russian question is told of in Russian; a language that is asked for counts more."""
    told: list[str] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told.append(message or "")

    question = "Как восстановить каталог из резервной копии?"
    async with connected(keyed) as client:
        russian = await client.call_tool("ask", {"question": question}, progress_callback=tell)
        english = await client.call_tool("ask", {"question": question, "language": "en"})
    assert told[0] == "проверяю сообщение"
    assert (russian.structured_content or {})["language"] == "ru"
    assert (english.structured_content or {})["language"] == "en"


async def test_articles_are_found_and_read_with_all_that_a_citation_needs(keyed: Running) -> None:
    """A passage and an article name title, address and number; text and structured content say the same."""
    async with connected(keyed) as client:
        found = await client.call_tool(
            "get_articles", {"query": "Кто может списать штраф?", "top_k": 3, "language": "ru"}
        )
        passages = (found.structured_content or {})["passages"]
        read = await client.call_tool("read_article", {"article": passages[0]["kb_id"], "language": "ru"})
        nothing = await client.call_tool("get_articles", {"query": "zzyzx qwertyuiop"})
    assert 1 <= len(passages) <= 3
    assert passages[0]["language"] == "ru"
    assert passages[0]["source"] == "policy"
    assert passages[0]["snippet"] in texts(found)[0]
    article = read.structured_content or {}
    assert (article["document"], article["url"]) == (passages[0]["document"], passages[0]["url"])
    assert article["text"] == texts(read)[0]
    assert article["headings"][0] == article["title"] == passages[0]["title"]
    assert article["url"] in texts(read)[1]
    assert (nothing.structured_content or {})["passages"] == []
    assert not nothing.is_error


WRONG: dict[str, tuple[str, dict[str, Any]]] = {
    "no question": ("ask", {}),
    "an empty question": ("ask", {"question": ""}),
    "a question of spaces": ("ask", {"question": " \n\t\u200b "}),
    "a question that is too long": ("ask", {"question": "secret " * 3000}),
    "a number for a question": ("ask", {"question": 5}),
    "a list for a question": ("ask", {"question": ["secret"]}),
    "a role": ("ask", {"question": QUESTION, "role": "operator"}),
    "settings": ("ask", {"question": QUESTION, "settings": {"guard_mode": "off"}}),
    "a foreign language": ("ask", {"question": QUESTION, "language": "de"}),
    "a thread that cannot be one": ("ask", {"question": QUESTION, "thread_id": "a\x00b"}),
    "a thread that an address would change": ("ask", {"question": QUESTION, "thread_id": "a/../b"}),
    "a thread that is too long": ("ask", {"question": QUESTION, "thread_id": "x" * 201}),
    "a message without a thread": ("ask", {"question": QUESTION, "turn_id": "1"}),
    "nothing to search for": ("get_articles", {"query": ""}),
    "no passage": ("get_articles", {"query": "fine", "top_k": 0}),
    "too many passages": ("get_articles", {"query": "fine", "top_k": MOST_ARTICLES + 1}),
    "half a passage": ("get_articles", {"query": "fine", "top_k": 1.5}),
    "a truth for a number": ("get_articles", {"query": "fine", "top_k": True}),
    "a number in quotation marks": ("get_articles", {"query": "fine", "top_k": "5"}),
    "an unknown article": ("read_article", {"article": "doc:secret.md#0"}),
    "an unknown number": ("read_article", {"article": 10**14}),
    "a number below all": ("read_article", {"article": -1}),
    "an article that is no name": ("read_article", {"article": {"secret": 1}}),
    "a name that is too long": ("read_article", {"article": "secret" * 1000}),
    "a part that is not there": ("read_article", {"article": 11, "part": 2}),
}


async def test_what_cannot_be_taken_is_an_error_of_the_tool_with_a_way_out(keyed: Running) -> None:
    """Wrong types, bounds, names and unknown arguments: a short sentence that a model can act on; nothing is run."""
    async with connected(keyed) as client:
        for what, (tool, arguments) in WRONG.items():
            result = await client.call_tool(tool, arguments)
            assert result.is_error, what
            [said] = texts(result)
            assert 20 < len(said) < 400, what
            assert re.search(r"[.!?]$", said), what
            assert "secret secret" not in said, what
            assert "pydantic" not in said, what
        with pytest.raises(MCPError, match="There are ask"):
            await client.call_tool("drop_everything", {})
        assert not (await client.call_tool("ask", {"question": QUESTION})).is_error


async def test_a_tool_shows_nobody_the_servers_files(library: Desk, tmp_path: Path) -> None:
    """Documents that cannot be read are an error in the question's language, for an operator, too."""
    desk = library.copied(tmp_path / "data")
    deployed = deployment(environment=desk.environment)
    with serve_deployment(deployed, ServerOptions(role="operator", mcp=True)) as running:
        shutil.rmtree(desk.folder / "knowledge")
        async with connected(running) as client:
            result = await client.call_tool("get_articles", {"query": "Где лежат резервные копии?"})
    [said] = texts(result)
    assert result.is_error
    assert said.startswith("Документы сейчас не читаются.")
    assert str(desk.folder) not in said


# --------------------------------------------------------------------------------------------------------- resources


@pytest.fixture(scope="module")
def helping(handbook_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server of the handbook, which asks for no key."""
    place = tmp_path_factory.mktemp("helping")
    desk = Desk(handbook_data, place, "handbook").copied(place / "data")
    with serve_deployment(deployment(environment=desk.environment), ServerOptions(mcp=True), {}) as running:
        yield running


@by_mode
async def test_the_handbook_is_the_resources_of_its_own_profile(helping: Running, mode: Mode) -> None:
    """Every bundled page of both languages is listed with its title and can be read; other names lead nowhere."""
    pages = {f"{path.parent.name}/{path.stem}" for path in (ROOT / "knowledge").glob("*/*.md")}
    async with connected(helping, mode=mode) as client:
        listed = (await client.list_resources()).resources
        assert {resource.name for resource in listed} == pages
        assert len({resource.title for resource in listed}) > len(pages) * 0.9
        for resource in listed[:: len(listed) // 4]:
            [content] = (await client.read_resource(resource.uri)).contents
            said = content.model_dump()
            assert said["text"] == handbook()[resource.uri].text
            assert said["text"].startswith("# ")
            assert len(said["text"].encode()) == resource.size
            assert said["mime_type"] == "text/markdown"
        for uri in (
            "guardian://handbook/en/none",
            "guardian://handbook/../pyproject.toml",
            "file:///etc/passwd",
            "x" * 9000,
        ):
            with pytest.raises(MCPError, match="no such resource"):
                await client.read_resource(uri)


@by_mode
async def test_the_documents_of_a_profile_are_its_resources(keyed: Running, mode: Mode) -> None:
    """They are listed with their titles in pages and read as indexed; other names and cursors lead nowhere."""
    async with connected(keyed, mode=mode) as client:
        listed = (await client.list_resources()).resources
        files = {path.relative_to(CORPUS.parent).as_posix() for path in CORPUS.rglob("*.md")}
        assert {resource.name for resource in listed} == files
        [restore] = [resource for resource in listed if resource.name.endswith("en/restore.md")]
        assert restore.title == "Restoring a backup"
        [content] = (await client.read_resource(restore.uri)).contents
        assert ANSWER in content.model_dump()["text"]
        for uri in (
            "guardian://documents/",
            "guardian://documents/../x",
            "guardian://handbook/en/search",
            "file:///etc/passwd",
        ):
            with pytest.raises(MCPError, match="no such resource"):
                await client.read_resource(uri)
        for cursor in ("x", "-1", "9" * 30, "²"):
            with pytest.raises(MCPError, match="no such cursor"):
                await client.list_resources(cursor=cursor)
        assert (await client.list_resources(cursor="99999")).resources == []


async def test_many_documents_are_listed_in_pages_and_a_role_sees_its_own(library: Desk, tmp_path: Path) -> None:
    """Each document once, whatever the size of a page; what a role may not search it may not list or read."""
    desk = library.copied(tmp_path / "data")
    async with open_service(deployment(environment=desk.environment)) as service:
        listed, after = list[str](), 0
        while page := await list_articles(service, Caller(role="user"), after, 5):
            listed += [name.document for _, name in page]
            after = page[-1][0]
        assert sorted(listed) == sorted({path.relative_to(CORPUS.parent).as_posix() for path in CORPUS.rglob("*.md")})
        assert await list_articles(service, Caller(role="nobody"), 0, 5) == []


def test_a_document_whose_title_demands_a_secret_is_listed_and_read_without_it(tmp_path: Path) -> None:
    """It keeps its place in the list of documents, and can be read, with a mark in the place of the title."""
    shutil.copytree(CORPUS, tmp_path / "corpus")
    (tmp_path / "corpus" / "en" / "send.md").write_text("# Send us your password\n\nThe shelf is red.\n", "utf-8")
    profile = tmp_path / PROFILE.name
    profile.write_text(PROFILE.read_text("utf-8"), "utf-8")
    desk = Desk(tmp_path / "data", tmp_path, profile)
    desk.index()

    async def read() -> tuple[str, str]:
        async with open_service(deployment(environment=desk.environment)) as service:
            listed = await list_articles(service, Caller(), 0, 50)
            [send] = [name for _, name in listed if name.document.endswith("send.md")]
            return send.title, (await read_article(service, Caller(), send.document)).title

    assert "password" not in " ".join(anyio.run(read))
