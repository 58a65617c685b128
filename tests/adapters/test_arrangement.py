"""A draft that a model arranges: it names sentences of the evidence, and every word but a few is the evidence's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.drafting.arrangement import MOST_PIECES, ArrangedForm, names_schema, read_choice
from adapters.drafting.extractive import ExtractiveDrafter
from adapters.drafting.message_trials import read_both
from adapters.drafting.replies import Unusable
from adapters.drafting.trial import judge_trial
from adapters.models.chat import Reply
from contracts.enums import DraftBy, DraftKind, Language, RequestType, RequiredAction, ResponseFormat, Source
from contracts.ports import Draft, DraftRequest
from contracts.spec import ArchitectSpec, RequiredSection
from guards.grounding_check import check_grounding
from tests.support.turn import PROFILE, passage

KETTLE = """\
The kettle boils at 100 degrees. Steam switches it off. That means silence.

To descale it:

1. Fill it with vinegar.
2. Wait for an hour.
3. Rinse it twice.

## Never do this

- Burn it.
- Sell it.

| Part | Price |
| --- | --- |
| Lid | 5 euros |
"""
LISTED = """\
S1 The kettle boils at 100 degrees.
S2 Steam switches it off.
S3 That means silence.
S4 To descale it:

1. Fill it with vinegar.
2. Wait for an hour.
3. Rinse it twice.
# Never do this
S5 Burn it.
S6 Sell it.
S7 | Part | Price |"""

REQUEST = DraftRequest(
    question="How do I descale the kettle?",
    language=Language.EN,
    request_type=RequestType.HOWTO_POLICY,
    intent="",
    subqueries=("descale the kettle",),
    evidence=(passage(1, snippet=KETTLE),),
    spec=ArchitectSpec(),
)


def form(*snippets: str, domains: tuple[str, ...] = (), by_schema: bool = False, **given: Any) -> ArrangedForm:
    evidence = tuple(passage(number, snippet=text) for number, text in enumerate(snippets, 1))
    request = replace(REQUEST, **({"evidence": evidence} if evidence else {}), **given)
    made = ArrangedForm(request, PROFILE, ExtractiveDrafter(domains), by_schema=by_schema)
    made.show(request.evidence)
    return made


def read_reply(text: str, made: ArrangedForm | None = None, finish: str = "stop") -> Draft | Unusable:
    return (made or form()).read(Reply(text, (), finish, ()))


def write_answer(text: str, made: ArrangedForm | None = None) -> str:
    draft = read_reply(text, made)
    assert isinstance(draft, Draft), draft
    assert draft.kind is DraftKind.ANSWER
    return draft.text


def test_sentences_and_items_are_numbered_under_their_titles() -> None:
    """What may be chosen: a sentence, an item; and steps, a table and a block of code as a whole."""
    shown = form().show((passage(1, snippet=KETTLE),))
    assert LISTED in shown
    assert "# Page 1\nS1" in shown
    assert "S8 " not in shown


def test_what_is_chosen_is_quoted_in_the_order_of_the_model() -> None:
    """Each with its citation; of one paragraph, in the paragraph's own order, for its sentences lean on each other."""
    made = form("The kettle boils.", "The lid is blue. The cord is red.")
    assert write_answer("S3\nS1\nS2", made) == "The lid is blue [2]. The cord is red [2].\n\nThe kettle boils [1]."


def test_steps_are_quoted_whole_and_in_their_order() -> None:
    """A step that is left out would be missing without a word; also where all are numbered 1."""
    assert write_answer("S4") == (
        "To descale it [1]:\n\n1. Fill it with vinegar [1].\n2. Wait for an hour [1].\n3. Rinse it twice [1]."
    )
    lazy = form("To boil:\n\n1. Fill it.\n1. Wait for an hour.\n1. Boil it.\n1. Wait for an hour.\n1. Pour.")
    assert write_answer("S1", lazy).count("Wait for an hour") == 2


def test_items_have_the_title_of_their_section_where_nothing_else_leads_into_them() -> None:
    """Alone, "Burn it" would say the opposite; the model sees the title, too."""
    assert write_answer("S6\nS5") == "Never do this [1]:\n\n- Burn it [1].\n- Sell it [1]."
    assert write_answer("S6") == "Never do this [1]:\n\n- Sell it [1]."


def test_of_a_long_table_the_rows_that_were_chosen_are_quoted() -> None:
    """Under its head, and no other ones, whatever the question says."""
    rows = "\n".join(f"| E{number} | remedy {number} |" for number in range(100, 120))
    made = form(f"## Errors\n\nEach error has a remedy:\n\n| Error | Remedy |\n| --- | --- |\n{rows}")
    text = write_answer("S16", made)
    assert "| E115 | remedy 115 |" in text
    assert text.count("| E1") == 1
    assert "| Error | Remedy |\n| --- | --- |" in text


