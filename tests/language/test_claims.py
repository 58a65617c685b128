"""What a text asserts, and what it cites for it."""

from __future__ import annotations

import pytest

from language.claims import claims, without_citations


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
