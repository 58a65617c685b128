"""What is missing in a message, and whether the next one brings it: clarifying questions, without a model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Final, Literal

from adapters.lookups.date_ranges import period_of
from language import lexicon
from language.sentences import questions
from language.words import stem, stems, tokens

LONGEST_NAME: Final = 5
"""Words of an answer that can stand in the place of a pronoun."""
LONGEST_JOINED: Final = 300
"""Characters of a question and its answer that are one query; longer ones are searched for one by one."""
# Repeated parts are bounded: of a message of any shape the time must stay in proportion to its length.
_FLAGS: Final = re.IGNORECASE | re.VERBOSE

_OBJECT_EN: Final = re.compile(
    r"""\b(?:how|where|when|can|could|may|should|want|need|like|possible)
    (?:\s+(?:do|can|could|should|would|may|might|is|it|possible|else|now|then|exactly|best|for|me|us)){0,6} \s+(?:i|we|you|one|to)\s+
    (?:\w+ly\s+)? (?P<verb>[\w-]+)\s+ (?P<word>it|this|that|them|these|those)
    (?:\s+(?:back|off|on|out|up|down|in|away|again|now|then|please|here|there|first|myself|completely)){0,6}\W*$""",
    _FLAGS,
)
_IT_RU: Final = "это|этого|его|её|ее|их|эту|этот|эти|этим|ими|им"
_OBJECT_RU: Final = re.compile(
    rf"""(?:^|\W)(?:как|где|когда|можно|могу|нужно|надо|хочу|хотел\w*|получится|умеет)\b
    (?:\s+(?:мне|нам|я|мы|ли|же|бы|можно|нужно|надо|лучше|быстро|правильно|теперь|потом|тогда|снова|обратно)){{0,6}} \s+
    (?:(?P<word>{_IT_RU})(?:\s+(?:мне|нам|теперь|снова|потом|обратно|быстро|правильно|можно)){{0,6}}\s+(?P<does>[а-яё]+(?:ть|ти|чь|ться|тись))
      |(?P<do>[а-яё]+(?:ть|ти|чь))(?:\s+(?:мне|нам|теперь|снова|потом|обратно)){{0,6}}\s+(?P<after>{_IT_RU}))
    (?:\s+(?:обратно|снова|назад|потом|теперь|тут|здесь|пожалуйста|полностью|совсем|самому)){{0,6}}\W*$""",
    _FLAGS,
)
_THEY_EN: Final = "it|this|that|they|these|those"
_DONE_TO_IT_EN: Final = re.compile(
    rf"""^\W{{0,9}}(?:(?:and|but|so|ok|okay|please|now)\W{{1,9}}){{0,2}}
    (?:(?:can|could|may|should|must|will|how\s+(?:can|could|should|is|are)|when\s+(?:is|are|was|were|will)|where\s+(?:is|are|was|were))
        \s+(?P<word>{_THEY_EN})(?:\s+(?:be|get|also|ever|still|now|safely|completely)){{0,4}}
        \s+(?P<verb>[\w-]{{2,}}ed|kept|set|put|found|done|undone|written|hidden|shown|sent|made|taken)
      |(?P<do>[\w-]+)\s+(?P<after>it|this|that|them|these|those))
    (?:[\s,]+(?:back|off|on|again|now|then|please|here|there|completely)){{0,4}}\W*$""",
    _FLAGS,
)
_DONE_TO_IT_RU: Final = re.compile(
    rf"""^\W{{0,9}}(?:(?:а|и|но|ну|так|пожалуйста|теперь)\W{{1,9}}){{0,2}}
    (?:(?P<word>{_IT_RU})\s+(?:(?:вообще|как|как-то|можно|нельзя|нужно|надо|стоит|ли|потом|снова)\s+){{0,4}}(?P<does>[а-яё]+(?:ть|ти|чь))
      |(?:где|когда|куда|откуда|зачем|как)\s+(?P<subject>он|она|оно|они|это)\s+(?P<verb>[а-яё]+(?:тся|[аяеиёую]т))
      |(?P<do>[а-яё]+(?:и|й|ь|ите|йте|ьте))\s+(?P<after>его|её|ее|их|это))
    (?:[\s,]+(?:обратно|снова|назад|потом|теперь|тут|здесь|пожалуйста|полностью|совсем)){{0,4}}\W*$""",
    _FLAGS,
)
_VERSION: Final = re.compile(
    r"""\b(?:(?:the|that|this|our|my|a|an)\s+)?(?:(?:old|older|new|newer|previous|earlier|latest|last|current|other|another)\s+){0,4}
    (?:version|release)s?\b
    |\b(?:(?:стар|нов|прошл|предыдущ|последн|текущ|друг|наш|эт|т)[а-яё]+\s+){0,4}(?:верси[а-яё]+|релиз[а-яё]*)\b""",
    _FLAGS,
)
_PERIOD: Final = re.compile(
    r"""\b(?:in|for|during|over|within)\s+(?:that|this|the|the\s+same|a\s+certain|some)\s+(?:period|interval|time\s*frame|timeframe)\b
    |\bза\s+(?:(?:тот|этот|какой-то|некий|указанный|определённый|определенный|нужный)\s+(?:же\s+)?)?(?:период|промежуток|отрезок)\b""",
    _FLAGS,
)
_FIGURE: Final = re.compile(
    r"(?:(?:version|release|верси[а-яё]+|релиз[а-яё]*)\s+)?v?\d+(?:[.-]\w+){0,4}", re.IGNORECASE
)
_ANY_DAY: Final = date(2000, 1, 1)
"""Whether words name a period does not depend on the day."""
_PREPOSITION: Final = re.compile(
    r"(?:in|for|during|over|within|since|from|between|за|в|во|с|со|на|между)\s", re.IGNORECASE
)
_ANOTHER_SUBJECT: Final = re.compile(
    r"""^\W*(?:(?:ok|okay|well|no|нет|ладно|хорошо|ну|так)\W+)?
    (?:actually|instead|never\s*mind|forget\s+(?:it|that)|another\s+(?:question|topic|thing)|(?:a\s+)?different\s+(?:question|topic)
      |something\s+else|by\s+the\s+way|let\s+us\s+talk|let's\s+talk
      |другой\s+вопрос|другая\s+тема|о\s+другом|про\s+другое|лучше\s+(?:расскажи|скажи|объясни|покажи)\w*|неважно|не\s+важно
      |забудь\w*|проехали|кстати|вместо\s+этого|давай\w*\s+о\s+другом|вообще-то)\b""",
    _FLAGS,
)
_REQUEST: Final = re.compile(
    r"""^\W*(?:(?:please|пожалуйста|and|а|и|so)\W+)?
    (?:tell\s+me|explain|describe|show\s+me|give\s+me|list
      |расскажи\w*|объясни\w*|опиши\w*|покажи\w*|перечисли\w*|подскажи\w*
      |how\s+(?:do|does|did|can|could|to|should|many|much|is|are)|where\s+(?:do|does|can|is|are)|why|can\s+i
      |как|где|почему|зачем|сколько|можно\s+ли)\b(?!-)""",
    _FLAGS,
)
_MARK: Final = re.compile(
    r"""^\W{0,9}(?:(?:ok|okay|well|no|нет|ладно|хорошо|ну|так|а|и|and|but|но)\W{1,9}){0,2}
    (?:(?:by\s+the\s+way|btw|actually|кстати(?:\s+говоря)?|к\s+слову(?:\s+сказать)?|вообще-то|между\s+прочим)\b[\s,:;.…–—-]*
      |(?:never\s*mind|forget\s+(?:it|that)|instead|something\s+else|(?:on|and\s+now)\s+(?:a|to)\s+(?:another|different)\s+(?:note|topic|subject)
        |(?:i\s+have\s+|there\s+is\s+)?(?:another|one\s+more|(?:a\s+)?different|next|new)\s+(?:question|topic|thing|subject)
        |let(?:\s+us|'s|’s)\s+(?:talk\s+about|change\s+to)\s+(?:something\s+else|another\s+(?:thing|topic|subject))
        |(?:у\s+меня\s+)?(?:(?:уже\s+)?(?:другой|новый|следующий)|(?:и\s+)?(?:ещё|еще)(?:\s+один)?)\s+вопрос(?:ик)?
        |(?:другая|новая)\s+тема|(?:давай\w*\s+)?(?:теперь\s+)?(?:о|про)\s+друго[ме]\w*|вместо\s+этого|неважно|не\s+важно
        |забудь\w*(?:\s+(?:об?\s+этом|это))?|проехали)\s*(?:[,:;.!…–—-]+\s*|\n\s*))""",
    _FLAGS,
)
_UNSURE: Final = re.compile(
    r"""^\W{0,9}(?:(?:well|hm+|sorry|honestly|i|really|just|still|ну|хм+|извините|я|сам\w*|даже|пока|точно|если\s+честно|честно\s+говоря)\W{1,9}){0,4}
    (?:(?:do\s+not|don'?t|don’t)\s+(?:really\s+)?(?:know|remember|recall|understand)|have\s+no\s+(?:idea|clue)|no\s+(?:idea|clue)|not\s+(?:so\s+|really\s+|quite\s+)?sure
      |am\s+not\s+sure|i'?m\s+not\s+sure|can(?:not|'?t|’t)\s+(?:say|tell|remember|recall)|forgot|dunno|idk
      |не\s+(?:знаю|помню|уверена?|понимаю|понял[аи]?|могу\s+(?:сказать|вспомнить))|без\s+(?:понятия|идей|разницы)
      |(?:понятия|представления)\s+не\s+имею|(?:нет\s+)?ни\s+малейшего\s+(?:понятия|представления)|затрудняюсь(?:\s+(?:ответить|сказать))?|забыл[аи]?|хз|фиг\s+знает|кто\s+(?:его\s+)?знает)\b
    [\s,:;.!…–—-]*(?:(?:but|maybe|perhaps|probably|i\s+think|i\s+guess|может(?:\s+быть)?|наверное|возможно|кажется|вроде|но|скорее\s+всего)\b[\s,]*){0,3}""",
    _FLAGS,
)
_NAMES_NOTHING: Final = """
nothing anything something everything idea clue dunno idk sure remember recall forgot forget understand mean guess maybe perhaps probably whatever matter thing things stuff
one ones entire whole lot care old older new newer last latest first second same previous earlier current default
старый старое старую новый новое новую последний последнее последнюю прошлый предыдущий текущий первый второй самый самое
знаю знать помню вспомнить забыл забыла понятия понятие представления идей уверен уверена понимаю понял поняла хз фиг затрудняюсь ответить сказать
вещь вещи штука штуку штуки штуковина разницы разница важно неважно наверное возможно угу ага любой любую любое любые целиком весь вся
"""
"""Words of answers to a question asked back that name no more than stop words do."""
_ASKED_OF_EN: Final = re.compile(
    r"""^\W{0,9}(?:so|and|ok|okay|hello|hi|please)?\W{0,9}
    (?:what(?:'s|’s|\s+is|\s+are)|who\s+is|where(?:'s|\s+is|\s+are)|tell\s+me\s+(?:more\s+)?about|explain|describe|what\s+about
      |(?:what|how)\s+do(?:es)?(?=[^?!.\n]{1,100}\s(?:mean|do|work)\W*$)
      |(?:what|which)(?=[^?!.\n]{1,100}\s(?:is|are)\s+there\W*$)
      |(?:how|where|when|can|could|may|should|want|need)(?:\s+(?:do|can|could|should|would|is|it|possible|exactly|best)){0,4}\s+(?:i|we|you|one|to)\s+(?:\w+ly\s+)?[\w-]+)
    \s+(?P<named>[^?!.,;:\n]+?)
    (?:\s+(?:mean|do|work|(?:is|are)\s+there|here|now|for|stored|kept|located|good\s+for|used\s+for|needed\s+for))?\W*$""",
    _FLAGS,
)
_ASKED_OF_RU: Final = re.compile(
    r"""^\W{0,9}(?:а|и|ну|здравствуйте|привет|подскажите|скажите)?\W{0,9}
    (?:что\s+(?:такое|это\s+за|значит|означает)|кто\s+такой|чем\s+является|что\s+за
      |(?:для\s+чего|зачем)(?:\s+нуж(?:ен|на|но|ны))?|где(?:\s+(?:лежит|лежат|хранится|хранятся|находится|находятся))?
      |как(?:ой|ая|ое|ие)\s+(?:есть|бывает|бывают)|как\s+(?:работает|работают|устроен[аоы]?|выглядит|выглядят)|расскажи\w*\s+(?:о|об|про)|объясни\w*|опиши\w*
      |(?:как|где|можно|могу|нужно|надо|хочу)(?:\s+(?:мне|нам|я|мы|ли|же|бы|можно|нужно|надо|лучше|быстро|правильно)){0,4}\s+[а-яё]+(?:ть|ти|чь|ться|тись))
    \s+(?P<named>[^?!.,;:\n]+?)
    (?:\s+(?:лежит|лежат|хранится|хранятся|находится|находятся|нуж(?:ен|на|но|ны)|работает|работают|устроен[аоы]?))?\W*$""",
    _FLAGS,
)
_BEFORE_A_NAME: Final = """
a an the my our your this that these those new own another such all every each any some
мой моя мое моё мои моего мою наш наша наше нашу наши свой своя свое своё свои свою этот эта это эти эту этого
новый новая новое новую новые все всё весь всю
"""
_INSIDE_A_NAME: Final = ("of", "a", "an", "the")
_LONGEST_OBJECT: Final = 5
"""Words of an object that a pronoun can stand for, the article included."""
_DONE_TO_THE_PRODUCT: Final = """
install uninstall run start launch use try get buy download upgrade update deploy stop restart test
установить поставить запустить запускать использовать попробовать скачать купить обновить развернуть остановить
перезапустить применить применять
"""
_DONE_TO_A_THING: Final = """
delete remove erase restore recover rename change edit disable enable undo move copy export import reset clear close archive
deleted removed erased restored recovered renamed changed edited disabled enabled undone moved copied exported imported cleared closed archived
удалить удали удалите убрать убери уберите стереть сотри сотрите восстановить восстанови восстановите переименовать переименуй переименуйте
изменить измени измените отключить отключи отключите выключить выключи выключите включить включи включите отменить отмени отмените
перенести перенеси перенесите скопировать скопируй скопируйте выгрузить выгрузи выгрузите очистить очисти очистите сбросить сбрось сбросьте закрыть закрой закройте
"""
"""What is done to one thing among many, never to the product as a whole."""


@dataclass(frozen=True, slots=True)
class Gap:
    """What a message does not say.

    Attributes:
        word: The pronoun that stands in the place of the object; empty for other gaps.
        question: That it stands in.
    """

    kind: Literal["object", "version", "period"]
    word: str = ""
    question: str = ""


def gap_in(message: str, today: date) -> Gap | None:
    """Return what all questions of a message leave out; `None` where one of them can be looked for.

    A pronoun may stand for what another question of the same message names, so all have to be such.
    """
    first: Gap | None = None
    for query in questions(message):
        if lexicon.is_casual(query):
            continue
        if not (gap := _gap_of(query, today)):
            return None
        first = first or gap
    return first


def _gap_of(query: str, today: date) -> Gap | None:
    if (match := _OBJECT_EN.search(query) or _OBJECT_RU.search(query)) and _names_nothing(query[: match.start()]):
        return None if _verb_in(match) in _of_the_product() else Gap("object", _word_in(match), query.strip())
    if (match := _done_to_it(query)) and _verb_in(match) in _of_a_thing():
        return Gap("object", _word_in(match), query.strip())
    if _PERIOD.search(query) and lexicon.asks_of_now(query) and not period_of(query, today):
        return Gap("period")
    without = _VERSION.sub(" ", query)
    if without != query and not re.search(r"\d", query) and _says_what(without) and lexicon.is_vague(without):
        return Gap("version")
    return None


def asks_of_nothing(query: str) -> bool:
    """Whether a query names no object, so that whatever is found for it answers another question."""
    if lexicon.is_vague(query):
        return True
    said = _OBJECT_EN.search(query) or _OBJECT_RU.search(query)
    if said is not None and _names_nothing(query[: said.start()]):
        return True
    said = _done_to_it(query)
    return said is not None and _verb_in(said) in _of_a_thing()


def _done_to_it(query: str) -> re.Match[str] | None:
    return _DONE_TO_IT_EN.search(query) or _DONE_TO_IT_RU.search(query)


def _pronoun_in(query: str) -> re.Match[str] | None:
    return _OBJECT_EN.search(query) or _OBJECT_RU.search(query) or _done_to_it(query)


def _verb_in(match: re.Match[str]) -> str:
    said = match.groupdict()
    return stem((said.get("verb") or said.get("does") or said.get("do") or "").lower())


def _says_all(answer: str) -> bool:
    """Whether an answer says what is wrong as well as with what, so that nothing of a vague message is missing in it."""
    return len(tokens(answer)) > LONGEST_NAME and not lexicon.is_vague(answer)


def _with_figure(asked: str, named: str) -> str:
    """Return a question with a figure in the place of "the old version" or of "that period"; as it is without either."""
    if (gap := _VERSION.search(asked)) and _FIGURE.fullmatch(named):
        instead = named if _VERSION.search(named) else f"{gap.group().split()[-1]} {named}"
    elif gap := _PERIOD.search(asked):
        first = gap.group().split()[0]
        instead = named if _PREPOSITION.match(named) else f"{first} {named}"
        if not period_of(instead, _ANY_DAY):
            return asked
    else:
        return asked
    return f"{asked[: gap.start()]}{instead}{asked[gap.end() :]}"


def _place_of(match: re.Match[str]) -> tuple[int, int]:
    """Return where the pronoun of a match stands."""
    return match.span(next(name for name in ("word", "after", "subject") if match.groupdict().get(name)))


def _word_in(match: re.Match[str]) -> str:
    start, end = _place_of(match)
    return match.string[start:end].lower()


@cache
def _of_a_thing() -> frozenset[str]:
    return frozenset(map(stem, _DONE_TO_A_THING.split()))


def points_back(query: str) -> bool:
    """Whether a pronoun stands in a query for what was named before, where anything was, and nothing else is named."""
    match = _pronoun_in(query)
    return match is not None and _names_nothing(query[: match.start()]) and _verb_in(match) not in _of_the_product()


def _says_what(text: str) -> bool:
    """Whether a text has a content word; "не так" ("wrong") is one that is written with stop words."""
    return bool(stems(text) or re.search(r"\bне\s+так\b", text, re.IGNORECASE))


@cache
def _of_the_product() -> frozenset[str]:
    """Return the stems of verbs whose "it" is the product itself: "How do I install it?"."""
    return frozenset(map(stem, _DONE_TO_THE_PRODUCT.split()))


def _names_nothing(text: str) -> bool:
    return lexicon.is_vague(text) or lexicon.is_casual(text)


def stands_alone(message: str) -> bool:
    """Whether a message is a question of its own rather than the answer to one.

    A whole question is one, and so is a request, or what is introduced as another subject; but not what names no object.
    """
    if lexicon.is_vague(message):
        return False
    if _ANOTHER_SUBJECT.search(message):
        return True
    asks = message.rstrip().endswith(("?", "\uff1f")) or bool(_REQUEST.search(message))
    return asks and len(tokens(message)) >= 3


def names_nothing(answer: str) -> bool:
    """Whether an answer to a question asked back names nothing: "I don't know", "all of them", "the thing"."""
    return not set(stems(_UNSURE.sub("", answer))) - _nameless()


@cache
def _nameless() -> frozenset[str]:
    fillers = " ".join(lexicon.lexicon()["casual"]["fillers"])
    return frozenset(map(stem, tokens(f"{_NAMES_NOTHING} {fillers}")))


def without_mark(message: str) -> str:
    """Return a message without the words that announce another subject: "By the way, ..."."""
    rest = _MARK.sub("", message, count=1).lstrip()
    return rest if stems(rest) else message


def object_of(question: str) -> str:
    """Return the one thing that a question is about, as it is written there; nothing where that is not plain.

    Only what the whole question is about is plain: of "How do I add a lookup to a profile?" it may be either.
    """
    asked = questions(without_mark(question))
    if len(asked) != 1 or len(asked[0]) > LONGEST_JOINED:
        return ""
    match = _ASKED_OF_EN.search(asked[0]) or _ASKED_OF_RU.search(asked[0])
    return name_in(match["named"]) if match else ""


def name_in(text: str) -> str:
    """Return a text that is one name, an article and all; nothing where it is more than that, or names nothing."""
    name = " ".join(text.split()).rstrip(" .!")
    words = name.lower().split()
    while words and words[0] in _BEFORE_A_NAME.split():
        words = words[1:]
    if not words or len(name.split()) > _LONGEST_OBJECT or not re.fullmatch(r"[\w .`'’/-]+", name):
        return ""
    # Any other stop word between them is a preposition, or joins two things.
    if (
        any(not stems(word) and word not in _INSIDE_A_NAME for word in words)
        or names_nothing(name)
        or set(stems(name)) <= lexicon.vague_stems()
    ):
        return ""
    return name


def join_answer(asked: str, answer: str) -> str:
    """Return a question with what its answer adds: in the place of what was asked about, or behind it.

    It takes the place of a pronoun, or of "the old version" and "that period"; of a message that said nothing that can be
    looked for, it takes the whole place where it says more than a name. An answer that names nothing adds nothing, and
    a pronoun is not replaced by what only says that something is wrong.
    """
    if names_nothing(answer):
        return asked
    match = _pronoun_in(asked)
    answer = _UNSURE.sub("", answer).strip()
    if match and set(stems(answer)) <= _nameless() | lexicon.vague_stems():
        return asked
    if not match and _says_all(answer) and lexicon.is_vague(asked):
        return answer
    asked = asked.rstrip(" ?.!\uff1f")
    named = answer.rstrip(" .!")
    if "\n" not in named and len(tokens(named)) <= LONGEST_NAME:
        if match:
            start, end = _place_of(match)
            return f"{asked[:start]}{named}{asked[end:]}?"
        if (filled := _with_figure(asked, named)) != asked:
            return f"{filled}?"
    mark = ", " if len(asked) + len(answer) + 2 <= LONGEST_JOINED else "\n"
    return f"{asked}{mark}{answer}"
