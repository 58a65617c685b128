"""Playing a fault: by the adapter alone, and through a whole turn; and telling from what happened what became of it."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

import openai
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from adapters.drafting.extractive import ExtractiveDrafter
from adapters.drafting.model import ModelDrafter
from adapters.fakes.model import PLAN_TOOL, ModelRequest, message_of
from adapters.fakes.replies import said_of
from adapters.fakes.sources import FakeSource
from adapters.fakes.topic import FakeTopicProbe
from adapters.models.access import ModelAccess
from adapters.models.chat import ChatModel
from adapters.models.exchange import AskedModel
from adapters.models.memory import WireMemory
from adapters.models.retries import Pauses
from adapters.models.window import ContextWindow
from adapters.moderation.rules import RuleModerator
from adapters.moderation.vllm import VllmModerator
from adapters.planning.model import ModelPlanner
from adapters.planning.offline import OfflinePlanner
from contracts.calls import ModelCall
from contracts.context import STEPS_PER_TURN, Context
from contracts.enums import CallPurpose, Language, OnUnavailable, RequestType, Source
from contracts.errors import ModerationUnavailable
from contracts.ports import DraftRequest, PlanRequest
from contracts.result import StructuredAgentResult
from contracts.spec import ArchitectSpec
from graph.build import Graph, Ports, build_graph
from tests.support.sockets import free_port
from tests.support.turn import PROFILE, passage
from tests.support.wire.fault_data import ALONE, CASES, KINDS, TIMEOUT_S, Call, Case, Run, script
from tests.support.wire.server_process import FakeServer, fake_server

KEY = "sk-this-is-a-secret"
QUESTION = "At how many degrees does the kettle boil?"
RETRIES = 2
AT_ONCE = 12
"""Runs at the same time where nothing waits: more would only wait for the processor."""
EVIDENCE = (passage(1), passage(2))
QUICK = Pauses(first_s=0.01, longest_s=0.02)


T = TypeVar("T")
Request = Mapping[str, Any]
"""As the scripted server records it."""


@dataclass(frozen=True)
class Played:
    """What an adapter made of a fault.

    Attributes:
        degraded: Whether it gave its model up.
        taken: The plan as data, the text of the draft, or the words of the moderator; `None` where it gave up.
        calls: Its own records.
        words: All that it says of what went wrong.
        seconds: From the question to the result.
    """

    degraded: bool
    taken: Any
    calls: tuple[ModelCall, ...]
    words: str
    seconds: float


@dataclass(frozen=True)
class Turn:
    """What a whole turn made of a fault: its result, the last draft, and the seconds that it took."""

    result: StructuredAgentResult
    draft: str
    seconds: float


Work = Callable[[], Awaitable[Played | Turn]]


class Wire:
    """Makes the three adapters over one client.

    Args:
        server: It plays `fault_data.script()`.
        client: For all of them.
        nobody: An address at which nobody listens.
    """

    def __init__(self, server: FakeServer, client: openai.DefaultAsyncHttpxClient, nobody: str) -> None:
        self._server = server
        self._client = client
        self._nobody = nobody

    def _model(self, case: Case, run: Run, call: Call, root: str = "", pauses: Pauses = QUICK) -> ChatModel:
        """Return the model of one call in a run of a case; only the case's own call meets the fault."""
        faulty = call == case.call
        root = root or (self._nobody if faulty and case.fault.reply is None else self._server.root)
        access = ModelAccess(
            "fake-guard" if call == "moderation" else "fake-model",
            f"{root}{case.fault.prefix(case.call, run)}",
            SecretStr(KEY),
            timeout_s=case.fault.timeout_s if faulty else TIMEOUT_S,
            max_retries=RETRIES,
            window=32_768,
        )
        return ChatModel(access, CallPurpose(call), self._client, pauses=pauses)

    def _planner(self, model: ChatModel) -> ModelPlanner:
        memory = WireMemory()
        asked = AskedModel(model, ContextWindow(model.access, self._client, memory), PROFILE)
        return ModelPlanner(asked, memory, OfflinePlanner(FakeTopicProbe(), PROFILE))

    def _drafter(self, model: ChatModel) -> ModelDrafter:
        window = ContextWindow(model.access, self._client, WireMemory())
        return ModelDrafter(AskedModel(model, window, PROFILE), ExtractiveDrafter(product=PROFILE.product))

    def prepared(self, case: Case, run: Run) -> Work:
        """Make what a run needs, which takes longer than the run; what is returned runs it."""
        if run not in ALONE:
            return self._turn(case, run)
        if case.fault.reply is None and run == "once":
            return partial(self._play_late, case, run)
        return partial(self._played, case, self._model(case, run, case.call))

    async def _play_late(self, case: Case, run: Run) -> Played:
        """Let the adapter ask where nobody listens until it pauses for the first time."""
        port = free_port()
        with ExitStack() as started:

            async def start(_: float) -> None:
                await asyncio.to_thread(started.enter_context, fake_server("--port", str(port)))

            pauses = Pauses(sleep=start)
            return await self._played(case, self._model(case, run, case.call, f"http://127.0.0.1:{port}", pauses))

    async def _played(self, case: Case, model: ChatModel) -> Played:
        """Let the adapter ask, and say what it made of it."""
        began = time.monotonic()
        match case.call:
            case "plan":
                plan = await self._planner(model).plan(PlanRequest(QUESTION, Language.EN))
                degraded, taken, calls = plan.degraded, plan.plan.model_dump(mode="json"), plan.calls
            case "draft":
                draft = await self._drafter(model).draft(_DRAFT)
                degraded, taken, calls = draft.degraded, draft.text, draft.calls
            case "moderation":
                try:
                    result = await VllmModerator(model).moderate(QUESTION)
                    degraded, taken, calls = (), result.raw_output, result.calls
                except ModerationUnavailable as error:
                    degraded, taken, calls = (str(error),), None, error.calls
        return Played(bool(degraded), taken, calls, f"{degraded} {calls}", time.monotonic() - began)

    def _turn(self, case: Case, run: Run) -> Work:
        """Make a whole turn in which one of the three calls meets the fault, as often as it is made."""
        moderation, plan, draft = (self._model(case, run, call) for call in ("moderation", "plan", "draft"))
        ports = Ports(
            moderator=VllmModerator(moderation),
            fallback_moderator=RuleModerator(),
            planner=self._planner(plan),
            drafter=self._drafter(draft),
            sources={Source.DOC: FakeSource(Source.DOC, EVIDENCE)},
        )
        graph = build_graph(ports, PROFILE, checkpointer=InMemorySaver())
        closed = OnUnavailable.CLOSED if run == "closed" else OnUnavailable.FALLBACK
        return partial(_answered, graph, Context(on_unavailable=closed))


