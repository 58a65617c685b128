"""Labelled questions: one JSON object a line, in `evals/cases/*.jsonl`."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from contracts.errors import ConfigError
from contracts.values import Language, Outcome

CASES = Path(__file__).resolve().parent / "cases"


class Case(BaseModel):
    """One conversation with what its last turn should come to.

    Attributes:
        id: Unique among all cases.
        says: What the user says, a message a turn; only the last turn is judged.
        outcome: How the last turn should end.
        pages: Numbers of the pages of which one should be the first source cited; empty where none is asked for.
        note: Why it is labelled so, where that is not plain.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    language: Language
    says: tuple[str, ...] = Field(min_length=1)
    outcome: Outcome
    pages: tuple[int, ...] = ()
    note: str = ""


def read_cases(path: Path) -> list[Case]:
    """Read one file of cases.

    Raises:
        ConfigError: A line is not a case, or an id stands twice.
    """
    cases: list[Case] = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            cases.append(Case.model_validate(json.loads(line)))
        except (ValueError, ValidationError) as error:
            raise ConfigError(f"{path.name}:{number} is not a case: {error}.", "Correct the line.") from error
    ids = [case.id for case in cases]
    if twice := sorted({name for name in ids if ids.count(name) > 1}):
        raise ConfigError(f"{path.name}: ids that stand twice: {', '.join(twice)}.", "Give each case its own.")
    return cases
