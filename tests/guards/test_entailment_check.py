"""Does each claim follow from what it cites?"""

from __future__ import annotations

import pytest

from contracts.enums import CheckStatus, ClaimStatus, Entailment, EntailmentMode, RequiredAction, Source
from contracts.evidence import EvidenceItem
from contracts.ports import EntailmentAnswer
from contracts.reasons import Reason, write_reasons
from contracts.report import ClaimFinding, Finding
from guards.entailment_check import LEAST_CONFIDENCE, entailment_questions, with_entailment, without_entailment

ADVISORY, BINDING = EntailmentMode.ADVISORY, EntailmentMode.BINDING
YES, MAYBE, NO = (
    EntailmentAnswer(each, 0.9) for each in (Entailment.ENTAILED, Entailment.NEUTRAL, Entailment.CONTRADICTED)
)
A_TABLE = "| part | made of |\n| --- | --- |\n| lid | tin [1] |"


def claim(text: str, *cites: int, status: ClaimStatus = ClaimStatus.SUPPORTED) -> ClaimFinding:
    return ClaimFinding(text=text, status=status, cites=cites or (1,))


def evidence(*snippets: str) -> list[EvidenceItem]:
    return [
        EvidenceItem(
            source=Source.DOC, ref=f"doc:{n}", snippet=snippet, confidence=0.9, title="Kettles", heading="Parts"
        )
        for n, snippet in enumerate(snippets, 1)
    ]


def grounding(*claims: ClaimFinding, status: CheckStatus = CheckStatus.OK) -> Finding:
    failed = status is CheckStatus.FAILED
    return Finding(
        check="grounding",
        status=status,
        reasons=(Reason("value_not_in_cited_evidence", ("90",)),) if failed else (),
        actions=(RequiredAction.REGENERATE_DRAFT,) if failed else (),
        advice=(Reason("claim_unlike_its_source", ("x",)),),
        claims=claims,
    )


# ------------------------------------------------------------------------------------------------------- what is asked


def test_a_claim_is_asked_about_with_all_that_it_cites() -> None:
    """The claim goes without its citations, and title, heading and snippet of each passage it cites with it, joined."""
    (question,) = entailment_questions(
        grounding(claim("The lid is made\nof tin [1][2].", 1, 2)), evidence("The lid is tin.", "So is the spout.")
    )
    assert question.claim == "The lid is made of tin."
    assert question.cited == "Kettles\nParts\nThe lid is tin.\n\nKettles\nParts\nSo is the spout."


@pytest.mark.parametrize(
    "left_out",
    [
        *(claim("The lid is tin [1].", status=status) for status in ClaimStatus if status is not ClaimStatus.SUPPORTED),
        claim(A_TABLE),
        claim("| lid | tin [1] |"),
        claim("```\nlid = tin\n```"),
        claim("[1]"),
    ],
    ids=lambda one: f"{one.status}: {one.text[:12]!r}",
)
def test_only_supported_sentences_are_asked_about(left_out: ClaimFinding) -> None:
    """What grounding did not find supported, code, tables and bare citations are left out."""
    kept = claim("The spout is brass [1].")
    asked = entailment_questions(grounding(left_out, kept), evidence("..."))
    assert [question.claim for question in asked] == ["The spout is brass."]


def test_a_bar_makes_no_row_of_a_sentence() -> None:
    """Or else whoever writes one would not be asked."""
    (question,) = entailment_questions(grounding(claim("The lid is tin | lead [1].")), evidence("..."))
    assert question.claim == "The lid is tin | lead."


def test_the_count_of_rows_is_shown_with_the_rows() -> None:
    """What grounding may cite, the checker must see."""
    item = evidence("x")[0].model_copy(update={"found": "12", "source": Source.DB})
    (question,) = entailment_questions(grounding(claim("There are 12 [1].")), [item])
    assert question.cited.endswith("\n12")


@pytest.mark.parametrize("item", ["- The lid is tin [1].", "12. The lid is tin [1]."])
def test_an_item_of_a_list_is_asked_about_as_a_sentence(item: str) -> None:
    """The marker in front of an item is no part of the claim."""
    (question,) = entailment_questions(grounding(claim(item)), evidence("..."))
    assert question.claim == "The lid is tin."


def test_without_claims_nothing_is_asked() -> None:
    """A finding without claims, as of a greeting or an abstention, has no questions."""
    assert entailment_questions(grounding(status=CheckStatus.NOT_ASKED), evidence("...")) == []


