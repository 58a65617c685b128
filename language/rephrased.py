"""What a rephrased claim turns round of the clause of its source that it is most like: an opposite, a limit, a quantity.

A near copy is compared word by word (`language.near_copy`). Here nothing but single words of closed classes is compared, and
only between clauses that speak of the same. Where several clauses are as near, one without a fault is enough.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from language.nearest import places
from language.turning_words import LISTS, Sentence, opposites, sentence_of
from language.values import Passage
from language.words import stem, stop_words

_SAME: Final = 0.5
"""Share of a clause's content words that a clause of the source must have to speak of the same."""
_AS_NEAR: Final = 0.85
"""Share of the best clause's share that makes another one as near."""
_LEAST_WORDS: Final = 3
"""Content words of a clause, from which on it may be told from others."""
_LONGEST: Final = 80
_CUT: Final = re.compile(
    r"[;:]\s|\s[–—-]\s|,\s(?:while|whereas|but|and|so|which|а|но|и|тогда как|хотя|который|которая|которое|которые)\s|\.\s|\|",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Clause:
    words: tuple[str, ...]
    content: frozenset[str]
    is_row: bool

    @property
    def denials(self) -> int:
        return sum(word in LISTS.denials for word in self.words)

    @property
    def denies_anything(self) -> bool:
        return any(word in LISTS.denials or word.startswith(LISTS.forbids) for word in self.words)

    @property
    def denied_word(self) -> str:
        """The stem of the word right behind the first denial, a word without content between them left out."""
        at = next((at for at, word in enumerate(self.words) if word in LISTS.denials), len(self.words))
        if self.words[at : at + 1] in (("without",), ("без",)):
            return ""
        behind = (word for word in self.words[at + 1 : at + 3] if word not in stop_words())
        return stem(next(behind, ""))


def turned_round(claim: str, cited: Iterable[Passage]) -> list[str]:
    """Return what the clauses of a claim say otherwise than the most alike of its source, each as "old -> new".

    Args:
        claim: One claim, without its citations.
        cited: The passages that it cites.
    """
    passages = list(cited)
    known = [clause for there in passages for clause in _clauses_of(there.text)]
    found = list(_other_limits(sentence_of(claim), passages))
    for clause in _clauses(claim):
        near = _nearest(clause, known)
        for compare in (_opposed, _other_extent, _denied):
            changes = [compare(other, clause) for other in near]
            # What says neither is silent; what says the same is a proof.
            if any(changes) and None not in changes:
                found += next(filter(None, changes))
    return list(dict.fromkeys(found))


def _nearest(clause: _Clause, known: Sequence[_Clause]) -> list[_Clause]:
    """Return the clauses that are most like one, the most alike first."""
    if len(clause.content) < _LEAST_WORDS:
        return []
    shares = [(len(clause.content & other.content) / len(clause.content), other) for other in known]
    best = max((share for share, _ in shares), default=0.0)
    if best < _SAME:
        return []
    near = [(share, other) for share, other in shares if share >= best * _AS_NEAR]
    return [other for _, other in sorted(near, key=lambda one: -one[0])]


_Change = list[str] | None
"""What differs: nothing where a clause says nothing of it, `None` where it says the same."""


def _opposed(source: _Clause, claim: _Clause) -> _Change:
    """Return the opposites of a claim's words that the source has in their place."""
    if claim.denials != source.denials:
        return None  # "not enabled" is "disabled"
    own, theirs = _only_in(claim, source), _only_in(source, claim)
    return [f"{old} -> {new}" for old in theirs for new in own if opposites(old, new)] or None


def _only_in(clause: _Clause, other: _Clause) -> list[str]:
    """Return the words of a clause that the other has in no form."""
    forms = {stem(word) for word in other.words}
    return sorted(word for word in set(clause.words) if word not in other.words and stem(word) not in forms)


def _denied(source: _Clause, claim: _Clause) -> _Change:
    """Return the word that one of two clauses denies and the other says, where nothing else in them is denied."""
    if len(claim.content) <= _LEAST_WORDS or len(claim.content & source.content) < _DENIED * len(claim.content):
        return []
    if claim.is_row or source.is_row:
        return []  # its cells are no sentence
    if any(_EXTENTS.get(word) in ("some", "except") for word in (*claim.words, *source.words)):
        return []  # "only then" is "not before"
    for one, other in ((source, claim), (claim, source)):
        if one.denials == 1 and not other.denies_anything:
            word = one.denied_word
            if word.isalpha() and word in other.content:
                pair = (f"not {word}", word) if one is source else (word, f"not {word}")
                return [" -> ".join(pair)]
    return None if source.denials == claim.denials else []


_DENIED: Final = 0.6
"""Share of a clause's words that a clause of the source must have to deny the same."""


# ---------------------------------------------------------------------------------------------- of how many it holds


def _other_extent(source: _Clause, claim: _Clause) -> _Change:
    """Return the word that says of all what the source says of some, that leaves out an exception, or makes one."""
    theirs, ours = (
        {_EXTENTS[word]: word for word in reversed(clause.words) if word in _EXTENTS} for clause in (source, claim)
    )
    if "all" in ours and theirs.keys() - {"all"} and not ours.keys() - {"all"}:
        if "some" in theirs and "all" in theirs:
            return []
        other = next((theirs[extent] for extent in ("except", "one", "some", "few") if extent in theirs), "")
        return [] if not other else [f"{other} -> {ours['all']}"]
    if "few" in ours and theirs.keys() == {"all"} and "all" not in ours:
        return [f"{theirs['all']} -> {ours['few']}"]
    if "except" in ours and theirs.keys() & {"with", "all"} and "except" not in theirs:
        return [f"{theirs.get('with') or theirs['all']} -> {ours['except']}"]
    return None if ours and ours.keys() == theirs.keys() else []


_EXTENTS: Final = {
    word: extent
    for extent, words in {
        "all": "all every each any whole entire always все всех всем всеми каждый каждая каждое каждого каждой каждому каждую любой любая "
        "любое любые любого любых любым любому любую всегда весь вся ни-один",
        "one": "one-or-more",
        "some": "only solely exclusively только лишь исключительно",
        "few": "some certain selected several некоторые некоторых некоторым отдельные отдельных отдельным выбранные выбранных "
        "выбранным",
        "except": "except excluding кроме исключением",
        "with": "including включая",
    }.items()
    for word in words.split()
}


# ------------------------------------------------------------------------------------------------- limits of numbers


def _other_limits(said: Sentence, passages: Sequence[Passage]) -> Iterator[str]:
    """Yield the numbers of a claim that are the least of what the source says that they are the most of, and the reverse."""
    own = _limits(said)
    if not own:
        return
    theirs: dict[str, set[str]] = {}
    for there in passages:
        for number, limit in _limits_of(there.text):
            theirs.setdefault(number, set()).add(limit)
    for number, limit in own:
        other = "least" if limit == "most" else "most"
        if limit and theirs.get(number) == {other}:
            yield f"{other} {number} -> {limit} {number}"


@lru_cache(maxsize=256)
def _limits_of(text: str) -> tuple[tuple[str, str], ...]:
    return tuple(pair for place, _ in places(text) for pair in _limits(sentence_of(place.text)))


def _limits(said: Sentence) -> list[tuple[str, str]]:
    """Return the numbers of a sentence, each with what limit it is: the most, the least, or none."""
    found: list[tuple[str, str]] = []
    for at, word in enumerate(said.words[:_LONGEST]):
        if not word[:1].isdigit():
            continue
        before = said.words[max(0, at - 2) : at]
        behind = said.words[at + 1 : at + 4]
        limit = next((_LIMITS[one] for one in reversed(before) if one in _LIMITS), "")
        if not limit and behind[-2:] in (
            ("or", "more"),
            ("and", "more"),
            ("или", "больше"),
            ("и", "более"),
            ("или", "более"),
        ):
            limit = "least"
        if not limit and behind[-2:] in (("or", "less"), ("or", "fewer"), ("или", "меньше"), ("или", "менее")):
            limit = "most"
        found.append((word, limit))
    return found


_LIMITS: Final = {
    **dict.fromkeys(
        [
            "at-most",
            "maximum",
            "max",
            "most",
            "under",
            "below",
            "within",
            "fewer",
            "less",
            "exceed",
            "exceeds",
            "upto",
            "максимум",
            "максимально",
            "меньше",
            "менее",
            "ниже",
            "максимальный",
            "максимальная",
            "максимальное",
            "превышает",
            "превышать",
        ],
        "most",
    ),
    **dict.fromkeys(
        [
            "at-least",
            "minimum",
            "min",
            "least",
            "over",
            "above",
            "more",
            "exceeding",
            "starting",
            "минимум",
            "минимально",
            "больше",
            "более",
            "свыше",
            "выше",
            "минимальный",
            "минимальная",
            "минимальное",
        ],
        "least",
    ),
}


# ------------------------------------------------------------------------------------------------------------ clauses


@lru_cache(maxsize=256)
def _clauses_of(text: str) -> tuple[_Clause, ...]:
    return tuple(clause for place, _ in places(text) for clause in _clauses(place.text))


def _clauses(text: str) -> list[_Clause]:
    parts = [text, *_CUT.split(text)] if _CUT.search(text) else [text]
    is_row = "|" in text
    found = [sentence_of(part).words for part in parts]
    return [_Clause(words, _content(words), is_row) for words in found if len(words) <= _LONGEST]


def _content(words: Iterable[str]) -> frozenset[str]:
    return frozenset(stem(word) for word in words if word not in stop_words() and not word[:1].isdigit())
