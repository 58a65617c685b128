"""`StructuredAgentResult`: all that is known of one turn when it has ended."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from contracts.evidence import EvidenceItem, QueryTrace
from contracts.plan import SGRPlanResult
from contracts.report import DecisionRecord, GuardianReport, HandOff, ModerationResult
from contracts.values import Flow, Language, Outcome, RequestType, SGRAction, Track


class Diagnostics(BaseModel):
    """How the turn went.

    Attributes:
        degraded: Parts that did not work as configured, each as `part: why`.
        retries: How often a draft was tried again.
        model_calls, tokens: Both 0 and empty without a language model.
        timings_ms: Milliseconds per node, summed over its runs; measured by the turn runner, so empty in a
            result read from the graph's state alone.
    """

    degraded: list[str] = Field(default_factory=list)
    retries: int = 0
    model_calls: int = 0
    tokens: dict[str, int] = Field(default_factory=dict)
    timings_ms: dict[str, float] = Field(default_factory=dict)


class StructuredAgentResult(BaseModel):
    """The result of a turn, the third output of DT-004: everything, for programs and operators.

    `answer_text` is exactly what the user saw. `synthetic_analysis` and the plan are for the operator only.
    """

    model_config = ConfigDict(extra="forbid")

    thread_id: str = ""
    turn_id: str = ""
    question: str = ""
    language: Language
    outcome: Outcome
    answer_text: str
    action: SGRAction | None = None
    proposed_action: SGRAction | None = None
    flow: Flow | None = None
    request_type: RequestType | None = None
    track: Track | None = None
    block_reason: str | None = None
    plan: SGRPlanResult | None = None
    tool_trace: dict[str, Any] = Field(default_factory=dict)
    synthetic_analysis: str = ""
    synthetic_response: str = ""
    moderation: ModerationResult | None = None
    decisions: list[DecisionRecord] = Field(default_factory=list[DecisionRecord])
    per_query_results: list[QueryTrace] = Field(default_factory=list[QueryTrace])
    final_articles: list[EvidenceItem] = Field(default_factory=list[EvidenceItem])
    guardian: GuardianReport | None = None
    hand_off: HandOff | None = None
    diagnostics: Diagnostics = Field(default_factory=Diagnostics)
