"""Turns of all callers as a reviewer reads them, and what a reviewer can ask for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, cast

from pydantic import BaseModel, ConfigDict, Field

from adapters.storage.sqlite_file import readable
from assistant.review.faults import ReviewFault
from assistant.turns.feedback import Rating
from contracts.enums import Language, Outcome
from contracts.reasons import reason_names
from guards.outgoing import fit_to_show
from language.clean import clean

MOST_AT_ONCE: Final = 500
"""Turns of one page of a list."""
_LONGEST_TEXT: Final = 200
_MOST_DAYS: Final = 36_500
_PARTS: Final = 10
"""Of a result that a row of turns has."""
_UNITS: Final = {"h": 3600, "d": 86_400, "w": 604_800}
"""Seconds."""


class TurnRecord(BaseModel):
    """One turn in a list, its texts as `fit_to_show` returns them.

    Attributes:
        thread: The conversation's id as it is stored: with the name of the caller's API key and a slash in front.
        caller: The name of the API key; empty if no keys were used.
        when: When the turn began, ISO 8601, UTC.
        language: Of the answer; `None` while there is none.
        profile: Version of the profile; empty for turns of earlier versions.
        outcome: `None` while the turn runs, or if its result cannot be read.
        reasons: The names of the Guardian's reasons; without a draft, the reason why the turn ended.
        rating, comment: The caller's.
        case: The id of the case that was made of it; empty if none was.
        cost, currency: What language models cost it; `None` if that is not known.
    """

    model_config = ConfigDict(frozen=True)

    thread: str
    turn: str
    number: int
    caller: str
    when: str
    language: Language | None = None
    profile: str = ""
    question: str
    answer: str = ""
    outcome: Outcome | None = None
    verdict: str = ""
    reasons: tuple[str, ...] = ()
    rating: Rating | None = None
    comment: str = ""
    handled: bool = False
    note: str = ""
    case: str = ""
    cost: float | None = None
    currency: str = ""


class ReviewQuery(BaseModel):
    """Which turns to list; what is `None` or empty is not asked for.

    Attributes:
        reason: One of the names in `TurnRecord.reasons`.
        since, until: The turn began then or later, and before then.
        profile: The beginning of a profile's version.
        text: Words that are all in the question, the answer, the comment or the note; case does not matter.
        offset: How many of the newest matching turns are left out first.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    outcome: Outcome | None = None
    rating: Rating | None = None
    reason: Annotated[str, Field(max_length=_LONGEST_TEXT)] = ""
    since: datetime | None = None
    until: datetime | None = None
    profile: Annotated[str, Field(max_length=12)] = ""
    text: Annotated[str, Field(max_length=_LONGEST_TEXT)] = ""
    handled: bool | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_AT_ONCE)] = 50
    offset: Annotated[int, Field(ge=0, le=10_000_000)] = 0

    def describe(self) -> str:
        """Return what is asked for in one line, for the record of looks, which outlives conversations: without their words."""
        asked = self.model_dump(mode="json", exclude_defaults=True, exclude={"limit"})
        if self.text:
            asked["text"] = "…"
        return fit_to_show(", ".join(f"{name}={value}" for name, value in asked.items())) or "all"

    def takes(self, record: TurnRecord) -> bool:
        """Whether a turn of the right time is asked for."""
        return (
            self.outcome in (None, record.outcome)
            and self.rating in (None, record.rating)
            and self.handled in (None, record.handled)
            and (not self.reason or self.reason in record.reasons)
            and record.profile.startswith(self.profile)
            and self._has_words(record)
        )

    def _has_words(self, record: TurnRecord) -> bool:
        if not self.text:
            return True
        said = f"{record.question}\n{record.answer}\n{record.comment}\n{record.note}".casefold()
        return all(word in said for word in self.text.casefold().split())


def moment(text: str, now: datetime) -> datetime:
    """Return the time that a person means: a day, a time, or a time ago such as `7d`; UTC if no zone is named.

    Raises:
        ReviewFault: The text is none of these.
    """
    count, unit = text[:-1], text[-1:]
    if unit in _UNITS and count.isascii() and count.isdecimal() and len(count) <= len(str(_MOST_DAYS)):
        seconds = int(count) * _UNITS[unit]
        if seconds <= _MOST_DAYS * _UNITS["d"]:
            return now - timedelta(seconds=seconds)
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ReviewFault("no_time", text=ascii(text[:40])) from None


def stored_time(when: datetime | None) -> str:
    """Return a time as the transcript writes it, so that the two can be compared; empty for none."""
    return when.astimezone(UTC).isoformat(timespec="milliseconds") if when else ""


def caller_of(thread: str) -> str:
    """Return the name of the API key that a conversation is of; empty if there is none in its id."""
    name, slash, _ = thread.partition("/")
    return name if slash else ""


def read_record(row: Sequence[Any]) -> TurnRecord:
    """Return the turn of a row (`assistant.turns.reviews.Reviews.page`); what cannot be read of it is left out."""
    thread, turn, number, question, started, excerpt, rating, comment, handled, note, case = row
    outcome, language, answer, ended, verdict, reasons, profile, cost, currency, _ = _read_excerpt(excerpt)
    named = cast("list[Any]", reasons) if isinstance(reasons, list) else []
    names = reason_names(reason for reason in named if isinstance(reason, str))
    return TurnRecord(
        thread=readable(thread),
        turn=readable(turn),
        number=number if isinstance(number, int) else 0,
        caller=caller_of(readable(thread)),
        when=readable(started),
        language=Language(language) if language in tuple(Language) else None,
        profile=profile if isinstance(profile, str) else "",
        cost=float(cost) if isinstance(cost, float | int) else None,
        currency=currency if isinstance(currency, str) else "",
        question=fit_to_show(readable(question)),
        answer=fit_to_show(answer) if isinstance(answer, str) else "",
        outcome=Outcome(outcome) if outcome in tuple(Outcome) else None,
        verdict=verdict if isinstance(verdict, str) else "",
        reasons=tuple(names) or ((fit_to_show(ended),) if isinstance(ended, str) and ended else ()),
        rating=Rating(rating) if rating in tuple(Rating) else None,
        comment=fit_to_show(readable(comment)) if comment else "",
        handled=handled == 1,
        note=readable(note) if note else "",
        case=readable(case) if case else "",
    )


def names_another_question(row: Sequence[Any]) -> bool:
    """Whether the result of a row is to other words than the row's, so that it may be that of an earlier turn."""
    question, asked = readable(row[3]), _read_excerpt(row[5])[-1]
    return bool(asked) and asked not in (question, clean(question))


def _read_excerpt(text: object) -> list[Any]:
    try:
        found: Any = json.loads(readable(text)) if text else None
    except (ValueError, RecursionError):
        found = None
    parts = cast("list[Any]", found) if isinstance(found, list) else []
    return parts if len(parts) == _PARTS else [None] * _PARTS