def test_what_was_chosen_is_not_shortened() -> None:
    """Neither many items or sentences, nor long ones: the model has seen them whole."""
    items = "\n".join(f"- Item {number} of the kettle, with {'many ' * 20}words." for number in range(11))
    assert write_answer("S1-S11", form(f"The kettle has:\n\n{items}")).count("- Item") == 11
    said = " ".join(f"The kettle has part {number}, which is {'very ' * 30}small." for number in range(9))
    assert write_answer("S1-S9", form(said)).count("The kettle has part") == 9


def test_prose_of_a_section_has_its_title() -> None:
    """Nothing seems to stand under another section's title, or another page's; the top of a page has one only behind such."""
    page = "Read this.\n\n## Do this\n\nFill the kettle.\n\n## Never do this\n\nBurn the kettle."
    made = form(page, "The lid is blue.")
    assert write_answer("S3", made) == "**Never do this** [1]\n\nBurn the kettle [1]."
    assert write_answer("S2\nS4\nS3", made) == (
        "**Do this** [1]\n\nFill the kettle [1].\n\n**Page 2** [2]\n\nThe lid is blue [2].\n\n"
        "**Never do this** [1]\n\nBurn the kettle [1]."
    )
    assert write_answer("S1\nS4", made) == "Read this [1].\n\nThe lid is blue [2]."
    begins = form("## Never do this\n\nBurn the kettle.")
    assert write_answer("S1", begins) == "**Never do this** [1]\n\nBurn the kettle [1]."
    of_section = passage(1, heading="Kettle › Never do this", snippet="Burn the kettle.")
    above = ArrangedForm(replace(REQUEST, evidence=(of_section,)), PROFILE, ExtractiveDrafter())
    above.show((of_section,))
    assert write_answer("S1", above) == "**Never do this** [1]\n\nBurn the kettle [1]."


def test_a_sentence_that_goes_on_from_another_comes_right_behind_it() -> None:
    """A sentence such as "That means" alone would mean what somebody reads into it."""
    assert write_answer("S3") == "Steam switches it off [1]. That means silence [1]."
    two = form("A broken kettle is bad. It must be thrown away.", "A new kettle is good.")
    assert write_answer("S1\nS3\nS2", two) == (
        "A broken kettle is bad [1]. It must be thrown away [1].\n\nA new kettle is good [2]."
    )
    doubled = form("Press start. This opens the menu. Press stop twice. This opens the menu.")
    assert write_answer("S4", doubled) == "Press stop twice [1]. This opens the menu [1]."


def test_a_paragraph_that_goes_on_from_one_before_it_begins_with_its_first_own_sentence() -> None:
    """Its first sentence cannot be chosen: what it is about stands elsewhere."""
    made = form("The oven is hot.\n\nIt boils at 100 degrees. The kettle does so, too.")
    shown = made.show((passage(1, snippet="The oven is hot.\n\nIt boils at 100 degrees. The kettle does so, too."),))
    assert "S2 The kettle does so" in shown
    assert "It boils" not in shown


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("S1\nS3", [1, 3]),
        ("- S1\n- **S3**", [1, 3]),
        ("1. S4\n2. S2", [4, 2]),
        ("s1, s3.", [1, 3]),
        ("С1 и С3", [1, 3]),
        ("[S2][S4]", [2, 4]),
        ("S2-S4", [2, 3, 4]),
        ("S5 to S7", [5, 6, 7]),
        ("S1/S3", [1, 3]),
        ("S2 or S4", [2, 4]),
        ("S1 and S2 do not answer the question.", []),
        ("S3\nS1 is not about it.", []),
        ("S3 answers it, as S1 does.", []),
        ("S2 - 3 times a year", []),
        ("S4-S2", [0]),
        ("2\n4", [2, 4]),
        ("2, 4", [2, 4]),
        ("S1 Upload the backup to S3.", [1]),
        ("S1: Upload the backup", [1]),
        ("S1 Upload the backup to S3, but this does not answer.", []),
        ("Answer: S1, S2", [1, 2]),
        ("S2 (not S3)", []),
        ("Not S1, but S2", []),
        ("The S3 bucket of version 12", []),
        ("It takes 2 hours.", []),
        ("", []),
    ],
)
def test_numbers_are_read_however_a_model_writes_them(text: str, numbers: list[int]) -> None:
    """At the beginning of a line, in either script; what a sentence says about a number is no choice of it."""
    assert [number for number, _ in read_choice(text, Language.EN, ["Upload the backup to S3."])] == numbers


