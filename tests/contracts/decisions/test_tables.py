"""The eight tables: proof, oracle, edges, page, and what the proof is worth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf, nan, nextafter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from contracts.context import Threshold
from contracts.decisions import all_tables, record, routing_table
from contracts.decisions.engine import ANY, AtLeast, Below, Cell, ChoiceColumn, DecisionTable, HitPolicy, Number, OneOf
from contracts.decisions.exits import Exit, ExitKind, TicketRule
from contracts.enums import SafetyLevel, SGRAction
from contracts.errors import DecisionError, TableError
from tests.support.oracles import ORACLES, TABLES, in_words, inputs_of

Table = DecisionTable[Any]
EVERY_TABLE = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
OPEN_INTERVAL = st.floats(0, 1, exclude_min=True, exclude_max=True)

CALM = {
    "level": SafetyLevel.SAFE,
    "proposal": SGRAction.NORMAL,
    "spam_score": 0.1,
    "wants_human": False,
    "intent_confidence": 0.9,
    "clarifications_left": True,
}


def routed(spam_threshold: float = 0.7, confidence_threshold: float = 0.6, **inputs: Any) -> tuple[str, str]:
    """Ask DT-002 about a calm, clear request but for the inputs named."""
    return in_words(routing_table(spam_threshold, confidence_threshold).decide(**{**CALM, **inputs}).outcome)


def test_there_are_eight_tables_in_order() -> None:
    """The tables are DT-001 to DT-008, each with an oracle."""
    assert [table.id for table in all_tables()] == [f"DT-00{n}" for n in range(1, 9)] == list(ORACLES)


# ------------------------------------------------------------------------------------------------------------ proof


@EVERY_TABLE
def test_no_case_is_missing_no_row_is_dead_and_no_two_rows_meet(table: Table) -> None:
    """Every table is proved complete and free of overlap, which its hit policy says, too."""
    proof = table.prove()
    assert (proof.gaps, proof.dead, proof.overlaps) == ((), (), ())
    assert proof.holds
    assert table.hit is HitPolicy.UNIQUE


@given(OPEN_INTERVAL, OPEN_INTERVAL)
def test_routing_is_proved_for_every_pair_of_thresholds(spam: float, confidence: float) -> None:
    """DT-002 is sound wherever in the open interval its two thresholds lie."""
    assert routing_table(spam, confidence).prove().holds


@pytest.mark.parametrize("spam", [5e-324, nextafter(1.0, 0.0)])
@pytest.mark.parametrize("confidence", [5e-324, nextafter(1.0, 0.0)])
def test_routing_is_proved_at_the_ends_of_the_open_interval(spam: float, confidence: float) -> None:
    """DT-002 is sound for the smallest and the greatest threshold that there are."""
    assert routing_table(spam, confidence).prove().holds


def test_a_threshold_of_zero_kills_rows() -> None:
    """The interval is open because at 0 nothing lies below the threshold."""
    assert "clear-calm" in routing_table(0.0, 0.6).prove().dead
    assert "unclear-ask-calm" in routing_table(0.7, 0.0).prove().dead


@given(st.floats())
def test_a_setting_takes_exactly_the_thresholds_that_are_proved(number: float) -> None:
    """A threshold outside the open interval, infinite or NaN is refused before a table is built with it."""
    try:
        TypeAdapter(Threshold).validate_python(number)
    except ValidationError:
        assert not 0 < number < 1
    else:
        assert 0 < number < 1


# ----------------------------------------------------------------------------------------------------------- oracle


@EVERY_TABLE
@given(data=st.data())
def test_a_table_decides_as_the_specification_says(table: Table, data: st.DataObject) -> None:
    """For any inputs, a table's outcome is that of the specification told as a chain of ifs."""
    inputs = data.draw(inputs_of(table))
    assert in_words(table.decide(**inputs).outcome) == ORACLES[table.id](**inputs)


@EVERY_TABLE
def test_a_table_decides_as_the_specification_says_in_every_region(table: Table) -> None:
    """The oracle is asked about each region of each table, not only about those that chance drew."""
    for inputs in table.regions():
        assert in_words(table.decide(**inputs).outcome) == ORACLES[table.id](**inputs)


@given(OPEN_INTERVAL, OPEN_INTERVAL, st.data())
def test_routing_decides_as_the_specification_says_at_any_thresholds(
    spam: float, confidence: float, data: st.DataObject
) -> None:
    """DT-002 agrees with its oracle whatever the deployment's thresholds."""
    table = routing_table(spam, confidence)
    inputs = data.draw(inputs_of(table))
    decision = table.decide(**inputs)
    assert in_words(decision.outcome) == ORACLES["DT-002"](
        **inputs, spam_threshold=spam, confidence_threshold=confidence
    )
    assert decision.limits == {"spam_threshold": spam, "confidence_threshold": confidence}


# ------------------------------------------------------------------------------------------------------------ edges


