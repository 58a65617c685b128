"""Cases as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable

from evals.cases import DraftCase, DraftLabel

_FIRST, _EVERY = 3, 8
"""The first escaped character of a run breaks the names of keys ("AKIA", "glpat-"), the others what only looks random."""
_SHAPED = (DraftLabel.LEAKED_SECRET, DraftLabel.PERSONAL_DATA)


def as_lines(cases: Iterable[DraftCase]) -> str:
    """Return cases one a line, without what is empty.

    What is shaped like a secret is written with its characters escaped, for the programs that search repositories
    for real ones; read as JSON, it is the same text.
    """
    return "".join(_line(case) + "\n" for case in cases)


def _line(case: DraftCase) -> str:
    # Its id says the language.
    fields = case.model_dump(mode="json", exclude_defaults=True, exclude={"language"})
    if case.label not in _SHAPED:
        return _dump(fields)
    edits = [f'{{"old":{_dump(edit.old)},"new":"{_escape(edit.new)}"}}' for edit in case.edits]
    rest = _dump({name: value for name, value in fields.items() if name != "edits"})
    return f'{rest[:-1]},"edits":[{",".join(edits)}]}}'


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _escape(text: str) -> str:
    """Return the inside of a JSON string in which one of the first three characters of a run of digits or letters is escaped, then each eighth."""
    made: list[str] = []
    run = 0
    for character in text:
        run = run + 1 if character.isascii() and (character.isalnum() or character in "_-@:") else 0
        if run % _EVERY == _FIRST:
            made.append(f"\\u{ord(character):04x}")
        else:
            made.append(json.dumps(character, ensure_ascii=False)[1:-1])
    return "".join(made)
