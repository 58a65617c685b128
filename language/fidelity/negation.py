"""Opposite meanings of two sentences with the same words.

The module looks for words that only one sentence denies, and for opposites ("enabled" and "disabled"). That is a hint,
not proof: a sentence may be reversed without either, and shortened with both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from language.clean import fold
from language.figures.nearest import content_words, places
from language.figures.passage import ReadPassage
from language.patterns import read_wording
from language.words import stem, stop_words

_WORDING: Final = read_wording(__name__)

_LEAST_SHARE: Final = 0.5
"""Share of a claim's words that a sentence must have to be compared."""
_NEAR: Final = 0.9
"""Share of the best sentence's share that makes another one as close."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_CLAUSE_END = re.compile(r"[,;:.!?()—|]")
_REACH: Final = 3
"""Content words behind a denial that it may deny; the first one always."""

_DENIES: Final = frozenset(_WORDING.words("denies"))
_SAYS_MORE: Final = frozenset(_WORDING.words("says_more"))
_ALSO: Final = frozenset(_WORDING.words("also"))
_YES: Final = frozenset(_WORDING.words("yes"))
_NO: Final = frozenset(_WORDING.words("no"))

_OPPOSITES: Final = tuple(
    (frozenset(map(stem, one.split())), frozenset(map(stem, other.split())))
    for one, other in _WORDING.rows("opposites")
)


@dataclass(frozen=True, slots=True)
class _Polarity:
    """The stems of a sentence's content words: those that it denies, and the others."""

    denied: frozenset[str]
    plain: frozenset[str]

    @property
    def words(self) -> frozenset[str]:
        return self.denied | self.plain


def polarity_differs(claim: str, cited: Iterable[ReadPassage], *, opens: bool | None = None) -> bool:
    """Whether the sentence closest to a claim in some passages says the opposite.

    Args:
        claim: The claim, without its citations.
        cited: The passages that it cites.
        opens: The "Yes." (`True`) or "No." (`False`) before the claim; it differs from a sentence that denies what the
            claim asserts, or the reverse.
    """
    words = frozenset(content_words(claim))
    if not words:
        return False
    shares = [(len(words & said) / len(words), place) for there in cited for place, said in places(there.text)]
    best = max((share for share, _ in shares), default=0.0)
    if best < _LEAST_SHARE:
        return False
    said = _read_sentence(claim)
    near = [_read_sentence(place.text) for share, place in shares if share >= _NEAR * best]
    if opens is not None and opens is bool(said.denied) and all(bool(n.denied & said.words) is opens for n in near):
        return True
    return all(_is_opposed(said, other) for other in near)


def _is_opposed(one: _Polarity, other: _Polarity) -> bool:
    if (one.denied & other.plain) - other.denied - one.plain:
        return True
    if (one.plain & other.denied) - one.denied - other.plain:
        return True
    for left, right in _OPPOSITES:
        for this, that in ((left, right), (right, left)):
            if one.words & this and not one.words & that and other.words & that and not other.words & this:
                return True
    return False


@lru_cache(maxsize=2048)
def _read_sentence(sentence: str) -> _Polarity:
    denied: set[str] = set()
    plain: set[str] = set()
    stop = _kept_out()
    reach, place = 0, 0
    for match in _WORD.finditer(fold(sentence)):
        if reach and _CLAUSE_END.search(sentence, place, match.start()):
            reach = 0
        place = match.end()
        word = match.group()
        if word in _DENIES or word.endswith(("n't", "n’t")):
            reach = _REACH
            if word in _SAYS_MORE:
                plain.add(stem(word))
            continue
        if reach == _REACH and word in _ALSO:
            reach = 0
        if word in stop:
            continue
        (denied if reach == _REACH else plain).add(stem(word))
        reach = 0
    return _Polarity(frozenset(denied), frozenset(plain))


@lru_cache(maxsize=1)
def _kept_out() -> frozenset[str]:
    """Return the stop words that are no opposite of anything."""
    opposites = frozenset(word for pair in _OPPOSITES for side in pair for word in side)
    return frozenset(word for word in stop_words() if stem(word) not in opposites)


def read_yes_or_no(words: str) -> bool | None:
    """Return the meaning of an answer's first word: yes (`True`), no (`False`), or neither."""
    first: Sequence[str] = _WORD.findall(fold(words))[:2]
    if not first:
        return None
    if first[0] in _NO:
        return False
    if first[0] in _YES:
        return True
    return None
