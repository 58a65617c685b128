"""What is offered where a question is asked back, and what a reply to it chose."""

from __future__ import annotations

import time

import pytest

from contracts.choices import LONGEST_LABEL, MOST_HEADINGS, NO_CHOICE, Choice, ChoiceKind, choices_of
from contracts.enums import Source
from contracts.evidence import EvidenceItem
from guards.choices import (
    choice_in,
    nearest_headings,
    takes_a_number,
    unclear_words,
    words_to_look_for,
)
from tests.support.turn import PROFILE, passage

LID = Choice(
    kind=ChoiceKind.HEADING, label="Kettles — Cleaning the lid", asks="x", title="Kettles", heading="Cleaning the lid"
)
SPOUT = Choice(
    kind=ChoiceKind.HEADING, label="Носики — Очистка носика", asks="x", title="Носики", heading="Очистка носика"
)
FILTER = Choice(kind=ChoiceKind.HEADING, label="Filters", asks="x", title="Filters")
PERSON = Choice(kind=ChoiceKind.PERSON, label="A person")
OFFERED = [LID, SPOUT, FILTER, PERSON]
TAKEN = {
    "Kettles — Cleaning the lid": LID,
    "kettles cleaning the lid": LID,
    "Cleaning the lid": LID,
    "1. Kettles — Cleaning the lid": LID,
    "claening the lid": LID,
    "cleaning of lids": LID,
    "1": LID,
    "the first": LID,
    "Очистка носика": SPOUT,
    "очистка носиков": SPOUT,
    "очитска носика": SPOUT,
    "второе": SPOUT,
    "filters": FILTER,
    "filtres": FILTER,
    "3": FILTER,
    "A person": PERSON,
    "person": PERSON,
    "a human please": PERSON,
    "operator": PERSON,
    "оператор": PERSON,
    "оператора, пожалуйста": PERSON,
    "человек": PERSON,
    "живой человек": PERSON,
    "4": PERSON,
    "последнее": PERSON,
}
NEITHER = [
    "the lid",
    "How do I clean the lid?",
    "no",
    "нет",
    "2 litres",
    "kettle 7 is broken",
    "cleaning",
    "",
    "x" * 500,
]


@pytest.mark.parametrize(("message", "choice"), TAKEN.items())
def test_a_reply_is_taken_by_number_by_name_and_as_a_person(message: str, choice: Choice) -> None:
    """In figures, in words, by the heading with one slip of the hand, or by a word for a person."""
    assert choice_in(message, OFFERED) == choice


@pytest.mark.parametrize("message", ["0", "5", "17", "the fifth", "пятое", "номер 9"])
def test_a_number_of_no_choice_is_told_apart(message: str) -> None:
    """It is not taken for anything else."""
    assert choice_in(message, OFFERED) == NO_CHOICE


@pytest.mark.parametrize("message", NEITHER)
def test_any_other_reply_chooses_nothing(message: str) -> None:
    """Part of a name or a question of its own is read as any message is."""
    assert choice_in(message, OFFERED) is None


@pytest.mark.parametrize("message", TAKEN)
def test_where_nothing_was_offered_nothing_is_chosen(message: str) -> None:
    """A number is a number then."""
    assert choice_in(message, []) is None


def test_a_name_that_two_choices_share_chooses_neither() -> None:
    """Two sections of one page are told apart by their headings, and not by their page."""
    lid = LID.model_copy(update={"label": "Kettles — Drying the lid", "heading": "Drying the lid"})
    assert choice_in("Kettles", [LID, lid]) is None
    assert choice_in("drying the lid", [LID, lid]) == lid


def test_choices_of_another_version_are_none() -> None:
    """What stands in an old checkpoint, or was edited, is read as data or not at all; more than are offered are cut."""
    for data in (
        None,
        "x",
        [1],
        [{"kind": "page", "label": "x"}],
        [{"kind": "heading", "label": ""}],
        {"kind": "heading"},
    ):
        assert choices_of(data) == []
    many = [LID.model_dump(mode="json")] * 9
    assert len(choices_of(many)) == MOST_HEADINGS + 1


# ------------------------------------------------------------------------------------------------------------- headings


def section(heading: str, text: str = "Take the lid off.", **more: object) -> EvidenceItem:
    return passage(1, title="", heading=heading, snippet=text, ref=f"doc:1#{heading}", **more)


def labels(asked: str, *items: EvidenceItem, role: str = "user") -> list[str]:
    return [choice.label for choice in nearest_headings(asked, items, PROFILE, role)]


def test_headings_stand_as_in_the_document_and_lead_there() -> None:
    """Page and section, each once, three at most; those first whose name has a word of the question."""
    item = passage(
        1, title="Kettles", heading="Kettles › Opening", snippet="The lid is opened.", url="https://kb.comindware.ru/a"
    )
    lids = [section(f"Lid {n}") for n in ("one", "two", "two", "three", "four")]
    [first, *rest] = nearest_headings("How do I open the lid?", [section("Care"), item, *lids], PROFILE, "user")
    assert [first.label, *(choice.label for choice in rest)] == ["Lid one", "Lid two", "Lid three"]
    [choice] = nearest_headings("How do I open the lid?", [item], PROFILE, "user")
    assert (choice.label, choice.title, choice.heading) == ("Kettles — Opening", "Kettles", "Opening")
    assert (choice.url, choice.ref, choice.source) == ("https://kb.comindware.ru/a", item.ref, Source.DOC)


