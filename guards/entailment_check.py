"""Does each claim follow from what it cites? Asked of a checker outside, where one is connected."""

from __future__ import annotations

from collections.abc import Sequence

from contracts.evidence import EvidenceItem
from contracts.ports import EntailmentAnswer, EntailmentQuestion
from contracts.report import Finding
from contracts.values import EntailmentMode


def entailment_questions(grounding: Finding, evidence: Sequence[EvidenceItem]) -> list[EntailmentQuestion]:
    """Return what to ask of the claims that grounding found supported, in their order."""
    return []


def with_entailment(grounding: Finding, answers: Sequence[EntailmentAnswer], mode: EntailmentMode) -> Finding:
    """Return grounding with the checker's word: as advice, or as reasons where it is binding."""
    return grounding


def without_entailment(grounding: Finding, mode: EntailmentMode, why: str) -> Finding:
    """Return grounding where the checker could not be asked: unchecked where it is binding, else with a remark."""
    return grounding
