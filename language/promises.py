"""What a claim promises and none of its sources speaks of: money, time, safety, what can be undone. The rows are `promises.toml`.

An invention that is told in the words of the passage is none by its words; what it adds is mostly one of a few things.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

from language.clean import fold
from language.turning_words import LISTS, sentence_of
from language.values import Passage


@dataclass(frozen=True, slots=True)
class _Promise:
    """What a claim has that makes it, and what a passage has that speaks of it."""

    made: re.Pattern[str]
    proved: re.Pattern[str]


def promises_of_nobody(claim: str, cited: Iterable[Passage], asked: str = "") -> list[str]:
    """Return the words by which a claim promises what no passage speaks of, as they stand in it.

    Args:
        claim: One claim, without its citations.
        cited: The passages.
        asked: The question: what it asks for may be denied.
    """
    text = fold(claim)
    if not _ANY.search(text):
        return []
    made = [(promise, match) for promise in PROMISES if (match := promise.made.search(text))]
    known = [there.folded[0] for there in cited]
    if any(word in LISTS.denials for word in sentence_of(claim).words):
        known.append(fold(asked))
    return [match.group().strip() for promise, match in made if not any(map(promise.proved.search, known))]


def _beginnings(words: Iterable[str]) -> re.Pattern[str]:
    """Return what finds one of some beginnings; of a phrase, those of each of its words, but for the shortest."""
    found = (r"\s++".join(map(_beginning, fold(phrase).split())) for phrase in words)
    return re.compile(rf"(?<!\w)(?:{'|'.join(sorted(found, key=len, reverse=True))})")


def _beginning(word: str) -> str:
    return rf"{re.escape(word)}(?!\w)" if len(word) < _LEAST_BEGINNING else rf"{re.escape(word)}\w*+"


_LEAST_BEGINNING: Final = 4
"""Letters from which on a word may go on."""


def _load_promises() -> tuple[_Promise, ...]:
    read: dict[str, Any] = tomllib.loads(files("language").joinpath("promises.toml").read_text("utf-8"))
    return tuple(
        _Promise(_beginnings(row["begins"]), _beginnings((*row["begins"], *row["also"]))) for row in read["promises"]
    )


PROMISES: Final = _load_promises()
"""Read on import, and not in a turn: there no file is waited for."""
_ANY: Final = re.compile("|".join(promise.made.pattern for promise in PROMISES))
"""Most claims make none, and cost one look."""
