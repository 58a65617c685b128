"""Two things that a claim exchanges: the asserted and the denied, or the actor and the object.

The source has every word of such a claim, usually in one sentence, so neither values nor opposites show the fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Final

from language.fidelity.turning_words import LISTS, opposites, sentence_of
from language.figures.nearest import places
from language.figures.passage import ReadPassage
from language.patterns import read_wording
from language.words import stem, stop_words

_WORDING: Final = read_wording(__name__)

_LONGEST: Final = 80
_REACH: Final = 7
"""Words on either side of a verb, and behind a denial, that are looked at."""
_LEAST_SHARED: Final = 3
"""Content words that claim and sentence share, from which on they may speak of the same."""
_CONTRASTS: Final = frozenset(_WORDING.words("contrasts"))
_OBJECT_BEGINS: Final = frozenset(_WORDING.words("object_begins"))
_PASSIVE: Final = frozenset(_WORDING.words("passive"))
_RUSSIAN_VERB: Final = _WORDING.pattern("russian_verb")
_CYRILLIC: Final = re.compile("[а-яё]")

Words = tuple[str, ...]


def find_exchanges(claim: str, cited: Iterable[ReadPassage]) -> list[str]:
    """Return the parts that a claim exchanged in a sentence of its source, each as "old -> new".

    Args:
        claim: One claim, without its citations.
        cited: The passages that it cites.
    """
    said = sentence_of(claim).words
    if not _LEAST_SHARED < len(said) <= _LONGEST:
        return []
    content = _content(said)
    found: list[str] = []
    for there in cited:
        for words in _sentences(there.text):
            if len(content & _content(words)) >= _LEAST_SHARED:
                found += _contrast(words, said)
                found += _roles(words, said)
                found += _sides(words, said)
        found += _names(said, _sentences(there.text))
    return list(dict.fromkeys(found))


@lru_cache(maxsize=256)
def _sentences(text: str) -> tuple[Words, ...]:
    found = (sentence_of(place.text).words for place, _ in places(text) if "|" not in place.text)
    return tuple(words for words in found if len(words) <= _LONGEST)


@lru_cache(maxsize=4096)
def _content(words: Words) -> frozenset[str]:
    return frozenset(stem(word) for word in words if word not in stop_words() and not word[:1].isdigit())


# ------------------------------------------------------------------------------------------- "this, but not that"


def _contrast(source: Words, claim: Words) -> Iterator[str]:
    """Yield what a claim says and denies the other way round: "for A, but not for B" and "for B, but not for A"."""
    theirs, ours = _sides_of_contrast(source), _sides_of_contrast(claim)
    if theirs and ours and theirs[0] & ours[1] and theirs[1] & ours[0] and not theirs[1] & ours[1]:
        yield f"not {min(theirs[1] & ours[0])} -> not {min(theirs[0] & ours[1])}"


def _sides_of_contrast(words: Words) -> tuple[frozenset[str], frozenset[str]] | None:
    """Return the content words before a denial in contrast, and those right behind it that are not before, too."""
    for at, word in enumerate(words):
        if word in LISTS.denials and at and words[at - 1] in _CONTRASTS:
            if not LISTS.denials.isdisjoint(words[max(0, at - _REACH - 2) : at]):
                return None
            before, behind = _content(words[max(0, at - _REACH - 2) : at]), _content(words[at + 1 : at + 1 + _REACH])
            return before - behind, behind - before
    return None


# ----------------------------------------------------------------------------------------------- who does it to whom


def _roles(source: Words, claim: Words) -> Iterator[str]:
    """Yield a verb whose subject and object changed places: "the server asks the client" and "the client asks the server".

    In English the order says it; in Russian the endings do, so that both words must have another one.
    """
    for verb in set(source) & set(claim):
        if source.count(verb) > 1 or claim.count(verb) > 1:
            continue
        there, here = source.index(verb), claim.index(verb)
        russian = bool(_RUSSIAN_VERB.fullmatch(verb))
        if not russian and not (_is_verb(source, there) and _is_verb(claim, here)):
            continue
        old, new = _before(source, there), _before(claim, here)
        if not old or not new or stem(old) == stem(new):
            continue
        behind, ours = source[there + 1 : there + 1 + _REACH], claim[here + 1 : here + 1 + _REACH]
        moved = next((word for word in behind if stem(word) == stem(new)), "")
        came = next((word for word in ours if stem(word) == stem(old)), "")
        if moved and came and (not russian or (moved != new and came != old)):
            yield f"{old} {verb} {moved} -> {new} {verb} {came}"


def _is_verb(words: Words, at: int) -> bool:
    """Whether an English word acts on what stands behind it, as far as its neighbours tell."""
    word, behind = words[at], words[at + 1 : at + 2]
    if _CYRILLIC.search(word) or word in stop_words() or word.endswith(("ing", "ed")):
        return False
    return bool(behind) and behind[0] in _OBJECT_BEGINS and words[max(0, at - 1)] not in _PASSIVE


def _before(words: Sequence[str], at: int) -> str:
    """Return the word that stands before a verb, a modal one left out."""
    for word in reversed(words[max(0, at - 2) : at]):
        if word not in stop_words() and not word[:1].isdigit():
            return word
    return ""


# -------------------------------------------------------------------------------------------- from here to there


def _sides(source: Words, claim: Words) -> Iterator[str]:
    """Yield two opposites that changed places: "from left to right" and "from right to left".

    What stands before the one in the source stands before the other in the claim: order alone says nothing.
    """
    for one, other in _opposites_in(claim):
        first, second = (_forms(word, source) for word in (one, other))
        if len(first) != 1 or len(second) != 1:
            continue
        before = _word_before(source, first[0]), _word_before(source, second[0])
        after = _word_before(claim, claim.index(one)), _word_before(claim, claim.index(other))
        if before[0] != before[1] and before == after[::-1] and all(before):
            yield f"{before[0]} {one} -> {after[0]} {one}"


@lru_cache(maxsize=256)
def _opposites_in(claim: Words) -> tuple[tuple[str, str], ...]:
    told = sorted({word for word in claim if word not in stop_words() and claim.count(word) == 1})
    return tuple((one, other) for one, other in combinations(told, 2) if opposites(one, other))


def _forms(word: str, words: Words) -> list[int]:
    return [at for at, other in enumerate(words) if stem(other) == stem(word)]


def _word_before(words: Words, at: int) -> str:
    return stem(words[at - 1]) if at else ""


# ------------------------------------------------------------------------------------------------- another name


def _names(claim: Words, sentences: Sequence[Words]) -> Iterator[str]:
    """Yield Latin words of a Russian claim in whose place, behind the same two words, its source has only others.

    A name that stands in the same sentence of the source, or in the next, may be said of the same.
    """
    for at in range(2, len(claim)):
        name, before = claim[at], claim[at - 2 : at]
        if not _LATIN.fullmatch(name) or not all(map(_CYRILLIC.search, before)) or not stop_words().isdisjoint(before):
            continue
        stems_before = tuple(map(stem, before))
        there = {
            (at_sentence, words[place])
            for at_sentence, words in enumerate(sentences)
            for place in range(2, len(words))
            if _LATIN.fullmatch(words[place]) and tuple(map(stem, words[place - 2 : place])) == stems_before
        }
        around = {
            one
            for at_sentence, _ in there
            for words in sentences[max(0, at_sentence - 1) : at_sentence + 2]
            for one in words
        }
        if there and name not in around:
            yield f"{' '.join(sorted({other for _, other in there}))} -> {name}"


_LATIN: Final = re.compile(r"[a-z][a-z0-9-]{2,}")
