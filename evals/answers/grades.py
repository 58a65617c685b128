"""Grades of questions: the result of a turn compared with the pages and sentences that answer the question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from assistant.review.expectation import body, cited_items, is_page, shows_page, wording_faults, words
from contracts.enums import Outcome, PartStatus
from contracts.evidence import EvidenceItem
from contracts.reasons import reason_names
from contracts.result import StructuredAgentResult
from evals.cases import AcceptableAnswer, TurnCase
from language.words import tokens

_STATED: Final = 0.8
"""Share of a sentence's words that stand together in an answer that states it: links lose their targets, steps their numbers."""
_SLACK: Final = 1.25
"""How much longer the place may be than the sentence."""


class Grade(StrEnum):
    """The grade of one question's result."""

    WRONG = "wrong and stated"
    UNREAD = "unread"
    CORRECT = "correct"
    PARTLY = "partly"
    NEEDLESS_QUESTION = "needless question"
    RIGHT_PAGES = "pages shown, a right one"
    WRONG_PAGES = "pages shown, none right"
    NOTHING = "no answer"
    RIGHT_REFUSAL = "right refusal"


STATED: Final = (Grade.WRONG, Grade.UNREAD, Grade.CORRECT, Grade.PARTLY)
"""The grades of what was stated as the answer."""


def grade(case: TurnCase, result: StructuredAgentResult) -> Grade | None:
    """Return the grade of a result; `None` if no label says what is expected.

    An answer is correct if it answers every part of the question: it states all sentences of one acceptable answer, or
    cites first a page that is labelled without sentences. An answer that states some of that is partly correct. Other
    answers that begin with a page that no label names are unread: somebody has to read them. All other stated answers
    are wrong, and so is any answer to a question that the documents do not answer, and any that does not say what it
    must, or says what it must not.
    """
    answered = result.outcome is Outcome.ANSWERED
    if answered and wording_faults(result, case.must_say, case.must_not_say):
        return Grade.WRONG
    if not case.asks and not case.unanswerable and not case.must_say:
        return None
    return _of_answer(case, result) if answered else _of_no_answer(case, result)


def _of_no_answer(case: TurnCase, result: StructuredAgentResult) -> Grade:
    if case.unanswerable:
        return Grade.RIGHT_REFUSAL
    if result.outcome is Outcome.CLARIFICATION:
        return Grade.NEEDLESS_QUESTION
    if result.outcome is Outcome.PAGES_SHOWN:
        right = [answer.page for part in case.asks for answer in part]
        return Grade.RIGHT_PAGES if shows_page(result, right) else Grade.WRONG_PAGES
    return Grade.NOTHING


def _of_answer(case: TurnCase, result: StructuredAgentResult) -> Grade:
    cited = cited_items(result)
    if case.must_say and not case.asks and not case.unanswerable:
        return Grade.CORRECT
    if not case.asks or not cited:
        return Grade.WRONG
    said = tokens(body(result))
    found = [max(_measure_answer(answer, cited, said) for answer in part) for part in case.asks]
    if min(found) == 1:
        return Grade.CORRECT
    if max(found) > 0 or any(is_page(cited[0], page) for page in case.helps):
        return Grade.PARTLY
    labelled = (*(answer.page for part in case.asks for answer in part), *case.wrong_pages)
    return Grade.WRONG if case.only or any(is_page(cited[0], page) for page in labelled) else Grade.UNREAD


def _measure_answer(answer: AcceptableAnswer, cited: Sequence[EvidenceItem], said: Sequence[str]) -> float:
    """Return how much of one acceptable answer is given, 0 to 1."""
    if not any(is_page(item, answer.page) for item in cited):
        return 0.0
    if answer.sentences:
        return sum(_states(said, sentence) for sentence in answer.sentences) / len(answer.sentences)
    return 1.0 if is_page(cited[0], answer.page) else 0.5


def _states(said: Sequence[str], sentence: str) -> bool:
    """Whether most of a sentence's words stand together somewhere in an answer, in whatever order."""
    wanted = Counter(words(sentence))
    size = wanted.total()
    span = max(1, round(size * _SLACK))
    window = Counter(said[:span])
    for start in range(max(1, len(said) - span + 1)):
        if start:
            window[said[start - 1]] -= 1
            window[said[start + span - 1]] += 1
        if (wanted & window).total() >= _STATED * size:
            return True
    return False


def estimate(result: StructuredAgentResult) -> float | None:
    """Return how sure the assistant was of a stated answer, 0 to 1; `None` if it cites nothing.

    This is the lowest estimate of relevance of the answered parts; without an estimate, the mean confidence of the
    cited items.
    """
    parts = result.guardian.parts if result.guardian else []
    if answered := [part.estimate for part in parts if part.status is PartStatus.ANSWERED]:
        return min(answered)
    cited = cited_items(result)
    return sum(item.confidence for item in cited) / len(cited) if cited else None


def cause(result: StructuredAgentResult) -> str:
    """Return why a turn has no answer: the row of DT-008 that ended it, and the Guardian's objections to the draft."""
    rows = [made.row for made in result.decisions if made.table == "DT-008"]
    reasons = reason_names(result.guardian.reasons) if result.guardian else ()
    ended = rows[-1] if rows else result.block_reason or str(result.outcome)
    return ": ".join(filter(None, (ended, ", ".join(dict.fromkeys(reasons)))))
