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
    r"|(?:credit |debit |bank )?card (?:numbers?|details|data)|bank (?:account|details)|account numbers?"
    r"|gift cards?)"
)
_AMOUNT: Final = (
    r"(?:[$€]\s?\d[\d .,]*|\d[\d .,]*(?:dollars?|euros?|rubles?|roubles?|usd|eur|rub\b|руб|₽|р\.|долл|евро|[$€]))"
)
_MONEY_EN: Final = r"(?:money|payments?|fees?|deposits?|funds|\$\s?\d[\d .,]*|€\s?\d[\d .,]*|\d[\d .,]*(?:dollars?|euros?|rubles?|roubles?|usd|eur|rub))"
_GIVE_EN: Final = (
    r"(?:send|tell|give|e-?mail|text|message|forward|share|disclose|reveal|dictate|submit|post|reply with|respond with"
    r"|let (?:me|us) (?:know|have)|provide (?:me|us) with|provide)"
)
_HERE_EN: Final = r"(?:me|us|to (?:support|the operator)|here|(?:in|into) (?:this|the) (?:chat|conversation)|(?:in|with) (?:your|the|a) reply|in response|below)"
_OPENS_EN: Final = (
    r"(?:^|[.!?;:,]\s+|\b(?:please|kindly|and|then|just|to|can you|could you|would you|will you|you (?:must|should|can"
    r"|(?:need|have) to)|(?:do|wo|ca|could|would)n'?t you)\s+)"
)

_WANTED_RU: Final = (
    r"(?:парол[а-я]*|пин[- ]?код[а-я]*|пин\b|cv[vc]2?|логин[а-я]* и парол[а-я]*"
    r"|код[а-я]* (?:из|от|с) (?:смс|sms|сообщени[а-я]*|приложени[а-я]*|письм[а-я]*|почт[а-я]*|банк[а-я]*)"
    r"|(?:смс|sms)[- ]?код[а-я]*|(?:одноразов|проверочн|секретн|защитн)[а-я]+ (?:код|парол|ключ|фраз|слов)[а-я]*"
    r"|код[а-я]* (?:подтверждени[а-я]*|доступа|безопасности|авторизации|проверки)"
    r"|номер[а-я]* (?:(?:вашей|своей|банковской|кредитной) )*карт[а-я]*"
    r"|(?:данн|реквизит)[а-я]+ (?:(?:вашей|своей|банковской|кредитной) )*(?:карт|счет)[а-я]*"
    r"|(?:закрыт|приватн)[а-я]+ ключ[а-я]*|ключ[а-я]* доступа|токен[а-я]*|учетн[а-я]+ данн[а-я]+"
    r"|кодов[а-я]+ слов[а-я]*|подарочн[а-я]+ карт[а-я]*)"
)
_MONEY_RU: Final = (
    r"(?:деньг[а-я]*|денежн[а-я]+|средств[а-я]*|оплат[а-я]*|плат[а-я]*|предоплат[а-я]*|комисси[а-я]*|сумм[а-я]*"
    r"|\d[\d .,]*(?:руб[а-я]*|₽|р\.|долл[а-я]*|евро))"
)
_GIVE_RU: Final = (
    r"(?:пришли|отправь|вышли|сообщи|назови|скажи|дай|предоставь|продиктуй|напиши|перешли|подскажи|передай|поделись|скинь|кинь)"
    r"(?:те)?"
)
_TO_GIVE_RU: Final = (
    r"(?:прислать|выслать|сообщить|назвать|продиктовать|скинуть|переслать|сказать|отправить|передать|дать)"
)
_TO_US_RU: Final = (
    r"(?:мне|нам|сюда|в (?:этот |этом )?чат[а-я]*|в ответ[а-я]*|в поддержку|оператору|специалисту поддержки)"
)
_HERE_RU: Final = rf"(?:{_TO_US_RU}|здесь|ваш[а-я]*|сво[йеюихм][а-я]*|тво[йеюихм][а-я]*)"


def _gap(most: int = _LONGEST_GAP) -> str:
    # Bounded throughout, so that no run of marks or letters is tried in more than a few ways.
    return rf"(?:[^\w.!?]{{1,5}}\w{{1,40}}){{0,{most}}}?[^\w.!?]{{1,5}}"


