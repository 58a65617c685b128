"""`guardian eval`: labelled cases to the assistant, counted. `make eval` runs all of them and writes the page.

Without a file the bundled cases are asked of the bundled handbook. Files of one's own are asked of the deployment in
force, with its profile, documents and models.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from assistant.wiring import Deployment, deployment
from contracts.errors import ConfigError, InputError
from evals.cases import CASES, Case, completed, passages, read_cases

if TYPE_CHECKING:
    from evals.comparing import Pair
    from evals.runner import Asked

ROOT: Final = Path(__file__).resolve().parent.parent
DATA: Final = ROOT.parent / "shared" / "data"
"""Where public data is looked for: beside the project."""
PARTS: Final = ("turns", "drafts", "moderation", "retrieval")
BUNDLED: Final[dict[str, tuple[str, ...]]] = {
    "turns": ("turns_en", "turns_ru", "handbook"),
    "drafts": ("drafts_en", "drafts_ru"),
    "moderation": ("messages_en", "messages_ru"),
    "retrieval": (),
}
_PAGE: Final = "evaluation.md"


@dataclass(frozen=True, slots=True)
class Task:
    """What is asked of whom.

    Attributes:
        deployed: The deployment that is asked; `None`: the handbook, indexed for the purpose.
        own: Whether the cases are somebody's own, of which nothing is held back.
    """

    cases: tuple[Case, ...]
    deployed: Deployment | None
    own: bool
    data: Path
    questions: int | None
    misses: bool
    plots: Path | None
    pair: Pair | None


def run(options: argparse.Namespace) -> int:
    """Judge, print, and write the page where asked to; exit code 0 whatever the figures are.

    Raises:
        InputError: The options do not fit together.
        ConfigError: A file of cases is wrong, or a package is missing.
    """
    parts = _parts(options)
    _check_packages(options)
    task = _task(options, parts)
    page = Path(options.out) / _PAGE if options.out else None
    before = page.read_text("utf-8") if page and page.exists() else ""
    for name in parts:
        print(f"{name} …", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            text = _RUNS[name](task, Path(folder))
        print(text + "\n")
        before = replaced(before, name, text)
        if page:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(before, "utf-8")
    if page:
        print(f"written: {page}", file=sys.stderr)
    return 0


def _parts(options: argparse.Namespace) -> list[str]:
    if options.ab:
        return ["turns"]
    if unknown := [name for name in options.parts or () if name not in PARTS]:
        raise InputError(f"There is no part {unknown[0]!r}.", f"The parts are {', '.join(PARTS)}.")
    return list(options.parts or (PARTS if not options.files else ()))


def _check_packages(options: argparse.Namespace) -> None:
    from importlib.util import find_spec

    needed = [*(["matplotlib"] if options.out else []), *(["rapidfuzz", "sacrebleu"] if options.ab else [])]
    if missing := [name for name in needed if find_spec(name) is None]:
        raise ConfigError(f"This needs {', '.join(missing)}.", "Install it: pip install 'guardian-assistant[eval]'.")


def _task(options: argparse.Namespace, parts: list[str]) -> Task:
    from evals.comparing import Pair

    own = bool(options.files)
    files = [Path(name) for name in options.files]
    if not own:
        files = [CASES / f"{name}.jsonl" for part in parts for name in BUNDLED[part]]
    cases = read_cases(*files)
    if options.tuning:
        cases = [case for case in cases if not case.held_back]
    if own:
        parts += [part for part in _present(cases) if part not in parts]
    if options.most:
        cases = _first_of_each(cases, options.most)
    return Task(
        cases=tuple(cases),
        deployed=deployment(options.profile) if own else None,
        own=own,
        data=Path(options.data) if options.data else DATA,
        questions=options.most,
        misses=options.misses,
        plots=Path(options.out) / "evaluation" if options.out else None,
        pair=Pair.read(options.ab) if options.ab else None,
    )


def _present(cases: Sequence[Case]) -> list[str]:
    kinds = {"turn": "turns", "draft": "drafts", "message": "moderation"}
    return list(dict.fromkeys(kinds[case.kind] for case in cases))


def _first_of_each(cases: Sequence[Case], most: int) -> list[Case]:
    """Keep some of each kind, language and label, evenly over a file; drafts that others are made of stay."""
    from collections import defaultdict

    sorts: dict[object, list[Case]] = defaultdict(list)
    for case in cases:
        label = getattr(case, "label", None) or getattr(case, "route", None) or getattr(case, "set", None)
        sorts[case.kind, case.language, label].append(case)
    kept = [case for group in sorts.values() for case in group[:: max(1, len(group) // most)][:most]]
    bases = {getattr(case, "base", "") for case in kept}
    return [case for case in cases if case in kept or case.id in bases]


def replaced(page: str, name: str, text: str) -> str:
    """Return the page with one part written anew, between its marks; the other parts stay as they are."""
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


def _made(task: Task, what: str) -> str:
    today = datetime.now(tz=UTC).date().isoformat()
    by = "`make eval`" if not task.own else "`guardian eval`"
    held = (
        " A third of these cases, chosen by the hash of their ids, was held back: nothing was tuned on it."
        if not task.own
        else ""
    )
    return f"Made by {by} on {today}: {what}. Intervals are Wilson's at 95 %, those of F1 by bootstrap.{held}"


def _served(task: Task, folder: Path) -> Deployment:
    from evals.runner import handbook

    return task.deployed or handbook(folder / "data")


def _tell_misses(task: Task, missed: Mapping[str, str]) -> None:
    """Print what went otherwise than labelled; of bundled cases only those that may be tuned on."""
    if task.misses:
        held_back = {case.id for case in task.cases if case.held_back and not task.own}
        for name, why in missed.items():
            if why and name not in held_back:
                print(f"{name}: {why}")


# -------------------------------------------------------------------------------------------------------------- parts


def _turns(task: Task, folder: Path) -> str:
    from evals import turns
    from evals.runner import ask_all

    cases = turns.turn_cases(task.cases)
    deployed = _served(task, folder)
    if task.pair:
        return _compared(task.pair, cases, deployed, folder)
    asked = asyncio.run(ask_all(cases, deployed, folder / "threads"))
    _tell_misses(
        task, {one.case.id: f"{one.case.says[-1]!r}: {why}" if (why := turns.missed(one)) else "" for one in asked}
    )
    # Only the cases with a route have a part that was held back.
    text = turns.section(asked, splits=not task.own)
    _plot(
        task,
        "routes",
        "Turns that took the labelled route, held back" if not task.own else "Routes",
        _routes(task, asked),
    )
    about = _made(task, f"{len(cases)} conversations, asked of {_engine(deployed)}")
    return "\n\n".join(["## Whole turns", about, *_picture(task, "routes", "routes"), *text])


def _compared(pair: Pair, cases: Sequence[Any], deployed: Deployment, folder: Path) -> str:
    from evals.comparing import section
    from evals.runner import ask_all

    sides = [
        asyncio.run(ask_all(cases, deployed, folder / f"side-{number}", {pair.name: value}))
        for number, value in enumerate(pair.values)
    ]
    return "\n\n".join(["## Two settings side by side", *section(pair, (sides[0], sides[1]))])


def _routes(task: Task, asked: Sequence[Asked]) -> Mapping[str, Any]:
    from contracts.values import SGRAction
    from evals import turns

    chosen = [one for one in asked if task.own or one.case.held_back]
    return {
        f"{name}, {figure}": [(str(route), getattr(turns.of_route(part, route), figure)) for route in SGRAction]
        for name, part in turns.languages(chosen)
        for figure in ("precision", "recall")
    }


def _drafts(task: Task, _folder: Path) -> str:
    from assistant.api import run_context
    from assistant.profiles import load_profile
    from evals import drafts, judging

    cases = completed(judging.draft_cases(task.cases))
    profile = task.deployed.profile if task.deployed else load_profile("handbook")
    known = passages() if any(isinstance(part, str) for case in cases for part in case.evidence) else {}
    settings = run_context(task.deployed) if task.deployed else None
    judged = asyncio.run(drafts.judge(cases, known, profile, settings))
    _tell_misses(task, {one.case.id: judging.missed(one) for one in judged})
    shown = [one for one in judged if task.own or one.case.held_back]
    bars = {
        str(language): [
            *(
                (label.replace("_", " "), judging.caught([o for o in shown if o.case.language == language], label))
                for label in judging.GUARD_OF
            ),
            ("good answers failed", judging.failed_good([o for o in shown if o.case.language == language])),
        ]
        for language in sorted({one.case.language for one in shown})
    }
    _plot(task, "drafts", "Faults found by their own guard" + ("" if task.own else ", held back"), bars)
    about = _made(task, f"{len(cases)} drafts over fixed passages, judged by the Guardian as in a turn")
    return "\n\n".join(
        [
            "## Drafts with known faults",
            about,
            *_picture(task, "drafts", "faults"),
            *judging.section(judged, splits=not task.own),
        ]
    )


def _moderation(task: Task, _folder: Path) -> str:
    from adapters.moderation.rules import RuleModerator
    from evals import messages

    moderator = RuleModerator()
    judged = messages.judge_now(messages.message_cases(task.cases), moderator)
    _tell_misses(task, {one.case.id: f"{one.case.text[:80]!r}: {one.missed}" if one.missed else "" for one in judged})
    about = _made(task, f"{len(judged)} messages, judged by the rule pack that is the default without a server")
    made = ["## Moderation", about, *messages.section(judged, splits=not task.own)]
    if not task.own:
        public = messages.judge_now(messages.public_cases(task.data), moderator)
        left_out = "Public sets, English all, with other people's labels; they lay beside the project while the rules were written, so read them as a regression check."
        made += [
            left_out if public else "Public sets are left out: the data is not there.",
            *([messages.set_table(public, splits=False)] if public else []),
        ]
    return "\n\n".join(made)


def _retrieval(task: Task, folder: Path) -> str:
    from evals.retrieval.report import section

    head, _, rest = section(folder, task.data, task.questions).partition("\n\n")
    return f"{head}\n\nMade by `make eval` on {datetime.now(tz=UTC).date().isoformat()}. {rest}"


_RUNS: Final[dict[str, Callable[[Task, Path], str]]] = {
    "turns": _turns,
    "drafts": _drafts,
    "moderation": _moderation,
    "retrieval": _retrieval,
}


def _engine(deployed: Deployment) -> str:
    models = deployed.settings.models
    if not (models.planner or models.drafter):
        return "the offline planner and drafter"
    return f"{models.planner or 'the offline planner'} (plans) and {models.drafter or 'the offline drafter'} (drafts)"


def _plot(task: Task, name: str, title: str, bars: Mapping[str, Any]) -> None:
    if task.plots and bars:
        from evals.plots import plot_shares

        plot_shares(task.plots / f"{name}.svg", title, bars)


def _picture(task: Task, name: str, what: str) -> list[str]:
    return [f"![Shares of {what}]({task.plots.name}/{name}.svg)"] if task.plots else []
