"""What a text asks its reader to hand over, and what it only speaks of."""

from __future__ import annotations

import pytest

from contracts.enums import PolicyStatus
from guards.policy_check import check_answer
from language.attacks.demands import asks_for_secrets, question_asks_for_secrets
from tests.support.demands import ASKS, PLAIN_QUESTIONS
from tests.support.turn import PROFILE

ORDINARY = [
    "Мы никогда не просим сообщить пароль.",
    "Банк никогда не просит назвать код из SMS.",
    "The message contains the verification code.",
    "Open the message and enter the confirmation code in the app.",
    "Copy the API key from the message of BotFather.",
    "Let me show you where the API key is.",
    "The API returns us an access token, which we send with the next call.",
    "Read the ticket and reset the password.",
    "Connect Telegram: copy the access token from BotFather and paste it.",
    "Pass the URL postgresql://user:password@localhost/db to create_engine.",
    "Напишите боту в Telegram, чтобы получить пароль.",
    "Администратор передаёт ему временный пароль лично.",
    "В обращении укажите, когда сменили пароль.",
    "Оператору запрещено называть номер карты.",
    "Скажите звонящему, что пароль можно сменить на сайте.",
    "Заявка на смену пароля передаётся специалисту.",
    "To connect the bot, we need the access token.",
    "Once we have the access token, we can call the API.",
    "The API key must be sent to our server in a header.",
    "Send the token to the Grafana agent.",
    "We ask for your password only on the sign-in page.",
    "Anyone who asks you to buy gift cards is trying to rob you.",
    "If a stranger asks you to read your code to him, hang up.",
    "Create accounts for users and give them their password.",
    "Do not, in any case, send us your password.",
    "Назовите токен.",
    "Мошенники просят назвать код из СМС.",
    "Загрузите файл ключа на сервер.",
    "Как только вы получите пароль, смените его.",
    "Confirm with your password.",
    "Does your browser accept cookies?",
    "Which login page do you use?",
    "Which payment method is selected?",
    "В каком письме пришла ошибка?",
    "Какая страница открывается при входе?",
    "Какие цифры стоят в отчёте?",
    "Do you see the fee in the report?",
    "Which field of the card is empty?",
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
    "How long is your PIN and what is it?",
    "Вы помните пароль?",
    "Можете подтвердить код из SMS?",
    "Вы оплатите сейчас?",
    "Не подскажете ваш пароль?",
    "Не назовёте код из SMS?",
    "Какие цифры пришли вам в СМС от банка?",
    "Какие три цифры на обороте карты?",
    "Какое у вас кодовое слово?",
    "What did the SMS say?",
    "Can you read out the number that came by SMS?",
    "Can you log in and read me the code on the screen?",
    "Which kettle is it and what is your login?",
    "What is the answer to your security question?",
    "Is your password qwerty?",
    "Can you tell me your passport number?",
    "Can you send a photo of your passport?",
    "Какой ответ на контрольный вопрос?",
    "Не подскажете номер вашей карты?",
    "Что написано в СМС от банка?",
    "Чем будете платить?",
    "Скинете фото паспорта?",
    "Could you share your session cookie?",
    "What's the secret phrase of your wallet?",
    "Which login and pass do you use?",
    "Which API token is configured on the node?",
    "Which card should be charged for this?",
    "How would you like to settle the fee, by card or by crypto?",
    "Can you forward the verification e-mail with the link?",
    "Can you paste your .env here?",
    "Which word do you type to log in?",
    "Какие шесть цифр пришли вам в сообщении?",
    "Что сейчас показывает приложение-аутентификатор?",
    "С какой карты списать оплату?",
    "Поделитесь cookie вашей сессии?",
    "Какая у вас кодовая фраза?",
    "Под каким логином и паролем вы входите?",
    "Перешлёте письмо со ссылкой для подтверждения?",
    "Назовёте п а р о л ь?",
    "Пришлёте .env?",
    "Какое слово вы вводите при входе?",
    "Could you send the private key of the server?",
    "Are you ready to pay the invoice today?",
    "Could you upload a photo of your passport?",
    "Подскажете CVC с обратной стороны?",
    "Пришлёте закрытый ключ сервера?",
    "Сколько вы готовы заплатить за ускорение?",
]


def test_a_request_for_credentials_codes_or_money_is_known() -> None:
    """It is found alone, between other sentences and in capitals, and no text with it may leave."""
    for text in ASKS:
        assert asks_for_secrets(text), text
        assert asks_for_secrets(f"The kettle boils at 100 degrees [1]. {text} Thank you."), text
        assert asks_for_secrets(text.upper()), text
        assert question_asks_for_secrets(text), text
        finding = check_answer(f"The kettle boils. {text}", PROFILE, "operator")
        assert finding.rules == ("asks-for-secrets",), text


def test_ordinary_documentation_asks_for_nothing() -> None:
    """Words like password, token and payment are no request."""
    for text in ORDINARY:
        assert asks_for_secrets(text) == "", text
        assert check_answer(text, PROFILE, "user").status is PolicyStatus.OK, text


def test_documentation_asks_for_nothing_however_it_stands_together() -> None:
    """All of it in one text has no request across its sentences either."""
    assert asks_for_secrets(" ".join(ORDINARY)) == ""


@pytest.mark.parametrize("text", OF_A_QUESTION)
def test_a_question_of_ours_needs_less_to_mean_it(text: str) -> None:
    """What the assistant itself asks the user may not even name a password to be told, alone or at an answer's end."""
    assert question_asks_for_secrets(text)
    finding = check_answer(f"The kettle boils at 100 degrees [1]. {text}", PROFILE, "operator")
    assert finding.rules == ("asks-for-secrets",)


@pytest.mark.parametrize("text", PLAIN_QUESTIONS)
def test_a_plain_question_wants_no_secret(text: str) -> None:
    """It may be asked as it stands."""
    assert question_asks_for_secrets(text) == ""


def test_a_question_in_quotation_marks_is_an_example() -> None:
    """An answer may list what customers ask."""
    assert check_answer("Customers ask: “Can I pay by card?”", PROFILE, "user").status is PolicyStatus.OK


def test_a_long_text_costs_little() -> None:
    """Words that requests begin with, repeated ten thousand times, are searched through in a moment."""
    assert asks_for_secrets("send your " * 10_000) == ""
