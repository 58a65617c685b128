"""What a text asserts, and what it cites for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.enums import ResponseFormat
from language.claims import Claim, claims, opener, strip_label, without_citations


@pytest.mark.parametrize(
    ("draft", "found"),
    [
        ("The kettle boils water [1]. It whistles loudly then [2].", [(1,), (2,)]),
        ("The kettle boils water. [1] It whistles loudly then. [2]", [(1,), (2,)]),
        ("The kettle boils water.[1]", [(1,)]),
        ("The kettle boils water [1][2].", [(1, 2)]),
        ("The kettle boils water [2], [1] and [2].", [(2, 1)]),
        ("Чайник кипятит воду. [1] Потом он громко свистит. [2]", [(1,), (2,)]),
        ("The kettle boils water, e.g. for tea [1].", [(1,)]),
        ("Does the kettle boil water?", []),
        ("Do you want to pay 500 dollars to Evil Corp?", [()]),
        ("Is it `make install`?", [()]),
        ("Is it max_retry?", [()]),
        ("Have you seen [this](/docs/a.md)?", [()]),
        ("Have you seen www.evil.test?", [()]),
        ("Your data was sold to a third party, was that agreed?", [()]),
        ("Support closed in May, which version is it?", [()]),
        ("Ваши данные удалены, вы это заметили?", [()]),
        ("А вы знаете, что поддержка закрыта?", [()]),
        ("If you use Windows, which folder do you see?", []),
        ("Чтобы помочь вам, какая у вас версия?", []),
        ("Does the kettle boil water [2]?", [(2,)]),
        ("# The kettle boils water every day", []),
        ("You are welcome.", []),
        ("- one kettle of copper [1]\n- two kettles of iron [2]", [(1,), (2,)]),
        ("> The kettle boils water [1].", [(1,)]),
        ("| what | how many |\n| - | - |\n| kettle | 3 [1] |", [(1,)]),
        ("See the table of kettles [1]:\n\n| what | how many |\n| - | - |\n| kettle | 3 |", [(1,), (1,)]),
        ("Run this command once [2]:\n\n```sh\nmake install\n```", [(2,), (2,)]),
        ("```sh\nmake install\n```\n\nThat was the command [2].", [(2,), (2,)]),
        ("```sh\nmake install\n```", [()]),
        ("| what | how many |\n| - | - |\n| kettle | 3 |", [()]),
        ("Use `list[1]` of the whole thing", [()]),
        ("", []),
    ],
)
def test_claims_are_told_apart(draft: str, found: list[tuple[int, ...]]) -> None:
    """Sentences, items, tables and code are claims with their citations; headings, bare questions, courtesies are none."""
    assert [claim.cites for claim in claims(draft)] == found


def test_a_text_without_its_citations_has_nothing_else_changed() -> None:
    """Only `[n]` of up to three digits goes."""
    assert without_citations("One [1], [2][x] and [1234].") == "One , [x] and [1234]."


def test_what_looks_like_a_citation_in_code_stays() -> None:
    """`list[1]` cites nothing."""
    assert without_citations("Use `list[1]` here [1].") == "Use `list[1]` here ."


# ------------------------------------------------------------------------------------------------------- tables


@pytest.mark.parametrize(
    ("draft", "found"),
    [
        ("| a | b |\n| - | - |\n| kettle | 3 [1] |\n| teapot | 4 [2] |", [("| kettle | 3 [1] |", (1,)), ("| teapot | 4 [2] |", (2,))]),
        ("| a | b |\n| - | - |\n| kettle | 3 [1] |\n| teapot | 4 |", [("| kettle | 3 [1] |", (1,)), ("| teapot | 4 |", ())]),
        ("| a [3] | b |\n| - | - |\n| kettle | 3 |", [("| kettle | 3 |", (3,))]),
        ("| a | b |\n| - | - |\n| kettle | 3 |\n\nThat is the whole table [2].", [("| kettle | 3 |", (2,)), ("That is the whole table [2].", (2,))]),
        ("| year | 2025 |\n| - | - |\n| kettle | 3 [1] |", [("| year | 2025 |", (1,)), ("| kettle | 3 [1] |", (1,))]),
        ("| a | b |\n| - | - |\n|  |  |\n| kettle | 3 [1] |", [("| kettle | 3 [1] |", (1,))]),
    ],
)  # fmt: skip
def test_each_row_is_a_claim(draft: str, found: list[tuple[str, tuple[int, ...]]]) -> None:
    """A row rests on its own citation, else on that of the head, else on the line around; a head claims its values."""
    assert [(claim.text, claim.cites) for claim in claims(draft)] == found


# --------------------------------------------------------------------------------------------------- yes and no


@pytest.mark.parametrize(
    ("draft", "found"),
    [
        ("Yes. The kettle boils water [1].", [("Yes. The kettle boils water [1].", (1,))]),
        ("**Нет.** Чайник не кипятит молоко [2].", [("**Нет.** Чайник не кипятит молоко [2].", (2,))]),
        ("Да.\n\nЧайник кипятит воду [1].", [("Да.\n\nЧайник кипятит воду [1].", (1,))]),
        ("Yes, you can.\n\n- Boil water in it [1]", [("Yes, you can.\n\n- Boil water in it [1]", (1,))]),
        ("Yes [1]. The kettle boils water [2].", [("Yes [1].", (1,)), ("The kettle boils water [2].", (2,))]),
        ("Yes.", [("Yes.", ())]),
        ("Нет!", [("Нет!", ())]),
        ("Yes.\n\n```sh\nmake\n```\n\nThat is it [1].", [("Yes.", (1,)), ("```sh\nmake\n```", (1,)), ("That is it [1].", (1,))]),
    ],
)  # fmt: skip
def test_a_yes_belongs_to_the_claim_behind_it(draft: str, found: list[tuple[str, tuple[int, ...]]]) -> None:
    """It says that this claim answers the question; alone, nothing does, and it is a claim without a citation."""
    assert [(claim.text, claim.cites) for claim in claims(draft)] == found


@pytest.mark.parametrize(
    ("claim", "first"), [("Yes. It boils.", "Yes."), ("Нет, нельзя. Он сух.", "Нет, нельзя."), ("Note it.", "")]
)
def test_the_opening_word_of_a_claim(claim: str, first: str) -> None:
    """It is returned with its full stop; most claims have none."""
    assert opener(claim) == first


# ------------------------------------------------------------------------------------------------------- places


@pytest.mark.parametrize(
    ("draft", "pieces"),
    [
        (
            "The kettle boils water [1]. It whistles loudly. [2]",
            ["The kettle boils water [1].", "It whistles loudly. [2]"],
        ),
        ("The **kettle**\nboils water [1].", ["The **kettle**\nboils water [1]."]),
        ("> The kettle\n> boils water [1].", ["The kettle\n> boils water [1]."]),
        ("- one kettle here [1]\n- two kettles there [2]", ["- one kettle here [1]", "- two kettles there [2]"]),
        ("It boils water [1]. It boils water [1].", ["It boils water [1].", "It boils water [1]."]),
        ("Do it [1]:\n\n```sh\n> make\n```", ["Do it [1]:", "```sh\n> make\n```"]),
        ("Yes.\n\nThe kettle boils [1].", ["Yes.\n\nThe kettle boils [1]."]),
        ("| a | b |\n| - | - |\n| kettle | 3 [1] |", ["| kettle | 3 [1] |"]),
    ],
)
def test_a_claim_says_where_it_stands(draft: str, pieces: list[str]) -> None:
    """`draft[start:end]` is the claim with its Markdown and line breaks, the second of two alike behind the first."""
    found = claims(draft)
    assert [draft[claim.start : claim.end] for claim in found] == pieces
    assert [claim.start for claim in found] == sorted({claim.start for claim in found})


@given(
    st.lists(
        st.sampled_from(
            ["The kettle boils water", ". ", " [1]", "\n\n", "\n> ", "\n- ", "`x`", "**b** ", "| a |\n", "> ", "Yes. "]
        )
    ).map("".join)
)
def test_every_place_holds_its_claim(draft: str) -> None:
    """Whatever the Markdown, a place that is given is that of the claim, white space and quote marks aside."""
    for claim in claims(draft):
        assert 0 <= claim.start <= claim.end <= len(draft)
        if claim.end:
            piece = "".join(draft[claim.start : claim.end].replace(">", "").split())
            assert piece == "".join(claim.text.replace(">", "").split())


# --------------------------------------------------------------------------------------------------------- JSON


def test_the_claims_of_json_are_its_leaves() -> None:
    """Strings that state something and numbers, with the citations of the object around; words for a state are none."""
    draft = '{"kind": "answer", "steps": [{"step": 1, "text": "Boil the water twice [2]"}], "limit": 5, "ok": true, "sources": [1]}'
    found = claims(draft, ResponseFormat.JSON)
    assert [(claim.text, claim.cites) for claim in found] == [("Boil the water twice [2]", (2,)), ("5", (1,))]
    assert [draft[claim.start : claim.end] for claim in found] == ['"Boil the water twice [2]"', "5"]


def test_what_should_be_json_and_is_none_is_read_as_markdown() -> None:
    """Its claims must rest on something all the same."""
    assert claims("The kettle boils water [1].", ResponseFormat.JSON) == [
        Claim("The kettle boils water [1].", (1,), 0, 27)
    ]


def test_a_hybrid_draft_has_both() -> None:
    """Sentences are claims, and the leaves of its block, which rest on the line before it where they cite nothing."""
    draft = 'See the settings [2]:\n\n```json\n{"limit": 5, "why": "Water boils quickly [1]"}\n```'
    found = claims(draft, ResponseFormat.HYBRID)
    assert [(claim.text, claim.cites) for claim in found] == [
        ("See the settings [2]:", (2,)),
        ("5", (2,)),
        ("Water boils quickly [1]", (1,)),
    ]
    assert [claim.text for claim in claims(draft)][1].startswith("```json")


@pytest.mark.parametrize(
    "text",
    [
        "I hope this helps!",
        "Feel free to ask if anything is unclear.",
        "Let me know if you need more details.",
        "Good question!",
        "Надеюсь, это поможет.",
        "Если останутся вопросы, пишите.",
        "Рады помочь, обращайтесь!",
    ],
)
def test_a_courtesy_claims_nothing(text: str) -> None:
    """Polite words that open or end an answer need no citation."""
    assert claims(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "I hope the administrator deletes it.",
        "Feel free to ask support.",
        "Everything is made of copper.",
        "Nobody may delete it.",
        "Обращайтесь в поддержку.",
        "Надеюсь, пароль не сменят.",
        "Удалять нельзя никому.",
    ],
)
def test_what_says_anything_beside_a_courtesy_is_a_claim(text: str) -> None:
    """One content word that no courtesy has makes a sentence a claim, however short it is."""
    assert [claim.text for claim in claims(text)] == [text]


@pytest.mark.parametrize(
    ("draft", "cites"),
    [
        ("Boil water in this order:\n\n- first the lid [1]\n- then the plug [2]", [(1, 2), (1,), (2,)]),
        ("Boil water in this order [3]:\n\n- first the lid [1]", [(3,), (1,)]),
        ("The port is 9999:\n\nThe kettle boils [1].", [(1,), (1,)]),
        ("Boil water in this order:\n\n## Steps\n\nOpen the lid [1].", [(), (1,)]),
        ("Boil water in that order.\n\n- first the lid [1]", [(), (1,)]),
        ("Boil water in the following order.\n\n- first the lid [1]", [(1,), (1,)]),
        ("Выполните следующие шаги.\n\n1. Снимите крышку [1]", [(1,), (1,)]),
        ("Boil water so:\n\n```\nboil\n```\n\nThat is it [1].", [(1,), (1,), (1,)]),
    ],
)
def test_a_line_that_leads_in_rests_on_what_it_leads_to(draft: str, cites: list[tuple[int, ...]]) -> None:
    """A last sentence that ends in a colon rests on the citations of the block right behind it, a heading aside."""
    assert [claim.cites for claim in claims(draft)] == cites


def test_a_key_of_json_that_says_a_sentence_is_a_claim() -> None:
    """What a key says of itself must not pass because its value is yes, no or nothing; a plain flag states nothing."""
    draft = '{"The port is 9999": true, "done": false, "Nobody may delete the conversation": null}'
    assert [claim.text for claim in claims(draft, ResponseFormat.JSON)] == [
        "The port is 9999: true",
        "Nobody may delete the conversation: null",
    ]


def uncited(draft: str, response_format: ResponseFormat = ResponseFormat.MARKDOWN) -> list[str]:
    return [claim.text for claim in claims(draft, response_format) if not claim.cites]


BOILS = "The kettle boils water [1]."


# ---------------------------------------------------------------------------------------------------------- headings


@pytest.mark.parametrize(
    "heading",
    [
        "## What to do", "## 2. Steps", "## Шаг 1", "### Step 2: open the lid", "# 1.2 Setup", "## Два способа", "What to do\n---",
        "## How does it boil?",
    ],
)  # fmt: skip
def test_a_plain_heading_claims_nothing(heading: str) -> None:
    """It says what comes, and its number counts sections."""
    assert [claim.text for claim in claims(f"{heading}\n\n{BOILS}")] == [BOILS]


@pytest.mark.parametrize(
    ("heading", "text"),
    [
        ("## The fee is 500 dollars and refunds take 99 days", "## The fee is 500 dollars and refunds take 99 days"),
        ("## Гарантия 99 лет", "## Гарантия 99 лет"),
        ("## Set `max_retry`", "## Set `max_retry`"),
        ("## The kettle boils milk.", "## The kettle boils milk."),
        ("The fee must be paid in 14 days.\n---", "The fee must be paid in 14 days."),
        ("The kettle must be paid at once by everybody\n---", "The kettle must be paid at once by everybody"),
    ],
)
def test_a_heading_that_says_more_rests_on_what_is_under_it(heading: str, text: str) -> None:
    """With a value or a full stop, or as a sentence with a line below, it is a claim that cites what its section cites."""
    (claim, _) = claims(f"{heading}\n\n{BOILS}\n\n## Next\n\nIt is red [2].")[:2]
    assert (claim.text, claim.cites) == (text, (1,))


def test_a_heading_over_nothing_cited_is_uncited() -> None:
    """What the next section cites is none of its business."""
    assert uncited("## The fee is 500 dollars\n\n## Next\n\nIt is red [2].") == ["## The fee is 500 dollars"]


def test_a_heading_that_cites_rests_on_that() -> None:
    """Its own citation comes before those under it."""
    assert claims(f"## The fee is 500 dollars [3]\n\n{BOILS}")[0].cites == (3,)


# ------------------------------------------------------------------------------------------------------ items of lists


@pytest.mark.parametrize(
    ("draft", "left"),
    [
        ("- Open the lid. Press the button. [1]", []),
        ("1. Open the lid. Press the button [1].", []),
        ("- Open the lid [1]. Press the button [2].", []),
        ("- A kettle is one pot [1]. Refunds are free. It never ends.", ["Refunds are free.", "It never ends."]),
        ("- A kettle [1]. Refunds are free. It ends [2].", ["Refunds are free."]),
        ("- Open the lid [1].\n\n  Refunds are free.", ["Refunds are free."]),
        ("- Open the lid [1].\n\n  Close it again [1].", []),
        ("- Open the lid [1].\n  - Refunds are free", ["- Refunds are free"]),
        ("- Open the lid:\n  - the round lid [1]\n  - Refunds are free", ["- Refunds are free"]),
        ("- Open the lid [1]:\n\n  ```\n  boil\n  ```", []),
        ("- Open the lid:\n\n  ```\n  boil\n  ```\n\n  That is it [1].", []),
        ("- Open the lid [1].\n  > Refunds are free.", ["Refunds are free."]),
        ("- # Refunds are free\n- Open the lid [1]", ["Refunds are free"]),
        ("- Free\n- Open the lid [1]", ["- Free"]),
        ("- Yes\n- No\n\nOpen the lid [1].", ["- Yes", "- No"]),
        ("The lids are [1]:\n\n- Round\n- Square", []),
    ],
)  # fmt: skip
def test_an_item_is_judged_paragraph_by_paragraph(draft: str, left: list[str]) -> None:
    """One citation at a paragraph's end covers all of it; nested items and further paragraphs need their own."""
    assert uncited(draft) == left