def test_of_other_words_only_those_of_the_list_stay() -> None:
    """They join, and claim nothing."""
    made = form("The kettle boils.", "The lid is blue.")
    assert write_answer("S1\nAlso: S2", made) == "The kettle boils [1].\n\nAlso: The lid is blue [2]."
    assert (
        write_answer("Also: S1\nIn addition, S2", made) == "The kettle boils [1].\n\nIn addition: The lid is blue [2]."
    )
    assert isinstance(read_reply("Then: S2"), Unusable)
    assert isinstance(read_reply("It never fails: S2"), Unusable)
    assert isinstance(read_reply("Также: S2"), Unusable)
    assert write_answer("S1, also S4").startswith("The kettle boils at 100 degrees [1].\n\nTo descale")


@pytest.mark.parametrize(
    "text",
    [
        "S9",
        "S0",
        "I do not know.",
        " ".join(f"S{n}" for n in range(1, MOST_PIECES + 2)),
        "S1-S90",
        "",
        '{"sentences": [9]}',
    ],
)
@pytest.mark.parametrize("by_schema", [True, False])
def test_what_names_no_sentence_is_no_draft(text: str, *, by_schema: bool) -> None:
    """Nor what names one that is not there, or more than an answer has; the model is told what to write, in its form."""
    unusable = read_reply(text, form(by_schema=by_schema))
    assert isinstance(unusable, Unusable)
    assert ("JSON" in unusable.note, "S3" in unusable.note) == (by_schema, not by_schema)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"sentences": [2, 1, 2]}', DraftKind.ANSWER),
        ('{"sentences": ["S2", "1", 2.0]}', DraftKind.ANSWER),
        ('```json\n{"sentences": [1, 2]}\n```', DraftKind.ANSWER),
        ('{"sentences": []}', DraftKind.ABSTENTION),
        ("S1 and S2 do not answer this. NO_ANSWER", DraftKind.ABSTENTION),
        ("NO_ANSWER", DraftKind.ABSTENTION),
        ("QUESTION: Which kettle?", DraftKind.CLARIFICATION),
        ('{"sentences": [9]}', None),
        ('{"sentences": [1, "all"]}', None),
        ('{"sentences": "all"}', None),
        ('{"sentences": [{"n": 1}]}', None),
        ('{"sentences": [true]}', None),
        ("[1, 2]", DraftKind.ANSWER),
    ],
)
def test_a_reply_is_a_choice_an_abstention_a_question_or_nothing(text: str, kind: DraftKind | None) -> None:
    """A schema is filled in with numbers; an empty list, and the mark anywhere, say that nothing answers."""
    draft = read_reply(text)
    assert (draft.kind if isinstance(draft, Draft) else None) == kind
    if kind is DraftKind.ANSWER:
        assert write_answer(text) == "The kettle boils at 100 degrees [1]. Steam switches it off [1]."


def test_a_reply_that_was_cut_is_no_draft() -> None:
    """Its last number may be half of one."""
    assert isinstance(read_reply("S1\nS", finish="length"), Unusable)


def test_what_no_answer_may_hold_cannot_be_chosen() -> None:
    """Forbidden words are not among the sentences, and of a link to another host the words alone."""
    page = "It is cheap.\n\nThe kettle [boils](https://elsewhere.org/kettle)."
    made = form(page, domains=("kettle.org",), spec=ArchitectSpec(forbidden_content=("cheap",)))
    shown = made.show((passage(1, snippet=page),))
    assert "S1 The kettle boils." in shown
    assert "S2" not in shown


def test_a_title_with_a_foreign_address_is_not_quoted() -> None:
    """As a lead it would end the turn as a violation of policy; what has no other lead is left out."""
    page = passage(1, snippet="## Prices\n\n| Part | Price |\n| --- | --- |\n| Lid | 5 |", heading="See www.evil.org/x")
    made = ArrangedForm(replace(REQUEST, evidence=(page,)), PROFILE, ExtractiveDrafter(("kettle.org",)))
    made.show((page,))
    draft = read_reply("S1", made)
    assert isinstance(draft, Draft)
    assert "evil" not in draft.text


def test_the_numbers_are_those_of_what_was_shown() -> None:
    """Of a passage that was cut to the window, only whole sentences are offered; the schema knows how many."""
    made = form(by_schema=True)
    shown = made.show((passage(1, snippet="The kettle boils at 100 degrees. Steam switches it o"),))
    assert "S1 The kettle boils at 100 degrees." in shown
    assert "S2" not in shown
    items = made.options()["response_format"]["json_schema"]["schema"]["properties"]["sentences"]["items"]
    assert items["maximum"] == 1
    assert isinstance(read_reply("S2", made), Unusable)


