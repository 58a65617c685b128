"""What stands around a question in what users send: it keeps the question, its labels and its side."""

from __future__ import annotations

import shutil
from difflib import SequenceMatcher
from pathlib import Path

import pytest

from contracts.enums import Language, Outcome
from evals.answers.corpora import AnswerCorpus, ManualQuestion, of_handbook, read_dialogues
from evals.answers.grades import Grade
from evals.answers.report import AnsweredQuestion, section
from evals.answers.tables import GradedTurn
from evals.answers.wrappings import DIALOGUE, NAMES, PAIRS, PLAIN, WRAPPINGS, PosedQuestion, misspelt, pose
from language.words import detect


@pytest.fixture(scope="module")
def handbook(handbook_data: Path, tmp_path_factory: pytest.TempPathFactory) -> AnswerCorpus:
    # What was read in before is not read again.
    return of_handbook(Path(shutil.copytree(handbook_data, tmp_path_factory.mktemp("handbook") / "data")))


@pytest.fixture(scope="module")
def sent(handbook: AnswerCorpus) -> list[PosedQuestion]:
    return list(pose(handbook, handbook.questions))


def test_every_question_is_sent_in_every_wrapping(handbook: AnswerCorpus, sent: list[PosedQuestion]) -> None:
    """Each single wrapping once for each question, pairs and dialogues besides; the same ones each time."""
    for name in WRAPPINGS:
        assert sum(one.wrapping == name for one in sent) == len(handbook.questions)
    assert {one.wrapping for one in sent} == set(NAMES)
    assert list(pose(handbook, handbook.questions)) == sent


def test_ids_are_unique(sent: list[PosedQuestion]) -> None:
    """A conversation has its own id."""
    assert len({one.case.id for one in sent}) == len(sent)


def test_a_wrapping_keeps_the_question_and_its_language(sent: list[PosedQuestion]) -> None:
    """The question stands in it word for word, but for the two letters that are swapped, and the language stays."""
    plain = {one.plain: one.case for one in sent if one.wrapping == PLAIN}
    for one in sent:
        if one.wrapping in WRAPPINGS and one.wrapping != "misspelt":
            assert plain[one.plain].says[0] in one.case.says[0]
            assert one.case.parts == plain[one.plain].parts
            assert detect(one.case.says[0]) is detect(plain[one.plain].says[0])


def test_all_wrappings_and_languages_of_a_question_are_on_one_side(sent: list[PosedQuestion]) -> None:
    """Who tunes on a question has not seen it in another dress, nor in the other language."""
    sides: dict[str, set[bool]] = {}
    for one in sent:
        if one.wrapping in WRAPPINGS:
            sides.setdefault(one.plain.removesuffix(f"-{one.case.language}"), set()).add(one.held_back)
    assert all(len(side) == 1 for side in sides.values())


def test_a_pair_has_the_parts_of_both_questions(handbook: AnswerCorpus, sent: list[PosedQuestion]) -> None:
    """Two questions about different pages and of one side, and both are asked."""
    by_text = {one.text: one for one in handbook.questions}
    pairs = [one for one in sent if one.wrapping == PAIRS]
    assert len(pairs) > 100
    for one in pairs:
        mine = [question for text, question in by_text.items() if text in one.case.says[0] and question.parts[0]]
        assert len(one.case.parts) == 2
        assert any(question.parts[0] == one.case.parts[1] for question in mine)


def test_a_dialogue_is_judged_by_what_its_last_message_amounts_to(
    handbook: AnswerCorpus, sent: list[PosedQuestion]
) -> None:
    """It begins with a question as it stands, and has that other question's labels."""
    by_id = {one.id: one for one in handbook.questions}
    dialogues = [one for one in sent if one.wrapping == DIALOGUE]
    assert len(dialogues) == sum(one.begins.startswith("handbook-") for one in read_dialogues())
    for one in dialogues:
        assert 2 <= len(one.case.says) <= 4
        assert one.case.parts == by_id[one.plain].parts


def question(text: str, language: Language = Language.EN) -> ManualQuestion:
    return ManualQuestion("q-1-en", language, text, "page.md", ((),))


@pytest.mark.parametrize("text", ["How do I restore a backup?", "Как восстановить резервную копию?"])
def test_a_slip_swaps_two_letters_of_one_long_word(text: str) -> None:
    """Nothing is lost, and nothing else is changed."""
    slipped = misspelt(question(text))
    assert slipped != text
    assert sorted(slipped) == sorted(text)
    assert SequenceMatcher(None, text, slipped, autojunk=False).ratio() > 0.9


def test_a_question_without_a_long_word_is_not_misspelt() -> None:
    """There is nothing to swap."""
    assert misspelt(question("How is it to be?")) == "How is it to be?"


def test_what_the_manual_does_not_answer_is_not_to_be_answered() -> None:
    """A question without parts is labelled as one that nothing is stated for."""
    from evals.answers.wrappings import _case

    case = _case(ManualQuestion("q-1-en", Language.EN, "How?", "page.md", ()), PLAIN, ("How?",))
    assert case.unanswerable
    assert case.outcome is Outcome.HANDED_OFF


def test_the_report_keeps_the_held_back_third_apart(handbook: AnswerCorpus, sent: list[PosedQuestion]) -> None:
    """With it, each language has two rows; without it, what was never asked has none."""
    from contracts.result import StructuredAgentResult

    result = StructuredAgentResult(language=Language.EN, outcome=Outcome.HANDED_OFF, answer_text="")
    found = [
        AnsweredQuestion("handbook", one, GradedTurn(one.case, result, Grade.NOTHING))
        for one in sent
        if one.wrapping == PLAIN
    ]
    both = "\n".join(section(found, [handbook], held_back=True))
    tuned = "\n".join(section([one for one in found if not one.posed.held_back], [handbook], held_back=False))
    assert "| handbook | ru | held back |" in both
    assert "held back |" not in tuned
