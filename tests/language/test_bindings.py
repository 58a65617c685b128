"""What a source says of one command, name or number and a claim of another, and arguments of commands."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from language.fidelity.bindings import bound_wrongly, takes_argument
from language.fidelity.number_pairs import swapped_numbers
from language.fidelity.tables import from_other_rows
from language.figures.passage import ReadPassage, passage

SHELF = passage("""# Shelves

## Commands

`shelf show NAME` prints the books of a shelf. `shelf drop NAME` deletes a shelf with its books for good.

To rename a shelf:

```bash
shelf rename <old> <new>
```

## Paying

A card can be used for any fee. **Bank transfer** is the method that is recommended for libraries. Enter the first 6 and the last 4 digits
of the card.

| Edition | Released | Support ends |
| --- | --- | --- |
| 1.7 | 03.02.2025 | 11.09.2026 |
| 1.8 | 05.06.2025 | 24.12.2026 |
""")


@pytest.mark.parametrize(
    ("find", "claim", "found"),
    [
        (bound_wrongly, "Run `shelf show NAME` to delete a shelf for good with all its books.", ["shelf show name"]),
        (bound_wrongly, "`shelf drop NAME` prints the books of the shelf.", ["shelf drop name"]),
        (bound_wrongly, "`shelf drop NAME` deletes the shelf and its books.", []),
        (bound_wrongly, "See the books with `shelf show NAME`, then delete the shelf with `shelf drop NAME`.", []),
        (swapped_numbers, "Type in the first 4 and the last 6 digits of the card.", ["4 <-> 6"]),
        (swapped_numbers, "Of the card, type in the last 4 digits and the first 6.", []),
        (from_other_rows, "Edition 1.7 came out on 03.02.2025, and its support ends on 24.12.2026.", ["24.12.2026"]),
        (from_other_rows, "| 1.7 | 24.12.2026 |", ["24.12.2026"]),
        (from_other_rows, "The support of 1.7 ends on 11.09.2026, that of 1.8 on 24.12.2026.", []),
        (from_other_rows, "| 1.8 | 24.12.2026 |", []),
        (from_other_rows, "Support ends on 24.12.2026 at the latest.", []),
    ],
)  # fmt: skip
def test_what_is_said_of_another_value_is_found(
    find: Callable[[str, list[ReadPassage]], list[str]], claim: str, found: list[str]
) -> None:
    """A real command for something else, two numbers exchanged, a cell of another row; and each as the source has it."""
    assert find(claim, [SHELF]) == found


def test_the_right_command_may_stand_in_a_passage_that_is_not_cited() -> None:
    """Who cites the page on showing for deleting is found out by the page on deleting."""
    shown = passage("## Show\n\n`shelf show` prints the books of a shelf.")
    deleted = passage("## Delete\n\n`shelf drop` deletes a shelf and all its books for good.")
    claim = "Run `shelf show` to delete a shelf and all its books."
    assert bound_wrongly(claim, [shown]) == []
    assert bound_wrongly(claim, [shown], [deleted]) == ["shelf show"]


@pytest.mark.parametrize(
    ("claim", "found"),
    [
        ("Readers open loans as a list.", []),
        ("Readers open fees as a list.", []),
        ("Readers open fines as a list.", ["fines"]),
    ],
)
def test_rows_with_the_same_first_cell_answer_for_each_other(claim: str, found: list[str]) -> None:
    """A claim may be about any of them; only what none of them has, and another row does, is wrong."""
    table = (
        "| who | what |\n| --- | --- |\n| Readers | loans |\n| Readers | fees |\n| Staff | fees |\n| Staff | fines |"
    )
    assert from_other_rows(claim, [passage(table)]) == found


@pytest.mark.parametrize(
    ("command", "asked", "fits"),
    [
        ("shelf rename red-1 blue", "", True),
        ("shelf rename <old> {new}", "", True),
        ("shelf drop old-7", "", True),
        ("shelf sell old-7", "", False),
        ("shelf rename red blue --force", "", False),
        ("shelf show", "", False),
        ("shelf rename", "How do I rename?", False),
        ("rm -rf books-1", "Should I rm -rf books-1?", False),
    ],
)
def test_an_argument_may_stand_where_the_source_has_a_placeholder(command: str, asked: str, fits: bool) -> None:
    """`<old>` and NAME stand for anything; neither a command that there is not nor an option is an argument."""
    assert takes_argument(command, [SHELF], asked) is fits


def test_what_the_question_names_may_stand_in_an_example() -> None:
    """`shelf drop support-17` of an example is `shelf drop support-18` for who asks about it; no plain word is put in."""
    example = [passage("Delete it:\n\n```bash\nshelf drop support-17\n```")]
    assert takes_argument("shelf drop support-18", example, "How do I delete support-18?")
    assert not takes_argument("shelf drop support-18", example, "How do I delete a shelf?")
    assert not takes_argument("shelf show support-17", example, "How do I show support-17?")
