"""What of a message is asked: told by its structure from greetings, thanks, signatures, quoted mail and a ticket's form.

own_words             the message without what is not the user's question: quoted mail, signature, form fields
questions_and_context what is asked, and what is told before it
complete_questions    the questions that can be searched for by themselves
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from language import lexicon
from language.memo import remember_items
from language.sentences import questions, sentences
from language.words import stems, tokens

_FLAGS: Final = re.IGNORECASE | re.VERBOSE
_MOST_SIGNED: Final = 8
"""Lines of a signature; what is longer says something."""
_QUOTE_BEGINS: Final = re.compile(
    r"""^[ \t>*_-]{0,20}(?:
    (?:on|am|le)\b[^\n]{4,200}\bwrote\s*:\s*$
    |(?=[^\n]{0,200}[\d@])[^\n]{4,200}\b(?:пишет|писал|писала|написал|написала|wrote)\s*:\s*$
    |(?:original|forwarded)\s+message\b
    |(?:исходное|пересылаемое|пересланное)\s+сообщение\b
    |begin\s+forwarded\s+message
    |(?:from|от|отправитель)\s*:[^\n]{0,200}(?:@|<)
    )""",
    _FLAGS,
)
"""A line behind which an earlier mail is quoted."""
_SIGNS_OFF: Final = re.compile(
    r"""^\W{0,9}(?:
    --\s*$
    |(?:(?:with\s+)?(?:best|kind|warm|kindest|warmest)\s+(?:regards|wishes)|(?:best|kind|warm)?\s*regards|sincerely(?:\s+yours)?|yours\s+(?:sincerely|faithfully|truly)|respectfully|cheers|best)
    |(?:thanks|thank\s+you|many\s+thanks)\s*,
    |sent\s+from\s+(?:my|outlook|mail)
    |с\s+(?:глубоким\s+|большим\s+)?уважением|с\s+наилучшими(?:\s+пожеланиями)?|искренне\s+ваш\w?|всего\s+(?:доброго|хорошего|наилучшего)|хорошего\s+дня|отправлено\s+с|заранее\s+благодар\w+\s*,
    )(?P<behind>[^\n]{0,60})$""",
    _FLAGS,
)
"""A line that a signature begins with."""
_FIELD: Final = re.compile(
    r"^[ \t*_#>-]{0,9}(?P<name>[^\W\d_][\w /#№.-]{0,30}?)[*_]{0,2}\s{0,3}(?:[:=]|\s#|\s№)[*_]{0,2}\s{0,9}(?P<value>.{0,2000})$"
)
_ASKS_IN: Final = frozenset(
    [
        "subject",
        "summary",
        "title",
        "question",
        "description",
        "details",
        "message",
        "problem",
        "issue",
        "topic",
        "text",
        "body",
        "request",
        "comment",
        "тема",
        "вопрос",
        "описание",
        "проблема",
        "текст",
        "сообщение",
        "суть",
        "заголовок",
        "обращение",
        "комментарий",
        "детали",
        "запрос",
    ]
)
"""Fields of a ticket that hold what is asked."""
_FORM: Final = frozenset(
    [
        "ticket",
        "id",
        "case",
        "number",
        "no",
        "status",
        "priority",
        "severity",
        "urgency",
        "impact",
        "type",
        "category",
        "queue",
        "department",
        "team",
        "customer",
        "client",
        "company",
        "organization",
        "organisation",
        "user",
        "name",
        "email",
        "e-mail",
        "mail",
        "phone",
        "tel",
        "date",
        "time",
        "created",
        "updated",
        "opened",
        "closed",
        "reporter",
        "requester",
        "assignee",
        "assigned",
        "sender",
        "recipient",
        "to",
        "from",
        "cc",
        "sent",
        "contract",
        "sla",
        "channel",
        "source",
        "tags",
        "label",
        "labels",
        "product",
        "component",
        "environment",
        "version",
        "build",
        "заявка",
        "тикет",
        "номер",
        "статус",
        "приоритет",
        "срочность",
        "важность",
        "тип",
        "категория",
        "очередь",
        "отдел",
        "подразделение",
        "группа",
        "клиент",
        "заказчик",
        "компания",
        "организация",
        "пользователь",
        "имя",
        "фио",
        "почта",
        "телефон",
        "тел",
        "дата",
        "время",
        "создано",
        "создана",
        "обновлено",
        "открыто",
        "закрыто",
        "автор",
        "инициатор",
        "исполнитель",
        "ответственный",
        "отправитель",
        "получатель",
        "кому",
        "от",
        "копия",
        "отправлено",
        "договор",
        "канал",
        "источник",
        "метки",
        "теги",
        "продукт",
        "компонент",
        "среда",
        "версия",
        "сборка",
    ]
)
"""Fields of a ticket that say whose it is, and not what is asked."""
_FEWEST_FIELDS: Final = 2
"""Fields from which lines of `name: value` are a form."""
_ASKS_EN: Final = r"(?=[\s,:]+(?:how|what|where|when|why|which|who|whether|if|is|are|can|do|does)\b)"
_ASKS_RU: Final = (
    r"(?=[\s,:—–-]+(?:как|каким|какой|какая|какие|какое|каких|что|чем|чего|где|когда|почему|зачем|сколько|можно|есть|нужно|кто|куда|откуда|ли"
    r"|из|для|в|на|у|с|при|после|если)\b)"
)
_OPENING: Final = re.compile(
    r"""^(?:\W{0,9}(?:
    GREETING_EN(?:\s+(?:all|team|there|everyone|support|colleagues|sir|madam|folks|guys)|NAME){0,3}(?:\s{0,3}(?:[,!.;:—–-]|$)|ASKS_EN)
    |GREETING_RU(?:\s{0,3},?\s+(?:всем|коллеги|друзья|уважаемые|поддержка)|\s{0,3},?NAME){0,3}\s{0,3}(?:[,!.;:—–-]|$)
    |GREETING_RUASKS_RU
    |(?:уважаемые\s+)?коллеги\s{0,3}[,!.]
    |уважаем(?:ый|ая|ые)(?:\s+[^\W\d_]{2,20}){1,3}\s{0,3}[,!]
    |NAMED(?:NAME){0,2}\s{0,3},(?=\s{0,3}(?:GREETING_EN|GREETING_RU|(?:не\s+)?подскаж\w+|скажите|хотел\w*|не\s+могли|у\s+(?:меня|нас)|could\s+you|can\s+you|please|пожалуйста)\b)
    |(?:could|can|would|will)\s+(?:you|someone|anyone|anybody|somebody)\s+(?:please\s+|kindly\s+|possibly\s+)?(?:tell|explain|advise|clarify|help|let)(?:\s+(?:me|us|to|with|know|understand)){0,3}\bASKS_EN
    |(?:please\s+|kindly\s+)?(?:tell|advise|explain\s+to|let)\s+(?:me|us)(?:\s+know)?\bASKS_EN
    |(?:i|we)(?:'d|’d|\s+would)?\s+(?:like|love|want|need)\s+to\s+(?:know|ask|understand|find\s+out|learn)\bASKS_EN
    |(?:(?:i|we)\s+(?:was|were|am|are)|i['’]m|we['’]re|i|we)?\s{0,3}(?:just\s+)?wonder(?:ing)?\bASKS_EN
    |(?:do\s+you|does\s+any(?:one|body))\s+(?:happen\s+to\s+)?know\bASKS_EN
    |(?:can|could|may|might)\s+i\s+ask(?:\s+you)?\bASKS_EN
    |(?:i|we)\s+(?:do\s+not|don['’]?t|can\s?not|can['’]?t|could\s+not|couldn['’]?t)\s+(?:really\s+|quite\s+)?(?:understand|see|figure\s+out|find\s+out|know)\b(?=[\s,:]+(?:how|what|where|why|which)\b)
    |(?:i|we)\s+(?:have|had)\s+(?:just\s+)?(?:a|one|another|a\s+few|some|two|three|several|the\s+following)\s+(?:quick\s+|small\s+|short\s+)?questions?\s{0,3}[,:.!—–-]
    |(?:just\s+)?(?:(?:a|one)\s+)?(?:quick\s+|small\s+|short\s+|simple\s+)?question\s{0,3}[:.!—–-]
    |please\s{0,3},?(?=\s)
    |(?:не\s+)?(?:подскажите|подскажете|подскажи|скажите|скажете|скажи|поясните|объясните|расскажите|расскажете|помогите|поможете|посоветуйте|посоветуете)(?:\s+(?:мне|нам|ли|пожалуйста|пожалуста|плиз|разобраться|понять)){0,4}\s{0,3}[,:.!—–-]
    |(?:не\s+)?(?:подскажите|подскажете|подскажи|скажите|скажете|скажи|поясните|объясните|расскажите|расскажете)(?:\s+(?:мне|нам|ли|пожалуйста)){0,3}ASKS_RU
    |(?:не\s+)?(?:могли|можете|мог|могла)\s+(?:бы\s+)?(?:ли\s+)?(?:вы\s+|кто-нибудь\s+)?(?:пожалуйста\s+)?(?:подсказать|пояснить|объяснить|рассказать|помочь)\s{0,3},?ASKS_RU
    |(?:мне\s+|нам\s+)?(?:хотел\w{0,3}|хочу|хотим|хотелось)\s+(?:бы\s+)?(?:у\s+вас\s+)?(?:узнать|знать|выяснить|спросить|уточнить|понять|поинтересоваться)(?:\s{0,3}[,:.—–-]|ASKS_RU)
    |(?:(?:меня|нас)\s+)?(?:также\s+)?(?:интересует|интересует\s+(?:такой\s+|следующий\s+|один\s+)?вопрос|интересно)(?:\s{0,3}[,:—–-]|ASKS_RU)
    |(?:(?:я|мы)\s+)?(?:что-то\s+|никак\s+)?не\s+(?:пойму|поймём|поймем|понимаю|понимаем|могу\s+понять|можем\s+понять|могу\s+разобраться|соображу)\s{0,3},?(?=\s+(?:как|что|где|когда|почему|зачем|какой|какая|какие|какое|куда|чем|в\s+ч[её]м)\b)
    |(?:у\s+(?:меня|нас)\s+)?(?:есть\s+|возник\s+|появился\s+)?(?:такой\s+|один\s+|ещё\s+один\s+|следующий\s+|небольшой\s+|два\s+|три\s+|несколько\s+|такие\s+)?вопрос(?:ик|а|ы|ов)?(?:\s+(?:такой|следующий|в\s+следующем|вот\s+какой))?\s{0,3}[,:.!—–-]
    |(?:будьте\s+добры|будьте\s+любезны|пожалуйста)\s{0,3},?(?=\s)
    ))+\W{0,9}""".replace("GREETING_EN", r"(?:dear|hello|hi|hey|good\s+(?:day|morning|afternoon|evening)|greetings)")
    .replace(
        "GREETING_RU",
        r"(?:здравствуйте|здравствуй|привет|приветствую|доброго\s+(?:дня|времени\s+суток)|добр(?:ый|ое|ого)\s+(?:день|утро|вечер|дня|утра|вечера)"
        r"|(?:день|вечер)\s+добрый|утро\s+доброе)",
    )
    .replace("NAMED", r"(?-i:[A-ZА-ЯЁ][^\W\d_A-ZА-ЯЁ]{1,20})")
    .replace("NAME", r"\s+(?:(?:mr|mrs|ms|dr)\.?\s+)?(?-i:[A-ZА-ЯЁ][^\W\d_A-ZА-ЯЁ]{1,20})")
    .replace("ASKS_EN", _ASKS_EN)
    .replace("ASKS_RU", _ASKS_RU),
    _FLAGS,
)
"""Greetings and polite words before a question, in front of it."""
_ASKED_FOR: Final = re.compile(
    r"wonder|tell|know|ask|question|advise|explain|understand|figure|подскаж|скаж|поясн|объясн|узнать|знать|выяснить|спросить|уточнить|понять|пойм|понима|интерес|вопрос",
    re.IGNORECASE,
)
"""What stands in an opening that makes a question of what follows, whatever it ends in: "I was wondering if ..."."""
_THANKS: Final = re.compile(
    r"""^\W{0,9}(?:(?:many|much|big)\s+)?(?:thanks|thank\s+you|thx|спасибо|благодарю|благодарим|спс)\b[^?\n]{0,80}$
    |^\W{0,9}(?:заранее|большое|огромное)\s+(?:вам\s+|большое\s+)?(?:спасибо|благодар\w+)\b[^?\n]{0,60}$
    |^\W{0,9}(?:(?:i|we)\s+)?(?:(?:am|are|would\s+be)\s+)?(?:looking\s+forward|look\s+forward|appreciate|grateful|glad)\b[^?\n]{0,120}$
    |^\W{0,9}(?:any\s+(?:help|advice|ideas?|hints?)\b[^?\n]{0,60}(?:appreciated|welcome)|буду\s+(?:очень\s+)?(?:благодар\w+|признател\w+|рада?)|будем\s+(?:очень\s+)?(?:благодарны|признательны|рады)|жд[ёу]\s+(?:вашего\s+)?ответа|жд[ёе]м\s+(?:вашего\s+)?ответа)\b[^?\n]{0,80}$
    |^\W{0,9}(?:please\s+(?:help|advise|assist)|помогите\s+пожалуйста|прошу\s+помочь)\W{0,9}$""",
    _FLAGS,
)
"""A sentence that only thanks, or waits for an answer."""
_REQUESTS: Final = re.compile(
    r"""^\W{0,9}(?:(?:and|also|but|so|а|и|но|также)\W{1,4})?(?:
    (?:what|where|how|who|when|why)['’]?s|how\s+(?:do|does|did|can|could|to|should|would|many|much|long|often|is|are)|what\s+(?:is|are|does|do|should|happens|can|if)|where\s+(?:do|does|can|is|are|to|should)
    |when\s+(?:do|does|is|are|will|should)|why\s+(?:do|does|is|are|did|can)|which\s+\w+|who\s+(?:is|can|does|has)|can\s+(?:i|we|one|it)|is\s+(?:it|there)|are\s+there|do\s+(?:i|we|you)|does\s+\w+
    |explain|describe|tell\s+me|show\s+me|list|(?:the\s+)?differences?\s+between
    |как\s+(?!(?:только|обычно|правило|всегда|известно|видно|и|раз)\b)\w+|что\s+(?:такое|это|делать|значит|означает|нужно|если|из)|чем\s+\w+|в\s+ч[её]м\s+\w+|(?:разница|отличи[ея])\s+\w+|где\s+\w+|когда\s+\w+|почему\s+\w+|зачем\s+\w+|сколько\s+\w+|какой\s+\w+|какая\s+\w+|какие\s+\w+|какое\s+\w+|кто\s+\w+|куда\s+\w+|можно\s+ли|есть\s+ли|нужно\s+ли|расскажи\w{0,2}|объясни\w{0,2}|опиши\w{0,2}|покажи\w{0,2}
    )\b""",
    _FLAGS,
)
"""How a question begins that has no question mark."""
_POINTS: Final = frozenset(
    [
        "it",
        "this",
        "that",
        "them",
        "these",
        "those",
        "they",
        "its",
        "это",
        "этого",
        "этот",
        "эта",
        "эту",
        "этом",
        "этим",
        "эти",
        "этих",
        "его",
        "её",
        "ее",
        "их",
        "им",
        "ими",
        "он",
        "она",
        "оно",
        "они",
    ]
)
_ASKS: Final = ("?", "\uff1f")
_AT_END: Final = " ?:\uff1f"
_ITEM: Final = re.compile(r"^[ \t]{0,9}(?:[-*+•–—]|\d{1,2}[.)])[ \t]+(?P<item>\S[^\n]*)$", re.MULTILINE)
_LONGEST_ITEM: Final = 12
"""Words of an item that a question asks about; a longer one tells something."""
_MOST_PARTS: Final = 10
_LONGEST_PART: Final = 300
_WRAPPED: Final = re.compile(r"(?<![\s.!?:;…\uff1f])[ \t]*\n(?=[a-zа-яё])")
"""A line break inside a sentence, as mail programs make it: no item of a list begins with a small letter."""


@dataclass(frozen=True, slots=True)
class QuestionPart:
    """One question of a message.

    Attributes:
        text: The question, without polite words before it.
        context: The sentence before it, where there is one.
        asks: Whether it asks, or is what is told where nothing is asked.
    """

    text: str
    context: str = ""
    asks: bool = True


def own_words(message: str) -> str:
    """Return a message without quoted mail, signature and form fields; the message itself where nothing else is left."""
    lines = _without_quotes(message.splitlines())
    lines = _without_form(_without_signature(lines))
    text = "\n".join(lines).strip()
    return text if stems(text) else message


def _without_quotes(lines: list[str]) -> list[str]:
    own: list[str] = []
    for line in lines:
        # In the head of a form, "From:" names its sender; behind a text of the user's own, it begins a mail.
        if _QUOTE_BEGINS.match(line) and any(stems(other) and _field(other)[0] is None for other in own):
            break
        own.append(line)
    own = [line for line in own if not line.lstrip().startswith(">")]
    return own if any(stems(line) for line in own) else lines


def _without_signature(lines: list[str]) -> list[str]:
    filled = [number for number, line in enumerate(lines) if line.strip()]
    # A signature stands at the end: only the last lines are looked at.
    for number in filled[max(1, len(filled) - _MOST_SIGNED - 1) :]:
        said = _SIGNS_OFF.match(lines[number])
        if said and len(stems(said["behind"])) <= 3 and not any(_ASKS[0] in line for line in lines[number + 1 :]):
            return lines[:number]
    return lines


def _without_form(lines: list[str]) -> list[str]:
    """Return lines without the fields of a ticket that ask nothing, and without the names of those that do."""
    fields = [_field(line) for line in lines]
    if sum(name is not None for name, _ in fields) < _FEWEST_FIELDS:
        return lines
    return [
        line if name is None else value for line, (name, value) in zip(lines, fields, strict=True) if name != "form"
    ]


def _field(line: str) -> tuple[str | None, str]:
    """Return whether a line is a field of a form, and of which kind: `asks`, `form` or none."""
    said = _FIELD.match(line)
    if said is None:
        return None, line
    if _REQUESTS.match(said["name"]):
        return None, line
    words = set(tokens(said["name"]))
    if words & _ASKS_IN:
        return "asks", said["value"]
    return ("form", "") if words & _FORM and _ASKS[0] not in line else (None, line)


@remember_items
def questions_and_context(text: str) -> list[QuestionPart]:
    """Return what a text asks, in order, each with what is told right before it; all of it where nothing is asked.

    Greetings, thanks and small talk are left out. Statements are no questions where something is asked beside them.
    """
    asked: list[QuestionPart] = []
    told: list[str] = []
    before = ""
    for line in questions(_with_lists(_WRAPPED.sub(" ", text))):
        item = _ITEM.match(line)
        for sentence in _sentences_of(item["item"] if item else line):
            if _THANKS.match(sentence) or lexicon.is_casual(sentence) or _is_opening(sentence):
                continue
            bare = without_opening(sentence)
            if not stems(bare) and not bare.endswith(_ASKS):
                continue
            if _asks(bare) or _ASKED_FOR.search(sentence[: len(sentence) - len(bare)]):
                asked.append(QuestionPart(bare, before))
                before = ""
            else:
                told.append(bare)
                # What names hardly anything does not hide the sentence before it, which does.
                before = bare if not before or len(named_in(bare)) > 1 else before
    if asked:
        return asked
    return [QuestionPart(" ".join(told), asks=False)] if told else []


def _asks(sentence: str) -> bool:
    return sentence.endswith(_ASKS) or _REQUESTS.match(sentence) is not None


def _is_opening(sentence: str) -> bool:
    """Whether a sentence greets somebody by name, and says nothing else."""
    said = _OPENING.match(sentence)
    return said is not None and said.end() == len(sentence)


def _with_lists(text: str) -> str:
    """Return a text in which a question and the list that it asks about are one line: "Which of these: A, B?"."""
    if not _ITEM.search(text):
        return text
    lines: list[str] = []
    head = ""
    items: list[str] = []
    for line in [*text.splitlines(), ""]:
        item = _ITEM.match(line)
        if head and item and not _asks(item["item"]) and len(tokens(item["item"])) <= _LONGEST_ITEM:
            items.append(item["item"].strip(" ,;."))
        elif head and not items and not line.strip():
            continue
        else:
            if items and len(joined := f"{head.rstrip(_AT_END)}: {', '.join(items)}?") <= _LONGEST_PART:
                lines[-1], items = joined, []
            lines += [*(f"- {one}" for one in items), line]
            before_list = line.rstrip().endswith((*_ASKS, ":")) and not item and _asks_last(line)
            head, items = (line.strip() if before_list else ""), []
    return "\n".join(lines)


def _asks_last(line: str) -> bool:
    """Whether the last sentence of a line asks; with a colon for a question mark, too."""
    return _asks(without_opening((_sentences_of(line) or [line])[-1]))


def _sentences_of(line: str) -> list[str]:
    """Return the sentences of a line; abbreviations and code stay whole."""
    return sentences(line) if len(line) > 1 else [line]


def without_opening(sentence: str) -> str:
    """Return a sentence without greetings and polite words before what it asks; itself where nothing else is left."""
    rest = _OPENING.sub("", sentence, count=1).strip()
    return rest if stems(rest) else sentence


def named_in(question: str) -> frozenset[str]:
    """Return the stems of a question that name something: no symptoms, and no verbs of doing anything."""
    return frozenset(stems(question)) - lexicon.vague_stems() - lexicon.light_stems()


def is_complete(question: str) -> bool:
    """Whether a question can be searched for by itself: it names two things, or one and points at nothing else."""
    named = named_in(question)
    return len(named) > 1 or (
        len(named) == 1 and _POINTS.isdisjoint(tokens(question)) and not lexicon.is_vague(question)
    )


def complete_questions(message: str) -> list[str]:
    """Return the questions of a message that are complete, in order, no two alike."""
    asked = [one for one in questions_and_context(own_words(message)) if one.asks]
    return list(dict.fromkeys(text for one in asked for text in lexicon.split_joined(one.text) if is_complete(text)))


def parts_of(message: str, queries: list[str]) -> list[str]:
    """Return the parts of a message that an answer has to do for: its complete questions, else all queries as one.

    A single question that points at something else is what the queries made of it, and so are all, where each has one
    and not each is complete.
    """
    asked = [question[:_LONGEST_PART] for question in complete_questions(message)][:_MOST_PARTS]
    every = sum(one.asks for one in questions_and_context(own_words(message)))
    if 1 < every == len(queries) > len(asked):
        return [query[:_LONGEST_PART] for query in queries][:_MOST_PARTS]
    if len(asked) > 1 or (asked and _POINTS.isdisjoint(tokens(asked[0]))):
        return asked
    return [" ".join(queries)] if queries else asked


def likest(text: str, others: list[str] | tuple[str, ...]) -> int:
    """Return which of some texts shares most words with a text, by its place; of equal ones the shorter, then the first."""
    said = set(stems(text))
    return max(range(len(others)), key=lambda n: (len(said & (own := set(stems(others[n])))), -len(own), -n))
