"""Pages that were shown in the place of an answer, in every way in: a class of their own, with their sources."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.batch.columns import Column, cells_of
from assistant.cli.main import outcome_code
from assistant.turns.transcript import Turn
from assistant.turns.views import answer, cited_of, user_view
from assistant.web.openai_protocol import finish_of
from assistant.web.page.look import Look
from assistant.web.page.render import turn_html
from contracts.enums import Language, Outcome, RequiredAction, RiskLevel, SGRAction, Verdict
from contracts.evidence import EvidenceItem, group_articles
from contracts.profile import Role
from contracts.report import GuardianReport
from contracts.result import StructuredAgentResult
from guards.pages import pages_that_may_help
from rendering.exits import pages_text, shown_pages
from tests.support.turn import PROFILE, passage

ASKED = ("When does the kettle boil?",)
PAGES = PROFILE.model_copy(update={"roles": {**PROFILE.roles, "operator": Role(operator_view=True)}})


def turn(language: Language = Language.EN) -> StructuredAgentResult:
    """Return a turn whose draft failed, and that showed two pages."""
    evidence = [passage(n, snippet=f"A kettle of kind {n} boils fast.") for n in (1, 2)]
    pages = pages_that_may_help(ASKED, evidence, PAGES, "user")
    report = GuardianReport(
        verdict=Verdict.FAIL,
        reasons=["value_not_in_cited_evidence=[999]"],
        required_actions=[RequiredAction.ASK_MINIMAL_QUESTION],
        risk_level=RiskLevel.MED,
        draft="It boils at 999 degrees [1].",
    )
    return StructuredAgentResult(
        thread_id="c",
        turn_id="t",
        question=ASKED[0],
        language=language,
        outcome=Outcome.PAGES_SHOWN,
        answer_text=pages_text("pages_shown", "Nothing is sure.", pages, evidence, language, PAGES),
        action=SGRAction.NORMAL,
        final_articles=group_articles(evidence),
        guardian=report,
        pages=shown_pages(pages, evidence, language, PAGES),
    )


@pytest.mark.parametrize("language", Language)
def test_a_user_gets_the_pages_with_their_sentences_and_no_word_of_the_draft(language: Language) -> None:
    """Each page is a source with a number, its sentence stands in the text, and what failed stands nowhere."""
    view = user_view(turn(language), PAGES)
    assert [(source.number, source.title) for source in view.sources] == [(1, "Page 1"), (2, "Page 2")]
    assert all(f"A kettle of kind {n} boils fast." in view.answer for n in (1, 2))
    assert "999" not in view.model_dump_json()
    assert "pages" not in view.model_dump()


def test_a_program_sees_the_whole_result_only_where_its_role_may() -> None:
    """The verdict is told to all; pages as data, with the passage of each, to operators."""
    result = turn()
    assert (answer(result, PAGES, "user").verdict, answer(result, PAGES, "user").result) == (Verdict.FAIL, None)
    whole = answer(result, PAGES, "operator").result
    assert whole is not None
    assert [(page.sentence, page.ref) for page in whole.pages] == [(item.snippet, item.ref) for item in result.evidence]


def test_the_page_shows_them_under_a_name_of_their_own_and_without_the_badge_of_checked_answers() -> None:
    """A reader is told that these are pages; each leads to the passage that it was found by."""
    result = turn()
    shown = turn_html(_row(result), Look(PAGES, Language.EN))
    assert "Pages that may help" in shown
    assert not any(badge in shown for badge in ("Checked against its sources", "Quoted from the documents"))
    assert [cited_of(result, PAGES, number) for number in (1, 2, 3)] == [
        *([item] for item in result.evidence),
        list[EvidenceItem](),
    ]


def test_a_table_a_script_and_a_client_of_openai_are_told_apart_from_an_answer() -> None:
    """The column says `pages_shown`, `guardian ask` ends with 6, and a completion stops as any other."""
    assert cells_of(turn(), structured=False)[Column.OUTCOME] == "pages_shown"
    assert outcome_code(Outcome.PAGES_SHOWN) == 6
    assert finish_of(Outcome.PAGES_SHOWN) == "stop"


def _row(result: StructuredAgentResult) -> Turn:
    raw: dict[str, Any] = result.model_dump(mode="json")
    at = "2026-11-22T10:00:00.000+00:00"
    return Turn("c", "t", 1, "done", result.question, result.answer_text, "pages_shown", raw, at, at)
