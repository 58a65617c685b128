"""Drafts with a known label, judged by the product's own node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from langgraph.runtime import Runtime

from contracts.context import Context
from contracts.decisions import TRACK
from contracts.enums import EvidenceCounted, PolicyStatus, Source, Verdict
from contracts.errors import ConfigError
from contracts.evidence import EvidenceItem
from contracts.profile import Profile
from contracts.report import GuardianReport
from contracts.views import GuardianView
from evals.cases import DraftCase
from nodes.guardian_verify import guardian_verify

CONNECTED: Final = frozenset({Source.DOC, Source.POLICY})
_OBJECTIONS: Final = ("failed", str(PolicyStatus.VIOLATED))


@dataclass(frozen=True, slots=True)
class JudgedCase:
    """A case, its verdict, each guard's findings, all reasons, and how faithful the draft is, 0 to 1."""

    case: DraftCase
    verdict: Verdict
    checks: Mapping[str, str]
    reasons: tuple[str, ...]
    advice: tuple[str, ...]
    faithfulness: float | None = None

    @property
    def objected(self) -> frozenset[str]:
        """The guards that objected; a guard that could not check did not object."""
        return frozenset(name for name, status in self.checks.items() if status in _OBJECTIONS)

    @property
    def unchecked(self) -> frozenset[str]:
        """The guards that could not check."""
        return frozenset(name for name, status in self.checks.items() if status == "unchecked")


async def judge(
    cases: Sequence[DraftCase],
    passages: Mapping[str, EvidenceItem],
    profile: Profile,
    context: Context | None = None,
) -> list[JudgedCase]:
    """Judge drafts as the last attempt but one of a turn: a retry is left, and no wider search was made.

    Args:
        cases: The cases, with their texts (`evals.cases.complete_drafts`).
        passages: The passages that cases name, by ref.
        profile: The profile with the contracts and the policy.
        context: The run settings; from the profile (`assistant.config.run_settings`) if it changes the
            defaults.

    Raises:
        ConfigError: A case names a passage that does not exist.
    """
    runtime = Runtime(context=context or Context(evidence_counted=EvidenceCounted.SENT))
    return [await _judge(case, passages, profile, runtime) for case in cases]


async def _judge(
    case: DraftCase, passages: Mapping[str, EvidenceItem], profile: Profile, runtime: Runtime[Context]
) -> JudgedCase:
    state = _state(case, passages, profile, runtime.context)
    update = await guardian_verify(state, runtime, connected=CONNECTED, profile=profile)
    report = GuardianReport.model_validate(update["guardian"])
    return JudgedCase(
        case, report.verdict, report.checks, tuple(report.reasons), tuple(report.advice), report.faithfulness
    )


def _state(case: DraftCase, passages: Mapping[str, EvidenceItem], profile: Profile, context: Context) -> GuardianView:
    if unknown := [one for one in case.evidence if isinstance(one, str) and one not in passages]:
        raise ConfigError(
            f"{case.id}: there is no passage {unknown[0]!r}.", "Write the passage itself into `evidence`."
        )
    evidence = [passages[one] if isinstance(one, str) else one for one in case.evidence]
    track = TRACK.decide(request_type=case.request_type, knowledge_track=context.knowledge_track).outcome
    return GuardianView(
        question={"id": case.id, "text": case.question, "language": str(case.language)},
        sgr_plan={},
        request_type=str(case.request_type),
        track=str(track),
        architect_spec=profile.spec_for(case.request_type).model_dump(mode="json"),
        request_policy={},
        decisions=[],
        evidence=[item.model_dump(mode="json") for item in evidence],
        query_traces=[],
        widened=False,
        nothing_new=False,
        draft_answer=case.draft,
        draft_kind=str(case.draft_kind),
        quoting=False,
        quoted=False,
        kept={},
        retry_count=0,
        degraded=[],
        model_calls=[],
    )
