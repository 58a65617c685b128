"""Shares, detections and plots."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.aims import of_drafts, of_messages, of_turns
from evals.plots import plot_shares
from evals.scores import Detection, Share, percent

COUNTS = st.integers(0, 60)


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [(0, 10, 0.0, 0.278), (5, 10, 0.237, 0.763), (10, 10, 0.722, 1.0), (81, 263, 0.255, 0.366)],
)
def test_intervals_are_those_of_wilsons_paper_and_its_textbooks(hits: int, of: int, low: float, high: float) -> None:
    """The ends are Wilson's score interval at 95 %; 81 of 263 is the example of Newcombe (1998)."""
    assert Share(hits, of).interval() == pytest.approx((low, high), abs=0.0006)


@given(caught=COUNTS, missed=COUNTS, false_alarms=COUNTS, left=COUNTS)
def test_f1_lies_between_precision_and_recall_and_inside_its_interval(
    caught: int, missed: int, false_alarms: int, left: int
) -> None:
    """F1 is the harmonic mean of both, so between them; the bootstrap's interval holds it."""
    found = Detection(caught, missed, false_alarms, left)
    if math.isnan(found.f1):
        assert caught + missed + false_alarms == 0
        return
    if caught:
        ends = sorted((found.precision.value, found.recall.value))
        assert ends[0] - 1e-9 <= found.f1 <= ends[1] + 1e-9
    low, high = found.f1_interval
    assert 0 <= low <= high <= 1


def test_what_was_and_what_should_have_been_are_counted_apart() -> None:
    """A false alarm lowers precision only, a miss recall only."""
    found = Detection.of([(True, True)] * 6 + [(True, False)] * 2 + [(False, True)] * 3 + [(False, False)] * 9)
    assert (found.precision.value, found.recall.value) == (6 / 9, 6 / 8)
    assert found.false_alarm_rate.value == 3 / 12


@pytest.mark.parametrize(
    ("share", "shown"), [(1.0, "100%"), (0.999, "99.9%"), (0.0, "0%"), (0.001, "0.1%"), (0.5, "50%")]
)
def test_a_share_that_is_not_all_never_reads_as_all(share: float, shown: str) -> None:
    """Rounding must not turn one miss into none, nor one hit into none."""
    assert percent(share) == shown


def test_the_same_figures_draw_the_same_plot(tmp_path: Path) -> None:
    """A plot is a function of its figures, so that a page that did not change has no new picture."""
    bars = {"en": [("routes", Share(3, 4)), ("faults", Share(0, 0))], "ru": [("routes", Share(4, 4))], "none": []}
    for name in ("one.svg", "two.svg"):
        plot_shares(tmp_path / name, "Shares", bars)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert b"<svg" in (tmp_path / "one.svg").read_bytes()


def test_a_plot_of_nothing_is_not_drawn(tmp_path: Path) -> None:
    """Where no case is there, no empty picture is left behind."""
    plot_shares(tmp_path / "none.svg", "Nothing", {"en": [("routes", Share(0, 0))]})
    assert not (tmp_path / "none.svg").exists()


def test_an_aim_without_a_case_is_neither_met_nor_missed() -> None:
    """Of nothing, nothing can be said."""
    assert {aim.met for aim in (*of_drafts([]), *of_messages([]))} == {None}
    assert of_turns([]) == []
