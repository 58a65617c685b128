"""The forms in which users send a question: with text around it, misspelt, two in one message, or in a dialogue."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, TypeVar

from contracts.enums import Language, Outcome
from evals.answers.corpora import LABELS, AnswerCorpus, Dialogue, ManualQuestion
from evals.cases import TurnCase
from language.words import stop_words, tokens

PLAIN: Final = "plain"
_SHORTEST_MISSPELT: Final = 5
_Option = TypeVar("_Option")

_TEMPLATES: Final[Mapping[str, Mapping[str, Sequence[str]]]] = tomllib.loads(
    (LABELS / "wrappings.toml").read_text("utf-8")
)


@dataclass(frozen=True, slots=True)
class PosedQuestion:
    """A question as it is sent.

    Attributes:
        case: The case, with messages and labels.
        plain: The id of the same question without a wrapping; empty if there is none.
        held_back: Whether a page of the question belongs to the held-back third.
    """

    case: TurnCase
    wrapping: str
    plain: str
    held_back: bool


def wrap(question: ManualQuestion, name: str) -> str:
    """Return a question in one of the forms of `wrappings.toml`, drawn by the question's id."""
    template = _choose(_TEMPLATES[question.language][name], _pick(question.id))
    return template.replace("{question}", question.text)


def misspelt(question: ManualQuestion) -> str:
    """Return a question with two neighbouring letters swapped in a content word; unchanged if no word is long enough."""
    pick, stop = _pick(question.id), stop_words()
    found = [word for word in re.findall(r"[^\W\d_]+", question.text) if len(word) >= _SHORTEST_MISSPELT]
    long = [word for word in found if stop.isdisjoint(tokens(word)) and _places(word)]
    if not long:
        return question.text
    word = _choose(long, pick)
    at = _choose(_places(word), pick // len(long))
    swapped = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return re.sub(rf"\b{word}\b", swapped, question.text, count=1)


def _places(word: str) -> list[int]:
    """Return where two neighbours behind the first letter differ."""
    return [at for at in range(1, len(word) - 1) if word[at] != word[at + 1]]


WRAPPINGS: Final[dict[str, Callable[[ManualQuestion], str]]] = {
    PLAIN: lambda question: question.text,
    "context before": lambda question: wrap(question, "context"),
    "thanks after": lambda question: wrap(question, "thanks"),
    "mail below": lambda question: wrap(question, "mail"),
    "in a ticket": lambda question: wrap(question, "ticket"),
    "misspelt": misspelt,
}
PAIRS: Final = "two in one"
DIALOGUE: Final = "dialogue"
NAMES: Final = (*WRAPPINGS, PAIRS, DIALOGUE)


def pose(corpus: AnswerCorpus, questions: Sequence[ManualQuestion]) -> Iterator[PosedQuestion]:
    """Yield some questions of a corpus in every wrapping, including pairs and dialogues of them."""
    for question in questions:
        for name, wrapping in WRAPPINGS.items():
            yield PosedQuestion(_case(question, name, (wrapping(question),)), name, question.id, question.held_back)
    for language in Language:
        yield from _pairs([one for one in questions if one.language is language])
    chosen = {one.id for one in questions}
    for number, (dialogue, first, meant) in enumerate(corpus.dialogues):
        if {first.id, meant.id} <= chosen:
            yield _of_dialogue(dialogue, first, meant, number)


def _pairs(questions: Sequence[ManualQuestion]) -> Iterator[PosedQuestion]:
    """Yield questions of one side two by two; neighbours are about one page more often than not, so each has one from afar."""
    for side in (True, False):
        mine = [one for one in questions if one.held_back is side and one.parts]
        half = len(mine) // 2
        for one, other in zip(mine[:half], mine[half:], strict=False):
            if one.source != other.source:
                joint = "" if one.text.endswith("?") else "."
                case = _case(one, PAIRS, (f"{one.text}{joint} {other.text}",))
                both = {
                    "parts": (*one.parts, *other.parts),
                    "helps": (*one.helps, *other.helps),
                    "wrong_pages": (*one.wrong_pages, *other.wrong_pages),
                    "only": one.only and other.only,
                }
                yield PosedQuestion(case.model_copy(update=both), PAIRS, "", side)


def _of_dialogue(dialogue: Dialogue, first: ManualQuestion, meant: ManualQuestion, number: int) -> PosedQuestion:
    case = _case(meant, f"{DIALOGUE} {number}", (first.text, *dialogue.then))
    return PosedQuestion(case, DIALOGUE, dialogue.means, first.held_back or meant.held_back)


def _case(question: ManualQuestion, wrapping: str, says: tuple[str, ...]) -> TurnCase:
    return TurnCase(
        id=f"{question.id} {wrapping}",
        language=question.language,
        says=says,
        parts=question.parts,
        helps=question.helps,
        wrong_pages=question.wrong_pages,
        only=question.only,
        # What the documents do not answer is not to be answered; how else it ends is not asked here.
        outcome=None if question.parts else Outcome.HANDED_OFF,
    )


def _pick(text: str) -> int:
    return int(sha256(text.encode()).hexdigest()[:8], 16)


def _choose(options: Sequence[_Option], pick: int) -> _Option:
    return options[pick % len(options)]
