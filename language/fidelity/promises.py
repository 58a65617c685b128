"""Promises in a claim that its sources do not mention: money, time, safety, undoing. The rows are in `promises.toml`.

Shared words do not show an invention in the words of the passage; but it usually adds one of a few promises.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from language.clean import fold
from language.figures.passage import ReadPassage
from language.patterns import read_wording

_WORDING: Final = read_wording(__name__)


def promises_of_nobody(claim: str, cited: Iterable[ReadPassage], asked: str = "") -> list[str]:
    """Return the words of a claim that promise what no passage mentions, as written.

    Args:
        claim: One claim, without its citations.
        cited: The passages.
        asked: The question; the claim may deny what it asks for.
    """
    text = fold(claim)
    if not _ANY.search(text):
        return []
    known = [there.folded[0] for there in cited]
    found: list[str] = []
    for makes, speaks, against in PROMISES:
        if not (match := makes.search(text)):
            continue
        # What the question asks for may be denied without a source that names it.
        denied = _DENIED.search(text, max(0, match.start() - 60), match.start())
        read = [*known, fold(asked)] if denied else known
        if not any(speaks.search(one) or (denied and against and against.search(one)) for one in read):
            found.append(match.group().strip())
    return found


_DENIED: Final = _WORDING.pattern("denied")


def _beginnings(words: Iterable[str]) -> re.Pattern[str]:
    """Return what finds one of some beginnings; of a phrase, those of each of its words, but for the shortest."""
    found = (r"\s++".join(map(_beginning_pattern, fold(phrase).split())) for phrase in words)
    return re.compile(rf"(?<!\w)(?:{'|'.join(sorted(found, key=len, reverse=True))})")


def _beginning_pattern(word: str) -> str:
    return rf"{re.escape(word)}(?!\w)" if len(word) < _LEAST_BEGINNING else rf"{re.escape(word)}\w*+"


_LEAST_BEGINNING: Final = 4
"""Letters from which on a word may go on."""


def _load_promises() -> tuple[tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str] | None], ...]:
    """Return what makes each promise in a claim, what speaks of it in a passage, and what speaks against it."""
    rows: list[dict[str, Any]] = _WORDING.entries["promises"]
    return tuple(
        (
            _beginnings(row["begins"]),
            _beginnings((*row["begins"], *row["also"])),
            _beginnings(row["against"]) if "against" in row else None,
        )
        for row in rows
    )


PROMISES: Final = _load_promises()
"""Read on import, and not in a turn: there no file is waited for."""
_ANY: Final = re.compile("|".join(makes.pattern for makes, *_ in PROMISES))
"""Most claims make none, and cost one look."""
