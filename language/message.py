"""The questions of a message, told from greetings, thanks and statements; what stands around it, `envelope` takes off.

questions_and_context the questions, each with the statement before it
complete_questions    the questions that are searchable without context
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from language import lexicon
from language.envelope import own_words
from language.memo import remember_items
from language.patterns import read_wording
from language.sentences import questions, sentences
from language.words import stems, tokens

_WORDING: Final = read_wording(__name__)

_OPENING: Final = _WORDING.pattern("opening")
_ASKED_FOR: Final = _WORDING.pattern("asked_for")
_THANKS: Final = _WORDING.pattern("thanks")
_REQUESTS: Final = _WORDING.pattern("requests")
_POINTS: Final = frozenset(_WORDING.words("points"))
_PRONOUN: Final = _WORDING.pattern("pronoun")
_DEMONSTRATIVE: Final = _WORDING.pattern("demonstrative")
_ASKS: Final = ("?", "\uff1f")
_AT_END: Final = " ?:\uff1f"
_ITEM: Final = re.compile(r"^[ \t]{0,9}(?:[-*+•–—]|\d{1,2}[.)])[ \t]+(?P<item>\S[^\n]*)$", re.MULTILINE)
_LONGEST_ITEM: Final = 12
"""Words of an item that a question asks about; a longer one tells something."""
_MOST_PARTS: Final = 10
_LONGEST_PART: Final = 300
_LONGEST_CONTEXT: Final = 150
_WRAPPED: Final = re.compile(r"(?<![\s.!?:;…\uff1f])[ \t]*\n(?=[a-zа-яё])")
"""A line break inside a sentence, as mail programs make it: no item of a list begins with a small letter."""


@dataclass(frozen=True, slots=True)
class QuestionPart:
    """One question of a message.

    Attributes:
        text: The question, without polite words before it.
        context: The sentence before it, if there is one.
        asks: Whether it is a question; else it is a statement of a message without questions.
    """

    text: str
    context: str = ""
    asks: bool = True


@remember_items
def questions_and_context(text: str) -> list[QuestionPart]:
    """Return the questions of a text in order, each with the statement before it; the whole text if it asks nothing.

    Greetings, thanks and small talk are left out. Statements are not questions if the text has a question.
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
                if before and _goes_on(bare):
                    before = f"{before} {bare}" if len(before) + len(bare) < _LONGEST_CONTEXT else before
                elif not before or len(named_in(bare)) > 1:
                    before = bare
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
    """Return a sentence without greetings and polite words before its question; unchanged if no more is left."""
    rest = _OPENING.sub("", sentence, count=1).strip()
    return rest if stems(rest) else sentence


def named_in(question: str) -> frozenset[str]:
    """Return the stems of a question that name something, without symptoms and general verbs."""
    return frozenset(stems(question)) - lexicon.vague_stems() - lexicon.light_stems()


def is_complete(question: str) -> bool:
    """Whether a question is searchable without context: it names two things, or one without pointing words."""
    named = named_in(question)
    return len(named) > 1 or (
        len(named) == 1 and _POINTS.isdisjoint(tokens(question)) and not lexicon.is_vague(question)
    )


def needs_context(question: str, context: str = "") -> bool:
    """Whether a question is about something that the sentence before it told.

    It points there ("Is there a tool for that?"), its pronoun stands before all that it could stand for ("Can I undo it
    after saving?"), or it hardly says anything («С чего начать?»).
    """
    pointing = _DEMONSTRATIVE.search(question)
    # "this tablet", of which the context says "our tablet": the question has its name already.
    behind = stems(question[pointing.end() :].strip().partition(" ")[0]) if pointing else []
    named = bool(behind) and set(behind) <= set(stems(context)) | _TIMES
    return _names_nothing(question) or (pointing is not None and not named)


def _names_nothing(question: str) -> bool:
    found = _PRONOUN.search(question)
    # One word before a pronoun is what is done to the thing.
    outside = found is not None and len(named_in(question[: found.start()])) <= 1
    short = len(tokens(question)) <= _SHORT and len(named_in(question)) <= 1
    return outside or short


def find_question(query: str) -> str:
    """Return the question of a query, without the sentence that it takes along; the query if it has several."""
    found = questions_and_context(query)
    return found[0].text if len(found) == 1 else query


def _goes_on(sentence: str) -> bool:
    """Whether a sentence begins with what stands for something in the one before: "These are chapter numbers."."""
    return _PRONOUN.match(sentence) is not None or _DEMONSTRATIVE.match(sentence) is not None


_TIMES: Final = frozenset(stems("day week month year time morning день неделя неделе месяц месяце год году раз"))
_SHORT: Final = 3
"""Words of a question that hardly says anything."""


def complete_questions(message: str) -> list[str]:
    """Return the questions of a message that are complete, in order, no two alike."""
    asked = [one for one in questions_and_context(own_words(message)) if one.asks]
    return list(dict.fromkeys(text for one in asked for text in lexicon.split_joined(one.text) if is_complete(text)))


def parts_of(message: str, queries: list[str]) -> list[str]:
    """Return the parts of a message that an answer must cover: its complete questions, else all queries as one part.

    The queries replace a single question that points at something else. They also replace all questions if there is one
    query for each and not every question is complete.
    """
    asked = [question[:_LONGEST_PART] for question in complete_questions(message)][:_MOST_PARTS]
    every = sum(one.asks for one in questions_and_context(own_words(message)))
    if 1 < every == len(queries) > len(asked):
        return [query[:_LONGEST_PART] for query in queries][:_MOST_PARTS]
    if len(asked) == len(queries) == 1 and queries[0].endswith(asked[0]):
        # Where it names nothing itself, with the sentence before it; what is only searched for with it is not judged.
        return [queries[0][-_LONGEST_PART:]] if _names_nothing(asked[0]) else asked
    if len(asked) > 1 or (asked and _POINTS.isdisjoint(tokens(asked[0]))):
        return asked
    return [" ".join(queries)] if queries else asked


def likest(text: str, others: list[str] | tuple[str, ...]) -> int:
    """Return the index of the text that shares most words with a text; of equal ones the shorter, then the first."""
    said = set(stems(text))
    return max(range(len(others)), key=lambda n: (len(said & (own := set(stems(others[n])))), -len(own), -n))
