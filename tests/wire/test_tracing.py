"""Whole turns in processes of their own, traced to a server on this machine."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from assistant.turns.tracing import EXIT_WAIT_S, KEPT_METADATA, prepare_tracing, tracing_in_words, without_content
from contracts.errors import ConfigError
from tests.support import fork_server
from tests.support.cli_helpers import Desk
from tests.support.timed import measure, soonest
from tests.support.wire.server_process import fake_server
from tests.support.wire.trace_sink import TraceSink, trace_sink

WORD = "quizzaciously"
QUESTION = f"We have a {WORD}. How do I restore the catalogue from a backup?"
UNANSWERABLE = f"We have a {WORD}. How do I restore the catalogue of the submarine?"
WORDS = (WORD, "catalogue", "backup", "shelfctl", "damaged", "submarine", "Shelf")
"""Of the question, the documents, the answer and the profile; none is part of a node's name."""

NODES = (
    *("moderation", "sgr_plan", "inject_synthetic", "retrieve", "draft"),
    *("guardian_verify", "retry_bump", "finalize", "safe_exit"),
)


KEY = {"LANGSMITH_API_KEY": "lsv2_pt_unmistakable"}


@dataclass(frozen=True)
class Quiet:
    """What a server was sent, and in which mode."""

    sink: TraceSink
    mode: str


class Traced(Desk):
    """A desk that is traced as its environment says."""

    def asks(self, question: str, **more: str) -> dict[str, Any]:
        """Run one turn in a process of its own; return its result."""
        said = self.having(**more).run("ask", question, "--json", "--quiet")
        return said.json

    def program(self, code: str, **more: str) -> None:
        """Run a program of the test's, which must succeed."""
        done = fork_server.run(["-c", code], env=self.having(**more).environment, text=True)
        assert done.returncode == 0, done.stderr


_FAILING_NODE = """
import asyncio, os
from typing import TypedDict
from assistant.turns.tracing import prepare_tracing
from langgraph.graph import START, StateGraph

prepare_tracing(os.environ["GUARDIAN_TRACE_CONTENT"] == "true")

class State(TypedDict):
    question: str

async def fails(state: State) -> State:
    raise LookupError("no answer to " + state["question"])

graph = StateGraph(State).add_node("fails", fails).add_edge(START, "fails").compile()
try:
    asyncio.run(graph.ainvoke({"question": os.environ["QUESTION"]}))
except LookupError:
    pass
"""

_MODEL = """
import asyncio, os
from assistant.turns.tracing import prepare_tracing

prepare_tracing(os.environ["GUARDIAN_TRACE_CONTENT"] == "true")

async def ask():
    from langchain_openai import ChatOpenAI
    model = ChatOpenAI(model="fake-model", base_url=os.environ["SERVER"], api_key="none", max_retries=0)
    reply = await model.ainvoke(os.environ["QUESTION"])
    assert reply.text == os.environ["REPLY"], reply
    await model.root_async_client.close()

asyncio.run(ask())
"""

_HOST = """
from langsmith import Client
from langsmith.run_trees import configure
from assistant.turns.tracing import prepare_tracing
host = Client()
configure(client=host, enabled=True)
prepare_tracing(False)
from assistant import ask
ask({question!r})
"""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Traced:
    """A desk whose documents are indexed; all tests of the file talk to it, in conversations of their own."""
    place = tmp_path_factory.mktemp("traced")
    made = Traced(place / "data", place)
    Desk(made.data, made.cwd).index()
    return made


def variables(sink: TraceSink, mode: str) -> dict[str, str]:
    """Return what traces in that mode, to the sink as LangSmith, as the collector, or as both."""
    modes = {"otel": {"LANGSMITH_TRACING_MODE": "otel"}, "hybrid": {"LANGSMITH_OTEL_ENABLED": "true"}}
    if mode == "langsmith":
        return sink.environment()
    return {**sink.environment(), **modes[mode], "OTEL_EXPORTER_OTLP_ENDPOINT": sink.url}


