"""`guardian calibrate`: finds the relevance estimate from which answers should be stated, by your labelled questions.

The order of the estimates carries over from one knowledge base to another, but their values do not. So every question
is asked without a limit, and the labels judge the stated answers. For each limit, the table says how many questions it
would answer and how many of these answers would be wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assistant.config.profiles import BUNDLED_PROFILES, profile_path
from assistant.deployment import deployment
from contracts.errors import ConfigError, InputError
from evals.answers.grades import STATED, Grade, estimate, grade
from evals.cases import read_cases
from evals.runner import ask_all
from evals.scores import Share, table
from evals.turns import turn_cases

LEAST: Final = 40
"""Labelled questions: with fewer, one answer more or less moves the shares by too much."""
LIMITS: Final = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
ENOUGH: Final = 10
"""Stated answers: a limit that fewer reach says nothing, either way."""
WRONG_OF_STATED: Final = 0.15
WRONG_OF_ALL: Final = 0.05
"""The most of what may be wrong, of the stated answers and of all questions, at the limit that is advised."""
_STATES_ALL: Final = 0.01
_TABLE: Final = "[thresholds]"
_LINE: Final = re.compile(r"^sure_relevance\s*=.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class StatedAnswer:
    """The result of one question without a limit: how sure the answer was, and whether it was wrong."""

    estimate: float
    wrong: bool


@dataclass(frozen=True, slots=True)
class Limit:
    """The effect of one limit.

    Attributes:
        answered: The share of all questions that would get a stated answer.
        wrong: The share of these answers that would be wrong, or from a page that no label names.
    """

    value: float
    answered: Share
    wrong: Share

    @property
    def tells(self) -> bool:
        """Whether enough answers reach the limit."""
        return self.wrong.of >= ENOUGH

    @property
    def fits(self) -> bool:
        """Whether the share of wrong answers is low enough."""
        of_all = self.wrong.hits / self.answered.of if self.answered.of else 0.0
        return self.tells and self.wrong.value <= WRONG_OF_STATED and of_all <= WRONG_OF_ALL


def run(options: argparse.Namespace) -> int:
    """Ask, judge, and print the table and the line for the profile; write that line if asked to.

    Raises:
        InputError: There are too few labelled questions, or the profile to write is a bundled one.
        ConfigError: A file of cases is wrong, or the profile cannot be written.
    """
    deployed = deployment(options.profile)
    path = profile_path(deployed.settings.data.profile)
    if options.write and path.parent == BUNDLED_PROFILES:
        raise InputError(
            f"The profile {path.stem} comes with the program and is not written to.",
            "Copy it, and name the copy with --profile.",
        )
    cases = [case for case in turn_cases(read_cases(*map(Path, options.files))) if case.asks or case.unanswerable]
    if len(cases) < LEAST:
        raise InputError(
            f"{len(cases)} questions have labels of what answers them; fewer than {LEAST} tell too little.",
            "Label more of them: `pages` says which page answers (see the page on evaluation).",
        )
    with tempfile.TemporaryDirectory() as folder:
        asked = asyncio.run(ask_all(cases, deployed, Path(folder), {"sure_relevance": _STATES_ALL}))
    stated: list[StatedAnswer] = []
    for one in asked:
        end = grade(one.case, one.result)
        if end in STATED and (sure := estimate(one.result)) is not None:
            stated.append(StatedAnswer(sure, end in (Grade.WRONG, Grade.UNREAD)))
    limits = limits_of(stated, len(cases))
    now = deployed.profile.thresholds.sure_relevance
    print(_describe(limits, now))
    chosen = advise_limit(limits)
    if chosen is None:
        return 0
    print(f"\nFor the profile:\n\n{_TABLE}\nsure_relevance = {chosen.value:g}")
    if options.write:
        _write(path, chosen.value)
        print(f"written: {path}", file=sys.stderr)
    return 0


def limits_of(stated: Sequence[StatedAnswer], questions: int) -> list[Limit]:
    """Return the effect of each limit, the lowest first."""
    found: list[Limit] = []
    for value in LIMITS:
        over = [one for one in stated if one.estimate >= value]
        found.append(Limit(value, Share(len(over), questions), Share(sum(one.wrong for one in over), len(over))))
    return found


def advise_limit(limits: Sequence[Limit]) -> Limit | None:
    """Return the lowest limit from which all well-tested limits are wrong rarely enough; `None` if there is none.

    A limit is well tested if enough answers reach it.
    """
    chosen: Limit | None = None
    for limit in reversed(limits):
        if limit.fits:
            chosen = limit
        elif limit.tells:
            break
    return chosen


def _describe(limits: Sequence[Limit], now: float) -> str:
    rows = [["sure_relevance", "questions answered", "of these wrong or unread"]]
    rows += [[f"{limit.value:g}", str(limit.answered), str(limit.wrong)] for limit in limits]
    chosen = advise_limit(limits)
    word = (
        f"From {chosen.value:g} on, at most {WRONG_OF_STATED:.0%} of the stated answers and {WRONG_OF_ALL:.0%} of all "
        f"questions are answered wrongly here; now it is {now:g}."
        if chosen
        else f"No limit keeps wrong answers below {WRONG_OF_STATED:.0%} of the stated ones; leave it at {now:g}."
    )
    return f"{table(rows)}\n\n{word}"


def _write(path: Path, value: float) -> None:
    """Put the limit into a profile, and leave all else in it as it is.

    Raises:
        ConfigError: The file cannot be written.
    """
    line = f"sure_relevance = {value:g}"
    text = path.read_text("utf-8")
    if _LINE.search(text):
        text = _LINE.sub(line, text, count=1)
    elif f"\n{_TABLE}\n" in f"\n{text}":
        text = text.replace(f"{_TABLE}\n", f"{_TABLE}\n{line}\n", 1)
    else:
        text = f"{text.rstrip()}\n\n{_TABLE}\n{line}\n"
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}.", "Write the line yourself.") from error