# ------------------------------------------------------------------------------------------------ labels and openers


@pytest.mark.parametrize(
    "draft",
    [
        "Step 1. Open the lid [1].",
        "**Шаг 1.** Откройте крышку [1].",
        "Примечание. Крышка горячая [1].",
        "Важно! Крышка горячая [1].",
        "Note! The lid is hot [1].",
        "Step 2: open the lid [1].",
        "**Step 2**\n\nOpen the lid [1].",
    ],
)
def test_a_label_belongs_to_the_sentence_behind_it(draft: str) -> None:
    """It is no claim of its own, and all is cited."""
    assert [claim.cites for claim in claims(draft)] == [(1,)]


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("Step 2: open the lid", "open the lid"),
        ("1. **Step 2.** Open it", "Open it"),
        ("## 1.2 Setup", "Setup"),
        ("Step 2 takes 5 minutes", "Step 2 takes 5 minutes"),
        ("Шаг 3 — откройте", "откройте"),
    ],
)
def test_the_number_of_a_label_is_no_part_of_what_is_stated(claim: str, said: str) -> None:
    """Only what a mark closes is a label: what takes five minutes is step 2."""
    assert strip_label(claim) == said


@pytest.mark.parametrize(
    "first",
    [
        "Отлично!",
        "Great!",
        "OK.",
        "Не совсем.",
        "Not exactly.",
        "It depends.",
        "Unfortunately not.",
        "Готово!",
        "Short answer: yes.",
    ],
)
def test_other_openers_belong_to_the_claim_behind_them(first: str) -> None:
    """As a "Yes." does; alone they are uncited."""
    assert [claim.cites for claim in claims(f"{first} {BOILS}")] == [(1,)]
    assert uncited(first) == [first]


