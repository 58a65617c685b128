"""Searching as a turn does, for a person who wants to see why: what is asked of whom, and what becomes of it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from contracts.calls import ModelCall
from contracts.evidence import EvidenceItem, QueryTrace
from contracts.ports import PlanRequest
from contracts.values import Language, RequestType, Source
from language.words import detect

if TYPE_CHECKING:
    from adapters.sources.markdown.asking import Knowledge
    from assistant.wiring import Deployment
    from contracts.context import Context
    from contracts.ports import EvidenceSource
    from contracts.views import RetrieveView


@dataclass(frozen=True, slots=True)
class Plan:
    """What is searched for, planned without a model."""

    request_type: RequestType
    queries: tuple[str, ...]
    action: str = ""
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Explained:
    """What a turn on a message would search, and what it would find.

    Attributes:
        message: As it is planned.
        language: Of the message; of the documents that are preferred.
        role: Whose sources are asked.
        plan: What is searched for.
        not_asked: The sources that are not asked, with the reason: `role`, `request_type` or `not_connected`.
        traces: Of each query and source.
        evidence: What a draft would see.
        threshold: Confidence from which a passage is used.
        budget: Characters of evidence.
        degraded: What did not work as configured, each as `part: why`.
        calls: Requests to embedding and reranking servers.
    """

    message: str
    language: Language
    role: str
    plan: Plan
    not_asked: Mapping[Source, str]
    traces: tuple[QueryTrace, ...]
    evidence: tuple[EvidenceItem, ...]
    threshold: float
    budget: int
    degraded: tuple[str, ...] = ()
    calls: tuple[ModelCall, ...] = field(default=())

    def as_json(self) -> dict[str, Any]:
        """Return it as plain data, without the texts of the passages."""
        kept = [{"ref": item.ref, "title": item.title, "chars": len(item.snippet)} for item in self.evidence]
        return {
            "message": self.message,
            "language": self.language,
            "role": self.role,
            "request_type": self.plan.request_type,
            "action": self.plan.action,
            "subqueries": list(self.plan.queries),
            "not_asked": dict(self.not_asked),
            "per_query_results": [trace.model_dump(mode="json") for trace in self.traces],
            "evidence": kept,
            "evidence_threshold": self.threshold,
            "context_budget": self.budget,
            "degraded": list(self.degraded),
            "calls": [call.model_dump(mode="json") for call in self.calls],
        }


async def explained(deployed: Deployment, message: str, context: Context) -> Explained:
    """Plan a message without a model and run the first search of a turn.

    Sources that cannot be asked, all of them even, are part of what is explained.

    Raises:
        NoIndex: Nothing has been indexed for the profile.
        ConfigError: A setting that names a source is wrong.
    """
    from assistant.wiring import document_sources, knowledge_base, lookup_sources

    with ExitStack() as opened:
        knowledge = knowledge_base(deployed)
        opened.callback(knowledge.close)
        sources = {**document_sources(deployed, knowledge), **lookup_sources(deployed)}
        for source in sources.values():
            if callable(close := getattr(source, "close", None)):
                opened.callback(close)
        language = _language(message, context, deployed)
        plan = await _plan(knowledge, deployed, message, language)
        found = await _retrieved(sources, deployed, context, message, language, plan)
    traces = tuple(QueryTrace.model_validate(trace) for trace in found.get("query_traces", []))
    return Explained(
        message=message,
        language=language,
        role=context.role,
        plan=plan,
        not_asked=_not_asked(deployed, frozenset(sources), context.role, {trace.source for trace in traces}),
        traces=traces,
        evidence=tuple(EvidenceItem.model_validate(item) for item in found.get("evidence", [])),
        threshold=context.evidence_threshold,
        budget=context.context_budget,
        degraded=(*plan.degraded, *found.get("degraded", [])),
        calls=tuple(ModelCall.model_validate(call) for call in found.get("model_calls", [])),
    )


def _language(message: str, context: Context, deployed: Deployment) -> Language:
    spoken = deployed.profile.languages
    wanted = context.language or detect(message, default=spoken[0])
    return wanted if wanted in spoken else spoken[0]


async def _plan(knowledge: Knowledge, deployed: Deployment, message: str, language: Language) -> Plan:
    from adapters.planning.offline import OfflinePlanner

    reply = await OfflinePlanner(knowledge, deployed.profile).plan(PlanRequest(message, language))
    plan = reply.plan
    return Plan(plan.request_type, tuple(plan.subqueries), str(plan.action), reply.degraded)


async def _retrieved(
    sources: Mapping[Source, EvidenceSource],
    deployed: Deployment,
    context: Context,
    message: str,
    language: Language,
    plan: Plan,
) -> dict[str, Any]:
    from langgraph.runtime import Runtime

    from nodes.retrieve import retrieve

    view: RetrieveView = {
        "question": {"text": message, "language": str(language)},
        "sgr_plan": {"subqueries": list(plan.queries)},
        "request_type": str(plan.request_type),
        "guardian": {},
        "retry_count": 0,
        "evidence": [],
        "query_traces": [],
        "past_searches": [],
        "degraded": [],
        "widened": False,
        "searches_wanted": [],
        "model_calls": [],
    }
    return await retrieve(view, Runtime(context=context), sources=sources, profile=deployed.profile)


def _not_asked(deployed: Deployment, connected: frozenset[Source], role: str, asked: set[Source]) -> dict[Source, str]:
    may = deployed.profile.sources_for(role)
    has = connected.union(*(deployed.profile.sources_for(one) for one in deployed.profile.roles))
    return {
        source: "not_connected" if source not in connected else "request_type" if source in may else "role"
        for source in Source
        if source in has and source not in asked
    }
