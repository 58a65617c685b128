"""The graph's own names in the words of a user: `guard mode`, `GUARD-MODE` and `GUARD_MODE` are one.

If a statement compares a text argument with a property of a labelled node, the argument gets a name from the graph:
`(s:Setting) WHERE s.name = $setting`. So the graph itself is the list of the things that can be asked about.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from contracts.enums import Language
from contracts.lookups import ArgumentType, Lookup
from language.clean import clean, fold
from language.lexicon import vague_stems
from language.words import all_stems, detect, stems

LEAST_LIKENESS: Final = 0.6
"""Below it, what is said beside a name is not one of the lookup's questions."""
CONTAINED: Final = 0.75
"""Likeness of a query that names a node and has every word of one of the lookup's questions, and others."""
LEAST_SHARE: Final = 0.5
"""Below it, a name has too little of what a query says to be what it is about."""
_MOST_OF_A_MESSAGE: Final = 0.75
"""Share of the words of a long name (an error's message) that a query has to have, the node's one name or one quote."""
_LONG: Final = 3
_QUOTED: Final = re.compile(
    r"`([^`\n]{1,300}+)`|«([^»\n]{1,300}+)»|“([^”\n]{1,300}+)”|\"([^\"\n]{1,300}+)\"|„([^“\n]{1,300}+)“"
)
_PARTS: Final = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class NamePlace:
    """The label and property in the graph that hold an argument's names."""

    label: str
    key: str

    @property
    def statement(self) -> str:
        """The statement that returns the names; both parts were read from a statement by the pattern of a name."""
        return f"MATCH (n:{self.label}) RETURN DISTINCT n.{self.key} AS name ORDER BY name"


@dataclass(frozen=True, slots=True)
class NameMatch:
    """A name that a text has, and the text's other words."""

    name: str
    rest: str


def namings(lookup: Lookup) -> dict[str, NamePlace]:
    """Return the places of the names for a lookup's text arguments, except arguments that are compared otherwise."""
    labels = dict[str, str](re.findall(r"\(\s*(\w+)\s*:\s*(\w+)", lookup.statement))
    found: dict[str, NamePlace] = {}
    for argument in lookup.arguments:
        compared = re.search(rf"\b(\w+)\.(\w+)\s*=\s*\${argument.name}\b", lookup.statement)
        if argument.type is ArgumentType.TEXT and compared and compared[1] in labels:
            found[argument.name] = NamePlace(labels[compared[1]], compared[2])
    return found


def named_in(text: str, names: Iterable[str]) -> NameMatch | None:
    """Return the name that a text has; of several the longest, then the one with exactly the same spelling.

    A name of one ordinary word ("evidence") counts only if it is quoted or is the whole text. A long name (an error's
    message) counts by most of its words, because nobody writes it out.
    """
    tidy = clean(text)
    words = _words(tidy)
    quoted = {_words(part) for groups in _QUOTED.findall(tidy) for part in groups if part}
    best: tuple[int, bool, int, str, str] | None = None
    for name in names:
        place = _place(name, words, quoted)
        if place is None:
            continue
        size, covered = place
        rank = (size, name in tidy, -len(name), name, covered)
        best = max(best, rank) if best else rank
    return NameMatch(best[3], best[4]) if best else None


def resolve_name(value: str, names: Sequence[str]) -> str | None:
    """Return the name that a given value means: the same in another spelling, or a name that the value contains."""
    if value in names:
        return value
    folded = _words(value)
    alike = sorted(name for name in names if _words(name) == folded)
    if alike:
        return alike[0]
    found = named_in(f'"{value}"', names) or named_in(value, names)
    return found.name if found else None


@dataclass(frozen=True, slots=True)
class Nearest:
    """The name that shares most with a text, and the share of the text's words that it has, 0 to 1."""

    name: str
    share: float