def spans(sink: TraceSink) -> list[Any]:
    """Return what a collector was sent."""
    bodies = [request.body for request in sink.requests if request.path == "/v1/traces"]
    messages = [ExportTraceServiceRequest.FromString(body) for body in bodies]
    scopes = [scope for message in messages for resource in message.resource_spans for scope in resource.scope_spans]
    return [span for scope in scopes for span in scope.spans]


@pytest.fixture(scope="module")
def sent(desk: Traced) -> Callable[[str], TraceSink]:
    """Return what was sent of an answered turn where nothing but the mode is said; there is one turn for each mode."""

    @cache
    def of_turn(mode: str) -> TraceSink:
        with trace_sink() as sink:
            assert desk.asks(QUESTION, **variables(sink, mode))["outcome"] == "answered"
        return sink

    return of_turn


@pytest.mark.parametrize("mode", ["langsmith", "otel"])
def test_a_trace_has_the_words_of_the_turn_where_nothing_else_is_said(
    sent: Callable[[str], TraceSink], mode: str
) -> None:
    """The question's, the documents' and the answer's words are in what is sent, and so are the nodes' names."""
    sink = sent(mode)
    assert sink.holds(WORD, "catalogue", "shelfctl", "damaged") == [WORD, "catalogue", "shelfctl", "damaged"]
    assert sink.holds("guardian_verify", "finalize") == ["guardian_verify", "finalize"]


@pytest.fixture(scope="module", params=["langsmith", "hybrid"])
def quiet(request: pytest.FixtureRequest, desk: Traced) -> Quiet:
    """What is sent without contents of a turn that is answered and of one that is tried again and given up."""
    with trace_sink() as sink:
        more = {**variables(sink, request.param), **KEY, "GUARDIAN_TRACE_CONTENT": "false"}
        outcomes = [desk.asks(question, **more)["outcome"] for question in (QUESTION, UNANSWERABLE)]
    assert outcomes == ["answered", "pages_shown"]
    return Quiet(sink, request.param)


def test_without_contents_not_a_word_is_in_any_byte_sent_and_the_tree_still_is(quiet: Quiet) -> None:
    """Neither of the questions, the documents nor the answer; all nine nodes are in it by name."""
    assert quiet.sink.holds(*WORDS) == []
    assert quiet.sink.holds(*NODES) == list(NODES)


def test_without_contents_nodes_keep_their_times_and_their_parents(quiet: Quiet) -> None:
    """Each run of a node began and ended within its turn's, and hangs under it."""
    sent = quiet.sink.sent.decode("utf-8", "replace")
    root = re.search(r'"id":"([0-9a-f-]{36})"[^}]*"name":"guardian"', sent)
    assert root
    node = re.search(r'\{[^{}]*"name":"retrieve"[^{}]*\}', sent)
    assert node
    assert f'"parent_run_id":"{root[1]}"' in node[0]
    assert re.search(r'"end_time":"\d{4}-', sent)
    assert '"langgraph_node":"retrieve"' in sent
    if quiet.mode == "hybrid":
        named = {span.name: span for span in reversed(spans(quiet.sink))}
        root, node = named["guardian"], named["retrieve"]
        assert node.parent_span_id == root.span_id
        assert root.end_time_unix_nano > node.end_time_unix_nano > node.start_time_unix_nano > root.start_time_unix_nano


def test_each_search_is_a_retriever_run_under_retrieve_with_what_it_found(sent: Callable[[str], TraceSink]) -> None:
    """LangSmith gets the query and the passages, masked for whoever reads the trace."""
    text = sent("langsmith").sent.decode("utf-8", "replace")
    node = re.search(r'"id":"([0-9a-f-]{36})"[^{}]*"name":"retrieve"', text)
    search = re.search(r'\{[^{}]*"name":"search doc"[^{}]*\}', text)
    assert node
    assert search
    assert f'"parent_run_id":"{node[1]}"' in search[0]
    assert '"run_type":"retriever"' in search[0]
    assert re.search(r'"documents":\[\{[^\]]*"page_content":"[^"]*shelfctl', text)


def test_langsmith_is_sent_its_key_as_a_header_and_nowhere_else(quiet: Quiet) -> None:
    """Also where it takes OpenTelemetry itself."""
    paths = ["/runs/multipart", *(["/v1/traces"] if quiet.mode == "hybrid" else [])]
    assert sorted({request.path for request in quiet.sink.requests}) == paths
    assert all(request.headers["x-api-key"] == KEY["LANGSMITH_API_KEY"] for request in quiet.sink.requests)
    assert b"unmistakable" not in quiet.sink.sent


