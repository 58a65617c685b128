from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.ranking.fusion import K, fused

rankings = st.lists(st.lists(st.integers(0, 12), unique=True, max_size=10), max_size=4)


def order(*lists: list[int]) -> list[int]:
    return [item for item, _ in fused(lists)]


def test_the_score_is_the_papers() -> None:
    """A document's score is the sum of 1 / (60 + rank), ranks counted from 1."""
    assert K == 60
    assert fused([["a", "b"], ["b", "c"]]) == [
        ("b", pytest.approx(1 / 62 + 1 / 61)),
        ("a", pytest.approx(1 / 61)),
        ("c", pytest.approx(1 / 62)),
    ]


@given(rankings)
def test_what_comes_out_is_what_went_in_once_each_best_first(lists: list[list[int]]) -> None:
    """Nothing is added, dropped or doubled, and scores never rise along the ranking."""
    found = fused(lists)
    assert sorted(item for item, _ in found) == sorted(set().union(*lists))
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)


@given(st.lists(st.integers(), unique=True))
def test_one_ranking_alone_stays_as_it_is(ranking: list[int]) -> None:
    """Fusing one ranking, also with empty ones or with itself, keeps its order."""
    assert order(ranking) == order(ranking, []) == order([], ranking) == order(ranking, ranking) == ranking


@given(rankings, st.randoms())
def test_scores_do_not_depend_on_which_ranking_comes_first(lists: list[list[int]], dice: object) -> None:
    """The rankings have equal rights."""
    mixed = list(lists)
    dice.shuffle(mixed)  # type: ignore[attr-defined]
    one, other = dict(fused(lists)), dict(fused(mixed))
    assert one.keys() == other.keys()
    assert all(one[item] == pytest.approx(other[item]) for item in one)


@given(rankings)
def test_what_is_above_in_every_ranking_is_above_in_the_end(lists: list[list[int]]) -> None:
    """An item that every ranking has, and before another one wherever that stands, comes first."""
    final = order(*lists)
    everywhere = [item for item in final if lists and all(item in ranking for ranking in lists)]
    for better in everywhere:
        for worse in final:
            if all(worse not in r or r.index(better) < r.index(worse) for r in lists) and better != worse:
                assert final.index(better) < final.index(worse)


@given(rankings, st.integers(0, 3))
def test_a_better_place_in_one_ranking_never_costs_a_place(lists: list[list[int]], which: int) -> None:
    """An item moved to the top of one ranking is not further down than before."""
    which = which % len(lists) if lists else 0
    if not lists or not lists[which]:
        return
    item = lists[which][-1]
    moved = [list(ranking) for ranking in lists]
    moved[which] = [item, *lists[which][:-1]]
    assert dict(fused(moved))[item] >= dict(fused(lists))[item]


def test_what_stands_twice_in_a_ranking_counts_by_its_better_place() -> None:
    """A repeat takes nobody's rank."""
    assert fused([["a", "a", "b"]]) == fused([["a", "b"]])