def nearest(text: str, names: Sequence[str], language: Language | None) -> Nearest | None:
    """Return the name that shares most of its words with a text, such as a fault in a user's own words.

    A stem's weight is `log(1 + (n + 1) / (.5 + names with it))`: rare stems weigh more. A stem that no name has weighs
    as if one name had it. Of equal names the one with the fewest other stems is returned; below `LEAST_SHARE`, none.

    Args:
        text: The query.
        names: Of the graph: headings, or the messages of errors.
        language: Of the names to choose from; `None` for any.
    """
    # "Does not work" says that there is a fault, and not which.
    asked = frozenset(stems(text)) - vague_stems()
    own = {name: frozenset(stems(name)) for name in names if language is None or detect(name) is language}
    weights = {
        word: math.log(1 + (len(own) + 1) / (0.5 + max(1, sum(word in there for there in own.values()))))
        for word in asked
    }
    whole = sum(weights.values())
    best: tuple[float, int, str] | None = None
    for name, there in own.items():
        shared = asked & there
        share = sum(weights[word] for word in shared) / whole if whole else 0.0
        # Of two words, one in common may be any: a name has to share two, or all there is.
        if share < LEAST_SHARE or (len(shared) < 2 and shared != asked):
            continue
        best = max(best, (share, -len(there), name)) if best else (share, -len(there), name)
    return Nearest(best[2], best[0]) if best else None


def likeness(rest: str, lookup: Lookup) -> float:
    """Return how similar the words around a name are to one of the lookup's questions, 0 to 1; 0 below the least.

    This is Dice's coefficient of their stems, as for a lookup without names (`adapters/lookups/lookup_matching.py`). It
    is at least `CONTAINED` if every stem of a question is there: next to a name of the graph, one word says what is
    wanted. So a question with only stop words ("What to do?") matches any words around the name.
    """
    asked = frozenset(stems(rest))
    best = 0.0
    for own in _own(tuple(text for texts in lookup.answers.values() for text in texts)):
        dice = 2 * len(asked & own) / (len(asked) + len(own)) if asked and own else 0.0
        best = max(best, dice, CONTAINED if own <= asked else 0.0)
    return best if best >= LEAST_LIKENESS else 0.0


@lru_cache(maxsize=512)
def _own(texts: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(stems(text)) for text in texts)


def _words(text: str) -> tuple[str, ...]:
    return tuple(_PARTS.findall(fold(text)))


def _place(name: str, words: tuple[str, ...], quoted: set[tuple[str, ...]]) -> tuple[int, str] | None:
    """Return how many words of a name are in a text, and the text's other words; `None` where it is not there."""
    parts = _words(name)
    if not parts:
        return None
    if parts in quoted or parts == words:
        return len(parts), " ".join(_without(words, parts))
    if len(parts) == 1 and name.islower():
        return None
    if any(part == parts for part in _windows(words, len(parts))):
        return len(parts), " ".join(_without(words, parts))
    if len(parts) >= _LONG or " " in name:
        return _by_stems(name, words)
    return None


def _by_stems(name: str, words: tuple[str, ...]) -> tuple[int, str] | None:
    there = frozenset(all_stems(" ".join(words)))
    told = [part for groups in _QUOTED.findall(name) for part in groups if part] or [name]
    for part in told:
        own = frozenset(stems(part))
        shared = own & there
        if len(own) >= 2 and len(shared) >= _MOST_OF_A_MESSAGE * len(own):
            rest = (word for word in words if not shared.intersection(all_stems(word)))
            return len(shared), " ".join(rest)
    return None


def _windows(words: tuple[str, ...], size: int) -> Iterator[tuple[str, ...]]:
    return (words[start : start + size] for start in range(len(words) - size + 1))


def _without(words: tuple[str, ...], parts: tuple[str, ...]) -> tuple[str, ...]:
    start = next((n for n, part in enumerate(_windows(words, len(parts))) if part == parts), None)
    return words if start is None else (*words[:start], *words[start + len(parts) :])


def has_all_values(values: Mapping[str, str], lookup: Lookup) -> bool:
    """Whether there is a value for every argument that has no default."""
    return all(argument.name in values or argument.default is not None for argument in lookup.arguments)