async def _answered(graph: Graph, context: Context) -> Turn:
    config: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": STEPS_PER_TURN}
    question: Any = {"messages": [HumanMessage(QUESTION, id="q")]}
    began = time.monotonic()
    state = await graph.ainvoke(question, config, context=context)
    seconds = time.monotonic() - began
    return Turn(StructuredAgentResult.model_validate(state["result"]), state["draft_answer"], seconds)


_DRAFT = DraftRequest(
    question=QUESTION,
    language=Language.EN,
    request_type=RequestType.KNOWLEDGE_QA,
    intent="Learn when it boils.",
    subqueries=(QUESTION,),
    evidence=EVIDENCE,
    spec=ArchitectSpec(),
    synthetic="A question about a kettle.",
)


# -------------------------------------------------------------------------------------------------- what became of it


def became(case: Case, played: Played, requests: Sequence[Request]) -> str:
    """Tell what became of a fault from what the adapter returned and what the server was asked."""
    if played.degraded:
        return "degraded"
    if len(played.calls) == 1:
        return "read" if _is_as_said(case, played.taken, requests[0]) else "repaired"
    if played.calls[-1].form.startswith("small"):
        return "small form"
    first, second = played.calls[:2]
    if first.form != second.form:
        return "next form"
    if case.fault.reply is None:
        return "retried"  # where nobody listened, there is no record of what was asked: the form must do
    before, after = (request["body"] for request in requests[:2])
    if before["messages"] != after["messages"]:
        return "asked again"
    return "retried" if before["max_completion_tokens"] == after["max_completion_tokens"] else "more room"


def _is_as_said(case: Case, taken: Any, request: Request) -> bool:
    """Whether what was taken is what the server said, in the form that was asked for."""
    message = _message_said(case, request)
    text = message.get("content")
    if case.call != "plan":
        return isinstance(text, str) and text.strip() == taken
    match message.get("tool_calls"):
        case [{"function": {"name": str(name), "arguments": str(arguments)}}] if name == PLAN_TOOL:
            return _holds(taken, arguments)
        case _:
            return False


