"""`guardian_verify`: run every check on the draft and let DT-005 decide. It judges; it never writes."""

from __future__ import annotations

from collections.abc import Callable, Collection

from langgraph.runtime import Runtime

from contracts.context import Context
from contracts.decisions import record
from contracts.decisions.evidence import could_not_ask
from contracts.evidence import EvidenceItem, QueryTrace
from contracts.profile import Profile
from contracts.report import Finding
from contracts.spec import ArchitectSpec
from contracts.state import Json
from contracts.values import CheckStatus, DraftKind, PolicyStatus, RequestType, RequiredAction, Source, Track
from contracts.views import GuardianView
from guards.contract_check import check_contract
from guards.evidence_check import EvidenceQuestion, check_evidence
from guards.grounding_check import check_grounding
from guards.policy_check import PolicyFinding, check_answer
from guards.verdict import Findings, judge

NAME = "guardian_verify"


async def guardian_verify(
    state: GuardianView, runtime: Runtime[Context], *, connected: Collection[Source], profile: Profile
) -> Json:
    """Judge the draft, or the request itself where policy denies it (then nothing was searched or drafted)."""
    context = runtime.context or Context()
    kind = DraftKind(state["draft_kind"] or DraftKind.ABSTENTION)
    track, request_type = Track(state["track"]), RequestType(state["request_type"])
    text = state["draft_answer"]
    spec = ArchitectSpec.model_validate(state["architect_spec"])
    evidence = [EvidenceItem.model_validate(item) for item in state["evidence"]]
    question = EvidenceQuestion(
        request_type=request_type,
        track=track,
        kind=kind,
        evidence=evidence,
        usable=profile.sources_for(context.role).intersection(connected),
        unreachable=could_not_ask(QueryTrace.model_validate(trace) for trace in state["query_traces"]),
        least=context.min_evidence,
        diversity=context.diversity,
        mean_enforced=context.mean_confidence_enforced,
        mean_advised=context.mean_confidence_advised,
    )
    findings = Findings(
        policy=_policy(state, profile),
        evidence=_checked("evidence", lambda: check_evidence(question)),
        grounding=_checked("grounding", lambda: check_grounding(text, evidence, request_type=request_type, kind=kind)),
        contract=_checked("contract", lambda: check_contract(text, spec, track=track, kind=kind)),
    )
    # A retry that found nothing new has changed nothing, and neither would the next one.
    retries_left = state["retry_count"] < context.max_retry and not state["nothing_new"]
    decision, report = judge(findings, kind=kind, track=track, retries_left=retries_left, widened=state["widened"])
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