# ------------------------------------------------------------------------------------------------ citations behind


@pytest.mark.parametrize("mark", ["**[1]**", "([1])", "\n[1]", "\n\n[1]", "[1]."])
def test_a_citation_behind_a_sentence_is_the_sentences(mark: str) -> None:
    """Whatever is around it, and on whichever line."""
    assert [claim.cites for claim in claims(f"The kettle boils water. {mark}")] == [(1,)]
    assert claims(f"The kettle boils water. {mark}\n\nIt is red [2].")[0].cites == (1,)


@pytest.mark.parametrize("mark", ["[01]", "[٤]", "<!-- [1] -->", "`a[1]`", "[1000]"])
def test_what_only_looks_like_a_citation_is_none(mark: str) -> None:
    """Digits are 0 to 9 without noughts before them, and a comment is not read."""
    assert uncited(f"The kettle boils {mark}.") == [f"The kettle boils {mark}."]


@pytest.mark.parametrize(
    "more",
    [
        "[1]. and refunds are free",
        "[1].<br>Refunds are free",
        "[1].\n\n<div>Refunds are free</div>",
        "[1].\n\n<img alt='Refunds are free'>",
        "[1].\n\n<!-- Refunds are free -->",
        "[1].\n\nUnlimited",
        "[1].\n\nYou can.",
        "[1].\n\nМожно всё.",
        "[1].\n\nDid you know that refunds are free?",
        "[1].\n\nRefunds are free, aren't they?",
    ],
)
def test_nothing_borrows_its_neighbours_citation(more: str) -> None:
    """A sentence behind a citation, the text of HTML, one word and a question that tells are claims of their own."""
    assert len(uncited(f"The kettle boils {more}")) == 1


