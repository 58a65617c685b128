"""The small form of a plan, for models that cannot fill in `SGRPlanResult`: few fields, and words instead of scores.

What the form does not ask for is the offline plan's. A word becomes a figure before the plan is validated; any other
word, or a figure, is asked for again. So are queries that have lost what the offline plan searches for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from adapters.planning.form import FilledPlan, InvalidPlan, fill, find_arguments
from contracts.enums import SGRAction, Source
from contracts.lookups import Lookup, LookupCall
from contracts.plan import SGRPlanResult
from language.clean import clean
from language.words import stems

MOST_QUERIES: Final = 3
NO_LOOKUP: Final = "none"


class RequestReading(StrEnum):
    """How a request reads, in place of `spam_score` and `intent_confidence`."""

    CLEAR = "clear"
    UNCLEAR = "unclear"
    SPAM = "spam"


SPAM_SCORE: Final = 0.95
"""`spam_score` of "spam": within "0.9-1.0: obvious advertising, gibberish or spam"."""
UNCLEAR_CONFIDENCE: Final = 0.3
"""`intent_confidence` of "unclear": within "up to 0.4: very unclear"."""
LEAST_KEPT: Final = 0.5
"""The share of the words of the offline plan's queries that the queries of a small form keep."""
_LOST: Final = "subqueries: they leave out what the message asks for; use its words"


def _in_small_letters(value: Any) -> Any:
    return value.strip().casefold() if isinstance(value, str) else value


def _first_queries(value: Any) -> Any:
    return value[:MOST_QUERIES] if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType]


class SmallPlan(BaseModel):
    """Say what the newest message asks for."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    user_intent: str = Field(min_length=1, max_length=300, description="What the user wants, in one sentence.")
    subqueries: Annotated[list[str], BeforeValidator(_first_queries)] = Field(
        min_length=1, max_length=MOST_QUERIES, description="1 to 3 searches for the answer in the documents."
    )
    request: Annotated[RequestReading, BeforeValidator(_in_small_letters)] = Field(
        description=(
            "clear: it names what it is about. unclear: it names no object, as in 'it does not work'. "
            "spam: advertising or gibberish."
        )
    )


def offered_lookups(lookups: Iterable[Lookup], sources: Collection[Source] | None) -> list[Lookup]:
    """Return the lookups that a small form offers: those that the role may use, and that need no values."""
    return [
        lookup
        for lookup in lookups
        if (sources is None or lookup.source in sources)
        and lookup.name != NO_LOOKUP
        and all(argument.default is not None for argument in lookup.arguments)
    ]


def small_form(offered: Sequence[Lookup]) -> type[SmallPlan]:
    """Return the form; its fourth field names one of the lookups offered, if there are any."""
    if not offered:
        return SmallPlan
    names = (NO_LOOKUP, *(lookup.name for lookup in offered))
    choices = StrEnum("LookupName", [(name.upper(), name) for name in names])
    field: Any = (choices, Field(description="The lookup that the request asks for, or none."))
    return create_model("SmallPlan", __base__=SmallPlan, lookup=field)


def read_small(text: str, offered: Sequence[Lookup], offline: SGRPlanResult) -> FilledPlan | InvalidPlan | None:
    """Return the offline plan with what a reply's small form says; `None` if the reply holds no form."""
    form = small_form(offered)
    invalid: InvalidPlan | None = None
    for arguments in find_arguments(text):
        filled = fill(form, arguments)
        if not isinstance(filled, InvalidPlan):
            small, repaired = filled
            if _keeps_request(small.subqueries, offline.subqueries):
                return FilledPlan(complete(small, offline), clean(arguments), repaired)
            filled = InvalidPlan(clean(arguments), (_LOST,))
        invalid = invalid or filled
    return invalid


def _keeps_request(queries: Sequence[str], offline: Sequence[str]) -> bool:
    """Whether each query has something of what the offline plan searches for, and all together half of its words."""
    wanted = set(stems("\n".join(offline)))
    found = [wanted & set(stems(query)) for query in queries]
    return bool(wanted) and all(found) and len(set[str]().union(*found)) >= LEAST_KEPT * len(wanted)


def complete(small: SmallPlan, offline: SGRPlanResult) -> SGRPlanResult:
    """Return the offline plan with what a small form says; a small model may judge badly, so it can only add doubt."""
    changed: dict[str, Any] = {"subqueries": small.subqueries}
    if _keeps_request([small.user_intent], offline.subqueries):
        changed["user_intent"] = small.user_intent
    match small.request:
        case RequestReading.UNCLEAR if offline.intent_confidence > UNCLEAR_CONFIDENCE:
            changed |= {"intent_confidence": UNCLEAR_CONFIDENCE, "action": _unless_refused(offline, SGRAction.CLARIFY)}
        case RequestReading.SPAM:
            changed |= {
                "spam_score": max(SPAM_SCORE, offline.spam_score),
                "action": _unless_refused(offline, SGRAction.BLOCK),
            }
        case _:
            pass
    # The offline planner names no lookups: the sources choose theirs.
    if (name := getattr(small, "lookup", NO_LOOKUP)) != NO_LOOKUP:
        changed["lookups"] = [LookupCall(name=str(name))]
    return SGRPlanResult.model_validate({**offline.model_dump(), **changed})


def _unless_refused(offline: SGRPlanResult, action: SGRAction) -> SGRAction:
    return SGRAction.GUARDIAN_BLOCK if offline.action is SGRAction.GUARDIAN_BLOCK else action