# ----------------------------------------------------------------------------------------------- what comes of answers


@pytest.mark.parametrize("mode", [ADVISORY, BINDING])
def test_claims_that_follow_change_nothing(mode: EntailmentMode) -> None:
    """Where every claim is entailed, the finding is what it was."""
    found = grounding(claim("The lid is tin [1]."))
    assert with_entailment(found, [YES], mode) == found


def test_as_advice_the_checkers_word_leaves_the_verdict_alone() -> None:
    """Advisory: what does not follow and what is contradicted are named as advice, behind what stood there."""
    found = grounding(claim("The lid is tin [1]."), claim("The lid is lead [1]."), claim("The lid is old [1]."))
    said = with_entailment(found, [YES, NO, MAYBE], ADVISORY)
    assert (said.status, write_reasons(said.reasons), said.actions) == (CheckStatus.OK, (), ())
    assert write_reasons(said.advice) == (
        "claim_unlike_its_source=[x]",
        "claim_not_entailed=[The lid is old [1].]",
        "claim_contradicted=[The lid is lead [1].]",
    )
    assert [one.status for one in said.claims] == [ClaimStatus.SUPPORTED] * 3
    assert [one.advice for one in said.claims] == [(), ("claim_contradicted",), ("claim_not_entailed",)]


def test_binding_the_checkers_word_fails_the_draft() -> None:
    """Binding: both are one reason, in the draft's order, the action is to write anew, and the claims are marked."""
    found = grounding(claim("The lid is tin [1]."), claim("The lid is lead [1]."), claim("The lid is old [1]."))
    said = with_entailment(found, [YES, NO, MAYBE], BINDING)
    assert said.status is CheckStatus.FAILED
    assert write_reasons(said.reasons) == ("claim_not_entailed=[The lid is lead [1]., The lid is old [1].]",)
    assert said.actions == (RequiredAction.REGENERATE_DRAFT,)
    assert write_reasons(said.advice) == write_reasons(found.advice)
    marked = [ClaimStatus.SUPPORTED, ClaimStatus.NOT_ENTAILED, ClaimStatus.NOT_ENTAILED]
    assert [one.status for one in said.claims] == marked


def test_answers_go_to_the_claims_that_were_asked_about() -> None:
    """Claims that are left out do not shift the answers of those behind them."""
    found = grounding(
        claim(A_TABLE), claim("A [9].", 9, status=ClaimStatus.UNRESOLVABLE), claim("The lid is lead [1].")
    )
    said = with_entailment(found, [NO], BINDING)
    statuses = [ClaimStatus.SUPPORTED, ClaimStatus.UNRESOLVABLE, ClaimStatus.NOT_ENTAILED]
    assert [one.status for one in said.claims] == statuses


def test_what_has_failed_already_keeps_its_reasons() -> None:
    """Reasons of grounding come first, the checker adds its own, and an action stands there once."""
    said = with_entailment(grounding(claim("The lid is lead [1]."), status=CheckStatus.FAILED), [NO], BINDING)
    assert write_reasons(said.reasons) == (
        "value_not_in_cited_evidence=[90]",
        "claim_not_entailed=[The lid is lead [1].]",
    )
    assert said.actions == (RequiredAction.REGENERATE_DRAFT,)


@pytest.mark.parametrize(
    ("answer", "confidence", "advice"),
    [
        (Entailment.ENTAILED, LEAST_CONFIDENCE, None),
        (Entailment.ENTAILED, 0.49, "claim_not_entailed"),
        (Entailment.CONTRADICTED, LEAST_CONFIDENCE, "claim_contradicted"),
        (Entailment.CONTRADICTED, 0.49, "claim_not_entailed"),
        (Entailment.NEUTRAL, 0.0, "claim_not_entailed"),
    ],
)
def test_a_guess_counts_as_neither_yes_nor_no(answer: Entailment, confidence: float, advice: str | None) -> None:
    """Below a confidence of one half every answer is neutral; from one half on it counts."""
    said = with_entailment(grounding(claim("The lid is tin [1].")), [EntailmentAnswer(answer, confidence)], ADVISORY)
    assert said.claims[0].advice == ((advice,) if advice else ())


def test_a_claim_that_was_not_asked_about_is_named() -> None:
    """Advisory: a claim in a language the checker does not read is advice, and stays what grounding found."""
    said = with_entailment(grounding(claim("Крышка из олова [1].")), [None], ADVISORY)
    assert (said.status, write_reasons(said.reasons)) == (CheckStatus.OK, ())
    assert write_reasons(said.advice)[-1] == "claim_not_asked=[Крышка из олова [1].]"
    assert said.claims[0].status is ClaimStatus.SUPPORTED


