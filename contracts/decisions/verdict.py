"""DT-005: the verdict that follows from the Guardian's findings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from contracts.decisions.engine import YES_NO, Cell, ChoiceColumn, DecisionRow, DecisionTable, HitPolicy, one_of
from contracts.enums import CheckStatus, DraftKind, PolicyStatus, RequiredAction, RiskLevel, Track, Verdict

FINDINGS_ACTIONS: Final = "the findings' actions"
RULES_ACTION: Final = "the rule's own action"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, the origin of its actions, and the risk.

    Attributes:
        actions: The actions; empty on PASS, and if `take` names their origin.
        take: Empty, or the origin of the actions: the findings or the violated rule.
        quote: Whether the next draft is a quotation from the same evidence, made without the model.
    """

    verdict: Verdict
    risk: RiskLevel
    actions: tuple[RequiredAction, ...] = ()
    take: str = ""
    quote: bool = False

    def __str__(self) -> str:
        actions = ", ".join(self.actions) or self.take
        quoting = "by quoting" if self.quote else ""
        return "; ".join(filter(None, (str(self.verdict), actions, quoting, f"risk {self.risk}")))


_OK = CheckStatus.OK
_FAIL_LOW_ASK = Judgement(Verdict.FAIL, RiskLevel.LOW, (RequiredAction.ASK_MINIMAL_QUESTION,))
_FAIL_MED_ASK = Judgement(Verdict.FAIL, RiskLevel.MED, (RequiredAction.ASK_MINIMAL_QUESTION,))
_ESCALATE = Judgement(Verdict.FAIL, RiskLevel.HIGH, (RequiredAction.ESCALATE_TO_HUMAN,))
_WIDER = Judgement(Verdict.RETRY, RiskLevel.LOW, (RequiredAction.RETRIEVE_MORE, RequiredAction.REFINE_QUERY))
_QUOTE_LOW = Judgement(Verdict.RETRY, RiskLevel.LOW, (RequiredAction.REGENERATE_DRAFT,), quote=True)
_QUOTE_MED = Judgement(Verdict.RETRY, RiskLevel.MED, (RequiredAction.REGENERATE_DRAFT,), quote=True)
_QUOTES = "the model's drafts did not pass: one quotation from the same evidence, judged like any draft"

_FINE: dict[str, Cell] = {"policy": one_of(PolicyStatus.OK)}
_ABSTAINS: dict[str, Cell] = {
    **_FINE,
    "kind": one_of(DraftKind.ABSTENTION),
    "substance": one_of(_OK, CheckStatus.FAILED),
}
_ASKS: dict[str, Cell] = {**_FINE, "kind": one_of(DraftKind.CLARIFICATION)}
_ANSWERS: dict[str, Cell] = {**_FINE, "kind": one_of(DraftKind.ANSWER)}
_LEFT: dict[str, Cell] = {"quoting_left": one_of(True)}
_NONE_LEFT: dict[str, Cell] = {"quoting_left": one_of(False)}
_GROUNDED: dict[str, Cell] = {**_ANSWERS, "substance": one_of(_OK)}
_UNFOUNDED: dict[str, Cell] = {**_ANSWERS, "substance": one_of(CheckStatus.FAILED)}
_BESIDE: dict[str, Cell] = {**_GROUNDED, "relevance": one_of(CheckStatus.FAILED)}
_RELEVANT: dict[str, Cell] = {**_GROUNDED, "relevance": one_of(_OK, CheckStatus.NOT_ASKED)}
_OFF_CONTRACT: dict[str, Cell] = {**_RELEVANT, "contract": one_of(CheckStatus.FAILED)}
_OF_CHECKS: Final = (_OK, CheckStatus.FAILED, CheckStatus.UNCHECKED, CheckStatus.NOT_ASKED)

