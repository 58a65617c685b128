"""What a question wants to hear, and the action that it asks for."""

from __future__ import annotations

import pytest

from language.actions import action_in, is_opposed, names_action
from language.answer_types import AnswerType, answer_type, has_value

T = AnswerType


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("How often is it saved?", T.FREQUENCY),
        ("How many times a day is it saved?", T.FREQUENCY),
        ("How much time does it take?", T.DURATION),
        ("How many days is it kept?", T.DURATION),
        ("How much is a return?", T.COST),
        ("How many users may there be?", T.AMOUNT),
        ("Until when is it valid?", T.TIME),
        ("How do I save it?", T.MANNER),
        ("What happens when it is full?", T.CONSEQUENCE),
        ("What is a profile?", None),
        ("Where is it kept, and for how long?", T.PLACE),
        ("Почему не открывается?", T.REASON),
        ("На сколько устройств его хватает?", T.AMOUNT),
        ("How many times can I enter the PIN?", T.AMOUNT),
        ("Сколько раз в день?", T.FREQUENCY),
        ("Сколько дней хранится копия?", T.DURATION),
        ("Сколько стоит месяц?", T.COST),
        ("Сколько пользователей можно завести?", T.AMOUNT),
        ("Как часто делать копию?", T.FREQUENCY),
        ("Как сделать копию?", T.MANNER),
        ("Какой максимальный размер файла?", T.AMOUNT),
    ],
)
def test_a_question_wants_the_type_that_its_first_words_name(question: str, wanted: AnswerType | None) -> None:
    """The more special type comes first: "how much time" is no price, and "how often" is no manner."""
    assert answer_type(question) is wanted


def test_steps_are_no_frequency_and_a_manner_is_not_told_by_values() -> None:
    """A text has a value of the wanted type, or it has none; where values tell nothing, no text has one."""
    assert has_value("Back up once a day.", T.FREQUENCY)
    assert not has_value("1. Stop the service. 2. Copy the folder.", T.FREQUENCY)
    assert not has_value("Press the button.", T.MANNER)


@pytest.mark.parametrize(
    ("question", "action"),
    [
        ("How do I delete a courier?", "delete"),
        ("is it possible to rename a key", "rename"),
        ("could you help me locate my phone", "locate"),
        ("How can I turn off the alarm?", "turn-off"),
        ("How can I permanently delete it?", "delete"),
        ("Как заблокировать курьера?", "заблокировать"),
        ("хочу быстро сменить пароль", "сменить"),
        ("How do I get help?", None),
        ("What should I do?", None),
        ("не могу зайти", None),
        ("Что делать?", None),
    ],
)
def test_the_action_of_a_question_is_its_first_verb_that_names_one(question: str, action: str | None) -> None:
    """Verbs that ask about anything name no action, and what does not work is no action that is asked for."""
    assert action_in(question) == action


@pytest.mark.parametrize(
    ("question", "text", "opposed"),
    [
        ("How do I delete a courier?", "Add a courier", True),
        ("How do I delete a courier?", "Add or remove a courier", False),
        ("How do I delete a courier?", "Block a courier", False),
        ("How do I disable the lamp?", "Clear the box **Enable the lamp**", False),
        ("How do I close my account?", "Open the settings", False),
        ("How do I delete a courier?", "Type the address of the courier", False),
        ("How can I turn off the alarm?", "Turn the alarm on", True),
        ("How can I turn off the alarm?", "Turn it on and off", False),
        ("Как разблокировать карту?", "Заблокировать карту", True),
        ("Как отключить уведомления?", "Включение уведомлений", True),
        ("Как отключить уведомления?", "Выключите уведомления", False),
        ("What is a courier?", "Add a courier", False),
        ("How do I make a VM backup?", "Restoring a disk from backup", True),
        ("How do I make a VM backup?", "Create a backup, or restore one", False),
        ("How do I make a report?", "Restoring a disk", False),
        ("How do I recover my password?", "Make sure to check the spam folder", False),
        ("Как сделать резервную копию ВМ?", "Восстановите ВМ из резервной копии", True),
        ("Как сделать резервную копию ВМ?", "Создание резервной копии", False),
    ],
)
def test_a_text_is_opposed_if_it_has_the_opposite_action_only(question: str, text: str, opposed: bool) -> None:
    """Who wants to delete is not helped by "Add", but may be by a text that speaks of both."""
    assert is_opposed(question, text) is opposed


def test_another_verb_for_the_same_names_an_action() -> None:
    """Documents that reduce a number say how to lower it; those that raise it do not."""
    assert names_action("сократить", "Уменьшить число лицензий")
    assert names_action("rename", "Renaming a key")
    assert names_action("pay", "Payment by card")
    assert names_action("удалить", "Удаление смены")
    assert names_action("поменять", "Изменение пароля")
    assert names_action("erase", "Formatting a disk")
    assert not names_action("rename", "Creating a key")
