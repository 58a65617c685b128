"""Whether a claim says the opposite of its source."""

from __future__ import annotations

import pytest

from language.fidelity.negation import polarity_differs, read_yes_or_no
from language.figures.passage import passage
from language.names import names


def differs(claim: str, source: str, **more: bool) -> bool:
    return polarity_differs(claim, [passage(source)], **more)


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("The kettle must not boil dry.", "The kettle must boil dry."),
        ("The kettle boils milk.", "The kettle does not boil milk."),
        ("The kettle doesn't boil milk.", "The kettle boils milk."),
        ("The kettle never boils milk.", "The kettle always boils milk."),
        ("The whistle is disabled in the kettle.", "The whistle is enabled in the kettle."),
        ("Чайник не кипятит молоко.", "Чайник кипятит молоко."),
        ("В чайнике можно кипятить молоко.", "В чайнике нельзя кипятить молоко."),
        ("Свисток чайника выключен.", "Свисток чайника включён."),
        ("Чайник никогда не свистит громко.", "Чайник всегда свистит громко."),
    ],
)
def test_a_denial_that_the_source_does_not_have_is_seen(claim: str, source: str) -> None:
    """Not, never, cannot, and opposites such as enabled and disabled, in both directions and languages."""
    assert differs(claim, source)
    assert differs(source, claim)


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("The kettle does not boil milk.", "The kettle doesn't boil milk."),
        ("The kettle boils not only milk.", "The kettle boils milk."),
        ("The kettle boils water.", "The kettle boils water. It does not boil milk."),
        ("The kettle boils milk.", "In summer the kettle boils milk. In winter the kettle does not boil milk."),
        ("Не менее двух чайников кипят.", "Минимум два чайника кипят."),
        ("Elephants never sleep here.", "The kettle boils water."),
        ("", "The kettle boils water."),
    ],
)
def test_what_says_the_same_does_not_differ(claim: str, source: str) -> None:
    """Other words for the same denial, a source that says both, and other subjects are no contradiction."""
    assert not differs(claim, source)


def test_a_yes_before_a_denied_sentence_differs() -> None:
    """A "Yes." is held against the sentence that the answer rests on, and so is a "No."."""
    source = "The kettle does not boil milk."
    assert differs("The kettle boils milk.", source, opens=True)
    assert not differs("The kettle does not boil milk.", source, opens=False)
    assert differs("The kettle boils water.", "The kettle boils water.", opens=False)


@pytest.mark.parametrize(
    ("words", "says"), [("Yes.", True), ("Да.", True), ("No.", False), ("Нельзя.", False), ("Maybe.", None), ("", None)]
)
def test_an_opening_word_says_yes_or_no(words: str, says: bool | None) -> None:
    """Anything else says neither."""
    assert read_yes_or_no(words) is says


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The data is kept in Oracle today.", ("Oracle",)),
        ("Oracle keeps the data.", ()),
        ("Данные хранятся в Oracle.", ("Oracle",)),
        ("Oracle хранит данные о ходах.", ("Oracle",)),
        ("It takes 5 МБ on Monday, in English.", ()),
        ("Run `Oracle` from https://Oracle.test now.", ()),
        ("**Note:** Read this. Then go.", ()),
    ],
)
def test_names_are_capitals_inside_a_sentence(text: str, found: tuple[str, ...]) -> None:
    """Sentence starts, code, addresses, days and units are none; a Latin word of a Russian sentence is one anywhere."""
    assert names(text) == found