VERDICT: Final = DecisionTable(
    id="DT-005",
    title="Verdict",
    hit=HitPolicy.UNIQUE,
    columns={
        "policy": ChoiceColumn(tuple(PolicyStatus)),
        "kind": ChoiceColumn(tuple(DraftKind)),
        "substance": ChoiceColumn((_OK, CheckStatus.FAILED, CheckStatus.UNCHECKED)),
        "relevance": ChoiceColumn(tuple(CheckStatus)),
        "contract": ChoiceColumn(_OF_CHECKS),
        "track": ChoiceColumn(tuple(Track)),
        "retries_left": YES_NO,
        "widened": YES_NO,
        "quoting_left": YES_NO,
    },
    rows=(
        DecisionRow(
            "violated",
            {"policy": one_of(PolicyStatus.VIOLATED)},
            Judgement(Verdict.FAIL, RiskLevel.HIGH, take=RULES_ACTION),
            "a violation is never tried again",
        ),
        DecisionRow(
            "policy-unchecked", {"policy": one_of(PolicyStatus.UNCHECKED)}, _ESCALATE, "not checked is not allowed"
        ),
        DecisionRow("asks", {**_ASKS, "substance": one_of(_OK)}, _FAIL_LOW_ASK, "the drafted question is asked"),
        DecisionRow(
            "asks-unfounded-quote", {**_ASKS, "substance": one_of(CheckStatus.FAILED), **_LEFT}, _QUOTE_LOW, _QUOTES
        ),
        DecisionRow(
            "asks-unfounded",
            {**_ASKS, "substance": one_of(CheckStatus.FAILED), **_NONE_LEFT},
            _FAIL_LOW_ASK,
            "what was drafted is no question, or names what nobody said; it is not asked",
        ),
        DecisionRow(
            "abstains-wider",
            {**_ABSTAINS, "retries_left": one_of(True), "widened": one_of(False)},
            _WIDER,
            "an honest abstention gets one wider search",
        ),
        DecisionRow(
            "abstains-widened-quote",
            {**_ABSTAINS, "retries_left": one_of(True), "widened": one_of(True), **_LEFT},
            _QUOTE_LOW,
            _QUOTES,
        ),
        DecisionRow(
            "abstains-widened",
            {**_ABSTAINS, "retries_left": one_of(True), "widened": one_of(True), **_NONE_LEFT},
            _FAIL_LOW_ASK,
            "it had its wider search",
        ),
        DecisionRow("abstains-quote", {**_ABSTAINS, "retries_left": one_of(False), **_LEFT}, _QUOTE_LOW, _QUOTES),
        DecisionRow(
            "abstains-end",
            {**_ABSTAINS, "retries_left": one_of(False), **_NONE_LEFT},
            _FAIL_LOW_ASK,
            "no retry is left, or none that would find anything new",
        ),
        DecisionRow(
            "pass",
            {**_RELEVANT, "contract": one_of(_OK, CheckStatus.NOT_ASKED)},
            Judgement(Verdict.PASS, RiskLevel.LOW),
            "proved as far as it can be",
        ),
        DecisionRow(
            "substance-unchecked",
            {**_FINE, "substance": one_of(CheckStatus.UNCHECKED)},
            _ESCALATE,
            "what could not be checked is not fine",
        ),
        DecisionRow(
            "relevance-unchecked",
            {**_GROUNDED, "relevance": one_of(CheckStatus.UNCHECKED)},
            _ESCALATE,
            "what could not be checked is not fine",
        ),
        DecisionRow(
            "contract-unchecked",
            {**_RELEVANT, "contract": one_of(CheckStatus.UNCHECKED)},
            _ESCALATE,
            "what could not be checked is not fine",
        ),
        DecisionRow(
            "unfounded-retry",
            {**_UNFOUNDED, "track": one_of(Track.QUALITY), "retries_left": one_of(True)},
            Judgement(Verdict.RETRY, RiskLevel.MED, take=FINDINGS_ACTIONS),
            "evidence can be searched for again",
        ),
        DecisionRow(
            "unfounded-quote",
            {**_UNFOUNDED, "track": one_of(Track.QUALITY), "retries_left": one_of(False), **_LEFT},
            _QUOTE_MED,
            _QUOTES,
        ),
        DecisionRow(
            "unfounded-end",
            {**_UNFOUNDED, "track": one_of(Track.QUALITY), "retries_left": one_of(False), **_NONE_LEFT},
            _FAIL_MED_ASK,
            "no retry is left, or none that would find anything new",
        ),
        DecisionRow("unfounded-fast-quote", {**_UNFOUNDED, "track": one_of(Track.FAST), **_LEFT}, _QUOTE_MED, _QUOTES),
        DecisionRow(
            "unfounded-fast",
            {**_UNFOUNDED, "track": one_of(Track.FAST), **_NONE_LEFT},
            _FAIL_MED_ASK,
            "FAST does not search twice",
        ),
        DecisionRow(
            "beside-retry",
            {**_BESIDE, "track": one_of(Track.QUALITY), "retries_left": one_of(True)},
            Judgement(Verdict.RETRY, RiskLevel.MED, take=FINDINGS_ACTIONS),
            "another page may answer, or the draft may do without what it is not sure of",
        ),
        DecisionRow(
            "beside-quote",
            {**_BESIDE, "track": one_of(Track.QUALITY), "retries_left": one_of(False), **_LEFT},
            _QUOTE_MED,
            _QUOTES,
        ),
        DecisionRow(
            "beside-end",
            {**_BESIDE, "track": one_of(Track.QUALITY), "retries_left": one_of(False), **_NONE_LEFT},
            _FAIL_MED_ASK,
            "proved, and beside the question; no retry is left, or none that would find anything new",
        ),
        DecisionRow("beside-fast-quote", {**_BESIDE, "track": one_of(Track.FAST), **_LEFT}, _QUOTE_MED, _QUOTES),
        DecisionRow(
            "beside-fast",
            {**_BESIDE, "track": one_of(Track.FAST), **_NONE_LEFT},
            _FAIL_MED_ASK,
            "FAST does not search twice",
        ),
        DecisionRow(
            "doubtful-quote",
            {**_GROUNDED, "relevance": one_of(CheckStatus.DOUBTFUL), **_LEFT},
            _QUOTE_MED,
            _QUOTES,
        ),
        DecisionRow(
            "doubtful",
            {**_GROUNDED, "relevance": one_of(CheckStatus.DOUBTFUL), **_NONE_LEFT},
            _FAIL_MED_ASK,
            "proved, and not surely an answer to this question: it is not stated as one",
        ),
        DecisionRow(
            "off-contract-retry",
            {**_OFF_CONTRACT, "retries_left": one_of(True)},
            Judgement(Verdict.RETRY, RiskLevel.LOW, take=FINDINGS_ACTIONS),
            "the form can be mended without a search",
        ),
        DecisionRow(
            "off-contract-quote", {**_OFF_CONTRACT, "retries_left": one_of(False), **_LEFT}, _QUOTE_LOW, _QUOTES
        ),
        DecisionRow(
            "off-contract-end",
            {**_OFF_CONTRACT, "retries_left": one_of(False), **_NONE_LEFT},
            Judgement(Verdict.FAIL, RiskLevel.LOW, (RequiredAction.SAFE_REFUSAL,)),
            "no retry is left",
        ),
    ),
)
