"""`guardian_verify`: run every check on the draft and let DT-005 decide. It judges; it never writes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from langgraph.runtime import Runtime

from contracts.context import Context
from contracts.decisions import VERDICT, record
from contracts.decisions.verdict import FINDINGS_ACTIONS, RULES_ACTION, Judgement
from contracts.evidence import EvidenceItem
from contracts.profile import Profile
from contracts.report import Finding, GuardianReport
from contracts.spec import ArchitectSpec
from contracts.state import Json
from contracts.values import (
    CheckStatus,
    DraftKind,
    PolicyStatus,
    RequestType,
    RequiredAction,
    Source,
    Track,
    Verdict,
)
from contracts.views import GuardianView
from guards.contract_check import check_contract
from guards.evidence_check import EvidenceQuestion, check_evidence
from guards.grounding_check import check_grounding
from guards.policy_check import PolicyFinding, check_answer

NAME = "guardian_verify"


async def guardian_verify(
    state: GuardianView, runtime: Runtime[Context], *, connected: Collection[Source], profile: Profile
) -> Json:
    """Judge the draft, or the request itself where policy denies it (then nothing was searched or drafted)."""
    context = runtime.context or Context()
    kind = DraftKind(state["draft_kind"] or DraftKind.ABSTENTION)
    track = Track(state["track"])
    policy = _policy(state, profile)
    evidence, grounding, contract = _findings(state, context, connected, profile, kind, track)
    substance = _worst((evidence.status, grounding.status))
    decision = VERDICT.decide(
        policy=policy.status,
        kind=kind,
        substance=substance,
        contract=contract.status,
        track=track,
        retries_left=state["retry_count"] < context.max_retry,
        widened=state["widened"],
    )
    findings = [finding for finding in (evidence, grounding, contract) if finding.reasons]
    report = GuardianReport(
        verdict=decision.outcome.verdict,
        reasons=_reasons(decision.outcome, policy, findings, kind),
        required_actions=_actions(decision.outcome, policy, findings),
        risk_level=decision.outcome.risk,
        advice=[remark for finding in (evidence, grounding, contract) for remark in finding.advice],
    )
    return {
        "guardian": report.model_dump(mode="json"),
        "decisions": [*state["decisions"], record(NAME, decision).model_dump(mode="json")],
    }


def _policy(state: GuardianView, profile: Profile) -> PolicyFinding:
    request = PolicyFinding.model_validate(state["request_policy"])
    if request.status is not PolicyStatus.OK:
        return request
    try:
        return check_answer(state["draft_answer"], profile.allowed_link_domains)
    except Exception:  # noqa: BLE001  # whatever broke, the draft has not been checked
        return PolicyFinding(status=PolicyStatus.UNCHECKED)


def _findings(
    state: GuardianView,
    context: Context,
    connected: Collection[Source],
    profile: Profile,
    kind: DraftKind,
    track: Track,
) -> tuple[Finding, Finding, Finding]:
    items = [EvidenceItem.model_validate(item) for item in state["evidence"]]
    request_type = RequestType(state["request_type"])
    question = EvidenceQuestion(
        request_type=request_type,
        track=track,
        kind=kind,
        evidence=items,
        usable=profile.sources_for(context.role).intersection(connected),
        unreachable=_unreachable(state["query_traces"], state["retry_count"]),
        diversity=context.diversity,
        mean_enforced=context.mean_confidence_enforced,
        mean_advised=context.mean_confidence_advised,
    )
    text = state["draft_answer"]
    spec = ArchitectSpec.model_validate(state["architect_spec"])
    return (
        _checked("evidence", lambda: check_evidence(question)),
        _checked("grounding", lambda: check_grounding(text, items, request_type=request_type, kind=kind)),
        _checked("contract", lambda: check_contract(text, spec, track=track, kind=kind)),
    )


def _checked(name: str, check: Callable[[], Finding]) -> Finding:
    """Run a check; one that breaks has not been carried out, which is never "fine"."""
    try:
        return check()
    except Exception as error:  # noqa: BLE001  # whatever broke, the draft has not been checked
        return Finding(
            check=name,
            status=CheckStatus.UNCHECKED,
            reasons=(f"could_not_check=[{name}]",),
            actions=(RequiredAction.ESCALATE_TO_HUMAN,),
            advice=(f"{name}: {type(error).__name__}",),
        )


def _unreachable(traces: Iterable[Json], attempt: int) -> frozenset[Source]:
    newest = [trace for trace in traces if trace["attempt"] <= attempt]
    answered = {trace["source"] for trace in newest if not trace["error"]}
    return frozenset(Source(t["source"]) for t in newest if t["error"] and t["source"] not in answered)


def _worst(statuses: Iterable[CheckStatus]) -> CheckStatus:
    found = set(statuses)
    for status in (CheckStatus.UNCHECKED, CheckStatus.FAILED):
        if status in found:
            return status
    return CheckStatus.OK


def _reasons(judged: Judgement, policy: PolicyFinding, findings: list[Finding], kind: DraftKind) -> list[str]:
    if judged.verdict is Verdict.PASS:
        return []
    if policy.status is not PolicyStatus.OK:
        return list(policy.reasons)
    if kind is DraftKind.CLARIFICATION:
        return ["clarification_needed"]
    abstained = ["abstained"] if kind is DraftKind.ABSTENTION else []
    return [*abstained, *dict.fromkeys(reason for finding in findings for reason in finding.reasons)]


def _actions(judged: Judgement, policy: PolicyFinding, findings: list[Finding]) -> list[RequiredAction]:
    if judged.take == RULES_ACTION:
        return list(policy.actions)
    if judged.take == FINDINGS_ACTIONS:
        return list(dict.fromkeys(action for finding in findings for action in finding.actions))
    return list(judged.actions)
