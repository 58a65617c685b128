"""What the user reads at the end of a turn without an answer."""

from __future__ import annotations

import re
from typing import Any

import pytest

from adapters.fakes.sources import FakeSource
from assistant.config.profiles import load_profile
from contracts.choices import Choice, ChoiceKind
from contracts.decisions import EXITS
from contracts.decisions.exits import Exit, ExitKind
from contracts.enums import DeliveryStatus, DraftKind, HandOffOutcome, Language, Outcome, Source
from contracts.errors import SourceUnavailable
from contracts.evidence import PageSentence
from contracts.ports import Draft
from contracts.report import HandOff
from guards.choices import named_lookups
from rendering.exits import (
    choices_text,
    minimal_question,
    pages_text,
    plain_exit,
    shown_pages,
    unclear_text,
    what_is_missing,
)
from rendering.hand_off import hand_off_record, hand_off_text
from rendering.synthetic import contact_of
from rendering.texts import texts
from tests.support.turn import PROFILE, UP_TO_THE_VERDICT, begin_turn, passage, plan, play, ports

REFUSALS = sorted({row.then.text for row in EXITS.rows if row.then.kind is ExitKind.REFUSE and row.then.text})


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("key", REFUSALS)
def test_every_refusal_says_whom_to_write_to(language: Language, key: str) -> None:
    """A refusal is no dead end."""
    text = plain_exit(Exit(ExitKind.REFUSE, key), {}, language, PROFILE, limit=1)
    assert PROFILE.contact[language] in text


def test_every_exit_has_a_text() -> None:
    """A key that DT-008 names stands in both languages; `input` stands for the texts of its own keys."""
    for row in EXITS.rows:
        for language in Language:
            assert row.then.text in {"", "input"} or row.then.text in texts(language)


@pytest.mark.parametrize("language", Language)
def test_an_error_says_where_and_how_to_go_on(language: Language) -> None:
    """The node, and the contact."""
    turn: dict[str, Any] = {"error": {"node": "draft", "key": ""}}
    text = plain_exit(Exit(ExitKind.OWN_UP, "turn_error"), turn, language, PROFILE, limit=1)
    assert "draft" in text
    assert PROFILE.contact[language] in text


# ------------------------------------------------------------------------------------------------------------ questions


@pytest.mark.parametrize("language", Language)
def test_a_minimal_question_is_the_drafted_one(language: Language) -> None:
    """With a lead that says why it is asked."""
    intro = texts(language)["minimal_question"]
    assert minimal_question("minimal_question", " Which? ", ["kettle"], language) == f"{intro}\n\nWhich?"


def test_a_drafted_question_is_words() -> None:
    """Mark-up in it is shown and means nothing, as in every other value (regression)."""
    question = minimal_question("minimal_question", "Which\n\n# <img src=x> [a](b)\u202e?", (), Language.EN)
    assert question.endswith("\n\nWhich # \\<img src=x\\> \\[a\\](b)?")


@pytest.mark.parametrize("language", Language)
def test_a_figure_that_no_lookup_has_is_answered_with_those_that_there_are(language: Language) -> None:
    """The question names what was looked for; at most three lookups are offered, and each asks what it answers."""
    lookups = load_profile("handbook").lookups_of(Source.DB)
    said = minimal_question("minimal_question", "", ["questions of Mars"], language)
    assert "questions of Mars" in said
    assert said.endswith("?")
    offered = named_lookups(lookups, language)
    assert [one.label for one in offered] == [lookup.title[language] for lookup in lookups[:3]]
    assert [one.asks for one in offered] == [lookup.answers[language][0] for lookup in lookups[:3]]


@pytest.mark.parametrize("language", Language)
def test_words_that_no_document_has_are_named_as_words(language: Language) -> None:
    """One or several, in quotation marks; mark-up in them means nothing, and without any nothing is said."""
    assert unclear_text((), language) == ""
    assert "Zig\\*" in unclear_text(("Zig*",), language)
    several = unclear_text(("Zig", "Zag", "Zog"), language)
    assert all(word in several for word in ("Zig", "Zag", "Zog", f" {texts(language)['and']} "))
    assert unclear_text(("Zig",), language) in what_is_missing({"abstained"}, ["kettles"], language, unclear=("Zig",))


