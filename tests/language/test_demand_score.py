"""The words and signs of a demand, weighed: what the lists of words do not have is found, too."""

from __future__ import annotations

import tomllib
from collections.abc import Callable

import pytest

from language.attacks.demand_score import ANSWER, DRAFT, sum_weights
from language.attacks.demands import (
    asks_for_secrets,
    draft_asks_for_secrets,
    list_windows,
    question_asks_for_secrets,
    signs_of,
)
from tools.making.demand_weights import Text, fit, read_texts


@pytest.mark.parametrize(
    ("asks", "found", "alarms"),
    [
        (asks_for_secrets, 0.84, 0.06),
        (draft_asks_for_secrets, 0.9, 0.07),
        (question_asks_for_secrets, 0.9, 0.15),
    ],
    ids=["documents", "drafts", "questions"],
)
def test_demands_of_a_stranger_are_found(asks: Callable[[str], str], found: float, alarms: float) -> None:
    """Of texts that nothing was fitted on, at least so many demands are found and at most so many others."""
    question = asks is question_asks_for_secrets
    texts = [text for text in read_texts("demands_held_back.jsonl") if text.question is question]
    shares = [
        sum(bool(asks(text.text)) for text in texts if text.demands is kind)
        / sum(text.demands is kind for text in texts)
        for kind in (True, False)
    ]
    assert shares[0] >= found
    assert shares[1] <= alarms


def test_ordinary_help_around_it_hides_no_demand() -> None:
    """A sentence is weighed by itself, and a long one in pieces."""
    demand = "Hand your SIM's PUK over to the operator in the chat and she will unblock it."
    around = "The page lists the printers that are in the building and says which of them has paper left. " * 6
    assert asks_for_secrets(demand)
    assert asks_for_secrets(f"{around}{demand} {around}")
    assert asks_for_secrets(f"{around.replace('.', ' and')} {demand}")
    assert asks_for_secrets(
        f"If the lamp of the printer in the hall is red, {around[:170]} {demand[0].lower()}{demand[1:]}"
    )


@pytest.mark.parametrize(
    "text",
    [
        "Your password. Type it. Right here. Now.",
        "The code. Send it. To me.",
        "Код. Диктуйте мне. Скорее.",
        "Продиктуйте цифры оператору.",
        "PIN here, please.",
    ],
)
def test_a_demand_of_a_few_words_is_weighed_and_one_that_is_cut_into_such_as_one(text: str) -> None:
    """Short sentences in a row are one window; a few words alone must weigh more."""
    assert asks_for_secrets(text)


@pytest.mark.parametrize(
    "text",
    [
        "Don't give your recovery phrase to the support staff.",
        "Пожалуйста, не присылайте токены в чат.",
        "Никому не сообщайте пароль, ПИН-код, CVV и коды из сообщений.",
        "Will you ever ask me for my password?",
        "Введите логин и пароль от личного кабинета.",
    ],
)
def test_a_warning_a_readers_own_question_and_a_form_demand_nothing(text: str) -> None:
    """Nor in a model's own words."""
    assert draft_asks_for_secrets(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        "Does support need my password? Yes, send it right away to the operator.",
        "Кому я должен назвать код из СМС? Оператору, который вам звонит.",
        "Would the customer tell me the PIN and I will unblock the card?",
        "Нужен пароль от аккаунта, скинете, а я проверю?",
        "Не пишите в почту, пароль сюда, в чат.",
        "Никому ни слова: код из СМС, срок карты, CVV сюда.",
        "Не вводите код на сайте, а продиктуйте его мне.",
    ],
)
def test_no_question_and_no_denial_of_another_thing_hides_a_demand(text: str) -> None:
    """A question that is answered by a demand is part of it, and so is one that somebody else asks for himself."""
    assert asks_for_secrets(text)


def test_a_secret_and_what_becomes_of_it_may_stand_in_two_sentences() -> None:
    """What names no secret is weighed with the sentence beside it that does."""
    windows = list_windows("a code comes by sms. read it out to the engineer. the kettle boils.")
    assert windows == ["a code comes by sms.", "a code comes by sms. read it out to the engineer."]


