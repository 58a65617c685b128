"""Reasons and remarks of the Guardian: structured data inside, exact strings in reports.

    Reason("insufficient_evidence_count", ("2",))             insufficient_evidence_count(<2)
    Reason("low_evidence_confidence", ("0.55",))              low_evidence_confidence(avg=0.55)
    Reason("missing_required_sections", ("Steps", "Result"))  missing_required_sections=[Steps, Result]
    Reason("abstained")                                       abstained
    broke("contract", "ValueError")                           contract: ValueError

The specification defines the strings (section 3). They are written when a report is made, and only this module reads
them back, for whoever takes a report from a checkpoint or a stored record: what decides takes reasons as data.
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
    """A reason why a draft does not pass, or a remark on it.

    Attributes:
        name: Of the rule.
        values: The details: sections, values, claims, sources, a limit. They may quote a draft that did not pass.
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
    """Return the remark that a check could not run, and why; for operators."""
    return Reason(_BROKE, (check, why))


def could_not_check(*what: str) -> Reason:
    """Return the reason that a check did not run or a source did not answer."""
    return Reason("could_not_check", what)


def write_reasons(reasons: Iterable[Reason]) -> tuple[str, ...]:
    """Return the exact strings of reasons."""
    return tuple(map(str, reasons))


def name_reasons(reasons: Iterable[Reason]) -> tuple[str, ...]:
    """Return the names of reasons, each once, without values: they may quote a draft that did not pass."""
    return tuple(dict.fromkeys(reason.name for reason in reasons))


def read_reason(text: str) -> Reason:
    """Return the reason that a string of a report means; `write_reasons` turns it into the same string.

    A value that contains a comma is read as several. A string that is not a reason becomes a reason with the text as
    its name.
    """
    for form in (_LISTED, _LIMITED):
        if read := form.fullmatch(text):
            values = tuple(read.group(2).split(", ")) if form is _LISTED else (read.group(2),)
            return Reason(read.group(1), values)
    if read := _OF_CHECK.fullmatch(text):
        return broke(read.group(1), read.group(2))
    return Reason(text)


def reason_name(text: str) -> str:
    """Return only the name in a report's string, without the values after it; empty if it has none."""
    found = _NAMED.match(text)
    return found.group() if found else ""


def reason_names(texts: Iterable[str]) -> list[str]:
    """Return the names in a report's strings, each once, without values."""
    return list(dict.fromkeys(filter(None, map(reason_name, texts))))
