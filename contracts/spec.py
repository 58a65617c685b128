"""`ArchitectSpec`: what an answer to one request type must look like, from the deployment's profile."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from contracts.values import Language, ResponseFormat


def pattern_fault(text: str) -> str:
    """Return what is wrong with a regular expression of a profile; an empty string where it is fine.

    An unbounded repetition inside another, as in `(a+)+`, can take for ever on a short message, and nothing can
    stop Python's matching from outside.
    """
    try:
        re.compile(text)
    except re.error as error:
        return f"not a regular expression: {error}"
    if _repeats_a_repetition(re._parser.parse(text), inside=False):  # type: ignore[attr-defined]  # noqa: SLF001  # no public way to read one
        return "a repetition without end inside another one, as in (a+)+, may never come to an end"
    return ""


def _repeats_a_repetition(parsed: Iterable[Any], *, inside: bool) -> bool:
    for operator, argument in parsed:
        endless = str(operator) in ("MAX_REPEAT", "MIN_REPEAT") and argument[1] is re._constants.MAXREPEAT  # type: ignore[attr-defined]  # noqa: SLF001  # as above
        if endless and inside:
            return True
        if any(_repeats_a_repetition(part, inside=inside or endless) for part in _parts(argument)):
            return True
    return False


def _parts(argument: Any) -> list[Iterable[Any]]:
    """Return the expressions inside an argument of a parsed one: groups, alternatives, what is repeated."""
    if isinstance(argument, re._parser.SubPattern):  # type: ignore[attr-defined]  # noqa: SLF001  # as above
        return [argument]
    if isinstance(argument, list | tuple):
        inside: list[Any] = list(argument)  # pyright: ignore[reportUnknownArgumentType]
        return [part for inner in inside for part in _parts(inner)]
    return []


class Section(BaseModel):
    """A section that an answer must have, and the headings that count as it.

    Attributes:
        name: The section's name, which reasons quote.
        title: The heading to write, per language.
        aliases: Further headings that count, in any language.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1)
    title: dict[Language, str] = Field(default_factory=dict[Language, str])
    aliases: tuple[str, ...] = ()

    def headings(self) -> tuple[str, ...]:
        """Return every heading that counts as this section."""
        return (self.name, *self.title.values(), *self.aliases)


class ArchitectSpec(BaseModel):
    """The contract of an answer.

    Attributes:
        response_format: Markdown; one JSON object whose keys are the sections; or Markdown with one block of JSON.
        required_sections: Each must be there as a heading, at any level and in any case; in JSON, as a key.
        forbidden_content: Literal phrases, or regular expressions written as `/.../`.
        domain_terms: At least one must be used, in any word form; an empty tuple asks for none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    response_format: ResponseFormat = ResponseFormat.MARKDOWN
    required_sections: tuple[Section, ...] = ()
    forbidden_content: tuple[str, ...] = ()
    domain_terms: tuple[str, ...] = ()

    @field_validator("forbidden_content")
    @classmethod
    def _expressions_end(cls, entries: tuple[str, ...]) -> tuple[str, ...]:
        for entry in entries:
            if (
                len(entry) > 2
                and entry.startswith("/")
                and entry.endswith("/")
                and (fault := pattern_fault(entry[1:-1]))
            ):
                raise ValueError(f"{entry}: {fault}")
        return entries
