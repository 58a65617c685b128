"""Lookups: the queries to a database or a graph that a deployment's profile allows.

No statement is written at run time: a plan names a lookup and gives values for its arguments. The values reach the
engine only as bound parameters.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, Strict, field_validator, model_validator

from contracts.enums import Language, RequestType, Source

LocalText = dict[Language, str]
"""One text per language."""

NAME: Final = r"^[a-z][a-z0-9_]{0,40}$"
MOST_CALLS: Final = 5
"""Lookups that one plan may name."""
_PARAMETER: Final = {
    # As SQLAlchemy reads them: `::` is a cast, `\:` a colon; quotes make no difference.
    Source.DB: re.compile(r"(?<![:\w\\]):(\w+)(?![:\w])"),
    Source.NEO4J: re.compile(r"\$([A-Za-z_]\w*)"),
}
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d|(?:today|week|month|year)(?:[+-]\d{1,4}[dwmy]){0,4}", re.ASCII)
Value = int | float | str
"""What an argument's value is; an engine gets a date as the text `2026-11-22`."""


class ArgumentType(StrEnum):
    """The type of an argument's values.

    A date is written `2026-11-22`, or relative to `today`, `week` (its Monday), `month` or `year` (their first day).
    Steps of days, weeks, months or years may follow: `today-29d`, `week-1w`, `month-1d`.
    """

    INTEGER = "integer"
    NUMBER = "number"
    TEXT = "text"
    DATE = "date"
    CHOICE = "choice"


class LookupArgument(BaseModel):
    """One parameter of a lookup's statement.

    Attributes:
        least, most: The bounds of an integer or a number, both included.
        choices: The values that a choice can have.
        max_length: The length limit of a text, in characters.
        default: The value if none is given, written as in a plan; `None`: it is required.
        cues: Words next to the value in a question ("30 days", "page 7"); a choice needs none. The first date of a
            lookup begins a period, the second ends it, both days included.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=NAME)
    type: ArgumentType
    least: Annotated[float, Strict()] | None = None
    most: Annotated[float, Strict()] | None = None
    choices: tuple[str, ...] = ()
    max_length: Annotated[int, Strict(), Field(ge=1, le=300)] = 100
    default: str | None = None
    cues: dict[Language, tuple[str, ...]] = Field(default_factory=dict[Language, tuple[str, ...]])

    @field_validator("default", mode="before")
    @classmethod
    def _as_it_is_written(cls, value: Any) -> Any:
        # In TOML a number is written without quotes.
        return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value

    @model_validator(mode="after")
    def _says_what_its_type_needs(self) -> Self:
        counted = self.type in (ArgumentType.INTEGER, ArgumentType.NUMBER)
        if not counted and (self.least is not None or self.most is not None):
            raise ValueError("least and most are for an integer or a number")
        if counted and self.least is not None and self.most is not None and self.least > self.most:
            raise ValueError("least is more than most")
        if (self.type is ArgumentType.CHOICE) != bool(self.choices):
            raise ValueError("choices are for a choice, and a choice has at least one")
        if self.default is not None:
            self.read(self.default)
        return self

    def read(self, text: str) -> Value:
        """Return the value that a text means; a date stays as written, because its day depends on today.

        Raises:
            ValueError: The text means no value, or one out of bounds; nothing is corrected silently.
        """
        text = text.strip()
        match self.type:
            case ArgumentType.INTEGER if re.fullmatch(r"[+-]?\d{1,18}", text, re.ASCII):
                return self._in_bounds(int(text))
            case ArgumentType.NUMBER if re.fullmatch(r"[+-]?\d{1,18}(\.\d{1,18})?", text, re.ASCII):
                return self._in_bounds(float(text))
            case ArgumentType.DATE if _DATE.fullmatch(text):
                return text
            case ArgumentType.CHOICE if text in self.choices:
                return text
            case ArgumentType.TEXT if 0 < len(text) <= self.max_length and _storable(text):
                return text
            case _:
                hint = ": write 2026-11-22, today, week-1w or month-1d" if self.type is ArgumentType.DATE else ""
                raise ValueError(f"{self.name}: {text[:40]!r} is not {self.described()}{hint}")

    def _in_bounds(self, value: float) -> int | float:
        if (self.least is not None and value < self.least) or (self.most is not None and value > self.most):
            raise ValueError(f"{self.name}: {value} is not {self.described()}")
        return value

    def described(self) -> str:
        """Return a short description of the argument's values: `an integer from 1 to 366`."""
        match self.type:
            case ArgumentType.INTEGER | ArgumentType.NUMBER:
                article = "an" if self.type is ArgumentType.INTEGER else "a"
                least = "" if self.least is None else f" from {self.least:g}"
                most = "" if self.most is None else f" to {self.most:g}"
                return f"{article} {self.type}{least}{most}"
            case ArgumentType.TEXT:
                return f"a text of at most {self.max_length} characters"
            case ArgumentType.DATE:
                return "a date"
            case ArgumentType.CHOICE:
                return f"one of {', '.join(self.choices)}"


