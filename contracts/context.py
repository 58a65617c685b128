"""The settings of one run. They are frozen and fit JSON; LangGraph Studio shows them as a form."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from contracts.enums import (
    BlockThreshold,
    Diversity,
    DraftBy,
    EntailmentMode,
    EvidenceCounted,
    GuardMode,
    Language,
    OnUnavailable,
    PlanTrace,
    SearchBy,
    Tickets,
    Track,
)

Threshold = Annotated[float, Field(gt=0.0, lt=1.0, allow_inf_nan=False)]
"""A limit inside the open interval (0, 1): at 0 a row of a decision table could never win."""


MODEL_SEARCHES_PER_TURN: Final = 2
"""How often a drafting model may ask for a search of its own, where `search_by` is `model`."""

STEPS_PER_TURN: Final = 60
"""LangGraph's recursion limit. The longest turn, with five retries and two searches by the model, takes
3 + 6 * 4 + 2 * 2 + 1 steps."""


class Context(BaseModel):
    """What may differ between two runs of one deployment. A profile gives the defaults of its deployment."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    language: Language | None = Field(
        default=None, description="Language of the answer; empty: the language of the message."
    )
    role: str = Field(default="user", max_length=40, description="The user's role; decides which sources may be used.")
    version: str | None = Field(
        default=None, max_length=40, description="Version of the documents to search; empty: the profile's default."
    )
    guard_mode: GuardMode = Field(
        default=GuardMode.ENFORCE,
        description="Moderation: enforce stops a turn, report only records, off asks nobody.",
    )
    block_threshold: BlockThreshold = Field(
        default=BlockThreshold.UNSAFE, description="The mildest moderation level that enforce stops."
    )
    on_unavailable: OnUnavailable = Field(
        default=OnUnavailable.FALLBACK, description="What happens where moderation cannot be asked."
    )
    spam_threshold: Threshold = Field(default=0.7, description="From this spam score on, a request is declined.")
    confidence_threshold: Threshold = Field(
        default=0.6, description="Below this confidence in the intent, a question is asked back."
    )
    max_clarifications: int = Field(default=2, ge=0, le=10, description="Questions asked back in a row, per thread.")
    max_retry: int = Field(default=2, ge=0, le=5, description="How often a draft may be tried again.")
    knowledge_track: Track = Field(
        default=Track.QUALITY,
        description="Track of KNOWLEDGE_QA: FAST skips the contract and tries only abstentions again.",
    )
    quoting_draft: bool = Field(
        default=True,
        description="Whether one more draft is quoted from the same evidence where none of the model's passed.",
    )
    tickets: Tickets = Field(
        default=Tickets.NEEDED,
        description="Tickets for people: only where a person must act, or also of refusals by policy and pages shown.",
    )
    sure_relevance: Threshold = Field(
        default=0.7,
        description="An answer is stated where its pages answer the question this surely; below, pages are shown.",
    )
    top_k: int = Field(default=8, ge=1, le=50, description="Passages asked of each source for each query.")
    evidence_threshold: Threshold = Field(default=0.5, description="Evidence below this confidence is not used.")
    mean_confidence_enforced: Threshold = Field(
        default=0.60, description="QUALITY fails below this mean confidence of the evidence."
    )
    mean_confidence_advised: Threshold = Field(
        default=0.65, description="QUALITY advises below this mean confidence of the evidence."
    )
    min_evidence: int = Field(
        default=2, ge=1, le=10, description="Passages that an answer on QUALITY must rest on; 1 where only db answers."
    )
    evidence_counted: EvidenceCounted = Field(
        default=EvidenceCounted.CITED,
        description="Which passages are counted and averaged: those that the draft cites, or all that were sent to it.",
    )
    sure_confidence: Threshold = Field(
        default=0.85, description="From this confidence on, one cited passage suffices; see evidence_counted."
    )
    diversity: Diversity = Field(
        default=Diversity.ADVISORY, description="Whether evidence from one place only is advice, a failure or neither."
    )
    source_seconds: float = Field(
        default=30.0,
        gt=0,
        le=90,
        allow_inf_nan=False,
        description="Seconds that one source may take over one query; then it counts as not asked.",
    )
    context_budget: int = Field(
        default=12_000, ge=500, le=400_000, description="Characters of evidence that a draft may see."
    )
    entailment: EntailmentMode = Field(
        default=EntailmentMode.ADVISORY,
        description="What comes of an entailment checker's word, where one is connected: advice, the verdict or nothing.",
    )
    plan_trace: PlanTrace = Field(
        default=PlanTrace.SYNTHETIC,
        description="What a drafting model sees of the plan: one synthetic message or two, the tool call, or the analysis "
        "in the question.",
    )
    search_by: SearchBy = Field(
        default=SearchBy.PLAN,
        description="Who decides what is searched for: the plan, or the drafting model as well, twice a turn at most.",
    )
    draft_by: DraftBy = Field(
        default=DraftBy.WRITE,
        description="How a model drafts: it writes, or it arranges sentences of the evidence, which stay word for word.",
    )
