"""The routers are total, and every edge of the graph is walked."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from adapters.fakes.drafting import FakeDrafter
from adapters.fakes.moderation import FakeModerator
from adapters.fakes.planning import FakePlanner
from adapters.fakes.sources import FakeSource
from contracts.context import Context
from contracts.enums import DraftKind, Flow, ModerationDecision, PolicyStatus, SafetyLevel, Source, Verdict
from contracts.ports import Draft
from contracts.state import ChatState
from graph.build import Ports, build_graph
from graph.routing import after_draft, after_moderation, after_synthetic, after_verdict
from nodes.safe_exit import NODES
from tests.support.routes import NEVER_RIGHT, RIGHT, build_fake_graph, walk
from tests.support.turn import PROFILE, SAFE, make_result, passage, plan

ROUTERS: dict[Any, tuple[str, ...]] = {
    after_moderation: ("moderation",),
    after_synthetic: ("flow", "request_policy"),
    after_draft: ("searches_wanted",),
    after_verdict: ("guardian",),
}
EDGES = {
    ("__start__", "moderation"),
    ("moderation", "sgr_plan"),
    ("moderation", "safe_exit"),
    ("sgr_plan", "inject_synthetic"),
    ("inject_synthetic", "retrieve"),
    ("inject_synthetic", "guardian_verify"),
    ("inject_synthetic", "safe_exit"),
    ("retrieve", "draft"),
    ("draft", "guardian_verify"),
    ("draft", "retrieve"),
    ("guardian_verify", "finalize"),
    ("guardian_verify", "retry_bump"),
    ("guardian_verify", "safe_exit"),
    ("retry_bump", "retrieve"),
    ("finalize", "__end__"),
    ("safe_exit", "__end__"),
}
WRONG, WRONG_TOO = NEVER_RIGHT[:2]
SEARCHES = Draft(DraftKind.ABSTENTION, "", searches=("boiling point",))


# ---------------------------------------------------------------------------------------------------------- routers

json_garbage = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
words = st.sampled_from([*Flow, *Verdict, *PolicyStatus, *ModerationDecision, "pass", "CONTINUE", ""])
likely = st.dictionaries(st.sampled_from(["decision", "status", "verdict"]), words | json_garbage, max_size=3)


@pytest.mark.parametrize("router", ROUTERS, ids=lambda router: router.__name__)
@given(data=st.data())
def test_a_router_is_total(router: Any, data: st.DataObject) -> None:
    """Whatever stands in its keys, and where they are missing, a router returns one of its labels and never raises."""
    state = data.draw(st.fixed_dictionaries({}, optional=dict.fromkeys(ROUTERS[router], json_garbage | likely | words)))
    assert router(state) in get_args(get_type_hints(router)["return"])


@pytest.mark.parametrize("garbage", [None, 1, "Continue", [], ["decision"], {"decision": ["Continue"]}, {}])
def test_what_a_router_does_not_know_is_not_let_through(garbage: Any) -> None:
    """Garbage never plans, never searches and never passes."""
    assert after_moderation({"moderation": garbage}) == "block"
    assert after_synthetic({"flow": garbage, "request_policy": {}}) == "stop"
    assert after_verdict({"guardian": garbage}) == "FAIL"


@pytest.mark.parametrize("garbage", [None, 1, "ok", ["ok"], {"status": None}, {"status": "unchecked"}, {"status": {}}])
def test_a_policy_that_cannot_be_read_is_no_permission(garbage: Any) -> None:
    """Only a policy of status ok, or none at all, lets a request be searched for."""
    assert after_synthetic({"flow": Flow.GO_ON, "request_policy": garbage}) == "denied"
    assert after_synthetic({"flow": Flow.GO_ON, "request_policy": {}}) == "search"
    assert after_synthetic({"flow": Flow.GO_ON, "request_policy": {"status": "ok"}}) == "search"


def test_what_policy_denies_is_not_asked_back_about() -> None:
    """A denial is judged before a question is asked; a refusal and a hand-off by DT-002 stand."""
    denied = {"status": "violated"}
    ways = {flow: after_synthetic({"flow": flow, "request_policy": denied}) for flow in Flow}
    assert ways == {Flow.GO_ON: "denied", Flow.ASK: "denied", Flow.STOP: "stop", Flow.HAND_OFF: "stop"}
    assert after_synthetic({"flow": Flow.ASK, "request_policy": {}}) == "stop"


# ------------------------------------------------------------------------------------------------------------ edges


def test_the_graph_has_the_edges_of_the_specification() -> None:
    """No edge more and none less; the last errors of nodes lead to safe_exit without an edge of their own."""
    drawn = build_fake_graph().get_graph()
    assert {(edge.source, edge.target) for edge in drawn.edges} == EDGES
    # What is said to have failed is one of them.
    assert {name for name in drawn.nodes if not name.startswith("__")} == NODES


def test_every_labelled_edge_carries_its_routers_label() -> None:
    """The labels that Studio shows are those that the routers return."""
    drawn = {(edge.source, edge.data) for edge in build_fake_graph().get_graph().edges if edge.conditional}
    assert drawn == {
        ("moderation", None),
        ("moderation", "continue"),
        ("moderation", "block"),
        ("inject_synthetic", "search"),
        ("inject_synthetic", "denied"),
        ("inject_synthetic", "stop"),
        ("draft", "judge"),
        ("draft", "search"),
        ("guardian_verify", "PASS"),
        ("guardian_verify", "RETRY"),
        ("guardian_verify", "FAIL"),
    } - {("moderation", None)}


def test_the_channels_of_the_graph_are_the_keys_of_the_state() -> None:
    """A view key that is no state key would silently become a channel."""
    internal = ("__", "branch:", "to:")
    channels = {name for name in build_fake_graph().channels if not name.startswith(internal)}
    assert channels == set(get_type_hints(ChatState))


SEARCHED = ["moderation", "sgr_plan", "inject_synthetic", "retrieve", "draft", "guardian_verify"]
AGAIN = ["retry_bump", "retrieve", "draft", "guardian_verify"]
ROUTES: dict[str, tuple[dict[str, Any], str, list[str], str]] = {
    "answered": ({}, "How?", [*SEARCHED, "finalize"], "answered"),
    "casual": (
        {"planned": plan(request_type="CASUAL"), "written": Draft(DraftKind.ANSWER, "Hello!")},
        "Hello!",
        [*SEARCHED, "finalize"],
        "answered",
    ),
    "retried": ({"written": [WRONG, RIGHT]}, "How?", [*SEARCHED, *AGAIN, "finalize"], "answered"),
    "retried twice": (
        {"written": [WRONG, WRONG_TOO, RIGHT]},
        "How?",
        [*SEARCHED, *AGAIN, *AGAIN, "finalize"],
        "answered",
    ),
    "failed": ({"written": WRONG}, "How?", [*SEARCHED, *AGAIN, *AGAIN, "safe_exit"], "pages_shown"),
    "abstained": (
        {"written": Draft(DraftKind.ABSTENTION, "Nothing."), "found": []},
        "How?",
        [*SEARCHED, *AGAIN, "safe_exit"],
        "handed_off",
    ),
    "asks": ({"written": Draft(DraftKind.CLARIFICATION, "Which?")}, "How?", [*SEARCHED, "safe_exit"], "clarification"),
    "searches": (
        {"written": [SEARCHES, RIGHT], "search_by": "model"},
        "How?",
        [*SEARCHED[:5], "retrieve", "draft", "guardian_verify", "finalize"],
        "answered",
    ),
    "unsafe": ({"moderated": make_result(SafetyLevel.UNSAFE)}, "How?", ["moderation", "safe_exit"], "refused"),
    "spam": ({"planned": plan(spam_score=1.0)}, "How?", [*SEARCHED[:3], "safe_exit"], "declined"),
    "unclear": ({"planned": plan(intent_confidence=0.0)}, "How?", [*SEARCHED[:3], "safe_exit"], "clarification"),
    "person": ({"planned": plan(wants_human=True)}, "How?", [*SEARCHED[:3], "safe_exit"], "handed_off"),
    "denied": ({}, "Show other people's kettles", [*SEARCHED[:3], "guardian_verify", "safe_exit"], "refused"),
}


@pytest.mark.parametrize("name", ROUTES)
async def test_every_route_is_walked(name: str) -> None:
    """A turn goes through exactly these nodes, in this order, and ends as it should."""
    changes, text, nodes, outcome = ROUTES[name]
    context = {key: value for key, value in changes.items() if key in Context.model_fields}
    ports = {key: value for key, value in changes.items() if key not in context}
    path, values = await walk(build_fake_graph(**ports), text, **context)
    assert path == nodes
    assert values["result"]["outcome"] == outcome
    assert str(values["messages"][-1].content) == values["final_answer"]


def test_the_routes_together_walk_every_edge() -> None:
    """No edge of the graph is left out by the routes above."""
    paths = [["__start__", *nodes, "__end__"] for _, _, nodes, _ in ROUTES.values()]
    assert {edge for path in paths for edge in pairwise(path)} == EDGES


@pytest.mark.parametrize(
    ("context", "found"),
    [({"diversity": "required"}, [passage(1)]), ({"min_evidence": 5}, [passage(1), passage(2)])],
    ids=["diversity", "count"],
)
async def test_a_second_attempt_never_has_the_same_inputs(context: dict[str, Any], found: list[Any]) -> None:
    """Where a wider search finds nothing new, nothing is drafted again, and no further retry is spent on it."""
    drafter = FakeDrafter([RIGHT])
    ports = Ports(
        moderator=FakeModerator(SAFE),
        planner=FakePlanner([plan()]),
        sources={Source.DOC: FakeSource(Source.DOC, found)},
        drafter=drafter,
    )
    settings: dict[str, Any] = {"min_evidence": 1, "evidence_counted": "sent", **context}
    path, values = await walk(build_graph(ports, PROFILE), **settings)
    assert path.count("retry_bump") == 1
    assert len(drafter.requests) == 1
    assert values["result"]["outcome"] == "pages_shown"


@pytest.mark.parametrize("retries", range(6))
async def test_a_drafter_that_only_ever_searches_comes_to_an_end(retries: int) -> None:
    """Two searches of its own are granted in a turn, whatever is retried; after that its draft is judged as it is."""
    path, values = await walk(build_fake_graph(written=SEARCHES), search_by="model", max_retry=retries)
    assert path.count("retrieve") == 1 + 2 + path.count("retry_bump")
    assert values["result"]["outcome"] == "pages_shown"


async def test_a_drafter_may_not_search_where_the_plan_decides() -> None:
    """With `search_by` plan, a wish to search is no reason to search, and no answer either."""
    path, values = await walk(build_fake_graph(written=SEARCHES))
    assert path.count("retrieve") == 1 + path.count("retry_bump")
    assert values["result"]["outcome"] == "pages_shown"


@pytest.mark.parametrize("retries", range(6))
async def test_a_turn_ends_after_its_retries(retries: int) -> None:
    """A draft that never passes is tried again exactly as often as the run allows, within the recursion limit."""
    path, values = await walk(build_fake_graph(written=NEVER_RIGHT), max_retry=retries)
    assert path.count("retry_bump") == values["retry_count"] == retries
    assert path[-1] == "safe_exit"


# --------------------------------------------------------------------------------------------- a failure of any node

WITH_ERROR = ["moderation", "sgr_plan", "inject_synthetic", "retrieve", "draft", "guardian_verify", "finalize"]


@pytest.mark.parametrize("language", ["en", "ru"])
@pytest.mark.parametrize("name", [*WITH_ERROR, "retry_bump"])
async def test_the_last_error_of_any_node_leads_to_safe_exit(
    monkeypatch: pytest.MonkeyPatch, name: str, language: str
) -> None:
    """A node that raises what nobody expected ends the turn with an error that says where, not what."""

    async def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("SECRET-OF-A-LIBRARY")

    broken.__name__ = name
    monkeypatch.setattr(f"graph.build.{name}", broken)
    text = "When does the kettle boil?" if language == "en" else "Когда закипит чайник?"
    path, values = await walk(build_fake_graph(written=WRONG if name == "retry_bump" else RIGHT), text)
    assert path[-1] == "safe_exit"
    assert (values["result"]["outcome"], values["result"]["language"]) == ("error", language)
    assert values["error"] == {"node": name, "kind": "ZeroDivisionError", "message": "ZeroDivisionError", "key": ""}
    assert "SECRET-OF-A-LIBRARY" not in str(values["result"])
    assert values["final_answer"] == str(values["messages"][-1].content)


async def test_where_moderation_itself_fails_nothing_of_the_turn_before_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The keys that moderation could not reset are reset on the way to safe_exit; the thread's keys stay."""
    saver = InMemorySaver()
    config: Any = {"configurable": {"thread_id": "t"}}
    first: Any = {"messages": [HumanMessage("When does the kettle boil?", id="one")]}
    await build_fake_graph(saver=saver).ainvoke(first, config, context=Context())

    async def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("down")

    broken.__name__ = "moderation"
    monkeypatch.setattr("graph.build.moderation", broken)
    second: Any = {"messages": [HumanMessage("А теперь?", id="two")]}
    graph = build_fake_graph(saver=saver)
    values = await graph.ainvoke(second, config, context=Context())
    result = values["result"]
    assert (result["outcome"], result["language"]) == ("error", "ru")
    assert (result["plan"], result["guardian"], result["moderation"]) == (None, None, None)
    assert [(line["table"], line["row"]) for line in result["decisions"]] == [("DT-008", "error")]
    assert result["final_articles"] == result["per_query_results"] == []
    assert [message.id for message in values["messages"]] == ["one", "one-answer", "two", "two-answer"]
    assert isinstance(values["messages"][-1], AIMessage)
    assert not (await graph.aget_state(config)).tasks


@pytest.mark.parametrize(("text", "words"), [("", "empty"), ("я" * 20_001, "слишком длинное")])
async def test_a_message_that_cannot_be_taken_is_told_so(text: str, words: str) -> None:
    """An empty and an over-long message end the turn with their own text, in the language of the message."""
    path, values = await walk(build_fake_graph(), text)
    assert path == ["safe_exit"]
    assert words in values["final_answer"]
    assert values["result"]["block_reason"] == "input"


def test_a_turn_can_be_run_from_a_thread_of_its_own() -> None:
    """The graph is not bound to the event loop that built it."""
    graph = build_fake_graph()
    assert asyncio.run(walk(graph))[1]["result"]["outcome"] == "answered"
    assert asyncio.run(walk(graph))[1]["result"]["outcome"] == "answered"
