"""Which messages the offline planner has looked up: those that are a lookup's own, and none that ask for a page."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters.lookups.lookup_matching import Chooser
from adapters.planning.offline import OfflinePlanner
from assistant.config.profiles import load_profile
from contracts.enums import Language, RequestType, SGRAction, Source
from contracts.plan import SGRPlanResult
from contracts.ports import PlanRequest
from contracts.profile import Profile
from language.lexicon import STATUS, request_type
from language.words import detect
from tests.support.database.tables import lookup
from tests.support.ports.probes import Probe

ROOT = Path(__file__).resolve().parents[2]
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
BUNDLED = load_profile("handbook")
LOOKUPS = BUNDLED.lookups_of(Source.DB)
QUESTIONS: dict[str, list[str]] = json.loads((Path(__file__).parent / "questions.json").read_text("utf-8"))
OWN = [(one, text) for one in LOOKUPS for texts in one.answers.values() for text in texts]


async def planned(
    text: str, profile: Profile = BUNDLED, sources: frozenset[Source] | None = None, topic: float = 0.8
) -> SGRPlanResult:
    planner = OfflinePlanner(Probe(topic), profile, lambda: NOW)
    return (await planner.plan(PlanRequest(text, detect(text, default=Language.EN), sources=sources))).plan


def chosen(plan: SGRPlanResult) -> set[str]:
    """Return the lookups that the queries of a plan choose, where the database is asked at all."""
    if plan.request_type not in STATUS or plan.action is not SGRAction.NORMAL:
        return set()
    found = [Chooser(LOOKUPS).choose(query, NOW.date()) for query in plan.subqueries]
    return {one.call.name if one else "none" for one in found}


@pytest.mark.parametrize("topic", [0.0, 0.8])
async def test_each_question_of_a_lookup_has_that_lookup_asked(topic: float) -> None:
    """All of the bundled profile's, without exception, whatever the documents say of the subject."""
    for own, text in OWN:
        assert chosen(await planned(text, topic=topic)) == {own.name}, text


@pytest.mark.parametrize(
    "period",
    ["on 2026-11-22", "from 1 November to 20 November", "in October 2026", "since November 3rd", "in the last 2 years"],
)
async def test_a_period_makes_no_other_question_of_it(period: str) -> None:
    """Neither a date nor a month in words."""
    assert chosen(await planned(f"How many questions were handed off {period}?")) == {"questions_handed_off"}


async def test_most_questions_in_other_words_are_looked_up() -> None:
    """Four in five of those that name a period or ask how many."""
    asked = [(name, await planned(text)) for name, texts in QUESTIONS.items() for text in texts]
    assert sum(chosen(plan) == {name} for name, plan in asked) >= 0.8 * len(asked)


async def test_no_question_that_the_handbook_answers_is_looked_up() -> None:
    """Labelled questions and every fourth heading of the handbook keep the type that their words have."""
    lines = (ROOT / "evals" / "cases" / "handbook.jsonl").read_text("utf-8").splitlines()
    pages = [page.read_text("utf-8") for page in (ROOT / "knowledge").rglob("*.md")]
    asked = [said for line in lines for said in json.loads(line)["says"]]
    headings = [heading for page in pages for heading in re.findall(r"^#+ (.+)$", page, re.MULTILINE)]
    # A quarter of the headings: each is planned for some milliseconds.
    asked = list(dict.fromkeys([*asked, *headings[::4]]))
    assert len(asked) >= 500
    changed = [text for text in asked if request_type(text) not in STATUS and chosen(await planned(text))]
    assert changed == []


@pytest.mark.parametrize(
    "text",
    [
        "Which questions are handed off to a person?",
        "When are questions handed off to a person?",
        "How long does an answer take?",
        "How do I list the latest hand-offs?",
        "Which errors can a turn end with?",
        "Когда вопрос передаётся человеку?",
        "Какие вопросы передаются человеку?",
    ],
)
async def test_what_asks_for_the_rule_is_not_looked_up(text: str) -> None:
    """A lookup's words without "how many", and without anything that says when, may ask for a page."""
    assert (await planned(text)).request_type not in STATUS


async def test_a_message_with_another_question_in_it_is_not_looked_up() -> None:
    """A status request asks no document, so that the other one would have no answer."""
    plan = await planned("How many questions were handed off? How do I install Guardian?")
    assert len(plan.subqueries) == 2
    assert plan.request_type not in STATUS


async def test_who_may_not_use_the_database_keeps_the_documents() -> None:
    """The type is what the words alone make of it."""
    text = "How many questions were handed off?"
    assert (await planned(text, sources=frozenset({Source.DOC, Source.POLICY}))).request_type == request_type(text)
    assert (await planned(text, sources=frozenset(Source))).request_type is RequestType.STATUS_METRIC


async def test_figures_and_lists_are_told_apart_by_the_lookups_own_questions() -> None:
    """More of them ask for a list than for a figure, or the lookup declares a type."""
    assert (await planned("Which requests were handed off?")).request_type is RequestType.STATUS_LIST
    assert (await planned("What was the slowest answer?")).request_type is RequestType.STATUS_METRIC
    says = {"en": ["How many tickets have an id below 50?"], "ru": ["?"]}
    for declared, expected in (([], RequestType.STATUS_METRIC), (["STATUS_SUMMARY"], RequestType.STATUS_SUMMARY)):
        own = BUNDLED.model_copy(update={"lookups": (lookup("SELECT 1 AS a", answers=says, request_types=declared),)})
        assert (await planned("How many tickets have an id below 60?", own)).request_type is expected
