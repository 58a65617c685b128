"""What becomes of a question, by the pages and sentences that its label names."""

from __future__ import annotations

import pytest

from contracts.enums import Language, Outcome, PartStatus, RiskLevel, Source, Verdict
from contracts.evidence import EvidenceItem, group_articles
from contracts.report import DecisionRecord, GuardianReport, PartFinding
from contracts.result import ShownPage, StructuredAgentResult
from evals.answers.grades import Grade, cause, estimate, grade
from evals.answers.tables import GradedTurn, cause_table, estimate_table, grade_table, points, to_read
from evals.cases import AcceptableAnswer, Page, TurnCase
from evals.runner import CaseResult
from evals.turns import describe_miss

BACKUP = "Open **Backups** and click [Restore](../restore.md)."
WAIT = "Wait until the disk is written."


def item(document: str, number: int, confidence: float = 0.9) -> EvidenceItem:
    return EvidenceItem(
        source=Source.DOC,
        ref=f"doc:{number}#1",
        snippet="",
        confidence=confidence,
        document=document,
        title=document,
        kb_id=number,
    )


EVIDENCE = [item("docs/en/backup.md", 1), item("docs/en/disk.md", 2, 0.7), item("docs/en/other.md", 3, 0.5)]


def answered(draft: str) -> StructuredAgentResult:
    report = GuardianReport(verdict=Verdict.PASS, risk_level=RiskLevel.LOW, draft=draft)
    return StructuredAgentResult(
        language=Language.EN,
        outcome=Outcome.ANSWERED,
        answer_text=f"{draft}\n\n**Sources**\n\n- [1] Backup",
        final_articles=group_articles(EVIDENCE),
        guardian=report,
    )


def ended(outcome: Outcome, *shown: int) -> StructuredAgentResult:
    pages = [ShownPage(number=n, title="", sentence="", ref=f"doc:{n}#1") for n in shown]
    return StructuredAgentResult(
        language=Language.EN, outcome=outcome, answer_text="", final_articles=group_articles(EVIDENCE), pages=pages
    )


def case(**labels: object) -> TurnCase:
    return TurnCase.model_validate({"id": "q", "language": "en", "says": ["How?"], **labels})


def sentence_case(**labels: object) -> TurnCase:
    return case(parts=[[{"page": "en/backup.md", "sentences": [BACKUP, WAIT]}]], **labels)


@pytest.mark.parametrize(
    ("draft", "expected"),
    [
        (
            "1. Open **Backups** and click Restore (link left out) [1].\n2. Wait until the disk is written [1].",
            Grade.CORRECT,
        ),
        ("Open Backups and click Restore [1].", Grade.PARTLY),
        ("Backups are kept for a week [1].", Grade.WRONG),
        ("Backups are kept for a week [3]. More of it [1].", Grade.UNREAD),
        ("You are welcome!", Grade.WRONG),
    ],
)
def test_an_answer_is_judged_by_the_sentences_that_it_states(draft: str, expected: Grade) -> None:
    """All labelled sentences are correct, some partly, none of a labelled page wrong, and another page is unread."""
    assert grade(sentence_case(), answered(draft)) is expected


def test_a_label_can_say_that_another_page_does_not_answer() -> None:
    """What begins with a page that a label calls wrong, or with any other where only the labelled ones answer, is wrong."""
    other = answered("Backups are kept for a week [3].")
    assert grade(sentence_case(wrong_pages=["other.md"]), other) is Grade.WRONG
    assert grade(sentence_case(only=True), other) is Grade.WRONG


@pytest.mark.parametrize("page", [1, "backup.md", "en/backup.md", "docs/en/backup.md"])
def test_a_page_is_named_by_number_or_by_the_end_of_its_path(page: Page) -> None:
    """An answer that begins with a labelled page is correct, one that cites it later partly."""
    assert grade(case(pages=[page]), answered("So it is [1]. More [3].")) is Grade.CORRECT
    assert grade(case(pages=[page]), answered("So it is [3]. More [1].")) is Grade.PARTLY
    assert grade(case(pages=[page]), answered("So it is [3].")) is Grade.UNREAD


