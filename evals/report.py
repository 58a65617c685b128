"""The parts of an evaluation, each as Markdown with its plot."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from assistant.config.profiles import load_profile
from assistant.deployment import Deployment
from contracts.enums import Language, SGRAction
from evals import judging, messages, turns
from evals.aims import aims_table, of_drafts, of_messages, of_turns
from evals.cases import MODEL_PASSAGES, Case, complete_drafts, passages, read_cases
from evals.runner import ask_all, handbook

if TYPE_CHECKING:
    from evals.comparing import Arms
    from evals.drafts import JudgedCase


@dataclass(frozen=True, slots=True)
class Task:
    """The task of an evaluation: what to ask, and whom.

    Attributes:
        deployed: The deployment to ask; `None` means the handbook, indexed for this purpose.
        own: Whether the cases are the user's own; none of those are held back.
        held_back: Whether to ask the held-back third, too.
        plots: The folder for plots; `None` if none are drawn.
        models: Whether the model that the environment names is asked, too.
    """

    cases: tuple[Case, ...]
    deployed: Deployment | None
    own: bool
    data: Path
    questions: int | None
    misses: bool
    held_back: bool
    plots: Path | None
    arms: Arms | None
    models: bool = False

    @property
    def aims(self) -> bool:
        """Whether a held-back part is asked, so that there are targets to report."""
        return not self.own and self.held_back

    def shown(self, case: Case) -> bool:
        """Whether a case counts for the plots; of bundled cases, those held back, if they are asked."""
        return case.held_back or not self.aims


def turns_part(task: Task, folder: Path) -> str:
    """Ask whole turns; if values of a setting are compared, ask them with each."""
    cases = turns.turn_cases(task.cases)
    deployed = task.deployed or handbook(folder / "data", with_models=task.arms is not None)
    if task.arms:
        return _compare(task, task.arms, cases, deployed, folder)
    asked = asyncio.run(ask_all(cases, deployed, folder / "threads"))
    _tell_misses(
        task,
        {one.case.id: f"{one.case.says[-1]!r}: {why}" if (why := turns.describe_miss(one)) else "" for one in asked},
    )
    routed = sum(case.route is not None for case in cases)
    about = f"{len(cases)} conversations with {_engine(deployed)}"
    if not task.own and routed < len(cases):
        about += f". The {len(cases) - routed} that are labelled by outcome and page were all tuned on"
    bars = {
        f"{name}, {figure}": [(str(route), getattr(turns.of_route(part, route), figure)) for route in SGRAction]
        for name, part in turns.languages([one for one in asked if task.shown(one.case)])
        for figure in ("precision", "recall")
    }
    return _join(
        "## Whole turns",
        _describe_run(task, about, "those with a route" if routed < len(cases) else "these cases"),
        *turns.answers_section(asked, each=task.own),
        *_picture(task, "routes", "Turns that took the labelled route", bars),
        *(aims_table(of_turns([one for one in asked if one.case.route])) if task.aims else []),
        *turns.section(asked, splits=not task.own),
    )


def _compare(task: Task, arms: Arms, cases: Sequence[Any], deployed: Deployment, folder: Path) -> str:
    from evals.comparing import bars, section, write_blind

    sides = [
        asyncio.run(ask_all(cases, deployed, folder / f"side-{number}", {arms.name: value}))
        for number, value in enumerate(arms.values)
    ]
    blind = (
        [f"To judge without knowing whose it is: `{write_blind(task.plots, arms, sides).name}`."] if task.plots else []
    )
    return _join(
        "## Values of a setting side by side",
        *section(arms, sides),
        *_picture(task, f"ab-{arms.name}", f"{arms.name}: shares of turns, and of answers", bars(arms, sides)),
        *blind,
    )


def answers_part(task: Task, folder: Path) -> str:
    """Ask questions with labelled answers, in every wrapping."""
    from evals.answers import report

    found, corpora, missing = report.ask(folder, task.data, task.questions, held_back=task.held_back)
    if task.misses:
        print("\n".join(report.misses(found)))
    held = "has been asked, too" if task.held_back else "has been left out"
    return _join(
        "## Answers judged by label",
        f"Made by `make eval` on {_today()}: {len(found)} conversations with the offline planner and drafter. Intervals are Wilson's at "
        f"95 %. The hash of the page that a question is about decides whether it is held back. The held-back third {held}.",
        *([f"Left out, because the data is not there: {'; '.join(missing)}."] if missing else []),
        *(report.draw(found, task.plots, held_back=task.held_back) if task.plots else []),
        *report.section(found, corpora, held_back=task.held_back),
    )


def drafts_part(task: Task, _folder: Path) -> str:
    """Judge drafts by the Guardian."""
    from evals import drafts

    cases = complete_drafts(judging.draft_cases(task.cases))
    profile = task.deployed.profile if task.deployed else load_profile("handbook")
    named = any(isinstance(part, str) for case in cases for part in case.evidence)
    known = {**passages(), **passages(MODEL_PASSAGES)} if named else {}
    settings = task.deployed.build_context() if task.deployed else None
    judged = asyncio.run(drafts.judge(cases, known, profile, settings))
    _tell_misses(task, {one.case.id: judging.describe_miss(one) for one in judged})
    shown = [one for one in judged if task.shown(one.case)]
    bars = {
        str(language): _list_shares([one for one in shown if one.case.language is language]) for language in Language
    }
    return _join(
        "## Drafts with known faults",
        _describe_run(task, f"{len(cases)} drafts over fixed passages, judged by the Guardian as in a turn"),
        *_picture(task, "drafts", "Faults found by their own guard", bars),
        *(aims_table(of_drafts(judged)) if task.aims else []),
        *judging.section(judged, splits=not task.own),
    )


def copies_part(task: Task, _folder: Path) -> str:
    """Judge drafts that copy pages of documentation with one change."""
    from evals.copies import judging as copied
    from evals.copies.corpora import corpora

    judged = asyncio.run(copied.judge(task.data, held_back=task.held_back, most=task.questions or copied.PAGES))
    _tell_misses(task, {one.judged.case.id: copied.describe_miss(one) for one in judged if not one.page.held_back})
    return _join(
        "## Copies with one thing changed",
        _describe_run(task, f"{len(judged)} drafts over pages of {', '.join(corpora(task.data))}", "the pages"),
        *_picture(task, "copies", "Faulty copies found", copied.bars(judged, held_back=task.held_back)),
        *copied.section(judged, held_back=task.held_back),
    )


def _list_shares(judged: Sequence[JudgedCase]) -> list[tuple[str, Any]]:
    found = [(label.replace("_", " "), judging.measure_caught(judged, label)) for label in judging.GUARD_OF]
    return [*found, ("good answers failed", judging.failed_good(judged))]


def moderation_part(task: Task, _folder: Path) -> str:
    """Moderate messages: bundled ones by the rules, the user's own by the deployment's moderator."""
    from adapters.moderation.rules import RuleModerator

    cases = messages.message_cases(task.cases)
    if task.deployed:
        judged = asyncio.run(messages.judge_by(task.deployed, cases))
        by = f"the moderator of the deployment ({task.deployed.settings.moderation.provider})"
    else:
        judged = asyncio.run(messages.judge(cases, RuleModerator()))
        by = "the rule pack that is the default without a server"
    _tell_misses(task, {one.case.id: f"{one.case.text[:80]!r}: {one.missed}" if one.missed else "" for one in judged})
    away = messages.unavailable(judged)
    return _join(
        "## Moderation",
        _describe_run(task, f"{len(judged)} messages, judged by {by}"),
        *([f"{away} of them could not be judged: the moderator was not available."] if away else []),
        *(aims_table(of_messages(judged)) if task.aims else []),
        *messages.section(judged, splits=not task.own),
        *([] if task.own else _public(task)),
    )


def _public(task: Task) -> list[str]:
    from adapters.moderation.rules import RuleModerator

    public = asyncio.run(messages.judge(messages.public_cases(task.data), RuleModerator()))
    if not public:
        return ["Public sets are left out: the data is not there."]
    about = (
        "These are public sets, all in English, with other people's labels. They were next to the project while the rules "
        "were written, so read them as a regression check."
    )
    return [about, messages.set_table(public, splits=False)]


def retrieval_part(task: Task, folder: Path) -> str:
    """Measure search."""
    from evals.retrieval.report import section

    head, _, rest = section(folder, task.data, task.questions).partition("\n\n")
    return f"{head}\n\nMade by `make eval` on {_today()}. {rest}"


def models_part(task: Task, folder: Path) -> str:
    """Judge kept drafts of a small real model, ask scripted models, and the configured model if that is wanted."""
    from evals import drafts, models, scripted

    cases = complete_drafts(judging.draft_cases(task.cases))
    judged = asyncio.run(drafts.judge(cases, passages(MODEL_PASSAGES), load_profile("handbook")))
    questions = [case for case in turns.turn_cases(read_cases(models.QUESTIONS)) if not case.held_back]
    asked: list[str] = []
    if task.models:
        asked = ["### The configured model beside none", *models.ask_beside(questions, folder, task.questions)]
    return _join(
        "## Language models",
        _describe_run(task, f"{len(cases)} drafts of SmolLM2-135M-Instruct (Q4) over passages of the handbook"),
        *models.kept_section(judged),
        "### Scripted models beside none",
        *scripted.ask_scripted(questions, folder / "scripted", task.questions),
        *asked,
    )


PARTS: Final[dict[str, Callable[[Task, Path], str]]] = {
    "answers": answers_part,
    "turns": turns_part,
    "drafts": drafts_part,
    "copies": copies_part,
    "moderation": moderation_part,
    "retrieval": retrieval_part,
    "models": models_part,
}


def _today() -> str:
    return datetime.now(tz=UTC).date().isoformat()


def _describe_run(task: Task, what: str, which: str = "these cases") -> str:
    by = "`guardian eval`" if task.own else "`make eval`"
    held = "" if task.own else f" The hash of their ids decides which third of {which} is held back"
    ends = "" if task.own else ": nothing was tuned on it." if task.held_back else ", and has been left out."
    return f"Made by {by} on {_today()}: {what}. Intervals are Wilson's at 95 %, and those of F1 are from the bootstrap.{held}{ends}"


def _tell_misses(task: Task, missed: Mapping[str, str]) -> None:
    """Print what went otherwise than labelled; of bundled cases only those that may be tuned on."""
    if task.misses:
        held_back = {case.id for case in task.cases if case.held_back and not task.own}
        for name, why in missed.items():
            if why and name not in held_back:
                print(f"{name}: {why}")


def _engine(deployed: Deployment) -> str:
    models = deployed.settings.models
    if not (models.planner or models.drafter):
        return "the offline planner and drafter"
    return f"{models.planner or 'the offline planner'} (plans) and {models.drafter or 'the offline drafter'} (drafts)"


def _picture(task: Task, name: str, title: str, bars: Mapping[str, Any]) -> list[str]:
    """Draw a plot where plots are wanted and there is anything to draw, and return the line that shows it."""
    if not task.plots:
        return []
    from evals.plots import plot_shares

    path = task.plots / f"{name}.svg"
    path.unlink(missing_ok=True)
    plot_shares(path, title + (", held back" if task.aims else ""), bars)
    return [f"![{title}]({task.plots.name}/{name}.svg)"] if path.exists() else []


def _join(*parts: str) -> str:
    return "\n\n".join(parts)
