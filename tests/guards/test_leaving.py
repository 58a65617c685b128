"""The user's words without the secrets in them: what leaves the house."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guards.outgoing import Known, TurnWords, redact_ticket_text, redact_words, values_in
from tests.support.shapes import GROWTH, LEAST, LONG, SHORT, list_shapes

CARD = "4539 1488 0343 6467"
PASSWORD = "Qw3rty99!"  # noqa: S105  # nobody's
KEY = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"My password: {PASSWORD} fails", "My password: [redacted: password-value] fails"),
        (f"Мой пароль: {PASSWORD} не подходит", "Мой пароль: [redacted: password-value] не подходит"),
        (f"I paid with {CARD}.", "I paid with [redacted: payment-card]."),
        (f"The key is {KEY}", "The key is [redacted: api-key]"),
        (f'{{"a": "{KEY}"}}', '{"a": "[redacted: api-key]"}'),
    ],
)
def test_secrets_and_cards_stay_in_the_house(text: str, left: str) -> None:
    """A value is replaced by the name of its rule, and the rest is as it was written."""
    assert redact_ticket_text(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "Write to anna@firma.ru or call +7 916 123-45-67.",
        "Is https://evil.test/login yours?",
        "How do I reset my password?",
        "Заказ 4539148803436468 не пришёл",
    ],
)
def test_what_a_person_needs_to_reply_leaves(text: str) -> None:
    """Addresses, phone numbers and links stay, and so do the words password and token."""
    assert redact_ticket_text(text) == text


@pytest.mark.parametrize(
    ("said", "again"),
    [
        (f"My password: {PASSWORD}", "my password qw3rty99"),
        (f"My password: {PASSWORD}", f"The user cannot log in with {PASSWORD}"),
        (f"Card {CARD}", "card 4539-1488-0343-6467 is refused"),
    ],
)
def test_a_value_is_known_again_without_its_context(said: str, again: str) -> None:
    """Rephrased and retold, it is the same value."""
    left = redact_ticket_text(again, values_in([said]))
    assert "[redacted: " in left
    assert "qw3rty99" not in left.lower()
    assert "4539" not in left


def test_a_value_that_overlaps_another_is_masked_to_its_end() -> None:
    """Of two known values that share characters, nothing is left of either."""
    known = Known({"abc123def456": "api-key", "def456ghi789": "password-value"})
    assert redact_ticket_text("abc123def456ghi789", known) == "[redacted: api-key]"


def test_a_known_value_with_more_between_its_words_is_another_text() -> None:
    """Three characters may stand between its words, and no more."""
    known = values_in([f"Card {CARD}"])
    assert "redacted" in redact_ticket_text("4539 - 1488 - 0343 - 6467", known)
    assert known.find("4539 of 1488 and 0343 or 6467 and 4539 ---- 1488 0343 6467") == []


def test_many_known_values_take_no_more_time_than_their_length_allows() -> None:
    """Each of hundreds of keys is looked for, and a text four times as long takes no longer than others of its length."""
    for shape in list_shapes("values"):

        def measure(size: int, shape: Callable[[int], str] = shape) -> float:
            text = shape(size)
            began = process_time()
            redact_words(TurnWords(text, text[:300], (text[:300],)))
            return process_time() - began

        long = min(measure(LONG) for _ in range(3))
        assert long <= LEAST * GROWTH or long <= GROWTH * min(measure(SHORT) for _ in range(3)), shape(60)


def test_a_value_that_is_a_word_takes_no_other_words_away() -> None:
    """Only values with digits, and of six characters or more, are known again by themselves."""
    known = values_in(["password: backup!", "PIN: 4821"])
    assert redact_ticket_text("Is there a backup of 4821 rows?", known) == "Is there a backup of 4821 rows?"


@given(st.text(max_size=60))
def test_what_has_left_is_not_changed_again(text: str) -> None:
    """Masking twice is masking once, for any text with a value in it."""
    once = redact_ticket_text(f"{text} password: {PASSWORD} {text}", values_in([f"password: {PASSWORD}"]))
    assert PASSWORD not in once
    assert redact_ticket_text(once) == once
