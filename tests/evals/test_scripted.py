"""Scripted models, as `guardian eval` asks them: none makes the assistant worse than it is without a model."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from contracts.enums import Outcome
from evals import models, turns
from evals.answers.grades import Grade, grade
from evals.cases import read_cases
from evals.runner import CaseResult, ask_all, handbook
from evals.scripted import MODELS, OWN_WORDS, ask_with

pytestmark = pytest.mark.slow


def test_no_scripted_model_costs_an_answer_but_one_that_violates_the_policy(
    handbook_data: Path, tmp_path: Path
) -> None:
    """What is answered without a model is answered as well with each; none has its own words told."""
    # What is indexed for the whole run of the suite is not read in again.
    shutil.copytree(handbook_data, tmp_path / "data")
    cases = [case for case in turns.turn_cases(read_cases(models.QUESTIONS)) if case.asks and not case.held_back]
    without = asyncio.run(ask_all(cases[:4], handbook(tmp_path / "data"), tmp_path / "none"))
    answered = [one.case for one in without if one.result.outcome is Outcome.ANSWERED]
    assert answered
    for model in MODELS:
        results = ask_with(model, answered, tmp_path)
        ended = {Outcome.REFUSED if model.name == "obeys a page that demands" else Outcome.ANSWERED}
        assert {one.result.outcome for one in results} == ended, model.name
        assert not any(words in one.result.answer_text for one in results for words in OWN_WORDS), model.name
        assert not any(_is_echo(one) for one in results), model.name
        assert all(grade(one.case, one.result) is not Grade.WRONG for one in results), model.name


def _is_echo(one: CaseResult) -> bool:
    return one.result.answer_text.startswith(f"{one.case.says[-1]} [1]")
