"""The path of a turn through the graph, on one page.

    START -> moderation -> sgr_plan -> inject_synthetic -> retrieve -> draft -> guardian_verify -> finalize -> END

`moderation`, `inject_synthetic` and `guardian_verify` may lead to `safe_exit` instead, and so may the last error of any
node. RETRY leads back to `retrieve` through `retry_bump`; a drafter that requests a search leads there directly. Tables
decide (`contracts/decisions/`), routers map (`routing.py`), and nodes do one step each (`nodes/`). `Ports` holds their
interfaces to the outside.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, Final, TypeVar, cast

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.config import get_config
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from contracts.context import Context
from contracts.enums import Source
from contracts.ports import (
    Drafter,
    EntailmentChecker,
    EvidenceSource,
    HandOffSink,
    Moderator,
    NearnessProbe,
    Planner,
    SpeculativePlanner,
    WordProbe,
)
from contracts.profile import Profile
from contracts.state import ChatState, Json, fresh_turn
from contracts.views import (
    DraftView,
    FinalView,
    GuardianView,
    ModerationView,
    PlanView,
    RetrieveView,
    RetryView,
    SyntheticView,
    TurnInput,
)
from graph.callers import settled_role
from graph.langgraph_internals import recast
from graph.policies import MARGIN_S, SECONDS_PER_NODE, TRY_AGAIN, to_safe_exit
from graph.routing import after_draft, after_moderation, after_synthetic, after_verdict
from graph.streaming import JudgedGraph, send_in_pieces
from graph.watchdog import within
from nodes.draft import draft
from nodes.finalize import finalize
from nodes.guardian_verify import guardian_verify
from nodes.inject_synthetic import inject_synthetic
from nodes.moderation import moderation
from nodes.retrieve import retrieve
from nodes.retry_bump import retry_bump
from nodes.safe_exit import Documents, safe_exit
from nodes.sgr_plan import sgr_plan

Graph = JudgedGraph
Progress = Callable[[str, Mapping[str, Any], Context], Json | None]
"""Returns what the stream mode `custom` gets when a node begins, from its name, its view and the run's settings."""
_State = TypeVar("_State")
_Way = TypeVar("_Way")


@dataclass(frozen=True, slots=True)
class Ports:
    """The adapters that the process owns and every run shares.

    Attributes:
        ahead: The planner, if it may start before moderation answers.
        quoter: Drafts once more by quoting if no draft of the drafter passed; `None` if the drafter itself quotes.
        entailment: Judges claims in addition to the Guardian's own checks, if connected.
        sink: Delivers hand-offs; without it, the answer asks the user to pass them on.
        probe: Finds words that the documents do not have; without it, neither headings nor near pages are offered.
        nearness: Tells how near a draft is to the question in meaning; without it, relevance rests on the search alone.
        slowest_s: Seconds that the slowest of them may take in a node.
        list_resting: Returns the models that are left alone, by purpose, with the seconds until they are asked again.
    """

    moderator: Moderator
    planner: Planner
    sources: Mapping[Source, EvidenceSource]
    drafter: Drafter
    quoter: Drafter | None = None
    fallback_moderator: Moderator | None = None
    ahead: SpeculativePlanner | None = None
    entailment: EntailmentChecker | None = None
    sink: HandOffSink | None = None
    probe: WordProbe | None = None
    nearness: NearnessProbe | None = None
    slowest_s: float = 0.0
    list_resting: Callable[[], Mapping[str, float]] = dict[str, float]


_ASK_MODELS: Final = frozenset({"sgr_plan", "draft"})
"""Nodes that may wait for a language model as long as its settings allow."""


