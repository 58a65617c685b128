"""What all findings together come to: the inputs of DT-005, and the report that its row makes of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from contracts.decisions import VERDICT
from contracts.decisions.engine import Decision
from contracts.decisions.verdict import FINDINGS_ACTIONS, RULES_ACTION, Judgement
from contracts.report import Finding, GuardianReport
from contracts.values import CheckStatus, DraftKind, PolicyStatus, RequiredAction, Track, Verdict
from guards.policy_check import PolicyFinding


@dataclass(frozen=True, slots=True)
class Findings:
    """What the checks found of one draft."""

    policy: PolicyFinding
    evidence: Finding
    grounding: Finding
    contract: Finding

    def substance(self) -> CheckStatus:
        """Return the worst of evidence and grounding: unchecked, failed or ok."""
        there = {self.evidence.status, self.grounding.status}
        worst_first = (CheckStatus.UNCHECKED, CheckStatus.FAILED)
        return next((status for status in worst_first if status in there), CheckStatus.OK)

    def named(self) -> dict[str, Finding]:
        """Return the findings but that of policy, by their checks."""
        return {"evidence": self.evidence, "grounding": self.grounding, "contract": self.contract}

    def with_reasons(self) -> list[Finding]:
        """Return the findings that object to something."""
        return [finding for finding in (self.evidence, self.grounding, self.contract) if finding.reasons]


def judge(
    findings: Findings, *, kind: DraftKind, track: Track, retries_left: bool, widened: bool, draft: str = ""
) -> tuple[Decision[Judgement], GuardianReport]:
    """Decide by DT-005; the report has all reasons and actions at once, so that one retry can mend everything.

    Only a policy violation ends at once: where there is one, nothing else is reported.
    """
    decision = VERDICT.decide(
        policy=findings.policy.status,
        kind=kind,
        substance=findings.substance(),
        contract=findings.contract.status,
        track=track,
        retries_left=retries_left,
        widened=widened,
    )
    judged = decision.outcome
    report = GuardianReport(
        verdict=judged.verdict,
        reasons=_reasons(judged, findings, kind),
        required_actions=_actions(judged, findings),
        risk_level=judged.risk,
        advice=[
            remark
            for finding in (findings.evidence, findings.grounding, findings.contract)
            for remark in finding.advice
        ],
        checks={
            "policy": str(findings.policy.status),
            **{name: str(finding.status) for name, finding in findings.named().items()},
        },
        draft=draft,
        claims=list(findings.grounding.claims),
    )
    return decision, report


def _reasons(judged: Judgement, findings: Findings, kind: DraftKind) -> list[str]:
    if judged.verdict is Verdict.PASS:
        return []
    if findings.policy.status is not PolicyStatus.OK:
        return list(findings.policy.reasons)
    if kind is DraftKind.CLARIFICATION:
        return ["clarification_needed"]
    abstained = ["abstained"] if kind is DraftKind.ABSTENTION else []
    return _once([*abstained, *(reason for finding in findings.with_reasons() for reason in finding.reasons)])


def _actions(judged: Judgement, findings: Findings) -> list[RequiredAction]:
    if judged.take == RULES_ACTION:
        return list(findings.policy.actions)
    if judged.take == FINDINGS_ACTIONS:
        found = (action for finding in findings.with_reasons() for action in finding.actions)
        return list(dict.fromkeys(found))
    return list(judged.actions)


def _once(reasons: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(reasons))