@pytest.mark.parametrize("language", Language)
def test_what_is_offered_is_a_numbered_list(language: Language) -> None:
    """Each by its number, as words; where nothing is offered, nothing is said."""
    choices = [Choice(kind=ChoiceKind.HEADING, label=label) for label in ("The <b>lid</b>", "1. The spout")]
    said = choices_text(choices, language).splitlines()
    assert said[-2:] == ["1. The \\<b\\>lid\\</b\\>", "2. 1\\. The spout"]
    assert choices_text([], language) == ""


# -------------------------------------------------------------------------------------------------- what is missing

WANTING = {
    "nothing": ("abstained",),
    "kinds": ("design_policy_requires_doc_or_policy", "insufficient_evidence_count"),
    "little": ("insufficient_evidence_count", "claim_without_citation"),
    "loose": ("low_evidence_confidence", "value_not_in_cited_evidence"),
    "values": ("claim_without_citation", "value_not_in_cited_evidence"),
    "unproved": ("claim_not_entailed",),
    "figures": ("status_request_requires_db", "insufficient_evidence_count"),
}


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("kind", WANTING)
def test_what_is_missing_names_what_was_looked_for(kind: str, language: Language) -> None:
    """The plan's words as words, a statement of the first thing that is missing, and the sources that were away."""
    queries = ["lid <b>of</b> {tin}", "spout"]
    said = what_is_missing(WANTING[kind], queries, language, found=1, unasked=[Source.DB])
    quotes = "«{}»" if language is Language.RU else "“{}”"
    for query in ("lid \\<b\\>of\\</b\\> {tin}", "spout"):
        assert quotes.format(query) in said
    assert texts(language)[f"not_found_{kind}"].partition("{")[0] in said
    assert said.endswith(".")
    assert "?" not in said
    assert texts(language)["source_db"] in said


@pytest.mark.parametrize("language", Language)
def test_what_nobody_named_is_said_in_general(language: Language) -> None:
    """Without a reason that has a text, or without a query, the statement says no more than that there is no answer."""
    for names, queries in [((), ["spout"]), (("missing_required_sections",), ["spout"]), (("abstained",), [])]:
        assert what_is_missing(names, queries, language) == texts(language)["not_found"]


@pytest.mark.parametrize("language", Language)
def test_too_little_of_nothing_is_nothing(language: Language) -> None:
    """Where there was not one passage, the statement says that nothing was found."""
    nothing = texts(language)["not_found_nothing"].partition("{")[0]
    assert nothing in what_is_missing(["insufficient_evidence_count"], ["spout"], language, found=0)


@pytest.mark.parametrize("language", Language)
def test_no_figure_is_not_no_document(language: Language) -> None:
    """Where a figure was asked for, an abstention is for want of figures."""
    said = what_is_missing(["abstained"], ["spout"], language, figures=True)
    assert texts(language)["not_found_figures"].partition("{")[0] in said


@pytest.mark.parametrize("language", Language)
def test_what_was_not_searched_is_said_only_where_it_was_not(language: Language) -> None:
    """A source that could not be asked is named, and no other."""
    name = texts(language)["source_db"]
    assert name in what_is_missing(["abstained"], ["spout"], language, unasked=[Source.DB])
    assert name not in what_is_missing(["abstained"], ["spout"], language)


def test_long_and_many_queries_are_cut() -> None:
    """Three queries at most are named, each with 120 characters at most."""
    said = what_is_missing(["abstained"], [f"{n}" + "x" * 500 for n in range(5)], Language.EN)
    assert [len(query) for query in re.findall("“(.*?)”", said)] == [120] * 3


# ---------------------------------------------------------------------------------------------------------------- pages


