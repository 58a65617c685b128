"""Clarifying questions without a model: what a message leaves out, and whether the next message supplies it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Final, Literal

from adapters.lookups.date_ranges import period_of
from language import lexicon
from language.patterns import read_wording
from language.sentences import questions
from language.words import stem, stems, tokens

_WORDING: Final = read_wording(__name__)

LONGEST_NAME: Final = 5
"""Words of an answer that can stand in the place of a pronoun."""
LONGEST_JOINED: Final = 300
"""Characters of a question and its answer that are one query; longer ones are searched for one by one."""
_OBJECT_EN: Final = _WORDING.pattern("object_en")
_OBJECT_RU: Final = _WORDING.pattern("object_ru")
_DONE_TO_IT_EN: Final = _WORDING.pattern("done_to_it_en")
_DONE_TO_IT_RU: Final = _WORDING.pattern("done_to_it_ru")
_VERSION: Final = _WORDING.pattern("version")
_PERIOD: Final = _WORDING.pattern("period")
_FIGURE: Final = _WORDING.pattern("figure")
_ANY_DAY: Final = date(2000, 1, 1)
"""Whether words name a period does not depend on the day."""
_PREPOSITION: Final = _WORDING.pattern("preposition")
_ANOTHER_SUBJECT: Final = _WORDING.pattern("another_subject")
_REQUEST: Final = _WORDING.pattern("request")
_MARK: Final = _WORDING.pattern("mark")
_UNSURE: Final = _WORDING.pattern("unsure")
_NOT_SO: Final = _WORDING.pattern("not_so")
_NAMES_NOTHING: Final = _WORDING.words("names_nothing")
_ASKED_OF_EN: Final = _WORDING.pattern("asked_of_en")
_ASKED_OF_RU: Final = _WORDING.pattern("asked_of_ru")
_BEFORE_A_NAME: Final = _WORDING.words("before_a_name")
_INSIDE_A_NAME: Final = _WORDING.words("inside_a_name")
_LONGEST_OBJECT: Final = 5
"""Words of an object that a pronoun can stand for, the article included."""
_DONE_TO_THE_PRODUCT: Final = _WORDING.words("done_to_the_product")
_DONE_TO_A_THING: Final = _WORDING.words("done_to_a_thing")


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that a message leaves out.

    Attributes:
        word: The pronoun that replaces the object; empty for other gaps.
        question: The question with the gap.
    """

    kind: Literal["object", "version", "period"]
    word: str = ""
    question: str = ""


def gap_in(message: str, today: date) -> Gap | None:
    """Return what all questions of a message leave out; `None` if one of them can be searched for.

    A pronoun may mean something that another question of the same message names, so all questions must have a gap.
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
    """Whether a query names no object, so that any result would answer another question."""
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
    return frozenset(map(stem, _DONE_TO_A_THING))


def points_back(query: str) -> bool:
    """Whether a query has a pronoun for something named earlier, if anything was, and names nothing else."""
    match = _pronoun_in(query)
    return match is not None and _names_nothing(query[: match.start()]) and _verb_in(match) not in _of_the_product()


def _says_what(text: str) -> bool:
    """Whether a text has a content word; "не так" ("wrong") is one that is written with stop words."""
    return bool(stems(text) or _NOT_SO.search(text))


@cache
def _of_the_product() -> frozenset[str]:
    """Return the stems of verbs whose "it" is the product itself: "How do I install it?"."""
    return frozenset(map(stem, _DONE_TO_THE_PRODUCT))


def _names_nothing(text: str) -> bool:
    return lexicon.is_vague(text) or lexicon.is_casual(text)


def stands_alone(message: str) -> bool:
    """Whether a message is a new question, not the answer to one.

    Whole questions, requests and messages that introduce another subject are new questions. A message that names no
    object is not.
    """
    if lexicon.is_vague(message):
        return False
    if _ANOTHER_SUBJECT.search(message):
        return True
    asks = message.rstrip().endswith(("?", "\uff1f")) or bool(_REQUEST.search(message))
    return asks and len(tokens(message)) >= 3


def names_nothing(answer: str) -> bool:
    """Whether an answer to a clarifying question names nothing: "I don't know", "all of them", "the thing"."""
    return not set(stems(_UNSURE.sub("", answer))) - _nameless()


@cache
def _nameless() -> frozenset[str]:
    fillers = " ".join(lexicon.lexicon()["casual"]["fillers"])
    return frozenset(map(stem, tokens(f"{' '.join(_NAMES_NOTHING)} {fillers}")))


def without_mark(message: str) -> str:
    """Return a message without the words that announce another subject: "By the way, ..."."""
    rest = _MARK.sub("", message, count=1).lstrip()
    return rest if stems(rest) else message


def object_of(question: str) -> str:
    """Return the one thing that a question is about, as it is written there; empty if that is not clear.

    It is clear only for the whole question: "How do I add a lookup to a profile?" may be about either.
    """
    asked = questions(without_mark(question))
    if len(asked) != 1 or len(asked[0]) > LONGEST_JOINED:
        return ""
    match = _ASKED_OF_EN.search(asked[0]) or _ASKED_OF_RU.search(asked[0])
    return name_in(match["named"]) if match else ""


def name_in(text: str) -> str:
    """Return a text that is one name, with its article; empty if it is more than a name, or names nothing."""
    name = " ".join(text.split()).rstrip(" .!")
    words = name.lower().split()
    while words and words[0] in _BEFORE_A_NAME:
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
    """Return a question completed by the answer to a clarifying question.

    The answer replaces a pronoun, "the old version" or "that period"; else it is appended. If the message had nothing
    to search for and the answer says more than a name, the answer replaces the whole message. An answer that names
    nothing adds nothing. An answer that only says that something is wrong does not replace a pronoun.
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
