"""How much a sentence reads like a demand: a weighted sum of its words and of what the patterns see in it.

Frames and lists of words find what their writers thought of: of the demands of people who had not seen them, half. The
weights in `demand_weights.toml` are fitted on demands and harmless sentences by such people and on manuals
(`python -m tools.making.demand_weights`), as in filters of unwanted mail: a logistic regression over the set of a text's
stems and pairs of neighbours, divided by the root of their number so that long sentences weigh no more, and over the signs
that `demands.py` finds and their pairs. A sum above `ANSWER` is a demand; in what a model wrote, one above `DRAFT`; in the
assistant's own question, one above `QUESTION`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import combinations, pairwise
from typing import Final, NamedTuple

from language.patterns import read_toml
from language.words import stem

ANSWER: Final = 1.0
DRAFT: Final = 0.0
QUESTION: Final = 0.0
SHORT: Final = 2.0
"""Sums above which a text is a demand: one of a document, one that a model wrote, the assistant's own question, and the
least for a few words in any of them.

A sentence of a document that is taken for one is lost to users. A model's draft is tried again, then quoted in its place; of
a question, a more general one is asked.
"""
SIGN_SCALE: Final = 0.3
"""The value of a sign that is there; a word has at most 1."""
_WORD: Final = re.compile(r"[^\W\d_]{1,64}|[@$€₽]")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?]) ")
_LONGEST_PIECE: Final = 60
"""Words. Longer sentences are judged piece by piece, so that a demand is not lost in what surrounds it."""


class Weights(NamedTuple):
    """The fitted model."""

    terms: dict[str, float]
    signs: dict[str, float]
    intercept: float


@cache
def weights() -> Weights:
    """Return the fitted weights, read once."""
    data = read_toml("language.attacks", "demand_weights.toml")
    listed = {
        kind: {word: float(weight) for weight, words in data[kind].items() for word in words.split()}
        for kind in ("terms", "signs")
    }
    return Weights(**listed, **data["sums"])


def list_terms(window: str) -> frozenset[str]:
    """Return the stems and marks that a window of text has, and its pairs of neighbours, joined by `_`."""
    stems = [stem(word) for word in _WORD.findall(window)]
    return frozenset((*stems, *map("_".join, pairwise(stems))))


def pair_signs(signs: Iterable[str]) -> frozenset[str]:
    """Return signs and their pairs."""
    named = sorted(set(signs))
    return frozenset((*named, *map("+".join, combinations(named, 2))))


def sum_weights(window: str, signs: Iterable[str]) -> float:
    """Return the sum of a window's weights, given the signs that stand in it."""
    fitted = weights()
    known = [fitted.terms[term] for term in list_terms(window) if term in fitted.terms]
    signed = sum(fitted.signs.get(sign, 0.0) for sign in pair_signs(signs))
    return fitted.intercept + sum(known) / max(1.0, len(known) ** 0.5) + SIGN_SCALE * signed


def pieces_of(plain: str) -> list[str]:
    """Return the sentences of a plain text, long ones in pieces."""
    return [piece for sentence in _SENTENCE_END.split(plain) for piece in _cut(sentence)]


def _cut(sentence: str) -> Iterator[str]:
    words = sentence.split()
    for start in range(0, len(words), _LONGEST_PIECE):
        yield " ".join(words[start : start + _LONGEST_PIECE])
