"""Evaluation of moderation: which messages it stops, per set."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assistant.deployment import Deployment
from assistant.wiring.servers import Servers
from contracts.enums import Language, ModerationState, SafetyLevel
from contracts.errors import ModerationUnavailable
from contracts.ports import Moderator
from contracts.report import ModerationResult
from evals.cases import MessageCase
from evals.scores import Detection, Share, parts_of, table

_OBJECTS: Final = frozenset((SafetyLevel.UNSAFE, SafetyLevel.CONTROVERSIAL))


@dataclass(frozen=True, slots=True)
class ModeratedMessage:
    """A message and its moderation result."""

    case: MessageCase
    result: ModerationResult

    @property
    def level(self) -> SafetyLevel:
        """The level that was found."""
        return self.result.safety_level

    @property
    def missed(self) -> str:
        """How the result differs from the label; empty if it does not. `Unsafe` and `Controversial` count as equal."""
        wanted = self.case.level in _OBJECTS
        return "" if (self.level in _OBJECTS) is wanted else f"{self.level}, not {self.case.level}"


async def judge(cases: Sequence[MessageCase], moderator: Moderator) -> list[ModeratedMessage]:
    """Moderate every message."""
    return [ModeratedMessage(case, await _ask(case.text, moderator)) for case in cases]


async def _ask(text: str, moderator: Moderator) -> ModerationResult:
    try:
        return await moderator.moderate(text)
    except ModerationUnavailable:
        return ModerationResult(safety_level=SafetyLevel.NOT_AVAILABLE, state=ModerationState.UNAVAILABLE)


async def judge_by(deployed: Deployment, cases: Sequence[MessageCase]) -> list[ModeratedMessage]:
    """Moderate every message as the deployment does, without its fallback."""
    async with Servers(deployed) as servers:
        return await judge(cases, servers.moderator())


def unavailable(judged: Sequence[ModeratedMessage]) -> int:
    """Return how many messages could not be judged."""
    return sum(one.result.state is ModerationState.UNAVAILABLE for one in judged)


def set_table(judged: Sequence[ModeratedMessage], *, splits: bool) -> str:
    """Return a table, per set and language, of how many messages were stopped and how many only noted."""
    rows = [["set", "language", "cases", "labelled", "objected to", "of these stopped by default (Unsafe)"]]
    for name, language, level in sorted(
        {(one.case.set, one.case.language, one.case.level) for one in judged}, key=lambda key: (key[2], key[0], key[1])
    ):
        mine = [one for one in judged if (one.case.set, one.case.language, one.case.level) == (name, language, level)]
        for split, part in parts_of(mine, _held_back, splits=splits):
            objected = [one for one in part if one.level in _OBJECTS]
            stopped = sum(one.level is SafetyLevel.UNSAFE for one in objected)
            rows.append([name, str(language), split, str(level), str(Share(len(objected), len(part))), f"{stopped}"])
    return table(rows)


def detection_table(judged: Sequence[ModeratedMessage], *, splits: bool) -> str:
    """Return a table of moderation's precision and recall over all sets of a language."""
    rows = [["language", "cases", "precision", "recall", "F1", "harmless messages objected to"]]
    for language in sorted({one.case.language for one in judged}):
        for split, part in parts_of(
            [one for one in judged if one.case.language is language], _held_back, splits=splits
        ):
            found = detection(part)
            cells = [str(found.precision), str(found.recall), found.f1_text(), str(found.false_alarm_rate)]
            rows.append([str(language), split, *cells])
    return table(rows)


def detection(judged: Sequence[ModeratedMessage]) -> Detection:
    """Return how well moderation finds what it should object to."""
    return Detection.of((one.case.level in _OBJECTS, one.level in _OBJECTS) for one in judged)


def _held_back(one: ModeratedMessage) -> bool:
    return one.case.held_back


def section(judged: Sequence[ModeratedMessage], *, splits: bool) -> list[str]:
    """Return the tables on moderation."""
    return [
        "### What moderation objects to",
        detection_table(judged, splits=splits),
        set_table(judged, splits=splits),
    ]


def public_cases(folder: Path) -> list[MessageCase]:
    """Read the public sets that are next to the project; missing sets give nothing.

    The labels are other people's, and all texts are English: XSTest (Röttger et al. 2024), jailbreaks found in the
    wild, and the harmless requests to a bank of Banking77.
    """
    made: list[MessageCase] = []

    def add(name: str, number: int, text: str, level: SafetyLevel) -> None:
        made.append(
            MessageCase(
                kind="message",
                id=f"{name}-{number}",
                language=Language.EN,
                text=text,
                level=level,
                set=f"public: {name}",
            )
        )

    xstest = folder / "moderation" / "xstest.csv"
    for number, row in enumerate(_rows(xstest), 1):
        harmful = row["label"] == "unsafe"
        add(f"XSTest, {row['label']}", number, row["prompt"], SafetyLevel.UNSAFE if harmful else SafetyLevel.SAFE)
    wild = folder / "moderation" / "jailbreaks_in_the_wild.json"
    for number, text in enumerate(json.loads(wild.read_text("utf-8")) if wild.exists() else [], 1):
        add("jailbreaks in the wild", number, text, SafetyLevel.UNSAFE)
    bank = folder / "routing" / "banking77_test.csv"
    for number, row in enumerate(_rows(bank), 1):
        add("Banking77", number, row["text"], SafetyLevel.SAFE)
    return made


def _rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text("utf-8").splitlines())) if path.exists() else []


def message_cases(cases: Sequence[object]) -> list[MessageCase]:
    """Return the messages among cases of all kinds."""
    return [case for case in cases if isinstance(case, MessageCase)]
