"""A turn played node by node, without a graph: what the tests of nodes stand on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, get_type_hints

from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.runtime import Runtime

from adapters.fakes.drafting import FakeDrafter
from adapters.fakes.moderation import FakeModerator, make_result
from adapters.fakes.planning import FakePlanner
from adapters.fakes.sources import FakeSource
from contracts import views
from contracts.context import Context
from contracts.enums import DraftKind, SafetyLevel, SGRAction, Source
from contracts.evidence import EvidenceItem
from contracts.plan import SGRPlanResult
from contracts.ports import Draft, EvidenceSource
from contracts.profile import Profile
from contracts.state import add_to_window, fresh_turn
from guards.judged_hash import judged_hash
from nodes.draft import draft
from nodes.finalize import finalize
from nodes.guardian_verify import guardian_verify
from nodes.inject_synthetic import inject_synthetic
from nodes.moderation import moderation
from nodes.retrieve import retrieve
from nodes.retry_bump import retry_bump
from nodes.safe_exit import safe_exit
from nodes.sgr_plan import sgr_plan

State = dict[str, Any]

PROFILE = Profile.model_validate(
    {
        "name": "tests",
        "product": "Kettle",
        "languages": ["en", "ru"],
        "contact": {"en": "kettle support", "ru": "поддержка чайника"},
        "scope": {"description": {"en": "boiling water", "ru": "кипячение воды"}},
        "allowed_link_domains": ["kb.comindware.ru"],
        "roles": {
            "user": {"sources": ["doc", "policy"]},
            "operator": {"sources": ["doc", "policy", "db", "neo4j"]},
            "nobody": {"sources": []},
        },
        "contracts": {
            "HOWTO_POLICY": {
                "required_sections": [{"name": "Steps", "title": {"en": "What to do", "ru": "Что сделать"}}]
            }
        },
        "policy": [{"id": "other-people", "pattern": "other people's kettles", "except_roles": ["operator"]}],
    }
)
SAFE = make_result(SafetyLevel.SAFE)
ANSWER = "The kettle boils at 100 degrees [1]."

VIEWS: dict[str, type] = {
    "moderation": views.ModerationView,
    "sgr_plan": views.PlanView,
    "inject_synthetic": views.SyntheticView,
    "retrieve": views.RetrieveView,
    "draft": views.DraftView,
    "guardian_verify": views.GuardianView,
    "retry_bump": views.RetryView,
    "finalize": views.FinalView,
    "safe_exit": views.FinalView,
}
NODES: dict[str, Callable[..., Awaitable[State]]] = {
    function.__name__: function
    for function in (
        moderation,
        sgr_plan,
        inject_synthetic,
        retrieve,
        draft,
        guardian_verify,
        retry_bump,
        finalize,
        safe_exit,
    )
}
UP_TO_THE_VERDICT = ("moderation", "sgr_plan", "inject_synthetic", "retrieve", "draft", "guardian_verify")


def plan(**changes: Any) -> SGRPlanResult:
    """Return a plan that goes on to an answer, with the changes that a test is about."""
    return SGRPlanResult.model_validate(
        {
            "spam_score": 0.1,
            "spam_reason": "SPAM-REASON",
            "user_intent": "Learn when the kettle boils.",
            "subqueries": ["When does the kettle boil?"],
            "action_plan": ["ACTION-PLAN"],
            "intent_confidence": 0.9,
            "action": SGRAction.NORMAL,
            **changes,
        }
    )


def passage(number: int = 1, **changes: Any) -> EvidenceItem:
    return EvidenceItem.model_validate(
        {
            "source": Source.DOC,
            "ref": f"doc:{number}#0",
            "document": f"doc:{number}",
            "snippet": f"The kettle boils at 100 degrees. It is number {number}.",
            "confidence": 0.9,
            "title": f"Page {number}",
            **changes,
        }
    )


def ports(
    *,
    planned: SGRPlanResult | Iterable[Any] | None = None,
    moderated: Any = SAFE,
    found: Any = None,
    written: Draft | Iterable[Any] | None = None,
    kinds: Iterable[Source] = (Source.DOC,),
    profile: Profile = PROFILE,
) -> dict[str, dict[str, Any]]:
    """Return what is bound to each node, all of it fakes."""
    found = [passage(1), passage(2)] if found is None else found
    sources: Mapping[Source, EvidenceSource] = {kind: FakeSource(kind, found) for kind in kinds}
    plans = [planned] if isinstance(planned, SGRPlanResult) else planned or [plan()]
    return {
        "moderation": {"moderator": FakeModerator(moderated), "fallback": FakeModerator(SAFE), "profile": profile},
        "sgr_plan": {"planner": FakePlanner(plans), "profile": profile},
        "inject_synthetic": {"profile": profile},
        "retrieve": {"sources": sources, "profile": profile},
        "draft": {"drafter": FakeDrafter(_drafts(written)), "profile": profile},
        "guardian_verify": {"connected": frozenset(sources), "profile": profile},
        "retry_bump": {},
        "finalize": {"profile": profile, "send": lambda _: None},
        "safe_exit": {"profile": profile},
    }


def _drafts(written: Draft | Iterable[Any] | None) -> Iterable[Any]:
    if written is None:
        return [Draft(DraftKind.ANSWER, ANSWER)]
    return [written] if isinstance(written, Draft) else written


def begin_turn(text: str = "When does the kettle boil?", history: Iterable[AnyMessage] = (), **thread: Any) -> State:
    """Return the state that a turn begins in: the thread's keys, and no turn yet."""
    return {"messages": [*history, HumanMessage(text, id="q")], "clarify_count": 0, **fresh_turn(), **thread}


async def call(name: str, state: Mapping[str, Any], bound: Mapping[str, Any], context: Context | None = None) -> State:
    """Call one node with its view of a state; return its update."""
    view = {key: state[key] for key in get_type_hints(VIEWS[name]) if key in state}
    return await NODES[name](view, Runtime(context=context or Context()), **bound)


def merge(state: Mapping[str, Any], update: Mapping[str, Any]) -> State:
    """Return the state after an update, as LangGraph would: messages are added, all else is replaced."""
    messages = add_to_window(state["messages"], update.get("messages", []))
    return {**state, **update, "messages": messages}


async def play(
    state: Mapping[str, Any], bound: Mapping[str, Mapping[str, Any]], *names: str, context: Context | None = None
) -> State:
    """Return the state after some nodes, one after another."""
    now = dict(state)
    for name in names:
        now = merge(now, await call(name, now, bound[name], context))
    return now


def change_report(state: State, **changes: Any) -> State:
    """Return a state in which the Guardian's report has other fields, as if it had been given so."""
    report = {**state["guardian"], **changes}
    return {**state, "guardian": {**report, "judged_hash": judged_hash(state, report)}}


def place(thread: str = "t", **more: str) -> Any:
    """Return the settings of LangGraph for a conversation."""
    return {"configurable": {"thread_id": thread, **more}}
