from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.retrieval.measures import area, area_figure, mean, ndcg, precision, recall


def test_gain_is_discounted_by_rank_and_divided_by_the_best_order() -> None:
    """A hand-made example: grades 2 and 1 at ranks 2 and 4, where 1 and 2 would be best."""
    ours = ndcg(["x", "a", "y", "b"], {"a": 2, "b": 1})
    assert ours == pytest.approx((2 / math.log2(3) + 1 / math.log2(5)) / (2 / 1 + 1 / math.log2(3)))
    assert ours == pytest.approx(0.6433, abs=0.0001)


def test_gain_agrees_with_a_published_example() -> None:
    """The textbook list of grades 3 2 3 0 1 2 has nDCG@6 of .961 (DCG 6.861 of 7.141)."""
    grades = {str(place): grade for place, grade in enumerate([3, 2, 3, 0, 1, 2]) if grade}
    assert ndcg([str(place) for place in range(6)], grades, depth=6) == pytest.approx(6.8611 / 7.1410, abs=0.0001)


@pytest.mark.parametrize(
    ("ranking", "expected"),
    [(["a", "b"], 1.0), (["b", "a"], 0.8597), (["x", *"cdefghijk", "a"], 0.0), ([], 0.0)],
    ids=["best order", "helper first", "below the depth", "nothing found"],
)
def test_the_ends_of_the_scale_are_reached(ranking: list[str], expected: float) -> None:
    """The best order has 1, a page that only helps in first place costs something, and what is too deep counts nothing."""
    assert ndcg(ranking, {"a": 2, "b": 1}) == pytest.approx(expected, abs=0.0001)


def test_recall_and_precision_count_pages_up_to_a_depth() -> None:
    """Two of three pages among the first four, one of them among the first two."""
    grades = {"a": 2, "b": 1, "c": 1}
    ranking = ["x", "a", "y", "b", "c"]
    assert recall(ranking, grades, 4) == pytest.approx(2 / 3)
    assert precision(ranking, grades, 2) == pytest.approx(1 / 2)
    assert precision(["a"], grades, 2) == pytest.approx(1 / 2)


def test_area_counts_pairs_and_ties_by_half() -> None:
    """Of six pairs four are won, one is a tie and one is lost."""
    assert area([0.9, 0.5], [0.5, 0.6, 0.1]) == pytest.approx(4.5 / 6)
    assert area([1.0], [0.0]) == 1.0
    assert math.isnan(area([], [0.0]))


@given(
    st.lists(st.sampled_from([0.0, 0.2, 0.5, 0.7]), min_size=1, max_size=12),
    st.lists(st.sampled_from([0.0, 0.2, 0.5, 0.9]), min_size=1, max_size=12),
)
def test_area_is_what_comparing_every_pair_gives(own: list[float], foreign: list[float]) -> None:
    """The quick way by sorting agrees with the definition."""
    wins = sum((one > other) + 0.5 * (one == other) for one in own for other in foreign)
    assert area(own, foreign) == pytest.approx(wins / (len(own) * len(foreign)))


def test_intervals_hold_the_true_mean_about_as_often_as_they_say() -> None:
    """Of a hundred samples of thirty coins, the interval holds one half in 88 to 100 (95 are promised for many)."""
    dice = random.Random(7)  # noqa: S311  # no secret is drawn
    held = 0
    for _ in range(100):
        told = mean([float(dice.random() < 0.5) for _ in range(30)])
        held += told.low <= 0.5 <= told.high
    assert 88 <= held <= 100


def test_figures_are_the_same_in_each_run() -> None:
    """Resampling is seeded: a table changes only where search does."""
    values = [0.1, 0.9, 0.4, 0.4, 1.0]
    assert mean(values) == mean(values)
    assert area_figure(values, [0.3, 0.2]) == area_figure(values, [0.3, 0.2])


def test_figures_are_written_without_the_leading_zero_and_none_as_a_dash() -> None:
    """`.500 (.500 to .500)`, `1.00` at the top, and a dash where nothing was measured."""
    assert str(mean([0.5, 0.5])) == ".500 (.500 to .500)"
    assert str(mean([1.0])) == "1.00 (1.00 to 1.00)"
    assert str(mean([])) == "–"
