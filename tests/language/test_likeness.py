"""How much of a claim its sources have."""

from __future__ import annotations

import pytest

from language.fidelity.likeness import is_invented, likeness
from language.figures.passage import passage

KETTLE = [passage("The kettle boils water at 100 degrees and switches itself off. Its body is made of copper.")]


@pytest.mark.parametrize(
    ("claim", "invented"),
    [
        ("Our engineers gladly help every customer day and night.", True),
        ("The vendor guarantees full refunds to unhappy customers.", True),
        ("The copper kettle switches off by itself when water boils.", False),
        ("Water boils, and the appliance goes off without anybody touching it.", False),
        ("Here is what the documentation says:", False),
        ("Kettles rule.", False),
        ("Put `copper = true` under the settings of your profile.", False),
        ("Наши инженеры с радостью помогут каждому клиенту днём и ночью.", False),
    ],
)
def test_a_claim_with_hardly_a_word_of_its_source_is_an_invention(claim: str, invented: bool) -> None:
    """Lead-ins, short claims, what is typed, and what is in another script than its source are not judged by words."""
    assert is_invented(claim, KETTLE) is invented


def test_likeness_is_the_share_of_words_that_the_source_has() -> None:
    """Names and numbers count for nothing, and a text in another script has no likeness."""
    assert likeness("The kettle boils water.", KETTLE) == 1.0
    assert likeness("The kettle sings songs in Berlin at 90.", KETTLE) == pytest.approx(1 / 3)
    assert likeness("Чайник кипятит воду.", KETTLE) is None