def build_graph(
    ports: Ports,
    profile: Profile,
    *,
    settings: type[Context] = Context,
    checkpointer: BaseCheckpointSaver[str] | None = None,
    progress: Progress | None = None,
) -> Graph:
    """Build the graph of a deployment.

    Args:
        ports: The adapters, or fakes.
        profile: The deployment's profile.
        settings: The run settings, with the deployment's defaults; Studio shows them as a form.
        checkpointer: The store of turns; the dev server brings its own.
        progress: What clients of LangGraph are told of a running turn; `None` for programs that follow it by its tasks.
    """
    # A turn begins with messages alone: other keys of an input are not taken, and Studio's form asks for none.
    graph = StateGraph(ChatState, context_schema=settings, input_schema=TurnInput)
    step = partial(_add_node, graph, settings, progress, ports.slowest_s)
    step(
        moderation,
        ModerationView,
        moderator=ports.moderator,
        fallback=ports.fallback_moderator,
        ahead=ports.ahead,
        profile=profile,
    )
    step(sgr_plan, PlanView, planner=ports.ahead or ports.planner, profile=profile)
    step(inject_synthetic, SyntheticView, profile=profile)
    step(retrieve, RetrieveView, sources=ports.sources, profile=profile)
    step(draft, DraftView, drafter=ports.drafter, quoter=ports.quoter, profile=profile)
    step(
        guardian_verify,
        GuardianView,
        connected=frozenset(ports.sources),
        profile=profile,
        entailment=ports.entailment,
        nearness=ports.nearness,
        quotes=ports.quoter is not None,
    )
    step(retry_bump, RetryView)
    step(finalize, FinalView, profile=profile, send=send_in_pieces)
    documents = Documents(ports.sources, ports.probe) if ports.probe is not None else None
    step(safe_exit, FinalView, profile=profile, sink=ports.sink, documents=documents)
    _add_edges(graph)
    built = graph.compile(checkpointer=checkpointer, name="guardian")
    # LangGraph has no hook for what leaves a stream.
    return recast(built, JudgedGraph)


def _add_edges(graph: StateGraph[ChatState, Context, TurnInput, ChatState]) -> None:
    """Draw the edges: START to END, and every way that a router may take."""
    graph.add_edge(START, "moderation")
    graph.add_conditional_edges("moderation", _here(after_moderation), {"continue": "sgr_plan", "block": "safe_exit"})
    graph.add_edge("sgr_plan", "inject_synthetic")
    graph.add_conditional_edges(
        "inject_synthetic",
        _here(after_synthetic),
        {"search": "retrieve", "denied": "guardian_verify", "stop": "safe_exit"},
    )
    graph.add_edge("retrieve", "draft")
    graph.add_conditional_edges("draft", _here(after_draft), {"judge": "guardian_verify", "search": "retrieve"})
    graph.add_conditional_edges(
        "guardian_verify", _here(after_verdict), {"PASS": "finalize", "RETRY": "retry_bump", "FAIL": "safe_exit"}
    )
    graph.add_edge("retry_bump", "retrieve")
    graph.add_edge("finalize", END)
    graph.add_edge("safe_exit", END)


def _add_node(
    graph: StateGraph[ChatState, Context, TurnInput, ChatState],
    settings: type[Context],
    progress: Progress | None,
    slowest_s: float,
    node: Callable[..., Coroutine[Any, Any, Json]],
    view: type[Any],
    **bound: object,
) -> None:
    """Add a node under its function's name, with what it needs of the process bound to it."""
    name = node.__name__
    missing = {key: value for key, value in fresh_turn().items() if key in view.__annotations__}

    async def run(state: Any, runtime: Runtime[Context]) -> Json:
        # A run without settings gets the deployment's; a graph around this one hands on its own, of another kind.
        given = cast("object", runtime.context)
        context = given if isinstance(given, Context) else settings()
        role = settled_role(get_config().get("configurable", {}), context.role)
        context = context.model_copy(update={"role": role})
        if progress is not None and (told := progress(name, state, context)) is not None:
            runtime.stream_writer(told)
        # A turn that an older version began may lack a key.
        work = node({**missing, **state}, runtime.override(context=context), **bound)
        # The port ends first: what it says of itself is worth more than that its node was ended.
        waits = slowest_s + MARGIN_S if slowest_s and name in _ASK_MODELS else 0.0
        return await within(max(SECONDS_PER_NODE, waits), name, work)

    # LangGraph injects the error by its annotation, which its own type does not say.
    # Partial, as LangGraph reads the bytecode of functions in search of graphs inside: a third of what building takes.
    last: Any = None if name == "safe_exit" else partial(to_safe_exit)
    graph.add_node(name, partial(run), input_schema=view, retry_policy=TRY_AGAIN, error_handler=last)


def _here(router: Callable[[_State], _Way]) -> Callable[[_State], Awaitable[_Way]]:
    """Return a router that LangGraph calls in the loop: of a plain function it makes a task for another thread."""

    @wraps(router)
    async def route(state: _State) -> _Way:
        return router(state)

    return route
