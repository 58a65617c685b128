"""An explanation of a turn's search: the queries, the sources that they go to, and the results."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from contracts.calls import ModelCall
from contracts.enums import DraftKind, EvidenceCounted, GuardMode, Language, RequestType, Source, Track
from contracts.evidence import EvidenceItem, QueryTrace
from contracts.report import Finding

if TYPE_CHECKING:
    from adapters.index.queries import Knowledge
    from assistant.deployment import Deployment
    from contracts.context import Context
    from contracts.ports import EvidenceSource

State = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """The queries of a search, planned without a model."""

    request_type: RequestType
    queries: tuple[str, ...]
    action: str = ""


@dataclass(frozen=True, slots=True)
class Ending:
    """The reason why a turn ends before it searches.

    Attributes:
        by: `moderation`, `plan` or `policy`.
        why: The decision: the level with the moderation rules, the action with the row of DT-002, or the policy rules.
    """

    by: str
    why: str


@dataclass(frozen=True, slots=True)
class SearchExplanation:
    """What a turn on a message would search for, and what it would find.

    Attributes:
        message: The message, as it is planned.
        language: The language of the message, and of the preferred documents.
        role: The caller's role, which decides the sources.
        plan: The queries.
        not_asked: Sources that are not asked, with the reason: `role`, `request_type` or `not_connected`.
        traces: The results for each query and source.
        evidence: The passages that a draft would see.
        threshold: The lowest confidence of a passage that is used.
        budget: Characters of evidence.
        ending: Why a turn would end before it searches, or `None`. If it would end, the rest is what a search would
            find.
        checked: Whether the evidence is enough for an answer, by the check that judges drafts.
        degraded: Parts that did not work as configured, each as `part: why`.
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
    ending: Ending | None = None
    checked: Finding | None = None
    degraded: tuple[str, ...] = ()
    calls: tuple[ModelCall, ...] = field(default=())

    def as_json(self) -> dict[str, Any]:
        """Return the explanation as plain data, without the texts of the passages."""
        kept = [{"ref": item.ref, "title": item.title, "chars": len(item.snippet)} for item in self.evidence]
        return {
            "message": self.message,
            "language": self.language,
            "role": self.role,
            "request_type": self.plan.request_type,
            "action": self.plan.action,
            "ends_before_search": {"by": self.ending.by, "why": self.ending.why} if self.ending else None,
            "subqueries": list(self.plan.queries),
            "not_asked": dict(self.not_asked),
            "per_query_results": [trace.model_dump(mode="json") for trace in self.traces],
            "evidence": kept,
            "evidence_check": self.checked.model_dump(mode="json") if self.checked else None,
            "evidence_threshold": self.threshold,
            "context_budget": self.budget,
            "degraded": list(self.degraded),
            "calls": [call.model_dump(mode="json") for call in self.calls],
        }


async def explain_search(deployed: Deployment, message: str, context: Context) -> SearchExplanation:
    """Plan a message without a model and run a turn's first search, even if a turn would end before it.

    The explanation includes sources that cannot be asked, even if none can. No server moderates the message; only the
    rules do, if they are the moderator.

    Raises:
        NoIndex: The profile has no index.
        ConfigError: A setting that names a source is wrong.
    """
    from assistant.wiring.documents import document_sources, knowledge_base
    from assistant.wiring.lookups import lookup_sources

    with ExitStack() as opened:
        knowledge = knowledge_base(deployed)
        opened.callback(knowledge.close)
        sources = {**document_sources(deployed, knowledge), **lookup_sources(deployed)}
        for source in sources.values():
            if callable(close := getattr(source, "close", None)):
                opened.callback(close)
        state = await _plan(knowledge, deployed, context, message)
        state = await _retrieve(sources, deployed, context, state)
    traces = tuple(QueryTrace.model_validate(trace) for trace in state["query_traces"])
    evidence = tuple(EvidenceItem.model_validate(item) for item in state["evidence"])
    plan = Plan(RequestType(state["request_type"]), tuple(state["sgr_plan"]["subqueries"]), state["action"])
    return SearchExplanation(
        message=message,
        language=Language(state["question"]["language"]),
        role=context.role,
        plan=plan,
        not_asked=_not_asked(deployed, frozenset(sources), context.role, {trace.source for trace in traces}),
        traces=traces,
        evidence=evidence,
        threshold=context.evidence_threshold,
        budget=context.context_budget,
        ending=_find_ending(state),
        checked=_check_evidence(deployed, frozenset(sources), context, state, evidence, traces),
        degraded=tuple(state["degraded"]),
        calls=tuple(ModelCall.model_validate(call) for call in state["model_calls"]),
    )


