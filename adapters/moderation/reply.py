"""Parser of a guard model's reply: Qwen3Guard's lines, or JSON of the same content. Odd output is never Safe.

The lines, each with its key at the beginning, in any case:

    Safety: Unsafe
    Categories: Jailbreak
    Refusal: No
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, cast

from adapters.models.thinking import without_thinking
from contracts.calls import ModelCall
from contracts.enums import HarmCategory, ModerationState, SafetyLevel
from contracts.report import ModerationResult

LONGEST_RAW: Final = 2_000
"""Characters of a reply that are kept; a verdict has some eighty."""

_STRICT: Final = (SafetyLevel.UNSAFE, SafetyLevel.CONTROVERSIAL)
_LEVELS: Final = {level.lower(): level for level in (*_STRICT, SafetyLevel.SAFE)}
_CATEGORIES: Final = {category.lower(): category for category in HarmCategory}
_REFUSALS: Final = {"yes": "Yes", "no": "No"}
_LEVEL_KEYS: Final = ("safety_level", "safety")
_WRAPPERS: Final = ("result", "data", "response", "output")
_DEEPEST: Final = 3


@dataclass(frozen=True, slots=True)
class GuardReply:
    """The content of a guard model's reply.

    Attributes:
        categories: The known ones, once each, in the reply's order; none if the level is Safe.
        refusal: `Yes` or `No`; `None` if the reply does not say.
    """

    level: SafetyLevel
    categories: tuple[HarmCategory, ...] = ()
    refusal: str | None = None


def read_verdict(text: str) -> GuardReply | None:
    """Read a guard model's lines; `None` if they hold no verdict, or one that cannot be trusted.

    The level is read first, so that nothing else in the reply can hide it. Of several levels the strictest counts;
    several levels with none stricter than Safe are not a verdict.
    """
    lines = without_thinking(text).split("\n")
    return _reading(
        _values(lines, "safety:"),
        [name for value in _values(lines, "categories:") for name in value.split(",")],
        _values(lines, "refusal:"),
    )


def read_body(body: str) -> GuardReply | None:
    """Read a moderation server's reply: a JSON object, in wrappers or not, a JSON string of lines, or the lines.

    Return `None` if it holds no verdict, or one that cannot be trusted. A key that occurs twice counts twice.
    """
    try:
        value: object = json.loads(body, object_pairs_hook=_Members)
    except (ValueError, RecursionError):
        return read_verdict(body)
    return _read_value(value, _DEEPEST)


def result_of(
    reading: GuardReply, raw: str, *, model: str, provider: str, calls: tuple[ModelCall, ...]
) -> ModerationResult:
    """Return a parsed reply as the port's result."""
    return ModerationResult(
        safety_level=reading.level,
        state=ModerationState(reading.level.value),
        categories=list(reading.categories),
        refusal=reading.refusal,
        raw_output=storable(raw)[:LONGEST_RAW],
        model=model,
        provider=provider,
        calls=calls,
    )


def storable(text: str) -> str:
    """Return text that every encoder accepts: a lone surrogate becomes U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class _Members(tuple[tuple[str, object], ...]):
    """The members of a JSON object, all of them: a dict would keep the last one of a name."""

    __slots__ = ()

    def named(self, *names: str) -> list[object]:
        return [value for name, value in self if name.lower() in names]


def _values(lines: Iterable[str], key: str) -> list[str]:
    stripped = (line.strip() for line in lines)
    return [line[len(key) :] for line in stripped if line[: len(key)].lower() == key]


def _reading(levels: Sequence[object], categories: Iterable[object], refusals: Iterable[object]) -> GuardReply | None:
    level = _agree_on_level([_LEVELS.get(_word(level)) for level in levels])
    if level is None:
        return None
    known = (_CATEGORIES.get(_word(name)) for name in categories)
    said = (_REFUSALS.get(_word(refusal)) for refusal in refusals)
    return GuardReply(
        level,
        () if level is SafetyLevel.SAFE else tuple(dict.fromkeys(filter(None, known))),
        next(filter(None, said), None),
    )


def _agree_on_level(levels: Sequence[SafetyLevel | None]) -> SafetyLevel | None:
    for strict in _STRICT:
        if strict in levels:
            return strict
    return levels[0] if len(levels) == 1 else None


def _word(value: object) -> str:
    # lower, not casefold: a folded "ſafe" would be Safe.
    return " ".join(value.split()).lower() if isinstance(value, str) else ""


def _read_value(value: object, depth: int) -> GuardReply | None:
    if isinstance(value, str):
        return read_verdict(value)
    if not isinstance(value, _Members) or not depth:
        return None
    levels = value.named(*_LEVEL_KEYS)
    own = _reading(levels, _names(value.named("categories")), value.named("refusal"))
    wrapped = [_read_value(inner, depth - 1) for inner in value.named(*_WRAPPERS)]
    strictest = next((found for level in _STRICT for found in (own, *wrapped) if found and found.level is level), None)
    if strictest or levels:
        return strictest or own
    return wrapped[0] if len(wrapped) == 1 else None


def _names(values: Iterable[object]) -> list[object]:
    names: list[object] = []
    for value in values:
        if isinstance(value, str):
            names += value.split(",")
        elif isinstance(value, list):
            names += cast("list[object]", value)
    return names