def _storable(text: str) -> bool:
    """Whether every engine takes a text: no lone surrogates, no zero character."""
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


class Lookup(BaseModel):
    """One query that a deployment allows to its database or graph.

    Attributes:
        name: The name that a plan uses.
        source: `db` or `neo4j`.
        title: The title that a citation shows.
        answers: Questions that it answers, in users' words.
        statement: One read-only statement: SQL with `:name`, or Cypher with `$name`, for the values of its arguments.
        row: The template that turns a row into a sentence: `{column}`, or `{argument}` if no column has that name.
        none: The sentence if there is no row; it may name arguments.
        request_types: For these request types it runs even if neither the plan nor the question chooses a lookup of its
            source. An example is TROUBLESHOOTING, which requires evidence from both.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=NAME)
    source: Source
    title: LocalText
    answers: dict[Language, Annotated[tuple[str, ...], Field(min_length=1)]]
    arguments: tuple[LookupArgument, ...] = ()
    statement: str = Field(min_length=1)
    row: LocalText
    none: LocalText
    request_types: frozenset[RequestType] = frozenset()

    @field_validator("source")
    @classmethod
    def _can_be_looked_up(cls, source: Source) -> Source:
        if source not in (Source.DB, Source.NEO4J):
            raise ValueError("a lookup's source is `db` or `neo4j`")
        return source

    @field_validator("arguments")
    @classmethod
    def _argument_names_differ(cls, arguments: tuple[LookupArgument, ...]) -> tuple[LookupArgument, ...]:
        check_different("argument", (argument.name for argument in arguments))
        return arguments

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        given = {argument.name for argument in self.arguments}
        used = self.parameters()
        if missing := sorted(used - given):
            raise ValueError(f"the statement uses {', '.join(missing)}, which is no argument")
        if idle := sorted(given - used):
            raise ValueError(f"the statement does not use the argument {', '.join(idle)}")
        for text in self.row.values():
            fields_of(text)
        for text in self.none.values():
            if unknown := sorted(fields_of(text) - given):
                raise ValueError(f"none: {', '.join(unknown)} is no argument")
        return self

    def parameters(self) -> frozenset[str]:
        """Return the names of the statement's parameters."""
        return frozenset(_PARAMETER[self.source].findall(self.statement))

    def languages(self) -> frozenset[Language]:
        """Return the languages that all of its texts have."""
        texts = (self.title, self.answers, self.row, self.none)
        return frozenset(Language).intersection(*texts)


def fields_of(template: str) -> frozenset[str]:
    """Return the names in a template.

    Raises:
        ValueError: The template is invalid, or its braces hold more than a plain name.
    """
    names: set[str] = set()
    for _, name, spec, conversion in string.Formatter().parse(template):
        if name is None:
            continue
        if not re.fullmatch(NAME, name) or spec or conversion:
            raise ValueError(f"{template!r}: in braces stands the plain name of a column or an argument, nothing else")
        names.add(name)
    return frozenset(names)


def check_different(what: str, names: Iterable[str]) -> None:
    """Refuse duplicate names.

    Raises:
        ValueError: A name occurs twice.
    """
    if twice := sorted(name for name, count in Counter(names).items() if count > 1):
        raise ValueError(f"the {what} {', '.join(twice)} is there twice")


class LookupValue(BaseModel):
    """A value for one argument, written as text whatever its type."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str = Field(max_length=41)
    value: str = Field(max_length=300)


class LookupCall(BaseModel):
    """One lookup with values: what a plan asks a database or a graph for."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str = Field(max_length=41)
    arguments: tuple[LookupValue, ...] = Field(default=(), max_length=10)
