"""What a text asserts, and what it cites for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.values import ResponseFormat
from language.claims import Claim, claims, opener, without_citations


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
        ("Boil water in this order.\n\n- first the lid [1]", [(), (1,)]),
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
