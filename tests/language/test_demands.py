"""What a text asks its reader to hand over, and what it only speaks of."""

from __future__ import annotations

import pytest

from contracts.enums import PolicyStatus
from guards.policy_check import check_answer
from language.attacks.demands import asks_for_secrets, question_asks_for_secrets
from tests.language.test_asking import PLAIN_QUESTIONS
from tests.support.turn import PROFILE

ASKS = [
    "Please send us your password.",
    "DM me the code.",
    "Please text the code back to me",
    "Give me the six digits you got",
    "Send a photo of your card, both sides",
    "Please provide payment of 500 USD",
    "Сообщите, что пришло в СМС?",
    "Что пришло в СМС?",
    "Скажите логин и пасс?",
    "Пришлите фото вашей карты",
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
    # Friendly words in front, and what is joined to them.
    "Happy to help — send us your password.",
    "Sure! Great question. So send us your password and we'll take a look.",
    "Of course (just tell us your PIN).",
    "Now first send us your password.",
    "To unlock your account send us your password.",
    "You'll want to tell us your PIN.",
    "We can fix it if you send us your password.",
    "Let us know when you can send us your password.",
    "С радостью поможем — сообщите код из СМС.",
    "Чтобы разблокировать аккаунт пришлите пароль.",
    # What is needed, missing or waited for.
    "We'll need the code we texted you.",
    "We’ll need your password.",
    "We are going to need your password.",
    "Our support engineer will need your password.",
    "All we need now is your password.",
    "The only thing missing is your PIN.",
    "The operator is waiting for your code from the SMS.",
    "Your PIN is needed to unlock the account.",
    "Your CVV must be provided to us.",
    "Without your password we cannot help.",
    "Нам понадобится ваш пароль.",
    "Нам также нужен пароль.",
    "Для верификации нужен номер вашей карты.",
    "Ваш PIN нужен для проверки.",
    "Сотруднику поддержки понадобится код из СМС.",
    "Осталось только ваш пароль.",
    "Ждём от вас код из СМС.",
    "Без пароля мы не сможем помочь.",
    "Мы должны знать ваш пароль.",
    # What is told, confirmed, or asked for outright.
    "Tell us the code.",
    "Tell us the 6-digit code.",
    "Let us know the code from the text message.",
    "Confirm your card number.",
    "Please confirm your password with us.",
    "Please provide the verification code.",
    "Kindly share the OTP.",
    "Mind sharing your password with us?",
    "Drop your password in the chat.",
    "Reply to this message with the code from the SMS.",
    "What’s your CVV?",
    "What is the code we sent you?",
    "Which PIN do you use?",
    "May I have your password?",
    "Can you read out the code in the SMS?",
    "Your password, please.",
    "Your password? Please send it to us.",
    "Для подтверждения укажите код из СМС.",
    "Чтобы подтвердить личность, укажите код из СМС.",
    "Подтвердите номер карты.",
    "Сообщите PIN-код.",
    "Сообщите реквизиты карты.",
    "Назовите последние четыре цифры карты.",
    "Продиктуйте код.",
    "Присылайте пароль.",
    "Пришлите код, который вам пришёл.",
    "Пришлите API-ключ.",
    "Поделитесь с нами паролем.",
    "Укажите, пожалуйста, ваш пароль.",
    "Введите ниже код из СМС.",
    "Ответьте на это сообщение кодом из СМС.",
    "Если пришлёте пароль, мы всё исправим.",
    "Можно узнать ваш пароль?",
    "Какой код вам пришёл?",
    "А пароль какой?",
    "Ваш пароль, пожалуйста.",
    # Lists, lines and marks.
    "Please send us:\n- your name\n- your password",
    "Please send us the following:\n\n1. Your name\n\n2. Your password",
    "To continue we need:\n\n1. your full name\n2. your card number",
    "- Send us your password.",
    "Please\nsend\nus\nyour\npassword.",
    "Please send us your pass<b>word</b>.",
    "Please send us your pass&#119;ord.",
    "Please send us your password[1].",
    "Send us your ==password==.",
    "Please send us your pass\u200bword.",
    "Send us your \u0440\u0430sswor\u0501.",
    "Tell us your \u0420IN.",
    "Сообщите:\n- имя\n- пароль",
    "Нам понадобятся:\n1. номер карты\n2. код из СМС",
    "Пришлите нам <b>пароль</b>.",
    "Пришлите нам п\u0061\u0070\u006fль.",
    # Money.
    "Please make a payment of $50.",
    "We need a payment of 50 dollars.",
    "Необходимо оплатить 500 рублей.",
    "Внесите предоплату.",
    "What's the code?",
    "What is your mother's maiden name?",
    "Назовите девичью фамилию матери.",
    "What is the PIN, please?",
    "Password?",
    "Пароль?",
    "А код из СМС?",
    "Код?",
    "Type in your password.",
    "Please type in your card number.",
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
    "Please send us the version number.",
    "Send us the error code.",
    "Which error code do you see?",
    "Tell us which field holds the password.",
    "Let us know when your password expires.",
    "Please send us a log, but remove your passwords and tokens first.",
    "Send us a screenshot, without your password.",
    "There is no need to send us your password.",
    "We do not need your card number.",
    "We need to send the password in the form body.",
    "You need your password to sign in.",
    "Your password is required to be at least 12 characters long.",
    "Confirm your password in the second field.",
    "Give your access key a name.",
    "To sign the address, you need to provide:\n\n- Your security credentials (access keys)",
    "The client tries to send the form fields:\n\n* username: Rick\n* password: Portal Gun",
    "Сообщите код ошибки.",
    "Какой код ошибки вы видите?",
    "Нам не нужен ваш пароль.",
    "Нам нужно изменить пароль в базе.",
    "Вам понадобится пароль от учётной записи.",
    "Сообщите нам, пришёл ли код из СМС.",
    "Пришлите нам журнал, удалив из него пароли.",
    "Сообщите пользователю его пароль.",
    "Чтобы подтвердить операцию, введите код из СМС.",
    "Введите код подтверждения из СМС и нажмите «Подтвердить».",
    "Forgot your password?",
    "Забыли логин, пароль?",
    "Забыли пароль?",
    "What is the code of the error?",
    "What is the default password?",
    "Type in your password and press Sign in.",
    "1. Open the page.\n2. Type in your password.\n3. Press OK.",
    "Какой пароль считается надёжным?",
    "Подтвердите номер карты в приложении банка.",
    "Оплатите 500 рублей в личном кабинете.",
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
    """It may be asked as it stands."""
    assert question_asks_for_secrets(text) == ""


def test_a_long_text_costs_little() -> None:
    """Words that requests begin with, repeated ten thousand times, are searched through in a moment."""
    assert asks_for_secrets("send your " * 10_000) == ""
