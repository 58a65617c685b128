"""`guardian_verify`: run every check on the draft and let DT-005 decide. It judges; it never writes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from langgraph.runtime import Runtime

from contracts.calls import ModelCall
from contracts.context import Context
from contracts.decisions import record
from contracts.decisions.evidence import could_not_ask
from contracts.errors import EntailmentUnavailable
from contracts.evidence import EvidenceItem, QueryTrace
from contracts.ports import EntailmentChecker
from contracts.profile import Profile
from contracts.report import Finding
from contracts.spec import ArchitectSpec
from contracts.state import Json
from contracts.values import (
    CheckStatus,
    DraftKind,
    EntailmentMode,
    PolicyStatus,
    RequestType,
    RequiredAction,
    Source,
    Track,
)
from contracts.views import GuardianView
from guards.contract_check import check_contract
from guards.entailment_check import entailment_questions, with_entailment, without_entailment
from guards.evidence_check import EvidenceQuestion, check_evidence
from guards.grounding_check import check_grounding
from guards.policy_check import PolicyFinding, check_answer, masked
from guards.verdict import Findings, judge

NAME = "guardian_verify"


async def guardian_verify(
    state: GuardianView,
    runtime: Runtime[Context],
    *,
    connected: Collection[Source],
    profile: Profile,
    entailment: EntailmentChecker | None = None,
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
    grounding = _checked(
        "grounding",
        lambda: check_grounding(
            text, evidence, request_type=request_type, kind=kind, response_format=spec.response_format
        ),
    )
    entailed = await _entailed(grounding, evidence, entailment, context.entailment)
    findings = Findings(
        policy=_policy(state, profile, context.role),
        evidence=_checked("evidence", lambda: check_evidence(question)),
        grounding=entailed.grounding,
        contract=_checked("contract", lambda: check_contract(text, spec, track=track, kind=kind)),
    )
    # A retry that found nothing new has changed nothing, and neither would the next one.
    retries_left = state["retry_count"] < context.max_retry and not state["nothing_new"]
    decision, report = judge(
        findings,
        kind=kind,
        track=track,
        retries_left=retries_left,
        widened=state["widened"],
        draft=masked(text, profile, context.role),
    )
    return {
        "guardian": report.model_dump(mode="json"),
        "decisions": [*state["decisions"], record(NAME, decision).model_dump(mode="json")],
        "degraded": list(dict.fromkeys([*state["degraded"], *entailed.degraded])),
        "model_calls": [*state["model_calls"], *(call.model_dump(mode="json") for call in entailed.calls)],
    }


def _policy(state: GuardianView, profile: Profile, role: str) -> PolicyFinding:
    request = PolicyFinding.model_validate(state["request_policy"])
    if request.status is not PolicyStatus.OK:
        return request
    try:
        return check_answer(state["draft_answer"], profile, role)
    except Exception:  # noqa: BLE001  # whatever broke, the draft has not been checked
        return PolicyFinding(status=PolicyStatus.UNCHECKED)


@dataclass(frozen=True, slots=True)
class _Entailed:
    grounding: Finding
    degraded: tuple[str, ...] = ()
    calls: tuple[ModelCall, ...] = ()


async def _entailed(
    grounding: Finding, evidence: Sequence[EvidenceItem], checker: EntailmentChecker | None, mode: EntailmentMode
) -> _Entailed:
    """Ask the checker of claims, where one is connected and there is anything to ask."""
    if checker is None or mode is EntailmentMode.OFF or not (questions := entailment_questions(grounding, evidence)):
        return _Entailed(grounding)
    try:
        reply = await checker.check(questions)
    except EntailmentUnavailable as error:
        return _Entailed(without_entailment(grounding, mode, str(error)), (f"entailment: {error}",), error.calls)
    return _Entailed(with_entailment(grounding, reply.answers, mode), (), reply.calls)


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
