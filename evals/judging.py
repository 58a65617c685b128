"""Evaluation of the Guardian: which faulty drafts it finds, and which good drafts it fails."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Final

from contracts.enums import Verdict
from evals.cases import GUARD_OF, DraftCase, DraftLabel
from evals.scores import Detection, Share, parts_of, table

if TYPE_CHECKING:
    from evals.drafts import JudgedCase

GUARDS: Final = ("policy", "evidence", "contract", "grounding")
FINE: Final = frozenset((DraftLabel.GOOD, DraftLabel.ABSTENTION))
_DOUBTS: Final = frozenset(
    ("negation_differs", "name_not_in_cited_evidence", "claim_not_entailed", "claim_contradicted")
)


def was_stopped(one: JudgedCase) -> bool:
    """Whether the draft was not let through; abstentions are not judged, because they are never answers."""
    return one.verdict is not Verdict.PASS


def of_guard(judged: Sequence[JudgedCase], guard: str) -> Detection:
    """Return how well one guard distinguishes its own faults from drafts without faults.

    Drafts with another guard's fault are left out, because one edit may be two faults.
    """
    mine = [one for one in judged if one.case.label in FINE or GUARD_OF.get(one.case.label) == guard]
    return Detection.of((one.case.label not in FINE, guard in one.objected) for one in mine)


def measure_caught(judged: Sequence[JudgedCase], label: DraftLabel) -> Share:
    """Return the share of drafts with a fault that the fault's own guard objected to."""
    mine = [one for one in judged if one.case.label is label]
    return Share(sum(GUARD_OF[label] in one.objected for one in mine), len(mine))


def measure_noted(judged: Sequence[JudgedCase]) -> Share:
    """Return the share of drafts for which a guard's advice says that a claim may be wrong."""
    return Share(sum(any(remark.partition("=")[0] in _DOUBTS for remark in one.advice) for one in judged), len(judged))


def faithful(judged: Sequence[JudgedCase]) -> str:
    """Return the median faithfulness of the drafts that have one, as text."""
    known = [one.faithfulness for one in judged if one.faithfulness is not None]
    return f"{median(known):.2f}" if known else "–"


def failed_good(judged: Sequence[JudgedCase]) -> Share:
    """Return the share of good answers that were not let through."""
    mine = [one for one in judged if one.case.label is DraftLabel.GOOD]
    return Share(sum(map(was_stopped, mine)), len(mine))


def guard_table(judged: Sequence[JudgedCase], *, splits: bool) -> str:
    """Return a table of precision and recall per guard and part of the cases."""
    rows = [["guard", "drafts", "precision", "recall", "F1", "drafts without a fault objected to"]]
    for guard in GUARDS:
        for split, part in parts_of(judged, _held_back, splits=splits):
            found = of_guard(part, guard)
            if found.caught + found.missed:
                cells = [str(found.precision), str(found.recall), found.f1_text(), str(found.false_alarm_rate)]
                rows.append([guard, split, *cells])
    return table(rows)


def label_table(judged: Sequence[JudgedCase], *, splits: bool) -> str:
    """Return a table, per fault and language, of drafts that their guard objected to and drafts that did not pass."""
    rows = [
        [
            "what is wrong",
            "language",
            "drafts",
            "found by",
            "found",
            "not let through",
            "doubted in advice",
            "faithfulness, median",
        ]
    ]
    for label in DraftLabel:
        for language in sorted({one.case.language for one in judged if one.case.label is label}):
            mine = [one for one in judged if one.case.label is label and one.case.language is language]
            for split, part in parts_of(mine, _held_back, splits=splits):
                out = str(Share(sum(map(was_stopped, part)), len(part)))
                found = str(measure_caught(part, label)) if label in GUARD_OF else "–"
                name = "nothing (good answers)" if label is DraftLabel.GOOD else label.replace("_", " ")
                rows.append(
                    [
                        name,
                        str(language),
                        split,
                        GUARD_OF.get(label, "–"),
                        found,
                        out,
                        str(measure_noted(part)),
                        faithful(part),
                    ]
                )
    return table(rows)


def _held_back(one: JudgedCase) -> bool:
    return one.case.held_back


def section(judged: Sequence[JudgedCase], *, splits: bool) -> list[str]:
    """Return the tables on the Guardian."""
    return [
        "### What the Guardian finds, by guard",
        (
            "Each guard is measured over drafts without a fault, and over drafts with a fault that this guard is there for. An edit may "
            "well be a fault for another guard, too. So what a guard says of the other guards' faults is left out."
        ),
        guard_table(judged, splits=splits),
        "### What the Guardian finds, by fault",
        label_table(judged, splits=splits),
    ]


def describe_miss(one: JudgedCase) -> str:
    """Return a description of a result that differs from the label; empty if none does."""
    if one.case.label is DraftLabel.GOOD:
        return f"failed: {', '.join(one.reasons)}" if was_stopped(one) else ""
    guard = GUARD_OF.get(one.case.label)
    return f"{guard} found nothing" if guard and guard not in one.objected else ""


def draft_cases(cases: Sequence[object]) -> list[DraftCase]:
    """Return the drafts among cases of all kinds."""
    return [case for case in cases if isinstance(case, DraftCase)]
