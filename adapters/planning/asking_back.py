"""What is missing in a message, and whether the next one brings it: clarifying questions, without a model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Final, Literal

from adapters.sources.periods import period_of
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
_DONE_TO_THE_PRODUCT: Final = """
install uninstall run start launch use try get buy download upgrade update deploy stop restart test
установить поставить запустить запускать использовать попробовать скачать купить обновить развернуть остановить
перезапустить применить применять
"""


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
    found = [_gap_of(query, today) for query in questions(message) if not lexicon.is_casual(query)]
    return found[0] if found and all(found) else None


def _gap_of(query: str, today: date) -> Gap | None:
    if (match := _OBJECT_EN.search(query) or _OBJECT_RU.search(query)) and _names_nothing(query[: match.start()]):
        said = match.groupdict()
        if stem((said.get("verb") or said.get("does") or said.get("do") or "").lower()) in _of_the_product():
            return None
        return Gap("object", (said.get("word") or said.get("after") or "").lower(), query.strip())
    if _PERIOD.search(query) and lexicon.asks_of_now(query) and not period_of(query, today):
        return Gap("period")
    without = _VERSION.sub(" ", query)
    if without != query and not re.search(r"\d", query) and stems(without) and lexicon.is_vague(without):
        return Gap("version")
    return None


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


def join_answer(asked: str, answer: str) -> str:
    """Return a question with what its answer adds: in the place of the pronoun that was asked about, or behind it."""
    asked = asked.rstrip(" ?.!\uff1f")
    named = answer.strip().rstrip(" .!")
    match = _OBJECT_EN.search(asked) or _OBJECT_RU.search(asked)
    if match and "\n" not in named and len(tokens(named)) <= LONGEST_NAME:
        group = "word" if match.groupdict().get("word") else "after"
        return f"{asked[: match.start(group)]}{named}{asked[match.end(group) :]}?"
    mark = ", " if len(asked) + len(answer) + 2 <= LONGEST_JOINED else "\n"
    return f"{asked}{mark}{answer}"