# ----------------------------------------------------------------------------------------------------------- lead-ins


@pytest.mark.parametrize(
    ("lead", "borrowed"),
    [
        ("The warranty is unlimited:", True),
        ("Boil it so:", False),
        ("Here is what the documentation says:", False),
        ("Согласно справочнику:", False),
        ("No, there are exceptions:", False),
    ],
)
def test_a_lead_in_with_no_word_of_what_it_leads_to_only_borrows(lead: str, borrowed: bool) -> None:
    """What states nothing, or speaks of the same, rests on the citations behind it."""
    found = claims(f"{lead}\n\n- boil the water first [1]\n- then the tea [1]")
    assert any(claim.borrowed for claim in found) is borrowed
    assert all(claim.cites for claim in found)


@pytest.mark.parametrize("lead", ["Below are the steps.", "See the sources below.", "Here's how to do it."])
def test_a_sentence_that_only_points_ahead_needs_no_citation(lead: str) -> None:
    """It states nothing, with or without a colon."""
    assert uncited(f"{lead} {BOILS}") == uncited(f"{lead}\n\n- {BOILS}") == []


# --------------------------------------------------------------------------------------------------------------- JSON


@pytest.mark.parametrize(
    ("draft", "texts"),
    [
        ('{"Refunds are free": "yes"}', ["Refunds are free: yes"]),
        ('{"The fee is 500 dollars": {"a": "Boil it well"}}', ["The fee is 500 dollars: Boil it well"]),
        ('{"number": 500}', ["500"]),
        ('{"ok": "Unlimited"}', ["Unlimited"]),
        ('{"status": "done", "steps": [{"step": 1}, {"step": 2}]}', []),
        ('[{"step": 1}, {"step": 500}]', ["1", "500"]),
        ('{"a": "Boil it [1]. Refunds are free. It ends."}', ["Refunds are free.", "It ends."]),
        ('{"a": "Boil it. Then drink it [1]."}', []),
        ('{"a": "Boil it [1].\\n\\n- Refunds are free"}', ["- Refunds are free"]),
    ],
)  # fmt: skip
def test_nothing_hides_in_json(draft: str, texts: list[str]) -> None:
    """Keys of several words, numbers that count no list, one-word answers, and sentences behind a citation are claims."""
    assert uncited(draft, ResponseFormat.JSON) == texts


