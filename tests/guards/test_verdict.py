"""What all findings together come to: every combination of what the checks may find."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import NamedTuple

import pytest

from contracts.enums import CheckStatus, ClaimStatus, DraftKind, PolicyStatus, RequiredAction, RiskLevel, Track, Verdict
from contracts.reasons import Reason, could_not_check, read_reason, write_reasons
from contracts.report import ClaimFinding, Finding, GuardianReport
from guards.policy_check import PolicyFinding
from guards.verdict import Findings, judge
from tests.support.oracles import verdict as specified

A = RequiredAction
OK, FAILED, DOUBTFUL, UNCHECKED, NOT_ASKED = CheckStatus
OF_CHECKS = (OK, FAILED, UNCHECKED, NOT_ASKED)
ENDING = {A.ASK_MINIMAL_QUESTION, A.SAFE_REFUSAL, A.REDACT_SENSITIVE, A.ESCALATE_TO_HUMAN}
FAULTS = {
    "evidence": (("insufficient_evidence_count(<2)",), (A.ADD_EVIDENCE, A.RETRIEVE_MORE)),
    "grounding": (("claim_without_citation=[x]",), (A.ADD_EVIDENCE_REFERENCES, A.REGENERATE_DRAFT)),
    "relevance": (("does_not_answer=[x]",), (A.REFINE_QUERY, A.RETRIEVE_MORE)),
    "contract": (("domain_terms_not_used",), (A.USE_DOMAIN_TERMS, A.REGENERATE_DRAFT)),
}
HIDDEN = "hunter2hunter2"


def finding(check: str, status: CheckStatus) -> Finding:
    """Return a finding as its guard makes it: with reasons and actions where it failed or could not be carried out."""
    if status is UNCHECKED:
        return Finding(check=check, status=status, reasons=(could_not_check(check),), actions=(A.ESCALATE_TO_HUMAN,))
    if status is DOUBTFUL:
        return Finding(check=check, status=status, reasons=(Reason("relevance_doubtful", ("x",)),))
    reasons, actions = FAULTS[check] if status is FAILED else ((), ())
    advice = (Reason(f"advice_of_{check}"),)
    return Finding(check=check, status=status, reasons=tuple(map(read_reason, reasons)), actions=actions, advice=advice)


def policy(status: PolicyStatus) -> PolicyFinding:
    if status is not PolicyStatus.VIOLATED:
        return PolicyFinding(status=status)
    return PolicyFinding(status=status, rules=("api-key", "link"), actions=(A.REDACT_SENSITIVE, A.SAFE_REFUSAL))


def findings(
    evidence: CheckStatus = OK,
    grounding: CheckStatus = OK,
    contract: CheckStatus = OK,
    relevance: CheckStatus = OK,
    of_policy: PolicyStatus = PolicyStatus.OK,
) -> Findings:
    return Findings(
        policy=policy(of_policy),
        evidence=finding("evidence", evidence),
        grounding=finding("grounding", grounding),
        relevance=finding("relevance", relevance),
        contract=finding("contract", contract),
    )


def report_of(
    found: Findings,
    kind: DraftKind = DraftKind.ANSWER,
    track: Track = Track.QUALITY,
    *,
    retries_left: bool = True,
    widened: bool = False,
    quoting_left: bool = False,
) -> GuardianReport:
    return judge(
        found,
        kind=kind,
        track=track,
        retries_left=retries_left,
        widened=widened,
        quoting_left=quoting_left,
        draft="x",
    )[1]


class Case(NamedTuple):
    """What the checks found, what else a verdict depends on, and the report."""

    found: Findings
    kind: DraftKind
    track: Track
    retries_left: bool
    widened: bool
    quoting_left: bool
    report: GuardianReport


@pytest.fixture(scope="module")
def every_case() -> list[Case]:
    """Every combination, judged once for all that look at the reports."""
    statuses = product(OF_CHECKS, OF_CHECKS, OF_CHECKS, CheckStatus, PolicyStatus)
    found = [findings(*status) for status in statuses]
    cases: list[Case] = []
    for one, kind, track, retries_left, widened, quoting_left in product(
        found, DraftKind, Track, (True, False), (True, False), (True, False)
    ):
        report = report_of(one, kind, track, retries_left=retries_left, widened=widened, quoting_left=quoting_left)
        cases.append(Case(one, kind, track, retries_left, widened, quoting_left, report))
    return cases


def test_every_verdict_is_the_specifications(every_case: list[Case]) -> None:
    """Verdict, actions and risk are DT-005's for whatever the checks found, the worse of evidence and grounding counting."""
    for found, kind, track, retries_left, widened, quoting_left, report in every_case:
        there = {found.evidence.status, found.grounding.status}
        substance = "unchecked" if UNCHECKED in there else "failed" if FAILED in there else "ok"
        verdict, actions, risk = specified(
            policy=found.policy.status,
            kind=kind,
            substance=substance,
            relevance=found.relevance.status,
            contract=found.contract.status,
            track=track,
            retries_left=retries_left,
            widened=widened,
            quoting_left=quoting_left,
        )
        assert (report.verdict, report.risk_level) == (verdict, risk)
        if isinstance(actions, tuple):
            assert report.required_actions == [action for action in actions if action != "by quoting"]


