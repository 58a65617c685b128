"""The rule pack of the embedded moderation provider: reading, checking and compiling.

`rules.toml` explains the format of rules. Each expression has two forms: as written, and a loose one without word
boundaries, for letters that were written apart ("i g n o r e"). Both are compiled when a text first has one of the
rule's words: most texts have none, and a search for plain text takes a hundredth of the time.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from contracts.errors import ConfigError
from language.words import stop_words

_WORDS_BETWEEN = re.compile(r"<<(\d)>>")
_PART = re.compile(r"<<([a-z_]+)>>")
_BEHIND = re.compile(r"\(\?<[!=][^()]*\)")

Filled = Annotated[str, Field(min_length=1)]
Some = Annotated[tuple[Filled, ...], Field(min_length=1)]


class _PackPart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RuleText(_PackPart):
    """One rule as written; the top of `rules.toml` explains each key."""

    id: str = Field(pattern=r"^[a-z0-9-]+$")
    language: Literal["en", "ru", "any"]
    strength: Literal["strong", "weak"]
    any_of: Some
    words: tuple[Filled, ...] = ()
    because: Filled
    examples: Some
    harmless: Some


class MentionText(_PackPart):
    """The patterns, as written, that distinguish a questioned, quoted or reported attack from an attack."""

    question: Some
    report: Some
    told_before: tuple[Filled, ...] = ()
    told_after: tuple[Filled, ...] = ()
    examples: Some


class PackText(_PackPart):
    """A rule pack as written."""

    version: Filled
    parts: dict[str, str] = Field(default_factory=dict)
    mention: MentionText
    rule: Annotated[tuple[RuleText, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _ids_are_unique(self) -> Self:
        ids = [rule.id for rule in self.rule]
        if twice := sorted({name for name in ids if ids.count(name) > 1}):
            raise ValueError(f"used for more than one rule: {', '.join(twice)}")
        return self


@dataclass(frozen=True)
class Rule:
    """One rule.

    Attributes:
        text: The rule as written.
        source: Its expression, with all parts filled in.
        loose_source: The same without word boundaries.
    """

    text: RuleText
    source: str
    loose_source: str

    @property
    def id(self) -> str:
        """The id of the rule."""
        return self.text.id

    @property
    def strong(self) -> bool:
        """Whether this rule is enough to make a message Unsafe."""
        return self.text.strength == "strong"

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The expression that finds the rule in a matching view."""
        return _expression(self.id, self.source)

    @cached_property
    def loose(self) -> re.Pattern[str]:
        """The expression that finds the rule without word boundaries."""
        return _expression(self.id, self.loose_source)

    def check(self) -> None:
        """Compile both forms.

        Raises:
            ConfigError: A form is not a regular expression.
        """
        for source in (self.source, self.loose_source):
            _expression(self.id, source)


@dataclass(frozen=True)
class Pack:
    """A rule pack."""

    version: str
    rules: tuple[Rule, ...]
    question: re.Pattern[str]
    report: re.Pattern[str]
    told_before: re.Pattern[str] | None
    told_after: re.Pattern[str] | None
    mentions: tuple[str, ...]

    def may_match(self, text: str) -> set[str]:
        """Return the ids of rules that may match: each has at least one of its required words in the text."""
        found = {rule.id for rule in self.rules if not rule.text.words}
        # To go through a long text once for each of a thousand words is slow: what it repeats is looked through once, and
        # a word is looked for only where the text has its first three characters.
        said = " ".join(set(text.split()))
        for beginning in self._by_beginning.keys() & {(), *zip(said, said[1:], said[2:], strict=False)}:
            where = said if beginning else text
            for word, ids in self._by_beginning[beginning]:
                if not found.issuperset(ids) and word in where:
                    found.update(ids)
        return found

    def has_word(self, one: str, other: str) -> bool:
        """Whether two lowercase words, joined, begin like a long word of the rules that is longer than the first."""
        word = f"{one}{other}"
        if one in stop_words() or other in self._words:
            return False  # two words of their own: "god mode"
        return any(word[:size] in self._beginnings for size in range(max(_LEAST_LETTERS, len(one) + 1), len(word) + 1))

    @cached_property
    def _by_beginning(self) -> dict[tuple[str, ...], list[tuple[str, list[str]]]]:
        """The words of the rules with the ids of these, by their first three characters; by none, what is shorter or has blanks."""
        ids: dict[str, list[str]] = {}
        for rule in self.rules:
            for word in rule.text.words:
                ids.setdefault(word, []).append(rule.id)
        found: dict[tuple[str, ...], list[tuple[str, list[str]]]] = {}
        for word, of_rules in ids.items():
            is_short = len(word) < _BEGINNING or len(word.split()) > 1 or word != word.strip()
            found.setdefault(() if is_short else tuple(word[:_BEGINNING]), []).append((word, of_rules))
        return found

    @cached_property
    def _beginnings(self) -> frozenset[str]:
        return frozenset(word for word in self._words if len(word) >= _LEAST_LETTERS)

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(word for rule in self.rules for word in _LETTERS.findall(rule.source))


