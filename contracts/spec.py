"""`ArchitectSpec`: the form that a deployment's profile requires of answers to one request type."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from contracts.enums import Language, ResponseFormat

CITED_SOURCES: Final = "cited_sources"
"""The key under which an answer in JSON lists its sources; no draft may have it in its outermost object."""
_SOURCES: Final = "sources"
_WORD = re.compile(r"[^\W_]+")


def pattern_fault(text: str) -> str:
    """Return what is wrong with a regular expression of a profile; an empty string if it is fine.

    An unbounded repetition inside another, as in `(a+)+`, can run forever on a short message. Expressions that are slow
    only on long texts are not found here: each search has its own bound (`language.words.pattern_occurs`).
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


class RequiredSection(BaseModel):
    """A section that an answer must have, with the headings that count for it.

    Attributes:
        name: The section's name; reasons quote it.
        title: The heading to write, per language; in JSON, the key.
        aliases: Further headings that count, in any language.
        for_steps: Whether only a Markdown answer with steps (a numbered list or code) must have it. In other formats
            every answer must have it, because programs read its key.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1)
    title: dict[Language, str] = Field(default_factory=dict[Language, str])
    aliases: tuple[str, ...] = ()
    for_steps: bool = False

    @model_validator(mode="after")
    def _every_heading_has_a_word(self) -> Self:
        for heading in self.headings():
            if not _WORD.search(heading):
                raise ValueError(f"a heading without a letter or digit: {heading!r}")
        return self

    def headings(self) -> tuple[str, ...]:
        """Return every heading that counts for this section."""
        return (self.name, *self.title.values(), *self.aliases)


class ArchitectSpec(BaseModel):
    """The contract of an answer.

    Attributes:
        response_format: Markdown; one JSON object whose keys are the sections; or Markdown with one block of JSON.
        required_sections: A string is the section's name. Each must be a heading, at any level and in any case, with
            content under it; in JSON, a key of the outermost object. No two may share a heading.
        forbidden_content: Literal phrases, found by their words; or regular expressions written as `/.../`.
        domain_terms: The answer must use at least one, in any word form; an empty tuple requires none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    response_format: ResponseFormat = ResponseFormat.MARKDOWN
    required_sections: tuple[RequiredSection, ...] = ()
    forbidden_content: tuple[str, ...] = ()
    domain_terms: tuple[str, ...] = ()

    @field_validator("required_sections", mode="before")
    @classmethod
    def _a_string_names_a_section(cls, sections: object) -> object:
        if isinstance(sections, list | tuple):
            given: list[object] = list(sections)  # pyright: ignore[reportUnknownArgumentType]
            return [{"name": each} if isinstance(each, str) else each for each in given]
        return sections

    @field_validator("forbidden_content")
    @classmethod
    def _can_be_found(cls, entries: tuple[str, ...]) -> tuple[str, ...]:
        for entry in entries:
            if not entry.strip():
                raise ValueError("an empty phrase is in every text")
            if (
                len(entry) > 2
                and entry.startswith("/")
                and entry.endswith("/")
                and (fault := pattern_fault(entry[1:-1]))
            ):
                raise ValueError(f"{entry}: {fault}")
        return entries

    @field_validator("domain_terms")
    @classmethod
    def _are_words(cls, terms: tuple[str, ...]) -> tuple[str, ...]:
        for term in terms:
            if not _WORD.search(term):
                raise ValueError(f"a term without a letter or digit: {term!r}")
        return terms

    @model_validator(mode="after")
    def _sections_can_be_told_apart(self) -> Self:
        taken: dict[str, str] = {}
        if self.response_format is ResponseFormat.JSON:
            taken = dict.fromkeys(map(_comparable, (_SOURCES, CITED_SOURCES)), "")
        for section in self.required_sections:
            for heading in section.headings():
                other = taken.setdefault(_comparable(heading), section.name)
                if not other:
                    raise ValueError(f"section {section.name!r}: in JSON the key {heading!r} is for citations")
                if other != section.name:
                    raise ValueError(f"sections {other!r} and {section.name!r} share the heading {heading!r}")
        if len({section.name for section in self.required_sections}) < len(self.required_sections):
            raise ValueError("two sections have the same name")
        return self


def _comparable(heading: str) -> str:
    return " ".join(_WORD.findall(heading.casefold().replace("ё", "е")))
