"""Moderation results, findings of the guards, the Guardian's report, and the record of decisions."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from contracts.calls import ModelCall
from contracts.enums import (
    CheckStatus,
    ClaimStatus,
    DeliveryStatus,
    HandOffOutcome,
    HarmCategory,
    Language,
    ModerationState,
    PartStatus,
    RequiredAction,
    RiskLevel,
    SafetyLevel,
    Verdict,
)
from contracts.reasons import Reason


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


class ClaimFinding(BaseModel):
    """What was found of one claim of a draft.

    Attributes:
        text: The claim as the draft has it.
        start, end: Where it stands in the draft, in characters; `end` is behind it. Both 0 where it stands in no one
            place, as a table's row that was read as a sentence.
        cites: The numbers that it cites, as they stand in the draft.
        refs: What it rests on: the refs of the evidence that these numbers resolve to.
        missing: Its values that no cited passage has.
        advice: Remarks that never change a verdict.
    """

    model_config = ConfigDict(frozen=True)

    text: str
    start: int = 0
    end: int = 0
    status: ClaimStatus
    cites: tuple[int, ...] = ()
    refs: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()


class PartFinding(BaseModel):
    """What a draft does for one part of the question: one of the questions of the message, or all of it.

    Attributes:
        text: The part, as it was searched for.
        estimate: How likely the cited pages answer it, 0 to 1; see `guards/relevance_check.py`.
        refs: What the draft cites for it.
        missing: Words of the part that no page has which is cited for it.
    """

    model_config = ConfigDict(frozen=True)

    text: str
    status: PartStatus
    estimate: float = Field(default=0.0, ge=0.0, le=1.0)
    refs: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


class Finding(BaseModel):
    """What one guard found.

    Attributes:
        check: The guard's name.
        status: ok, failed, doubtful, unchecked or not_asked.
        reasons: Why; empty where it is ok or not_asked.
        actions: What a retry must do about them; empty unless failed or unchecked.
        advice: Remarks that never change a verdict.
        claims: What was found of each claim, where the guard judges claims.
        parts: What was found of each part of the question, where the guard judges parts.
        faithfulness: See `GuardianReport`, where the guard judges claims.
    """

    model_config = ConfigDict(frozen=True)

    check: str
    status: CheckStatus
    reasons: tuple[Reason, ...] = ()
    actions: tuple[RequiredAction, ...] = ()
    advice: tuple[Reason, ...] = ()
    claims: tuple[ClaimFinding, ...] = ()
    parts: tuple[PartFinding, ...] = ()
    faithfulness: float | None = Field(default=None, ge=0.0, le=1.0)


class GuardianReport(BaseModel):
    """The Guardian's judgement of one draft. PASS has no reasons and no actions; RETRY and FAIL have both.

    Attributes:
        reasons, advice: The exact strings of the specification, section 3 (`contracts.reasons` writes and reads them).
        checks: What each guard found, by its name.
        draft: The draft that was judged, what policy would not let it say masked; for operators only.
        claims: What each claim of it rests on, in order; empty where no claim was judged.
        parts: What it does for each part of the question; empty where relevance was not judged.
        faithfulness: The mean share of the claims' words that their sources have, 0 to 1, a claim with a fault counting
            for nothing; `None` where no claim says enough in the script of its sources.
        judged_hash: Of what was judged, and of the report itself (`guards.judged_hash`): the verdict belongs to that draft
            of that turn alone.
    """

    model_config = ConfigDict(frozen=True)

    verdict: Verdict
    reasons: list[str] = Field(default_factory=list)
    required_actions: list[RequiredAction] = Field(default_factory=list[RequiredAction])
    risk_level: RiskLevel
    advice: list[str] = Field(default_factory=list)
    checks: dict[str, str] = Field(default_factory=dict[str, str])
    draft: str = ""
    claims: list[ClaimFinding] = Field(default_factory=list[ClaimFinding])
    parts: list[PartFinding] = Field(default_factory=list[PartFinding])
    faithfulness: float | None = Field(default=None, ge=0.0, le=1.0)
    judged_hash: str = ""


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


class Ticket(BaseModel):
    """A hand-off as it leaves the house: the record, and what a person reads.

    Attributes:
        thread_id, turn_id: Together they name it: no turn has two.
        language: The user's; that of `text`.
        text: The record as plain Markdown, in the user's language.
        answer: What the user sees; it says that a hand-off was passed on, which a ticket that can be read was.
        verdict, reasons: Of the Guardian; empty where no draft was judged. Of reasons only the names: what stands
            behind a name may quote a draft that did not pass.
        earlier: What the user wrote before `question` in the conversation, oldest first: the last 5 messages, each of at
            most 1,000 characters; those that moderation stopped are left out.
    """

    model_config = ConfigDict(frozen=True)

    thread_id: str
    turn_id: str
    language: Language
    role: str
    question: str
    answer: str
    record: HandOff
    text: str
    verdict: str = ""
    reasons: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()


class Receipt(BaseModel):
    """What became of a ticket, and why it was kept, where it was."""

    model_config = ConfigDict(frozen=True)

    delivery: DeliveryStatus
    why: str = ""
