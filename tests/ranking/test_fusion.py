from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.index.ranking.fusion import fuse

items = st.integers(0, 12)
scores = st.dictionaries(items, st.floats(0, 50), max_size=10)
similarities = st.dictionaries(items, st.floats(-1, 1), max_size=10)
shares = st.floats(0, 1)
floors = st.floats(-1, 1)


def order(found: list[tuple[int, float]]) -> list[int]:
    return [item for item, _ in found]


def test_the_figures_are_those_of_the_formula() -> None:
    """The share of the words takes the score of the best score; the rest, the similarity between floor and the best."""
    found = fuse({"a": 8.0, "b": 4.0}, {"b": 0.6, "c": 0.4, "d": 0.1}, 0.65, 0.2)
    assert found == [
        ("b", pytest.approx(0.65 / 2 + 0.35)),
        ("a", pytest.approx(0.65)),
        ("c", pytest.approx(0.35 / 2)),
        ("d", 0.0),
    ]


@given(scores, similarities, shares, floors)
def test_what_comes_out_is_what_went_in_once_each_best_first(
    by_words: dict[int, float], by_meaning: dict[int, float], share: float, floor: float
) -> None:
    """Nothing is added, dropped or doubled, and figures fall along the ranking, from 1 to 0."""
    found = fuse(by_words, by_meaning, share, floor)
    assert sorted(order(found)) == sorted(by_words.keys() | by_meaning.keys())
    figures = [figure for _, figure in found]
    assert figures == sorted(figures, reverse=True)
    assert all(0 <= figure <= 1 + 1e-9 for figure in figures)


@given(scores, shares, floors)
def test_one_ranking_alone_stays_as_it_is(by_words: dict[int, float], share: float, floor: float) -> None:
    """Without any meaning, or where all of it is alike, the order of the words stands, with equals as they came."""
    ranked = dict(sorted(by_words.items(), key=lambda entry: -entry[1]))
    assert order(fuse(ranked, {}, 1.0, floor)) == list(ranked)
    assert order(fuse(ranked, dict.fromkeys(ranked, floor), 1.0, floor)) == list(ranked)
    assert set(order(fuse(ranked, {}, share, floor))) == set(ranked)


@given(scores, similarities, shares, floors)
def test_what_is_no_worse_in_both_rankings_is_no_worse_in_the_end(
    by_words: dict[int, float], by_meaning: dict[int, float], share: float, floor: float
) -> None:
    """An item with the higher score and the higher similarity has the higher figure."""
    figures = dict(fuse(by_words, by_meaning, share, floor))
    sides = (by_words, 0.0), (by_meaning, floor)
    for (one, its), (other, of_other) in product(figures.items(), repeat=2):
        if all(side.get(one, nothing) >= side.get(other, nothing) for side, nothing in sides):
            assert its >= of_other
