"""The verdict on all findings: the inputs of DT-005, and the report that its row produces."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from contracts.decisions import VERDICT
from contracts.decisions.engine import Decision
from contracts.decisions.verdict import FINDINGS_ACTIONS, RULES_ACTION, Judgement
from contracts.enums import CheckStatus, DraftKind, PolicyStatus, RequiredAction, Track, Verdict
from contracts.reasons import Reason, broke, could_not_check, write_reasons
from contracts.report import ClaimFinding, Finding, GuardianReport
from guards.policy_check import PolicyFinding
from language.clean import fold

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of all checks on one draft.

    Attributes:
        remarks: Advice in addition to the findings': on checks that broke.
    """

    policy: PolicyFinding
    evidence: Finding
    grounding: Finding
    relevance: Finding
    contract: Finding
    remarks: tuple[Reason, ...] = ()

    def substance(self) -> CheckStatus:
        """Return the worst of evidence and grounding: unchecked, failed or ok."""
        there = {self.evidence.status, self.grounding.status}
        worst_first = (CheckStatus.UNCHECKED, CheckStatus.FAILED)
        return next((status for status in worst_first if status in there), CheckStatus.OK)

    def named(self) -> dict[str, Finding]:
        """Return all findings except policy's, by check."""
        return {
            "evidence": self.evidence,
            "grounding": self.grounding,
            "relevance": self.relevance,
            "contract": self.contract,
        }

    def masked(self, draft: str, mask: Callable[[str], str]) -> Findings:
        """Return the findings without the values that `mask` removes, and with the places of claims in `draft`.

        Args:
            draft: The draft as the report shows it, masked as well.
            mask: Replaces what an answer must not say.
        """

        def mask_reason(reason: Reason) -> Reason:
            return Reason(reason.name, tuple(map(mask, reason.values)))

        told = {name: _mask_finding(finding, draft, mask, mask_reason) for name, finding in self.named().items()}
        return replace(self, **told)

    def unquoted(self) -> Findings:
        """Return the findings without any words of the draft: reasons that quote it keep only their names."""
        told = {
            name: finding.model_copy(
                update={
                    "reasons": tuple(map(_without_quotes, finding.reasons)),
                    "advice": tuple(map(_without_quotes, finding.advice)),
                    "claims": (),
                    "parts": (),
                }
            )
            for name, finding in self.named().items()
        }
        return replace(self, **told)


_QUOTES_NOTHING: Final = frozenset({could_not_check().name, "could_not_ask", broke("", "").name})
"""Reasons whose values are ours: names of checks, sources and exceptions."""


def _without_quotes(reason: Reason) -> Reason:
    return reason if reason.name in _QUOTES_NOTHING else Reason(reason.name)


def _mask_finding(finding: Finding, draft: str, mask: Callable[[str], str], fit: Callable[[Reason], Reason]) -> Finding:
    return finding.model_copy(
        update={
            "reasons": tuple(map(fit, finding.reasons)),
            "advice": tuple(map(fit, finding.advice)),
            "claims": tuple(_masked_claims(finding.claims, draft, mask)),
            "parts": tuple(
                part.model_copy(update={"text": mask(part.text), "missing": tuple(map(mask, part.missing))})
                for part in finding.parts
            ),
        }
    )


def _masked_claims(claims: Iterable[ClaimFinding], draft: str, mask: Callable[[str], str]) -> list[ClaimFinding]:
    masked: list[ClaimFinding] = []
    behind = 0
    for claim in claims:
        text = mask(claim.text)
        start = draft.find(text, behind) if claim.end else -1
        behind = start + len(text) if start >= 0 else behind
        masked.append(
            claim.model_copy(
                update={
                    "text": text,
                    "start": max(start, 0),
                    "end": behind if start >= 0 else 0,
                    "missing": tuple(map(mask, _still_said(claim, text))),
                    "advice": tuple(map(mask, claim.advice)),
                }
            )
        )
    return masked


def _still_said(claim: ClaimFinding, masked: str) -> tuple[str, ...]:
    """Return the missing values that a masked claim still has: alone, a password is no longer shaped like one."""
    if masked == claim.text:
        return claim.missing
    return tuple(value for value in claim.missing if fold(value) in fold(masked))


def judge(
    findings: Findings,
    *,
    kind: DraftKind,
    track: Track,
    retries_left: bool,
    widened: bool,
    quoting_left: bool = False,
    draft: str = "",
) -> tuple[Decision[Judgement], GuardianReport]:
    """Decide by DT-005; the report has all reasons and actions at once, so that one retry can fix everything.

    Only a policy violation ends the turn at once; then no other reason is reported.

    Args:
        findings: The findings of the checks.
        kind: The kind that the draft declares.
        track: How strictly it is judged.
        retries_left: Whether a retry is left.
        widened: Whether an abstention had its wider search.
        quoting_left: Whether a draft may still be quoted if none of the model's passed.
        draft: The judged draft in the form that operators may see; empty if nothing was drafted.
    """
    decision = VERDICT.decide(
        policy=findings.policy.status,
        kind=kind,
        substance=findings.substance(),
        relevance=findings.relevance.status,
        contract=findings.contract.status,
        track=track,
        retries_left=retries_left,
        widened=widened,
        quoting_left=quoting_left,
    )
    judged = decision.outcome
    named = findings.named()
    report = GuardianReport(
        verdict=judged.verdict,
        reasons=list(write_reasons(list_reasons(judged, findings, kind))),
        required_actions=_actions(judged, findings),
        risk_level=judged.risk,
        advice=[
            *write_reasons(findings.remarks),
            *(each for finding in named.values() for each in write_reasons(finding.advice)),
        ],
        checks={
            "policy": str(findings.policy.status),
            **{name: str(finding.status) for name, finding in named.items()},
        },
        draft=draft,
        claims=list(findings.grounding.claims),
        parts=list(findings.relevance.parts),
        faithfulness=findings.grounding.faithfulness,
    )
    return decision, report


def list_reasons(judged: Judgement, findings: Findings, kind: DraftKind) -> list[Reason]:
    """Return why a draft did not pass, each reason once: of the policy, of its kind, and of the checks."""
    if judged.verdict is Verdict.PASS:
        return []
    reasons = [*findings.policy.reasons]
    if findings.policy.status is PolicyStatus.VIOLATED:
        return reasons
    if findings.policy.status is PolicyStatus.OK:
        reasons += _OF_KIND.get(kind, [])
    return _once([*reasons, *(reason for finding in findings.named().values() for reason in finding.reasons)])


_OF_KIND = {
    DraftKind.ABSTENTION: [Reason("abstained")],
    DraftKind.CLARIFICATION: [Reason("clarification_needed")],
}
"""Why a draft that is no answer is no PASS, whatever was found of it."""


def _actions(judged: Judgement, findings: Findings) -> list[RequiredAction]:
    if judged.take == RULES_ACTION:
        return _once(findings.policy.actions)
    if judged.take == FINDINGS_ACTIONS:
        # What could not be checked would end the turn; here something else can be mended first.
        failed = (finding for finding in findings.named().values() if finding.status is CheckStatus.FAILED)
        return _once(action for finding in failed for action in finding.actions)
    return list(judged.actions)


def _once(items: Iterable[_Item]) -> list[_Item]:
    return list(dict.fromkeys(items))
