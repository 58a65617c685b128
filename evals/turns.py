"""Whole turns: which way they go, how they end, and which page they cite."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from contracts.result import StructuredAgentResult
from contracts.values import Outcome, SGRAction
from evals.cases import TurnCase
from evals.runner import Asked
from evals.scores import Detection, Share, parts_of, table

_ABOUT_HARM: Final = (
    "Requests for something harmful (topic *harm*) are labelled `guardian_block`, for that is what a person would do; words of "
    "harm block nothing here, for they stand as often in harmless questions. Most are declined as off topic, which counts "
    "against both routes. Without them:"
)
_FIRST_SOURCE = re.compile(r"^- \[1\] (.+)$", re.MULTILINE)


def route_of(result: StructuredAgentResult) -> SGRAction | None:
    """Return the route that a turn took; what moderation stops is `guardian_block`, a turn that broke has none."""
    if result.action is not None:
        return result.action
    stopped = result.outcome is Outcome.REFUSED and (result.block_reason or "").startswith("moderation_unsafe")
    return SGRAction.GUARDIAN_BLOCK if stopped else None


def first_page(result: StructuredAgentResult) -> int | None:
    """Return the page number of the source that an answer cites first; `None` where it cites none."""
    found = _FIRST_SOURCE.search(result.answer_text)
    if not found:
        return None
    named = found.group(1)
    matching = [a for a in result.final_articles if named.startswith(a.title) and (not a.url or a.url in named)]
    return matching[0].kb_id if matching else None


def right_page(asked: Asked) -> bool:
    """Whether the first source is one of the pages that should be."""
    return first_page(asked.result) in asked.case.pages


def right_page_shown(asked: Asked) -> bool:
    """Whether a right page is among those that were shown in the place of an answer."""
    refs = {page.ref for page in asked.result.pages}
    return any(item.kb_id in asked.case.pages for item in asked.result.final_articles if item.ref in refs)


def missed(asked: Asked) -> str:
    """Return what went otherwise than labelled, in words; empty where nothing did."""
    case, result = asked.case, asked.result
    wrong: list[str] = []
    if case.route is not None and route_of(result) is not case.route:
        wrong.append(f"route {route_of(result) or '–'}, not {case.route}")
    if case.outcome is not None and result.outcome is not case.outcome:
        wrong.append(f"{result.outcome}, not {case.outcome}")
    elif case.pages and result.outcome is Outcome.ANSWERED and not right_page(asked):
        wrong.append(f"page {first_page(result)}, not {', '.join(map(str, case.pages))}")
    return "; ".join(wrong)


def of_route(asked: Sequence[Asked], route: SGRAction) -> Detection:
    """Return how well one route is told from the others."""
    return Detection.of(
        (one.case.route is route, route_of(one.result) is route) for one in asked if one.case.route is not None
    )


def route_table(asked: Sequence[Asked], *, splits: bool) -> str:
    """Write precision, recall and F1 per route, language and part of the cases."""
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


def without_harm(asked: Sequence[Asked]) -> list[Asked]:
    """Return the turns but those that ask for something harmful."""
    return [one for one in asked if one.case.topic != HARM]


def confusion_table(asked: Sequence[Asked]) -> str:
    """Write what turns of each labelled route came to."""
    routes: list[SGRAction | None] = [*SGRAction, None]
    rows = [["labelled", "language", *(f"→ {route or 'error'}" for route in routes)]]
    for route in SGRAction:
        for name, part in languages(asked):
            mine = [route_of(one.result) for one in part if one.case.route is route]
            if mine:
                rows.append([f"`{route}`", name, *(str(mine.count(other)) for other in routes)])
    return table(rows)


def topic_table(asked: Sequence[Asked]) -> str:
    """Write, per topic of the cases' authors, how many turns took the labelled route."""
    rows = [["topic", "labelled", "language", "took that route"]]
    routed = [one for one in asked if one.case.route is not None and one.case.topic]
    keys = dict.fromkeys((one.case.topic, one.case.route, one.case.language) for one in routed)
    for topic, route, language in sorted(keys, key=lambda key: (str(key[1]), key[0], key[2])):
        mine = [
            one for one in routed if (one.case.topic, one.case.route, one.case.language) == (topic, route, language)
        ]
        rows.append([topic, f"`{route}`", language, str(Share(sum(not missed(one) for one in mine), len(mine)))])
    return table(rows)


def outcome_table(asked: Sequence[Asked]) -> str:
    """Write, per outcome that was expected, how many turns ended so, and how the others ended."""
    rows = [["expected", "ended so", "ended otherwise"]]
    for outcome in Outcome:
        mine = [one for one in asked if one.case.outcome is outcome]
        if not mine:
            continue
        others = [one.result.outcome for one in mine if one.result.outcome is not outcome]
        named = ", ".join(f"{other}: {others.count(other)}" for other in dict.fromkeys(others)) or "–"
        rows.append([str(outcome), str(Share(len(mine) - len(others), len(mine))), named])
    return table(rows)


def page_table(asked: Sequence[Asked]) -> str:
    """Write, per language, how often an answer came, and how often its first source is the right page.

    Pages that were shown in the place of an answer are a class of their own.
    """
    head = ["language", "answered", "right page, of those answered", "right page, of all", "answered after a retry"]
    rows = [[*head, "pages shown", "right page among them"]]
    for name, part in languages([one for one in asked if one.case.pages]):
        answered = [one for one in part if one.result.outcome is Outcome.ANSWERED]
        right = sum(map(right_page, answered))
        retried = sum(one.result.diagnostics.retries > 0 for one in answered)
        shown = [one for one in part if one.result.outcome is Outcome.PAGES_SHOWN]
        found = sum(map(right_page_shown, shown))
        shares = [(len(answered), part), (right, answered), (right, part), (retried, answered)]
        shares += [(len(shown), part), (found, shown)]
        rows.append([name, *(str(Share(hits, len(of))) for hits, of in shares)])
    return table(rows)


def languages(asked: Sequence[Asked]) -> list[tuple[str, list[Asked]]]:
    """Return the cases of each language that there is."""
    there = dict.fromkeys(one.case.language for one in asked)
    return [(str(language), [one for one in asked if one.case.language is language]) for language in sorted(there)]


def _held_back(one: Asked) -> bool:
    return one.case.held_back


def section(asked: Sequence[Asked], *, splits: bool) -> list[str]:
    """Write the tables on whole turns that there are labels for."""
    made: list[str] = []
    if any(one.case.route is not None for one in asked):
        made += ["### Which way turns go", route_table(asked, splits=splits), confusion_table(asked)]
        if len(rest := without_harm(asked)) < len(asked):
            made += [_ABOUT_HARM, route_table(rest, splits=splits)]
        if any(one.case.topic for one in asked):
            made += ["### Which way turns go, by topic", topic_table(asked)]
    if any(one.case.outcome is not None for one in asked):
        made += ["### How turns end", outcome_table(asked)]
    if any(one.case.pages for one in asked):
        made += ["### Whether the answer comes from the right page", page_table(asked)]
    return made


def turn_cases(cases: Sequence[object]) -> list[TurnCase]:
    """Return the whole turns among cases of all kinds."""
    return [case for case in cases if isinstance(case, TurnCase)]
