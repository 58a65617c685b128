"""What of a message is asked: greetings, thanks, signatures, quoted mail and a ticket's form are none of it."""

from __future__ import annotations

import pytest

from language.message import complete_questions, is_complete, own_words, questions_and_context

DELETE, LOESCHEN = "How do I delete a conversation?", "Как удалить диалог?"

WRAPPED = [
    f"We have just started to work with the system, and a colleague has a question. {DELETE}",
    f"Hello team,\n\n{DELETE}\n\nThanks in advance!\n\nBest regards,\nJane Doe\nACME Ltd\n+1 555 0100",
    f"Hi! Could you please tell me how to do it right? No. {DELETE} Any help would be appreciated.",
    f"{DELETE}\n\nOn Mon, 3 March 2025 at 10:00, John <john@example.org> wrote:\n> How do I add a user?\n> John",
    f"{DELETE}\n-----Original Message-----\nFrom: John\nHow do I add a user?",
    f"Ticket #4711\nPriority: High\nCustomer: ACME\nDescription: {DELETE}",
    f"{DELETE}\n--\nJane",
    f"{DELETE}\n\nSent from my iPhone",
]
WRAPPED_RU = [
    f"Мы недавно начали работать с системой, и у коллег возник вопрос. {LOESCHEN}",
    f"Добрый день, коллеги!\n\n{LOESCHEN}\n\nЗаранее спасибо!\n\nС уважением,\nИван Петров\nООО «Ромашка»\n8 800 555-35-35",
    f"Здравствуйте. {LOESCHEN} Буду благодарен за ответ.",
    f"{LOESCHEN}\n\n3 марта 2025 г. Пётр пишет:\n> Как добавить пользователя?",
    f"Заявка № 4711\nПриоритет: высокий\nЗаказчик: Ромашка\nОписание: {LOESCHEN}",
    f"{LOESCHEN}\n\nОтправлено с iPhone",
]


@pytest.mark.parametrize("message", WRAPPED[:2] + WRAPPED[3:])
def test_a_wrapped_question_is_the_question(message: str) -> None:
    """At any length, whatever stands around it."""
    assert complete_questions(message) == [DELETE]


@pytest.mark.parametrize("message", WRAPPED_RU)
def test_a_wrapped_russian_question_is_the_question(message: str) -> None:
    """The same in Russian."""
    assert complete_questions(message) == [LOESCHEN]


@pytest.mark.parametrize(
    ("message", "asked"),
    [
        ("Подскажите, пожалуйста, как удалить диалог?", "как удалить диалог?"),
        ("Добрый день! Не могли бы вы подсказать, как удалить диалог?", "как удалить диалог?"),
        ("У нас возник вопрос: как удалить диалог?", "как удалить диалог?"),
        ("Could you please tell me how to delete a conversation?", "how to delete a conversation?"),
        ("Quick question: how do I delete a conversation?", "how do I delete a conversation?"),
        ("Hello, I would like to know how conversations are deleted.", "how conversations are deleted."),
    ],
)
def test_polite_words_before_a_question_are_no_part_of_it(message: str, asked: str) -> None:
    """They would count as the rarest words of the query."""
    assert [one.text for one in questions_and_context(message)] == [asked]


@pytest.mark.parametrize(
    "message",
    [
        "The export fails with error 500.",
        "Name: the field is empty when I save.",
        "Error: cannot connect to 10.0.0.1",
        "Best practices for backups",
        "> a message that is a quotation alone",
    ],
)
def test_a_message_without_a_question_is_kept_whole(message: str) -> None:
    """What is told is what is asked about, and one line of `name: value` is no form."""
    assert own_words(message) == message
    assert len(questions_and_context(message)) == 1


def test_each_question_knows_the_sentence_before_it() -> None:
    """A question that names too little by itself can be searched for with it."""
    first, second = questions_and_context("I have a database. How do I back it up? What is a profile?")
    assert (first.context, second.context) == ("I have a database.", "")
    assert (is_complete(first.text), is_complete(second.text)) == (False, True)


@pytest.mark.parametrize("question", [DELETE, LOESCHEN, "What is a profile?", "Что такое профиль?", "SSO?"])
def test_a_question_that_names_a_thing_is_complete(question: str) -> None:
    """Its words alone can be searched for."""
    assert is_complete(question)


@pytest.mark.parametrize(
    "question", ["How do I change it?", "What can I do?", "Что делать?", "Как его поменять?", "Why?"]
)
def test_a_question_that_names_nothing_is_not_complete(question: str) -> None:
    """Whatever is found for it answers another question."""
    assert not is_complete(question)


def test_two_questions_of_a_message_are_two() -> None:
    """On one line or on two, joined by a word or not."""
    both = ["What is a profile?", DELETE]
    assert complete_questions(" ".join(both)) == both
    assert complete_questions("\n".join(both)) == both
    assert complete_questions("What is a profile and how do I delete a conversation?") == [
        "What is a profile",
        "how do I delete a conversation?",
    ]