async def _plan(knowledge: Knowledge, deployed: Deployment, context: Context, message: str) -> State:
    """Return the state of a turn that was moderated and planned, as far as that takes no server."""
    from langchain_core.messages import HumanMessage
    from langgraph.runtime import Runtime

    from adapters.moderation.rules import RuleModerator
    from adapters.planning.offline import OfflinePlanner
    from nodes.moderation import moderation
    from nodes.sgr_plan import sgr_plan

    if deployed.settings.moderation.provider != "rules":
        context = context.model_copy(update={"guard_mode": GuardMode.OFF})
    run = Runtime(context=context)
    state: Any = {"messages": [HumanMessage(message, id="explained")], "clarify_count": 0}
    state |= await moderation(state, run, moderator=RuleModerator(), profile=deployed.profile)
    return state | await sgr_plan(
        state, run, planner=OfflinePlanner(knowledge, deployed.profile), profile=deployed.profile
    )


async def _retrieve(
    sources: Mapping[Source, EvidenceSource], deployed: Deployment, context: Context, state: Any
) -> State:
    from langgraph.runtime import Runtime

    from nodes.retrieve import retrieve

    return state | await retrieve(state, Runtime(context=context), sources=sources, profile=deployed.profile)


def _find_ending(state: State) -> Ending | None:
    from contracts.report import DecisionRecord
    from graph.routing import after_moderation, after_synthetic

    routed: Any = state
    if after_moderation(routed) == "block":
        found = state["moderation"]
        return Ending("moderation", "; ".join(filter(None, (found["safety_level"], found["raw_output"]))))
    match after_synthetic(routed):
        case "stop":
            decided = (DecisionRecord.model_validate(line) for line in state["decisions"])
            (row,) = (line.row for line in decided if line.table == "DT-002")
            return Ending("plan", f"{state['action']}; DT-002, {row}")
        case "denied":
            return Ending("policy", ", ".join(state["request_policy"]["rules"]))
        case "search":
            return None


def _check_evidence(
    deployed: Deployment,
    connected: frozenset[Source],
    context: Context,
    state: State,
    evidence: tuple[EvidenceItem, ...],
    traces: tuple[QueryTrace, ...],
) -> Finding:
    """Judge the evidence as that of an answer."""
    from contracts.decisions.evidence import could_not_ask
    from guards.evidence_check import EvidenceQuestion, check_evidence

    return check_evidence(
        EvidenceQuestion(
            request_type=RequestType(state["request_type"]),
            track=Track(state["track"]),
            kind=DraftKind.ANSWER,
            evidence=evidence,
            usable=deployed.profile.sources_for(context.role).intersection(connected),
            unreachable=could_not_ask(traces),
            least=context.min_evidence,
            sure=context.sure_confidence if context.evidence_counted is EvidenceCounted.CITED else None,
            diversity=context.diversity,
            mean_enforced=context.mean_confidence_enforced,
            mean_advised=context.mean_confidence_advised,
        )
    )


def _not_asked(deployed: Deployment, connected: frozenset[Source], role: str, asked: set[Source]) -> dict[Source, str]:
    may = deployed.profile.sources_for(role)
    has = connected.union(*(deployed.profile.sources_for(one) for one in deployed.profile.roles))
    return {
        source: "not_connected" if source not in connected else "request_type" if source in may else "role"
        for source in Source
        if source in has and source not in asked
    }