_DENIED: Final = re.compile(
    r"\b(?:never|not|cannot|\w{1,10}n'?t)\b(?!\s+(?:hesitate|forget|worry|wait|mind|fail|you\b|only))(?:\s+(?!you\b)[\w']{1,20}){0,2}\s*$"
    r"|\b(?:never|not|nobody|no one|\w{1,10}n'?t)\b[^.:;!?,]{0,30}\b(?:asks?|asked|tells?|told|requires?|requests?)\s+(?:(?:you|anybody|anyone)\s+)?(?:to\s*)?$"
    r"|\b(?:не|никогда|никому|нельзя)\s*$"
)
"""Right in front of a request it makes a warning of it: "never send your password". Not so "Don't worry, send ..."."""
_ELSEWHERE: Final = re.compile(
    r"\s*(?:polic(?:y|ies)|managers?|reset|fields?|rules?|headers?|length)\b"
    r"|[^.!?]{0,20}?\b(?:in|as|via|through)\s+(?:the|an?|its)\s+(?:[\w-]{1,30}\s+){0,3}?(?:headers?|requests?|parameters?|quer(?:y|ies)|body|fields?|forms?"
    r"|variables?|files?|dialog|window|settings?|cookies?)\b"
    r"|[^.!?]{0,20}?(?<!\w)(?:в|через|как)\s+(?:[\w-]{1,30}\s+){0,2}?(?:заголов|запрос|параметр|пол[еяю]|форм[еуы]|файл|переменн|настройк|окн|тел[еа] )"
    r"|\s+[\w-]{1,30}\s+имен(?:ем|и)(?!\w)"
)
"""Behind what is wanted it says that a program or a form gets it, and no person: "in the header Authorization"."""
_ONLY_IF: Final = re.compile(r"(?<!\w)(?:если|if|that|whether)(?!\w)")
"""Between a verb and what it might ask for: "write to the administrator if your password ..."."""

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
        # "we need your password", "I need the SMS code from you", "your next message should contain your password"
        rf"\b(?:we|i|support)\s+(?:(?:will|also|just|still|only)\s+){{0,2}}(?:need|require|want)\s+(?:your|my)\s+(?:[\w'-]{{1,40}}\s+){{0,2}}?(?P<what>{_WANTED_EN})\b",
        rf"\b(?:we|i|support)\s+(?:(?:will|also|just|still|only)\s+){{0,2}}(?:need|require|want)\s+(?:[\w'-]{{1,40}}\s+){{0,3}}?(?P<what>{_WANTED_EN})\s+from you\b",
        rf"{_OPENS_EN}(?:reply|respond|answer|write back)\s+with\s+(?:[\w'-]{{1,40}}\s+){{0,3}}?(?P<what>{_WANTED_EN})\b",
        rf"\byour\s+(?:[\w-]{{1,40}}\s+)?(?:message|reply|answer)\s+(?:should|must|has to|needs to)\s+(?:contain|include|have|be)\s+(?:[\w'-]{{1,40}}\s+){{0,3}}?(?P<what>{_WANTED_EN})\b",
        r"\b(?:digits?|numbers?|codes?)\s+(?:of|on|from)\s+(?:the\s+(?:back|front)\s+of\s+)?your\s+(?:[\w-]{1,20}\s+)?(?P<what>cards?)\b",
        rf"{_OPENS_EN}(?:pay|deposit|wire|transfer)\s+(?:[\w'-]{{1,40}}\s+){{0,3}}?(?P<what>{_AMOUNT})",
        r"\b(?:buy|purchase|get)\s+(?:[\w'-]{1,40}\s+){0,3}?(?P<what>gift cards?)\b",
        # «нам нужен ваш пароль», «необходимо прислать нам пароль», «пароль пришлите сюда»
        rf"(?<![\w])(?:нам|мне|поддержке)\s+(?:нуж[а-я]{{2,3}}|необходим[а-я]*|потребу[а-я]+|понадоб[а-я]+)\s+(?:[\w'-]{{1,40}}\s+){{0,3}}?(?P<what>{_WANTED_RU})(?!\w)",
        rf"(?<![\w])(?:просим|прошу|необходимо|нужно|надо|следует|должны|придется|потребуется|можете|могли бы|сможете)\s+(?:[\w'-]{{1,40}}\s+){{0,2}}?{_TO_GIVE_RU}{_gap()}{_HERE_RU}\s+(?:[\w'-]{{1,40}}\s+){{0,4}}?(?P<what>{_WANTED_RU})(?!\w)",
        rf"(?<![\w])(?:просим|прошу|необходимо|нужно|надо|следует|должны|придется|потребуется|можете|могли бы|сможете)\s+(?:[\w'-]{{1,40}}\s+){{0,2}}?(?:прислать|выслать|сообщить|назвать|продиктовать|скинуть)\s+(?:[\w'-]{{1,40}}\s+){{0,2}}?(?P<what>{_WANTED_RU})(?!\w)",
        rf"(?<![\w])(?P<what>{_WANTED_RU})(?:\s+[\w'-]{{1,40}}){{0,3}}?\s+(?:пришли|вышли|сообщи|скинь|продиктуй|назови|отправь|напиши)(?:те)?(?:\s+{_TO_US_RU}|\s*[.!?]|$)",
        rf"(?<![\w])(?:переведи|перечисли|оплати|заплати|внеси)(?:те)?\s+(?:[\w'-]{{1,40}}\s+){{0,3}}?(?P<what>{_AMOUNT})",
        r"(?<![\w])(?:цифр[а-я]*|код[а-я]*)\s+(?:[\w'-]{1,40}\s+){0,4}?(?:на обороте|на|с|в|из)\s+(?:[\w'-]{1,40}\s+){0,2}?(?P<what>карты|карте|смс|sms)(?!\w)[^.!]{0,40}\?",
    )
)
_OF_A_QUESTION: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b(?:send|tell|give|e-?mail|text|share|provide|enter|type|write|confirm|say|have|know|remember|name)\b[^.!?]{{0,60}}?\b(?P<what>{_WANTED_EN})\b",
        rf"\b(?:what|which)\b[^.!?]{{0,30}}?\byour\s+(?:[\w'-]{{1,40}}\s+){{0,3}}?(?P<what>{_WANTED_EN})\b",
        rf"\byour\s+(?:[\w'-]{{1,40}}\s+){{0,2}}?(?P<what>{_WANTED_EN})\s*(?:,\s*please\s*)?\?",
        r"\b(?:what|which)\s+(?:\w{1,40}\s+)?(?P<what>card numbers?|cv[vc]2?|pins?|pin codes?|(?:sms|one[- ]time) codes?)\b",
        (
            rf"(?<![\w])(?:{_GIVE_RU}|{_TO_GIVE_RU}|(?:укажи|введи|напомни|уточни|подтверди)(?:те)?|указать|ввести|подтвердить"
            rf"|(?:подскаж|назов|скаж|пришл|сообщ|напиш|укаж)(?:е|ё|и)те|можете|могли|знаете|помните)[^.!?]{{0,60}}?(?P<what>{_WANTED_RU})(?!\w)"
        ),
        rf"(?<![\w])(?:как(?:ой|ая|ое|ие|ов)|ваш[а-я]*|у вас)\s+(?:[\w'-]{{1,40}}\s+){{0,3}}?(?P<what>{_WANTED_RU})(?!\w)",
        r"(?<![\w])(?P<what>цифр[а-я]*)(?!\w)[^.!?]{0,40}?(?:смс|sms|карт)",
        r"(?P<what>\b(?:pay|wire|transfer (?:the )?(?:money|funds))\b(?! (?:button|page|menu|module)))",
        r"(?P<what>(?<![\w])(?:(?:о|за|до|предо)плат(?:и(?:те|шь|ли)|ить)|перечисл(?:ите|ить)|перев(?:едите|едете)|перевести (?:\w{1,20} ){0,2}(?:деньги|средства|сумму|оплату|\d))(?!\w))",
    )
)
_OF_ITS_STATE: Final = re.compile(
    r"\b(?:expir|chang|reset|forg[oe]t|renew|rejected|accepted|work|fail|wrong|invalid|lost|stored|kept)\w*\b"
    r"|(?<!\w)(?:ист[её]к|смен|измен|сброс|забы|подход|работа|невер|принима|отклон|потеря|хран)\w*"
)
"""What a question asks of a password that is about its state and not about its letters: whether it expired."""
_MAY_ASK: Final = re.compile(
    r"\b(?:send|tell|give|e-?mail|text|message|forward|share|disclose|reveal|dictate|submit|post|reply|respond|let|provide"
    r"|enter|type|write|paste|what|which|your|pay|payment|transfer|wire|confirm|say|have|know|remember|name|need|require|want|answer"
    r"|deposit|buy|purchase|get|digits?)\b"
    r"|пришли|отправь|вышли|сообщи|назови|скажи|дай|предоставь|продиктуй|напиши|перешли|подскажи|передай|поделись|укажи"
    r"|введи|напечатай|впиши|напомни|уточни|подтверди|может|могли|знает|помни|как[оаи]|ваш|у вас|оплат|заплат|доплат"
    r"|предоплат|переве|перечисл|внеси|скинь|кинь|прислать|выслать|сообщ|назв|назов|продикт|скинуть|переслать|сказать|подскаж|скаж"
    r"|отправить|передать|дать|указать|ввести|подтвердить|нуж|необходим|потребу|понадоб|просим|прошу|надо|следует|цифр|код"
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
    Russian asks by intonation, too: a sentence of one clause with a question mark is a question. What states something
    in the form of a question has none: "Did you know that your account is deleted?", "Which is it, your account is
    deleted?".
    """
    asked = [one for one in sentences(text) if one.rstrip(" *_\"»”)'").endswith("?")]
    if not asked:
        return ""
    last = asked[-1].strip()
    cuts = [0, *(match.end() for match in _SPLIT.finditer(last))]
    start = next((start for start in cuts if _STARTS.match(last, start)), None)
    if start is None:
        by_intonation = len(cuts) == 1 and re.search("[а-яё]", last, re.IGNORECASE)
        return last if by_intonation and not _STATES.search(last) else ""
    clause = last[start:].strip()
    behind = (last[begin:end] for begin, end in zip(cuts, [*cuts[1:], None], strict=True) if begin > start)
    if _STATES.search(clause) or any(map(_is_statement, behind)):
        return ""
    return clause if start == 0 else clause[:1].upper() + clause[1:]


def states(gap: str) -> bool:
    """Whether words that name what is unclear state something instead: "your account is deleted"."""
    return bool(
        _STATES.search(gap)
        or re.match(
            r"\W{0,8}(?:your|the|this|it|ваш\w{0,3})\b[^?]{0,80}?(?:\b(?:is|are|was|were|has been|have been|will be)\b|(?<!\w)\w+(?:[её]н|[её]на|[её]ны|ыт|ыта|ыты)(?!\w))",
            gap,
            re.IGNORECASE,
        )
    )


_STATES: Final = re.compile(
    # The assistant does not speak of itself in a question, and tells no news in one.
    r"(?<!\w)(?:we|our|us|мы|нами?|нас|наш\w{0,3})(?!\w)"
    r"|\b(?:know|aware|heard|notice|noticed|realise|realize|remember|told|informed|agree|understand)\s+(?:that\b|(?:your|the)\b[^?]{0,60}?\b(?:is|are|was|were|has|have|had|will)\b)"
    r"|(?<!\w)(?:знаете|знали|слышали|курсе|понимаете|известно|помните|сообщали|согласны)(?!\w)[^?]{0,20},?\s+что(?!\w)"
    r"|\b(?:and|but|so|because|since|while|although|as|that)\s+(?:your|the|this|it|they|support)\b[^?]{0,60}?\b(?:is|are|was|were|has|have|had|will)\b"
    r"|(?<!\w)(?:и|а|но|ведь|потому что|так как|поскольку)\s+(?:ваш\w{0,3}|поддержк\w|служб\w|вам|вас|вы)(?!\w)",
    re.IGNORECASE,
)
_GOES_ON: Final = re.compile(
    r"\W{0,8}(?:or|and|for example|such as|e\.g\.|if|when|where|или|либо|например|и|если|когда|где|котор\w{2,4}|что|то есть)(?!\w)",
    re.IGNORECASE,
)
_HAS_SUBJECT: Final = re.compile(
    r"\b(?:your|you|it|they|he|she|this|that|i|my|is|are|was|were|am|has|have|had|will|would|did|does|do|must|can|\w+ed)\b"
    r"|(?<!\w)(?:ваш\w{0,3}|вы|вам|вас|он|она|оно|они|я|это|теперь|уже|больше)(?!\w)"
    r"|(?<!\w)\w{2,}(?:[её]н|[её]на|[её]но|[её]ны|ан|ана|ано|аны|ыт|ыта|ыто|ыты|ит|ет|ют|ят|ась|ись|ось)(?!\w)",
    re.IGNORECASE,
)


def _is_statement(part: str) -> bool:
    """Whether a part of a sentence behind its question says something of its own: "..., your account is deleted"."""
    return not (_GOES_ON.match(part) or _STARTS.match(part)) and bool(_HAS_SUBJECT.search(part))


def asks_for_secrets(text: str) -> str:
    """Return what a text asks its reader to hand over, credentials, codes or money; empty where it asks for nothing.

    What a warning names ("never send your password") is not asked for.
    """
    return _first_request(_REQUESTS, text)


def question_asks_for_secrets(question: str) -> str:
    """Return the same of a question that the assistant asks itself, where far less is needed to mean it."""
    if wanted := asks_for_secrets(question):
        return wanted
    said = _plain_text(question)
    return "" if _OF_ITS_STATE.search(said) else _first(_OF_A_QUESTION, said)


def _first_request(patterns: tuple[re.Pattern[str], ...], text: str) -> str:
    said = _plain_text(text)
    for part in _around_requests(said):
        if found := _first(patterns, part):
            return found
    return ""


def _first(patterns: tuple[re.Pattern[str], ...], said: str) -> str:
    for pattern in patterns:
        for match in pattern.finditer(said):
            if (
                not _DENIED.search(said, max(0, match.start() - 80), match.start())
                and not _ELSEWHERE.match(said, match.end("what"))
                and not _ONLY_IF.search(said, match.start(), match.start("what"))
            ):
                return (match["what"] or match.group()).strip()
    return ""


def _plain_text(text: str) -> str:
    """Return a text as it reads: folded, without the marks of emphasis, code and links that may stand inside a request."""
    plain = _MARKS.sub("", skeleton(text).replace("ё", "е"))
    return " ".join(plain.split())


_MARKS: Final = re.compile(r"[*`~\[\]]|(?<!\w)_{1,3}|_{1,3}(?!\w)")


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
