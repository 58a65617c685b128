"""The choices that a clarification question offers to the user, as data."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from contracts.enums import Source

MOST_HEADINGS: Final = 3
LONGEST_LABEL: Final = 160
"""Characters; a longer heading is offered nowhere."""


class ChoiceKind(StrEnum):
    """The target of a choice: a section of a document, a lookup, or a person."""

    HEADING = "heading"
    LOOKUP = "lookup"
    PERSON = "person"


class Choice(BaseModel):
    """One choice that a clarification question offers.

    Attributes:
        label: What the user reads and may write back: the page's title and the heading, as in the document.
        asks: The question that replaces the user's if this is chosen; empty for a person.
        title, heading, url, ref: The page and the section, if the choice is a section; else empty.
        source: The kind of source that holds the page.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: ChoiceKind
    label: str = Field(min_length=1, max_length=LONGEST_LABEL)
    asks: str = Field(default="", max_length=300)
    title: str = ""
    heading: str = ""
    url: str = ""
    ref: str = ""
    source: Source | None = None


NO_CHOICE: Final = "none"
"""In the place of a kind: a number was written that none of the choices has."""

_LIST: Final = TypeAdapter(list[Choice])


def choices_of(data: Any) -> list[Choice]:
    """Return choices from plain JSON; an empty list if they are unreadable, for example from another version."""
    try:
        return _LIST.validate_python(data or [])[: MOST_HEADINGS + 1]
    except ValidationError:
        return []
