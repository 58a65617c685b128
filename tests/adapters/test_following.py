"""A question that goes on from the one before is understood from it."""

from __future__ import annotations

import pytest

from adapters.planning.following import gone_on

INSTALL = "How do I install the program on Linux?"
DELETE = "Как удалить диалог?"


@pytest.mark.parametrize(
    ("message", "before", "meant"),
    [
        ("And on Windows?", INSTALL, "How do I install the program on Windows?"),
        ("What about on macOS?", INSTALL, "How do I install the program on macOS?"),
        ("And without a key?", INSTALL, "How do I install the program on Linux without a key?"),
        ("А на Windows?", "Как установить программу на Linux?", "Как установить программу на Windows?"),
        ("А профиль?", DELETE, "Как удалить профиль?"),
        ("And a profile?", "How do I delete a conversation?", "How do I delete a profile?"),
        ("А для администратора?", DELETE, "Как удалить диалог для администратора?"),
    ],
)
def test_what_is_other_takes_its_place_in_the_question_before(message: str, before: str, meant: str) -> None:
    """In the place of the same preposition or of the one thing that was asked about; else behind it."""
    assert gone_on(message, before) == meant


@pytest.mark.parametrize(
    "message",
    [
        "And how do I restore a backup?",
        "А как восстановить копию?",
        "And thanks!",
        "А почему?",
        "On Windows the installer stops with an error",
        "And then it said that the disk is full, so I went on and removed the folder",
    ],
)
def test_a_whole_question_stays_as_it_is(message: str) -> None:
    """A question with an interrogative of its own, thanks, and what tells something go on from nothing."""
    assert gone_on(message, INSTALL) == message