@pytest.mark.parametrize("mode", ["langsmith", "otel"])
def test_of_an_error_only_its_class_leaves_without_contents(desk: Traced, mode: str) -> None:
    """An error that quotes the user is in the trace by its class; with contents, by its text."""
    for kept, words in (("true", [WORD, "LookupError"]), ("false", ["LookupError"])):
        with trace_sink() as sink:
            desk.program(_FAILING_NODE, **variables(sink, mode), GUARDIAN_TRACE_CONTENT=kept, QUESTION=WORD)
        assert sink.holds(WORD, "LookupError") == words


@pytest.mark.parametrize("mode", ["langsmith", "otel"])
def test_of_a_call_of_a_model_its_tokens_leave_and_not_its_texts(desk: Traced, mode: str) -> None:
    """Neither prompt nor reply is in the trace without contents; the model's name and the token counts are."""
    usage = {"prompt_tokens": 7411, "completion_tokens": 5, "total_tokens": 7416}
    with fake_server() as server, trace_sink() as sink:
        server.script([{"reply": {"text": "Ask the submarine.", "usage": usage}}])
        asked = {"SERVER": server.url, "QUESTION": QUESTION, "REPLY": "Ask the submarine."}
        desk.program(_MODEL, **variables(sink, mode), **asked, GUARDIAN_TRACE_CONTENT="false")
    assert sink.holds(*WORDS) == []
    if mode == "langsmith":
        assert sink.holds("fake-model", '"input_tokens":7411') == ["fake-model", '"input_tokens":7411']
    else:
        (span,) = [span for span in spans(sink) if span.name == "ChatOpenAI"]
        values = {attribute.key: attribute.value for attribute in span.attributes}
        assert values["gen_ai.usage.input_tokens"].int_value == usage["prompt_tokens"]
        assert values["gen_ai.request.model"].string_value == "fake-model"


def test_a_program_with_a_client_of_its_own_sends_no_contents_of_ours_either(desk: Traced) -> None:
    """Tracing switched on in its code, by a client that hides nothing: our setting still holds."""
    with trace_sink() as sink:
        more = {**sink.environment(), "LANGSMITH_TRACING": "", "GUARDIAN_TRACE_CONTENT": "false"}
        desk.program(_HOST.format(question=QUESTION), **more)
    assert sink.holds(*WORDS) == []
    assert sink.holds("guardian_verify") == ["guardian_verify"]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["langsmith", "otel"])
def test_a_server_that_hangs_neither_changes_nor_delays_a_turn(desk: Traced, mode: str) -> None:
    """The answer is that of an untraced turn, as soon; and the process is gone a little after `EXIT_WAIT_S`."""
    with trace_sink(wait_s=600) as sink:

        def run() -> tuple[tuple[dict[str, Any], float], tuple[dict[str, Any], float]]:
            return measure(lambda: desk.asks(QUESTION)), measure(lambda: desk.asks(QUESTION, **variables(sink, mode)))

        def holds(found: tuple[tuple[dict[str, Any], float], tuple[dict[str, Any], float]]) -> bool:
            (result, took), (traced, took_traced) = found
            # The exporter of OpenTelemetry waits as long again, after LangSmith's client.
            return spent(traced) < spent(result) + 1000 and took_traced < took + 2 * EXIT_WAIT_S + 2

        found = soonest(run, holds)
    assert found[1][0]["answer_text"] == found[0][0]["answer_text"]
    assert holds(found), [(spent(result), took) for result, took in found]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["langsmith", "otel"])
def test_a_server_that_is_down_costs_a_line_and_nothing_else(desk: Traced, mode: str) -> None:
    """The turn is answered; what was wrong is said in one line or two, without a trace of Python's."""
    with trace_sink() as sink:
        pass
    said = desk.having(**variables(sink, mode)).run("ask", QUESTION, "--quiet")
    assert said.code == 0
    assert "shelfctl" in said.out
    assert "Traces could not be sent" in said.err
    assert len(said.err.strip().splitlines()) <= 2