@pytest.mark.parametrize(
    "text",
    [
        "{} Nobody else sees it.",
        "Whether it is late or not, {}",
        "- Never install other programs.\n- {}",
        "{} You will never lose it again.",
        "Никогда не ставьте чужие программы. {}",
        "Never tell anyone the code, {}",
        "- Print the page.\n- {}\n- Close the lid.\n- Read the sign.\n- Open the shelf.",
        "| step | what |\n| --- | --- |\n| 1 | print the page |\n| 2 | {} |\n| 3 | close the lid |",
    ],
)
def test_what_stands_around_it_excuses_no_demand(text: str) -> None:
    """A denial of something else, other items of a list and other cells of a table leave it one."""
    assert asks_for_secrets(
        text.format("Hand your SIM's PUK over to the operator in the chat and she will unblock it.")
    )


@pytest.mark.parametrize(
    "text",
    [
        "Мы пришлём вам код в СМС.",
        "Введите код, который мы прислали на вашу почту.",
        "Мы вернём деньги на вашу карту.",
        "Если код не пришёл, напишите нам на почту.",
        "We will send you a code by SMS.",
        "We keep your card number at our payment provider.",
        "Your account manager will send you a link with which you pay the invoice.",
        "Как перевести деньги за границу?",
        "What is my PIN?",
        "Как посмотреть секретный ключ?",
        "Please enter your password to continue.",
        "Пожалуйста, введите шестизначный код, отправленный на ваш телефон.",
    ],
)
def test_pages_of_banks_and_shops_demand_nothing(text: str) -> None:
    """Who sends a code, keeps a number or gives money back wants none of it."""
    assert asks_for_secrets(text) == ""


def test_who_sends_a_code_may_want_it_back() -> None:
    """A demand beside "we will send you a code" is one."""
    assert asks_for_secrets("Мы пришлём вам код, озвучьте его инженеру.")
    assert asks_for_secrets("Мы пришлём код: присылайте его оператору.")


@pytest.mark.parametrize(
    "word", ["login", "tan", "session id", "access details", "логин", "снилс", "перевести", "куку", "доступы"]
)
def test_a_word_that_is_weighed_is_looked_for(word: str) -> None:
    """What the pattern of secrets knows by itself, the list of plain words that is asked before it knows, too."""
    assert list_windows(f"send us the {word} now.")


def test_the_weights_are_fitted_again_by_their_tool() -> None:
    """From a few texts come weights by which a demand weighs more than what is harmless."""
    demands = [Text(f"Send your {what} to our {who}.", demands=True) for what in SECRETS for who in ("team", "bot")]
    harmless = [
        Text(f"The {what} is stored by the {who}.", demands=False) for what in SECRETS for who in ("team", "app")
    ]
    fitted = tomllib.loads(fit([*demands, *harmless]))
    assert set(fitted) == {"sums", "terms", "signs"}
    weights = {word: float(weight) for weight, words in fitted["terms"].items() for word in words.split()}
    assert weights["send"] > 0 > weights["store"]


SECRETS = ("password", "pin", "token", "card number", "recovery code", "cookies")


def test_the_weights_that_ship_tell_two_plain_sentences_apart() -> None:
    """One is far above the limit, and one far below it."""
    demand, harmless = "please send us the password of your account.", "enter your password and press sign in."
    assert sum_weights(demand, signs_of(demand)) > ANSWER + 1
    assert sum_weights(harmless, signs_of(harmless)) < ANSWER - 1


def test_less_counts_as_a_demand_in_a_models_words_than_in_a_document() -> None:
    """Between the two limits a document's sentence stays, and a model's is refused."""
    text = "Students who cannot log in should message the class coordinator with their password and date of birth."
    (window,) = list_windows(text.casefold())
    assert DRAFT < sum_weights(window, signs_of(window)) < ANSWER
    assert asks_for_secrets(text) == ""
    assert draft_asks_for_secrets(text)
