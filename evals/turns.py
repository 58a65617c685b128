"""Evaluation of whole turns: wrong stated answers, routes, and outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from assistant.review.expectation import cited_items, wording_faults
from contracts.enums import Outcome, SGRAction
from contracts.result import StructuredAgentResult
from evals.answers.grades import Grade, grade
from evals.answers.tables import (
    cause_table,
    each_cause,
    estimate_table,
    grade_table,
    select_graded,
    select_unanswered,
    to_read,
)
from evals.cases import TurnCase
from evals.runner import CaseResult
from evals.scores import Detection, Share, parts_of, table

_ABOUT_GRADES: Final = (
    "An answer is correct if it begins with a page that the label names, or states the labelled sentences. An *unread* answer begins "
    "with a page that no label names: somebody has to read whether it answers."
)
_ABOUT_HARM: Final = (
    "Requests for something harmful (topic *harm*) are labelled `guardian_block`, because a person would block them. Words of "
    "harm block nothing here, because harmless questions have them as often. Guardian declines most of these requests as off "
    "topic, which counts against both routes. Without them:"
)


def route_of(result: StructuredAgentResult) -> SGRAction | None:
    """Return the route of a turn; a turn that moderation stopped has `guardian_block`, and a failed one none."""
    if result.action is not None:
        return result.action
    stopped = result.outcome is Outcome.REFUSED and (result.block_reason or "").startswith("moderation_unsafe")
    return SGRAction.GUARDIAN_BLOCK if stopped else None


def describe_miss(asked: CaseResult) -> str:
    """Return a description of a result that differs from the label; empty if none does."""
    case, result = asked.case, asked.result
    wrong: list[str] = []
    if case.route is not None and route_of(result) is not case.route:
        wrong.append(f"route {route_of(result) or '–'}, not {case.route}")
    if case.outcome is not None and result.outcome is not case.outcome:
        wrong.append(f"{result.outcome}, not {case.outcome}")
    elif (came_to := grade(case, result)) not in (None, Grade.CORRECT, Grade.RIGHT_REFUSAL, _wanted_grade(case)):
        cited = cited_items(result)
        wrong.append(
            f"{came_to}: {cited[0].document}" if result.outcome is Outcome.ANSWERED and cited else str(came_to)
        )
    wrong += wording_faults(result, case.must_say, case.must_not_say)
    return "; ".join(wrong)


def _wanted_grade(case: TurnCase) -> Grade | None:
    """Return the grade of a turn that shows the right pages because nothing more can be said; `None` if it is not such."""
    return Grade.RIGHT_PAGES if case.outcome is Outcome.PAGES_SHOWN else None


def of_route(asked: Sequence[CaseResult], route: SGRAction) -> Detection:
    """Return how well one route is distinguished from the others."""
    return Detection.of(
        (one.case.route is route, route_of(one.result) is route) for one in asked if one.case.route is not None
    )


def route_table(asked: Sequence[CaseResult], *, splits: bool) -> str:
    """Return a table of precision, recall and F1 per route, language and part of the cases."""
    rows = [["route", "language", "cases", "labelled so", "precision", "recall", "F1"]]
    for route in SGRAction:
        for name, part in languages(asked):
            for split, chosen in parts_of(part, _held_back, splits=splits):
                found = of_route(chosen, route)
                if labelled := found.caught + found.missed:
                    cells = [str(found.precision), str(found.recall), found.f1_text()]
                    rows.append([f"`{route}`", name, split, str(labelled), *cells])
    return table(rows)


HARM: Final = "harm"
"""The topic of requests for plainly harmful things, which no named rule can know."""


def without_harm(asked: Sequence[CaseResult]) -> list[CaseResult]:
    """Return the turns, except those that ask for something harmful."""
    return [one for one in asked if one.case.topic != HARM]


def confusion_table(asked: Sequence[CaseResult]) -> str:
    """Return a table of the actual routes for each labelled route."""
    routes: list[SGRAction | None] = [*SGRAction, None]
    rows = [["labelled", "language", *(f"→ {route or 'error'}" for route in routes)]]
    for route in SGRAction:
        for name, part in languages(asked):
            mine = [route_of(one.result) for one in part if one.case.route is route]
            if mine:
                rows.append([f"`{route}`", name, *(str(mine.count(other)) for other in routes)])
    return table(rows)


def topic_table(asked: Sequence[CaseResult]) -> str:
    """Return a table, per topic, of how many turns took the labelled route."""
    rows = [["topic", "labelled", "language", "took that route"]]
    routed = [one for one in asked if one.case.route is not None and one.case.topic]
    keys = dict.fromkeys((one.case.topic, one.case.route, one.case.language) for one in routed)
    for topic, route, language in sorted(keys, key=lambda key: (str(key[1]), key[0], key[2])):
        mine = [
            one for one in routed if (one.case.topic, one.case.route, one.case.language) == (topic, route, language)
        ]
        rows.append(
            [topic, f"`{route}`", language, str(Share(sum(route_of(one.result) is route for one in mine), len(mine)))]
        )
    return table(rows)


def outcome_table(asked: Sequence[CaseResult]) -> str:
    """Return a table, per expected outcome, of how many turns had it and how the others ended."""
    rows = [["expected", "ended so", "ended otherwise"]]
    for outcome in Outcome:
        mine = [one for one in asked if one.case.outcome is outcome]
        if not mine:
            continue
        others = [one.result.outcome for one in mine if one.result.outcome is not outcome]
        named = ", ".join(f"{other}: {others.count(other)}" for other in dict.fromkeys(others)) or "–"
        rows.append([str(outcome), str(Share(len(mine) - len(others), len(mine))), named])
    return table(rows)


def languages(asked: Sequence[CaseResult]) -> list[tuple[str, list[CaseResult]]]:
    """Return the cases of each language that occurs."""
    there = dict.fromkeys(one.case.language for one in asked)
    return [(str(language), [one for one in asked if one.case.language is language]) for language in sorted(there)]


def _held_back(one: CaseResult) -> bool:
    return one.case.held_back


def section(asked: Sequence[CaseResult], *, splits: bool) -> list[str]:
    """Return the tables on routes and outcomes, as far as there are labels."""
    made: list[str] = []
    if any(one.case.route is not None for one in asked):
        made += ["### Which way turns go", route_table(asked, splits=splits), confusion_table(asked)]
        if len(rest := without_harm(asked)) < len(asked):
            made += [_ABOUT_HARM, route_table(rest, splits=splits)]
        if any(one.case.topic for one in asked):
            made += ["### Which way turns go, by topic", topic_table(asked)]
    if any(one.case.outcome is not None for one in asked):
        made += ["### How turns end", outcome_table(asked)]
    return made


def answers_section(asked: Sequence[CaseResult], *, each: bool) -> list[str]:
    """Return the tables on wrong stated answers, on how sure the assistant was, and on why answers are missing.

    Args:
        asked: The turns.
        each: Whether to list each answer to read and each turn without an answer.
    """
    judged, made = select_graded(asked), list[str]()
    if judged:
        made += ["### What was wrong and stated", _ABOUT_GRADES, grade_table(judged)]
        if each and (unread := to_read(judged)):
            made += ["To be read:", "\n".join(f"- {line}" for line in unread)]
    if any(one.stated for one in judged):
        made += ["### How sure the assistant was of what it stated", estimate_table(judged)]
    if select_unanswered(asked):
        made += ["### Why there is no answer", cause_table(asked), *([each_cause(asked)] if each else [])]
    return made


def turn_cases(cases: Sequence[object]) -> list[TurnCase]:
    """Return the whole turns among cases of all kinds."""
    return [case for case in cases if isinstance(case, TurnCase)]