def _message_said(case: Case, request: Request) -> Mapping[str, Any]:
    reply = case.fault.reply or {}
    if "choices" in reply:
        return reply["choices"][0]["message"]
    return message_of(
        said_of(ModelRequest("POST", request["path"], json.dumps(request["body"]), request["body"]), reply)
    )


def _holds(plan: Mapping[str, Any], arguments: str) -> bool:
    try:
        given: dict[str, Any] = json.loads(arguments)
    except json.JSONDecodeError:
        return False
    return all(name in plan and plan[name] == value for name, value in given.items())


# ------------------------------------------------------------------------------------------------------------- all runs


@dataclass(frozen=True)
class Record:
    """All that was played, by the case's name and the run.

    Attributes:
        results: What adapters alone and whole turns made of faults; an error where one escaped them.
        requests: What the server was asked.
        logged: What was logged as an error meanwhile.
    """

    results: Mapping[tuple[str, Run], Played | Turn | Exception]
    requests: Mapping[tuple[str, Run], Sequence[Request]]
    logged: Sequence[str]

    def alone(self, case: Case, run: Run) -> Played:
        """Return what the adapter made of it, or raise what escaped it."""
        return self._of(Played, case, run)

    def turn(self, case: Case, run: Run) -> Turn:
        """Return what a whole turn made of it, or raise what escaped it."""
        return self._of(Turn, case, run)

    def asked(self, case: Case, run: Run) -> Sequence[Request]:
        return self.requests[str(case), run]

    def _of(self, kind: type[T], case: Case, run: Run) -> T:
        result = self.results[str(case), run]
        if isinstance(result, Exception):
            raise result
        assert isinstance(result, kind)
        return result


def play_all(server: FakeServer) -> Record:
    """Play every case in every run."""
    server.reset()
    server.script(script())
    errors = _Errors(logging.ERROR)
    logging.getLogger().addHandler(errors)
    try:
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))  # taken, so that nobody else can listen there, but not listening itself
            results = asyncio.run(_all(server, f"http://127.0.0.1:{nobody.getsockname()[1]}"))
    finally:
        logging.getLogger().removeHandler(errors)
    by_prefix = _by_prefix(server.requests())
    return Record(
        {(str(case), run): result for (case, run), result in results.items()},
        {(str(case), run): by_prefix[case.fault.prefix(case.call, run)] for case, run in results},
        errors.said,
    )


class _Errors(logging.Handler):
    """Keeps what is logged."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(self.format(record))


RUNS: list[tuple[Case, Run]] = [
    *((case, run) for case in CASES for run in ALONE),
    *((case, "turn") for case in KINDS),
    *((case, "closed") for case in CASES if case.call == "moderation"),
]
Results: TypeAlias = dict[tuple[Case, Run], Played | Turn | Exception]


async def _all(server: FakeServer, nobody: str) -> Results:
    async with openai.DefaultAsyncHttpxClient() as client:
        wire = Wire(server, client, nobody)
        await wire.prepared(CASES[0], "warm")()
        slow: list[tuple[Case, Run]] = [(case, run) for case, run in RUNS if case.fault.is_slow]
        quick: list[tuple[Case, Run]] = [(case, run) for case, run in RUNS if not case.fault.is_slow]
        results = await _together(wire, slow)
        for first in range(0, len(quick), AT_ONCE):
            results |= await _together(wire, quick[first : first + AT_ONCE])
        return results


async def _together(wire: Wire, runs: Sequence[tuple[Case, Run]]) -> Results:
    works = [wire.prepared(case, run) for case, run in runs]
    results = await asyncio.gather(*(work() for work in works), return_exceptions=True)
    return dict(zip(runs, map(_not_ended, results), strict=True))


def _not_ended(result: Played | Turn | BaseException) -> Played | Turn | Exception:
    if isinstance(result, BaseException) and not isinstance(result, Exception):
        raise result  # Ctrl-C, and what else is not for a test to look at
    return result


def _by_prefix(requests: Iterable[Request]) -> Mapping[str, list[Request]]:
    found: defaultdict[str, list[Request]] = defaultdict(list)
    for request in requests:
        found[request["path"].removesuffix("/chat/completions")].append(request)
    return found
