"""Shares with their uncertainty, and the tables made of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from contracts.values import Outcome
from evals.cases import TurnCase

_Z = 1.96


@dataclass(frozen=True, slots=True)
class Judged:
    """A case, how its last turn ended, and the page number of the first source it cites, if any."""

    case: TurnCase
    outcome: Outcome
    first_page: int | None
    retries: int

    @property
    def right_outcome(self) -> bool:
        """Whether the turn ended as it should."""
        return self.outcome is self.case.outcome

    @property
    def right_page(self) -> bool:
        """Whether the first source is one of the pages that should be."""
        return self.first_page in self.case.pages


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many, with the 95 % interval of Wilson's score (Wilson 1927)."""

    hits: int
    of: int

    def __str__(self) -> str:
        if not self.of:
            return "–"
        low, high = self.interval()
        return f"{self.hits / self.of:.0%} ({self.hits}/{self.of}; {low:.0%} to {high:.0%})"

    def interval(self) -> tuple[float, float]:
        """Return the interval's ends, 0 to 1."""
        share, n = self.hits / self.of, self.of
        middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
        half = _Z * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2)) / (1 + _Z**2 / n)
        return max(0.0, middle - half), min(1.0, middle + half)


def outcome_table(judged: Sequence[Judged]) -> str:
    """Write, per outcome that was expected, how many turns ended so, and how the others ended."""
    rows = [["expected", "ended so", "ended otherwise"], ["---"] * 3]
    for outcome in Outcome:
        asked = [one for one in judged if one.case.outcome is outcome]
        if not asked:
            continue
        others = [one.outcome for one in asked if not one.right_outcome]
        named = ", ".join(f"{other}: {others.count(other)}" for other in dict.fromkeys(others)) or "–"
        rows.append([str(outcome), str(Share(len(asked) - len(others), len(asked))), named])
    return table(rows)


def page_table(judged: Sequence[Judged]) -> str:
    """Write, per language, how often an answer came, and how often its first source is the right page."""
    rows = [["language", "answered", "right page, of those answered", "right page, of all", "answered after a retry"]]
    rows.append(["---"] * 5)
    for language in dict.fromkeys(one.case.language for one in judged):
        asked = [one for one in judged if one.case.language is language and one.case.pages]
        answered = [one for one in asked if one.outcome is Outcome.ANSWERED]
        right = sum(one.right_page for one in answered)
        retried = sum(one.retries > 0 for one in answered)
        rows.append(
            [
                str(language),
                str(Share(len(answered), len(asked))),
                str(Share(right, len(answered))),
                str(Share(right, len(asked))),
                str(Share(retried, len(answered))),
            ]
        )
    return table(rows)


def table(rows: Sequence[Sequence[str]]) -> str:
    """Write rows as a Markdown table; the second is the line under the head."""
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
