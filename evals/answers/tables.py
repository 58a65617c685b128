"""Results of questions as tables; wrong stated answers come first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from assistant.review.expectation import cited_items
from contracts.enums import Outcome
from contracts.result import StructuredAgentResult
from evals.answers.grades import STATED, Grade, cause, estimate, grade
from evals.cases import TurnCase
from evals.runner import CaseResult
from evals.scores import Share, table

_BANDS: Final = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_FEW: Final = (
    Grade.UNREAD,
    Grade.PARTLY,
    Grade.NEEDLESS_QUESTION,
    Grade.RIGHT_PAGES,
    Grade.WRONG_PAGES,
    Grade.NOTHING,
    Grade.RIGHT_REFUSAL,
)
HEAD: Final = ("questions", str(Grade.WRONG), str(Grade.CORRECT), *map(str, _FEW))
"""The columns of `grade_cells`."""


@dataclass(frozen=True, slots=True)
class GradedTurn:
    """A question with a label, the assistant's reply, and its grade."""

    case: TurnCase
    result: StructuredAgentResult
    grade: Grade

    @property
    def stated(self) -> bool:
        """Whether the reply was stated as the answer."""
        return self.grade in STATED


Turn = CaseResult | GradedTurn


def select_graded(asked: Iterable[CaseResult]) -> list[GradedTurn]:
    """Return the turns that have a label."""
    found = ((one, grade(one.case, one.result)) for one in asked)
    return [GradedTurn(one.case, one.result, came_to) for one, came_to in found if came_to is not None]


def share(of: Sequence[GradedTurn], *grades: Grade) -> Share:
    """Return the share of questions with some grades."""
    return Share(sum(one.grade in grades for one in of), len(of))


def grade_cells(of: Sequence[GradedTurn]) -> list[str]:
    """Return the table row of some questions, for the header `HEAD`."""
    few = (str(share(of, each).hits) for each in _FEW)
    return [str(len(of)), str(share(of, Grade.WRONG)), str(share(of, Grade.CORRECT)), *few]


def grade_table(of: Sequence[GradedTurn]) -> str:
    """Return a table of grades for each language."""
    there = sorted({one.case.language for one in of})
    rows = [[str(each), *grade_cells([one for one in of if one.case.language is each])] for each in there]
    return table([["language", *HEAD], *rows])


def estimate_table(of: Sequence[GradedTurn]) -> str:
    """Return a table, by sureness, of the wrong share of stated answers: at least, and if all unread ones are wrong."""
    rows = [["estimate", "stated", "wrong", "wrong or unread", "correct or partly"]]
    stated = [(value, one) for one in of if one.stated and (value := estimate(one.result)) is not None]
    for low, high in pairwise(_BANDS):
        mine = [one for value, one in stated if low <= value < high or (high == _BANDS[-1] and value == high)]
        if mine:
            wrong, unread = share(mine, Grade.WRONG), share(mine, Grade.WRONG, Grade.UNREAD)
            right = share(mine, Grade.CORRECT, Grade.PARTLY)
            rows.append([f"{low:g} to {high:g}", str(len(mine)), str(wrong), str(unread), str(right)])
    return table(rows)


def select_unanswered(of: Sequence[Turn]) -> list[Turn]:
    """Return the turns that ended without an answer."""
    return [one for one in of if one.result.outcome is not Outcome.ANSWERED]


def cause_table(of: Sequence[Turn]) -> str:
    """Return a table of why answers were withheld, and how often a label says that the documents have an answer."""
    without = select_unanswered(of)
    causes = [cause(one.result) for one in without]
    rows = [["why there is no answer (row of DT-008: reasons of the Guardian)", "turns", "of which answerable"]]
    for name in sorted(set(causes), key=lambda name: (-causes.count(name), name)):
        mine = [one for one, why in zip(without, causes, strict=True) if why == name]
        rows.append([name, str(len(mine)), str(sum(bool(one.case.asks) for one in mine))])
    return table(rows)


def each_cause(of: Sequence[Turn]) -> str:
    """Return a list of each turn without an answer, with its cause."""
    rows = [[one.case.id, str(one.result.outcome), cause(one.result)] for one in select_unanswered(of)]
    return table([["case", "ended", "why"], *rows])


def to_read(of: Sequence[GradedTurn]) -> list[str]:
    """Return each answer that somebody has to read, with the page that it begins with."""
    unread = [(one, cited_items(one.result)[0]) for one in of if one.grade is Grade.UNREAD]
    return [f"{one.case.id}: {item.document or item.ref}" for one, item in unread]


def points(of: Sequence[GradedTurn], *grades: Grade) -> list[tuple[float, bool]]:
    """Return for each stated answer how sure the assistant was, and whether it has one of the grades."""
    sure = [(estimate(one.result), one) for one in of if one.stated]
    return [(value, one.grade in grades) for value, one in sure if value is not None]
