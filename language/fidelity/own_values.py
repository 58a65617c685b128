"""The user's own values in the commands and settings of a claim: `fuser -n tcp 8080` for "port 8080 is taken".

A source has the form of a command, and the user has what it is for. Code needs no source for a value that the question
has, if everything else in it stands in what is cited, and the words that it begins with stand there together. A
sentence that tells the user to do something may have the value beside the setting: "Put `10.0.0.0/24` into `ignoreip`", "Set `max_retries` to 8".

In any other prose, a value must be the source's, whoever says it: "The port is 8080" would confirm what the user only
supposes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from language.clean import fold
from language.figures.passage import ReadPassage
from language.figures.values import code_parts
from language.figures.values import values as read_values
from language.patterns import read_wording

_WORDING: Final = read_wording(__name__)

_STATES: Final = _WORDING.pattern("states")
_INSTRUCTS: Final = _WORDING.pattern("instructs")
_ATOM: Final = re.compile(r"[^\s\"'`«»“”=:{}()\[\],;|<>]+(?::(?=//)[^\s\"'`«»“”{}()\[\],;|<>]+)?")
_COMMAND: Final = re.compile(r"(?:[^\W\d_][\w-]*(?=\s)(?:\s+(?=[^\W\d_][\w-]*\s))?)*+")
"""The words that a line begins with, before options, settings and values: they stand together in its source."""
_HOST: Final = re.compile(r"://|^(?:[\w-]+\.)+[a-zа-я]{2,}(?:$|[/:])")
"""What a command fetches from there is nobody's to vouch for."""
_SIZED: Final = re.compile(r"(\d+)([kmgtсмч]|[kmgt]i?b|ms|sec|min|hrs?|[smhdw])")
_TO_BE_SET: Final = re.compile(r"^(\s*(?:(?:to|at|with|of|на|до|в|значение|равным)\b|[=:])?\s*)(\d+)(?![\w.,-]*\d)")
"""The number that a setting in code is to get, right behind it."""
_ENDS_CLAUSE: Final = re.compile(r"[;!?—–]|[.,:]\s")
_MOST_ATOMS: Final = 24
_FENCE: Final = re.compile(r"`{3,}|~{3,}")


def without_own_values(claim: str, cited: Sequence[ReadPassage], question: str) -> str:
    """Return a claim without the code that is a source's form filled in with the user's values.

    Args:
        claim: One claim.
        cited: The passages that it cites.
        question: The user's words.
    """
    if not cited:
        return claim
    filled = _FilledIn([fold(passage.text) for passage in cited], _values_of(question))
    parts = list(code_parts(claim))
    instructs = _INSTRUCTS.search(claim) is not None
    for number in range(1, len(parts), 2):
        code = parts[number].strip("` ")
        if fence := _FENCE.match(parts[number]):
            first, *lines = parts[number].split("\n")
            kept = [line for line in lines if not (filled.is_filled_in(line) or filled.is_object(line))]
            # Its language says nothing, and must not count where nothing else is left.
            parts[number] = "\n".join([first if len(kept) > 1 else fence[0], *kept])
        elif _STATES.search(_clause_around(parts, number)):
            continue
        elif filled.is_filled_in(code) or (instructs and filled.is_object(code)):
            parts[number] = " "
        elif instructs and filled.has(fold(code)) and number + 1 < len(parts):
            parts[number + 1] = filled.without_number_to_set(parts[number + 1])
    return "".join(parts)


def _clause_around(parts: Sequence[str], number: int) -> str:
    before = _ENDS_CLAUSE.split(parts[number - 1])[-1]
    after = _ENDS_CLAUSE.split(parts[number + 1])[0] if number + 1 < len(parts) else ""
    return f"{before} {after}"


class _FilledIn:
    """What the passages of a claim and the question have between them.

    Args:
        there: The texts of the passages, folded.
        own: The values of the question, folded.
    """

    def __init__(self, there: Sequence[str], own: frozenset[str]) -> None:
        self._there = there
        self._own = own

    def has(self, words: str) -> bool:
        """Whether a passage has these words, in this order."""
        found = re.compile(rf"(?<![\w-]){re.escape(words)}(?![\w-])")
        return any(found.search(text) for text in self._there)

    def is_filled_in(self, line: str) -> bool:
        """Whether a line of code has a value of the user's, and everything else of it is a source's."""
        said = fold(line).strip()
        atoms = _ATOM.findall(said)
        if not 1 < len(atoms) <= _MOST_ATOMS or not self.has(atoms[0]):
            return False
        named = _COMMAND.match(said)
        return (
            any(map(self._is_own, atoms))
            and all(self._is_own(atom) or self.has(atom) for atom in atoms)
            and named is not None
            and self.has(named[0].strip())
        )

    def is_object(self, code: str) -> bool:
        """Whether code is a path, a network or a name of the user's, and no bare number."""
        said = fold(code).strip(" {};")
        return said in self._own and not said.isdigit()

    def without_number_to_set(self, prose: str) -> str:
        """Return prose without the user's number that it begins with."""
        match = _TO_BE_SET.match(prose)
        return prose[: match.end(1)] + prose[match.end(2) :] if match and match[2] in self._own else prose

    def _is_own(self, atom: str) -> bool:
        sized = _SIZED.fullmatch(atom)
        return atom in self._own or (sized is not None and sized[1] in self._own)


@lru_cache(maxsize=64)
def _values_of(question: str) -> frozenset[str]:
    """Return what is a value in a question, folded: a figure, a path, an identifier; no plain word, and no host."""
    atoms = {atom.rstrip(".?!") for atom in _ATOM.findall(fold(question))}
    parts = {part for atom in atoms for part in re.split(r"[/@]", atom)}
    figures = {form for figure in read_values(question).figures for form in figure.normal}
    return frozenset(one for one in atoms | parts | figures if one and not one.isalpha() and not _HOST.search(one))