def test_a_pass_has_neither_reasons_nor_actions_and_all_else_has_both(every_case: list[Case]) -> None:
    """Whatever was found, failed and unchecked together among it; and no reason and no action is named twice."""
    for *_, report in every_case:
        passed = report.verdict is Verdict.PASS
        assert passed == (not report.reasons) == (not report.required_actions)
        assert len(set(report.reasons)) == len(report.reasons)
        assert len(set(report.required_actions)) == len(report.required_actions)


def test_all_reasons_are_told_at_once_and_in_order(every_case: list[Case]) -> None:
    """Where policy is not violated: that it was not checked, the kind of draft, then evidence, grounding, relevance, contract."""
    for found, kind, *_, report in every_case:
        if found.policy.status is PolicyStatus.VIOLATED:
            assert report.reasons == ["policy_violation=[api-key, link]"]
            continue
        if report.verdict is Verdict.PASS:
            continue
        first = ["could_not_check=[policy]"] if found.policy.status is PolicyStatus.UNCHECKED else []
        if not first:
            first = {"abstention": ["abstained"], "clarification": ["clarification_needed"]}.get(kind, [])
        rest = [
            reason
            for one in (found.evidence, found.grounding, found.relevance, found.contract)
            for reason in write_reasons(one.reasons)
        ]
        assert report.reasons == first + rest


def test_a_retry_asks_for_nothing_that_ends_a_turn(every_case: list[Case]) -> None:
    """What could not be checked beside what failed does not send the drafter to a person."""
    seen: set[tuple[RequiredAction, ...]] = set()
    for *_, report in every_case:
        if report.verdict is Verdict.RETRY:
            assert not ENDING.intersection(report.required_actions)
            seen.add(tuple(report.required_actions))
    everything = tuple(dict.fromkeys(action for _, actions in FAULTS.values() for action in actions))
    assert everything in seen


def test_the_rules_own_actions_are_taken_where_policy_is_violated() -> None:
    """An action once each, in the rules' order, and high risk, though everything else is in order or worse."""
    for others in ((OK, OK, OK), (FAILED, UNCHECKED, FAILED)):
        report = report_of(findings(*others, of_policy=PolicyStatus.VIOLATED))
        assert report.required_actions == [A.REDACT_SENSITIVE, A.SAFE_REFUSAL]
        assert report.risk_level is RiskLevel.HIGH
    twice = PolicyFinding(status=PolicyStatus.VIOLATED, rules=("a",), actions=(A.SAFE_REFUSAL, A.SAFE_REFUSAL))
    found = replace(findings(), policy=twice)
    assert report_of(found).required_actions == [A.SAFE_REFUSAL]