@pytest.mark.parametrize("language", Language)
def test_pages_stand_with_their_sentences_and_their_sources(language: Language) -> None:
    """Why there is no answer, that the pages may help, one line for each, and the list of sources with the same numbers."""
    evidence = [passage(1), passage(2, title="<b>Two</b>"), passage(3)]
    pages = [PageSentence(3, "It is number 3."), PageSentence(2, "It is number 2.")]
    text = pages_text("pages_shown", "WHY.", pages, evidence, language, PROFILE)
    left, right = ("«", "»") if language is Language.RU else ("“", "”")
    assert text.startswith(f"WHY. {texts(language)['pages_shown']}")
    assert f"- **Page 3**: {left}It is number 3.{right} [1]" in text
    assert f"- **\\<b\\>Two\\</b\\>**: {left}It is number 2.{right} [2]" in text
    assert "- [1] Page 3 (doc:3)" in text
    assert "- [2] " in text
    assert "[3]" not in text
    data = shown_pages(pages, evidence, language, PROFILE)
    assert [(page.number, page.title, page.sentence) for page in data] == [
        (1, "Page 3", "It is number 3."),
        (2, "<b>Two</b>", "It is number 2."),
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "As said in [1], the kettle boils quickly.",
        "The kettle [boils](https://evil.example/x) quickly [2].",
        "The **kettle** `boils [1]` <b>quickly</b>.",
    ],
)
def test_a_sentence_with_marks_of_its_own_shows_no_other_page(sentence: str) -> None:
    """Whatever a sentence has in brackets, there are as many pages as were given, with their own sources, in order."""
    evidence = [passage(1), passage(2)]
    data = shown_pages([PageSentence(2, sentence)], evidence, Language.EN, PROFILE)
    assert [(page.title, page.sentence) for page in data] == [("Page 2", sentence)]


# ------------------------------------------------------------------------------------------------------------- hand-off


async def record(outcome: Outcome, language: Language = Language.EN, **changes: object) -> HandOff:
    state = await play(begin_turn(clarify_count=1), ports(**changes), *UP_TO_THE_VERDICT)  # pyright: ignore[reportArgumentType]
    return hand_off_record(state, outcome, language)


WITHOUT_A_PERSON = {
    Outcome.CLARIFICATION: HandOffOutcome.USER_FOLLOWUP_NEEDED,
    Outcome.PAGES_SHOWN: HandOffOutcome.PARTIALLY_RESOLVED,
    Outcome.REFUSED: HandOffOutcome.NOT_APPLICABLE,
}


@pytest.mark.parametrize("person", [True, False])
@pytest.mark.parametrize("outcome", WITHOUT_A_PERSON)
async def test_a_record_says_who_must_act(outcome: Outcome, person: bool) -> None:
    """A person, the user or, after a refusal, nobody; only then is nothing to be done next."""
    state = await play(begin_turn(clarify_count=1), ports(), *UP_TO_THE_VERDICT)
    made = hand_off_record(state, outcome, Language.EN, person=person)
    assert made.engineer_intervention_needed is person
    assert made.outcome == (HandOffOutcome.ESCALATION_REQUIRED if person else WITHOUT_A_PERSON[outcome])
    assert made.issue_summary == "Learn when the kettle boils."
    assert bool(made.next_steps) == (person or outcome is not Outcome.REFUSED)
    assert all([made.steps_completed, *made.steps_completed, *made.next_steps])


async def test_a_record_tells_what_was_done() -> None:
    """Understood, searched, found, asked back: a person need not do it again."""
    done = "\n".join((await record(Outcome.HANDED_OFF)).steps_completed)
    for part in (
        "Learn when the kettle boils.",
        "doc",
        "When does the kettle boil?",
        "2",
        "Page 1, Page 2",
        "in a row: 1",
    ):
        assert part in done


@pytest.mark.parametrize("language", Language)
async def test_a_record_is_in_the_language_of_the_answer(language: Language) -> None:
    """Every step is written in the user's language."""
    made = await record(Outcome.HANDED_OFF, language)
    for step in (*made.steps_completed, *made.next_steps):
        assert bool(re.search("[а-яё]", step)) == (language is Language.RU)


