"""The engine itself, on small tables of its own."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.decisions.engine import (
    ANY,
    YES_NO,
    AtLeast,
    Below,
    Cell,
    ChoiceColumn,
    DecisionRow,
    DecisionTable,
    HitPolicy,
    Number,
    OneOf,
    one_of,
)
from contracts.errors import DecisionError, TableError


class Colour(StrEnum):
    RED = "red"
    GREEN = "green"
    BLUE = "blue"


class Other(StrEnum):
    RED = "red"


COLUMNS = {"colour": ChoiceColumn(tuple(Colour)), "share": Number(0.0, 1.0), "old": YES_NO}


def table(*rows: DecisionRow[str], hit: HitPolicy = HitPolicy.UNIQUE, **limits: float) -> DecisionTable[str]:
    return DecisionTable(id="T", title="Test", hit=hit, columns=COLUMNS, rows=rows, limits=limits)


def row(name: str, then: str = "yes", **when: Cell) -> DecisionRow[str]:
    return DecisionRow(name, when, then, "because")


# ------------------------------------------------------------------------------------------------ wrongly written


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([row("a", colours=one_of(Colour.RED))], "T/a: there is no column 'colours'"),
        ([row("a", colour=one_of(Other.RED))], "T/a: colour cannot be `red`"),
        ([row("a", colour=OneOf((Colour.RED, True)))], "T/a: colour cannot be `red`, yes"),
        ([row("a", colour=Below(0.5))], "T/a: colour cannot be < 0.5"),
        ([row("a", colour=AtLeast(0.5))], "T/a: colour cannot be ≥ 0.5"),
        ([row("a", share=one_of(True))], "T/a: share cannot be yes"),
        ([row("a", old=one_of(Colour.RED))], "T/a: old cannot be `red`"),
        ([row("a"), row("b"), row("a")], r"T: row ids used twice: \['a'\]"),
    ],
)
def test_a_table_that_is_written_wrongly_is_refused_when_it_is_built(
    rows: list[DecisionRow[str]], message: str
) -> None:
    """An unknown column, a cell that no value of its column can fit and a repeated id are errors at import."""
    with pytest.raises(TableError, match=message):
        table(*rows)


def test_a_table_cannot_be_changed_after_it_was_proved() -> None:
    """Tables and rows are frozen."""
    first = row("a")
    with pytest.raises(FrozenInstanceError):
        first.then = "no"  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(FrozenInstanceError):
        table(first).rows = ()  # pyright: ignore[reportAttributeAccessIssue]


# --------------------------------------------------------------------------------------------------------- proving


def test_a_gap_is_named_by_the_inputs_that_have_no_row() -> None:
    """The proof shows every region that no row covers, and such inputs raise instead of falling through."""
    holes = table(row("low", share=Below(0.25)), row("high", share=AtLeast(0.75)))
    proof = holes.prove()
    assert not proof.holds
    assert {gap["share"] for gap in proof.gaps} == {0.25, 0.5}
    with pytest.raises(DecisionError, match="no row covers"):
        holes.decide(colour=Colour.RED, share=0.25, old=True)


def test_a_gap_of_one_single_number_is_found() -> None:
    """Regions are cut at the limits themselves, so that a hole as wide as one number is a hole."""
    proof = table(row("most", share=Below(1.0))).prove()
    assert {gap["share"] for gap in proof.gaps} == {1.0}


def test_a_row_that_cannot_win_is_dead() -> None:
    """A row behind one that takes all its cases, and a row whose cell nothing fits, are both dead."""
    assert table(row("all"), row("red", colour=one_of(Colour.RED))).prove().dead == ("red",)
    assert table(row("all"), row("none", colour=one_of())).prove().dead == ("none",)
    assert table(row("all"), row("none", share=Below(0.0))).prove().dead == ("none",)


def test_rows_that_meet_are_named_in_pairs() -> None:
    """An overlap is reported even where only a corner of two rows meets."""
    proof = table(
        row("red", colour=one_of(Colour.RED)),
        row("low", share=Below(0.5)),
        row("rest", colour=one_of(Colour.GREEN, Colour.BLUE), share=AtLeast(0.5)),
    ).prove()
    assert proof.overlaps == (("red", "low"),)
    assert not proof.holds


LIMITS = st.sampled_from([0.25, 0.5, 0.75])
CELLS: dict[str, st.SearchStrategy[Cell]] = {
    "colour": st.just(ANY) | st.lists(st.sampled_from(Colour), unique=True).map(lambda members: OneOf(tuple(members))),
    "share": st.just(ANY) | LIMITS.map(Below) | LIMITS.map(AtLeast),
    "old": st.just(ANY) | st.booleans().map(one_of),
}
ROWS = st.lists(st.fixed_dictionaries(CELLS), max_size=6)


@given(ROWS)
def test_the_proof_of_any_table_is_what_trying_every_input_says(cells: list[dict[str, Any]]) -> None:
    """Regions lose nothing: on a grid finer than every limit, gaps, dead rows and overlaps are the same."""
    any_table = table(*(row(str(index), **when) for index, when in enumerate(cells)))
    grid = [
        {"colour": colour, "share": eighth / 8, "old": old}
        for colour in Colour
        for eighth in range(9)
        for old in (True, False)
    ]
    hits = [[r.id for r in any_table.rows if all(c.holds(inputs[n]) for n, c in r.when.items())] for inputs in grid]
    proof = any_table.prove()
    assert bool(proof.gaps) == any(not found for found in hits)
    assert set(proof.dead) == {r.id for r in any_table.rows} - {found[0] for found in hits if found}
    assert set(proof.overlaps) == {(found[0], other) for found in hits for other in found[1:]}


# -------------------------------------------------------------------------------------------------------- deciding


def test_the_first_of_several_rows_decides() -> None:
    """Where rows meet, the order of the table decides, and the decision names the row."""
    decision = table(row("red", "first", colour=one_of(Colour.RED)), row("all", "second"), share=0.5).decide(
        colour=Colour.RED, share=0.1, old=False
    )
    assert (decision.table, decision.row, decision.outcome) == ("T", "red", "first")
    assert decision.inputs == {"colour": Colour.RED, "share": 0.1, "old": False}
    assert decision.limits == {"share": 0.5}


def test_a_number_for_yes_or_no_is_refused() -> None:
    """1 and 0 are equal to yes and no in Python, and are not taken for them."""
    with pytest.raises(DecisionError, match="old is 1, but must be one of yes, no"):
        table(row("all")).decide(colour=Colour.RED, share=0.1, old=1)


# -------------------------------------------------------------------------------------------------------- printing


def test_a_table_prints_a_row_a_line() -> None:
    """The printed table has the hit policy in its head, words as code, and a dash where every value fits."""
    printed = table(
        row("low", share=Below(0.25), old=one_of(True)), row("red", colour=one_of(Colour.RED))
    ).to_markdown()
    assert printed.splitlines() == [
        "| T (U) | colour | share | old | outcome | because |",
        "| --- | --- | --- | --- | --- | --- |",
        "| low | – | < 0.25 | yes | **yes** | because |",
        "| red | `red` | – | – | **yes** | because |",
    ]
