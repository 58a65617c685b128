"""Reasons and remarks of the Guardian: data inside, exact strings at the border.

    Reason("insufficient_evidence_count", ("2",))             insufficient_evidence_count(<2)
    Reason("low_evidence_confidence", ("0.55",))              low_evidence_confidence(avg=0.55)
    Reason("missing_required_sections", ("Steps", "Result"))  missing_required_sections=[Steps, Result]
    Reason("abstained")                                       abstained
    broke("contract", "ValueError")                           contract: ValueError

The strings are the specification's (section 3). They are written where a report is made, and read back here alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_BROKE: Final = "broke"
_FORMS: Final = {
    "insufficient_evidence_count": "{name}(<{value})",
    "low_source_diversity": "{name}(<{value})",
    "low_evidence_confidence": "{name}(avg={value})",
    "evidence_confidence_below_advised": "{name}(avg={value})",
}
"""How a reason with one value is written, where it is no list."""
_LISTED: Final = re.compile(r"([a-z0-9_]+)=\[(.*)\]", re.DOTALL)
_LIMITED: Final = re.compile(r"([a-z0-9_]+)\((?:<|avg=)(.*)\)", re.DOTALL)
_OF_CHECK: Final = re.compile(r"([a-z_]+): (.*)", re.DOTALL)
_NAMED: Final = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a draft is not passed, or what is to be remarked of it.

    Attributes:
        name: The rule's own.
        values: What it is about: sections, values, claims, sources, a limit. They may quote a draft that did not pass.
    """

    name: str
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.name == _BROKE:
            return ": ".join(self.values)
        if self.name in _FORMS and len(self.values) == 1:
            return _FORMS[self.name].format(name=self.name, value=self.values[0])
        return f"{self.name}=[{', '.join(self.values)}]" if self.values else self.name


def broke(check: str, why: str) -> Reason:
    """Return the remark that a check could not be carried out, and why; for those who run the assistant."""
    return Reason(_BROKE, (check, why))


def could_not_check(*what: str) -> Reason:
    """Return the reason that something was not judged: a check, or a source that could not be asked."""
    return Reason("could_not_check", what)


def write_reasons(reasons: Iterable[Reason]) -> tuple[str, ...]:
    """Return the exact strings of reasons."""
    return tuple(map(str, reasons))


def read_reason(text: str) -> Reason:
    """Return the reason that a string of a report stands for; `write_reasons` makes the same string of it again.

    A value that has a comma itself is read as several. What is no reason at all comes back with its text as the name.
    """
    for form in (_LISTED, _LIMITED):
        if read := form.fullmatch(text):
            values = tuple(read.group(2).split(", ")) if form is _LISTED else (read.group(2),)
            return Reason(read.group(1), values)
    if read := _OF_CHECK.fullmatch(text):
        return broke(read.group(1), read.group(2))
    return Reason(text)


def reason_name(text: str) -> str:
    """Return the name alone of what a report says, whatever stands behind it; empty where it has none."""
    found = _NAMED.match(text)
    return found.group() if found else ""


def reason_names(texts: Iterable[str]) -> list[str]:
    """Return the names of reasons, each once: what stands behind a name may quote a draft that did not pass."""
    return list(dict.fromkeys(filter(None, map(reason_name, texts))))
