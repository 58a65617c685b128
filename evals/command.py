"""`guardian eval`: asks the assistant labelled cases and counts the results; `make eval` runs all and writes the page.

Without a file, the bundled handbook answers the bundled cases, with a model only if values of a setting are compared. Your
own files go to the current deployment, with its
profile, documents and models.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from assistant.deployment import deployment
from contracts.errors import ConfigError, InputError
from evals.cases import CASES, Case, read_cases
from evals.report import PARTS, Task

ROOT: Final = Path(__file__).resolve().parent.parent
DATA: Final = ROOT.parent / "shared" / "data"
"""Where public data is looked for: beside the project."""
BUNDLED: Final[dict[str, tuple[str, ...]]] = {
    "answers": (),
    "turns": ("turns_en", "turns_ru", "handbook"),
    "drafts": ("drafts_en", "drafts_ru"),
    "copies": (),
    "moderation": ("messages_en", "messages_ru"),
    "retrieval": (),
    "models": ("drafts_model",),
}
_KINDS: Final = {"turn": "turns", "draft": "drafts", "message": "moderation"}
_PAGE: Final = "evaluation.md"


def run(options: argparse.Namespace) -> int:
    """Judge, print, and write the page if asked to; the exit code is 0 whatever the figures are.

    Raises:
        InputError: The options do not fit together.
        ConfigError: A file of cases is wrong, a package is missing, or the page cannot be written.
    """
    _check_packages(options)
    parts, task = _task(options, _parts(options))
    page = Path(options.out) / _PAGE if options.out else None
    text = page.read_text("utf-8") if page and page.exists() else ""
    for name in parts:
        print(f"{name} …", file=sys.stderr, flush=True)
        try:
            with tempfile.TemporaryDirectory() as folder:
                made = PARTS[name](task, Path(folder))
            print(made + "\n")
            text = replace_part(text, name, made)
            if page:
                page.parent.mkdir(parents=True, exist_ok=True)
                page.write_text(text, "utf-8")
        except OSError as error:
            if not page or str(page.parent) not in str(error.filename):
                raise
            raise ConfigError(
                f"{page} cannot be written: {error.strerror}.", "Name another folder in --out."
            ) from error
    if page:
        print(f"written: {page}", file=sys.stderr)
    return 0


def _parts(options: argparse.Namespace) -> list[str]:
    if unknown := [name for name in options.parts or () if name not in PARTS]:
        raise InputError(f"There is no part {unknown[0]!r}.", f"The parts are {', '.join(PARTS)}.")
    if options.model and (options.ab or options.parts or options.files):
        raise InputError("--model asks the bundled questions, and no other part.", "Leave the other options out.")
    if options.model:
        from evals.models import check_model

        check_model()
    return ["turns"] if options.ab else ["models"] if options.model else list(options.parts or PARTS)


def _check_packages(options: argparse.Namespace) -> None:
    from importlib.util import find_spec

    needed = [*(["matplotlib"] if options.out else []), *(["rapidfuzz", "sacrebleu"] if options.ab else [])]
    if missing := [name for name in needed if find_spec(name) is None]:
        raise ConfigError(f"This needs {', '.join(missing)}.", "Install it: pip install 'guardian-assistant[eval]'.")


def _task(options: argparse.Namespace, parts: list[str]) -> tuple[list[str], Task]:
    from evals.comparing import Arms

    arms = Arms.read(options.ab) if options.ab else None
    files = [Path(name) for name in options.files]
    # The bundled files are the bundled cases, also where they are named.
    own = any(path.resolve().parent != CASES for path in files)
    if own and options.held_back:
        raise InputError("Of your own cases nothing is held back.", "Leave --held-back out.")
    cases = read_cases(*(files or [CASES / f"{name}.jsonl" for part in parts for name in BUNDLED[part]]))
    if files:
        there = list(dict.fromkeys(_KINDS[case.kind] for case in cases))
        parts = [part for part in parts if part in there]
        if not parts:
            raise InputError("The files have no case for that.", f"They have cases for: {', '.join(there)}.")
    if not own and not options.held_back:
        cases = [case for case in cases if not case.held_back]
    if options.most:
        cases = _first_of_each(cases, options.most)
    return parts, Task(
        cases=tuple(cases),
        deployed=deployment(options.profile) if own else None,
        own=own,
        data=Path(options.data) if options.data else DATA,
        questions=options.most,
        misses=options.misses,
        held_back=options.held_back,
        plots=Path(options.out) / "evaluation" if options.out else None,
        arms=arms,
        models=options.model,
    )


def _first_of_each(cases: Sequence[Case], most: int) -> list[Case]:
    """Keep some of each kind, language and label, evenly over a file; drafts that others are made of stay."""
    sorts: dict[object, list[Case]] = defaultdict(list)
    for case in cases:
        label = getattr(case, "label", None) or getattr(case, "route", None) or getattr(case, "set", None)
        sorts[case.kind, case.language, label].append(case)
    kept = {case.id for group in sorts.values() for case in group[:: max(1, len(group) // most)][:most]}
    kept |= {getattr(case, "base", "") for case in cases if case.id in kept}
    return [case for case in cases if case.id in kept]


def replace_part(page: str, name: str, text: str) -> str:
    """Return the page with one part, between its marks, replaced; the other parts stay unchanged."""
    kept = {part: text if part == name else _part(page, part) for part in PARTS}
    bodies = [f"{_mark(part)}\n\n{body.strip()}" for part, body in kept.items() if body.strip()]
    return "\n\n".join(["# Evaluation", *bodies]) + "\n"


def _part(page: str, name: str) -> str:
    _, found, rest = page.partition(_mark(name))
    for other in PARTS:
        rest = rest.partition(_mark(other))[0]
    return rest if found else ""


def _mark(name: str) -> str:
    return f"<!-- part: {name} -->"
