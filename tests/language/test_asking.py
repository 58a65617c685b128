"""What a text asks its reader to hand over, and what it only speaks of."""

from __future__ import annotations

import pytest

from contracts.values import PolicyStatus
from guards.policy_check import check_answer
from language.asking import asks_for_secrets, question_asks_for_secrets, question_of
from tests.support.turn import PROFILE

ASKS = [
    "Please send us your password.",
    "Tell me your PIN, and I will unlock it.",
    "To go on, give me the code from the SMS.",
    "Please share your API key here.",
    "You must provide us with your card number.",
    "What is your password?",
    "Send the verification code to support.",
    "Please transfer 500 dollars to this account.",
    "You need to pay us first.",
    "Пришлите, пожалуйста, ваш пароль и код из SMS?",
    "Сообщите нам токен.",
    "Назовите номер карты.",
    "Введите пароль сюда.",
    "Какой у вас пароль?",
    "Напишите мне код подтверждения.",
    "Переведите деньги на карту поддержки.",
    "Заплатите нам.",
    "Отправьте свой пароль в ответном сообщении.",
    "Don't worry, just send us your password and the code from the SMS.",
    "Nobody will see it: send us your password.",
    "Do not hesitate to send us your password.",
    "Why don't you send us your password?",
    "We need your password to continue.",
    "I need the SMS code from you.",
    "Reply with the code you received.",
    "Please type your PIN code into this chat.",
    "Your next message should contain your password.",
    "What are the last four digits of your card?",
    "What is the number on the back of your card?",
    "Pay 5000 rubles to continue.",
    "Deposit 100 euros into our account.",
    "Would you buy a gift card for us?",
    "What is your **password**?",
    "What is your _password_?",
    "Tell us your `password`.",
    "Не волнуйтесь, пришлите нам ваш пароль.",
    "Не стесняйтесь и пришлите нам ваш пароль.",
    "Не могли бы вы прислать ваш пароль и код из SMS?",
    "Нам нужен ваш пароль.",
    "Пароль пришлите сюда.",
    "Скиньте пароль в чат.",
    "Необходимо прислать нам пароль.",
    "Просим сообщить пароль.",
    "Вам следует сообщить нам код из SMS.",
    "Оплатите 5000 рублей.",
    "Переведите 5000 руб. на счёт поддержки.",
    "Какой у вас **пароль**?",
    "Пришлите нам ваш **пароль**.",
]
ORDINARY = [
    "How do I reset my password?",
    "Enter your password and press Sign in.",
    "Never send your password to anybody.",
    "Do not share your API key in the chat.",
    "The password must be at least 12 characters long.",
    "The API key is sent in the header Authorization.",
    "You receive a verification code by e-mail.",
    "Open Settings and copy the access token.",
    "The token expires after 30 minutes.",
    "Send a POST request to /login with the credentials in its body.",
    "Press Forgot password to receive a letter.",
    "The payment module supports three currencies.",
    "A payment is confirmed by the bank within two days.",
    "The function returns the password hash.",
    "Store the private key in a file that only the service can read.",
    "Use a dependency to read the bearer token of the request.",
    "The administrator sets the password of a new account.",
    "The field Card number is hidden from users without the role.",
    "Set the variable DB_PASSWORD before you start the server.",
    "Choose Pay in the menu Orders.",
    "Support will never ask for your password.",
    "Tell your administrator that the password has expired.",
    "Как сбросить пароль?",
    "Введите пароль и нажмите «Войти».",
    "Никому не сообщайте свой пароль.",
    "Не пересылайте код из SMS другим людям.",
    "Пароль должен содержать не менее 12 символов.",
    "Код подтверждения придёт на вашу почту.",
    "Токен передаётся в заголовке Authorization.",
    "Срок действия токена — 30 минут.",
    "Откройте настройки и скопируйте токен доступа.",
    "Администратор задаёт пароль новой учётной записи.",
    "Укажите логин и пароль учётной записи в форме входа.",
    "Отправьте форму, и заявка перейдёт на согласование.",
    "Оплата подтверждается банком в течение двух дней.",
    "Модуль оплаты поддерживает три валюты.",
    "Поле «Номер карты» скрыто от пользователей без роли.",
    "Сообщение об ошибке: неверный пароль.",
    "Закрытый ключ хранится в файле, доступном только службе.",
    "Если пароль забыт, нажмите «Забыли пароль?».",
    "Сумма заказа переводится в рубли по курсу.",
    "Напишите в поддержку, если вход не работает.",
    "Send your API key in the X-Api-Key header.",
    "Provide your API key in the Authorization header.",
    "Tell users that your password policy has changed.",
    "Enter the code from the SMS in the field below.",
    "You will never be asked to send your password.",
    "We will never ask you to tell us your PIN.",
    "Передайте свой токен в заголовке Authorization.",
    "Назовите токен понятным именем.",
    "Напишите администратору, если ваш пароль не подходит.",
    "Никогда не просите пользователя прислать пароль.",
]
OF_A_QUESTION = [
    "Your password, please?",
    "Do you remember your PIN?",
    "Is this your card number?",
    "Will you pay 5000 rubles?",
    "Вы помните пароль?",
    "Можете подтвердить код из SMS?",
    "Вы оплатите сейчас?",
    "Не подскажете ваш пароль?",
    "Не назовёте код из SMS?",
    "Какие цифры пришли вам в СМС от банка?",
    "Какие три цифры на обороте карты?",
    "Какое у вас кодовое слово?",
]
PLAIN_QUESTIONS = [
    "Which version do you use?",
    "Which page do you see?",
    "Is it about the lid or the spout?",
    "Какая у вас версия?",
    "О какой форме речь?",
    "На каком шаге появляется ошибка?",
    "Which payment module do you mean?",
    "Do you know whether the access token expired?",
    "Have you already changed your password?",
    "Which edition do you use, cloud or on-premise?",
    "Do you know the version number?",
    "Which error appears when you press Save?",
    "Какая ошибка появляется, когда вы нажимаете «Сохранить»?",
    "В каком модуле оплаты возникает ошибка?",
    "Ваш пароль истёк или не подходит?",
    "На какой шаг перевести заявку?",
]
STATEMENTS = [
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
]