@given(OPEN_INTERVAL)
def test_a_request_at_the_spam_threshold_is_declined(threshold: float) -> None:
    """From the threshold on a request is spam: the threshold itself and 1 are, the number right below and 0 are not."""
    assert routed(spam_threshold=threshold, spam_score=threshold) == ("block", "stop")
    assert routed(spam_threshold=threshold, spam_score=1.0) == ("block", "stop")
    assert routed(spam_threshold=threshold, spam_score=nextafter(threshold, 0.0)) == ("normal", "go_on")
    assert routed(spam_threshold=threshold, spam_score=0.0) == ("normal", "go_on")


@given(OPEN_INTERVAL)
def test_a_request_at_the_confidence_threshold_is_clear(threshold: float) -> None:
    """Below the threshold a question is asked back; at the threshold and at 1 the request is clear."""
    assert routed(confidence_threshold=threshold, intent_confidence=threshold) == ("normal", "go_on")
    assert routed(confidence_threshold=threshold, intent_confidence=1.0) == ("normal", "go_on")
    assert routed(confidence_threshold=threshold, intent_confidence=nextafter(threshold, 0.0)) == ("clarify", "ask")
    assert routed(confidence_threshold=threshold, intent_confidence=0.0) == ("clarify", "ask")


def test_the_defaults_are_those_of_the_specification() -> None:
    """Without settings, spam begins at 0.7 and clarity at 0.6."""
    assert routing_table().limits == {"spam_threshold": 0.7, "confidence_threshold": 0.6}


# ---------------------------------------------------------------------------------------- what is outside the columns


@EVERY_TABLE
@given(data=st.data())
def test_an_unknown_word_is_refused_and_never_decided(table: Table, data: st.DataObject) -> None:
    """A column takes its own members only: not their spelling as plain text, not None, not a number for a word."""
    inputs = data.draw(inputs_of(table))
    name = data.draw(
        st.sampled_from([name for name, column in table.columns.items() if isinstance(column, ChoiceColumn)])
    )
    wrong: Any = data.draw(st.text() | st.none() | st.integers() | st.just(str(inputs[name])) | st.just([inputs[name]]))
    with pytest.raises(DecisionError, match=f"{table.id}: {name} is"):
        table.decide(**{**inputs, name: wrong})


@pytest.mark.parametrize("name", ["spam_score", "intent_confidence"])
@pytest.mark.parametrize(
    "wrong", [nan, inf, -inf, 1.5, -0.1, nextafter(1.0, 2.0), nextafter(0.0, -1.0), True, False, "0.5", None, 0.5j]
)
def test_what_is_no_number_from_0_to_1_is_refused(name: str, wrong: Any) -> None:
    """NaN, infinity, a number outside 0 to 1, a boolean and text are no scores."""
    with pytest.raises(DecisionError, match=f"DT-002: {name} is"):
        routing_table().decide(**{**CALM, name: wrong})


def test_a_level_of_another_set_is_refused() -> None:
    """A member of another enum is no member of the column, even where the text is the same."""
    from contracts.enums import ModerationState

    with pytest.raises(DecisionError, match="DT-002: level is"):
        routing_table().decide(**{**CALM, "level": ModerationState.SAFE})


@EVERY_TABLE
@given(data=st.data())
def test_a_missing_misspelt_or_further_input_is_refused(table: Table, data: st.DataObject) -> None:
    """A table wants exactly its columns: it does not fall through to a row where one is missing or misspelt."""
    inputs = data.draw(inputs_of(table))
    name = data.draw(st.sampled_from(sorted(inputs)))
    without = {key: value for key, value in inputs.items() if key != name}
    for wrong in (without, {**without, f"{name}s": inputs[name]}, {**inputs, "further": True}):
        with pytest.raises(DecisionError, match=f"{table.id} needs"):
            table.decide(**wrong)


# --------------------------------------------------------------------------------------------------------- mutations


def with_cell(table: Table, row_id: str, column: str, cell: Cell) -> Table:
    """Return a table in which one cell is another."""
    rows = tuple(replace(row, when={**row.when, column: cell}) if row.id == row_id else row for row in table.rows)
    return replace(table, rows=rows)


def without_rows(table: Table) -> Iterator[tuple[str, Table]]:
    """Yield a table as often as it has rows, each time without one."""
    for row in table.rows:
        yield f"without {row.id}", replace(table, rows=tuple(other for other in table.rows if other is not row))


def widened_cells(table: Table) -> Iterator[tuple[str, Table]]:
    """Yield a table once for each cell that asks for something, with that cell fitting everything."""
    for row in table.rows:
        for name in row.when:
            yield f"{row.id}.{name} any", with_cell(table, row.id, name, ANY)


def other_cells(table: Table) -> Iterator[tuple[str, Table]]:
    """Yield a table with one cell changed in any other way: another member, one more, one less, another limit."""
    for row in table.rows:
        for name, column in table.columns.items():
            for cell in _others(row.when.get(name, ANY), column):
                yield f"{row.id}.{name} {cell}", with_cell(table, row.id, name, cell)


