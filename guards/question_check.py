"""May the assistant ask this? A drafted question must claim nothing and must not invent values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from contracts.enums import CheckStatus, RequiredAction
from contracts.evidence import EvidenceItem
from contracts.reasons import Reason
from contracts.report import Finding
from language.attacks.demands import gap_asks_for_secrets, question_asks_for_secrets
from language.figures.comparison import missing_values
from language.figures.passage import passage
from language.figures.values import values
from language.questions import question_of, states

NAME = "grounding"
_AGAIN: Final = (RequiredAction.REGENERATE_DRAFT,)


def check_question(draft: str, known: Iterable[str]) -> Finding:
    """Judge a drafted question: it needs an interrogative clause that names only values from the turn or the evidence.

    Its finding replaces that of grounding, which judges answers.

    Args:
        draft: The drafted question; the user only sees its interrogative clause.
        known: The user's words and the evidence.
    """
    question = question_of(draft)
    if not question:
        return _fail(Reason("clarification_without_question"))
    if missing := missing_values(values(question), [passage(text) for text in known]):
        return _fail(Reason("value_not_in_cited_evidence", tuple(missing)))
    return Finding(check=NAME, status=CheckStatus.OK)


def fit_question(draft: str, known: Iterable[str]) -> str:
    """Return the interrogative clause of a permitted question; empty if the question is not permitted."""
    question = question_of(draft)
    if not question or question_asks_for_secrets(draft):
        return ""
    return question if check_question(question, known).status is CheckStatus.OK else ""


def fit_gap(gap: str, known: Iterable[str]) -> bool:
    """Whether a question may ask about a gap: the gap wants no secret, states nothing and names only known values."""
    if gap_asks_for_secrets(gap) or states(gap):
        return False
    return not missing_values(values(gap), [passage(text) for text in known])


def said_in_turn(message: str, evidence: Iterable[EvidenceItem]) -> tuple[str, ...]:
    """Return the texts with the values that a question may name: the user's message and the evidence."""
    return (message, *(f"{item.title}\n{item.heading}\n{item.snippet}" for item in evidence))


def _fail(reason: Reason) -> Finding:
    return Finding(check=NAME, status=CheckStatus.FAILED, reasons=(reason,), actions=_AGAIN)
