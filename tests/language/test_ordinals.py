"""Which number a short message names."""

from __future__ import annotations

import pytest

from language.figures.ordinals import LAST, number_named

SAID = {
    1: ["1", "1.", "(1)", "#1", "first", "The first one", "one", "первое", "Первый вариант", "одно", "1-й"],
    2: [
        "2",
        "2)",
        "№2",
        "№ 2",
        "No 2",
        "the second",
        "option 2 please",
        "второе",
        "вторая",
        "номер 2",
        "давайте второй",
    ],
    3: ["3!", "third", "Third option, please", "третье", "третий, пожалуйста", "пункт 3", "3-е"],
    4: ["четвёртое", "the fourth"],
    LAST: ["the last one", "last", "последнее", "последний вариант"],
}
NO_NUMBER = [
    "",
    "2 days",
    "version 2",
    "2.1",
    "2, and how do I delete it?",
    "the second page of the manual",
    "вторник",
    "однако",
    "нет",
    "no",
    "the catalogue",
    "I have one question",
    "-" * 100 + "2",
]


@pytest.mark.parametrize(("number", "message"), [(n, text) for n, texts in SAID.items() for text in texts])
def test_a_number_is_read_in_figures_and_in_words(number: int, message: str) -> None:
    """With courtesies and a word for the choice beside it, in both languages and any case."""
    for text in (message, message.upper(), f"  {message} \n"):
        assert number_named(text) == number


@pytest.mark.parametrize("message", NO_NUMBER)
def test_a_message_that_says_more_names_no_number(message: str) -> None:
    """An amount, a version or a word that only begins alike is not a choice."""
    assert number_named(message) is None