_LEAST_LETTERS = 5
_BEGINNING = 3
_LETTERS = re.compile(r"(?<!\\)[^\W\d_]{4,}")


def read_pack(path: Path | None = None) -> Pack:
    """Read a rule pack; without a path, the shipped one.

    Raises:
        ConfigError: The file cannot be read, is not TOML, or a rule is invalid.
    """
    name = str(path) if path else "the rule pack"
    try:
        raw = path.read_bytes() if path else files("language.attacks").joinpath("rules.toml").read_bytes()
        pack = expand_pack(PackText.model_validate(tomllib.loads(raw.decode("utf-8"))))
    except OSError as error:
        raise ConfigError(f"{name} cannot be read: {error.strerror}.", "Check the path and its permissions.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{name} is not valid TOML: {error}.", "Correct the file at that place.") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the pack"
        raise ConfigError(f"{name} is written wrongly at {where}: {first['msg']}.", "Correct that key.") from error
    if path:
        # The one that ships is tried by its tests, and compiling it would take a good part of a short command's time.
        for rule in pack.rules:
            rule.check()
    return pack


def expand_pack(text: PackText) -> Pack:
    """Fill the parts of a pack into its rules, and compile the patterns of mentions.

    Raises:
        ConfigError: An expression names an unknown part, or an expression for mentions is not a regular expression.
    """
    return Pack(
        version=text.version,
        rules=tuple(
            Rule(rule, _expand(rule.any_of, text.parts), _expand(rule.any_of, text.parts, loose=True))
            for rule in text.rule
        ),
        question=_expression("mention.question", _expand(text.mention.question, text.parts)),
        report=_expression("mention.report", _expand(text.mention.report, text.parts)),
        told_before=_optional("mention.told_before", text.mention.told_before, text.parts),
        told_after=_optional("mention.told_after", text.mention.told_after, text.parts),
        mentions=text.mention.examples,
    )


def _optional(name: str, alternatives: tuple[str, ...], parts: dict[str, str]) -> re.Pattern[str] | None:
    return _expression(name, _expand(alternatives, parts)) if alternatives else None


def _expression(name: str, source: str) -> re.Pattern[str]:
    try:
        return re.compile(source, re.MULTILINE)
    except re.error as error:
        raise ConfigError(f"Rule {name} is not a regular expression: {error}.", "Correct that rule.") from error


def _expand(alternatives: tuple[str, ...], parts: dict[str, str], *, loose: bool = False) -> str:
    source = "|".join(f"(?:{alternative})" for alternative in alternatives)
    # Parts may name parts; three rounds are more than the pack needs and end for a part that names itself.
    for _ in range(3):
        source = _PART.sub(lambda match: _part(match.group(1), parts), source)
    if not loose:
        source = _WORDS_BETWEEN.sub(r"(?:[^\\s.!?;]{1,24} ){0,\1}?", source)
        return source.replace(" ", r"\s")
    # One bounded stretch in place of words: optional spaces inside a repeated group would make it ambiguous.
    source = _WORDS_BETWEEN.sub(lambda match: f".{{0,{9 * int(match.group(1))}}}?", source)
    source = _BEHIND.sub("", source)
    return source.replace(r"\b", "").replace(r"\W{1,", r"\W{0,").replace(" ", r"\s?")


def _part(name: str, parts: dict[str, str]) -> str:
    if name not in parts:
        raise ConfigError(f"The rule pack names <<{name}>>, which is not among its parts.", "Add it under [parts].")
    return parts[name]
