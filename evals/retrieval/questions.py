"""Labelled questions for search, also several in one message, and misspelt ones."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from contracts.enums import Language
from contracts.errors import ConfigError
from evals.cases import CASES
from language.words import stop_words, tokens

FOLDER = CASES / "retrieval"
_SEED = 4
_ALPHABETS = {Language.EN: "abcdefghijklmnopqrstuvwxyz", Language.RU: "абвгдежзийклмнопрстуфхцчшщъыьэюя"}
_SHORTEST_MISSPELT = 5


class QuestionLine(BaseModel):
    """A question in both languages, as in the files.

    Attributes:
        id: Unique in its file.
        en, ru: The question in a user's words.
        pages: The grades of relevant pages: 2 for a page that answers, 1 for one that helps. The keys are the English
            page's number for the handbook, and the path in the language folder for other documents.
        held_back: Whether it is never used for tuning; such a question was written before search ran on it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    id: str
    en: str = Field(min_length=1)
    ru: str = Field(min_length=1)
    pages: Mapping[str, int] = Field(min_length=1)
    held_back: bool


@dataclass(frozen=True, slots=True)
class RetrievalQuestion:
    """One question in one language with the grades of its pages; pages are named `en/...` and `ru/...`."""

    text: str
    language: Language
    grades: Mapping[str, int]
    held_back: bool = False


def read_lines(path: Path) -> list[QuestionLine]:
    """Read one file of labelled questions.

    Raises:
        ConfigError: A line is not a question, an id or a question occurs twice, or a grade is neither 1 nor 2.
    """
    lines: list[QuestionLine] = []
    for number, text in enumerate(path.read_text("utf-8").splitlines(), 1):
        try:
            line = QuestionLine.model_validate(json.loads(text))
        except (ValueError, ValidationError) as error:
            raise ConfigError(
                f"{path.name}:{number} is not a labelled question: {error}.", "Correct the line."
            ) from error
        if not set(line.pages.values()) <= {1, 2} or 2 not in line.pages.values():
            raise ConfigError(
                f"{path.name}:{number}: a grade is 1 or 2, and one page at least must answer.", "Correct the line."
            )
        lines.append(line)
    for name in ("id", "en", "ru"):
        said = [getattr(line, name).casefold() for line in lines]
        if twice := sorted({value for value in said if said.count(value) > 1}):
            raise ConfigError(f"{path.name}: {name} stands twice: {', '.join(twice)}.", "Say each once.")
    return lines


def in_language(lines: Sequence[QuestionLine], language: Language) -> list[RetrievalQuestion]:
    """Return the questions of one language."""
    return [
        RetrievalQuestion(
            line.en if language is Language.EN else line.ru,
            language,
            {f"{language}/{page}": grade for page, grade in line.pages.items()},
            line.held_back,
        )
        for line in lines
    ]


def join_questions(
    asked: Sequence[RetrievalQuestion], count: int
) -> list[tuple[RetrievalQuestion, tuple[RetrievalQuestion, ...]]]:
    """Return messages of two or three questions each, and those questions; drawn by seed, no page twice in one.

    The questions follow one another in a line; a question without a question mark ends its line.
    """
    dice = random.Random(_SEED)  # noqa: S311  # no secret is drawn
    messages: list[tuple[RetrievalQuestion, tuple[RetrievalQuestion, ...]]] = []
    for number in range(count):
        parts = dice.sample(asked, k=2 + number % 2)
        grades: dict[str, int] = {}
        for part in parts:
            grades |= part.grades
        if len(grades) < sum(len(part.grades) for part in parts):
            continue
        text = "".join(part.text + (" " if part.text.endswith("?") else "\n") for part in parts).rstrip()
        messages.append((RetrievalQuestion(text, parts[0].language, grades), tuple(parts)))
    return messages


def misspelt(question: RetrievalQuestion, number: int) -> RetrievalQuestion:
    """Return a question with one slip in each of one or two content words of five letters or more.

    Args:
        question: The original question.
        number: The seed: other slips for each number, but the same ones each time.
    """
    dice = random.Random(_SEED * 100_003 + number)  # noqa: S311  # no secret is drawn
    stop = stop_words()
    long = [
        word
        for word in tokens(question.text)
        if len(word) >= _SHORTEST_MISSPELT and word.isalpha() and word not in stop
    ]
    text = question.text
    for word in dice.sample(sorted(set(long)), k=min(len(set(long)), dice.choice((1, 2)))):
        stands = re.search(rf"\b{word}\b", text.casefold())
        if stands:
            text = text[: stands.start()] + slip(word, dice) + text[stands.end() :]
    return replace(question, text=text)


def slip(word: str, dice: random.Random) -> str:
    """Return a word with one slip: a letter changed, lost or added, or two neighbours swapped."""
    letters = _ALPHABETS[Language.EN if word.isascii() else Language.RU]
    at = dice.randrange(len(word) - 1)
    kind = dice.randrange(4)
    if kind == 0:
        return word[:at] + dice.choice(letters.replace(word[at], "")) + word[at + 1 :]
    if kind == 1:
        return word[:at] + word[at + 1 :]
    if kind == 2 and word[at] != word[at + 1]:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word[:at] + dice.choice(letters) + word[at:]