def _others(cell: Cell, column: ChoiceColumn | Number) -> Iterator[Cell]:
    match column, cell:
        case ChoiceColumn(members), _:
            fitting = tuple(member for member in members if cell.holds(member))
            for member in members:
                if member in fitting:
                    yield OneOf(tuple(other for other in fitting if other is not member))
                else:
                    yield OneOf((*fitting, member))
        case Number(), Below(limit):
            yield from (AtLeast(limit), Below(limit / 2), Below((limit + 1) / 2))
        case Number(), AtLeast(limit):
            yield from (Below(limit), AtLeast(limit / 2), AtLeast((limit + 1) / 2))
        case _:
            yield from (Below(0.5), AtLeast(0.5))


def caught(mutants: Iterator[tuple[str, Table]]) -> tuple[int, list[str]]:
    """Count mutants, and name those that the proof lets through."""
    verdicts = [(name, table.prove().holds) for name, table in mutants]
    return len(verdicts), [name for name, holds in verdicts if holds]


@EVERY_TABLE
@pytest.mark.parametrize("mutants", [without_rows, widened_cells, other_cells])
def test_the_proof_catches_every_changed_row(table: Table, mutants: Any) -> None:
    """A row dropped, or one cell changed, leaves a gap, a dead row or an overlap: all of them, in every table."""
    count, missed = caught(mutants(table))
    assert count > 0
    assert missed == []


@EVERY_TABLE
def test_the_oracle_catches_every_exchanged_outcome(table: Table) -> None:
    """What the proof cannot see, two rows with each other's outcomes, the oracle sees."""
    different = [
        (one, other)
        for index, one in enumerate(table.rows)
        for other in table.rows[index + 1 :]
        if in_words(one.then) != in_words(other.then)
    ]
    assert different
    # Which row decides a region does not hang on outcomes: only the regions of the two rows can be decided otherwise.
    regions = {row.id: list[dict[str, Any]]() for row in table.rows}
    for inputs in table.regions():
        regions[table.decide(**inputs).row].append(inputs)
    for one, other in different:
        then = {one.id: other.then, other.id: one.then}
        mutant = replace(table, rows=tuple(replace(row, then=then.get(row.id, row.then)) for row in table.rows))
        assert any(
            in_words(mutant.decide(**inputs).outcome) != ORACLES[table.id](**inputs)
            for inputs in (*regions[one.id], *regions[other.id])
        )


@EVERY_TABLE
def test_a_row_that_is_there_twice_is_refused(table: Table) -> None:
    """An id names one row of the audit trail."""
    with pytest.raises(TableError, match="used twice"):
        replace(table, rows=(*table.rows, table.rows[0]))


@pytest.mark.parametrize(
    ("kind", "ticket"),
    [
        (ExitKind.HAND_OFF, TicketRule.NO),
        (ExitKind.HAND_OFF, TicketRule.WIDE),
        (ExitKind.OWN_UP, TicketRule.WIDE),
        (ExitKind.DECLINE, TicketRule.WIDE),
    ],
)
def test_an_exit_whose_ticket_contradicts_it_is_refused(kind: ExitKind, ticket: TicketRule) -> None:
    """Nobody is handed off without a ticket, and one that nobody must act on is sent where the user can still act."""
    with pytest.raises(TableError, match="ticket"):
        Exit(kind, "hand_off", ticket)


# ------------------------------------------------------------------------------------------------------------- page


@EVERY_TABLE
def test_the_page_shows_the_table_that_runs(table: Table, root: Path) -> None:
    """Every table stands on its page as it prints itself."""
    assert table.to_markdown() in (root / "docs/decision-tables.md").read_text("utf-8")


@EVERY_TABLE
def test_every_line_of_a_printed_table_has_the_same_cells(table: Table) -> None:
    """No text of a row breaks the table that it is printed in."""
    lines = table.to_markdown().splitlines()
    assert len(lines) == len(table.rows) + 2
    assert {line.count("|") for line in lines} == {len(table.columns) + 4}
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines[2:]] == [row.id for row in table.rows]


# ------------------------------------------------------------------------------------------------------ audit trail


@EVERY_TABLE
@given(data=st.data())
def test_every_decision_can_be_written_down_and_decided_again(table: Table, data: st.DataObject) -> None:
    """The record of a decision is plain data that names table, row, outcome, inputs and limits."""
    inputs = data.draw(inputs_of(table))
    decision = table.decide(**inputs)
    written = record("node", decision, proposed="something").model_dump(mode="json")
    assert written["table"] == table.id
    assert written["row"] in {row.id for row in table.rows}
    assert written["outcome"] == str(decision.outcome)
    assert written["inputs"] == inputs
    assert written["limits"] == dict(table.limits)
    assert written["proposed"] == "something"
    assert all(type(value) in (str, float, bool) for value in written["inputs"].values())