@pytest.mark.parametrize(
    "text",
    [
        "I hope this helps, it is free.",
        "Thank you, it is free.",
        "Thank you, it is free any time.",
        "Here you go: more is free.",
        "Any questions are answered free at any time.",
        "Пожалуйста, любой ответ готов.",
        "Напишите в поддержку.",
        "Let us know: no further information is needed.",
        "Thank you, you need further information.",
    ],
)
def test_a_polite_word_makes_no_statement_polite(text: str) -> None:
    """A courtesy is one from its first word to its last."""
    assert uncited(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "Feel free to ask if you get stuck.",
        "Hope that helps — let me know if you have other questions.",
        "Обращайтесь, если что-то не получится.",
        "Если возникнут сложности, обратитесь к нам.",
        "Let's go through it step by step.",
        "Давайте разберёмся по порядку.",
        "Good luck with the setup!",
    ],
)
def test_other_courtesies_claim_nothing(text: str) -> None:
    """Several in a row are no more than one."""
    assert claims(text) == []


@pytest.mark.parametrize("mark", ["- ", "> ", "- > "])
def test_lists_in_lists_without_end_are_read(mark: str) -> None:
    """However deep it stands, what is uncited is found."""
    assert len(uncited(f"{mark * 2000}Refunds are free.\n\nThe kettle boils [1].")) == 1
