"""Moderation results, findings of the guards, the Guardian's report, and the record of decisions."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from contracts.calls import ModelCall
from contracts.values import (
    CheckStatus,
    HandOffOutcome,
    HarmCategory,
    ModerationState,
    RequiredAction,
    RiskLevel,
    SafetyLevel,
    Verdict,
)


class ModerationResult(BaseModel):
    """What a moderator said of one message, whatever the provider.

    `state` is what DT-001 reads: the level, or why there is none. `calls` are the requests to a language model that
    it took; the node keeps them with those of the other ports.
    """

    model_config = ConfigDict(frozen=True)

    safety_level: SafetyLevel
    state: ModerationState
    categories: list[HarmCategory] = Field(default_factory=list[HarmCategory])
    refusal: str | None = None
    raw_output: str = ""
    model: str = ""
    provider: str = ""
    calls: tuple[ModelCall, ...] = Field(default=(), exclude=True, repr=False)


class Finding(BaseModel):
    """What one guard found.

    Attributes:
        check: The guard's name.
        status: ok, failed, unchecked or not_asked.
        reasons: Exact, machine-readable reason strings (the specification, section 3); empty unless failed or unchecked.
        actions: What a retry must do about them; empty unless failed or unchecked.
        advice: Remarks that never change a verdict.
    """

    model_config = ConfigDict(frozen=True)

    check: str
    status: CheckStatus
    reasons: tuple[str, ...] = ()
    actions: tuple[RequiredAction, ...] = ()
    advice: tuple[str, ...] = ()


class GuardianReport(BaseModel):
    """The Guardian's judgement of one draft. PASS has no reasons and no actions; RETRY and FAIL have both."""

    model_config = ConfigDict(frozen=True)

    verdict: Verdict
    reasons: list[str] = Field(default_factory=list)
    required_actions: list[RequiredAction] = Field(default_factory=list[RequiredAction])
    risk_level: RiskLevel
    advice: list[str] = Field(default_factory=list)


class DecisionRecord(BaseModel):
    """One line of a turn's audit trail: which row of which table decided what, from which inputs.

    Attributes:
        node: The node that decided.
        limits: The thresholds that the table's rows were built with.
        proposed: What the planner proposed, where it proposed something else.
    """

    model_config = ConfigDict(frozen=True)

    node: str
    table: str
    row: str
    outcome: str
    inputs: dict[str, str | float | bool] = Field(default_factory=dict)
    limits: dict[str, float] = Field(default_factory=dict)
    proposed: str | None = None


class HandOff(BaseModel):
    """What a person needs to take a conversation over."""

    model_config = ConfigDict(frozen=True)

    engineer_intervention_needed: bool
    issue_summary: str
    steps_completed: list[str]
    next_steps: list[str]
    outcome: HandOffOutcome
