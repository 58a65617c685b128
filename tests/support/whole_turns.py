"""Whole turns over fakes: what is planned, moderated, found and written, and a turn of it."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from adapters.fakes.drafting import FakeDrafter
from adapters.fakes.moderation import FakeModerator
from adapters.fakes.planning import FakePlanner
from adapters.fakes.sources import FakeSource
from assistant.config.profiles import load_profile
from contracts.context import STEPS_PER_TURN, Context
from contracts.enums import ModerationState, SafetyLevel, SGRAction, Source
from contracts.evidence import EvidenceItem
from contracts.plan import SGRPlanResult
from contracts.report import ModerationResult
from graph.build import Ports, build_graph

PROFILE = load_profile("handbook")


def run_turn(
    plan: Any,
    moderation: Any,
    evidence: Any,
    written: Any,
    context: Context,
    message: str = "How do I do it?",
    entailment: Any = None,
) -> tuple[dict[str, Any], list[Any]]:
    """Run one turn, and return the state it ends in and everything that was streamed before the last node."""
    ports = Ports(
        moderator=FakeModerator(moderation),
        planner=FakePlanner([plan]),
        sources={Source.DOC: FakeSource(Source.DOC, evidence)},
        drafter=FakeDrafter(written),
        entailment=entailment,
    )
    graph = build_graph(ports, PROFILE, checkpointer=InMemorySaver())

    async def run() -> tuple[dict[str, Any], list[Any]]:
        config: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": STEPS_PER_TURN}
        question = {"messages": [HumanMessage(message, id="q")]}
        shown = [part async for part in graph.astream(question, config, context=context, stream_mode="messages")]
        return (await graph.aget_state(config)).values, shown

    return asyncio.run(run())


CALM = SGRPlanResult(
    spam_score=0.1,
    spam_reason="x",
    user_intent="x",
    subqueries=["x"],
    intent_confidence=0.9,
    action=SGRAction.NORMAL,
)


SAFE = ModerationResult(safety_level=SafetyLevel.SAFE, state=ModerationState.SAFE)


class Broken:
    """A guard, and a checker, that raise; what they raise quotes what nobody may read."""

    def __call__(self, *_: object, **__: object) -> None:
        raise RuntimeError("draft-sentinel of a guard")

    async def check(self, _: object) -> Any:
        self()


PAGES = [
    EvidenceItem(
        source=Source.DOC,
        ref="doc:kettle.md#0",
        snippet="The kettle boils at 100 degrees. The lid is not made of copper.",
        confidence=0.9,
        title="Kettle",
        heading="Kettle › Boiling",
    ),
    EvidenceItem(
        source=Source.POLICY, ref="policy:rules.md#3", snippet="Wait 30 s, then pour.", confidence=0.8, title="Rules"
    ),
]