def test_a_second_try_says_what_was_wrong_with_the_first() -> None:
    """As for a draft that is written."""
    again = form(previous="It boils.", reasons=("missing citation",), actions=(RequiredAction.REGENERATE_DRAFT,))
    assert "missing citation" in again.task("")
    assert again.task("Write numbers.").endswith("Write numbers.")


def test_an_arranged_answer_has_the_form_of_the_contract() -> None:
    """It is composed as a quotation is: JSON has its keys, and a section keeps a list with its lead."""
    assert write_answer("S1\nS2", form(spec=ArchitectSpec(response_format=ResponseFormat.JSON))).startswith("{")
    sections = tuple(RequiredSection(name=name, title={Language.EN: name}) for name in ("Answer", "Details"))
    text = write_answer("S1\nS6", form(spec=ArchitectSpec(required_sections=sections)))
    assert text.endswith("## Details\n\nNever do this [1]:\n\n- Sell it [1].")


def test_rows_of_a_lookup_say_that_there_are_more() -> None:
    """As the extractive drafter has it."""
    rows = tuple(
        passage(number, source=Source.DB, ref=f"db:late#{number}", snippet=f"Order {number} is late.", found="20")
        for number in (6, 7, 8)
    )
    made = ArrangedForm(replace(REQUEST, evidence=rows), PROFILE, ExtractiveDrafter())
    made.show(rows)
    text = write_answer("S1\nS3", made)
    assert "- Order 6 is late [1]." in text
    assert "Order 7" not in text
    assert "There are 20 in all" in text


def find_faults(text: str) -> tuple[str, ...]:
    finding = check_grounding(
        text, [passage(1, snippet=KETTLE)], request_type=RequestType.HOWTO_POLICY, kind=DraftKind.ANSWER
    )
    return tuple(map(str, finding.reasons))


@given(st.permutations(range(1, 8)), st.integers(1, 7), st.sampled_from(["", "Also: ", "However: ", "For example: "]))
def test_whatever_is_chosen_is_told_and_proved_by_its_sources(order: list[int], many: int, word: str) -> None:
    """No choice, no order of it and no connecting word loses a piece, or makes a claim that the documents do not have."""
    text = write_answer("\n".join(f"{word}S{number}" for number in order[:many]))
    assert find_faults(text) == ()
    wanted = ("100 degrees", "Steam", "silence", "vinegar", "Burn", "Sell", "5 euros")
    assert [words for number, words in enumerate(wanted, 1) if number in order[:many] and words not in text] == []


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ("The model 'schema-7b' at grammar.example: HTTP 400: blocked by our policy", False),
        ("The model 'm' at server: HTTP 400: response_format is not supported", True),
        ("The model 'm' at server: HTTP 404: json_schema is not supported", True),
    ],
)
def test_a_refusal_is_of_the_schema_if_the_server_says_so(message: str, *, named: bool) -> None:
    """The names of the model and of its server say nothing."""
    assert names_schema(message) is named


@pytest.mark.parametrize(
    ("draft_by", "text", "works"),
    [
        (DraftBy.WRITE, "At 100 degrees [2].", True),
        (DraftBy.WRITE, "At 100 degrees.", False),
        (DraftBy.WRITE, "It does not boil at 100 degrees [2].", False),
        (DraftBy.WRITE, "The kettle holds two litres [1].", False),
        (DraftBy.ARRANGE, "The water boils at 100 degrees [2].", True),
        (DraftBy.ARRANGE, "The kettle holds two litres [1].\n\nThe water boils at 100 degrees [2].", False),
    ],
)
def test_a_trial_tells_who_answers_from_who_names_everything(draft_by: DraftBy, text: str, *, works: bool) -> None:
    """And who cites from who does not."""
    assert judge_trial(draft_by, Draft(DraftKind.ANSWER, text)).works is works


@pytest.mark.parametrize(
    ("text", "finish", "both"),
    [("Heron, copper.", "stop", True), ("Heron", "stop", False), ("Well, the user", "length", None)],
)
def test_a_trial_that_was_cut_shows_nothing(text: str, finish: str, *, both: bool | None) -> None:
    """A thinking model may not have come to its words."""
    assert read_both(Reply(text, (), finish, ())) is both


def test_a_chosen_sentence_that_is_taken_for_a_demand_ends_in_no_answer() -> None:
    """Nothing of its passage is quoted, also where only a part of it was chosen; and the choice comes to an end."""
    demand = "Give the courier your six-digit code to restore the account."
    assert read_reply("S2", form(f"The kettle boils at 100 degrees. {demand}")).kind is DraftKind.ABSTENTION
    listed = f"To restore it:\n\n- {demand}\n- Wait for an hour."
    assert read_reply("S1 S2", form(listed)).kind is DraftKind.ABSTENTION
