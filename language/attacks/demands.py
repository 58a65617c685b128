"""Whether a text wants credentials, codes or money of its reader.

The patterns are ours. They know requests ("send us your password", «пришлите код из SMS»), not topics: "how do I reset
my password?" asks for nothing, and neither does "Enter your password and press Sign in".

A request is made of a frame and of what is wanted. Frames are ways to ask: to tell us, to need, to be waited for, to
confirm. Those that manuals use of programs, too, count only for what a person alone has: a password, a PIN, a code that
was sent, a card. Nothing in a pattern is unbounded, so a text takes no more time than its length allows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from language.clean import skeleton
from language.memo import remember
from language.privacy.spans import readings


def _gap(most: int = 6) -> str:
    """Return up to so many words, no end of a sentence among them, and what parts them from the next."""
    # Bounded throughout, so that no run of marks or letters is tried in more than a few ways.
    return rf"(?:[^\w.!?]{{1,5}}\w{{1,40}}){{0,{most}}}?[^\w.!?]{{1,5}}"


def _words(most: int) -> str:
    """Return up to so many words that belong to the next one: "your *old root* password"."""
    return rf"(?:[\w'-]{{1,40}}\s+){{0,{most}}}?"


# ---------------------------------------------------------------------------------------------------------- English

_DIGITS_EN: Final = r"(?:(?:\d|two|three|four|five|six|eight)[- ]digit\s+)?"
_CODE_EN: Final = r"(?<!error )(?<!status )(?<!exit )(?<!source )(?<!return )(?<!response )(?<!result )codes?"
_SENT_EN: Final = (
    r"(?:(?:from|in|of) (?:the |your |an? |our )?(?:sms|text(?: message)?|message|e-?mail|letter|app|authenticator)"
    r"|(?:(?:that|which) )?(?:we|you|i)(?: have|'ve)?(?: just)? (?:sent|texted|e-?mailed|messaged|got|received)"
    r"|(?:(?:that|which) )?(?:(?:was|is|were|has been) )?(?:just )?(?:sent|texted|e-?mailed) to (?:you|your)"
    r"|(?:from|on) your (?:phone|mobile|authenticator))"
)
_PERSONAL_EN: Final = (
    r"(?:pass(?:words?|codes?|phrases?)|pins?|pin codes?|cv[vc]2?|otps?|credentials|login details"
    r"|(?:one[- ]time|sms|text|verification|confirmation|security|authentication|authenticator|login|2fa|mfa) codes?"
    rf"|{_CODE_EN} {_SENT_EN}"
    r"|(?:secret|recovery|seed) (?:phrase|words?)|(?:credit |debit |bank )?card (?:numbers?|details|data)"
    r"|bank (?:account|details)|account numbers?|mother'?s maiden names?)"
)
"""What a person has, and tells nobody."""
_WANTED_EN: Final = rf"(?:{_PERSONAL_EN}|(?:secret|private|api|access|licen[cs]e) keys?|(?:access|api|auth|session|bearer) tokens?|gift cards?)"
_AMOUNT: Final = r"(?:[$€]\s?\d[\d .,]{0,20}|\d[\d .,]{0,20}(?:dollars?|euros?|rubles?|roubles?|usd|eur|rub\b|руб[а-я]*|₽|р\.|долл[а-я]*|евро|[$€]))"
_MONEY_EN: Final = rf"(?:money|payments?|fees?|deposits?|funds|{_AMOUNT})"
_GIVE_EN: Final = (
    r"(?:send|tell|give|e-?mail|text|message|dm|forward|show|read(?: out)?|share|disclose|reveal|dictate|submit|post"
    r"|reply with|respond with|let (?:me|us) (?:know|have)|provide (?:me|us) with|provide|confirm (?:to|with|for)"
    r"|sending|telling|giving|e-?mailing|texting|forwarding|showing|sharing|disclosing|dictating|providing)"
)
_WRITE_EN: Final = r"(?:enter|type|write|paste|drop|leave|put|include|attach|add|say|confirm|verify)"
_HERE_EN: Final = (
    r"(?:me|us|to (?:support|(?:the|an?) (?:operator|agent|ticket)|our \w{1,20}|this (?:chat|address|e-?mail|number)|[\w.+-]{1,40}@)"
    r"|with (?:our \w{1,20}|(?:the|an) (?:operator|agent))|here|(?:in|into) (?:this|the|our) (?:chat|conversation|ticket)|(?:in|with) (?:your|the|a) (?:next )?(?:reply|message|comment)"
    r"|in response|below)"
)
_OPENS_EN: Final = (
    r"(?:^|[.!?;:,(—–]\s*|\s-\s|\b(?:please|kindly|and|or|then|just|so|now|first|next|simply|mind|to|can you|could you|would you|will you"
    r"|you (?:must|should|can|(?:need|have) to)|(?:do|wo|ca|could|would)n'?t you)\s+)"
)
_WE_EN: Final = (
    r"\b(?:we|i|(?:our |the )?support(?: \w{1,20})?|our \w{1,20}|the (?:operator|agent|team))(?:'ll|'d|'re|'m)?\s+"
    r"(?:(?:will|would|also|just|still|only|first|then|now|may|might|must|kindly|is|are|am|going|to|have|do)\s+){0,4}"
)
_NEED_EN: Final = (
    r"(?:needs?|requires?|wants?|requests?|requesting|awaits?|awaiting|expects?|like|ask(?:s|ing)? for|wait(?:s|ing)? for|miss(?:ing)?)"
    r"(?:\s+to (?:know|have|see|check|get))?"
)
_ENDS_EN: Final = r"(?=\s*(?:[.,;:!?)]|$|is\b|so\b|and\b|to\b|for\b|before\b|or\b))"

_REQUESTS_EN: Final = (
    # "please send us your password", "tell us the code that we texted you", "share the API key here"
    rf"{_OPENS_EN}(?!(?:provide|submit|post)\b[^.!?]{{0,40}}\bcredentials){_GIVE_EN}{_gap()}(?:(?:your|my)\s+{_words(2)})(?P<what>{_WANTED_EN})\b",
    rf"(?<![\w-])(?:{_GIVE_EN}\s+(?:me|us)|let (?:me|us) (?:know|have)|provid(?:e|ing) (?:me|us) with){_gap()}(?P<what>{_PERSONAL_EN})\b",
    rf"{_OPENS_EN}{_GIVE_EN}\s+{_HERE_EN}{_gap(4)}(?P<what>{_WANTED_EN})\b",
    rf"{_OPENS_EN}(?:{_GIVE_EN}|{_WRITE_EN}){_gap()}(?P<what>{_WANTED_EN})\b[^.!?]{{0,40}}?\b{_HERE_EN}(?!\w)",
    rf"\b(?:tell|give|dictate|read|text|dm|message)\s+(?:me|us)\s+(?:what\s+)?(?:the|that|your)\s+{_DIGITS_EN}(?P<what>codes?){_ENDS_EN}",
    rf"{_OPENS_EN}(?:text|send|e-?mail|message|forward|read|dm)\s+(?:the|that|your)\s+{_DIGITS_EN}(?P<what>codes?|digits)\s+(?:back\s+)?(?:to\s+)?(?:me|us)\b",
    rf"(?<![\w-]){_GIVE_EN}\s+(?:me|us)\s+the\s+{_words(2)}(?P<what>digits)\s+(?:you|that|from|of|on)\b",
    rf"{_OPENS_EN}{_GIVE_EN}\s+(?:us\s+|me\s+)?(?:an?\s+)?(?:photo|picture|scan|image|copy|screenshot)s?\s+of\s+(?:your|the)\s+{_words(2)}(?P<what>cards?)\b",
    rf"(?<![\w-]){_GIVE_EN}\s+(?:me\s+|us\s+)?what\s+you\s+(?:type|enter|use)\s+(?:when\s+you\s+|to\s+)(?P<what>log|sign)\s+in\b",
    rf"\b(?:please|kindly|to (?:confirm|verify|continue|proceed|go on)\b[^.!?]{{0,40}}?)[\s,]{{1,3}}(?:give|tell|share|send|provide|specify|state|name|read out)\s+(?:(?:the|that|your)\s+)?{_DIGITS_EN}(?P<what>{_PERSONAL_EN})\b",
    # "what's your CVV?", "what is the code we sent you?", "may I have your PIN?", "can you read out the code in the SMS?"
    rf"\bwhat(?:'s| is| are| was| would be)\s+your\s+{_words(3)}(?P<what>{_WANTED_EN})\b",
    rf"\b(?:what|which)(?:'s| is| are| was)?\s+(?:the\s+)?{_DIGITS_EN}(?:\w{{1,20}}\s+)?(?P<what>{_CODE_EN}\s+(?:{_SENT_EN}|did you receive|(?:did|do|have) you (?:get|got|see|received?)[^.!?]{{0,20}}\b(?:sms|text|phone|e-?mail)))\b",
    rf"\b(?:may|can|could|might)\s+(?:i|we)\s+(?:please\s+|just\s+|also\s+)?(?:have|get|take|see|know|ask(?: you)?(?: for)?|borrow)\s+your\s+{_words(2)}(?P<what>{_WANTED_EN})\b",
    rf"\b(?:can|could|would|will) you\s+(?:please\s+|kindly\s+|also\s+|just\s+)?(?:confirm|verify|read|name|state|repeat|enter|type|say|specify|give|tell|provide|share|show)\b{_gap(4)}(?P<what>{_PERSONAL_EN})\b[^.!]{{0,60}}\?",
    # "confirm your card number", "please confirm your password"; a password is confirmed in forms, too
    rf"{_OPENS_EN}(?:confirm|verify|specify|state|name|repeat|double-check)\s+(?:us\s+)?your\s+{_words(2)}(?P<what>(?!pass|cred|login){_PERSONAL_EN})\b",
    rf"\bplease\s+(?:also\s+)?(?:confirm|verify|specify|state|name|repeat)\s+your\s+{_words(2)}(?P<what>{_PERSONAL_EN})\b",
    # "we'll need your password", "I need the SMS code from you", "we are waiting for the code we texted you"
    rf"{_WE_EN}{_NEED_EN}\s+(?:your|my)\s+{_words(2)}(?P<what>{_WANTED_EN})\b",
    rf"{_WE_EN}{_NEED_EN}\s+{_words(3)}(?P<what>{_WANTED_EN})\s+from you\b",
    rf"{_WE_EN}{_NEED_EN}\s+(?:the|that|an?)\s+{_DIGITS_EN}(?P<what>(?:one[- ]time|sms|verification|confirmation|\b)\s?codes?(?:\s+{_SENT_EN}){{0,1}}|{_CODE_EN} {_SENT_EN})(?<!\bcode)(?<!\bcodes)\b",
    rf"{_WE_EN}{_NEED_EN}(?:\s+the following|\s+these)?(?:\s*,{_gap(10)}your\s+{_words(2)}|:{_gap(10)})(?P<what>{_PERSONAL_EN})\b",
    rf"(?:^|[.!?;:,(—–]\s*|\b(?:please|kindly|then|now|first)\s+)(?:send|tell|give|share|provide|submit)(?:\s+(?:us|me))?(?:\s+\w{{1,20}}){{0,4}}?\s*:{_gap(10)}(?P<what>(?!cred){_PERSONAL_EN})\b",
    rf"\b(?:all|what|thing|information)\s+(?:that\s+)?(?:we|i)\s+(?:\w{{1,20}}\s+){{0,2}}?(?:need|require|want)\s+(?:\w{{1,20}}\s+){{0,2}}?is\s+(?:your|the)\s+{_words(1)}(?P<what>{_PERSONAL_EN})\b",
    rf"\b(?:missing|left|remains|remaining)\s+is\s+(?:your|the)\s+{_words(1)}(?P<what>{_PERSONAL_EN})\b",
    rf"(?:^|[.!?;:,]\s*)(?:awaiting|waiting for|looking forward to)\s+(?:your\s+{_words(2)}|the\s+)(?P<what>{_PERSONAL_EN})\b",
    rf"(?<=without )(?:your|the)\s+(?P<what>{_PERSONAL_EN})\s*,?\s+(?:we|i)\s+(?:can ?no|can'?t|won'?t|will not|are unable|am unable)",
    # "your PIN is needed", "your CVV must be sent to us"
    rf"\b(?:your\s+{_words(2)}|the\s+(?=code (?:that )?we ))(?P<what>{_PERSONAL_EN})(?: you)?\s+(?:is|are|will be|would be)\s+(?:also\s+|still\s+|now\s+|first\s+)?(?:needed|required|necessary|requested|expected)\b(?!\s+(?:to be|when|whenever|each|every|only|by|in|at|on|if|as|once|after|before|where|until|again))",
    rf"\byour\s+{_words(2)}(?P<what>{_WANTED_EN})\s+(?:is|must be|has to be|needs to be|should be|is to be)\s+(?:sent|given|told|provided|shared|texted|e-?mailed|disclosed|confirmed)\b[^.!?]{{0,20}}?\b{_HERE_EN}(?!\w)",
    # "your password, please", "your password? send it to us"
    rf"(?:^|[.!?;:,(—–]\s*)(?:and\s+)?(?:your\s+)?(?P<what>{_PERSONAL_EN})\s*,?\s+please\s*(?:[.!?)]|$)",
    rf"\b(?:your\s+{_words(2)}|the\s+(?=codes? ))(?P<what>{_WANTED_EN})\b.{{0,60}}?\b(?P<verb>(?:send|give|tell|e-?mail|text|forward|dictate|share|provide|post)\s+(?:it|them|both)\s+(?:to (?:us|me|support|our \w{{1,20}})|here|with us|over|in (?:this|the|your) (?:chat|reply))|(?:send|give|tell|text)\s+(?:us|me)\s+(?:it|them)|please\s+(?:tell|send|give)\s+(?:us|me)\s*[.!])",
    rf"(?<![\w-])(?P<what>{_PERSONAL_EN})\s*[:,.?—–-]{{1,2}}\s*(?:please\s+)?(?P<verb>(?:send|tell|give|e-?mail|text|share|type)\s+it\s+(?:to (?:us|me|support)|here|with us))\b",
    rf"(?:^|[.!?;:,(—–]\s*)(?:(?:and|so|or|please),?\s+)?your\s+(?P<what>{_PERSONAL_EN})\s*\?",
    # "What's the code?" and "Password?" name it and nothing more; what they name in a list, or with a word more, is a subject
    rf"\bwhat(?:'s| is| was)\s+(?:the|that)\s+{_DIGITS_EN}(?P<what>{_PERSONAL_EN}|codes?)\s*(?:,?\s*please\s*)?\?",
    rf"(?:^|[.!?]\s*)(?:(?:and|so)\s+)?(?:the\s+)?(?P<what>{_PERSONAL_EN}|codes?)\s*\?",
    rf"(?:^|[.!?(—–]\s*|\b(?:please|kindly|just|simply)\s+)type\s+in\s+(?:your\s+{_words(2)}|the\s+(?=code))(?P<what>{_PERSONAL_EN})\s*(?:[.!?)]|$)",
    rf"\b(?:what|which)\s+(?P<what>{_PERSONAL_EN})\s+(?:do|did|have)\s+you\s+(?:use|enter|set|type|have|get|receive)\b",
    # "reply with the code you received", "your next message should contain your password"
    rf"{_OPENS_EN}(?:reply|respond|answer|write back)(?:\s+to (?:this|the|our) \w{{1,20}})?\s+with\s+{_words(3)}(?P<what>{_WANTED_EN})\b",
    rf"\byour\s+(?:[\w-]{{1,40}}\s+)?(?:message|reply|answer)\s+(?:should|must|has to|needs to)\s+(?:contain|include|have|be)\s+{_words(3)}(?P<what>{_WANTED_EN})\b",
    r"\b(?:digits?|numbers?|codes?|cv[vc]2?|pins?)\s+(?:of|on|from|for)\s+(?:the\s+(?:back|front)\s+of\s+)?your\s+(?:[\w-]{1,20}\s+)?(?P<what>cards?)\b",
    # money
    rf"{_OPENS_EN}(?:pay|transfer|send|wire){_gap()}(?P<what>{_MONEY_EN})[^.!?]{{0,60}}?\b(?:to (?:me|us|this|the (?:card|number|account)|card|account)|by (?:this )?link)\b",
    rf"{_OPENS_EN}(?:pay|transfer|wire)\s+(?:me|us)\b(?P<what>)",
    rf"{_OPENS_EN}send\s+(?:me|us)\s+{_words(3)}(?P<what>{_MONEY_EN})",
    rf"{_OPENS_EN}(?:pay|deposit|wire|transfer)\s+{_words(3)}(?P<what>{_AMOUNT})",
    rf"{_OPENS_EN}(?:provide|send|submit)\s+(?:an?\s+)?(?:payment|deposit)\s+of\s+(?P<what>{_AMOUNT})",
    rf"{_OPENS_EN}make\s+(?:us\s+)?an?\s+(?:\w{{1,20}}\s+)?(?:payment|deposit|transfer)\s+(?:of\s+)?(?P<what>{_AMOUNT})",
    rf"{_WE_EN}{_NEED_EN}\s+an?\s+{_words(1)}(?:payment|deposit|transfer|prepayment)\s+of\s+(?P<what>{_AMOUNT})",
    rf"\b(?:payment|deposit|transfer|fee) of (?P<what>{_AMOUNT})\s*(?:is|will be) (?:required|needed) to (?:unlock|continue|proceed|go on|restore|get|receive|verify)\b",
    rf"\b(?:buy|purchase|get)\s+{_words(3)}(?P<what>gift cards?)\b",
)

# ---------------------------------------------------------------------------------------------------------- Russian

_CODE_SENT_RU: Final = (
    r"код(?:а|у|ом|ы|ов)?(?: подтверждения)?(?: (?:из|от|с|в) (?:смс|sms|cmc|сообщени[а-я]*|приложени[а-я]*|письм[а-я]*|почт[а-я]*|банк[а-я]*"
    r"|пуш[а-я]*|push|уведомлени[а-я]*|телефон[а-я]*|(?:обратн|оборот)[а-я]*)"
    r"|,? (?:котор[а-я]+|что) (?:\w{1,20} ){0,3}?(?:пришел|пришли|придет|приходил|получили|получите|отправили|выслали|прислали|отправлен|выслан)"
    r"|,? (?:пришедш|полученн|отправленн|высланн|присланн)[а-я]+)"
)
_OF_CARD_RU: Final = r"(?:(?:вашей|своей|твоей|банковской|кредитной|дебетовой) ){0,2}карт[а-я]*"
_PERSONAL_RU: Final = (
    r"(?:парол[а-я]*|пасс(?:ворд[а-я]*)?(?!\w)|(?:pin|пин|cv[vc]2?|otp)(?:[- ]?код[а-я]*)?(?!\w)|логин[а-я]* и парол[а-я]*|данн[а-я]+ для входа"
    rf"|{_CODE_SENT_RU}|(?:смс|sms|cmc|пуш|push)[- ]?код[а-я]*"
    r"|(?:одноразов|проверочн|секретн|защитн)[а-я]+ (?:код|парол|ключ|фраз|слов)[а-я]*"
    r"|код[а-я]* (?:подтверждени[а-я]*|доступа|безопасности|авторизации|проверки)"
    rf"|номер[а-я]* {_OF_CARD_RU}|(?:данн|реквизит)[а-я]+ (?:{_OF_CARD_RU}|(?:вашего |своего )?счета)"
    rf"|цифр[а-я]* (?:(?:на|с|из) )?(?:(?:оборот|обратн)[а-я]*(?: сторон[а-я]*)? )?(?:номера )?(?:{_OF_CARD_RU}|смс|sms|cmc)"
    r"|кодов[а-я]+ слов[а-я]*|девич[а-я]+ фамили[а-я]*|(?:сид|seed)[- ]?фраз[а-я]*)"
)
_WANTED_RU: Final = (
    rf"(?:{_PERSONAL_RU}|(?:закрыт|приватн|секретн)[а-я]+ ключ[а-я]*|ключ[а-я]* (?:доступа|api|апи)|(?:api|апи)[- ]ключ[а-я]*|токен[а-я]*"
    r"|учетн[а-я]+ данн[а-я]+|подарочн[а-я]+ карт[а-я]*)"
)
_MONEY_RU: Final = (
    r"(?:деньг[а-я]*|денежн[а-я]+|средств[а-я]*|оплат[а-я]*|плат[а-я]*|предоплат[а-я]*|комисси[а-я]*|сумм[а-я]*"
    r"|\d[\d .,]{0,20}(?:руб[а-я]*|₽|р\.|долл[а-я]*|евро))"
)
_GIVE_RU: Final = (
    r"(?:(?:пришли|присылай|отправь|отправляй|вышли|высылай|сообщи|сообщай|назови|называй|скажи|говори|дай|давай|предоставь|продиктуй|диктуй|озвучь|напиши|пиши"
    r"|перешли|пересылай|подскажи|напомни|передай|скинь|скидывай|кинь|кидай)(?:те)?|подели(?:сь|тесь))"
)
_TELL_RU: Final = (
    r"(?:(?:пришли|присылай|вышли|высылай|сообщи|сообщай|назови|называй|скажи|говори|продиктуй|диктуй|озвучь|подскажи|напомни|скинь|скидывай|кинь|кидай|давай)(?:те)?"
    r"|пришлете|вышлете|назовете|скажете|продиктуете|скинете|подели(?:сь|тесь|ться)|назвать|сообщить|продиктовать)"
)
"""What is said to a person alone; a program, too, is given and sent something."""
_FILL_RU: Final = r"(?:укажи|введи|напечатай|впиши|оставь|приложи|вставь)(?:те)?"
_TO_GIVE_RU: Final = r"(?:прислать|выслать|сообщить|назвать|продиктовать|озвучить|скинуть|переслать|сказать|подсказать|напомнить|отправить|передать|дать|поделиться)"
_TO_US_RU: Final = r"(?:мне|нам|с нами|сюда|в (?:этот |этом |наш )?чат[а-я]*|в ответ[а-я]*|в (?:комментари|тикет|заявк)[а-я]*|в поддержку|оператору|специалисту поддержки)"
_YOURS_RU: Final = r"(?:ваш[а-я]*|сво[йеюихм][а-я]*|тво[йеюихм][а-я]*)"
_HERE_RU: Final = rf"(?:{_TO_US_RU}|здесь|{_YOURS_RU})"
_PARTICLES_RU: Final = (
    r"(?:[,:(«\"—-]{0,2}\s*(?:пожалуйста|мне|нам|с нами|сюда|сначала|теперь|просто|только|тогда|еще|также|этот|тот|сам|полный|последний"
    rf"|текущий|логин и|имя и|{_YOURS_RU}|три|четыре|шесть|последние|\d)\b){{0,5}}[,:—-]{{0,2}}\s+"
)
"""Words between a verb and what it asks for that take nothing from the request."""
_ENDS_RU: Final = r"(?=\s*(?:[.,;:!?)]|$|и |чтобы|для ))"
_MUST_RU: Final = r"(?:просим|прошу|необходимо|нужно|надо|осталось|просьба(?! к )|требуется|следует|должны|придется|потребуется|можете|могли бы|сможете)"
_WE_RU: Final = (
    r"(?:нам|мне|поддержке|оператору|специалисту(?: поддержки)?|сотруднику (?:поддержки|службы поддержки)|службе поддержки)\s+"
    r"(?:(?:будет|будут|также|еще|только|теперь|сейчас|от вас|для \w{1,20})\s+){0,3}"
)
_NEEDED_RU: Final = r"(?:нуж[а-я]{2,3}|необходим[а-я]{0,3}|требу[а-я]{2,4}|потребу[а-я]+|понадоб[а-я]+)"

_REQUESTS_RU: Final = (
    # «пришлите, пожалуйста, ваш пароль и код из SMS», «сообщите нам токен», «назовите PIN», «подскажите пароль»
    rf"(?<!\w){_GIVE_RU}{_gap()}{_HERE_RU}{_gap(4)}(?P<what>{_WANTED_RU})(?!\w)",
    rf"(?<!\w){_GIVE_RU}{_gap()}(?P<what>{_WANTED_RU})[^.!?]{{0,40}}?(?<!\w){_HERE_RU}(?!\w)",
    rf"(?<!\w){_TELL_RU}{_PARTICLES_RU}(?P<what>{_PERSONAL_RU})(?!\w)",
    rf"(?<!\w)(?:пришли|вышли|скинь|кинь|продиктуй)(?:те)?{_PARTICLES_RU}{_words(1)}(?P<what>{_WANTED_RU})(?!\w)",
    rf"(?<!\w)(?:сообщи|назови|скажи|продиктуй|подскажи|пришли|скинь|вышли|озвучь)(?:те)?{_PARTICLES_RU}(?P<what>код){_ENDS_RU}",
    rf"(?<!\w){_MUST_RU}\s+(?:назвать|сообщить|продиктовать|сказать){_PARTICLES_RU}(?P<what>код){_ENDS_RU}",
    rf"(?<!\w)(?:диктуй|говори|называй)(?:те)?{_PARTICLES_RU}(?P<what>код){_ENDS_RU}",
    rf"(?<!\w)(?:отправь|напиши|передай|перешли|предоставь|дай)(?:те)?{_PARTICLES_RU}(?P<what>код[а-я]*(?: из (?:смс|sms|cmc))?,? (?:котор[а-я]+|что) (?:\w{{1,20}} ){{0,3}}?(?:пришел|придет|прислали|выслали|получили))",
    rf"(?<!\w)(?:пришли|вышли|сообщи|назови|скинь|продиктуй|предоставь)(?:те)?(?:\s+\w{{1,20}}){{0,4}}?\s*:{_gap(8)}(?P<what>{_PERSONAL_RU})(?!\w)",
    rf"(?<!\w)укажи(?:те)?,? пожалуйста,?\s+{_YOURS_RU}\s+{_words(1)}(?P<what>{_PERSONAL_RU})(?!\w)",
    rf"(?<!\w)чтобы (?:подтвердить|продолжить|проверить|разблокировать|восстановить|завершить)(?!\w)[^.!?]{{0,40}}?[\s,](?:укажи|напиши|отправь|передай|предоставь)(?:те)?{_PARTICLES_RU}(?P<what>(?!парол|логин){_PERSONAL_RU})(?!\w)",
    rf"(?<!\w)(?:{_GIVE_RU}|уточни(?:те)?),? пожалуйста{_PARTICLES_RU}(?P<what>{_PERSONAL_RU})(?!\w)",
    rf"(?<!\w)пожалуйста,? (?:{_GIVE_RU}|уточни(?:те)?){_PARTICLES_RU}(?P<what>{_PERSONAL_RU})(?!\w)",
    rf"(?<!\w)для (?:подтверждени[яй]|проверки|идентификации|верификации|этого|продолжения|завершения|разблокировки|восстановления)\b[^.!?]{{0,40}}?[\s,](?:укажи|напиши|подтверди|отправь|передай|предоставь)(?:те)?{_PARTICLES_RU}(?P<what>{_PERSONAL_RU})(?!\w)",
    rf"(?<!\w){_MUST_RU}\s+{_words(2)}{_TO_GIVE_RU}{_gap()}{_HERE_RU}{_gap(4)}(?P<what>{_WANTED_RU})(?!\w)",
    rf"(?<!\w){_MUST_RU}\s+{_words(2)}(?:прислать|выслать|сообщить|назвать|продиктовать|скинуть)\s+{_words(2)}(?P<what>{_WANTED_RU})(?!\w)",
    rf"(?<!\w)(?P<what>{_WANTED_RU})(?:\s+[\w'-]{{1,40}}){{0,3}}?\s+(?P<verb>пришли|вышли|сообщи|скинь|продиктуй|назови|отправь|напиши)(?:те)?(?:\s+{_TO_US_RU}|\s*[.!?]|$)",
    rf"(?<!\w)(?P<what>{_WANTED_RU})(?!\w).{{0,60}}?(?<!\w)(?P<verb>(?:пришли|вышли|сообщи|скинь|продиктуй|назови|отправь|напиши|передай)(?:те)?\s+(?:(?:его|их|ее)\s+{_TO_US_RU}|{_TO_US_RU}\s+(?:его|их|ее)|(?:его|их|ее)\s*(?:[.!?]|$)))",
    # Forms are filled in with one's password; into a chat it is not written.
    rf"(?<!\w){_FILL_RU}{_gap()}(?P<what>{_WANTED_RU})[^.!?]{{0,40}}?(?<!\w)(?:{_TO_US_RU}|здесь|ниже)(?!\w)",
    rf"(?<!\w){_FILL_RU}\s+(?:{_TO_US_RU}|здесь|ниже){_gap(4)}(?P<what>{_WANTED_RU})(?!\w)",
    rf"(?<!\w)(?:подтверди|уточни|повтори)(?:те)?{_PARTICLES_RU}(?P<what>(?!парол){_PERSONAL_RU})(?!\w)",
    rf"(?<!\w)подтверди(?:те)?,? пожалуйста{_PARTICLES_RU}(?P<what>{_PERSONAL_RU})(?!\w)",
    rf"(?<!\w)ответь(?:те)?\s+{_words(4)}(?P<what>{_PERSONAL_RU})(?!\w)",
    rf"(?<!\w){_GIVE_RU}{_PARTICLES_RU}что\s+(?:\w{{1,20}}\s+){{0,3}}?(?:пришло|прислали|написано)\s+(?:\w{{1,20}}\s+){{0,2}}?(?:в|на)\s+(?P<what>смс|sms|cmc|обороте карты|карте)(?!\w)",
    r"(?:^|[.!?]\s*)что\s+(?:вам\s+)?(?:пришло|прислали)\s+(?:вам\s+)?(?:в|по)\s+(?P<what>смс|sms|cmc)(?!\w)[^.!?]{0,20}\?",
    rf"(?<!\w){_GIVE_RU}{_PARTICLES_RU}(?:фото|скан|снимок|фотографию)[а-я]*\s+{_words(2)}(?P<what>карт[а-я]*)(?!\w)",
    # «какой у вас пароль», «какой код вам пришёл», «можно узнать ваш пароль»
    rf"(?<!\w)как(?:ой|ая|ие|ов)\s+(?:у вас\s+|{_YOURS_RU}\s+){_words(2)}(?P<what>{_WANTED_RU})(?!\w)",
    rf"(?<!\w)как(?:ой|ие)\s+(?P<what>код(?:ы)?|цифры|{_CODE_SENT_RU})\s+(?:вам\s+|вы\s+|тебе\s+|к вам\s+)?(?:пришел|пришли|придет|прислали|получили)(?!\w)",
    rf"(?<!\w)как(?:ой|ая|ие)\s+(?P<what>{_PERSONAL_RU})\s+(?:вы|у вас|вам)(?!\w)",
    rf"(?<!\w)(?:можно|могу я|могу|можем(?: мы)?|разрешите|позвольте|хотелось бы|хотели бы|хотел бы|хотим|попрошу|попросим|прошу|просим)\s+(?:(?:узнать|получить|услышать|увидеть|спросить|уточнить|у вас|от вас|еще|также)\s+){{0,2}}{_YOURS_RU}\s+{_words(2)}(?P<what>{_PERSONAL_RU})(?!\w)",
    rf"(?<!\w)(?:просим|попрошу|можно узнать|могу я узнать|разрешите узнать)\s+номер\s+(?P<what>{_OF_CARD_RU})(?!\w)",
    # «нам нужен ваш пароль», «ваш PIN нужен для проверки», «ждём от вас код из СМС»
    rf"(?<!\w){_WE_RU}{_NEEDED_RU}(?!\s+(?!знать|узнать|получить|увидеть|иметь)\w{{1,20}}(?:ть|ти|чь|ться)\b){_gap(3)}(?P<what>{_PERSONAL_RU})(?!\w)",
    rf"(?<!\w){_WE_RU}{_NEEDED_RU}\s+{_YOURS_RU}\s+{_words(2)}(?P<what>{_WANTED_RU})(?!\w)",
    rf"(?<!\w){_WE_RU}{_NEEDED_RU}\s*(?:следующ[а-я]+\s*)?(?:\w{{1,20}}\s*)?:{_gap(8)}(?P<what>{_PERSONAL_RU})(?!\w)",
    rf"(?<!\w)(?<!вам )(?<!вам также )(?<!вам еще ){_NEEDED_RU}\s+(?P<what>(?:номер|данн|реквизит)[а-я]* (?:ваш|тво)[а-я]+ (?:банковской |кредитной )?карт[а-я]*)",
    rf"(?<!\w)(?:мы|я|оператор|специалист)\s+(?:должн[а-я]+|обязан[а-я]*|хо(?:тим|чу|тел[а-я]* бы))\s+(?:знать|узнать|получить|увидеть|проверить)\s+{_YOURS_RU}\s+{_words(1)}(?P<what>{_PERSONAL_RU})(?!\w)",
    rf"(?<!\w)(?:остал(?:ось|ся|ись)|не хватает)\s+(?:(?:только|лишь|еще)\s+){{0,2}}(?:{_YOURS_RU}\s+)?(?P<what>{_PERSONAL_RU})(?!\w)",
    rf"(?:^|[.!?;:,]\s*)(?:(?:а|и)\s+)?(?:{_YOURS_RU}\s+)(?P<what>{_PERSONAL_RU})\s*\?",
    rf"(?:^|[.!?]\s*)(?:(?:а|и)\s+)?(?P<what>{_PERSONAL_RU}|код)\s*\?",
    rf"(?:^|[.!?;:,]\s*)(?:(?:а|и)\s+)?(?P<what>{_PERSONAL_RU})\s+(?:у вас\s+)?как(?:ой|ая|ие|ов)\s*\?",
    rf"(?<!\w)(?<!вам )(?<!вам также )(?<!вам еще ){_NEEDED_RU}\s+(?:от вас\s+)?{_YOURS_RU}\s+{_words(2)}(?P<what>{_PERSONAL_RU})(?!\w)",
    rf"(?<!\w)(?<!вам ){_NEEDED_RU}\s+(?P<what>код,? котор[а-я]+ (?:вам|мы)\b|код[а-я]* из (?:смс|sms|cmc),? котор[а-я]+ (?:вам|мы)\b)",
    rf"(?<!\w){_YOURS_RU}\s+{_words(1)}(?P<what>{_PERSONAL_RU})\s+(?:(?:нам|мне|также|еще|будет|очень)\s+){{0,2}}{_NEEDED_RU}(?!\w)(?!\s+(?:вам|тебе|при|только|кажд|если|когда))",
    rf"(?<!\w)(?:жд(?:у|ем|ет|ут)|ожида(?:ю|ем|ет|ют))\s+(?:(?:от вас|от тебя|теперь|{_YOURS_RU})\s+){{0,2}}(?P<what>{_PERSONAL_RU})(?!\w)",
    rf"(?<!\w){_YOURS_RU}\s+{_words(1)}(?P<what>{_PERSONAL_RU}),? пожалуйста\s*(?:[.!?)]|$)",
    rf"(?<=без )(?:{_YOURS_RU}\s+)?(?P<what>{_PERSONAL_RU})\s+(?:мы\s+|я\s+)?не\s+(?:сможем|смогу|можем|могу)(?!\w)",
    r"(?<!\w)(?:цифр[а-я]*|код[а-я]*)\s+(?:[\w'-]{1,40}\s+){0,4}?(?:на обороте|на|с|в|из)\s+(?:[\w'-]{1,40}\s+){0,2}?(?P<what>карты|карте|смс|sms)(?!\w)[^.!]{0,40}\?",
    # money
    rf"(?<!\w)(?:переведи|перечисли|оплати|заплати|внеси|отправь|пришли)(?:те)?{_gap()}(?P<what>{_MONEY_RU})[^.!?]{{0,60}}?(?:на (?:карт|номер|кошел[её]к|этот сч[её]т|наш)|нам(?!\w)|мне(?!\w)|по (?:этой )?ссылке)",
    r"(?<!\w)(?:переведи|перечисли|заплати)(?:те)?\s+(?:(?:их|его|ее|эту сумму)\s+)?(?:нам|мне)(?!\w)(?P<what>)",
    rf"(?<!\w)(?:переведи|перечисли|оплати|заплати|внеси)(?:те)?\s+{_words(3)}(?P<what>{_AMOUNT})",
    rf"(?<!\w){_MUST_RU}\s+{_words(2)}(?:оплатить|перевести|перечислить|внести|заплатить)\s+{_words(3)}(?P<what>{_AMOUNT})",
    r"(?<!\w)(?:внеси|оплати)(?:те)?\s+(?P<what>предоплат[а-я]*|аванс[а-я]*)(?!\w)",
    rf"(?<!\w){_WE_RU}{_NEEDED_RU}\s+(?P<what>предоплат[а-я]*|аванс[а-я]*|задаток)(?!\w)",
    rf"(?<!\w){_NEEDED_RU}\s+(?:оплата|предоплата|перевод)\s+{_words(3)}(?P<what>{_AMOUNT})[^.!?]{{0,30}}?(?:на (?:карт|номер|кошел|наш)|нам(?!\w)|мне(?!\w)|по ссылке)",
)

# ---------------------------------------------------------------------------------------------- what makes it none

_NOT_EN: Final = (
    r"(?:never|not|cannot|(?:do|does|did|is|are|was|were|wo|ca|could|would|should|must|need|have|has|had)n'?t)"
)
_DENIED: Final = re.compile(
    rf"\b{_NOT_EN}\b(?!\s+(?:hesitate|forget|worry|wait|mind|fail|you\b|only))(?:\s+(?!you\b)[\w']{{1,20}}){{0,2}}\s*$"
    rf"|\b(?:{_NOT_EN}|nobody|no one)\b[^.:;!?,]{{0,30}}\b(?:asks?|asked|tells?|told|requires?|requests?)\s+(?:(?:you|anybody|anyone)\s+)?(?:to\s*)?$"
    r"|\bno (?:need|reason)\s+(?:for you\s+)?(?:to\s*)?$"
    r"|\b(?:не|никогда|никому|нельзя)\s*$"
)
"""Right in front of a request it makes a warning of it: "never send your password". Not so "Don't worry, send ..."."""
_ELSEWHERE: Final = re.compile(
    r"\s*(?:polic(?:y|ies)|managers?|reset|fields?|rules?|headers?|length)\b"
    r"|[^.!?]{0,20}?\b(?:in|as|via|through)\s+(?:the|an?|its)\s+(?:[\w-]{1,30}\s+){0,3}?(?:headers?|requests?|parameters?|quer(?:y|ies)|body|fields?|forms?"
    r"|variables?|files?|dialog|window|settings?|cookies?|section|menu)\b"
    r"|\s+an?\s+(?:[\w-]{1,30}\s+)?name\b"
    r"|\s+to\s+(?:the|an?|your|their)\s+(?:users?|clients?|servers?|customers?|endpoints?|colleagues?|administrators?)\b"
    r"|[^.!?]{0,20}?(?<!\w)(?:в|через|как)\s+(?:[\w-]{1,30}\s+){0,2}?(?:заголов|запрос|параметр|пол[еяю]|форм[еуы]|файл|переменн|настройк|окн|тел[еа] )"
    r"|\s+[\w-]{1,30}\s+имен(?:ем|и)(?!\w)"
    r"|\s+(?:с\s+)?(?:[\w-]{1,30}\s+)?(?:пользовател|сотрудник|администратор|коллег|клиент|владельц)"
    r"|\s+(?:в|на)\s+(?:[\w-]{1,30}\s+)?(?:приложени|страниц|сайт|кабинет|меню|раздел)"
    r"|[^.!?]{0,60}?(?<!\w)(?:и|затем|потом) (?:нажм|кликн|щелкн)"
)
"""Behind what is wanted it says that a program, a form or another person gets it: "in the header Authorization"."""
_ONLY_IF: Final = re.compile(
    r"(?<!\w)(?:если|if|that(?! (?:[\w-]{1,20} )?codes?)|whether|where|who|how|when|why|about|without|except|never|but(?! also)|remov\w{1,5}"
    r"|which(?! (?:[\w-]{1,20} )?(?:pin|code|password|card))|ли|без|кроме|удали\w{1,3}|но)(?!\w)"
)
"""Between a verb and what it might ask for: "write to the administrator if your password ..."."""

_OF_A_QUESTION: Final = (
    rf"\b(?:send|tell|give|e-?mail|text|share|provide|enter|type|write|confirm|say|have|know|remember|name)\b[^.!?]{{0,60}}?\b(?P<what>{_WANTED_EN})\b",
    rf"\b(?:what|which)\b[^.!?]{{0,30}}?\byour\s+{_words(3)}(?P<what>{_WANTED_EN})\b",
    rf"\byour\s+{_words(2)}(?P<what>{_WANTED_EN})\s*(?:,\s*please\s*)?\?",
    r"\b(?:what|which)(?:'s| is| was| are)?\s+(?:the\s+)?(?:\w{1,40}\s+)?(?P<what>card numbers?|cv[vc]2?|pins?|pin codes?|(?:sms|one[- ]time) codes?)\b",
    (
        rf"(?<!\w)(?:{_GIVE_RU}|{_TO_GIVE_RU}|(?:укажи|введи|напомни|уточни|подтверди)(?:те)?|указать|ввести|подтвердить"
        rf"|(?:подскаж|назов|скаж|пришл|сообщ|напиш|укаж)(?:е|ё|и)те|можете|могли|знаете|помните)[^.!?]{{0,60}}?(?P<what>{_WANTED_RU})(?!\w)"
    ),
    rf"(?<!\w)(?:как(?:ой|ая|ое|ие|ов)|ваш[а-я]*|у вас)\s+{_words(3)}(?P<what>{_WANTED_RU})(?!\w)",
    r"(?<!\w)(?P<what>цифр[а-я]*)(?!\w)[^.!?]{0,40}?(?:смс|sms|карт)",
    r"(?P<what>\b(?:pay|wire|transfer (?:the )?(?:money|funds))\b(?! (?:button|page|menu|module)))",
    r"(?P<what>(?<!\w)(?:(?:о|за|до|предо)плат(?:и(?:те|шь|ли)|ить)|перечисл(?:ите|ить)|перев(?:едите|едете)|перевести (?:\w{1,20} ){0,2}(?:деньги|средства|сумму|оплату|\d))(?!\w))",
)
_OF_ITS_STATE: Final = re.compile(
    r"\b(?:expir|chang|reset|forg[oe]t|renew|rejected|accepted|work|fail|wrong|invalid|lost|stored|kept)\w*\b"
    r"|(?<!\w)(?:ист[её]к|смен|измен|сброс|забы|подход|работа|невер|принима|отклон|потеря|хран)\w*"
)
"""What a question asks of a password that is about its state and not about its letters: whether it expired."""
_MAY_BE_WANTED: Final = re.compile(
    r"pass(?:word|code|phrase)|digits|\bsms|what you (?:type|enter|use)|смс|cmc|пасс|\bpins?\b|\bcv[vc]|\botp|credential|login details|codes?\b|phrase|word\b|\bcards?\b|bank|account number|maiden"
    r"|\bkeys?\b|token|money|payment|\bfees?\b|deposit|funds|\b(?:pay|transfer|wire)\b|[$€₽]|dollar|euro|\br(?:o)?ubles?|\busd|\beur\b|\brub\b"
    r"|парол|девич|пин|код|фраз|слов|карт|счет|ключ|токен|данн|реквизит|цифр|деньг|денежн|средств|плат|комисси|сумм|руб|долл|евро"
    r"|перевед|переч|внес|аванс|задат"
)
"""Without one of these words nothing is wanted: most texts have none, and cost one look."""
_WANTED_WORDS: Final = (
    *(
        "pass",
        "digits",
        "sms",
        "смс",
        "cmc",
        "пасс",
        "what you",
        "pin",
        "cv",
        "otp",
        "credential",
        "login details",
        "code",
        "phrase",
        "word",
        "card",
        "bank",
        "account number",
    ),
    *(
        "maiden",
        "key",
        "token",
        "money",
        "pay",
        "fee",
        "deposit",
        "funds",
        "transfer",
        "wire",
        "$",
        "€",
        "₽",
        "dollar",
        "eur",
    ),
    *("ruble", "rouble", "usd", "rub", "парол", "девич", "пин", "код", "фраз", "слов", "карт", "счет", "ключ", "токен"),
    *(
        "данн",
        "реквизит",
        "цифр",
        "деньг",
        "денежн",
        "средств",
        "плат",
        "комисси",
        "сумм",
        "руб",
        "долл",
        "евро",
        "перевед",
    ),
    *("переч", "внес", "аванс", "задат"),
)
"""Without one of these there is none of them: to look for plain text takes a tenth of the time."""
_AROUND: Final = 400
"""Characters to both sides of such a word that any request with it reaches."""


_LETTER_EN: Final = re.compile("[a-z]")
_LETTER_RU: Final = re.compile("[а-я]")
"""Without one, no pattern of the language finds anything: each has its words."""


@cache
def _requests_en() -> tuple[re.Pattern[str], ...]:
    return tuple(map(re.compile, _REQUESTS_EN))


@cache
def _requests_ru() -> tuple[re.Pattern[str], ...]:
    return tuple(map(re.compile, _REQUESTS_RU))


@cache
def _of_a_question() -> tuple[re.Pattern[str], ...]:
    """Return what finds a request in a question."""
    return tuple(map(re.compile, _OF_A_QUESTION))


@remember
def asks_for_secrets(text: str) -> str:
    """Return what a text asks its reader to hand over, credentials, codes or money; empty where it asks for nothing.

    What a warning names ("never send your password") is not asked for. A text is judged as it is written and as
    Markdown shows it.
    """
    for said in _as_read(text):
        for part in _around_the_wanted(said):
            if found := (_LETTER_EN.search(part) and _first(_requests_en(), part)) or (
                _LETTER_RU.search(part) and _first(_requests_ru(), part)
            ):
                return found
    return ""


def question_asks_for_secrets(question: str) -> str:
    """Return the same of a question that the assistant asks itself, where far less is needed to mean it."""
    if wanted := asks_for_secrets(question):
        return wanted
    return next(
        (
            found
            for said in _as_read(question)
            if not _OF_ITS_STATE.search(said) and (found := _first(_of_a_question(), said))
        ),
        "",
    )


def _first(patterns: tuple[re.Pattern[str], ...], said: str) -> str:
    for pattern in patterns:
        place = 0
        # Behind the first word of what is no request one may begin: "let us know when you can send us your password".
        while match := pattern.search(said, place):
            if not _is_harmless(match, said):
                return (match["what"] or match.group()).strip()
            place = match.start() + 1
    return ""


def _is_harmless(match: re.Match[str], said: str) -> bool:
    verbs = [match.start(), *([match.start("verb")] if "verb" in match.re.groupindex else [])]
    wanted = match.start("what")
    return bool(
        any(_DENIED.search(said, max(0, verb - 80), verb) for verb in verbs)
        or _ELSEWHERE.match(said, match.end("what"))
        or ((found := _ONLY_IF.search(said, match.start(), wanted + 40)) and found.start() < wanted)
    )


def _as_read(text: str) -> list[str]:
    """Return a text as it reads: folded, in one line, without the marks of emphasis, code, links and citations in it."""
    return list(dict.fromkeys(map(_plain_text, dict.fromkeys(read.plain for read in readings(text)))))


def _plain_text(text: str) -> str:
    plain = skeleton(_CITATION.sub(" ", text)).replace("ё", "е").replace("\u2019", "'").replace("\u02bc", "'")
    plain = _BREAK.sub(_joint, f"\n{plain}")
    return " ".join(_MARKS.sub("", plain).split())


_CITATION: Final = re.compile(r"\[\d{1,3}\]")
_MARKS: Final = re.compile(r"[*`~\[\]]|(?<!\w)_{1,3}|_{1,3}(?!\w)|==")
_BREAK: Final = re.compile(r"\n[\s>]*+((?:[-*+•–—]|\d{1,3}[.)]|#{1,6})\s)?")


def _joint(line_break: re.Match[str]) -> str:
    """Return what a line break says: an item of a list goes on, a paragraph ends a sentence where no colon leads on."""
    if line_break[1]:
        return ", " if line_break.start() else ""
    before = line_break.string[max(0, line_break.start() - 5) : line_break.start()].rstrip()
    ends = line_break.group().count("\n") > 1 and before and before[-1] not in ":,;—–"
    return " . " if ends else " "


def may_demand(plain: str) -> bool:
    """Whether a text in lower case, spelt as usual, may ask for anything: most have none of these words."""
    return any(word in plain for word in _WANTED_WORDS)


def _around_the_wanted(said: str) -> Iterator[str]:
    if not any(word in said for word in _WANTED_WORDS):
        return
    begin = end = 0
    for match in _MAY_BE_WANTED.finditer(said):
        if end and match.start() - _AROUND > end:
            yield said[begin:end]
            begin = match.start() - _AROUND
        elif not end:
            begin = max(0, match.start() - _AROUND)
        end = match.end() + _AROUND
    if end:
        yield said[begin:end]
