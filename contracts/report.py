"""Moderation results, findings of the guards, the Guardian's report, and the record of decisions."""

from __future__ import annotations

import hashlib
import json
from typing import Final

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
    """A moderator's judgement of one message, whatever the provider.

    DT-001 reads `state`: the level, or why there is none. `calls` are the moderator's requests to a language model; the
    node keeps them with those of the other ports.
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
    """The finding on one claim of a draft.

    Attributes:
        text: The claim, as in the draft.
        start, end: Its place in the draft, in characters; `end` is exclusive. Both are 0 if it has no single place,
            such as a table's row that was read as a sentence.
        cites: The numbers that it cites, as in the draft.
        refs: The refs of the evidence that these numbers resolve to.
        missing: Values of the claim that no cited passage has.
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
    """How far a draft answers one part of the question: one question of the message, or all of it.

    Attributes:
        text: The part, as in the search query.
        estimate: How likely the cited pages answer it, 0 to 1; see `guards/relevance_check.py`.
        refs: The refs that the draft cites for it.
        missing: Words of the part that none of its cited pages has.
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
        reasons: Why; empty if it is ok or not_asked.
        actions: What a retry must do; empty unless failed or unchecked.
        advice: Remarks that never change a verdict.
        claims: The finding on each claim, if the guard judges claims.
        parts: The finding on each part of the question, if the guard judges parts.
        faithfulness: If the guard judges claims: as in `GuardianReport`.
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
        checks: The result of each guard, by its name.
        draft: The judged draft, with values that policy forbids masked; for operators only.
        claims: The finding on each claim of the draft, in order; empty if no claim was judged.
        parts: The finding on each part of the question; empty if relevance was not judged.
        faithfulness: The mean share of the claims' words that their sources have, 0 to 1; a claim with a fault counts
            as 0. `None` if no claim says enough in the script of its sources.
        judged_hash: The hash of what was judged and of the report (`guards.judged_hash`): the verdict holds only for
            that draft of that turn.
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
        proposed: The planner's proposal, if it differs.
        reasons: Of DT-005: the names of the reasons why the draft did not pass. Names only: values may quote the draft.
    """

    model_config = ConfigDict(frozen=True)

    node: str
    table: str
    row: str
    outcome: str
    inputs: dict[str, str | float | bool] = Field(default_factory=dict)
    limits: dict[str, float] = Field(default_factory=dict)
    proposed: str | None = None
    reasons: tuple[str, ...] = ()


_NUMERALS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Digits and capitals without I, L, O and U, which are misread or misheard (Crockford's base 32)."""


def number_of(thread_id: str, turn_id: str) -> str:
    """Return the number of a hand-off that its user quotes, such as `7KQ2-M04X`: the same whenever it is asked for.

    Two hand-offs of a million have the same one with a probability of about one half; its ids tell them apart.
    """
    digest = hashlib.sha256(json.dumps([thread_id, turn_id]).encode()).digest()
    value = int.from_bytes(digest[:5], "big")
    written = "".join(_NUMERALS[value >> shift & 31] for shift in range(35, -5, -5))
    return f"{written[:4]}-{written[4:]}"


class HandOff(BaseModel):
    """The record that a person needs to take a conversation over.

    Attributes:
        number: What the user quotes to a person (`number_of`); empty in records of earlier versions.
    """

    model_config = ConfigDict(frozen=True)

    engineer_intervention_needed: bool
    issue_summary: str
    steps_completed: list[str]
    next_steps: list[str]
    outcome: HandOffOutcome
    number: str = ""


class Ticket(BaseModel):
    """A hand-off as it leaves Guardian: the record, and the text that a person reads.

    Attributes:
        thread_id, turn_id: Together they identify it: a turn has at most one.
        language: The user's, and the language of `text`.
        text: The record as plain Markdown, in the user's language.
        answer: The text that the user sees. It says that the hand-off was passed on, which is true of any ticket
            somebody reads.
        verdict, reasons: Of the Guardian; empty if no draft was judged. Reasons are names only, because their values
            may quote a draft that did not pass.
        earlier: The user's last 5 messages before `question` in the conversation, oldest first, each of at most 1,000
            characters; messages that moderation stopped are left out.
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
    """The delivery status of a ticket and, if it was kept, the reason."""

    model_config = ConfigDict(frozen=True)

    delivery: DeliveryStatus
    why: str = ""
