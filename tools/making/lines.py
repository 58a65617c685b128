"""Cases as lines of JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final

from evals.cases import DraftCase, DraftLabel

_RUN: Final = re.compile(r"\\u[0-9a-f]{4}|\\.|[A-Za-z0-9_@:-]+")
_LONG: Final = 16
_FIRST, _EVERY = 2, 8
"""The first escaped character of a run breaks the names of keys ("AKIA", "glpat-"), the others what only looks random."""
_SHAPED = (DraftLabel.LEAKED_SECRET, DraftLabel.PERSONAL_DATA)


def as_lines(cases: Iterable[DraftCase]) -> str:
    """Return cases one a line, without what is empty.

    What is shaped like a secret is written with its characters escaped, for the programs that search repositories
    for real ones; read as JSON, it is the same text.
    """
    return "".join(_line(case) + "\n" for case in cases)


def _line(case: DraftCase) -> str:
    # Its id says the language, also of the documents that have only a path.
    fields = case.model_dump(mode="json", exclude_defaults=True, exclude={"language"})
    if evidence := fields.get("evidence"):
        of = f"doc:{case.language}/"
        fields["evidence"] = [ref.removeprefix(of) if isinstance(ref, str) else ref for ref in evidence]
    if case.label not in _SHAPED:
        return _dump(fields)
    edits = [f'{{"old":{_dump(edit.old)},"new":"{_escape(edit.new)}"}}' for edit in case.edits]
    rest = _dump({name: value for name, value in fields.items() if name != "edits"})
    return f'{rest[:-1]},"edits":[{",".join(edits)}]}}'


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _escape(text: str) -> str:
    """Return the inside of a JSON string in which runs of letters and digits that are no plain words have escapes."""
    said = json.dumps(text, ensure_ascii=False)[1:-1]
    return _RUN.sub(lambda run: _break(run.group()), said)


def _break(run: str) -> str:
    """Return a run with one of its first three characters escaped, and then each eighth."""
    if run.startswith("\\") or (run.isalpha() and len(run) < _LONG):
        return run
    return "".join(f"\\u{ord(sign):04x}" if place % _EVERY == _FIRST else sign for place, sign in enumerate(run))
