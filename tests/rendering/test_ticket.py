"""The reasons that a ticket gives to people."""

from __future__ import annotations

import pytest

from contracts.decisions import EVIDENCE
from contracts.enums import Language
from rendering.hand_off import _WHY
from rendering.texts import texts


def test_every_reason_of_dt_006_is_said_in_words() -> None:
    """No rule for evidence fails a draft with a name alone."""
    assert {row.then.reason for row in EVIDENCE.rows} - {""} <= set(_WHY)


@pytest.mark.parametrize("language", Language)
def test_the_words_of_reasons_are_no_names(language: Language) -> None:
    """A sentence that a person can read stands for each."""
    for key in {*_WHY.values(), "why_other"}:
        assert "_" not in texts(language)[key]
        assert texts(language)[key].endswith(".")
