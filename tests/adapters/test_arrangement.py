"""A draft that a model arranges: it names sentences of the evidence, and every word but a few is the evidence's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.drafting.arrangement import MOST_PIECES, ArrangedForm, read_choice
from adapters.drafting.replies import Unusable
from adapters.models.chat import Reply
from contracts.enums import DraftKind, Language, RequestType, RequiredAction, ResponseFormat
from contracts.ports import Draft, DraftRequest
from contracts.spec import ArchitectSpec
from guards.grounding_check import check_grounding
from tests.support.turn import PROFILE, passage

KETTLE = """\
The kettle boils at 100 degrees. Steam switches it off. That means silence.

To descale it:

1. Fill it with vinegar.
2. Wait for an hour.
3. Rinse it twice.

| Part | Price |
| --- | --- |
| Lid | 5 euros |
"""
LISTED = """\
S1 The kettle boils at 100 degrees.
S2 Steam switches it off.
S3 That means silence.
S4 To descale it:
S5 Fill it with vinegar.
S6 Wait for an hour.
S7 Rinse it twice."""


REQUEST = DraftRequest(
    question="How do I descale the kettle?",
    language=Language.EN,
    request_type=RequestType.HOWTO_POLICY,
    intent="",
    subqueries=("descale the kettle",),
    evidence=(passage(1, snippet=KETTLE),),
    spec=ArchitectSpec(),
)


def form(**given: Any) -> ArrangedForm:
    request = replace(REQUEST, **given)
    made = ArrangedForm(request, PROFILE)
    made.show(request.evidence)
    return made


def read(text: str, made: ArrangedForm | None = None, finish: str = "stop") -> Draft | Unusable:
    return (made or form()).read(Reply(text, (), finish, ()))


def drafted(text: str, made: ArrangedForm | None = None) -> str:
    draft = read(text, made)
    assert isinstance(draft, Draft), draft
    assert draft.kind is DraftKind.ANSWER
    return draft.text


def test_sentences_items_and_tables_are_numbered_under_their_title() -> None:
    """What may be chosen: each sentence, what leads into a list, each item of it, and a table as a whole."""
    shown = form().show((passage(1, snippet=KETTLE),))
    assert LISTED in shown
    assert "# Page 1\nS1" in shown
    assert shown.count("S8 ") == 1
    assert "S9 " not in shown


def test_what_is_chosen_is_quoted_in_the_order_of_the_model() -> None:
    """Each sentence has its own citation."""
    assert drafted("S2\nS1") == "Steam switches it off [1].\n\nThe kettle boils at 100 degrees [1]."


def test_a_list_keeps_its_lead_and_counts_from_one() -> None:
    """A list alone would begin in mid-air, and a second step without a first one would look like a gap."""
    assert drafted("S6, S7") == "To descale it [1]:\n\n1. Wait for an hour [1].\n2. Rinse it twice [1]."
    assert drafted("S4\nS5").count("To descale it") == 1


def test_a_sentence_that_goes_on_from_another_comes_with_it() -> None:
    """Alone, "That means" would mean what somebody reads into it."""
    assert drafted("Also: S3") == "Steam switches it off [1].\n\nThat means silence [1]."
    assert drafted("S2\nS3").count("Steam") == 1


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("S1\nS3", [1, 3]),
        ("- S1\n- **S3**", [1, 3]),
        ("s1, s3.", [1, 3]),
        ("С1 и С3", [1, 3]),
        ("Sentence S3 answers it, as S1 does, and S3 again.", [3, 1]),
        ("[S2]", [2]),
        ("2\n4", [2, 4]),
        ("2, 4", [2, 4]),
        ("It takes 2 hours.", []),
        ("The S3 bucket of version 12", [3]),
        ("", []),
    ],
)
def test_numbers_are_read_however_a_model_writes_them(text: str, numbers: list[int]) -> None:
    """With the letter anywhere, in either script; without it, only where nothing else is written."""
    assert [number for number, _ in read_choice(text, Language.EN)] == numbers


def test_of_other_words_only_those_of_the_list_stay() -> None:
    """They join, and claim nothing."""
    assert drafted("Also: S2").startswith("Also: Steam switches it off")
    assert drafted("In addition, S2").startswith("In addition: Steam")
    assert drafted("Then: S2").startswith("Steam switches")
    assert drafted("It never fails: S2") == "Steam switches it off [1]."
    assert drafted("Также: S2") == "Steam switches it off [1]."


@pytest.mark.parametrize(
    "text", ["S9", "S0", "I do not know.", " ".join(f"S{n}" for n in range(1, MOST_PIECES + 2)), ""]
)
def test_what_names_no_sentence_is_no_draft(text: str) -> None:
    """Nor what names one that is not there, or more than an answer has; the model is told what to write."""
    unusable = read(text)
    assert isinstance(unusable, Unusable)
    assert "S3" in unusable.note


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('{"sentences": [2, 1, 2]}', "Steam switches it off [1].\n\nThe kettle boils at 100 degrees [1]."),
        ('{"sentences": []}', "NO_ANSWER"),
        ('{"sentences": [9]}', None),
        ('{"sentences": "all"}', None),
        ("[1, 2]", "The kettle boils at 100 degrees [1].\n\nSteam switches it off [1]."),
    ],
)
def test_a_schema_is_filled_in_with_numbers_alone(text: str, answer: str | None) -> None:
    """A server that holds replies to a schema is given one; an empty list says that nothing answers."""
    draft = read(text)
    assert (draft.text if isinstance(draft, Draft) else None) == answer


def test_a_reply_that_was_cut_is_no_draft() -> None:
    """Its last number may be half of one."""
    assert isinstance(read("S1\nS", finish="length"), Unusable)


def test_abstaining_and_asking_back_are_as_in_writing() -> None:
    """The two marks have the same meaning."""
    silent, asks = read("NO_ANSWER"), read("QUESTION: Which kettle?")
    assert isinstance(silent, Draft)
    assert silent.kind is DraftKind.ABSTENTION
    assert isinstance(asks, Draft)
    assert (asks.kind, asks.text) == (DraftKind.CLARIFICATION, "Which kettle?")


def test_what_no_answer_may_hold_cannot_be_chosen() -> None:
    """Forbidden words are not among the sentences, and of a link to another host the words alone."""
    page = (passage(1, snippet="It is cheap.\n\nIt [boils](https://elsewhere.org/kettle)."),)
    request = replace(REQUEST, evidence=page, spec=ArchitectSpec(forbidden_content=("cheap",)))
    made = ArrangedForm(request, PROFILE.model_copy(update={"allowed_link_domains": ("kettle.example",)}))
    assert "S1 It boils." in made.show(page)
    assert "S2" not in made.show(page)


def test_the_numbers_are_those_of_what_was_shown() -> None:
    """Of a passage that was cut to the window, only whole sentences are offered, as they stand in the whole one."""
    made = form()
    shown = made.show((passage(1, snippet="The kettle boils at 100 degrees. Steam switches it o"),))
    assert "S1 The kettle boils at 100 degrees." in shown
    assert "S2" not in shown
    assert isinstance(read("S2", made), Unusable)


def test_a_second_try_says_what_was_wrong_with_the_first() -> None:
    """As for a draft that is written."""
    again = form(previous="It boils.", reasons=("missing citation",), actions=(RequiredAction.REGENERATE_DRAFT,))
    assert "missing citation" in again.task("")
    assert again.task("Write numbers.").endswith("Write numbers.")


def test_an_arranged_answer_has_the_form_of_the_contract() -> None:
    """It is composed as a quotation is, so JSON has its keys and its citations."""
    made = form(spec=ArchitectSpec(response_format=ResponseFormat.JSON))
    assert drafted("S1\nS2", made).startswith("{")


def judged(text: str) -> tuple[str, ...]:
    finding = check_grounding(
        text, [passage(1, snippet=KETTLE)], request_type=RequestType.HOWTO_POLICY, kind=DraftKind.ANSWER
    )
    return tuple(map(str, finding.reasons))


@given(st.sets(st.integers(1, 8), min_size=1), st.sampled_from(["", "Also: ", "However: ", "For example: "]))
def test_whatever_is_chosen_is_proved_by_its_sources(numbers: set[int], word: str) -> None:
    """No choice and no connecting word makes a claim that the documents do not have."""
    assert judged(drafted("\n".join(f"{word}S{number}" for number in sorted(numbers)))) == ()


def test_steps_in_another_order_are_for_the_guardian_to_find() -> None:
    """Each of them is quoted word for word, and the whole says what no document says."""
    assert judged(drafted("S7\nS6\nS5")) != ()
