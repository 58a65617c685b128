"""What is found twice is one result, and what only begins alike is not."""

from __future__ import annotations

from adapters.index.deduplication import Face, fold_duplicates

OPENING = "To set the kettle up do the following in the order that is given here:"


def _kept(*texts: str) -> list[int]:
    found = fold_duplicates(
        range(len(texts)), lambda number: Face(f"docs/{number}.md", f"Page {number}", None, texts[number])
    )
    return found.kept


def test_passages_that_only_begin_alike_are_different() -> None:
    """A long opening that many pages have does not make them one."""
    assert _kept(f"{OPENING} fill it.", f"{OPENING} boil it.", f"{OPENING} fill it.") == [0, 1]


def test_passages_that_differ_in_their_blanks_are_the_same() -> None:
    """Line breaks and indentation are no difference, near the beginning or far from it."""
    assert _kept(f"{OPENING} fill it.", f"{OPENING}\n  fill   it.", OPENING.replace(" ", "\n") + " fill it.") == [0]


def test_a_passage_is_not_the_beginning_of_a_longer_one() -> None:
    """A text and the same text with more behind it are different, however short."""
    assert _kept("Fill it.", "Fill it. Boil it.", "", "Fill\nit.") == [0, 1, 2]