async def test_a_record_names_a_source_that_was_not_connected() -> None:
    """Who can connect the database learns that it was missing."""
    state = await play(begin_turn(), ports(planned=plan(request_type="TROUBLESHOOTING")), *UP_TO_THE_VERDICT)
    made = hand_off_record(state, Outcome.HANDED_OFF, Language.EN)
    assert any("db, neo4j" in step for step in made.next_steps)


async def test_a_record_does_not_claim_a_search_that_nobody_could_make() -> None:
    """A source that could not be asked was not searched; whether its documents cover the matter, nobody knows."""
    bound = ports(found=[], written=Draft(DraftKind.ABSTENTION, "The knowledge base does not say."))
    bound["retrieve"]["sources"][Source.DOC] = FakeSource(Source.DOC, SourceUnavailable("Away."))
    made = hand_off_record(await play(begin_turn(), bound, *UP_TO_THE_VERDICT), Outcome.HANDED_OFF, Language.EN)
    assert "could not be asked: doc" in made.steps_completed
    assert not any("searched" in step for step in made.steps_completed)
    assert any("ask again: doc" in step for step in made.next_steps)
    assert not any("add a page" in step for step in made.next_steps)


async def test_a_record_of_a_turn_that_broke_at_once_has_the_question() -> None:
    """Where nothing was planned, the user's words are the summary."""
    state = await play(begin_turn("What is *this*?"), ports(), "moderation")
    assert hand_off_record(state, Outcome.ERROR, Language.EN).issue_summary == "What is \\*this\\*?"
    assert hand_off_record(begin_turn(), Outcome.ERROR, Language.EN).next_steps


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("delivery", [None, *DeliveryStatus])
def test_the_user_of_a_hand_off_reads_one_sentence_the_contact_and_a_number(
    language: Language, delivery: DeliveryStatus | None
) -> None:
    """Asked for, by a rule, for want of sources or else begins differently, and nothing of the record stands there."""
    keys = ("hand_off", "hand_off_asked", "hand_off_policy", "hand_off_unasked")
    said = [hand_off_text("7KQ2-M04X", language, PROFILE, key, [Source.DB], delivery) for key in keys]
    for text in said:
        sentence, lines = text.split("\n\n")
        assert sentence.endswith(".")
        assert sentence.count(".") == 1
        assert sentence[0].isupper()
        contact, number = lines.split("\n")
        assert PROFILE.contact[language] in contact
        assert "**7KQ2-M04X**" in number
    assert len({text.partition(";")[0] for text in said}) == 4


@pytest.mark.parametrize("language", Language)
def test_what_is_missing_is_the_beginning_of_a_hand_offs_sentence(language: Language) -> None:
    """What was looked for, what no document has and who was away are one sentence with what becomes of it."""
    missing = what_is_missing({"abstained"}, ["a. b"], language, unasked=[Source.DB], unclear=["Zig"], clauses=True)
    sentence = hand_off_text("", language, PROFILE, "hand_off", missing=missing).split("\n\n")[0]
    assert sentence.startswith(missing)
    assert sentence.replace("a. b", "").count(".") == 1
    for part in ("Zig", "a. b", texts(language)["source_db"]):
        assert part in sentence


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("the help desk, room 12", "the help desk, room 12"),
        ("help@shelf.example.", "<help@shelf.example>."),
        ("Help <help@shelf.example>", "Help <help@shelf.example>"),
        ("see https://shelf.example/help?a=1, or ring 300", "see <https://shelf.example/help?a=1>, or ring 300"),
        ("[us](https://shelf.example/)", "[us](<https://shelf.example/>)"),
        ("[us](mailto:help@shelf.example)", "[us](mailto:help@shelf.example)"),
        ("@" * 2000, "@" * 2000),
    ],
)
def test_an_address_in_a_contact_is_a_link(given: str, shown: str) -> None:
    """Web and e-mail addresses are; what stands around them, and what is a link already, stays."""
    profile = PROFILE.model_copy(update={"contact": {Language.EN: given}})
    assert contact_of(profile, Language.EN) == shown
    assert contact_of(PROFILE.model_copy(update={"contact": {}}), Language.EN) == "the support team"