def test_the_end_of_a_path_is_whole_names() -> None:
    """`up.md` is not the page `backup.md`."""
    assert grade(case(pages=["up.md"]), answered("So it is [1].")) is Grade.UNREAD


def test_a_page_that_helps_answers_partly() -> None:
    """It is no wrong answer, and no whole one."""
    assert grade(case(pages=[1], helps=[3]), answered("So it is [3].")) is Grade.PARTLY


def test_every_part_of_a_question_wants_its_answer() -> None:
    """One of two parts is partly; one of several acceptable answers of a part is enough."""
    parts = [[{"page": 1}, {"page": 3}], [{"page": "disk.md", "sentences": [WAIT]}]]
    assert grade(case(parts=parts), answered("So it is [3]. Wait until the disk is written [2].")) is Grade.CORRECT
    assert grade(case(parts=parts), answered("So it is [1].")) is Grade.PARTLY


@pytest.mark.parametrize(
    ("result", "answerable", "unanswerable"),
    [
        (ended(Outcome.CLARIFICATION), Grade.NEEDLESS_QUESTION, Grade.RIGHT_REFUSAL),
        (ended(Outcome.PAGES_SHOWN, 3, 1), Grade.RIGHT_PAGES, Grade.RIGHT_REFUSAL),
        (ended(Outcome.PAGES_SHOWN, 3), Grade.WRONG_PAGES, Grade.RIGHT_REFUSAL),
        (ended(Outcome.HANDED_OFF), Grade.NOTHING, Grade.RIGHT_REFUSAL),
        (ended(Outcome.DECLINED), Grade.NOTHING, Grade.RIGHT_REFUSAL),
        (answered("So it is [1]."), Grade.CORRECT, Grade.WRONG),
    ],
)
def test_what_is_not_stated_is_judged_by_whether_the_manual_answers(
    result: StructuredAgentResult, answerable: Grade, unanswerable: Grade
) -> None:
    """A question back and a refusal are right where nothing answers, and needless where something does."""
    assert grade(case(pages=["backup.md"]), result) is answerable
    assert grade(case(outcome="handed_off"), result) is unanswerable


def test_a_turn_that_is_labelled_by_its_end_alone_is_not_judged_by_pages() -> None:
    """Nobody said what answers it."""
    assert grade(case(outcome="answered"), answered("So it is [1].")) is None
    assert grade(case(route="normal"), ended(Outcome.HANDED_OFF)) is None


@pytest.mark.parametrize(
    ("labels", "draft", "expected"),
    [
        ({"pages": [1], "must_say": ["for 7 days"]}, "Backups are kept for 30 days [1].", Grade.WRONG),
        (
            {"pages": [1], "must_say": ["for 7 days"]},
            "Backups are kept [1] **for 7** [days](../a.md) [1].",
            Grade.CORRECT,
        ),
        ({"pages": [1], "must_say": ["for 7 days"]}, "Backups are kept for 77 days [1].", Grade.WRONG),
        ({"pages": [1], "must_say": ["for 7 days"]}, "Backups are kept for 7 days [3].", Grade.UNREAD),
        ({"pages": [1], "must_not_say": ["FOR 30 days"]}, "Backups are kept for 30 days [1].", Grade.WRONG),
        ({"pages": [1], "must_not_say": ["for 30 days"]}, "Backups are kept for 7 days [1].", Grade.CORRECT),
        ({"must_say": ["for 7 days"]}, "Backups are kept for 7 days [3].", Grade.CORRECT),
        ({"must_say": ["for 7 days"]}, "Backups are kept for 30 days [3].", Grade.WRONG),
        ({"must_say": ["5 ml"]}, "It holds 0.5 ml [1].", Grade.WRONG),
        ({"must_say": ["500 rubles"]}, "It costs 1,500 rubles [1].", Grade.WRONG),
        ({"must_say": ["1 500 rubles"]}, "It costs 1\u00a0500 rubles [1].", Grade.CORRECT),
        ({"outcome": "answered", "must_not_say": ["for 30 days"]}, "Kept for 30 days [1].", Grade.WRONG),
        ({"outcome": "answered", "must_not_say": ["for 30 days"]}, "Kept for 7 days [1].", None),
        ({"outcome": "declined", "must_say": ["sorry"]}, "Sorry [1].", Grade.WRONG),
    ],
)
def test_an_answer_says_what_it_must_and_not_what_it_must_not(
    labels: dict[str, object], draft: str, expected: Grade | None
) -> None:
    """All words in their order, mark-up aside; else the answer is wrong, also where it is from the right page."""
    assert grade(case(**labels), answered(draft)) is expected
    if "outcome" not in labels:
        assert grade(case(**labels), ended(Outcome.DECLINED)) is Grade.NOTHING


