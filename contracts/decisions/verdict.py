"""DT-005: what the Guardian's findings amount to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from contracts.decisions.engine import YES_NO, Cell, Choice, DecisionTable, HitPolicy, Row, one_of
from contracts.values import CheckStatus, DraftKind, PolicyStatus, RequiredAction, RiskLevel, Track, Verdict

FINDINGS_ACTIONS: Final = "the findings' actions"
RULES_ACTION: Final = "the rule's own action"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, where its actions come from, and the risk.

    Attributes:
        actions: The actions themselves; empty on PASS, and where `take` says whose they are.
        take: Empty, or whose actions are taken: the findings' or the violated rule's.
    """

    verdict: Verdict
    risk: RiskLevel
    actions: tuple[RequiredAction, ...] = ()
    take: str = ""

    def __str__(self) -> str:
        return "; ".join(filter(None, (str(self.verdict), ", ".join(self.actions) or self.take, f"risk {self.risk}")))


_OK = CheckStatus.OK
_FAIL_LOW_ASK = Judgement(Verdict.FAIL, RiskLevel.LOW, (RequiredAction.ASK_MINIMAL_QUESTION,))
_FAIL_MED_ASK = Judgement(Verdict.FAIL, RiskLevel.MED, (RequiredAction.ASK_MINIMAL_QUESTION,))
_ESCALATE = Judgement(Verdict.FAIL, RiskLevel.HIGH, (RequiredAction.ESCALATE_TO_HUMAN,))
_WIDER = Judgement(Verdict.RETRY, RiskLevel.LOW, (RequiredAction.RETRIEVE_MORE, RequiredAction.REFINE_QUERY))

_FINE: dict[str, Cell] = {"policy": one_of(PolicyStatus.OK)}
_ABSTAINS: dict[str, Cell] = {
    **_FINE,
    "kind": one_of(DraftKind.ABSTENTION),
    "substance": one_of(_OK, CheckStatus.FAILED),
}
_ANSWERS: dict[str, Cell] = {**_FINE, "kind": one_of(DraftKind.ANSWER)}
_GROUNDED: dict[str, Cell] = {**_ANSWERS, "substance": one_of(_OK)}
_UNFOUNDED: dict[str, Cell] = {**_ANSWERS, "substance": one_of(CheckStatus.FAILED)}
_OFF_CONTRACT: dict[str, Cell] = {**_GROUNDED, "contract": one_of(CheckStatus.FAILED)}

VERDICT: Final = DecisionTable(
    id="DT-005",
    title="Verdict",
    hit=HitPolicy.UNIQUE,
    columns={
        "policy": Choice(tuple(PolicyStatus)),
        "kind": Choice(tuple(DraftKind)),
        "substance": Choice((_OK, CheckStatus.FAILED, CheckStatus.UNCHECKED)),
        "contract": Choice(tuple(CheckStatus)),
        "track": Choice(tuple(Track)),
        "retries_left": YES_NO,
        "widened": YES_NO,
    },
    rows=(
        Row(
            "violated",
            {"policy": one_of(PolicyStatus.VIOLATED)},
            Judgement(Verdict.FAIL, RiskLevel.HIGH, take=RULES_ACTION),
            "a violation is never tried again",
        ),
        Row("policy-unchecked", {"policy": one_of(PolicyStatus.UNCHECKED)}, _ESCALATE, "not checked is not allowed"),
        Row(
            "asks",
            {**_FINE, "kind": one_of(DraftKind.CLARIFICATION)},
            _FAIL_LOW_ASK,
            "the drafted question is asked",
        ),
        Row(
            "abstains-wider",
            {**_ABSTAINS, "retries_left": one_of(True), "widened": one_of(False)},
            _WIDER,
            "an honest abstention gets one wider search",
        ),
        Row(
            "abstains-widened",
            {**_ABSTAINS, "retries_left": one_of(True), "widened": one_of(True)},
            _FAIL_LOW_ASK,
            "it had its wider search",
        ),
        Row("abstains-end", {**_ABSTAINS, "retries_left": one_of(False)}, _FAIL_LOW_ASK, "no retry is left"),
        Row(
            "pass",
            {**_GROUNDED, "contract": one_of(_OK, CheckStatus.NOT_ASKED)},
            Judgement(Verdict.PASS, RiskLevel.LOW),
            "proved as far as it can be",
        ),
        Row(
            "substance-unchecked",
            {
                **_FINE,
                "kind": one_of(DraftKind.ANSWER, DraftKind.ABSTENTION),
                "substance": one_of(CheckStatus.UNCHECKED),
            },
            _ESCALATE,
            "what could not be checked is not fine",
        ),
        Row(
            "contract-unchecked",
            {**_GROUNDED, "contract": one_of(CheckStatus.UNCHECKED)},
            _ESCALATE,
            "what could not be checked is not fine",
        ),
        Row(
            "unfounded-retry",
            {**_UNFOUNDED, "track": one_of(Track.QUALITY), "retries_left": one_of(True)},
            Judgement(Verdict.RETRY, RiskLevel.MED, take=FINDINGS_ACTIONS),
            "evidence can be searched for again",
        ),
        Row(
            "unfounded-end",
            {**_UNFOUNDED, "track": one_of(Track.QUALITY), "retries_left": one_of(False)},
            _FAIL_MED_ASK,
            "no retry is left",
        ),
        Row("unfounded-fast", {**_UNFOUNDED, "track": one_of(Track.FAST)}, _FAIL_MED_ASK, "FAST does not search twice"),
        Row(
            "off-contract-retry",
            {**_OFF_CONTRACT, "retries_left": one_of(True)},
            Judgement(Verdict.RETRY, RiskLevel.LOW, take=FINDINGS_ACTIONS),
            "the form can be mended without a search",
        ),
        Row(
            "off-contract-end",
            {**_OFF_CONTRACT, "retries_left": one_of(False)},
            Judgement(Verdict.FAIL, RiskLevel.LOW, (RequiredAction.SAFE_REFUSAL,)),
            "no retry is left",
        ),
    ),
)