def test_binding_a_claim_that_was_not_asked_about_is_not_checked() -> None:
    """What could not be checked is never fine: a person decides, and the claim is named."""
    said = with_entailment(grounding(claim("The lid is tin [1]."), claim("Крышка [1].")), [YES, None], BINDING)
    assert (said.status, write_reasons(said.reasons)) == (CheckStatus.UNCHECKED, ("could_not_check=[entailment]",))
    assert said.actions == (RequiredAction.ESCALATE_TO_HUMAN,)
    assert write_reasons(said.advice)[-1] == "claim_not_asked=[Крышка [1].]"
    assert [one.advice for one in said.claims] == [(), ("claim_not_asked",)]


def test_binding_what_does_not_follow_is_written_anew_whatever_was_not_asked() -> None:
    """The new draft is asked about again, all of it."""
    said = with_entailment(grounding(claim("The lid is tin [1]."), claim("Крышка [1].")), [NO, None], BINDING)
    assert (said.status, write_reasons(said.reasons)) == (
        CheckStatus.FAILED,
        ("claim_not_entailed=[The lid is tin [1].]",),
    )


def test_binding_code_and_rows_are_named() -> None:
    """They are never asked about, so they fail nothing; who reads the report sees what the checker has not seen."""
    found = grounding(claim("| lid | tin [1] |"), claim("The lid is tin [1]."))
    said = with_entailment(found, [YES], BINDING)
    assert (said.status, write_reasons(said.reasons)) == (CheckStatus.OK, ())
    assert write_reasons(said.advice)[-1] == "claim_not_asked=[| lid | tin [1] |]"
    assert with_entailment(found, [YES], ADVISORY) == found
    assert with_entailment(grounding(claim("| lid | tin [1] |")), [], BINDING).advice[-1] == said.advice[-1]


def test_long_claims_are_shortened() -> None:
    """A reason quotes at most 60 characters of a claim, on one line."""
    said = with_entailment(grounding(claim("The lid is\ntin " * 20)), [NO], BINDING)
    assert write_reasons(said.reasons) == (f"claim_not_entailed=[{('The lid is tin ' * 20)[:57]}...]",)


# --------------------------------------------------------------------------------------------- where nobody could say


def test_as_advice_a_checker_that_is_away_is_a_remark() -> None:
    """Advisory: the finding stands, and says that the checker could not be asked."""
    found = grounding(claim("The lid is tin [1]."))
    said = without_entailment(found, ADVISORY, "it is down")
    assert write_reasons(said.advice) == (*write_reasons(found.advice), "could_not_ask=[entailment]")
    assert said.model_copy(update={"advice": found.advice}) == found


def test_binding_a_checker_that_is_away_leaves_the_draft_unchecked() -> None:
    """Binding: "could not be checked" is a status of its own, and a person decides."""
    said = without_entailment(grounding(claim("The lid is tin [1].")), BINDING, "it is down")
    assert said.status is CheckStatus.UNCHECKED
    assert write_reasons(said.reasons) == ("could_not_check=[entailment]",)
    assert said.actions == (RequiredAction.ESCALATE_TO_HUMAN,)
    assert write_reasons(said.advice)[-1] == "entailment: it is down"


def test_binding_a_checker_that_is_away_does_not_hide_what_failed() -> None:
    """Reasons and actions of grounding stay, before those of the checker."""
    said = without_entailment(grounding(claim("x [1]."), status=CheckStatus.FAILED), BINDING, "it is down")
    assert write_reasons(said.reasons) == ("value_not_in_cited_evidence=[90]", "could_not_check=[entailment]")
    assert said.actions == (RequiredAction.REGENERATE_DRAFT, RequiredAction.ESCALATE_TO_HUMAN)


@pytest.mark.parametrize("answers", [[], [YES, YES]])
def test_a_wrong_number_of_answers_is_no_answer(answers: list[EntailmentAnswer]) -> None:
    """Nobody knows which claim they are for, so nothing has been checked."""
    found = grounding(claim("The lid is tin [1]."))
    assert with_entailment(found, answers, BINDING).status is CheckStatus.UNCHECKED
    assert str(with_entailment(found, answers, ADVISORY).advice[-1]) == "could_not_ask=[entailment]"
