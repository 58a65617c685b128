"""Topics: questions put together by their meaning or, without an embedding model, by their words.

Numbers, ids, e-mail addresses and masked places say whose question it is, not what it is about: they count for nothing here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from contracts.errors import GuardianError
from language.privacy.spans import MARK
from language.words import stem, stop_words, tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from adapters.index.ranking.embedder import Embedder

MOST_QUESTIONS: Final = 1000
"""More are not compared: each is compared with each."""
_NEAR_BY_MEANING: Final = 0.2
"""The mean similarity of two groups that are one topic: 0 is that of two questions in the middle, 1 that of equal ones."""
_NEAR_BY_WORDS: Final = 0.15
"""The same for words: the mean cosine of their rarities."""
_FEW: Final = 200
"""Of fewer questions, those on one topic are so large a part that its word would count as one that all have."""
_NAMES: Final = 3
_LONGEST_NAME: Final = 60
_NAMELESS: Final = "…"
_NUMBER: Final = re.compile(r"(?<![^\W_])[+(]?\d[\d\s().,/:+-]*(?![^\W_])")
"""Also one in groups, such as that of a telephone; no "4k" and no "1С"."""
_ID: Final = re.compile(
    r"(?<![\w-])(?!0x|\d{1,5}x\d{1,5}\b)(?:[\w-]*?\d[^\W\d_]+\d+[^\W\d_]+\d[\w-]*|[^\W\d_]{1,4}\d{5,}[^\W\d_]{0,2}(?![\w-]))",
    re.IGNORECASE,
)
"""Letters between digits twice, as in "A1B2C3", or few before many, as in "ORD12345"; no "utf8mb4", "x509v3" or "sha256"."""
_ADDRESS: Final = re.compile(r"[\w.+-]{1,64}@[\w.-]{1,255}")


@dataclass(frozen=True, slots=True)
class Grouping:
    """Groups of questions, each as their places, the largest first.

    Attributes:
        groups: Every question is in one of them.
        by: `meaning` or `words`.
        why: Why meaning was not used although there is a model; else empty.
    """

    groups: tuple[tuple[int, ...], ...]
    by: str
    why: str = ""


async def group_questions(questions: Sequence[str], embedder: Embedder | None) -> Grouping:
    """Put questions together that are about the same.

    Args:
        questions: At most `MOST_QUESTIONS`.
        embedder: Gives their meaning; if it is `None` or fails, their words count.
    """
    why = ""
    told = [place for place, question in enumerate(questions) if _find_words(question)]
    if embedder is not None and told:
        try:
            vectors = np.array(await embedder.embed_queries([_keep_subject(questions[place]) for place in told]))
        except GuardianError as error:
            why = str(error)
        else:
            # What says nothing has no meaning, and is a group of its own.
            similar = np.full((len(questions), len(questions)), -1.0, np.float32)
            similar[np.ix_(told, told)] = _scaled(vectors @ vectors.T)
            return Grouping(_join(similar, _NEAR_BY_MEANING), "meaning")
    return Grouping(_join(_similar_by_words(questions), _NEAR_BY_WORDS), "words", why)


def name_topic(questions: Sequence[str], everything: Counter[str]) -> str:
    """Return the name of a topic: the words that most of its questions have, of equal ones those that are rarer elsewhere.

    Args:
        questions: Of the topic.
        everything: In how many questions of all topics each stem occurs.
    """
    own: Counter[str] = Counter()
    forms: dict[str, Counter[str]] = {}
    for question in questions:
        words = _find_words(question)
        own.update(set(map(stem, words)))
        for word in words:
            forms.setdefault(stem(word), Counter())[word] += 1
    best = sorted(own, key=lambda one: (-own[one], everything[one], one))
    shared = [one for one in best if own[one] > 1] if len(questions) > 1 else best
    named = [max(forms[one].items(), key=lambda form: (form[1], form[0]))[0] for one in (shared or best)[:_NAMES]]
    return ", ".join(named) or " ".join(_keep_subject(questions[0]).split())[:_LONGEST_NAME] or _NAMELESS


def count_stems(questions: Sequence[str]) -> Counter[str]:
    """Return in how many questions each stem occurs."""
    return Counter(one for question in questions for one in set(map(stem, _find_words(question))))


def _keep_subject(question: str) -> str:
    """Return what may say what a question is about: without long numbers, ids, e-mail addresses and masked places.

    A short number may be the error that is asked about.
    """
    plain = _ID.sub(" ", _ADDRESS.sub(" ", MARK.sub(" ", question)))
    return _NUMBER.sub(lambda number: number[0] if sum(map(str.isdigit, number[0])) < _LONG else " ", plain)


_LONG: Final = 5
"""Digits from which on a number names a person, an order or a call, and no topic."""


def _find_words(question: str) -> list[str]:
    return [word for word in tokens(_keep_subject(question)) if word not in stop_words()]


def _scaled(cosines: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return cosines on a scale that is the same for all models; some find any two texts alike at 0.8."""
    if len(cosines) < 2:
        return cosines
    middle = float(np.median(cosines[np.triu_indices(len(cosines), 1)]))
    return (cosines - middle) / max(1.0 - middle, 1e-6)


def _similar_by_words(questions: Sequence[str]) -> NDArray[np.float32]:
    seen = count_stems(questions)
    places = {one: place for place, one in enumerate(seen)}
    table = np.zeros((len(questions), max(1, len(places))), np.float32)
    for row, question in enumerate(questions):
        for one in set(map(stem, _find_words(question))):
            table[row, places[one]] = np.log1p(max(len(questions), _FEW) / seen[one])
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    table = np.divide(table, lengths, out=np.zeros_like(table), where=lengths > 0)
    return table @ table.T


def _join(similar: NDArray[np.float32], near: float) -> tuple[tuple[int, ...], ...]:
    """Join the two nearest groups until no two are near enough (average linkage), and return the groups."""
    groups = {place: [place] for place in range(len(similar))}
    similar = similar.astype(np.float32)
    np.fill_diagonal(similar, -np.inf)
    while len(groups) > 1:
        one, other = map(int, divmod(int(similar.argmax()), len(similar)))
        if similar[one, other] < near:
            break
        sizes = len(groups[one]), len(groups[other])
        both = (sizes[0] * similar[one] + sizes[1] * similar[other]) / sum(sizes)
        similar[one], similar[:, one] = both, both
        similar[one, one] = -np.inf
        similar[other], similar[:, other] = -np.inf, -np.inf
        groups[one] += groups.pop(other)
    found = (tuple(sorted(group)) for group in groups.values())
    return tuple(sorted(found, key=lambda group: (-len(group), group)))
