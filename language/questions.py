"""Questions in a text, separated from its statements."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from language.patterns import read_wording
from language.sentences import sentences

_WORDING: Final = read_wording(__name__)

_SPLIT: Final = re.compile(r"[;:—–(]\s*|,\s+|\s+-\s+")
_BEHIND: Final = " *_\"»”)'"
"""What may stand behind a question mark in its sentence."""
_STARTS: Final = _WORDING.pattern("starts")
_RELATIVE: Final = _WORDING.pattern("relative")


def questions_in(text: str) -> list[str]:
    """Return the sentences of a text that end with a question mark, in order."""
    return [one for one in sentences(text) if one.rstrip(_BEHIND).endswith("?")] if "?" in text else []


def question_of(text: str) -> str:
    """Return the interrogative clause of a text: its last question without statements; empty if it has none.

    In "Your account is deleted; will you stay?" it is "will you stay?". A clause counts if it begins like a question.
    Russian also asks by intonation: a sentence of one clause with a question mark is a question. A statement in the
    form of a question does not count: "Did you know that your account is deleted?", "Which is it, your account is
    deleted?".
    """
    asked = questions_in(text)
    if not asked:
        return ""
    last = asked[-1].strip()
    cuts = [0, *(match.end() for match in _SPLIT.finditer(last))]
    start = _start_of_question(last, cuts)
    if start is None:
        by_intonation = len(cuts) == 1 and re.search("[а-яё]", last, re.IGNORECASE)
        return last if by_intonation and not _STATES.search(last) else ""
    clause = last[start:].strip()
    if "(" not in clause:
        clause = clause.rstrip(")")  # it stood in brackets that began before it
    behind = (last[begin:end] for begin, end in zip(cuts, [*cuts[1:], None], strict=True) if begin > start)
    if _STATES.search(clause) or _tells_that(last[:start], clause) or any(map(_is_statement, behind)):
        return ""
    return clause if start == 0 else clause[:1].upper() + clause[1:]


def _tells_that(front: str, clause: str) -> bool:
    """Whether a clause is what somebody is told, and no question: "Вы знаете, что ваш файл удалён?"."""
    return clause[:4].lower() == "что " and bool(_TELLS_THAT.match(front))


def states(gap: str) -> bool:
    """Whether words that should name a gap make a statement instead: "your account is deleted"."""
    return bool(_STATES.search(gap) or _TOLD.match(gap))


def states_beside_asking(question: str) -> bool:
    """Whether a sentence with a question mark also makes a statement: "Your data was sold, was that agreed?".

    A condition or an aim in front of the question ("If you use Windows, ...") makes none.
    """
    said = question.strip()
    cuts = [0, *(match.end() for match in _SPLIT.finditer(said))]
    start = _start_of_question(said, cuts)
    front = said if start is None and len(cuts) > 1 else said[: start or 0]
    if _STATES.search(said[start or 0 :]):
        return True
    return bool(front) and not _LEADS_IN.match(front) and bool(_HAS_SUBJECT.search(front))


def _start_of_question(said: str, cuts: Sequence[int]) -> int | None:
    """Return where the first clause begins that asks; `None` if none does."""
    starts = (at for at in cuts if _STARTS.match(said, at) and not (at and _RELATIVE.match(said, at)))
    return next(starts, None)


_LEADS_IN: Final = _WORDING.pattern("leads_in")
_STATES: Final = _WORDING.pattern("states")
_TELLS_THAT: Final = _WORDING.pattern("tells_that")
_TOLD: Final = _WORDING.pattern("told")
_GOES_ON: Final = _WORDING.pattern("goes_on")
_HAS_SUBJECT: Final = _WORDING.pattern("has_subject")


def _is_statement(part: str) -> bool:
    """Whether a part of a sentence behind its question says something of its own: "..., your account is deleted"."""
    return not (_GOES_ON.match(part) or _STARTS.match(part)) and bool(_HAS_SUBJECT.search(part))
