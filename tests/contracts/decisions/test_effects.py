"""What the required actions change."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.decisions import EVIDENCE, VERDICT
from contracts.decisions.effects import EFFECTS, Effect, combine
from contracts.enums import RequiredAction, Source, Verdict

A = RequiredAction
ACTIONS = st.lists(st.sampled_from(A))
FLAGS = ("more", "refine", "other_documents", "redraft", "ends")
GROUPS = ("add_sources", "only_sources", "drop_sources")


def test_every_action_has_an_effect() -> None:
    """No action of the enum is without an entry, and none is there that the enum does not have."""
    assert list(EFFECTS) == list(A)


@pytest.mark.parametrize("action", A)
def test_every_action_changes_exactly_one_thing(action: RequiredAction) -> None:
    """An action makes the search another, or the draft another, or ends the turn: never nothing, never two of them."""
    effect = EFFECTS[action]
    assert [effect.searches, effect.redraft, effect.ends].count(True) == 1


def test_the_actions_that_end_a_turn_are_the_four_ways_out() -> None:
    """A minimal question, a refusal, a redaction and a hand-off end a turn; nothing else does."""
    ends = {action for action, effect in EFFECTS.items() if effect.ends}
    assert ends == {A.ASK_MINIMAL_QUESTION, A.SAFE_REFUSAL, A.REDACT_SENSITIVE, A.ESCALATE_TO_HUMAN}


def test_the_actions_on_the_form_search_nothing() -> None:
    """A retry for the contract alone does not search again."""
    form = (A.ADD_REQUIRED_SECTIONS, A.REMOVE_FORBIDDEN_CONTENT, A.USE_DOMAIN_TERMS, A.ADD_EVIDENCE_REFERENCES)
    assert not combine(form).searches
    assert combine(form).redraft


@pytest.mark.parametrize("source", Source)
def test_each_source_can_be_asked_for(source: Source) -> None:
    """RETRIEVE_x adds the source x and nothing else."""
    assert EFFECTS[A(f"RETRIEVE_{source.name}")] == Effect(add_sources=(source,))


@given(ACTIONS)
def test_actions_together_do_what_each_of_them_does(actions: list[RequiredAction]) -> None:
    """The combined effect has every flag and every source of its parts, and no others."""
    together, parts = combine(actions), [EFFECTS[action] for action in actions]
    for flag in FLAGS:
        assert getattr(together, flag) == any(getattr(part, flag) for part in parts)
    for group in GROUPS:
        sources = getattr(together, group)
        assert set(sources) == {source for part in parts for source in getattr(part, group)}
        assert len(sources) == len(set(sources))
    assert together.searches == any(part.searches for part in parts)


@given(ACTIONS)
def test_an_action_named_twice_counts_once(actions: list[RequiredAction]) -> None:
    """Repeating the actions changes nothing."""
    assert combine([*actions, *actions]) == combine(actions)


def test_no_actions_change_nothing() -> None:
    """Without an action the effect is empty."""
    assert combine([]) == Effect()
    assert not Effect().searches


def test_a_retry_of_the_verdict_table_changes_something_and_a_failure_ends_the_turn() -> None:
    """The actions that DT-005 itself names go on after RETRY and end the turn after FAIL."""
    for row in VERDICT.rows:
        effect = combine(row.then.actions)
        if row.then.take:
            assert row.then.actions == ()
        elif row.then.verdict is Verdict.RETRY:
            assert effect.searches or effect.redraft
            assert not effect.ends
        elif row.then.verdict is Verdict.FAIL:
            assert effect.ends
        else:
            assert effect == Effect()


def test_missing_sources_are_searched_for() -> None:
    """Where DT-006 requires a source, it names the reason and actions that add a required source."""
    for row in EVIDENCE.rows:
        rule = row.then
        assert bool(rule.required) == bool(rule.reason) == bool(rule.remedy)
        assert set(combine(rule.remedy).add_sources) == set(rule.required)
