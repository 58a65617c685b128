"""A question that goes on from the one before is understood from it."""

from __future__ import annotations

import pytest

from adapters.planning.follow_ups import gone_on

INSTALL = "How do I install the program on Linux?"
DELETE_EN = "How do I delete a conversation?"
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
        ("where is that?", "What is a profile?", "where is a profile?"),
        ("А где это?", "Что такое профиль?", "А где профиль?"),
        ("How long does it take?", DELETE_EN, "How long does it take: How do I delete a conversation?"),
        ("А сколько?", DELETE, "А сколько: Как удалить диалог?"),
        ("and if it fails?", DELETE_EN, "How do I delete a conversation, if it fails?"),
        ("А если не получилось?", DELETE, "Как удалить диалог, если не получилось?"),
        ("How long are they kept?", "Where are conversations stored?", "How long are conversations kept?"),
        ("А сколько он хранится?", DELETE, "А сколько диалог хранится?"),
        ("А восстановить?", DELETE, "Как восстановить диалог?"),
        ("What about Windows?", "How do I connect to a VM?", "How do I connect to a VM, Windows?"),
        ("What about the port?", "How do I start the server?", "How do I start the server, the port?"),
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


@pytest.mark.parametrize(
    ("message", "before"),
    [
        ("Does it take long, and can it be deleted?", "What is a profile?"),
        ("Is it possible to have two?", "What is a profile?"),
        ("Does it work on a phone?", "What is a profile?"),
        ("If a file is there, who reads it?", "What is a profile?"),
        ("Does the index delete it?", "What is a profile?"),
        ("Can it be deleted?", "What is the difference between a profile and a thread?"),
        ("А его можно удалить?", "Чем отличаются профиль и диалог?"),
        ("And if the office network drops packets?", "What is a profile?"),
    ],
)
def test_what_may_mean_another_thing_stays(message: str, before: str) -> None:
    """Two pronouns, nobody's "it", another name in front of it, the product itself, and two things in the question before."""
    assert gone_on(message, before) == message


def test_what_was_spoken_of_counts_as_long_as_it_is_said() -> None:
    """Over a question about more than one thing."""
    before = gone_on("How do I limit the access to it?", "How do I create a bucket?")
    assert before == "How do I limit the access to it?"
    before = gone_on("Как ограничить к нему доступ?", "Как создать бакет?")
    assert gone_on("А удалить?", before, "бакет") == "Как удалить бакет?"
    assert gone_on("А удалить?", "Где журнал событий и очередей?", "бакет") == "А удалить?"