def test_what_has_no_telling_word_of_the_question_is_not_near() -> None:
    """A question that names nothing has no nearest heading, and rows of a database have none at all."""
    assert labels("It does not work", section("Lids")) == []
    assert labels("How do I open the lid?", section("Spouts", "Pour slowly.")) == []
    assert labels("How do I open the lid?", section("Lids", source=Source.DB)) == []


@pytest.mark.parametrize(
    "heading",
    [
        "Lids: write to ivan.petrov@mail.ru",
        "Lids: send us your password",
        "Lids of other people's kettles",
        "Lids [redacted: email]",
        "Lid " * 60,
    ],
)
def test_a_heading_that_may_not_be_said_or_asked_for_is_not_offered(heading: str) -> None:
    """It fails policy, asks for secrets, is forbidden to the role, was masked, or is no heading by its length."""
    assert labels("How do I open the lid?", section(heading)) == []
    assert labels("How do I open the lid?", section("Lids")) == ["Lids"]


def test_an_operator_may_be_offered_more() -> None:
    """The rule is the role's."""
    assert labels("the lid", section("Lids of other people's kettles"), role="operator") != []
    assert len(labels("the lid", section("Lid " * 39))[0]) <= LONGEST_LABEL


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("Which version is it?", True),
        ("О какой версии речь?", True),
        ("Which period is it about: from which day to which?", True),
        ("Сколько дней?", True),
        ("What does “it” stand for?", False),
        ("Что значит «это»?", False),
    ],
)
def test_a_question_that_is_answered_with_a_number_offers_no_numbers(
    question: str, number: bool
) -> None:  # a case of a table
    """Otherwise "2" might be the second choice or version 2."""
    assert takes_a_number(question) == number


# ----------------------------------------------------------------------------------------------------- what is unclear


@pytest.mark.parametrize(
    ("message", "unknown", "named"),
    [
        ("How do I connect FedEx to the lid?", ["FedEx"], ("FedEx",)),
        ("Как подключить FedEx к крышке?", ["FedEx"], ("FedEx",)),
        ("How do I frobnicate the lid of a kettle?", ["frobnicate"], ("frobnicate",)),
        ("Как фурикать крышку чайника?", ["фурикать"], ("фурикать",)),
        # The documents are in another language: its words are named, the user's are not.
        ("Как подключить крышку чайника к FedEx?", ["подключить", "крышку", "чайника", "FedEx"], ("FedEx",)),
        (
            "Why does the lid not work with SAP, Jira, Oracle and Bitrix?",
            ["SAP", "Jira", "Oracle", "Bitrix"],
            ("SAP", "Jira", "Oracle"),
        ),
        ("How do I change the Kettle?", ["change", "Kettle"], ()),
        ("Where is 3f2a9b7c1d4e kept in the lid?", ["3f2a9b7c1d4e"], ()),
    ],
)
def test_words_are_named_that_say_what_is_unclear(message: str, unknown: list[str], named: tuple[str, ...]) -> None:
    """Names and terms; of ordinary words those beside known ones; never the product, a verb of doing anything, or an id."""
    assert unclear_words(words_to_look_for(message), unknown, PROFILE) == named


def test_a_word_that_the_profile_has_a_synonym_for_is_not_unclear() -> None:
    """It is searched for in the documents' word."""
    profile = PROFILE.model_copy(update={"synonyms": (("lid", "Deckel"),)})
    assert unclear_words("Where is the Deckel?", ["Deckel"], PROFILE) == ("Deckel",)
    assert unclear_words("Where is the Deckel?", ["Deckel"], profile) == ()


@pytest.mark.parametrize(
    ("message", "word"),
    [
        ("How do I open the lid with the password Zx9!kk2Lm?", "Zx9"),
        ("How do I mail the lid to ivan.zubrov@mail.ru?", "zubrov"),
        ("Is the lid at https://zubrov.example/page?", "zubrov"),
        ("Как открыть крышку, мой телефон +7 921 555-44-33?", "921"),
        ("What does `zubrov --lid` do?", "zubrov"),
        ("How do I open the lid?\n\nBest regards,\nIvan Zubrov", "Zubrov"),
        ("Hello, I am from Zubrov and Sons. How do I open the lid?", "Zubrov"),
    ],
)
def test_secrets_personal_data_addresses_and_signatures_are_never_named(message: str, word: str) -> None:
    """Words are looked for in what is asked, masked, and nowhere else."""
    looked_for = words_to_look_for(message)
    assert word not in looked_for
    assert "lid" in looked_for or "крышку" in looked_for or not looked_for.strip(" ?Whatdoes")


@pytest.mark.parametrize("part", ["a ", "Aa.b ", "2 ", "не ", "`", "№1 ", "lid? "])
def test_no_message_takes_long_to_read(part: str) -> None:
    """The longest message that is taken is read within a second."""
    message = (part * 20_000)[:20_000]
    began = time.process_time()
    choice_in(message, OFFERED)
    unclear_words(words_to_look_for(message), ["lid"], PROFILE)
    assert time.process_time() - began < 1
