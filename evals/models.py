"""What language models do: drafts of a small real one that are kept, and turns with the configured model beside turns without."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from assistant.config.settings import Settings
from assistant.deployment import Deployment
from contracts.enums import CallPurpose, Verdict
from contracts.errors import InputError
from evals.answers.grades import Grade, grade
from evals.cases import CASES, DraftLabel, TurnCase
from evals.comparing import count_own_answers
from evals.drafts import JudgedCase
from evals.retrieval.measures import mean
from evals.runner import CaseResult, ask_all, handbook
from evals.scores import Share, table

QUESTIONS: Final = CASES / "handbook.jsonl"
MOST: Final = 40
"""Questions that the configured model is asked, unless told otherwise: a small model takes seconds for each."""
_LABELS: Final = (
    DraftLabel.GOOD,
    DraftLabel.INVENTED,
    DraftLabel.OFF_QUESTION,
    DraftLabel.ECHO,
    DraftLabel.LOOP,
)


def kept_section(judged: Sequence[JudgedCase]) -> list[str]:
    """Return a table of the kept drafts: by how they were written and by label, the share that passes."""
    rows = [["written", "label", "drafts", "passes"]]
    for written in dict.fromkeys(one.case.note for one in judged):
        for label in _LABELS:
            if mine := [one for one in judged if one.case.note == written and one.case.label is label]:
                passed = sum(one.verdict is Verdict.PASS for one in mine)
                rows.append([written, label.replace("_", " "), str(len(mine)), str(Share(passed, len(mine)))])
    return [table(rows)]


def check_model() -> None:
    """Check that the environment names a model, before anything is measured.

    Raises:
        InputError: It names none.
    """
    models = Settings.read().models
    if not (models.planner or models.drafter):
        raise InputError(
            "No model is configured, so none can be asked.",
            "Set GUARDIAN_MODEL and OPENAI_BASE_URL, or leave --model out.",
        )


def ask_beside(cases: Sequence[TurnCase], folder: Path, most: int | None) -> list[str]:
    """Ask the handbook's questions without a model and with the configured one; return the table of both.

    Args:
        cases: Those with labelled pages are asked.
        folder: An empty folder.
        most: At most so many questions, evenly over the file.
    """
    beside = handbook(folder / "data", with_models=True)
    models = beside.settings.models
    chosen = choose_questions(cases, most or MOST)
    sides: dict[str, tuple[Deployment, Path]] = {
        "without a model": (handbook(folder / "data"), folder / "threads"),
        f"{models.drafter or models.planner}": (beside, folder / "threads-with"),
    }
    rows: list[list[str]] = [[*_HEAD]]
    for name, (deployed, threads) in sides.items():
        rows.append([name, *_describe(asyncio.run(ask_all(chosen, deployed, threads)))])
    return [table(rows)]


GRADES: Final = ("questions", "right", "wrong", "a right page shown")
_HEAD: Final = (
    "",
    *GRADES,
    "answered by its own draft, where it drafted",
    "model calls a turn",
    "seconds a turn",
)


def choose_questions(cases: Sequence[TurnCase], most: int) -> list[TurnCase]:
    """Return at most so many of the cases that have labelled pages, evenly over the file."""
    asking = [case for case in cases if case.asks]
    count = min(most, len(asking))
    return [asking[place * len(asking) // count] for place in range(count)]


def count_grades(asked: Sequence[CaseResult]) -> list[str]:
    """Return the columns that any side has: questions, right, wrong, a right page shown."""
    grades = [grade(one.case, one.result) for one in asked]
    return [
        str(len(asked)),
        str(Share(grades.count(Grade.CORRECT), len(asked))),
        str(Share(grades.count(Grade.WRONG) + grades.count(Grade.UNREAD), len(asked))),
        str(Share(grades.count(Grade.RIGHT_PAGES), len(asked))),
    ]


def _describe(asked: Sequence[CaseResult]) -> list[str]:
    drafted = [one for one in asked if any(call.purpose is CallPurpose.DRAFT for call in one.result.diagnostics.calls)]
    own = count_own_answers(asked)
    return [
        *count_grades(asked),
        str(Share(own, len(drafted))) if drafted else "–",
        str(mean([one.result.diagnostics.model_calls for one in asked])),
        f"{sum(one.result.diagnostics.answer_ms or 0.0 for one in asked) / max(1, len(asked)) / 1000:.1f}",
    ]
