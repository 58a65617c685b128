"""The faults of `faults.toml`, and the script that plays all of them at once, each under a path of its own."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

Call = Literal["plan", "draft", "moderation"]
Run = Literal["warm", "once", "always", "turn", "closed"]
"""`warm` plays no fault: what is loaded or opened once must not take the time of what is measured."""

CALLS: tuple[Call, ...] = ("plan", "draft", "moderation")
EXPECTED: dict[Call, tuple[Run, ...]] = {
    "plan": ("once", "always"),
    "draft": ("once", "always"),
    "moderation": ("once", "always", "closed"),
}
"""What the outcomes of a call stand for, in their order."""
ALONE: tuple[Run, ...] = ("once", "always")
"""The runs of an adapter alone."""
TURNS: tuple[Run, ...] = ("turn", "closed")
"""The runs that are whole turns; `closed` is for moderation alone."""

TIMEOUT_S = 20.0
"""For all tries of a fault that is answered at once, so that a busy machine makes no other fault of it."""

_DATA = tomllib.loads((Path(__file__).resolve().parents[2] / "wire" / "faults.toml").read_text("utf-8"))


@dataclass(frozen=True, eq=False)
class Fault:
    """One entry of the file.

    Attributes:
        reply: A step's `reply`; `None` where nobody listens.
        becomes: The outcomes by call, as `EXPECTED` orders them.
    """

    id: str
    reply: dict[str, Any] | None
    becomes: Mapping[Call, Sequence[str]]
    when: dict[str, Any] = field(default_factory=dict[str, Any])
    timeout_s: float = TIMEOUT_S

    @property
    def is_slow(self) -> bool:
        return self.timeout_s < TIMEOUT_S

    def prefix(self, call: Call, run: Run) -> str:
        """Return the path under which this fault of a call is played in a run of its own."""
        return f"/{self.id}/{call}/{run}/v1"


@dataclass(frozen=True, eq=False)
class Case:
    """A fault of one call."""

    fault: Fault
    call: Call

    def __str__(self) -> str:
        return f"{self.fault.id} {self.call}"

    def expected(self, run: Run) -> str:
        return self.fault.becomes[self.call][EXPECTED[self.call].index(run)]


def _fault(name: str, entry: Mapping[str, Any]) -> Fault:
    return Fault(
        name,
        None if entry.get("away") else json.loads(entry["reply"], object_hook=_expanded),
        {call: entry[call] for call in CALLS if call in entry},
        entry.get("when", {}),
        entry.get("timeout_s", TIMEOUT_S),
    )


def _expanded(value: dict[str, Any]) -> object:
    match value:
        case {"repeat": str(text), "times": int(times)}:
            return text * times
        case {"number": str(word), "times": int(times)}:
            return [f"{word} {number}" for number in range(1, times + 1)]
        case _:
            return value


OUTCOMES = cast("dict[str, dict[str, str]]", _DATA["outcomes"])
FAULTS = [_fault(name, entry) for name, entry in _DATA["faults"].items()]
CASES = [Case(fault, call) for fault in FAULTS for call in CALLS if call in fault.becomes]
KINDS = list(
    {(case.call, case.fault.is_slow, *case.fault.becomes[case.call]): case for case in reversed(CASES)}.values()
)
"""One case for each of the ways in which a call takes a fault: a turn sees no more of a fault than that."""


def script() -> list[dict[str, Any]]:
    """Return the steps of every case and run; whatever fits none is answered as by a model that behaves."""
    return [
        {
            "when": {
                **case.fault.when,
                "purpose": case.call,
                "path": f"{case.fault.prefix(case.call, run)}/chat/completions",
            },
            "times": 1 if run == "once" else None,
            "reply": case.fault.reply,
        }
        for case in CASES
        for run in (*ALONE, *TURNS)
        if case.fault.reply is not None
    ]