@pytest.mark.parametrize("text", ASKS)
def test_a_request_for_credentials_codes_or_money_is_known(text: str) -> None:
    """It is found alone, between other sentences and in capitals, and no text with it may leave."""
    assert asks_for_secrets(text)
    assert asks_for_secrets(f"The kettle boils at 100 degrees [1]. {text} Thank you.")
    assert asks_for_secrets(text.upper())
    assert question_asks_for_secrets(text)
    finding = check_answer(f"The kettle boils. {text}", PROFILE, "operator")
    assert finding.rules == ("asks-for-secrets",)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_documentation_asks_for_nothing(text: str) -> None:
    """Words like password, token and payment are no request."""
    assert asks_for_secrets(text) == ""
    assert check_answer(text, PROFILE, "user").status is PolicyStatus.OK


def test_documentation_asks_for_nothing_however_it_stands_together() -> None:
    """All of it in one text has no request across its sentences either."""
    assert asks_for_secrets(" ".join(ORDINARY)) == ""


@pytest.mark.parametrize("text", OF_A_QUESTION)
def test_a_question_of_ours_needs_less_to_mean_it(text: str) -> None:
    """What the assistant itself asks the user may not even name a password to be told."""
    assert question_asks_for_secrets(text)


@pytest.mark.parametrize("text", PLAIN_QUESTIONS)
def test_a_plain_question_wants_no_secret(text: str) -> None:
    """And it is its own interrogative clause."""
    assert question_asks_for_secrets(text) == ""
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
        ("It is broken.", ""),
        ("It is broken?", ""),
        ("", ""),
    ],
)
def test_the_question_of_a_text_is_its_last_interrogative_clause(text: str, question: str) -> None:
    """Without what the text states besides; Russian asks by intonation, too."""
    assert question_of(text) == question


def test_a_long_text_costs_little() -> None:
    """Words that requests begin with, repeated ten thousand times, are searched through in a moment."""
    assert asks_for_secrets("send your " * 10_000) == ""
