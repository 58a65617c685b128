from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.truncation import bytes_of, cut_in_proportion, cut_middle, cut_text

texts = st.text(max_size=200) | st.sampled_from(
    ["one. two! three? four " * 9, "a\nbb\nccc\n" * 9, "слово " * 30, "x" * 150, "🔓" * 50]
)
sizes = st.sampled_from([len, bytes_of])


@given(text=texts, budget=st.integers(-5, 300), size=sizes)
def test_a_cut_text_is_a_beginning_within_the_budget(text: str, budget: int, size: type[int]) -> None:
    """What fits is left whole; what does not loses its end and nothing else."""
    cut = cut_text(text, budget, size)
    assert text.startswith(cut)
    assert size(cut) <= max(budget, 0)
    assert cut == text or size(text) > budget


@given(text=texts, budget=st.integers(-5, 300), size=sizes)
def test_a_text_cut_in_its_middle_keeps_both_ends_within_the_budget(text: str, budget: int, size: type[int]) -> None:
    """Where there is room for the mark, what comes out begins and ends as the text does."""
    cut = cut_middle(text, budget, size)
    assert size(cut) <= max(budget, 0)
    if cut and cut != text:
        head, mark, tail = cut.partition("\n[…]\n")
        assert mark
        assert text.startswith(head)
        assert text.endswith(tail)
        assert size(head) + size(tail) < size(text)


@given(several=st.lists(texts, max_size=6), budget=st.integers(-5, 900), size=sizes)
def test_texts_cut_in_proportion_keep_their_places_and_the_budget(
    several: list[str], budget: int, size: type[int]
) -> None:
    """As many come out as went in, each a beginning, together within the budget; what fits is left alone."""
    cut = cut_in_proportion(several, budget, size)
    assert len(cut) == len(several)
    assert all(text.startswith(short) for text, short in zip(several, cut, strict=True))
    assert sum(map(size, cut)) <= max(budget, 0)
    assert cut == several or sum(map(size, several)) > budget


def test_the_best_text_gets_the_most() -> None:
    """Of equal texts, each gets no more than the one before it; what a short one leaves over goes on."""
    lengths = [len(text) for text in cut_in_proportion(["word " * 100] * 4, 600)]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] > 0
    assert len(cut_in_proportion(["short", "word " * 100], 300)[1]) > 250


@pytest.mark.parametrize(
    ("text", "budget", "cut"),
    [
        ("One two. Three four.", 12, "One two."),
        ("One two! Three four.", 12, "One two!"),
        ("one two three four", 12, "one two"),
        ("First line.\nSecond. Third.", 20, "First line."),
        ("Title\nThis is said. And more of it.", 30, "Title\nThis is said."),
        ("Title\nthis goes on and on and on", 30, "Title"),
        ("onelongword", 5, ""),
        ("Any text.", 9, "Any text."),
        ("Any text.", 0, ""),
        ("Слово за словом", 13, "Слово"),
    ],
)
def test_a_text_is_cut_where_it_can_be_cut(text: str, budget: int, cut: str) -> None:
    """At the end of a line, unless a heading would be all that is left; else of a sentence, else of a word."""
    assert cut_text(text, budget, bytes_of if "Слово" in text else len) == cut


@given(text=st.text(max_size=50) | st.just("\ud800\udfff"))
def test_the_size_of_any_text_is_known(text: str) -> None:
    """A lone surrogate, which no encoder takes, has a size, too."""
    assert bytes_of(text) >= len(text)