def test_a_turn_that_should_show_pages_is_no_miss_if_it_shows_the_right_ones() -> None:
    """It ended as its label says; with other pages it did not."""
    shown = case(outcome="pages_shown", pages=[1])
    assert describe_miss(CaseResult(shown, ended(Outcome.PAGES_SHOWN, 3, 1))) == ""
    assert describe_miss(CaseResult(shown, ended(Outcome.PAGES_SHOWN, 3))) == "pages shown, none right"
    assert describe_miss(CaseResult(case(pages=[1]), ended(Outcome.PAGES_SHOWN, 1))) == "pages shown, a right one"


def test_what_must_be_said_has_words() -> None:
    """A label of signs alone would be met by every answer."""
    for field in ("must_say", "must_not_say"):
        with pytest.raises(ValueError, match="at least one word"):
            case(outcome="answered", **{field: ["?!"]})


def test_how_sure_an_answer_is_is_the_mean_confidence_of_what_it_cites() -> None:
    """What was found and not cited does not count."""
    assert estimate(answered("So it is [1]. More [2].")) == pytest.approx(0.8)
    assert estimate(answered("Hello!")) is None


def test_the_estimate_of_relevance_stands_above_confidence() -> None:
    """Of several parts that are answered, by the least sure one; what is left open says nothing."""
    result = answered("So it is [1].")
    report = result.guardian
    assert report is not None
    parts = [
        PartFinding(text=str(sure), status=status, estimate=sure)
        for sure, status in ((0.9, PartStatus.ANSWERED), (0.8, PartStatus.ANSWERED), (0.1, PartStatus.NOT_FOUND))
    ]
    judged = report.model_copy(update={"parts": parts})
    assert estimate(result.model_copy(update={"guardian": judged})) == pytest.approx(0.8)


def test_why_there_is_no_answer_is_the_exit_and_the_guardians_reasons() -> None:
    """The row of DT-008, and the names of the reasons without what stands behind them."""
    report = GuardianReport(
        verdict=Verdict.FAIL, risk_level=RiskLevel.LOW, reasons=["low_evidence_confidence(avg=0.55)", "abstained"]
    )
    row = DecisionRecord(node="safe_exit", table="DT-008", row="pages", outcome="")
    result = ended(Outcome.PAGES_SHOWN).model_copy(update={"guardian": report, "decisions": [row]})
    assert cause(result) == "pages: low_evidence_confidence, abstained"
    assert cause(ended(Outcome.ERROR)) == "error"


def test_what_is_wrong_and_stated_stands_first_and_what_is_unread_is_named() -> None:
    """The tables count each grade, wrong answers by how sure they were, and the causes of what was not answered."""
    results = [answered("So it is [1]."), answered("Not so [2]."), answered("Perhaps [3]."), ended(Outcome.DECLINED)]
    one = case(pages=[1], wrong_pages=[2])
    found = [GradedTurn(one, result, came_to) for result in results if (came_to := grade(one, result))]
    assert "| language | questions | wrong and stated | correct |" in grade_table(found)
    assert "| en | 4 | 25% (1/4;" in grade_table(found)
    assert "| 0.7 to 0.8 | 1 | 100% (1/1;" in estimate_table(found)
    assert "| declined | 1 | 1 |" in cause_table(found)
    assert to_read(found) == ["q: docs/en/other.md"]
    assert points(found, Grade.WRONG) == [(0.9, False), (0.7, True), (0.5, False)]


def test_an_answer_of_a_label_has_a_page() -> None:
    """Sentences alone name nothing."""
    with pytest.raises(ValueError, match="page"):
        AcceptableAnswer.model_validate({"sentences": [WAIT]})
