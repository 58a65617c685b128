"""Sentences of documents that give orders to whoever reads them: to a language model, or to the user, to hand over secrets or money.

A page of a manual says what its product does. A sentence that tells an assistant to forget its rules, or its reader to send a
password, is nobody's answer, whoever wrote it into the page. Such sentences are known by the rules for messages
(`language.attacks.matching`) and for drafts (`language.attacks.demands`): what these do not know passes here, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from language.attacks.demands import asks_for_secrets, may_demand
from language.attacks.matching import find, shipped_pack
from language.clean import INVISIBLE, skeleton
from language.memo import remember
from language.privacy.spans import Span
from language.readings import as_seen
from language.words import tokens

ORDERS: Final = "orders-to-the-reader"
"""The rule that such a sentence is left out by."""
_ORDER_WORDS: Final = (
    *("ignor", "disregard", "forget", "overrid", "overwrit", "bypass", "discard", "neglect", "jailbreak", "prompt", "pretend"),
    *("act as", "acting as", "roleplay", "role-play", "reveal", "assistant", "chatbot", "unlimited", "unfilter", "uncensor"),
    *("unrestrict", "from now on", "model", "gpt", "a.i.", "developer mode", "god mode", "im_start", "[inst", "[/inst"),
    *("[system", "[/system", "<<sys", "system:"),
    *("помощник", "посоветуй", "скажи", "ответь", "передай", "забуд", "игнор", "отброс", "пренебр", "промпт", "промт", "отныне"),
    *("притвор", "представь", "вообрази", "ассистент", "нейросет", "цензур", "без ограничени", "джейлбр", "не следуй"),
    *("не обращай", "выведи"),
)  # fmt: skip
_MAY_ORDER: Final = re.compile(
    r"\b(?:dan|ai|llm|bot|ии|ты)\b|\b(?:ии-|теб[еяю]|тво)|сообщи\b|бот\w{0,2}\b"
    r"|you(?:'re| are) (?:now|no longer|a |an )|(?:previous|prior|above|new) (?:instruct|direct|rules)"
    r"|when(?:ever)? (?:you )?(?:summ|answ|quot|cit)|instead,? (?:tell|inform|advise)"
    r"|языков\w+ модел|инструкци\w* (?:выше|ассист|для)|режим\w* разраб|(?:прежни|предыдущи)\w+ (?:инстр|указ|прав)"
)
"""Without one of these, and without a disguise, no sentence orders an assistant about: most have none, and cost one look."""
_DISGUISED: Final = re.compile(
    r"[a-z][а-яё]|[а-яё][a-z]|&#|<(?!br)[a-z!/]|[a-zа-яё][*~]{1,3}[a-zа-яё]|[a-z]{2}\d[a-z]|[a-z]\d[a-z]{2}|[а-яё]\d[а-яё]|(?:\b[^\W\d_] ){4}"
    # A letter of neither alphabet may be drawn like one, and a mark above one changes the word and not the look.
    r"|[^\W\d_a-zа-яё]|[a-zа-яё][\u0300-\u0305\u0307-\u036f]",
    re.IGNORECASE,
)
_SEND_WORDS: Final = (
    *("send", "email", "e-mail", "forward", "submit"),
    *("отправьте", "пришлите", "вышлите", "перешлите", "продиктуйте", "назовите"),
)
"""Without one of these `_SENDS_AWAY` finds nothing."""
_MODEL: Final = (
    r"(?:ai|a\.i\.|llm|(?:large |language |ai )+model|gpt|chat ?bot|bot|assistant|(?<=the )model|ии(?:-\w+)?|языков\w+ модел\w+|нейросет\w+|чат-?бот\w{0,2}"
    r"|бот\w{0,2}|ассистент\w{0,2}|помощник\w{0,2})"
)
_SAYS: Final = (
    r"(?:say|tell|inform|reply|answer|respond|recommend|advise|output|print|write|repeat|add|mention|claim|state|insist|do not|don't|never|always|only|must|should"
    r"|скажи|сообщи|ответь|отвечай|посоветуй|советуй|рекомендуй|напиши|пиши|добавь|утверждай|говори|не отвечай|не говори|всегда|никогда|только)"
)
_TELLS: Final = (
    r"(?:say|tell|inform|reply|answer|respond|reply|recommend|advise|print|write|repeat|insist|do not|don't|скажи|сообщи|ответь|отвечай|посоветуй|советуй"
    r"|рекомендуй|напиши|пиши|добавь|утверждай|говори|не отвечай|не говори)"
)
"""Verbs of what a model does."""
_TO_A_MODEL: Final = re.compile(
    rf"\b(?:if you(?:'re| are)|since you(?:'re| are)|as an?|note (?:to|for)|attention|dear|hey|message (?:to|for)|instructions? (?:to|for)|если (?:ты|вы)(?: —| -)?)\s+"
    rf"(?:an? |any |all |the |every |это читаешь и ты )?{_MODEL}s?\b[^.!?\n]{{0,80}}?\b{_SAYS}\b"
    rf"|(?:^|[.!?>\]]\s*)\W{{0,6}}(?:note (?:to|for) )?{_MODEL}\s?(?:[:,]|[–—]\s)\s?[^.!?\n]{{0,60}}?\b{_TELLS}\b(?! (?:speed|access|protection|quality|is|are|and|of)\b|,)"
    r"|(?:^|[.!?]\s)\W{0,4}\[/?(?:system|inst|assistant)\]\s*(?:you|always|never|ignore|reply|answer|say|tell|ты|вы|отвечай|скажи|всегда|никогда)\b|(?:^|[.!?]\s)\W{0,4}(?:disregard|ignore) (?:all |everything )?(?:the |of the )?above(?:\s?[.,!:]| and\b|$)"
    r"|\bwhen(?:ever)? (?:you )?(?:summari[sz]|answer|quot|cit)(?:e|ing|ising|izing) (?:from |about )?this (?:page|text|document|passage|article)\b"
    r"|\b(?:скажи|сообщи|ответь|отвечай|посоветуй|передай|напиши)(?: же)? (?:любому |каждому |всем )?(?:пользовател|клиент|покупател|читател|спрашивающ)\w{1,4},? что\b"
    r"|\bdo not follow\b[^.!?\n]{0,60}\binstead,? (?:tell|inform|advise) (?:the |every |all )?(?:users?|customers?|readers?)\b",
    re.IGNORECASE | re.MULTILINE,
)
"""What is said to a model by its name, or to whoever answers from the page."""
_SENDS_AWAY: Final = re.compile(
    r"(?<!not )(?<!never )(?<!n't )(?<!to )(?<!will )(?<!can )(?<!may )(?<!must )(?<!should )(?<!не )(?<!никогда )\b(?:send|e-?mail|forward|submit|отправьте|пришлите|вышлите|перешлите|продиктуйте|назовите)\b(?:(?!\b(?:tickets?|requests?|forms?|about|public|запрос|заявк|форм)|,)[^.!?\n]){0,60}?"
    r"\b(?:passwords?|passcodes?|pin(?: code)?|cvv|card numbers?|seed phrase|sms codes?|codes? from (?:the )?sms|private keys?|парол[ьия]|код[ы]? из (?:sms|смс)|пин-?код|номер карты|cvc)\b"
    r"(?! (?:reset|link|fingerprint|hash|policy))[^.!?\n]{0,80}?(?:[\w.+-]+@[\w-]+\.|\bto (?:us|our (?:support|team|operator))\b|\bнам\b|\bв поддержку|\bоператору)",
    re.IGNORECASE,
)
"""Secrets that somebody is to be sent."""
_QUOTED: Final = re.compile(r"\"[^\"\n]{2,300}\"|«[^«»\n]{2,300}»|“[^“”\n]{2,300}”")
_LEAST_BESIDE: Final = 3
"""Words beside a quotation that say something of it."""
_LONGEST: Final = 4_000
"""Characters of a unit that are looked at in one go; what is longer is a table or a log."""
_OVERLAP: Final = 300


def orders_in(text: str) -> list[Span]:
    """Return where the sentences of a text are that give orders to its reader, in characters, each with `ORDERS`."""
    found: list[Span] = []
    for start, end in _units(text):
        unit = text[start:end]
        if not any(_gives_orders(" ".join(part.split())) for part in _windows(unit)):
            continue
        row = unit.lstrip().startswith("|")
        pieces = [(start, end)] if row else [(start + a, start + b) for a, b in _sentences(unit)]
        bad = [(a, b) for a, b in pieces if any(_gives_orders(" ".join(part.split())) for part in _windows(text[a:b]))]
        found += [Span(ORDERS, a, b) for a, b in bad or [(start, end)]]
    return found


def _units(text: str) -> Iterator[tuple[int, int]]:
    """Yield the paragraphs, items and rows of a text, without the line break at their end; a wrapped line goes on."""
    start = at = 0
    for line in text.splitlines(keepends=True):
        if not line.strip() or _BEGINS.match(line):
            if start < at:
                yield start, start + len(text[start:at].rstrip("\n"))
            start = at + len(line) if not line.strip() else at
        at += len(line)
        if _FENCE.match(line):
            start = at  # a fence stays
    if start < at:
        yield start, start + len(text[start:at].rstrip("\n"))


_BEGINS: Final = re.compile(r"[ \t]*(?:[-*+|>#]|\d{1,3}[.)]|`{3}|~{3})| {4}|\t|[ \t]*[\w-]{1,30}:(?:\s|$)")
"""What a line begins with that is a unit of its own: marks, code, and `key: value`."""
_FENCE: Final = re.compile(r"[ \t]*(?:`{3}|~{3})")


def _windows(text: str) -> Iterator[str]:
    """Yield a text in parts that are looked at, each with the end of the one before."""
    for at in range(0, max(1, len(text)), _LONGEST - _OVERLAP):
        yield text[at : at + _LONGEST]


@remember
def without_orders(text: str) -> tuple[str, bool]:
    """Return a text without the sentences that give orders to its reader, and whether there was one."""
    spans = orders_in(text)
    parts: list[str] = []
    done = 0
    for _, start, end in spans:
        parts.append(text[done:start])
        done = end
    return "".join((*parts, text[done:])), bool(spans)


def _sentences(unit: str) -> list[tuple[int, int]]:
    cuts = [0, *(match.end() for match in _END.finditer(unit)), len(unit)]
    return [(start, end) for start, end in pairwise(cuts) if unit[start:end].strip()]


_END: Final = re.compile(r"[.!?…]+[*_)\]»”\"]{0,4}\s+")


@remember
def _gives_orders(said: str) -> bool:
    bare = _QUOTED.sub(" ", said)
    if bare != said and len(tokens(bare)) >= _LEAST_BESIDE:
        said = bare  # what is quoted is an example, where something is said of it
    low = said.casefold()
    hidden = bool(_DISGUISED.search(said)) or len(INVISIBLE.findall(said)) > 1
    orders = hidden or any(word in low for word in _ORDER_WORDS) or bool(_MAY_ORDER.search(low))
    if orders:
        plain = skeleton(as_seen(said)) if hidden else said
        if _TO_A_MODEL.search(plain) or find(said, shipped_pack(), as_written=not hidden).strong:
            return True
    sends = (hidden or any(word in low for word in _SEND_WORDS)) and _SENDS_AWAY.search(said)
    return bool(sends or ((hidden or may_demand(low.replace("ё", "е"))) and asks_for_secrets(said)))
