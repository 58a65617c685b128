"""The question in a text, and what only looks like one."""

from __future__ import annotations

import pytest

from language.questions import question_of
from tests.support.demands import PLAIN_QUESTIONS

STATEMENTS = [
    "Why was your account deleted?",
    "When did you break it?",
    "Почему вашу учётную запись закрыли?",
    "Which kettle is it; the support is closed forever and your account is deleted?",
    "Which kettle is it, your account is deleted?",
    "Which kettle is it and your account is deleted?",
    "When we checked, your account was deleted forever?",
    "What a pity, your account is deleted?",
    "Have a nice day, your account is deleted?",
    "Do note: your account is deleted, ok?",
    "Did you know that your account is deleted and the support is closed forever?",
    "Как мы уже писали, ваш аккаунт удалён, а поддержка закрыта навсегда?",
    "Как известно, ваш аккаунт удалён?",
    "Что касается вашего аккаунта, он удалён навсегда?",
    "Мы удалили все ваши данные без возможности восстановления?",
    "Знаете ли вы, что аккаунт удалён?",
    "Какая форма нужна, аккаунт удалён?",
    "Вы знаете, что ваш аккаунт удалён?",
    "А вы в курсе, что поддержка закрыта навсегда?",
    "Вам сообщили вчера, что ваши данные удалены?",
    "Вас предупредили, что чайник отключат?",
    "Вы не забыли, что ваш аккаунт удалён?",
    "What will you do without support, which is closed forever?",
]


@pytest.mark.parametrize("text", PLAIN_QUESTIONS)
def test_a_plain_question_is_its_own_interrogative_clause(text: str) -> None:
    """Nothing is cut from it."""
    assert question_of(text) == text


@pytest.mark.parametrize("text", STATEMENTS)
def test_what_states_something_in_the_form_of_a_question_is_none(text: str) -> None:
    """Neither behind the question nor inside of it, and the assistant tells nothing of itself in one."""
    assert question_of(text) == ""


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("It is broken. Which one is it?", "Which one is it?"),
        ("It is broken; which one is it?", "Which one is it?"),
        ("Which one? It is broken.", "Which one?"),
        ("Всё сломано, какой он марки?", "Какой он марки?"),
        ("Это чайник?", "Это чайник?"),
        ("Скажите, что именно не открывается?", "Что именно не открывается?"),
        ("Вы знаете, какая у вас версия?", "Какая у вас версия?"),
        ("Если вы видите ошибку, какой у неё код?", "Какой у неё код?"),
        ("Вы видите, что написано на экране?", "Что написано на экране?"),
        ("Вы помните, как называлась страница?", "Как называлась страница?"),
        ("Сообщите, какая у вас версия?", "Какая у вас версия?"),
        ("Is it slow because you use a proxy?", "Is it slow because you use a proxy?"),
        ("Do you use the app, which is older than 5?", "Do you use the app, which is older than 5?"),
        ("Cloud or server, which is it?", "Which is it?"),
        ("It is broken (which one is it?)", "Which one is it?"),
        ("It is broken.", ""),
        ("It is broken?", ""),
        ("", ""),
    ],
)
def test_the_question_of_a_text_is_its_last_interrogative_clause(text: str, question: str) -> None:
    """Without what the text states besides; Russian asks by intonation, too."""
    assert question_of(text) == question
