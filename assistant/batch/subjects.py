"""The choice of a ticket's question: subject, description or both.

Subjects such as "Question" or "Ticket #12345" contain nothing to search for. In front of a question, they would find
passages about questions and tickets.
"""

from __future__ import annotations

import re
from itertools import dropwhile
from typing import Final, Literal

Ask = Literal["auto", "joined", "subject", "description"]


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?…])\s+|\n+")
_CODE = re.compile(r"(?=.*\d)[a-zа-яё]{0,6}-?\d[\d-]*")
"""Numbers of tickets: `12345`, `SD-12345`, `no5`."""

_SAYS_NOTHING: Final = _set(
    """
    re fw fwd aw ha отв пер
    question questions ticket tickets request requests issue issues problem problems case inquiry enquiry query support
    urgent urgently asap important attention help test testing hello hi hey dear greetings good morning afternoon
    evening day team colleagues all please pls error bug trouble feedback message subject no none n a na new thanks
    thank you regards i we have need a an the my our one to from about id number
    вопрос вопросы вопросик обращение обращения заявка заявки тикет тикеты запрос запросы инцидент проблема проблемы
    проблемка ошибка ошибки баг срочно срочный срочная срочное очень важно важный важная важное внимание помощь помогите
    помочь поддержка поддержку техподдержка тест тестовый тестовая тестовое проверка сообщение письмо тема без темы нет
    здравствуйте здравствуй привет приветствую добрый доброе доброго день дня утро утра вечер вечера времени суток
    коллеги уважаемые всем пожалуйста прошу просьба спасибо новый новая новое есть у меня нас к вам в от по номер ид
    """
)
"""Words of subjects that name no matter, in both languages; greetings, prefixes of mails and small words among them."""

_WITH_A_NUMBER: Final = _set("error ошибка")
"""Words that say something with a number behind them, unlike a ticket with its own."""
_POINTS_AT_SUBJECT: Final = _set(
    """
    see in as above same title header topic attached attachment attachments screenshot description
    см смотри смотрите теме тему темы заголовок заголовке заголовка выше вложение вложении вложения во приложении скриншот
    скриншоте скрин на то же сабж сабже описание описания
    """
)
"""Words of descriptions that only send the reader elsewhere."""

_INTERROGATIVES: Final = _set(
    """
    how what why where which who whose
    как что почему зачем где куда откуда какой какая какое какие каким какую сколько кто чем можно
    """
)
"""What a question without its mark begins with; "when" and «когда» begin statements as often."""
_ASKING_PAIRS: Final = (
    *("can i", "can we", "could i", "could we", "should i", "should we", "is there", "are there", "do i", "do we"),
    *("есть ли", "могу ли", "можем ли", "нужно ли", "надо ли", "будет ли"),
)
_LEADS_IN: Final = _set(
    "tell me would like want know подскажите скажите объясните хочу хотел хотела хотелось бы узнать"
)
"""Polite words before a question that has no mark."""
_NO_QUESTIONS: Final = (
    *("как только", "как и", "как обычно", "как раньше", "как я", "как мы", "как написано", "как указано", "как видно"),
    *("как в", "что касается", "можно не"),
)
"""Beginnings of statements that look like those of questions."""

_POINTING: Final = _set(
    """
    it its this that these those them they he she his her
    это этого этому этим этом эта эту этой этот эти этих он она оно они его её ее ему ей им них него неё нее ней ними
    тут там здесь
    """
)
_ASKS_NOTHING: Final = _set(
    """
    is are am be was do does did should shall can could would will may to i we you me any ideas idea suggestions for
    advise explain tell clarify assist look check way reason cause
    fix solve resolve happen happens happened happening wrong going on now next know
    делать сделать быть поступить исправить решить дело случилось происходит ли мне нам я мы вы можно нужно надо не в с
    так причина причины чём чем смотреть обратиться ждать исправите посоветуете поможете можете сможете помогли бы
    теперь дальше подскажите подскажет знает кто-нибудь есть идеи такое
    """
)
"""Words of questions such as "What should I do?", which ask about what was said before."""


def question_of(subject: str, description: str, ask: Ask) -> str:
    """Return the question of a ticket.

    Args:
        subject: As text; may be empty.
        description: As text; may be empty.
        ask: Subject, description or both, whatever they say. `auto` joins both, but leaves out a text that says
            nothing. It also leaves out the subject if the description asks a question by itself.
    """
    if ask == "subject":
        return subject
    if ask == "description":
        return description
    if ask == "auto" and subject and description:
        if _sends_elsewhere(description):
            return subject
        if says_nothing(subject) or asks_by_itself(description):
            return description
    if description.startswith(subject):
        return description
    return "\n\n".join(filter(None, (subject, description)))


def says_nothing(text: str) -> bool:
    """Whether a text has only words without a topic, numbers and signs."""
    words = _words(text)
    numbers = [word for word in words if _CODE.fullmatch(word)]
    if numbers and not _WITH_A_NUMBER.isdisjoint(words):
        return False
    return all(word in _SAYS_NOTHING or word in numbers for word in words)


def _sends_elsewhere(text: str) -> bool:
    words = _words(text)
    return "?" not in text and all(word in _SAYS_NOTHING | _POINTS_AT_SUBJECT for word in words)


def asks_by_itself(text: str) -> bool:
    """Whether a text contains a question that names its topic, unlike "How do I fix it?"."""
    sentences = _BETWEEN_SENTENCES.split(text.strip())
    return any(_is_question(sentence) and _stands_alone(sentence) for sentence in sentences)


def _is_question(sentence: str) -> bool:
    if sentence.rstrip("!\"')»”").endswith("?"):
        return True
    words = list(dropwhile(lambda word: word in _SAYS_NOTHING | _LEADS_IN, _words(sentence)))
    if " ".join(words[:2]) in _NO_QUESTIONS:
        return False
    return not _INTERROGATIVES.isdisjoint(words[:1]) or " ".join(_words(sentence)[:2]) in _ASKING_PAIRS


def _stands_alone(question: str) -> bool:
    words = set(_words(question))
    return not words & _POINTING and not words <= _ASKS_NOTHING | _INTERROGATIVES | _SAYS_NOTHING


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]
