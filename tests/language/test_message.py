"""What of a message is asked: greetings, thanks, signatures, quoted mail and a ticket's form are none of it."""

from __future__ import annotations

import pytest

from language.envelope import own_words
from language.message import (
    complete_questions,
    find_question,
    is_complete,
    needs_context,
    parts_of,
    questions_and_context,
)

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
        ("Подскажите плз как удалить диалог", "как удалить диалог"),
        ("Просим сообщить, каким образом удаляется диалог.", "каким образом удаляется диалог."),
        ("Добрый день! Не могли бы вы подсказать, как удалить диалог?", "как удалить диалог?"),
        ("У нас возник вопрос: как удалить диалог?", "как удалить диалог?"),
        ("Could you please tell me how to delete a conversation?", "how to delete a conversation?"),
        ("Quick question: how do I delete a conversation?", "how do I delete a conversation?"),
        ("Hello, I would like to know how conversations are deleted.", "how conversations are deleted."),
        ("Hi Anna,\nhow do I delete a conversation?", "how do I delete a conversation?"),
        ("Dear Mr. Smith,\n\nI was wondering how to delete a conversation", "how to delete a conversation"),
        ("We use it daily. I was wondering if conversations can be deleted.", "if conversations can be deleted."),
        ("Just a quick question: what's a profile", "what's a profile"),
        ("I have two questions:\n- What is a profile?", "What is a profile?"),
        ("Добрый день, Иван Петрович! Как удалить диалог?", "Как удалить диалог?"),
        ("День добрый\nНе подскажете, как удалить диалог?", "как удалить диалог?"),
        ("Анна, хотелось бы знать, как удаляются диалоги.", "как удаляются диалоги."),
        ("Мы новички. Интересует вопрос: как удалить диалог", "как удалить диалог"),
        ("Мы новички. Не пойму, как удалить диалог", "как удалить диалог"),
        ("Мы новички. Чем отличается профиль от диалога", "Чем отличается профиль от диалога"),
        ("We are new. Difference between a profile and a thread", "Difference between a profile and a thread"),
    ],
)
def test_polite_words_before_a_question_are_no_part_of_it(message: str, asked: str) -> None:
    """They would count as the rarest words of the query."""
    assert [one.text for one in questions_and_context(message)] == [asked]


@pytest.mark.parametrize(
    ("message", "asked"),
    [
        ("Which of these do you read:\n- PDF\n- DOCX", "Which of these do you read: PDF, DOCX?"),
        ("Which formats are read?\n\n1. PDF\n2. DOCX\n\nThanks!", "Which formats are read: PDF, DOCX?"),
        ("Что из этого читается:\n• PDF;\n• DOCX.", "Что из этого читается: PDF, DOCX?"),
        (f"{DELETE}\n- What is a profile?", DELETE),
    ],
)
def test_a_list_belongs_to_the_question_before_it(message: str, asked: str) -> None:
    """With a colon or with a question mark; items that ask by themselves are questions of their own."""
    assert complete_questions(message)[0] == asked


def test_a_name_that_does_something_is_no_greeting() -> None:
    """Only what is called by name is left out."""
    for message in ("Hello, Docker fails at the start", "Здравствуйте, Экспорт в Excel не работает"):
        (asked,) = questions_and_context(message)
        assert asked.text.startswith(("Docker", "Экспорт"))


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


@pytest.mark.parametrize(
    ("message", "asked"),
    [
        ("How do I delete a conversation that was shared with me by\nanother user of the team?", 1),
        ("Как удалить диалог, которым со мной поделился\nдругой пользователь?", 1),
        (f"To: support\nFrom: anna@example.org\n{DELETE}", 1),
        (f"Добрый день, коллеги.\nАдмин пишет:\nнужен ключ сервера\n{LOESCHEN}", 1),
        ("How do I set status: closed?\nHow do I set priority: high?", 2),
    ],
)
def test_a_question_is_not_cut_by_its_lines(message: str, asked: int) -> None:
    """Lines that a mail program broke are one, and what looks like a form or a quotation is none where it asks."""
    assert len(complete_questions(message)) == asked


def test_the_sentence_that_names_something_comes_with_a_question_that_does_not() -> None:
    """Though another one, which names hardly anything, stands between them."""
    (asked,) = questions_and_context("The export to Excel hangs. We use it. What do we do?")
    assert asked.context == "The export to Excel hangs."


NEEDY = [
    "Can I undo it after saving?",
    "How do I set up that connection?",
    "Is there a tool in the editor for that?",
    "Как дать им отдельную шкалу?",
    "Это одно и то же или работает по-разному?",
    "С чего начать?",
    "Как вернуть?",
]
ENOUGH = [
    "Can I delete a profile and restore it?",
    "Is it possible to export a report?",
    "How can I make sure that a report is exported?",
    "How long does it take to export a report?",
    "Как удалить профиль и восстановить его?",
    "Как удалить диалог из архива?",
]


def test_a_question_that_is_about_what_was_told_before_needs_it() -> None:
    """It points there, its pronoun has nothing before it to stand for, or it hardly says anything."""
    assert [question for question in [*NEEDY, *ENOUGH] if needs_context(question)] == NEEDY


def test_a_sentence_that_goes_on_brings_the_one_before_it() -> None:
    """What "these" are stands in the sentence before."""
    (asked,) = questions_and_context("The editor turns 1.1 into a date. These are chapter numbers! What can I do?")
    assert asked.context == "The editor turns 1.1 into a date. These are chapter numbers!"


def test_what_is_wanted_is_read_from_the_question_alone() -> None:
    """The sentence that it takes along is searched for, and says nothing of the action; a long story does not push it out."""
    told = "I need to delete the old courier. How do I create a courier with this name?"
    assert find_question(told) == "How do I create a courier with this name?"
    assert parts_of(told, [told]) == ["How do I create a courier with this name?"]
    story = "Our tablet is odd. " + "It shows a strange grey picture and then it beeps. " * 6
    (asked,) = questions_and_context(f"{story} How do I reset it?")
    assert len(asked.context) <= 200
    assert not needs_context("How do I reset this tablet?", "Our tablet is odd.")
    assert not needs_context("What is new this week?")


def test_parts_are_the_messages_questions_or_all_queries_together() -> None:
    """A question that points at something else is what the queries made of it; no message has more than ten parts."""
    assert parts_of(DELETE, ["delete", "conversation"]) == [DELETE]
    assert parts_of("It does not work", ["export fails", "error"]) == ["export fails error"]
    told = "The backup is on the server. How do I delete it?"
    assert parts_of(told, [told]) == [told]
    assert parts_of("How do I delete it from the server?", ["delete a backup from the server"]) == [
        "delete a backup from the server"
    ]
    both = ["What is a profile?", "How do I delete a profile?"]
    assert parts_of("What is a profile? How do I delete it?", both) == both
    assert parts_of("What is a profile? How do I delete it?", ["profile delete"]) == ["What is a profile?"]
    assert len(parts_of(" ".join(f"How do I add printer{n} to group{n}?" for n in range(40)), [])) == 10


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
