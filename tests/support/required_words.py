"""The words that a regular expression cannot match without, read off the expression itself."""

from __future__ import annotations

import importlib
import re
from itertools import product
from typing import Any, Final

LEAST: Final = 3
"""Letters of a word that is worth a search: shorter ones stand in every text."""
MOST: Final = 24
"""Ways to write one piece; of more, the piece is taken for any text."""

# Nothing else reads an expression as Python does; a test that needs it may depend on how Python is made.
_parse: Any = importlib.import_module("re._parser").parse


def required_words(pattern: str) -> frozenset[str]:
    """Return words one of which is in every text that an expression matches; none where it has no such words.

    As the prefilter of RE2 (R. Cox, "Regular Expression Matching with a Trigram Index", 2012), with words for trigrams.
    """
    return _drop_short(_required(_parse(pattern, re.MULTILINE)))


def _required(sequence: Any) -> frozenset[str]:
    """Return the best choice of words among the pieces of a sequence and the texts that stand beside each other."""
    choices: list[frozenset[str]] = []
    run = {""}
    for piece in sequence:
        ways = _ways(piece)
        if ways is not None and len(run) * len(ways) <= MOST:
            run = {before + behind for before, behind in product(run, ways)}
            continue
        choices += (frozenset(run), frozenset(ways or ()), _inside(piece))
        run = {""}
    return max((*choices, frozenset(run)), key=_worth)


def _worth(words: frozenset[str]) -> tuple[int, int]:
    shortest = min(map(len, words), default=0)
    return (min(shortest, 5), -len(words)) if shortest >= LEAST else (0, 0)


def _inside(piece: Any) -> frozenset[str]:
    """Return the words that a piece requires in itself."""
    name, value = str(piece[0]), piece[1]
    if name == "SUBPATTERN":
        return _drop_short(_required(value[3]))
    if name == "ATOMIC_GROUP":
        return _drop_short(_required(value))
    if name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"} and value[0] > 0:
        return _drop_short(_required(value[2]))
    if name == "BRANCH":
        every = [_drop_short(_required(way)) for way in value[1]]
        return frozenset().union(*every) if all(every) else frozenset()
    return frozenset()


def _drop_short(words: frozenset[str]) -> frozenset[str]:
    return words if _worth(words)[0] else frozenset()


def _ways(piece: Any) -> set[str] | None:
    """Return every text that a piece matches, or None where they are too many to tell."""
    name, value = str(piece[0]), piece[1]
    if name == "LITERAL":
        return {chr(value)}
    if name in {"AT", "ASSERT", "ASSERT_NOT"}:
        return {""}
    if name == "IN":
        return {chr(code) for _, code in value} if all(str(kind) == "LITERAL" for kind, _ in value) else None
    if name == "SUBPATTERN":
        return _all_ways(value[3])
    if name == "ATOMIC_GROUP":
        return _all_ways(value)
    if name == "BRANCH":
        every = [_all_ways(way) for way in value[1]]
        return None if any(ways is None for ways in every) else set().union(*(ways or () for ways in every))
    if name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"} and value[:2] == (0, 1):
        ways = _all_ways(value[2])
        return None if ways is None else {"", *ways}
    return None


def _all_ways(sequence: Any) -> set[str] | None:
    found = {""}
    for piece in sequence:
        ways = _ways(piece)
        if ways is None or len(found) * len(ways) > MOST:
            return None
        found = {before + behind for before, behind in product(found, ways)}
    return found