@pytest.mark.parametrize("status", OF_CHECKS)
def test_the_report_says_what_each_check_found(status: CheckStatus) -> None:
    """Each check by its name, and all advice, first that about checks that broke; advice changes no verdict."""
    found = findings(status, NOT_ASKED, OK)
    report = report_of(found)
    assert report.checks == {
        "policy": "ok",
        "evidence": status,
        "grounding": "not_asked",
        "relevance": "ok",
        "contract": "ok",
    }
    noted = replace(found, remarks=("policy: ValueError",))
    assert report_of(noted).advice == ["policy: ValueError", *report.advice]
    assert report_of(noted).verdict is report.verdict


# ------------------------------------------------------------------------------------------------- what may be quoted


def quoting() -> Findings:
    claims = (
        ClaimFinding(text="Fine [1].", start=0, end=9, status=ClaimStatus.SUPPORTED, cites=(1,)),
        ClaimFinding(
            text=f"It is {HIDDEN}.",
            start=10,
            end=31,
            status=ClaimStatus.UNSUPPORTED,
            missing=(HIDDEN,),
            advice=(HIDDEN,),
        ),
        ClaimFinding(text="Last.", start=32, end=37, status=ClaimStatus.UNCITED),
        ClaimFinding(text=f"A row of {HIDDEN}", status=ClaimStatus.UNCITED),
    )
    grounding = Finding(
        check="grounding",
        status=FAILED,
        reasons=(Reason("claim_without_citation", (HIDDEN,)), Reason("value_not_in_cited_evidence", (HIDDEN,))),
        actions=(A.REGENERATE_DRAFT,),
        advice=(Reason("claim_unlike_its_source", (HIDDEN,)),),
        claims=claims,
    )
    fine = finding("relevance", OK), finding("contract", OK)
    return Findings(policy(PolicyStatus.UNCHECKED), finding("evidence", UNCHECKED), grounding, *fine)


def test_findings_quote_nothing_that_the_draft_masks() -> None:
    """Reasons, advice and claims are masked as the draft is, and claims stand where the masked draft has them."""
    draft = "Fine [1]. It is [secret]. Last."
    masked = quoting().masked(draft, lambda text: text.replace(HIDDEN, "[secret]"))
    report = report_of(masked)
    assert HIDDEN not in report.model_dump_json()
    assert "value_not_in_cited_evidence=[[secret]]" in report.reasons
    assert [draft[claim.start : claim.end] for claim in report.claims] == ["Fine [1].", "It is [secret].", "Last.", ""]
    assert [claim.text for claim in report.claims][3] == "A row of [secret]"
    assert report.verdict is Verdict.FAIL


def test_a_missing_value_of_a_masked_claim_is_not_told_alone() -> None:
    """Without the words around it, a password is no longer known as one; other values of the claim stay."""
    claim = ClaimFinding(
        text="Its password: Qw3rty99 at port 81.", status=ClaimStatus.UNSUPPORTED, missing=("qw3rty99", "81")
    )
    findings = replace(quoting(), grounding=Finding(check="grounding", status=FAILED, claims=(claim,)))
    masked = findings.masked("", lambda text: text.replace("password: Qw3rty99", "[secret]"))
    assert masked.grounding.claims[0].missing == ("81",)


def test_findings_without_a_word_of_the_draft_keep_the_names_of_their_reasons() -> None:
    """Where the draft cannot be masked, nothing quotes it; which checks were not carried out is told all the same."""
    report = report_of(quoting().unquoted())
    assert HIDDEN not in report.model_dump_json()
    assert report.reasons == [
        "could_not_check=[policy]",
        "could_not_check=[evidence]",
        "claim_without_citation",
        "value_not_in_cited_evidence",
    ]
    assert report.claims == []
