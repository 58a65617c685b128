"""What of a ticket is its question."""

from __future__ import annotations

import pytest

from assistant.batch.subjects import question_of

ASKS = "How do I delete a conversation?"


@pytest.mark.parametrize(
    "subject",
    [
        *("Question", "Ticket #12345", "URGENT!!!", "Problem", "Test", "Re: Fwd: help", "RE: SD-4711", "(no subject)"),
        *("Вопрос", "Срочно!!!", "Тест", "Обращение №12345", "Отв: заявка 7", "Добрый день!", "Без темы", "123", "—"),
    ],
)
@pytest.mark.parametrize("description", [ASKS, "The printer is silent.", "Принтер молчит"])
def test_a_subject_that_says_nothing_is_left_out(subject: str, description: str) -> None:
    """Words for tickets, greetings, prefixes, numbers and marks are nothing that could be searched."""
    assert question_of(subject, description, "auto") == description
    assert question_of(subject, "", "auto") == subject


@pytest.mark.parametrize(
    "description",
    [
        *(
            ASKS,
            "how to delete a conversation",
            "The disk is full. How much space is needed?",
            "please tell me how to delete a conversation",
            "is there an export of threads",
            'Ann asked: "what is a profile?"',
            "подскажите, как удалить диалог",
        ),
        *("Что такое профиль?", "как удалить диалог", "Добрый день! Подскажите, где лежат диалоги?"),
        "Место кончилось. Сколько места нужно?",
    ],
)
def test_a_description_that_asks_by_itself_is_asked_alone(description: str) -> None:
    """It has a question, by its mark or its first word, and what that is about."""
    assert question_of("Profile", description, "auto") == description


@pytest.mark.parametrize(
    "description",
    [
        *("I looked everywhere. What should I do?", "Could you please advise?", "Место кончилось. Что делать?"),
        "The log is at https://x.example/log?id=1",
        *("Почему так происходит?", "В чём причина?", "Как написано в инструкции, включил"),
        *("It stays dark since Monday", "When I print, it is silent.", "How do I fix it?", "What should I do?", "Why?"),
        *("Hello! Any ideas?", "Не печатает", "Когда я печатаю, он молчит", "Как его включить?", "Что делать?"),
        *("Здравствуйте! Как быть?", "Как только включаю, гаснет"),
    ],
)
def test_a_description_that_needs_its_subject_is_joined_to_it(description: str) -> None:
    """Statements are, and so are questions that point at something that only the subject names."""
    assert question_of("Printer", description, "auto") == f"Printer\n\n{description}"


@pytest.mark.parametrize(
    "description", ["", "-", "see subject", "See the title.", "см. тему", "В теме", "Смотрите вложение", "Спасибо!"]
)
def test_a_description_that_says_nothing_leaves_the_subject(description: str) -> None:
    """It sends the reader to the subject, which is asked alone."""
    assert question_of("Printer is silent", description, "auto") == "Printer is silent"


def test_the_number_of_an_error_says_something() -> None:
    """Unlike that of a ticket."""
    assert question_of("Error 403", "It happens daily", "auto") == "Error 403\n\nIt happens daily"
    assert question_of("Ошибка №5", "Каждый день", "auto") == "Ошибка №5\n\nКаждый день"


def test_a_mapping_can_say_what_is_asked() -> None:
    """Whatever the two say."""
    assert question_of("Question", ASKS, "joined") == f"Question\n\n{ASKS}"
    assert question_of("Question", ASKS, "subject") == "Question"
    assert question_of("Printer", "It is silent", "description") == "It is silent"
