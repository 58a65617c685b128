"""What a text asks of its reader: its question, and whether it wants credentials, codes or money.

The patterns are ours. They know requests ("send us your password", «пришлите код из SMS»), not topics: "how do I reset
my password?" asks for nothing, and neither does "Enter your password and press Sign in".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from language.clean import skeleton
from language.sentences import sentences

_LONGEST_GAP: Final = 6
"""Words between a verb and what it asks for."""

_WANTED_EN: Final = (
    r"(?:pass(?:words?|codes?|phrases?)|pins?|pin codes?|cv[vc]2?|otps?|credentials"
    r"|(?:one[- ]time|sms|text|verification|confirmation|security|authentication|authenticator|login|2fa|mfa) codes?"
    r"|codes? (?:from|in|of) (?:the |your |an? )?(?:sms|text(?: message)?|message|e-?mail|letter|app|authenticator)"
    r"|codes? (?:we|you|i) (?:just )?(?:sent|got|received)"
    r"|(?:secret|private|api|access|licen[cs]e) keys?|(?:access|api|auth|session|bearer) tokens?|seed phrase"
    r"|(?:credit |debit |bank )?card (?:numbers?|details|data)|bank (?:account|details)|account numbers?)"
)
_MONEY_EN: Final = r"(?:money|payments?|fees?|deposits?|funds|\$\s?\d[\d .,]*|€\s?\d[\d .,]*|\d[\d .,]*(?:dollars?|euros?|rubles?|roubles?|usd|eur|rub))"
_GIVE_EN: Final = (
    r"(?:send|tell|give|e-?mail|text|message|forward|share|disclose|reveal|dictate|submit|post|reply with|respond with"
    r"|let (?:me|us) (?:know|have)|provide (?:me|us) with|provide)"
)
_HERE_EN: Final = r"(?:me|us|to (?:support|the operator)|here|in (?:this|the) (?:chat|conversation)|(?:in|with) (?:your|the|a) reply|in response|below)"
_OPENS_EN: Final = (
    r"(?:^|[.!?;:,]\s+|\b(?:please|kindly|and|then|just|to|can you|could you|would you|will you|you (?:must|should|can"
    r"|(?:need|have) to))\s+)"
)

_WANTED_RU: Final = (
    r"(?:парол[а-я]*|пин[- ]?код[а-я]*|пин\b|cv[vc]2?|логин[а-я]* и парол[а-я]*"
    r"|код[а-я]* (?:из|от|с) (?:смс|sms|сообщени[а-я]*|приложени[а-я]*|письм[а-я]*|почт[а-я]*|банк[а-я]*)"
    r"|(?:смс|sms)[- ]?код[а-я]*|(?:одноразов|проверочн|секретн|защитн)[а-я]+ (?:код|парол|ключ|фраз|слов)[а-я]*"
    r"|код[а-я]* (?:подтверждени[а-я]*|доступа|безопасности|авторизации|проверки)"
    r"|номер[а-я]* (?:(?:вашей|своей|банковской|кредитной) )*карт[а-я]*"
    r"|(?:данн|реквизит)[а-я]+ (?:(?:вашей|своей|банковской|кредитной) )*(?:карт|счет)[а-я]*"
    r"|(?:закрыт|приватн)[а-я]+ ключ[а-я]*|ключ[а-я]* доступа|токен[а-я]*|учетн[а-я]+ данн[а-я]+)"
)
_MONEY_RU: Final = (
    r"(?:деньг[а-я]*|денежн[а-я]+|средств[а-я]*|оплат[а-я]*|плат[а-я]*|предоплат[а-я]*|комисси[а-я]*|сумм[а-я]*"
    r"|\d[\d .,]*(?:руб[а-я]*|₽|р\.|долл[а-я]*|евро))"
)
_GIVE_RU: Final = (
    r"(?:пришли|отправь|вышли|сообщи|назови|скажи|дай|предоставь|продиктуй|напиши|перешли|подскажи|передай|поделись)"
    r"(?:те)?"
)
_TO_US_RU: Final = (
    r"(?:мне|нам|сюда|в (?:этот |этом )?чат[а-я]*|в ответ[а-я]*|в поддержку|оператору|специалисту поддержки)"
)
_HERE_RU: Final = rf"(?:{_TO_US_RU}|здесь|ваш[а-я]*|сво[йеюихм][а-я]*|тво[йеюихм][а-я]*)"


def _gap(most: int = _LONGEST_GAP) -> str:
    # Bounded throughout, so that no run of marks or letters is tried in more than a few ways.
    return rf"(?:[^\w.!?]{{1,5}}\w{{1,40}}){{0,{most}}}?[^\w.!?]{{1,5}}"


_DENIED: Final = re.compile(
    r"\b(?:never|not|don'?t|nobody|no one|without|не|никогда|никому|нельзя|без|никто)\b[^.!?]{0,60}$"
)
"""In front of a request it makes a warning of it: "never send your password"."""

_REQUESTS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        # "please send us your password", "give support your code from the SMS", "share the API key here"
        rf"{_OPENS_EN}{_GIVE_EN}{_gap()}(?:(?:your|my)\s+(?:[\w'-]{{1,40}}\s+){{0,2}})(?P<what>{_WANTED_EN})\b",
        rf"{_OPENS_EN}{_GIVE_EN}\s+{_HERE_EN}\s+(?:[\w'-]{{1,40}}\s+){{0,4}}?(?P<what>{_WANTED_EN})\b",
        rf"{_OPENS_EN}(?:{_GIVE_EN}|enter|type|write|paste){_gap()}(?P<what>{_WANTED_EN})\b[^.!?]{{0,40}}?\b{_HERE_EN}\b",
        rf"\bwhat(?:'s| is| are| was)\s+your\s+(?:[\w'-]{{1,40}}\s+){{0,3}}?(?P<what>{_WANTED_EN})\b",
        rf"{_OPENS_EN}(?:pay|transfer|send|wire){_gap()}(?P<what>{_MONEY_EN})[^.!?]{{0,60}}?\b(?:to (?:me|us|this|the (?:card|number|account)|card|account)|by (?:this )?link)\b",
        rf"{_OPENS_EN}(?:pay|send|transfer|wire)\s+(?:me|us)\b(?P<what>)",
        # «пришлите, пожалуйста, ваш пароль и код из SMS», «назовите номер карты», «сообщите нам токен»
        rf"(?<![\w]){_GIVE_RU}{_gap()}{_HERE_RU}\s+(?:[\w'-]{{1,40}}\s+){{0,4}}?(?P<what>{_WANTED_RU})(?!\w)",
        rf"(?<![\w]){_GIVE_RU}{_gap()}(?P<what>{_WANTED_RU})[^.!?]{{0,40}}?(?<!\w){_HERE_RU}(?!\w)",
        # Forms are filled in with one's password; into a chat it is not written.
        rf"(?<![\w])(?:укажи|введи|напечатай|впиши)(?:те)?{_gap()}(?P<what>{_WANTED_RU})[^.!?]{{0,40}}?(?<!\w){_TO_US_RU}(?!\w)",
        rf"(?<![\w])(?:укажи|введи|напечатай|впиши)(?:те)?\s+{_TO_US_RU}\s+(?:[\w'-]{{1,40}}\s+){{0,4}}?(?P<what>{_WANTED_RU})(?!\w)",
        rf"(?<![\w])(?:продиктуй|назови|пришли|вышли)(?:те)?(?:,? пожалуйста,?)?\s+(?:[\w'-]{{1,40}}\s+){{0,2}}?(?P<what>{_WANTED_RU})(?!\w)",
        rf"(?<![\w])как(?:ой|ая|ие|ов)\s+(?:у вас\s+|ваш[а-я]*\s+|тво[а-я]*\s+)(?:[\w'-]{{1,40}}\s+){{0,2}}?(?P<what>{_WANTED_RU})(?!\w)",
        rf"(?<![\w])(?:переведи|перечисли|оплати|заплати|внеси|отправь|пришли)(?:те)?{_gap()}(?P<what>{_MONEY_RU})[^.!?]{{0,60}}?(?:на (?:карт|номер|кошел[её]к|этот сч[её]т|наш)|нам(?!\w)|мне(?!\w)|по (?:этой )?ссылке)",
        r"(?<![\w])(?:переведи|перечисли|заплати)(?:те)?\s+(?:нам|мне)(?!\w)(?P<what>)",
    )
)
_OF_A_QUESTION: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b(?:send|tell|give|e-?mail|text|share|provide|enter|type|write|confirm|say|have|know|remember|name)\b[^.!?]{{0,60}}?\b(?P<what>{_WANTED_EN})\b",
        rf"\b(?:what|which)\b[^.!?]{{0,30}}?\byour\s+(?:[\w'-]{{1,40}}\s+){{0,3}}?(?P<what>{_WANTED_EN})\b",
        rf"\byour\s+(?:[\w'-]{{1,40}}\s+){{0,2}}?(?P<what>{_WANTED_EN})\s*(?:,\s*please\s*)?\?",
        r"\b(?:what|which)\s+(?:\w{1,40}\s+)?(?P<what>card numbers?|cv[vc]2?|pins?|pin codes?|(?:sms|one[- ]time) codes?)\b",
        rf"(?<![\w])(?:{_GIVE_RU}|(?:укажи|введи|напомни|уточни|подтверди)(?:те)?|можете|могли|знаете|помните)[^.!?]{{0,60}}?(?P<what>{_WANTED_RU})(?!\w)",
        rf"(?<![\w])(?:как(?:ой|ая|ие|ов)|ваш[а-я]*|у вас)\s+(?:[\w'-]{{1,40}}\s+){{0,3}}?(?P<what>{_WANTED_RU})(?!\w)",
        r"(?P<what>\b(?:pay|payment|wire|transfer (?:the )?(?:money|funds))\b)",
        r"(?P<what>(?<![\w])(?:оплат|заплат|доплат|предоплат|перев(?:ести|еде|еди)|перечисл)[а-я]*)",
    )
)
_MAY_ASK: Final = re.compile(
    r"\b(?:send|tell|give|e-?mail|text|message|forward|share|disclose|reveal|dictate|submit|post|reply|respond|let|provide"
    r"|enter|type|write|paste|what|which|your|pay|payment|transfer|wire|confirm|say|have|know|remember|name)\b"
    r"|пришли|отправь|вышли|сообщи|назови|скажи|дай|предоставь|продиктуй|напиши|перешли|подскажи|передай|поделись|укажи"
    r"|введи|напечатай|впиши|напомни|уточни|подтверди|может|могли|знает|помни|как[оаи]|ваш|у вас|оплат|заплат|доплат"
    r"|предоплат|переве|перечисл|внеси"
)
_BEFORE: Final = 120
_BEHIND: Final = 480
"""Characters around such a word that any of the patterns can reach."""
_SPLIT: Final = re.compile(r"[;:—–(]\s*|,\s+|\s+-\s+")
_STARTS: Final = re.compile(
    r"\W{0,8}(?:(?:and|or|but|so|а|и|но|или|в|на|с|от|для|о|об|по|из|за|до|к|у)\s+)?"
    r"(?:which|what|where|when|who|whom|whose|why|how|is|are|was|were|am|do|does|did|will|would|can|could|shall|should"
    r"|may|might|has|have|had|на?сколько|сколько|как\w{0,4}|котор\w+|что|чт?о\w{0,2}|чем|чего|чему|где|куда|откуда|когда"
    r"|кто|кого|кому|кем|чей|чья|чье|чьи|почему|зачем|ли)(?!\w)"
    r"|\W{0,8}[\w-]{1,40}\s+ли(?!\w)",
    re.IGNORECASE,
)


def question_of(text: str) -> str:
    """Return the interrogative clause of a text, its last question without what it states besides; empty without one.

    "Your account is deleted; will you stay?" has "will you stay?". A clause counts where it begins as a question does.
    Russian asks by intonation, too: a sentence of one clause with a question mark is a question.
    """
    asked = [one for one in sentences(text) if one.rstrip(" *_\"»”)'").endswith("?")]
    if not asked:
        return ""
    last = asked[-1].strip()
    cuts = [0, *(match.end() for match in _SPLIT.finditer(last))]
    for place, start in enumerate(cuts):
        if _STARTS.match(last, start):
            clause = last[start:].strip()
            return clause if place == 0 else clause[:1].upper() + clause[1:]
    return last if len(cuts) == 1 and re.search("[а-яё]", last, re.IGNORECASE) else ""


def asks_for_secrets(text: str) -> str:
    """Return what a text asks its reader to hand over, credentials, codes or money; empty where it asks for nothing.

    What a warning names ("never send your password") is not asked for.
    """
    return _first_request(_REQUESTS, text)


def question_asks_for_secrets(question: str) -> str:
    """Return the same of a question that the assistant asks itself, where far less is needed to mean it."""
    return _first_request(_OF_A_QUESTION, question) or asks_for_secrets(question)


def _first_request(patterns: tuple[re.Pattern[str], ...], text: str) -> str:
    said = " ".join(skeleton(text).replace("ё", "е").split())
    for part in _around_requests(said):
        for pattern in patterns:
            for match in pattern.finditer(part):
                if not _DENIED.search(part[max(0, match.start() - 80) : match.start() + 1]):
                    return (match["what"] or match.group()).strip()
    return ""


def _around_requests(said: str) -> Iterator[str]:
    """Yield what stands around the words that a request needs; most texts have none of them, and cost one look."""
    begin = end = 0
    for match in _MAY_ASK.finditer(said):
        if end and match.start() - _BEFORE > end:
            yield said[begin:end]
            begin = match.start() - _BEFORE
        elif not end:
            begin = max(0, match.start() - _BEFORE)
        end = match.end() + _BEHIND
    if end:
        yield said[begin:end]