def spent(result: dict[str, Any]) -> float:
    """Return the milliseconds that a turn's nodes took."""
    return sum(result["diagnostics"]["timings_ms"].values())


def test_a_collector_is_not_sent_the_key_of_langsmith(desk: Traced) -> None:
    """Neither where it has no headers of its own, nor where it has some, which it gets."""
    for own in (
        {},
        {"OTEL_EXPORTER_OTLP_HEADERS": "x-team=desk"},
        {"OTEL_EXPORTER_OTLP_TRACES_HEADERS": "x-team=desk"},
    ):
        with trace_sink() as collector:
            variables_ = {"LANGSMITH_TRACING": "true", "LANGSMITH_TRACING_MODE": "otel"}
            told = {**variables_, **KEY, **own, "GUARDIAN_TRACE_CONTENT": "true", "QUESTION": WORD}
            desk.program(_FAILING_NODE, **told, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
        assert collector.requests
        for request in collector.requests:
            assert "unmistakable" not in str(request.headers)
            assert request.headers.get("x-team") == ("desk" if own else None)


def test_where_tracing_is_off_nothing_is_imported_and_nothing_set() -> None:
    """The way of every turn that nobody traces."""
    code = (
        "import sys; from assistant.turns.tracing import prepare_tracing; kept = {}; prepare_tracing(False, kept);"
        "print(kept, [name for name in ('langsmith', 'langchain_core', 'opentelemetry') if name in sys.modules])"
    )
    environment = Desk(Path(), Path()).environment
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "{} []\n"


OTEL = {"LANGSMITH_TRACING": "true", "LANGSMITH_OTEL_ENABLED": "true"}


@pytest.mark.parametrize("more", [{}, {"LANGSMITH_OTEL_ONLY": "true"}, {"LANGSMITH_TRACING_MODE": "otel"}])
def test_opentelemetry_without_its_packages_is_an_error_with_a_way_out(
    more: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """LangSmith would warn, and send to itself what was meant for a collector."""
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    for call in (prepare_tracing, tracing_in_words):
        with pytest.raises(ConfigError) as raised:
            call(True, OTEL | more)
        assert "extra `otel`" in raised.value.way_out


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({}, "off: nothing is sent (LANGSMITH_TRACING)"),
        ({"LANGSMITH_TRACING": "false"}, "off: nothing is sent (LANGSMITH_TRACING)"),
        ({"LANGSMITH_TRACING": "true"}, "on, with all contents, to api.smith.langchain.com"),
        (
            {"LANGSMITH_TRACING": "true", "LANGSMITH_ENDPOINT": "https://me:secret@traces.example:8443/api"},
            "on, with all contents, to traces.example:8443",
        ),
        (
            {**OTEL, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"},
            "on, with all contents, to api.smith.langchain.com and collector:4318 (OpenTelemetry)",
        ),
        (
            {**OTEL, "LANGSMITH_OTEL_ONLY": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"},
            "on, with all contents, to collector:4318 (OpenTelemetry)",
        ),
    ],
)
def test_what_leaves_and_where_to_is_said_in_a_line(variables: dict[str, str], words: str) -> None:
    """For `guardian doctor`: never a key, a password or a path."""
    assert tracing_in_words(True, variables) == words
    assert tracing_in_words(False, variables) == words.replace("with all", "without")


def test_what_is_kept_of_a_run_is_named_not_what_is_dropped() -> None:
    """Whatever a newer version of a library puts into metadata stays here until it is named."""
    named = dict.fromkeys(KEPT_METADATA, 1)
    assert without_content({**named, "question": WORD, "langgraph_auth_user": "ann"}) == named


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("ValueError('no such thing')\n\nTraceback (most recent call last): ...", "ValueError"),
        ("httpx.ReadTimeout('')", "httpx.ReadTimeout"),
        ("the user said (I quote)", "error"),
        ("", "error"),
    ],
)
def test_an_error_without_contents_is_a_class_name(text: str, left: str) -> None:
    """What does not begin as `repr` of an exception does is no more than an error."""
    assert without_content({"error": text}) == {"error": left}
