"""The table that holds our figures against those that the design started from."""

from __future__ import annotations

import pytest

from evals.retrieval.compared import EXPECTED, NOT_MEASURED, compare


def row(figures: dict[str, float], what: str) -> list[str]:
    lines = [line for line in compare(figures).splitlines() if what in line]
    assert len(lines) == 1
    return [cell.strip() for cell in lines[0].strip("|").split("|")]


@pytest.mark.parametrize(
    ("turns", "joined", "met"),
    [(0.8, 0.5, "yes"), (0.5, 0.8, "no"), (0.5, 0.5, "no")],
    ids=["better", "worse", "equal"],
)
def test_a_verdict_follows_from_the_figures(turns: float, joined: float, met: str) -> None:
    """Taking turns is said to be best only where it is."""
    figures = {"turns handbook en": turns, "whole handbook en": joined}
    told = row(figures, "Several questions")
    assert told[3] == met
    assert f"{turns:.3f}"[1:] in told[1]


def test_a_figure_that_is_kept_on_easy_questions_only_is_met_in_part() -> None:
    """Questions near the pages' words do not make up for the others."""
    figures = {"kept|handbook, plainly asked (en)": 1.0, "kept|handbook (en)": 0.6}
    assert row(figures, "Real questions kept")[3] == "in part"
    assert row({**figures, "kept|handbook (en)": 0.97}, "Real questions kept")[3] == "yes"
    assert row({**figures, "kept|handbook, plainly asked (en)": 0.9}, "Real questions kept")[3] == "no"


def test_an_explanation_stands_only_beside_the_outcome_that_it_explains() -> None:
    """Where the outcome is another one than when it was looked into, the table does not explain it away."""
    worse = {"turns handbook en": 0.5, "whole handbook en": 0.8}
    mixed = {**worse, "turns handbook ru": 0.9, "whole handbook ru": 0.4}
    assert row(worse, "Several questions")[3:] == ["no", "not looked into: when we last looked, this was `in part`"]
    assert row(mixed, "Several questions")[3] == "in part"
    assert row(mixed, "Several questions")[4].startswith("on the handbook in English")


def test_what_was_not_measured_is_neither_met_nor_missed() -> None:
    """Without data every row is there, and none has a verdict."""
    lines = compare({}).splitlines()[2:]
    assert len(lines) == len(EXPECTED) + len(NOT_MEASURED)
    assert all(line.split("|")[4].strip() == "–" for line in lines)
