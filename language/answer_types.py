"""What a question wants to hear: a manner, a duration, a price, a place; and whether a text says anything of the kind.

Example: "How often do I back up?" wants a frequency; "once a day" is one, and the three steps of a backup are none.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from language.patterns import read_wording

_WORDING: Final = read_wording(__name__)


class AnswerType(StrEnum):
    """The type of answer that a question wants, in the order in which they are tried."""

    FREQUENCY = "frequency"
    DURATION = "duration"
    COST = "cost"
    AMOUNT = "amount"
    TIME = "time"
    PLACE = "place"
    REASON = "reason"
    CONSEQUENCE = "consequence"
    MANNER = "manner"


_ASKS: Final = {
    AnswerType.FREQUENCY: _WORDING.pattern("frequency"),
    AnswerType.DURATION: _WORDING.pattern("duration"),
    AnswerType.COST: _WORDING.pattern("cost"),
    AnswerType.AMOUNT: _WORDING.pattern("amount"),
    AnswerType.TIME: _WORDING.pattern("time"),
    AnswerType.PLACE: _WORDING.pattern("place"),
    AnswerType.REASON: _WORDING.pattern("reason"),
    AnswerType.CONSEQUENCE: _WORDING.pattern("consequence"),
    AnswerType.MANNER: _WORDING.pattern("manner"),
}
_VALUES: Final = {
    AnswerType.FREQUENCY: _WORDING.pattern("frequency_value"),
    AnswerType.DURATION: _WORDING.pattern("duration_value"),
    AnswerType.COST: _WORDING.pattern("cost_value"),
    AnswerType.AMOUNT: _WORDING.pattern("amount_value"),
    AnswerType.TIME: _WORDING.pattern("time_value"),
}
_DENIED: Final = _WORDING.pattern("denied")
_LACKING: Final = _WORDING.pattern("lacking")
_YES_OR_NO: Final = _WORDING.pattern("yes_or_no")


def answer_type(question: str) -> AnswerType | None:
    """Return the type of answer that a question or a heading wants first; `None` if its words do not tell."""
    found = [(match.start(), kind) for kind, asks in _ASKS.items() if (match := asks.search(question))]
    # Of two that begin alike, the more special one stands first in the table: "how" begins "how often".
    return min(found, key=lambda one: one[0])[1] if found else None


def has_value(text: str, kind: AnswerType) -> bool:
    """Whether a text has a value of a type; false for types that are not told by values, such as a manner."""
    return kind in _VALUES and _VALUES[kind].search(text) is not None


def tells_values(kind: AnswerType) -> bool:
    """Whether a text without a value of a type is no answer: "when" may be told by what happens before, too."""
    return kind in _VALUES and kind is not AnswerType.TIME


def wants_yes_or_no(question: str) -> bool:
    """Whether a question wants a yes or a no first: "Can I ...", "Does it ..."."""
    return _YES_OR_NO.search(question) is not None


def denial(text: str) -> str:
    """Return how a question or a heading denies: `not`, `without`, or nothing: "not" comes first if it does both."""
    if _DENIED.search(text):
        return "not"
    return "without" if _LACKING.search(text) else ""
